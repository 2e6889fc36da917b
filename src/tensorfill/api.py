"""complete: the one verb."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensorfill.choose.errorbars import complete_with_bars
from tensorfill.choose.magnitude import divided, multiplied, power_of
from tensorfill.data.convert import observe
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.registry import check_setting, did_you_mean
from tensorfill.result.completion import Completion
from tensorfill.solvers.loop import Callback

EFFORTS = ("quick", "normal", "best")


def settings_of(cls: type[Method]) -> list[str]:
    """Names of what may be set of a method; facts of its class (name, reference, ...) are none."""
    return [f.name for f in dataclasses.fields(cls) if f.init]


def complete(
    data: Any,
    mask: ArrayLike | None = None,
    *,
    method: str = "auto",
    effort: str = "normal",
    weights: ArrayLike | None = None,
    dims: Sequence[str] | None = None,
    seed: int = 0,
    callback: Callback | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    max_iter: int | None = None,
    seconds: float | None = None,
    error_bars: float | None = None,
    **settings: Any,
) -> Completion:
    """Fill the missing entries of `data`.

    Parameters
    ----------
    data : array with NaN for missing, numpy.ma, xarray DataArray, pandas table, or Observations
    mask : True = observed, of the data's shape or of its first modes
    method : "auto", or a name from `tensorfill list methods`
    effort : "normal", or "best" to take a few times as long for pictures and video
    weights : how much each entry counts, > 0
    dims : names of the modes
    seed : everything random follows from it
    callback : called as callback(state, history) after every iteration; True stops the run
    checkpoint, resume : save the run there as it goes; go on from there
    max_iter, seconds : limits
    error_bars : 0.9 for intervals that hold nine of ten unknown entries, in `.interval`; takes a second run
    **settings : of the method: prior="poisson", rank=20, smooth={"hour": 1.0}, ...; a misspelt one is refused

    Returns
    -------
    Completion : `.completed` is the answer in the type of `data`; see also `.estimate`, `.factors`, `.status`
    """
    if effort not in EFFORTS:
        msg = f"effort must be one of {', '.join(EFFORTS)}; got {effort!r}."
        raise ValueError(msg)
    name = f"auto-{effort}" if method == "auto" and effort != "normal" else method
    if effort != "normal" and name != f"auto-{effort}":
        msg = f'effort="{effort}" belongs to method="auto"; got method={method!r}.'
        raise ValueError(msg)
    obs = observe(data, mask, weights=weights, dims=dims)
    cls = METHODS[name]
    _check_settings(name, cls, settings)
    check_setting("error_bars", error_bars, "float | None")
    run = Run(_whole(seed), callback, checkpoint, resume, max_iter, seconds)
    recipe = cls(**settings)
    began = time.perf_counter()
    power = power_of(obs)
    tame = divided(obs, power) if power else obs
    done = recipe.complete(tame, run) if error_bars is None else complete_with_bars(tame, recipe, run, error_bars)
    done = multiplied(done, obs, power) if power else done
    return dataclasses.replace(done, took=time.perf_counter() - began)


def _check_settings(name: str, cls: type[Method], settings: Mapping[str, Any]) -> None:
    """Refuse settings that the method does not have, or of a form that none can use."""
    known = settings_of(cls)
    for key in settings:
        if key not in known:
            among = f"must be among {', '.join(known)}" if known else "must be left out: it has none"
            msg = f"settings of method {name!r} {among}; got {key!r}.{did_you_mean(key, known)}"
            raise TypeError(msg)
    smooth = settings.get("smooth")
    if smooth is not None and not isinstance(smooth, Mapping):
        msg = f'smooth must be {{mode: weight}}, e.g. {{"hour": 1.0}}, or {{}} for none; got {smooth!r}.'
        raise TypeError(msg)


def _whole(seed: Any) -> int:
    """The seed as Python's own integer, which can be written to a file."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        msg = f"seed must be a whole number >= 0; got {seed!r}. Leave it out for 0."
        raise ValueError(msg)
    return int(seed)
