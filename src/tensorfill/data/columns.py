"""Facts of every column of a table: its kind of numbers, where they can lie, and whether it is data at all."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorfill.data.facts import FAR_UNITS, TWO_ENDS, is_scale, kind_of_numbers, unit_mode
from tensorfill.data.labels import all_labels, as_datetimes, axis_labels
from tensorfill.data.observations import Observations
from tensorfill.data.sources import encoded_source
from tensorfill.data.units import slice_statistics
from tensorfill.data.unobserved import TIME_NAMES
from tensorfill.numerical.base import NumericalPrior, make_prior
from tensorfill.registry import did_you_mean
from tensorfill.typing import Array

ENOUGH = 20  # known values from which on a column speaks for itself; with fewer, all columns together do
BELOW = 0.1  # positive numbers may be so small a part of the least known one
ENDS = 0.05  # the last of levels is an end where such a share is at it: counts thin out
LONG_KEY = 1e8  # whole numbers that are all different and this large are keys
EXACT = 2.0**53  # from here on every float is a whole number, and not every whole number is a float
ID_NAME = re.compile(r"(^|[\s_.\-])(id|ids|key|uuid|guid|index|unnamed: 0)$|^[a-z]+ID$|[a-z]Id$", re.IGNORECASE)
PERCENT = re.compile(r"%|percent|\bpct\b", re.IGNORECASE)


@dataclass(frozen=True)
class ColumnFacts:
    """Facts of one column.

    Attributes
    ----------
    name : its label
    kind : continuous, amount, proportion, percentage, count, integer, integer levels or yes/no; or, of columns that are
        no data to learn from: empty, constant, identifier or copy
    low, high : where its numbers can lie
    floor : the least that is estimated: of positive numbers more than 0
    step : 1 for whole numbers, 0 for others
    copy_of : the place of the column that it equals, where it is a copy
    """

    name: str
    kind: str
    low: float = -np.inf
    high: float = np.inf
    floor: float = -np.inf
    step: float = 0.0
    copy_of: int | None = None

    @property
    def is_data(self) -> bool:
        """Is it a column to learn from?"""
        return self.kind not in ("empty", "constant", "identifier", "copy")

    @property
    def keeps_gaps(self) -> bool:
        """Do its gaps stay?"""
        return self.kind in ("empty", "identifier")


def is_table(obs: Observations) -> bool:
    """Are these the rows and columns of a table (pandas, polars, CSV), rather than an array?"""
    if obs.ndim != 2 or not getattr(obs.source, "table", False):
        return False
    labels = axis_labels(obs).get(obs.dims[1])
    return labels is None or as_datetimes(labels) is None  # moments are no quantities


def column_names(obs: Observations) -> list[str]:
    """The labels of the columns of a table, or their numbers."""
    found = all_labels(obs).get(obs.dims[1])
    return [str(x) for x in (range(obs.shape[1]) if found is None else found)]


def column_facts(obs: Observations) -> tuple[ColumnFacts, ...]:
    """Facts of every column of a table."""
    order, names = np.argsort(obs.indices[:, 1], kind="stable"), column_names(obs)
    rows, t = obs.indices[order, 0], obs.values[order].astype(np.float64)
    edges = np.searchsorted(obs.indices[order, 1], np.arange(obs.shape[1] + 1))
    parts = [slice(edges[n], edges[n + 1]) for n in range(obs.shape[1])]
    special = [
        _special(name, t[at], obs.shape[0]) if name not in obs.column_priors else None
        for name, at in zip(names, parts, strict=True)
    ]
    data = np.concatenate([t[at] for at, own in zip(parts, special, strict=True) if own is None] or [t])
    shared, one_scale = _facts("", data), kind_of_numbers(data) in TWO_ENDS
    seen: dict[bytes, int] = {}
    out: list[ColumnFacts] = []
    for n, (name, own) in enumerate(zip(names, special, strict=True)):
        known, where = t[parts[n]], rows[parts[n]]
        if own is None:
            earlier = seen.setdefault(known.tobytes() + where.tobytes(), n)
            if earlier != n:
                own = replace(out[earlier], name=name, kind="copy", copy_of=earlier)
        if own is None and name in obs.column_priors:
            own = _facts_of_prior(name, known, obs.column_priors[name])
        if own is None:
            speaks = len(known) >= ENOUGH and not one_scale
            own = _facts(name, known) if speaks else replace(shared, name=name)
        out.append(own)
    return tuple(out)


def with_column_priors(obs: Observations, given: Mapping[str, NumericalPrior | str]) -> Observations:
    """The observations of a table with the kind of numbers that a user named for some of its columns."""
    if not is_table(obs):
        msg = f"priors by column are for tables; got shape {obs.shape}. Name one prior for all, or make a tfl.Problem."
        raise ValueError(msg)
    source = encoded_source(obs.source)
    numbers = set(column_names(obs)) - getattr(obs.source, "latent", set())
    names = [str(c) for c in getattr(getattr(source or obs.source, "frame", None), "columns", ())] or sorted(numbers)
    encoded = {} if source is None else {names[c.place]: c for c in source.encoder.used}
    for name, prior in given.items():
        if name not in names:
            msg = (
                f"prior must name columns, which are {', '.join(names[:8])}{', ...' * (len(names) > 8)}; got {name!r}."
            )
            raise ValueError(msg + did_you_mean(str(name), names))
        if prior == "categorical" and name in numbers:
            msg = f"column {name!r} holds numbers; make them categories: frame.astype({{{name!r}: 'category'}})."
            raise ValueError(msg)
        if name not in numbers and prior not in ("categorical", "ordinal", "bernoulli"):
            msg = (
                f"prior of {name!r}, which holds no numbers, must be categorical, ordinal or bernoulli; got {prior!r}."
            )
            raise ValueError(msg)
        if name not in numbers:
            _check_levels(name, prior, encoded.get(name))
    return replace(obs, column_priors={name: prior for name, prior in given.items() if name in numbers})


def _check_levels(name: str, prior: Any, encoded: Any) -> None:
    """Refuse a prior that a column of text or categories, encoded in this way or not at all, does not have."""
    if encoded is None:
        msg = f"column {name!r} cannot be {prior}: it has one level alone, or too few rows for each; leave it out of "
        raise ValueError(msg + "prior.")
    if encoded.kind == "levels" and prior != "categorical":
        msg = f"levels of column {name!r} have no order, so that its prior must be categorical; got {prior!r}. Give "
        msg += f"them one: frame[{name!r}] = pandas.Categorical(frame[{name!r}], [...], ordered=True)."
        raise ValueError(msg)
    if encoded.kind == "codes" and len(encoded.levels) > 2 and prior != "ordinal":
        msg = f"levels of column {name!r} have an order, so that its prior must be ordinal; got {prior!r}. "
        msg += f"Take the order away: frame[{name!r}] = frame[{name!r}].cat.as_unordered()."
        raise ValueError(msg)


def _facts_of_prior(name: str, known: Array, given: NumericalPrior | str) -> ColumnFacts | None:
    """Facts of a column whose prior was given; None where nothing of it is known."""
    if not len(known):
        return None
    prior = make_prior(given)
    prior = prior.fitted(known) if isinstance(given, str) else prior
    domain = prior.t_domain
    outside = known[~domain.includes(known)]
    if len(outside):
        msg = f"values must be {domain.phrase} for {type(prior).__name__}; got {outside[0]:g} in column {name!r}. "
        raise ValueError(msg + 'Use prior="normal" for it, or mark that entry as missing.')
    drawn = prior.sample(np.full(20, 0.5), np.random.default_rng(0))
    whole = bool((drawn == np.rint(drawn)).all() and (known == np.rint(known)).all())
    yes_no = whole and (domain.low, domain.high) == (0.0, 1.0)
    floor = BELOW * float(known.min()) if domain.low == 0.0 and not whole else -np.inf
    return ColumnFacts(name, "yes/no" if yes_no else prior.name, domain.low, domain.high, floor, float(whole))


def _special(name: str, known: Array, rows: int) -> ColumnFacts | None:
    """Facts of a column of so many rows that is no data to learn from; None for others."""
    if not len(known):
        return ColumnFacts(name, "empty")
    low, high = float(known.min()), float(known.max())
    if len(known) < ENOUGH:  # too few to say that they are the same, or all different, by nature
        return None
    if low == high:
        return ColumnFacts(name, "constant", low, high)
    if not np.array_equal(known, np.floor(known)):
        return None
    different = len(np.unique(known))
    if ID_NAME.search(name.strip()) and 2 * different > len(known):
        return ColumnFacts(name, "identifier")
    within = high - low < rows < 2 * len(known)  # all different: 1, 2, 3, ... in any order, some missing
    counts_rows = within and not TIME_NAMES.search(name)
    is_key = different == len(known) and (counts_rows or low >= LONG_KEY)
    if high >= EXACT:  # keys have one length, and some are one float; amounts (kg, metres) range over many
        is_key = high < 10 * low
    if is_key:
        return ColumnFacts(name, "identifier")
    return None


def _facts(name: str, t: Array) -> ColumnFacts:
    """Kind and domain of a column of numbers."""
    low, high = float(t.min()), float(t.max())
    if bool(np.array_equal(t, np.floor(t))) and np.abs(t).max() <= EXACT:
        if low >= 0 and high <= 1:
            return ColumnFacts(name, "yes/no", 0.0, 1.0, step=1.0)
        levels, counts = np.unique(t, return_counts=True)
        ends_there = counts[-1] >= max(3, ENDS * len(t))
        if (low >= 0 and is_scale(t)) or (ends_there and high - low < 2 * len(levels)):
            return ColumnFacts(name, "integer levels", low, high, step=1.0)
        if low >= 0 and (high == 100 or (high < 100 and PERCENT.search(name))):
            return ColumnFacts(name, "percentage", 0.0, 100.0, step=1.0)
        return ColumnFacts(name, "count", 0.0, step=1.0) if low >= 0 else ColumnFacts(name, "integer", step=1.0)
    if low >= 0 and high <= 1:
        return ColumnFacts(name, "proportion", 0.0, 1.0, floor=BELOW * low)
    if low >= 0 and high <= 100 and (high > 90 or PERCENT.search(name)):
        return ColumnFacts(name, "percentage", 0.0, 100.0, floor=BELOW * low)
    if low >= 0:
        return ColumnFacts(name, "amount", 0.0, floor=BELOW * low)
    return ColumnFacts(name, "continuous", high=BELOW * high if high <= 0 else np.inf)  # negative as positive ones


def of_several_kinds(obs: Observations, facts: Sequence[ColumnFacts]) -> bool:
    """Are the columns quantities of their own (whole numbers beside others, or units that differ), each with enough
    known values to have a mean and a standard deviation?
    """
    data = [n for n, column in enumerate(facts) if column.is_data]
    if len(data) < len(facts):  # keys and constants have no unit
        return len(data) > 1 and of_several_kinds(_with_columns(obs, data), [facts[n] for n in data])
    counts = obs.counts[1][data]
    if len(data) < 2 or counts.min() < ENOUGH:
        return False
    steps = {facts[n].step for n in data}
    flags = {facts[n].kind == "yes/no" for n in data}
    if len(steps) > 1 or len(flags) > 1 or unit_mode(obs) == 1:
        return True
    _, _, spread = slice_statistics(obs, 1)
    return steps == {0.0} and bool(spread[data].max() > FAR_UNITS * spread[data].min() > 0)


def _with_columns(obs: Observations, columns: Sequence[int]) -> Observations:
    """The observations of these columns of a table alone."""
    part = obs.subset(np.isin(obs.indices[:, 1], columns))
    indices = np.column_stack([part.indices[:, 0], np.searchsorted(columns, part.indices[:, 1])])
    positions = None if obs.positions is None else (obs.positions[0], None)
    return replace(part, shape=(obs.shape[0], len(columns)), indices=indices, source=None, positions=positions)


def ignored_columns_notes(facts: Sequence[ColumnFacts], gaps: Sequence[int]) -> list[str]:
    """A sentence for each kind of column that was no data to learn from, as far as it has gaps."""
    words = {
        "empty": ("has no value: left empty", "have no value: left empty"),
        "identifier": ("holds identifiers: its gaps stay", "hold identifiers: their gaps stay"),
    }
    out = []
    for kind, (one, many) in words.items():
        names = [repr(c.name) for c, empty in zip(facts, gaps, strict=True) if c.kind == kind and empty]
        if names:
            out.append(f"column{'s' * (len(names) > 1)} {', '.join(names)} {many if len(names) > 1 else one}.")
    return out
