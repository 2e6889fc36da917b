"""Interpolation along an ordered mode: on lines between the known neighbours, or on cubic splines."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.facts import Facts, ModeFacts
from tensorfill.data.gaps import GAPS
from tensorfill.data.observations import Observations
from tensorfill.data.unfolding import join_dims, refold_modes, unfold_modes
from tensorfill.methods.base import METHODS, Method, Run, Variants
from tensorfill.methods.checks import check_one_of
from tensorfill.methods.tabular.means import means_table
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.transforms import Flattened, Folded
from tensorfill.typing import Array

KINDS = ("linear", "cubic")
LARGEST = 2**24  # entries


@dataclass(frozen=True)
class AlongMode(Method):
    """What they have in common: a mode along which neighbours tell something.

    Parameters
    ----------
    mode : the mode, or its name; None: the one along which neighbours are most alike
    time : modes that are one time axis together, from the outer to the inner
    """

    mode: int | str | None = None
    time: tuple[int, ...] = ()
    dim: str = ""

    competes = True
    fills_one_series = True

    def knows_unseen(self, mode: int) -> bool:
        return mode == self.mode  # a slice along it lies between others

    def suits(self, facts: Facts) -> str | None:
        if facts.size > LARGEST:
            return "the tensor is too large to hold every entry"
        neighbours = facts.ordered or len(self.time) > 1 or periods(facts)
        return None if neighbours else "no mode has neighbours that are alike"

    def variants(self, facts: Facts) -> Variants:
        for n in sorted(facts.ordered, key=lambda n: _gaps_first(facts.modes[n])):
            yield from self.along(n, facts)
        for n, m in enumerate(facts.modes):
            if m.period is not None:  # what lies a period apart may be more alike than neighbours are
                turns = replace(self, mode=n, dim=f"{m.dim} in steps of {m.period}", time=())
                yield Folded(turns, n, m.period, m.dim)
        if len(self.time) > 1:
            dims = join_dims([m.dim for m in facts.modes], self.time)
            yield Flattened(replace(self, mode=1, dim="time", time=()), self.time, dims)

    def along(self, mode: int, facts: Facts) -> Variants:
        """Yield the variants along one mode."""
        yield replace(self, mode=mode, dim=facts.modes[mode].dim)

    def axis(self, obs: Observations, run: Run) -> int:
        """The number of the mode; where none was named, the first of those that would be tried."""
        if self.mode is not None:
            return obs.mode(self.mode)
        modes = run.facts_of(obs).modes
        return min(range(obs.ndim), key=lambda n: _gaps_first(modes[n]))

    def length(self, facts: Facts) -> int:
        """Of the mode."""
        return facts.shape[self.mode] if isinstance(self.mode, int) else max(facts.shape)

    @property
    def label(self) -> str:
        return f"{self.name} along {self.dim}" if self.dim else self.name


def periods(facts: Facts) -> int:
    """Along how many modes the data repeat."""
    return sum(m.period is not None for m in facts.modes)


def _gaps_first(mode: ModeFacts) -> tuple[bool, float]:
    """Sort modes: first those with whole slices missing, which only what lies beside them along the mode can tell, then
    by how alike neighbours are.
    """
    return mode.seen == mode.length, mode.rough


@METHODS.register("interpolation")
@dataclass(frozen=True)
class Interpolation(AlongMode):
    """Straight lines or cubic splines through the known entries along one mode, level beyond the ends.

    Parameters
    ----------
    kind : "linear" or "cubic"
    """

    reference = "linear interpolation; cubic splines of de Boor: A Practical Guide to Splines, 1978"
    assumes = "neighbours along one mode are alike, and hardly noisy"
    use_when = "short gaps in smooth series; slices missing from a scan, frames from a film"

    kind: str = "linear"

    def __post_init__(self) -> None:
        check_one_of(self, "kind", *KINDS)

    def initial_variants(self, facts: Facts) -> int:
        return len(KINDS) + periods(facts)

    def along(self, mode: int, facts: Facts) -> Variants:
        for kind in KINDS:
            yield replace(self, mode=mode, dim=facts.modes[mode].dim, kind=kind)

    @property
    def label(self) -> str:
        return f"cubic {super().label}" if self.kind == "cubic" else super().label

    def cost(self, facts: Facts) -> float:
        cost = 5e-4 + 5e-8 * facts.size
        if self.kind == "linear":
            return cost
        elsewhere = (facts.size - facts.observed) * (1 - facts.gaps.get(GAPS[-1], 0.0))  # not in slices never seen
        return 2 * cost + 1e-4 * min(elsewhere, facts.size / self.length(facts))

    def fit(self, obs: Observations, run: Run) -> Completion:
        mode = self.axis(obs, run)
        lines = along_lines if self.kind == "linear" else along_splines
        X = lines(unfold_modes(obs.dense(dtype=np.float64), (mode,)), obs.position(mode))
        never = np.isnan(X)
        if never.any():
            X[never] = means_table(obs, run, (mode,))[never]
        answer = Filled(refold_modes(X, obs.shape, (mode,)))
        return self.completion(obs, run, answer, settings={"mode": obs.dims[mode], "kind": self.kind})


def along_splines(X: Array, where: Array) -> Array:
    """As `along_lines`, on cubic splines through the known entries; rows with fewer than four of them on lines."""
    from scipy.interpolate import CubicSpline

    out, known = along_lines(X, where), ~np.isnan(X)
    _, pattern, count = np.unique(np.packbits(known, axis=1), axis=0, return_inverse=True, return_counts=True)
    alike = np.split(np.argsort(pattern.reshape(-1), kind="stable"), np.cumsum(count)[:-1])
    for here in alike:  # rows that are known at the same places
        at = np.flatnonzero(known[here[0]])
        if len(at) >= 4:
            inside = np.arange(at[0], at[-1] + 1)
            spline = CubicSpline(where[at], X[np.ix_(here, at)], axis=1)
            out[np.ix_(here, inside)] = spline(where[inside])
    return out


def along_lines(X: Array, where: Array) -> Array:
    """Rows of X (k, L) with NaN on the line between the known neighbours, level beyond the ends; rows of NaN stay. The
    columns lie at `where`, (L,).
    """
    known = ~np.isnan(X)
    at = np.arange(X.shape[1])
    before = np.maximum.accumulate(np.where(known, at, -1), axis=1)
    after = np.flip(np.minimum.accumulate(np.flip(np.where(known, at, X.shape[1]), 1), axis=1), 1)
    left = np.where(before >= 0, before, after)
    right = np.where(after < X.shape[1], after, before)
    left, right = np.clip(left, 0, X.shape[1] - 1), np.clip(right, 0, X.shape[1] - 1)
    a, b = np.take_along_axis(X, left, 1), np.take_along_axis(X, right, 1)
    gap = where[right] - where[left]
    share = np.where(gap > 0, (where - where[left]) / np.where(gap > 0, gap, 1.0), 0.0)
    return a + share * (b - a)
