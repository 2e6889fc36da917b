"""What was asked about time, worked out for one file: its time axis, the steps to forecast, the fold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tensorfill.data.fold import fold_of
from tensorfill.data.observations import Observations
from tensorfill.data.timeaxis import check_steps, time_modes
from tensorfill.io.formats.base import Loaded
from tensorfill.io.horizon import add_absent_steps, add_steps


@dataclass(frozen=True)
class TimePlan:
    """The data and settings of a run that was asked about time."""

    given: Observations  # what to complete, with steps that were absent
    obs: Observations  # the same with the steps to forecast
    output: Loaded  # the form in which the answer is written
    settings: dict[str, Any]  # of `complete`


def plan_time(
    loaded: Loaded,
    obs: Observations,
    *,
    time: str | None = None,
    max_gap: int | None = None,
    horizon: int | None = None,
    fold: Mapping[Any, Any] | str | None = None,
) -> TimePlan:
    """Find the time axis where one is needed, and add the steps to forecast; words as on the command line.

    time : "day,hour": dimensions from the outer to the inner
    fold : "time=day,hour" or "time=24", or as `complete` takes it
    """
    steps = {"max_gap": max_gap, "horizon": horizon}
    settings: dict[str, Any] = {
        name: check_steps(f"--{name.replace('_', '-')}", n) for name, n in steps.items() if n is not None
    }
    labels, given = loaded.labels or {}, obs
    if time is not None or settings:
        wanted = "--max-gap" if max_gap is not None else "--horizon"
        settings["time"] = time_modes(obs, None if time is None else _keys(time, obs), wanted, labels)
    if max_gap is not None:  # gaps that stay are NaN
        loaded = loaded.floating(loaded.dtype if loaded.dtype.kind == "f" else obs.values.dtype)
    if horizon is not None:
        mode = settings["time"][0]
        whole = add_absent_steps(loaded, mode)
        given = obs if whole is loaded else whole.observations()
        loaded = add_steps(whole, mode, horizon)
        obs = loaded.observations()
    if fold is not None:
        settings["fold"] = fold_of(obs, parse_fold(fold) if isinstance(fold, str) else fold, loaded.labels or {})
    return TimePlan(given, obs, loaded, settings)


def parse_fold(text: str) -> dict[int | str, Any]:
    """Parse `time=day,hour`, or `time=24` for so many steps."""
    name, sign, into = text.partition("=")
    if not sign or not name or not into:
        msg = f"--fold must be DIMENSION=UNIT,UNIT, e.g. time=day,hour, or DIMENSION=STEPS; got {text!r}."
        raise ValueError(msg)
    key = int(name) if name.isdigit() else name
    return {key: int(into) if into.isdigit() else tuple(part.strip() for part in into.split(","))}


def _keys(time: str, obs: Observations) -> list[int | str]:
    names = [d.strip() for d in time.split(",")]
    return [int(d) if d.isdigit() and d not in obs.dims else d for d in names]
