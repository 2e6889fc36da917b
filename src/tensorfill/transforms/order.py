"""An order for what has none: the same data give the same answer, however rows are shuffled and names are spelt.

Folds are drawn and fits are started by position. So the slices of a mode that has names alone are put into an order
that follows from their numbers, slices with numbers or moments as labels into that of their labels, and the answer is
given in the order of the user.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.facts import is_picture
from tensorfill.data.labels import all_labels, as_numbers, axis_labels, with_positions
from tensorfill.data.observations import Observations
from tensorfill.data.sources import LabelledSource
from tensorfill.data.units import Units
from tensorfill.result.answer import Blend, Factors, Filled
from tensorfill.result.completion import Completion
from tensorfill.result.packing import Answer
from tensorfill.result.transformed import InUnits, Refolded
from tensorfill.typing import Array

ROUNDS = 3  # of refining: then slices of few different numbers differ by what lies across them, too
ODD = np.uint64(0x9E3779B97F4A7C15)  # the golden ratio times 2^64, an odd number whose multiples spread evenly


@dataclass(frozen=True, eq=False)
class CanonicalOrder:
    """Slices in an order of their own for the fit.

    Attributes
    ----------
    places : {mode: where each of its slices goes, (I_n,)}
    answers : {mode: whose answer each of its slices gets, (I_n,)}: its own, but the same for slices that are equal
    """

    places: Mapping[int, NDArray[np.intp]]
    answers: Mapping[int, NDArray[np.intp]]

    @classmethod
    def fit(cls, obs: Observations) -> Self | None:
        """Learn it from these observations; None where every mode has the order that it should."""
        named = [n for n in range(obs.ndim) if not obs.has_order(n)]
        places = {n: at for n, at in _by_label(obs).items() if n not in named}
        answers = dict(places)
        if named and not is_picture(obs):
            keys, contents = _keys(obs, named)
            for n in named:
                places[n] = _ranks(keys[n])
                _, first, which = np.unique(contents[n], return_index=True, return_inverse=True)
                answers[n] = places[n][first[which.ravel()]]
        return cls(places, answers) if places else None

    def transform(self, obs: Observations) -> Observations:
        """The observations in this order."""
        indices = np.array(obs.indices)
        for n, at in self.places.items():
            indices[:, n] = at[indices[:, n]]
        order, none = np.lexsort(indices.T[::-1]), (None,) * obs.ndim
        known = all_labels(obs)
        labels = {d: known[d] for d in obs.dims if d in known}
        for n, at in self.places.items():
            if (found := labels.get(obs.dims[n])) is not None:
                labels[obs.dims[n]] = _take(found, np.argsort(at))
        empty, table = np.empty((0, 0)), getattr(obs.source, "table", False)
        made = replace(
            obs,
            indices=indices[order],
            values=obs.values[order],
            weights=None if obs.weights is None else obs.weights[order],
            outside=self._move(obs.outside),
            features=self._move_features(obs),
            source=LabelledSource(empty, empty.astype(bool), labels=labels, table=table),
        )
        rising = with_positions(made, {d: labels[d] for d in labels if obs.dims.index(d) in self.places}).positions
        both = zip(rising or none, obs.positions or none, strict=True)
        found = tuple(new if old is None else old for new, old in both)
        return replace(made, positions=found if any(at is not None for at in found) else None)

    def _move_features(self, obs: Observations) -> dict[str, Array]:
        """The features of slices in this order."""
        places = {obs.dims[n]: at for n, at in self.places.items()}
        return {d: X[np.argsort(places[d])] if d in places else X for d, X in obs.features.items()}

    def _move(self, array: Array | None) -> Array | None:
        """An array of full shape in this order."""
        for n, at in self.places.items():
            array = None if array is None else np.take(array, np.argsort(at), axis=n)
        return array

    def inverse_transform(self, done: Completion, obs: Observations) -> Completion:
        """The completion of `transform(obs)` as that of `obs`."""
        answer, units, half = done.answer, done.error_units, None if done.bars is None else done.bars.half
        for n, at in self.answers.items():
            answer, units = _reorder(answer, n, at), _units(units, n, at)
            half = None if half is None else np.take(half, at, axis=n)
        columns, rank = done.columns, {}
        if columns and 1 in self.places:
            columns = tuple(columns[k] for k in self.places[1])
            rank = {column.name: k for k, column in enumerate(columns)}
        return replace(
            done,
            observations=obs,
            answer=answer,
            bars=None if done.bars is None or half is None else replace(done.bars, half=half),
            error_units=units,
            problem=None if done.problem is None else self._problem(done.problem),
            columns=tuple(replace(c, copy_of=None if c.copy_of is None else self._column(c.copy_of)) for c in columns),
            by_column=tuple(sorted(done.by_column, key=lambda c: rank.get(c.name, 0))),
        )

    def _column(self, k: int) -> int:
        """Where column k was."""
        return int(np.flatnonzero(self.places[1] == k)[0]) if 1 in self.places else k

    def _problem(self, problem: Any) -> Any:
        """The same problem for the data as they were; None if neighbours are tied along a mode that was put in order,
        or where it was made for data of another shape.
        """
        shape = problem.observations.shape
        for n, at in self.places.items():
            tied = n in problem.interelement and problem.interelement[n].couples(shape[n])
            if tied or n >= len(shape) or shape[n] != len(at):
                return None
        places = {n: np.argsort(at) for n, at in self.places.items()}
        back = CanonicalOrder(places, places)
        return replace(problem, observations=back.transform(problem.observations), quiet=True)


def _reorder(answer: Answer, mode: int, at: Array) -> Answer:
    """The answer whose slice i along a mode is slice at[i] of this one."""
    if isinstance(answer, Factors) and answer.prior.uniform and mode < len(answer.model.by_mode):
        parameters = [A[at] if n == mode else A for n, A in enumerate(answer.model.parameters)]
        return replace(answer, model=answer.model.with_parameters(parameters), units=_units(answer.units, mode, at))
    if isinstance(answer, Filled):
        behind = None if answer.behind is None else _reorder(answer.behind, mode, at)
        return Filled(np.take(answer.X, at, axis=mode), behind if isinstance(behind, Factors) else None)
    if isinstance(answer, Blend):
        rows = answer.rows
        if rows is not None and rows.shape[mode] > 1:
            rows = np.take(rows, at, axis=mode)
        return replace(answer, parts=tuple(_reorder(part, mode, at) for part in answer.parts), rows=rows)
    if isinstance(answer, InUnits):
        own = {"low": answer.low, "high": answer.high, "index": answer.index} if answer.units.mode == mode else {}
        inner = answer.inner if own.get("index") is not None else _reorder(answer.inner, mode, at)
        moved = {name: None if array is None else array[at] for name, array in own.items()}
        return replace(answer, inner=inner, units=_units(answer.units, mode, at), **moved)
    return Refolded(answer, mode, at[:, None])


def _units(units: Units | None, mode: int, at: Array) -> Any:
    """The units of the slices at[i] along a mode."""
    if units is None or units.mode != mode:
        return units
    return replace(units, level=units.level[at], scale=units.scale[at])


def _by_label(obs: Observations) -> dict[int, NDArray[np.intp]]:
    """{mode: places by its labels}, of modes whose labels are different numbers or moments that do not rise."""
    out = {}
    for n, d in enumerate(obs.dims):
        found = axis_labels(obs).get(d)
        numbers = None if found is None or len(found) != obs.shape[n] else as_numbers(found)
        if numbers is None or (np.diff(numbers) > 0).all() or len(np.unique(numbers)) < len(numbers):
            continue
        out[n] = _ranks(numbers)
    return out


def _ranks(x: Array) -> NDArray[np.intp]:
    """The place of each number among them, the least first."""
    return np.argsort(np.argsort(x, kind="stable"), kind="stable")


def _take(labels: Any, order: Array) -> Any:
    """Labels in another order: of pandas in their type, else a list."""
    return labels.take(order) if hasattr(labels, "take") else [labels[k] for k in order]


def _keys(obs: Observations, named: list[int]) -> tuple[dict[int, Array], dict[int, Array]]:
    """{mode: a number for every slice, (I_n,)} of the modes `named`: the first follows from its entries, and not from
    where it nor slices of these modes stand; the second is the same for equal slices only.
    """
    entries = _mix_bits((obs.values.astype(np.float64) + 0.0).view(np.uint64))  # + 0: there is one zero
    if obs.weights is not None and (obs.weights != obs.weights[0]).any():
        entries = _mix_bits(entries + obs.weights.astype(np.float64).view(np.uint64))
    places = [np.arange(length, dtype=np.uint64) for length in obs.shape]
    keys = [np.zeros_like(place) if n in named else place for n, place in enumerate(places)]
    for _ in range(ROUNDS):
        for n, key in _sums(obs, entries, keys, named).items():
            keys[n] = key
    return {n: keys[n] for n in named}, _sums(obs, entries, places, named)


def _sums(obs: Observations, entries: Array, keys: list[Array], modes: list[int]) -> dict[int, Array]:
    """{mode: of every slice the sum of numbers that its entries and the keys of the slices across it make, (I_n,)}"""
    each = [_mix_bits(key + np.uint64(n + 1))[obs.indices[:, n]] for n, key in enumerate(keys)]
    out = {}
    for n in modes:
        out[n] = _feature_keys(obs, n)
        across = sum((e for m, e in enumerate(each) if m != n), entries)
        np.add.at(out[n], obs.indices[:, n], _mix_bits(across))
    return out


def _feature_keys(obs: Observations, mode: int) -> Array:
    """A number for every slice, (I_n,), that follows from its features; 0 where there are none."""
    X = obs.features.get(obs.dims[mode], np.zeros((obs.shape[mode], 0)))
    out = np.zeros(len(X), np.uint64)
    for column in X.T:
        out = _mix_bits(out + (column + 0.0).view(np.uint64))
    return out


def _mix_bits(x: Array) -> Array:
    """Well-mixed bits of whole numbers, by multiplications and shifts modulo 2^64."""
    x = (x ^ (x >> np.uint64(30))) * ODD
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0xD6E8FEB86659FD93)
    return np.asarray(x ^ (x >> np.uint64(31)))
