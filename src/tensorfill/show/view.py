"""What of a Completion can be looked at: pictures, frames, cuts. Plain arrays; no plotting library in here.

Design: everything shown (plots, card, report) goes through `sheets`, which never forms more of the tensor than it
shows, so a tensor too large to be dense can still be looked at.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorfill.data.casting import cast_like
from tensorfill.data.facts import smooth_modes
from tensorfill.data.sources import FrameSource, root
from tensorfill.show.labels import format_labels, labels_of
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.data.observations import Observations
    from tensorfill.result.completion import Completion


# longer modes are thinned out: pixels of a picture, points of a line, entries of a heat map
LONGEST, LONGEST_LINE, LONGEST_CUT = 1024, 10_000, 400
SMALLEST_PICTURE = 8
FAINT = 0.3  # a sheet that takes up so little of a colour scale shows nothing on it
MAPS = ({"lat", "lon"}, {"latitude", "longitude"}, {"y", "x"}, {"row", "column"})  # shown together, not cut through
UPWARD = ("lat", "latitude", "y")
FEW_SERIES = 6  # so few are drawn as lines, not as a heat map


@dataclass(frozen=True, eq=False)
class Sheet:
    """A cut through the tensor over two modes (rows, columns), perhaps with colour channels.

    Attributes
    ----------
    title : where the cut is, e.g. "day 3"; empty for the whole of a matrix or picture
    dims : names of the modes shown
    index : one array of indices per mode shown (all of them, or thinned out)
    labels : what stands there, per mode shown; the indices themselves where the data have no labels
    fixed : {mode: index} of the modes cut through
    given : (H, W[, C]) float, NaN where nothing was observed
    completed : (H, W[, C]), observed values and estimates in the type of the data; NaN where a gap was to stay one
    """

    title: str
    dims: tuple[str, ...]
    index: tuple[Array, ...]
    labels: tuple[Array, ...]
    fixed: Mapping[int, int]
    given: Array
    completed: Array

    @property
    def observed(self) -> NDArray[np.bool_]:
        return ~np.isnan(self.given)

    @property
    def coordinates(self) -> NDArray[np.intp]:
        """Where its entries are in the tensor, (k, N), in C order."""
        total = len(self.index) + len(self.fixed)
        return _coordinates(self.index, [n for n in range(total) if n not in self.fixed], self.fixed)

    @property
    def upward(self) -> bool:
        """A map whose rows are listed from south to north, to be drawn that way up?"""
        rows = self.labels[0]
        return self.dims[0] in UPWARD and rows.dtype.kind in "iuf" and len(rows) > 1 and bool(rows[0] < rows[-1])

    @property
    def filled(self) -> Array:
        """Share of what was filled in at each place, (H, W): 0 = nothing was, 1 = all."""
        missing = np.isnan(self.given) & ~np.isnan(self.completed)
        return missing.mean(axis=2) if missing.ndim == 3 else missing.astype(float)


def source_dtype(obs: Observations) -> np.dtype[Any] | None:
    """The type the data came in, where it is known."""
    source = root(obs.source)
    if isinstance(source, FrameSource):
        dtype = source.frame[source.value].dtype
        dtype = getattr(dtype, "numpy_dtype", dtype)
        return dtype if isinstance(dtype, np.dtype) and dtype.kind in "biuf" else None
    return getattr(getattr(source, "array", None), "dtype", None)


def data_dtype(obs: Observations) -> np.dtype[Any]:
    """The type that answers are given in."""
    return source_dtype(obs) or obs.values.dtype


def picture_axes(obs: Observations) -> str | None:
    """What the modes mean if this is a picture or a video: "HW", "HWC", "FHW", "FHWC"; None if it is not.

    Names (frame, row, column, channel) decide; without them 8 or 16-bit numbers or a plain range, smooth along both
    of the long modes.
    """
    letters = {"frame": "F", "row": "H", "column": "W", "channel": "C"}
    named = "".join(letters.get(d, "?") for d in obs.dims)
    if named in ("HWC", "FHW", "FHWC"):
        return named if named[-1] != "C" or obs.shape[-1] in (1, 3) else None
    dtype = source_dtype(obs)
    small = dtype is not None and dtype.kind == "u" and dtype.itemsize <= 2
    if obs.ndim == 2 and small and min(obs.shape) >= SMALLEST_PICTURE:
        return "HW" if smooth_modes(obs) == (0, 1) else None
    if obs.ndim == 3 and obs.shape[-1] == 3 and min(obs.shape[:2]) >= SMALLEST_PICTURE:
        low, high = obs.values.min(), obs.values.max()
        return "HWC" if (small or (low >= 0 and high <= 255)) and smooth_modes(obs)[:2] == (0, 1) else None
    return None


def kind(done: Completion) -> str:
    """How to show it: "picture", "video", "lines", "matrix" or "slices"."""
    obs = done.observations
    axes = picture_axes(obs)
    if axes is not None:
        return "video" if axes[0] == "F" else "picture"
    if obs.ndim > 2:
        return "slices"
    return "lines" if min(obs.shape) <= FEW_SERIES and max(obs.shape) >= 3 * min(obs.shape) else "matrix"


def value_range(obs: Observations) -> tuple[float, float]:
    """(lowest, highest) of the data: 0..255 for 8-bit pictures."""
    low, high = float(obs.values.min()), float(obs.values.max())
    if picture_axes(obs) is not None:
        dtype = source_dtype(obs)
        if dtype == np.uint8 or (low >= 0 and 1 < high <= 255):
            return 0.0, 255.0
        return (0.0, 1.0) if low >= 0 and high <= 1 else (min(low, 0.0), high)
    return low, high


def colour_range(shown: Sequence[Sheet]) -> tuple[float, float]:
    """(lowest, highest) for a colour scale of these sheets: most of what they show, without outliers."""
    values = np.concatenate([part.ravel() for s in shown for part in (s.given[s.observed], s.completed)])
    values = values[~np.isnan(values)]
    if not values.size:  # gaps that were to stay gaps, and nothing else
        return 0.0, 1.0
    low, a, b, high = (float(q) for q in np.quantile(values, (0, 0.01, 0.99, 1)))
    if a < b and values.size > 100 and high - low > 1.35 * (b - a):
        return a, b
    return (low, high) if low < high else (low - 0.5, low + 0.5)


def colour_ranges(shown: Sequence[Sheet]) -> list[tuple[float, float]]:
    """One scale for all sheets; but one for each where it would leave one of them in a single colour."""
    common, own = colour_range(shown), [colour_range([s]) for s in shown]
    least = FAINT * (common[1] - common[0])
    varied = [len(np.unique(s.completed[~np.isnan(s.completed)])) > 1 for s in shown]
    return own if any(b - a < least and v for (a, b), v in zip(own, varied, strict=True)) else [common] * len(shown)


def sheets(done: Completion, count: int = 4, labels: Mapping[str, Sequence[Any] | Array] | None = None) -> list[Sheet]:
    """Up to `count` cuts worth showing, evenly spread; one for a matrix or a picture."""
    if count < 1:
        msg = f"count must be >= 1; got {count}."
        raise ValueError(msg)
    obs = done.observations
    shown = _modes_shown(obs)
    others = [n for n in range(obs.ndim) if n not in shown]
    if not others:
        return [cut(done, shown, {}, labels)]
    lengths = [obs.shape[n] for n in others]
    total = math.prod(lengths)
    spread = np.unique(np.linspace(0, total - 1, min(count, total) * 2 + 1)[1::2].round())
    return [cut(done, shown, _place(int(k), others, lengths), labels) for k in spread]


def _place(k: int, others: Sequence[int], lengths: Sequence[int]) -> dict[int, int]:
    """The k-th place among the modes cut through: plain integers, which do not overflow for huge tensors."""
    out = {}
    for n, length in zip(reversed(others), reversed(lengths), strict=True):
        k, out[n] = divmod(k, length)
    return dict(sorted(out.items()))


def _modes_shown(obs: Observations) -> tuple[int, ...]:
    """The picture's or map's own modes; else the two longest, later ones first on a draw, in their order."""
    axes = picture_axes(obs)
    if axes is not None:
        return tuple(n for n, letter in enumerate(axes) if letter != "F")
    for pair in MAPS:
        if pair <= set(obs.dims):
            return tuple(n for n, d in enumerate(obs.dims) if d in pair)
    return tuple(sorted(sorted(range(obs.ndim), key=lambda n: (obs.shape[n], n))[-2:]))


def cut(
    done: Completion,
    shown: Sequence[int],
    fixed: Mapping[int, int],
    labels: Mapping[str, Sequence[Any] | Array] | None = None,
) -> Sheet:
    """The cut over the modes `shown`, at the indices `fixed` of all others."""
    obs = done.observations
    most = LONGEST if picture_axes(obs) else LONGEST_LINE if kind(done) == "lines" else LONGEST_CUT
    index = tuple(_thinned(obs.shape[n], most) for n in shown)
    shape = tuple(len(kept) for kept in index)
    where = _coordinates(index, shown, fixed)
    estimate = np.asarray(done.at(where), dtype=np.float64).reshape(shape)
    given = np.full(shape, np.nan)
    rows = np.arange(obs.nnz)
    for n, i in fixed.items():
        rows = rows[obs.indices[rows, n] == i]
    place: list[Array] = []  # of each row in the cut, per mode
    for n, kept in zip(shown, index, strict=True):
        at = np.full(obs.shape[n], -1)
        at[kept] = np.arange(len(kept))
        found = at[obs.indices[rows, n]]
        inside = found >= 0
        rows, place = rows[inside], [*(before[inside] for before in place), found[inside]]
    given[tuple(place)] = obs.values[rows]
    completed = np.where(np.isnan(given), cast_like(estimate, data_dtype(obs)), given)
    if done.unfilled is not None:
        completed = np.where(done.unfilled[tuple(where.T)].reshape(shape), np.nan, completed)
    known = labels_of(obs, labels)
    title = ", ".join(f"{obs.dims[n]} {_word(known, obs.dims[n], i)}" for n, i in fixed.items())
    dims = tuple(obs.dims[n] for n in shown)
    marks = tuple(known[d][kept] if d in known else kept for d, kept in zip(dims, index, strict=True))
    return Sheet(title, dims, index, marks, dict(fixed), given, completed)


def _word(labels: Mapping[str, Array], dim: str, i: int) -> str:
    return format_labels(labels[dim], [i])[0] if dim in labels else str(i)


def _coordinates(index: Sequence[Array], shown: Sequence[int], fixed: Mapping[int, int]) -> NDArray[np.intp]:
    """Where the entries of a cut are in the tensor, (k, N), in C order."""
    grid = np.meshgrid(*index, indexing="ij")
    where = np.empty((grid[0].size, len(shown) + len(fixed)), dtype=np.intp)
    for n, at in zip(shown, grid, strict=True):
        where[:, n] = at.ravel()
    for n, i in fixed.items():
        where[:, n] = i
    return where


def _thinned(length: int, most: int) -> Array:
    if length <= most:
        return np.arange(length)
    return np.unique(np.linspace(0, length - 1, most).round().astype(np.intp))


def to_rgb(values: Array, limits: tuple[float, float], missing: NDArray[np.bool_] | None = None) -> NDArray[np.uint8]:
    """(H, W) or (H, W, 1 or 3) as an 8-bit RGB picture.

    Single missing channels are black, as if that light were off; a pixel of which nothing is known is grey when every
    gap is a whole pixel, so that a hole is not taken for a dark spot.
    """
    low, high = limits
    if values.dtype != np.uint8 or limits != (0, 255):  # which are what they are to be
        scaled = np.clip((np.nan_to_num(np.asarray(values, dtype=np.float64), nan=low) - low) / (high - low), 0, 1)
        values = np.rint(255 * scaled).astype(np.uint8)
    out = values if values.ndim == 3 else values[..., None]
    out = np.broadcast_to(out, (*out.shape[:2], 3)).copy()
    if missing is not None:
        gone = missing if missing.ndim == 3 else missing[..., None]
        if (gone.all(axis=2) == gone.any(axis=2)).all():
            out[gone.all(axis=2)] = 128
        else:
            out[np.broadcast_to(gone, out.shape)] = 0
    return out


def before_and_after(done: Completion) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Sheet] | None:
    """A picture with its holes and without, (H, W, 3) uint8; of a video, its middle frame; None for other data."""
    if kind(done) not in ("picture", "video"):
        return None
    sheet = sheets(done, 1)[0]
    limits = value_range(done.observations)
    after = to_rgb(sheet.completed, limits, np.isnan(sheet.completed))
    return to_rgb(sheet.given, limits, ~sheet.observed), after, sheet


def truth_of(done: Completion, truth: ArrayLike) -> Array:
    """The complete data as a plain array, full shape."""
    given, shape = np.asarray(truth), done.observations.shape
    if given.shape == shape[:1] and shape[1:] == (1,):  # one series alone
        given = given[:, None]
    if given.shape != shape:
        msg = f"truth must have the shape of the data, {shape}; got {given.shape}."
        raise ValueError(msg)
    return given


def psnr(estimate: Array, truth: Array, observed: NDArray[np.bool_], peak: float = 255.0) -> float:
    """Peak signal-to-noise ratio in dB, as in the paper.

    The estimate is clipped to 0..peak and the observed entries are pasted in; the mean is over all entries.
    """
    t = np.asarray(truth, dtype=np.float64)
    error = np.where(observed, 0.0, np.clip(np.asarray(estimate, dtype=np.float64), 0, peak) - t)
    mean = float(np.mean(error**2))
    return float("inf") if mean == 0 else float(10 * np.log10(peak**2 / mean))
