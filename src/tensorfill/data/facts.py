"""Facts: properties of the observations, measured once per run. Candidates are chosen by them; users can read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tensorfill.data.autocorrelation import ENOUGH_PAIRS, noise_level, period, roughness, smoothest
from tensorfill.data.gaps import GAPS, clustering, depth, kinds_at
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.data.sources import root
from tensorfill.data.units import slice_statistics
from tensorfill.typing import Array

TWO_ENDS = ("yes/no", "scale")  # kinds of numbers with a smallest and a largest possible value
CHANNELS = 4  # a mode of up to four entries is a set of channels (grey and alpha, RGB, CMYK), not a line of positions
MOST_VALUES = 4_000_000  # values looked at: more add nothing to the spread of a slice
MOST_GAPS = 1_000_000  # missing entries looked at: more add nothing to the share of each kind of gap
OUTLYING = 5.0  # times as far from the median as nine of ten values are: of normal numbers none in 10**15
FEW = 10  # entries below which a mean or a spread says little
ALIKE = 0.6  # a mode is smooth if near entries differ by less than this part of what far ones do (mean squares)
# The same threshold for an ordered mode. With a larger ratio r the mean of two neighbours, whose squared error is about
# 1.5 r of the variance, predicts an entry no better than the mean of all entries does: 1.5 x 0.8 > 1.
ORDERLY = 0.8
SHORTEST_LINE = 8  # in a shorter mode, near and far entries cannot be told apart
LONGEST_SCALE = 100  # beyond, whole numbers are amounts even if a detector is saturated
SMALLEST_PICTURE = 16  # pixels along each side
SMALLEST_FLOATS = 48  # the same for floats: hours of days, and months of years, are fewer along one side
OFF_GRID = 0.01  # grey levels by which floats of single precision may be off
APART = 3.0  # slices spread differently if the widest spreads so many times as much as the narrowest
UNITS = 5.0  # slices have units of their own if the widest spreads so many times as much as the narrowest,
FAR_UNITS = 100.0  # or, of numbers that are no counts, so many times as much;
AWAY = 2.0  # the typical one lies so many spreads away from zero (of spreads that differ by less than FAR_UNITS),
UNEVEN = 2.5  # and the furthest so many times as far as the nearest


@dataclass(frozen=True)
class ModeFacts:
    """Properties of one mode.

    Attributes
    ----------
    dim, length : its name and length
    seen : how many of its slices have an observed entry
    rough : how much near entries differ relative to far ones, 1 = no more alike; `pairs` neighbours were compared
    smoothest : the same of the single series along it that is smoothest
    period : after how many steps the data repeat, or, where none is seen, the calendar; None for neither
    spreads, units : widest spread of a slice over the narrowest, and have slices units of their own? `slice_scales`
    clustered : how much likelier than by chance the neighbour of a gap is one
    steps : widest step between neighbours over the narrowest, where coordinates say so; 1 for even ones
    """

    dim: str
    length: int
    seen: int
    rough: float
    pairs: int
    period: int | None
    spreads: float
    clustered: float
    steps: float = 1.0
    smoothest: float = 1.0
    units: bool = False

    @property
    def channels(self) -> bool:
        """Is this mode so short that it is a set of channels rather than a line of positions?"""
        return self.length <= CHANNELS

    @property
    def smooth(self) -> bool:
        """Are neighbours alike, on evidence of enough pairs?"""
        return self.length >= SHORTEST_LINE and self.pairs >= ENOUGH_PAIRS and self.rough < ALIKE

    @property
    def ordered(self) -> bool:
        """Are neighbours, at least in some series, so much more alike than others that an entry may be guessed from
        them?
        """
        return self.length > CHANNELS and self.pairs >= FEW and min(self.rough, self.smoothest) < ORDERLY


@dataclass(frozen=True)
class Facts:
    """Properties of the observations, as `compute_facts` measures them.

    Attributes
    ----------
    shape, observed : of the tensor, and how many of its entries are known
    numbers : "yes/no", "counts", "scale" (stars, marks), "amounts" (positive, of any size) or "reals"
    level, spread, low, high : mean, standard deviation and ends of the observed values
    modes : one ModeFacts each
    noise : standard deviation of the noise, estimated from differences of neighbours along smooth modes
    grainy : share of the noise in the differences of neighbours; clean pictures stay below 0.4
    gaps : {kind of gap: share of the missing entries}
    picture : is it a photograph: 8 or 16-bit numbers, or the same as floats, or a picture file?
    weighted : do some entries count more than others?
    depth : of a picture with connected gaps (holes, scratches, text): the largest distance, in pixels, from a missing
        pixel to the nearest known one; 0 for everything else
    outliers : share of values that lie far beyond all others
    in_blocks : are the observations in blocks, these being facts of a subset of them?
    """

    shape: tuple[int, ...]
    observed: int
    numbers: str
    level: float
    spread: float
    low: float
    high: float
    modes: tuple[ModeFacts, ...]
    noise: float
    grainy: float
    gaps: Mapping[str, float]
    picture: bool
    weighted: bool = False
    depth: float = 0.0
    outliers: float = 0.0
    in_blocks: bool = False

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.float64))

    @property
    def share(self) -> float:
        """The share of entries observed."""
        return self.observed / self.size

    @property
    def dense(self) -> bool:
        """Small enough to hold every entry?"""
        return self.size <= DENSE_LIMIT

    @property
    def smooth(self) -> tuple[int, ...]:
        """The smooth modes."""
        return tuple(n for n, m in enumerate(self.modes) if m.smooth)

    @property
    def ordered(self) -> tuple[int, ...]:
        """The modes along which neighbours are somewhat alike."""
        return tuple(n for n, m in enumerate(self.modes) if m.ordered)

    @property
    def uneven(self) -> int | None:
        """The mode whose slices spread differently; see `uneven_mode`."""
        return uneven_mode(self.shape, [m.spreads for m in self.modes])

    @property
    def units(self) -> int | None:
        """The same if its slices are quantities with units of their own: errors are told in their spreads."""
        return self.uneven if self.uneven is not None and self.modes[self.uneven].units else None

    def settings(self) -> dict[str, Any]:
        """JSON-able."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_settings(given: Mapping[str, Any]) -> Facts:
        modes = tuple(ModeFacts(**m) for m in given["modes"])
        return Facts(**{**given, "shape": tuple(given["shape"]), "modes": modes})

    def __str__(self) -> str:
        from tensorfill.data.factwords import lines

        return "\n".join(lines(self))


def compute_facts(obs: Observations) -> Facts:
    """All facts of these observations."""
    t = obs.values.astype(np.float64)
    grouped = clustering(obs) if obs.size <= DENSE_LIMIT else [0.0] * obs.ndim
    modes = tuple(_mode(obs, n, c) for n, c in enumerate(grouped))
    smooth = tuple(n for n, m in enumerate(modes) if m.smooth)
    grainy, noise = noise_level(obs, smooth[:2]) if smooth else (float("nan"), 0.0)
    picture = is_picture(obs)
    return Facts(
        shape=obs.shape,
        observed=obs.nnz,
        numbers=kind_of_numbers(t),
        level=float(t.mean()),
        spread=float(t.std()),
        low=float(t.min()),
        high=float(t.max()),
        modes=modes,
        noise=noise,
        grainy=grainy,
        gaps=share_of_gaps(obs, tuple(n for n, m in enumerate(modes) if m.ordered)),
        picture=picture,
        weighted=obs.weights is not None,
        depth=depth(obs) if picture and obs.size <= DENSE_LIMIT else 0.0,
        outliers=_outliers(t),
    )


def _outliers(t: Array) -> float:
    """The share of values more than OUTLYING times as far from the median as nine of ten are."""
    away = np.abs(t - np.median(t))
    return float(np.mean(away > OUTLYING * np.quantile(away, 0.9)))


def smooth_modes(obs: Observations) -> tuple[int, ...]:
    """The modes along which neighbours are alike: lines of pixels, hours, wavelengths."""
    if obs.size > DENSE_LIMIT:
        return ()
    lines = [length >= SHORTEST_LINE and obs.has_order(n) for n, length in enumerate(obs.shape)]
    rough = [roughness(obs, n) if line else (1.0, 0) for n, line in enumerate(lines)]
    return tuple(n for n, (ratio, pairs) in enumerate(rough) if pairs >= ENOUGH_PAIRS and ratio < ALIKE)


def uneven_mode(shape: Sequence[int], spreads: Sequence[float]) -> int | None:
    """The mode whose slices spread differently (see APART), by the widest spread of a slice over the narrowest of each
    mode; None if those of every mode spread alike.

    Of several such modes the one with the fewest slices: variables are few; moments spread differently only because
    some of the variables are missing there.
    """
    apart = [n for n, ratio in enumerate(spreads) if ratio > APART]
    return min(apart, key=lambda n: shape[n], default=None)


def unit_mode(obs: Observations) -> int | None:
    """`Facts.units`, where no other facts are needed."""
    smooth = smooth_modes(obs)
    scales = [slice_scales(obs, n, smooth=n in smooth) for n in range(obs.ndim)]
    mode = uneven_mode(obs.shape, [spreads for spreads, _ in scales])
    return mode if mode is not None and scales[mode][1] else None


def slice_scales(obs: Observations, n: int, *, smooth: bool) -> tuple[float, bool]:
    """(widest spread of a slice over the narrowest, are the slices quantities with units of their own, like pressure,
    temperature, rain?).

    They are if three things hold: spreads differ by more than UNITS; the distance from zero, in spreads of the slice,
    is more than AWAY for the typical slice (or, of numbers that are no counts, spreads differ by more than FAR_UNITS,
    as those of a national product and of a rate of interest do); and it differs by more than UNEVEN. Amounts of one
    kind that differ in size (busy and quiet stations) fail the last one: they spread in proportion to their mean, and
    only where spreads differ by more than FAR_UNITS squared would one error drown the others. Slices without an entry
    are passed over, and moments of a smooth mode have no units.
    """
    count, mean, spread = slice_statistics(obs, n, every=max(1, obs.nnz // MOST_VALUES))
    seen = (count >= FEW) & (spread > 0)
    if np.count_nonzero(seen) < 2:
        return 1.0, False
    ratio = float(spread[seen].max() / spread[seen].min())
    if smooth or ratio <= UNITS or np.count_nonzero(seen) < 0.9 * np.count_nonzero(count):
        return ratio, False
    far = FAR_UNITS if kind_of_numbers(obs.values) in ("reals", "amounts") else np.inf
    away = np.abs(mean[seen]) / spread[seen]
    uneven = away.max() > UNEVEN * away.min() and (np.median(away) > AWAY or ratio > far)
    return ratio, bool(uneven or ratio > far**2)


def _mode(obs: Observations, n: int, clustered: float) -> ModeFacts:
    dense = obs.size <= DENSE_LIMIT
    line = dense and obs.shape[n] > CHANNELS and obs.has_order(n)
    rough, pairs = roughness(obs, n) if line else (1.0, 0)
    single = smoothest(obs, n) if line and rough >= ORDERLY else rough  # otherwise they are smooth anyway
    seen = int(np.count_nonzero(obs.seen(n)))
    apart = np.diff(obs.position(n)) if obs.shape[n] > 1 else np.ones(1)
    steps = float(apart.max() / apart.min())
    repeats = period(obs, n) or obs.periods.get(obs.dims[n]) if obs.has_order(n) else None
    found = ModeFacts(obs.dims[n], obs.shape[n], seen, rough, pairs, repeats, 1.0, clustered, steps, single)
    spreads, units = slice_scales(obs, n, smooth=found.smooth)
    return dataclasses.replace(found, spreads=spreads, units=units)


def kind_of_numbers(t: Array) -> str:
    """Yes/no, counts, a scale with two ends, positive amounts, or reals: see `Facts.numbers`.

    Positive reals that vary by less than a tenth of their size (kelvin, hectopascal) are no amounts counted from zero.
    """
    with np.errstate(over="ignore"):  # beyond 1e154 the spread is infinite, which is fine here
        level, spread = float(t.mean()), float(t.std())
    whole = bool(np.all(t == np.floor(t)) and np.abs(t).max() <= 2**53)  # beyond, every number is whole
    if whole and t.min() >= 0 and t.max() <= 1 and t.min() < t.max():
        return "yes/no"
    if whole and t.min() >= 0:
        return "scale" if is_scale(t) else "counts"
    return "amounts" if t.min() > 0 and (spread >= 0.1 * level or spread == 0) else "reals"


def is_scale(t: Array) -> bool:
    """Are these whole numbers >= 0 a scale with two ends (stars, marks, grey levels of 0..16) rather than counts?

    They vary clearly less than counts of their size can, or they pile up at the upper end, where counts thin out.
    """
    level, variance, top = float(t.mean(dtype=np.float64)), float(t.var(dtype=np.float64)), float(t.max())
    # the variance of counts is their mean at least; that of n of them is off by a share of sqrt(2/n)
    if 0 < variance < level * (1 - max(0.2, 4 * np.sqrt(2 / t.size))):
        return True
    at_top, below = int(np.count_nonzero(t == top)), int(np.count_nonzero(t == top - 1))
    return variance > 0 and top <= LONGEST_SCALE and at_top > max(FEW, 0.01 * t.size, 1.5 * below)


def share_of_gaps(obs: Observations, ordered: tuple[int, ...]) -> dict[str, float]:
    """{kind of gap: share of the missing entries}, without kinds that do not occur."""
    if obs.size > DENSE_LIMIT or obs.nnz == obs.size:
        return {}
    at = np.flatnonzero(obs.gaps)
    at = at[:: max(1, len(at) // MOST_GAPS)]
    kinds = kinds_at(obs.mask, at, ordered)
    share = np.bincount(kinds, minlength=len(GAPS)) / max(len(kinds), 1)
    return {name: float(s) for name, s in zip(GAPS, share, strict=True) if s > 0}


def is_picture(obs: Observations) -> bool:
    """8 or 16-bit numbers over rows x columns, of one channel or of up to four; a picture file, whose modes are named
    so; or the same pixels as floats. Whole numbers with few distinct values (labels, ratings) are none, nor is a table.
    """
    if getattr(obs.source, "table", False):  # its modes may be called row and column, too
        return False
    named = obs.dims[:2] == ("row", "column")
    dtype = getattr(getattr(root(obs.source), "array", None), "dtype", None)
    small = dtype is not None and dtype.kind == "u" and dtype.itemsize <= 2
    form = obs.ndim == 2 or (obs.ndim == 3 and obs.shape[2] <= CHANNELS)
    if not form or min(obs.shape[:2]) < SMALLEST_PICTURE or len(np.unique(obs.values[:10_000])) <= 2 * FEW:
        return False
    return named or small or _has_pixels(obs)


def _has_pixels(obs: Observations) -> bool:
    """Are these floats the grey levels of a picture, 0 to 255 or divided by 255 or 65535, with neighbours alike? Other
    amounts are not: a matrix of smooth numbers may be of low rank, and counts by day and hour have periods.
    """
    t = obs.values.astype(np.float64)
    low, high = float(t.min()), float(t.max())
    unnamed = obs.dims == tuple(f"mode{n}" for n in range(obs.ndim))
    if not unnamed or low < 0 or high > 255 or min(obs.shape[:2]) < SMALLEST_FLOATS:
        return False
    levels = (255.0, 65535.0) if high <= 1 else (1.0,)
    if not any(np.abs(t * n - np.round(t * n)).max() < OFF_GRID for n in levels):
        return False
    rough = [roughness(obs, n) for n in (0, 1)]
    return all(pairs >= ENOUGH_PAIRS and ratio < ALIKE for ratio, pairs in rough)
