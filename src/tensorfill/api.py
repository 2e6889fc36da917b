"""complete(): the one function that most users call. It reads the data, checks the settings and runs a method."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from tensorfill.choose.auto import Auto
from tensorfill.choose.errorbars import complete_with_bars
from tensorfill.choose.magnitude import divided, multiplied, power_of
from tensorfill.data.convert import observe
from tensorfill.data.fold import Fold, fold_of, fold_of_line
from tensorfill.data.horizon import extended
from tensorfill.data.memory import ask, limited
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.data.partitions import Partitions
from tensorfill.data.partitions.draw import Draw
from tensorfill.data.partitions.opening import opened
from tensorfill.data.partitions.paths import path_like
from tensorfill.data.sentinels import warn_of_sentinels
from tensorfill.data.telling import tell
from tensorfill.data.timeaxis import only_mode
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.methods.when import TimeAsked
from tensorfill.numerical.base import NumericalPrior
from tensorfill.registry import check_setting, did_you_mean
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.base import Solver
from tensorfill.solvers.loop import Callback

Effort = Literal["quick", "normal", "best"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

# What other libraries call the number that means "missing"
MISSING_WORDS = ("missing_value", "missing_values", "na_value", "na_values", "fill_value", "nodata")


def settings_of(cls: type[Method]) -> list[str]:
    """Names of the settings of a method: its dataclass fields, without class variables (name, reference, ...)."""
    return [f.name for f in dataclasses.fields(cls) if f.init]


def complete(
    data: Any,
    mask: ArrayLike | None = None,
    *,
    prior: NumericalPrior | str | None = None,
    model: str | None = None,
    rank: int | Sequence[int] | None = None,
    smooth: Mapping[Any, float] | Collection[Any] | None = None,
    method: str = "auto",
    effort: Effort | str = "normal",
    error_bars: float | None = None,
    seed: int = 0,
    dims: Sequence[str] | None = None,
    value: str | None = None,
    weights: ArrayLike | str | None = None,
    absent: str | None = None,
    fold: Mapping[Any, Any] | Fold | None = None,
    time: Sequence[int | str] | int | str | None = None,
    max_gap: int | None = None,
    horizon: int | None = None,
    solver: Solver | str | None = None,
    candidates: Sequence[str] | None = None,
    held_out: float | None = None,
    max_iter: int | None = None,
    seconds: float | None = None,
    max_memory: int | str | None = None,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
    **settings: Any,
) -> Completion:
    """Fill the missing entries of `data`. What is not given is chosen from the data.

    Parameters
    ----------
    data : array with NaN for missing (NumPy, numpy.ma, xarray, torch, dask, sparse), pandas or polars table or series,
        Observations; or a long table with its columns named (pandas, dask), or files of any size: "ratings/*.parquet"
    mask : True = observed, of the data's shape or of its first modes
    prior : what kind of numbers these are: "poisson", tfl.Poisson(), ...; see `tensorfill list priors`
    model : the low-rank form of the data: "cp", "tucker", "tt", "tr" or "tubal"; see `tensorfill list models`
    rank : of the low-rank model; of "tucker", "tt" and "tr" also one for each of its ranks, (8, 8, 3)
    smooth : {mode or its name: weight} of smoothness along it, e.g. {"hour": 1.0}; {} for none. For method "bayes",
        which learns the weights, the modes alone: ["hour"]
    method : "auto", or a name from `tensorfill list methods`
    effort : "quick", "normal", or "best" to take a few times as long
    error_bars : 0.9 for intervals that hold nine of ten unknown entries, in `.interval`; takes a second run
    seed : of everything random; the same seed gives the same answer
    dims, weights : names of the modes; how much each entry counts, > 0. Of a long table, names of its columns
    value : of a long table, its column of values: complete(table, dims=["user", "item"], value="stars")
    solver, candidates, held_out : of `auto`: how it fits, what it may try, and the share of entries it judges by
    absent : what a sparse array does not store: "missing" or "zero"
    fold : {"time": ("day", "hour")} makes a mode of dates days x hours for the fit; the answer has the form of the data
    time : modes that are one time axis, from the outer to the inner: ("day", "hour"); see docs/tables.md
    max_gap : gaps of more steps along time stay gaps in `completed`: NaN, or masked where numbers have none
    horizon : predict so many steps after the last, too ("auto" and "bayes"); of several time modes, of the outer one
    max_iter, seconds, max_memory : limits; memory as "4GB", by default half of what is free
    callback : called as callback(state, history) after every iteration; the run stops if it returns True
    checkpoint, resume : a file to save the run to as it goes; True to go on from it
    **settings : further ones of the method, e.g. alpha=0.1 of "sptc"; a misspelt one is refused

    Returns
    -------
    Completion : `.completed` is the answer in the type of `data`; see also `.estimate`, `.tried`, `.status`.
        More: help(tfl.Completion); `tensorfill list methods`; the pages in docs/
    """
    name = _method_name(method, effort)
    cls = METHODS[name]
    named: dict[str, Any] = {"prior": prior, "model": model, "rank": rank, "smooth": smooth}
    named |= {"solver": solver, "candidates": candidates, "held_out": held_out}
    settings |= {key: value for key, value in named.items() if value is not None}
    _check_settings(name, cls, settings)
    check_setting("error_bars", error_bars, "float | None")
    recipe, run = cls(**settings), Run(_checked_seed(seed), callback, checkpoint, resume, max_iter, seconds)
    when = TimeAsked(time, max_gap, horizon).checked(recipe)
    with limited(max_memory):
        given = _observed(data, mask, dims, value, weights, absent, run, held_out)
        began = perf_counter()
        rest = (recipe, run, error_bars, fold, when)
        done = _complete_blocks(given, *rest) if isinstance(given, Partitions) else _complete_in_memory(given, *rest)
    return _with_warnings(dataclasses.replace(done, took=perf_counter() - began), data, given)


def _with_warnings(done: Completion, data: Any, given: Observations | Partitions) -> Completion:
    """The result, after warnings about data that were converted here; ready-made Observations warned when made."""
    if given is not data and isinstance(given, Observations):
        tell(given, done.status is Status.NOTHING_MISSING)
    return done


def _observed(
    data: Any,
    mask: Any,
    dims: Any,
    value: str | None,
    weights: Any,
    absent: str | None,
    run: Run,
    held_out: float | None,
) -> Observations | Partitions:
    """The data as Observations in memory or, where they are too many, as Partitions (in blocks).

    run, held_out : used when reading in pieces, which sets entries aside and reports its progress to the callback
    """
    if mask is None and absent is None and not isinstance(data, Observations):
        draw = Draw.asked(run.seed, held_out)
        progress = getattr(run.callback, "reading", None)  # progress bars have this method
        found = opened(data, dims=dims, value=value, weights=weights, draw=draw, tell=progress)
        if found is not None:
            return found if isinstance(found, Partitions) else warn_of_sentinels(found)
    elif value is not None or path_like(data):
        got = "mask" if mask is not None else "absent"
        msg = f"mask and absent are for arrays; a table has rows for what is known; got {got}. Leave them out."
        raise ValueError(msg)
    return observe(data, mask, weights=weights, dims=dims, absent=absent)


def _complete_in_memory(
    given: Observations, recipe: Method, run: Run, error_bars: float | None, fold: Any, when: TimeAsked
) -> Completion:
    """Extend the data by the horizon, fold the time axis, fit, and bring the answer back to the form of the data."""
    modes = when.modes(given)
    data = given if when.horizon is None else extended(given, modes[0], when.horizon)
    folding = fold_of_line(data) if fold is None else fold_of(data, fold)
    if fold is None and folding is not None:  # a single series, folded by its period: its one mode is time
        modes = (folding.mode,)
    obs = data if folding is None else folding.apply(data)
    recipe = when.with_time(recipe, modes, folding)
    ask(recipe.memory(obs), f"method {recipe.name!r} on {obs.size:,} entries, {obs.nnz:,} of them known,")
    with warnings.catch_warnings():
        # Slices without an observation are expected here: the steps of a horizon, and every gap of a single series.
        if when.horizon is not None or only_mode(data) is not None:
            warnings.filterwarnings("ignore", message=r"\d+ slices? ha(ve|s) no observed", category=DataWarning)
        done = _completed(obs, recipe, run, error_bars)
    done = done if folding is None else done.unfolded(data, folding.mode, folding.codes)
    return dataclasses.replace(done, unfilled=when.unfilled(given, modes))


def _complete_blocks(
    parts: Partitions, recipe: Method, run: Run, error_bars: float | None, fold: Any, when: TimeAsked
) -> Completion:
    """Fit observations in blocks; refuse what needs all of them in memory. The blocks are closed if the run fails."""
    many = f"needs all observations in memory, and these {parts.extract.nnz:,} are in blocks"
    try:
        for name, given in {"error_bars": error_bars, "fold": fold, **dataclasses.asdict(when)}.items():
            if given is not None:
                msg = f"{name} {many}; leave it out."
                raise ValueError(msg)
        if not isinstance(recipe, Auto):
            msg = f'method {recipe.name!r} {many}; use method="auto".'
            raise ValueError(msg)
        return recipe.complete_blocks(parts, run)
    except BaseException:
        parts.close()
        raise


def _method_name(method: Any, effort: Any) -> str:
    """The name of the method that `method` and `effort` mean together."""
    if not isinstance(effort, str) or effort not in EFFORTS:
        msg = f"effort must be one of {', '.join(EFFORTS)}; got {effort!r}."
        raise ValueError(msg)
    method = str(method)  # the registry refuses anything that is not the name of a method
    if effort != "normal" and method not in ("auto", f"auto-{effort}"):
        msg = f'effort="{effort}" belongs to method="auto"; got method={method!r}. Leave effort out.'
        raise ValueError(msg)
    return f"auto-{effort}" if method == "auto" and effort != "normal" else method


def _completed(obs: Observations, recipe: Method, run: Run, error_bars: float | None) -> Completion:
    """The run itself, on data scaled to a magnitude whose squares neither overflow nor vanish."""
    power = power_of(obs)
    scaled = divided(obs, power) if power else obs
    done = recipe.complete(scaled, run) if error_bars is None else complete_with_bars(scaled, recipe, run, error_bars)
    return multiplied(done, obs, power) if power else done


def _check_settings(name: str, cls: type[Method], settings: Mapping[str, Any]) -> None:
    """Refuse settings that the method does not have, or of a form that none can use."""
    known, own = settings_of(cls), complete.__kwdefaults__ or {}
    for key in settings:
        if key not in known:
            among = f"must be among {', '.join(known)}" if known else "must be left out: it has none"
            hint = did_you_mean(key, ["mask", *known, *own]).replace("'mask'?", "'mask'? True = observed.")
            if key in MISSING_WORDS:
                hint = f" Mark what is missing by NaN, or by mask=data != {settings[key]!r} (True = observed)."
            msg = f"settings of method {name!r} {among}; got {key!r}.{hint}"
            raise TypeError(msg)
    smooth = settings.get("smooth")
    if smooth is not None and not isinstance(smooth, Mapping) and not cls.learns_smooth:
        msg = f'smooth must be {{mode: weight}}, e.g. {{"hour": 1.0}}, or {{}} for none; got {smooth!r}.'
        raise TypeError(msg)


def _checked_seed(seed: Any) -> int:
    """The seed as a plain Python int, which JSON can hold (a NumPy integer it cannot)."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        msg = f"seed must be a whole number >= 0; got {seed!r}. Leave it out for 0."
        raise ValueError(msg)
    return int(seed)
