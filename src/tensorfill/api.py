"""complete(): the one function that most users call. It reads the data, checks the settings and runs a method."""

from __future__ import annotations

import dataclasses
import math
import os
import warnings
from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from time import perf_counter
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from tensorfill.auto.auto import Auto
from tensorfill.auto.errorbars import complete_with_bars
from tensorfill.blocks import Partitions
from tensorfill.blocks.draw import Draw
from tensorfill.blocks.opening import open_data
from tensorfill.blocks.paths import path_like
from tensorfill.data.columns import ignored_columns_notes, with_column_priors
from tensorfill.data.fold import fold_of, fold_of_line
from tensorfill.data.memory import BudgetError, ask, limit_memory
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.data.sentinels import warn_of_sentinels
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.data.timeaxis import only_mode
from tensorfill.data.unobserved import without_unseen
from tensorfill.io.atomic import find_overwritten
from tensorfill.io.data_warnings import warn_of_data
from tensorfill.io.features import with_features
from tensorfill.io.horizon import add_absent_steps, add_steps
from tensorfill.io.observe import observe
from tensorfill.methods.base import METHODS, Method, OutOfTime, Run, Unsuited
from tensorfill.methods.when import TimeOptions
from tensorfill.numerical.base import NumericalPrior
from tensorfill.registry import check_setting, did_you_mean
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.transforms.magnitude import divide, multiply, power_of
from tensorfill.transforms.order import CanonicalOrder
from tensorfill.transforms.table import TableTransform

Effort = Literal["quick", "normal", "best"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

RUN = ("max_iter", "seconds", "callback", "checkpoint", "resume")  # options that are fields of a Run

# What other libraries call the number that means "missing"
MISSING_WORDS = ("missing_value", "missing_values", "na_value", "na_values", "fill_value", "nodata")


def settings_of(cls: type[Method]) -> list[str]:
    """Names of the settings of a method: its dataclass fields, without class variables (name, reference, ...)."""
    return [f.name for f in dataclasses.fields(cls) if f.init]


def complete(
    data: Any,
    mask: ArrayLike | None = None,
    *,
    prior: NumericalPrior | str | Mapping[str, NumericalPrior | str] | None = None,
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
    features: Mapping[Any, Any] | None = None,
    absent: str | None = None,
    **options: Any,
) -> Completion:
    """Fill the missing entries of `data`. What is not given is chosen from the data.

    Parameters
    ----------
    data : array with NaN for missing (NumPy, numpy.ma, xarray, torch, dask, sparse); table or series (pandas, polars);
        Observations; a long table with its columns named (pandas, dask); or files: "photo.png", "ratings/*.parquet"
    mask : True = observed, of the data's shape or of its first modes; or a file, where not black = observed
    prior : what kind of numbers: "poisson", tfl.Poisson(), ... (`tensorfill list priors`); of columns {"age": "normal"}
    model : the low-rank form of the data: "cp", "tucker", "tt", "tr" or "tubal"
    rank : how many components; of models with several ranks (8, 8, 3)
    smooth : {mode or name: weight} of smoothness along it; {} for none. For "bayes", which learns them: ["hour"]
    method : "auto", which tries methods and takes the best, or one of `tensorfill list methods`
    effort : how much "auto" tries: "quick", "normal" or "best", which takes longest
    error_bars : 0.9 for intervals that hold nine of ten unknown entries, in `.interval`; takes a second run
    seed : of everything random; the same seed gives the same answer
    dims : names of the modes; of a long table, of the columns that say where a value belongs
    value : of a long table, the name of the column of values
    weights : how much each entry counts, > 0; of a long table, the name of a column
    features : {"user": users, "film": films}, tables that describe the entries of a mode; see docs/mixed-tables.md
    absent : what a sparse array does not store: "missing" or "zero"
    **options : of time: time, fold, max_gap, horizon, fill_unseen (help(tfl.methods.when.TimeOptions)); of the run:
        max_iter, seconds, callback, checkpoint, resume (help(tfl.methods.base.Run)), max_memory="4GB" (by default half
        of what is free); of the method: solver, candidates, held_out of "auto", alpha of "sptc", ...

    Returns
    -------
    Completion : `.completed` is the answer in the type of `data`; more: help(tfl.Completion), the pages in docs/
    """
    when = TimeOptions(**_take(options, _names_of(TimeOptions)))
    run, max_memory = Run(check_seed(seed), **_take(options, RUN)), options.pop("max_memory", None)
    named = {"prior": None if isinstance(prior, Mapping) else prior, "model": model, "rank": rank, "smooth": smooth}
    settings = {key: given for key, given in {**options, **named}.items() if given is not None}
    when.check(recipe := make_method(method, effort, settings, error_bars))
    with limit_memory(max_memory):
        given = _read_data(data, mask, dims, value, weights, absent, run, settings.get("held_out"))
        given = _with_column_priors(_with_features(given, features, recipe), prior, recipe)
        began, rest = perf_counter(), (recipe, run, error_bars, when)
        done = _complete_blocks(given, *rest) if isinstance(given, Partitions) else _complete_in_memory(given, *rest)
    return _with_warnings(dataclasses.replace(done, took=perf_counter() - began), data, given)


def _with_features(
    given: Observations | Partitions, features: Mapping[Any, Any] | None, recipe: Method
) -> Observations | Partitions:
    """The data with features, if the method can use them."""
    if features is None:
        return given
    if not recipe.uses_features:
        msg = f'method {recipe.name!r} has no features; got some. Use method="auto" or "bayes", or leave them out.'
        raise ValueError(msg)
    if isinstance(given, Partitions):
        given.close()
        msg = f"features need all observations in memory, and these {given.sample.nnz:,} are in blocks; leave them out."
        raise ValueError(msg)
    return with_features(given, features)


def _with_column_priors(given: Observations | Partitions, prior: Any, recipe: Method) -> Observations | Partitions:
    """The data with the kinds of numbers that were named for columns, if any were."""
    if not isinstance(prior, Mapping):
        return given
    if not isinstance(recipe, Auto):
        msg = f'priors by column belong to method="auto"; got method={recipe.name!r}. Name one prior for all.'
        raise ValueError(msg)
    if isinstance(given, Partitions):
        given.close()
        msg = f"priors by column are for tables; got {given.sample.nnz:,} entries in blocks. Name one prior for all."
        raise ValueError(msg)
    return with_column_priors(given, prior)


def _names_of(cls: type[Any]) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls))


def _take(options: dict[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Take these options out of the others."""
    return {name: options.pop(name) for name in names if name in options}


def _check_overwriting(run: Run, inputs: Mapping[str, Any]) -> None:
    """Refuse a checkpoint in the place of files that are read."""
    for name, given in inputs.items():
        files = ([given] if isinstance(given, str | PathLike) else given) if path_like(given) else []
        for file in files if run.checkpoint is not None else []:
            if clash := find_overwritten({"checkpoint": str(run.checkpoint)}, {name: os.fspath(file)}):
                raise ValueError(clash)


def _with_warnings(done: Completion, data: Any, given: Observations | Partitions) -> Completion:
    """The result, after warnings about data that were converted here; ready-made Observations warned when made."""
    if given is not data and isinstance(given, Observations):
        warn_of_data(done.observations, done.status is Status.NOTHING_MISSING and given.nnz == given.size)
    return done


def _read_data(
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
    _check_overwriting(run, {"the input": data, "the mask": mask})
    if mask is None and absent is None and not isinstance(data, Observations):
        draw = Draw(run.seed, held_out)
        progress = getattr(run.callback, "reading", None)  # progress bars have this method
        found = open_data(data, dims=dims, value=value, weights=weights, draw=draw, tell=progress)
        if found is not None:
            return found if isinstance(found, Partitions) else warn_of_sentinels(found)
    elif value is not None:
        got = "mask" if mask is not None else "absent"
        msg = f"mask and absent are for arrays; a table has rows for what is known; got {got}. Leave them out."
        raise ValueError(msg)
    return observe(data, mask, weights=weights, dims=dims, absent=absent)


def _complete_in_memory(
    given: Observations, recipe: Method, run: Run, error_bars: float | None, when: TimeOptions
) -> Completion:
    """Extend the data by the horizon, fold the time axis, fit, and bring the answer back to the form of the data."""
    modes = when.modes(given)
    given = given if when.fill_unseen or when.horizon else without_unseen(given)
    given = given if when.horizon is None else add_absent_steps(given, modes[0])
    data = given if when.horizon is None else add_steps(given, modes[0], when.horizon)
    folding = None if when.fold is None else fold_of(data, when.fold)
    if when.fold is None and not recipe.fills_one_series and (folding := fold_of_line(data)) is not None:
        modes = (folding.mode,)  # of a single series, folded by its period, the one mode is time
    if folding is not None and data.dims[folding.mode] in data.features:
        msg = f"a mode that is folded cannot have features; got those of {data.dims[folding.mode]}. Leave one out."
        raise ValueError(msg)
    obs = data if folding is None else folding.apply(data)
    recipe = when.with_time(recipe, modes, folding)
    ask(recipe.memory(obs), f"method {recipe.name!r} on {obs.size:,} entries, {obs.nnz:,} of them known,")
    with warnings.catch_warnings():
        # Slices without an observation are expected here: the steps of a horizon, and every gap of a single series.
        if when.horizon is not None or only_mode(data) is not None:
            warnings.filterwarnings("ignore", message=r".* ha(ve|s) no observed entry", category=DataWarning)
        done = _run_in_order(obs, recipe, run, error_bars)
    done = done if folding is None else done.unfolded(data, folding.mode, folding.codes)
    return dataclasses.replace(done, unfilled=when.unfilled(given, modes))


def _complete_blocks(
    parts: Partitions, recipe: Method, run: Run, error_bars: float | None, when: TimeOptions
) -> Completion:
    """Fit observations in blocks; refuse what needs all of them in memory. The blocks are closed if the run fails."""
    many = f"needs all observations in memory, and these {parts.sample.nnz:,} are in blocks"
    try:
        for name, given in {"error_bars": error_bars, **vars(when)}.items():
            if given is not None and given is not False:
                msg = f"{name} {many}; leave it out."
                raise ValueError(msg)
        if not recipe.fits_blocks:
            msg = f'method {recipe.name!r} {many}; use method="auto".'
            raise ValueError(msg)
        whole, power = dataclasses.replace(parts.sample, blocks=parts), power_of(parts.sample)
        if not power:
            done = recipe.fit_blocks(parts, run)
        else:  # a double holds no power of two beyond 1023
            done = recipe.fit_blocks(parts.in_units(0.0, math.ldexp(1.0, min(power, 1023))), run)
            done = multiply(done, whole, min(power, 1023))
        parts.settle()
        return dataclasses.replace(done, observations=whole)
    except BaseException:
        parts.close()
        raise


def make_method(method: Any, effort: Any, settings: Mapping[str, Any], error_bars: Any = None) -> Method:
    """The method that `complete` runs; refuses names and settings that are none."""
    cls = METHODS[name := _method_name(method, effort)]
    _check_settings(name, cls, settings, error_bars)
    return cls(**settings)


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


def _run_in_order(obs: Observations, recipe: Method, run: Run, error_bars: float | None) -> Completion:
    """The run itself, on slices in an order that does not depend on their names nor on where they stood."""
    by_place = not isinstance(recipe, Auto) or recipe.time or recipe.smooth or not isinstance(recipe.prior, str | None)
    order = None if by_place else CanonicalOrder.fit(obs)
    if order is None:
        return _run_on_table(obs, recipe, run, error_bars)
    return order.inverse_transform(_run_on_table(order.transform(obs), recipe, run, error_bars), obs)


def _run_on_table(obs: Observations, recipe: Method, run: Run, error_bars: float | None) -> Completion:
    """The run; of a table on its columns of data, each in its own unit."""
    chooses = isinstance(recipe, Auto) and recipe.prior is None
    table = TableTransform.fit(obs, standardize=chooses)
    if table is None:
        return _run_on_numbers(obs, recipe, run, error_bars)
    for line in ignored_columns_notes(table.columns, np.count_nonzero(~obs.mask, axis=0).tolist()):
        warnings.warn(line, DataWarning, stacklevel=find_stacklevel())
    return table.inverse_transform(_run_on_numbers(table.transform(obs), recipe, run, error_bars), obs)


def _run_on_numbers(obs: Observations, recipe: Method, run: Run, error_bars: float | None) -> Completion:
    """The run itself, on data scaled to a magnitude whose squares neither overflow nor vanish."""
    power = power_of(obs)
    scaled = divide(obs, power) if power else obs
    recipe.check(scaled)
    try:
        done = recipe.fit(scaled, run) if error_bars is None else complete_with_bars(scaled, recipe, run, error_bars)
    except Unsuited as why:
        msg = f'method {recipe.name!r} cannot complete this tensor: {why}. Use method="auto", which tries several.'
        raise ValueError(msg) from None
    except MemoryError as error:
        if isinstance(error, BudgetError):
            raise
        msg = f"there is not enough memory for method {recipe.name!r} on {scaled.size:,} entries ({error})."
        raise BudgetError(msg) from None
    except OutOfTime:
        msg = f'method {recipe.name!r} had no answer after {run.seconds:g} seconds; give it more, or use method="auto".'
        raise ValueError(msg) from None
    return multiply(done, obs, power) if power else done


def _check_settings(name: str, cls: type[Method], settings: Mapping[str, Any], error_bars: Any) -> None:
    """Refuse settings that the method does not have, or of a form that none can use."""
    check_setting("error_bars", error_bars, "float | None")
    known = settings_of(cls)
    own = [*(complete.__kwdefaults__ or {}), *_names_of(TimeOptions), *RUN, "max_memory"]
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


def check_seed(seed: Any) -> int:
    """The seed as a plain Python int, which JSON can hold (a NumPy integer it cannot)."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        msg = f"seed must be a whole number >= 0; got {seed!r}. Leave it out for 0."
        raise ValueError(msg)
    return int(seed)
