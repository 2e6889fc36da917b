"""Observations: the known entries of a tensor. Zero is a value; missing is absent."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorfill.data.coordinates import match_rows
from tensorfill.data.sources import Source
from tensorfill.registry import did_you_mean
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.numerical.base import Interval


# A dense copy larger than this is refused with a sentence rather than tried: 2^28 doubles are 2 GiB.
DENSE_LIMIT = 2**28
TOO_LARGE = 2.0**1020  # a sixteenth of the largest float, so that differences and estimates beyond the data are finite


class DataWarning(UserWarning):
    """Something about the data that a user should know before trusting the fill."""


MAKERS: dict[str, Callable[..., Observations]] = {}  # what makes Observations of each kind of data: see `maker`
F = TypeVar("F", bound=Callable[..., Any])


def maker(kind: str) -> Callable[[F], F]:
    """Decorator: a function that makes Observations of one kind of data, for `Observations.from_<kind>`."""

    def add(function: F) -> F:
        MAKERS[kind] = function
        return function

    return add


@dataclass(frozen=True, eq=False)
class Observations:
    """The known entries of a tensor of a given shape, in lexicographic order of their coordinates.

    Make one with `from_dense`, `from_coo`, `from_pandas`, `from_xarray`, or `tensorfill.observe(anything)`.

    Attributes
    ----------
    shape : (I_1, ..., I_N)
    indices : (nnz, N) integer coordinates
    values : (nnz,) float32 or float64
    weights : (nnz,) positive, or None for all ones
    dims : N names
    source : where they came from, so that the answer can have the same type; None: a NumPy array
    positions : per mode where its entries lie, (I_n,), if their steps are uneven, else None; None for all even
    outside : True where nothing is to be filled, full shape: land in a sea cube; None for nowhere
    unordered : dims whose entries have no order, only names: users, species, columns of a table
    features : {dim: numbers that describe its entries, (I_n, P)}: age of users, kind of films
    column_priors : {column: numerical prior or its name} that a user gave for columns of a table
    periods : {dim: steps after which the calendar repeats}, of modes of dates: 12 for months
    """

    shape: tuple[int, ...]
    indices: NDArray[np.integer]
    values: Array
    weights: Array | None = None
    dims: tuple[str, ...] = ()
    source: Source | None = field(default=None, repr=False)
    positions: tuple[Array | None, ...] | None = field(default=None, repr=False)
    outside: NDArray[np.bool_] | None = field(default=None, repr=False, kw_only=True)
    unordered: frozenset[str] = field(default=frozenset(), kw_only=True)
    features: Mapping[str, Array] = field(default_factory=dict, repr=False, kw_only=True)
    column_priors: Mapping[str, Any] = field(default_factory=dict, repr=False, kw_only=True)
    periods: Mapping[str, int] = field(default_factory=dict, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dims", check_dims(self.dims, len(self.shape)))
        if len(self.shape) < 2:
            msg = f"observations must have at least 2 modes; got shape {self.shape}. Add one of length 1."
            raise ValueError(msg)
        if self.size == 0:
            msg = f"data must hold at least one entry; got shape {self.shape}, which is empty."
            raise ValueError(msg)
        if len(self.values) == 0:
            msg = (
                f"at least one entry must be observed; got none of {self.size}. Is the mask inverted (True = observed)?"
            )
            raise ValueError(msg)
        self._check_finite()
        self._check_features()
        for name in ("indices", "values", "weights"):
            if getattr(self, name) is not None:
                view = getattr(self, name).view()  # the array given may be the user's own, which stays writable
                view.setflags(write=False)
                object.__setattr__(self, name, view)

    def _check_finite(self) -> None:
        bad = np.flatnonzero(~np.isfinite(self.values))
        if not bad.size and self.values.dtype == np.float64:
            bad = np.flatnonzero(np.abs(self.values) >= TOO_LARGE)
        if bad.size:
            got = self.values[bad[0]]
            must = f"below {TOO_LARGE:.2g} in size, as differences must fit too" if np.isfinite(got) else "finite"
            msg = (
                f"observed values must be {must}; got {got} at index {self.index_at(bad[0])}. "
                "Mark that entry as missing (NaN or mask)."
            )
            raise ValueError(msg)
        if self.weights is not None:
            bad = np.flatnonzero(~(np.isfinite(self.weights) & (self.weights > 0)))
            if bad.size:
                msg = (
                    f"weights must be finite and > 0 at observed entries; got {self.weights[bad[0]]} at index "
                    f"{self.index_at(bad[0])}. Mask an entry to leave it out."
                )
                raise ValueError(msg)

    def _check_features(self) -> None:
        """Keep the features of dimensions that there are: a fold has others."""
        object.__setattr__(self, "features", {d: X for d, X in self.features.items() if d in self.dims})
        for d, X in self.features.items():
            if len(X) != (length := self.shape[self.dims.index(d)]):
                msg = f"features of {d} must have {length} rows, as the data; got {len(X)}. Leave them out."
                raise ValueError(msg)

    # --- makers -------------------------------------------------------------------------------------------------

    @classmethod
    def from_dense(
        cls,
        T: ArrayLike,
        mask: ArrayLike | None = None,
        *,
        weights: ArrayLike | None = None,
        dims: Sequence[str] | None = None,
    ) -> Observations:
        """From an array with NaN for missing, or with `mask` (True = observed), or a `numpy.ma` array."""
        return MAKERS["dense"](T, mask, weights=weights, dims=dims)

    @classmethod
    def from_coo(
        cls,
        indices: ArrayLike,
        values: ArrayLike,
        shape: Sequence[int] | None = None,
        *,
        weights: ArrayLike | None = None,
        dims: Sequence[str] | None = None,
        duplicates: str = "error",
    ) -> Observations:
        """From coordinates (nnz, N) and values (nnz,); `duplicates`: "error", "mean" or "sum"."""
        return MAKERS["coo"](indices, values, shape, weights=weights, dims=dims, duplicates=duplicates)

    @classmethod
    def from_pandas(cls, frame: Any, dims: Sequence[str], value: str, *, weight: str | None = None) -> Observations:
        """From a long table: one column per dimension, one value column; absent rows and NaN are missing."""
        return MAKERS["pandas"](frame, dims, value, weight=weight)

    @classmethod
    def from_xarray(cls, da: Any, mask: ArrayLike | None = None, *, weights: ArrayLike | None = None) -> Observations:
        """From an xarray DataArray with NaN for missing; dims keep their names."""
        return MAKERS["xarray"](da, mask, weights=weights)

    # --- facts --------------------------------------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        """How many modes there are, N."""
        return len(self.shape)

    @property
    def nnz(self) -> int:
        """How many entries are observed."""
        return len(self.values)

    @property
    def size(self) -> int:
        """How many entries there are in all."""
        return math.prod(self.shape)

    @property
    def share(self) -> float:
        """The share of entries observed."""
        return self.nnz / self.size

    def index_at(self, k: int) -> tuple[int, ...]:
        """Coordinates of observation k, as plain integers."""
        return tuple(int(i) for i in self.indices[k])

    def mode(self, key: int | str) -> int:
        """The mode that a number or a dimension name means."""
        if isinstance(key, str):
            if key in self.dims:
                return self.dims.index(key)
            hint = did_you_mean(key, list(self.dims))
            unnamed = self.dims == tuple(f"mode{n}" for n in range(self.ndim))
            hint = hint or (" Name the modes: dims=." if unnamed else "")
            msg = f"dimension must be one of {', '.join(self.dims)}; got {key!r}.{hint}"
            raise ValueError(msg)
        if isinstance(key, bool) or not isinstance(key, int | np.integer):
            msg = f"a mode must be a whole number or the name of a dimension; got {key!r}."
            raise TypeError(msg)
        if not -self.ndim <= key < self.ndim:
            msg = f"mode must be between 0 and {self.ndim - 1} for shape {self.shape}; got {key}."
            raise ValueError(msg)
        return int(key) % self.ndim

    @cached_property
    def flat(self) -> NDArray[np.intp]:
        """Position of each observation in the C-ordered dense tensor, (nnz,)."""
        self.refuse_huge("positions in the dense tensor")
        if "mask" in vars(self):
            return np.flatnonzero(self.mask)
        return np.ravel_multi_index(tuple(self.indices.T), self.shape).astype(np.intp, copy=False)

    @cached_property
    def mask(self) -> NDArray[np.bool_]:
        """True = observed, full shape."""
        self.refuse_huge("the mask")
        out = np.zeros(self.size, dtype=bool)
        out[self.flat] = True
        return out.reshape(self.shape)

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """True where something is missing that is to be filled, full shape."""
        missing = ~self.mask
        return missing if self.outside is None or self.outside.shape != self.shape else missing & ~self.outside

    def paste(self, out: Array) -> None:
        """Write the observed values into `out`, full shape."""
        out[tuple(self.indices.T)] = self.values  # not by reshaping, which copies an array in another order

    def at(self, where: Array) -> Array:
        """The observed values at the coordinates (k, N), NaN where there are none: (k,)."""
        found = match_rows(self.indices, where, self.shape)
        return np.where(found >= 0, self.values[found], np.nan)

    def dense(self, fill: float = np.nan, dtype: Any = None) -> Array:
        """The tensor with `fill` where nothing was observed, full shape."""
        self.refuse_huge("a dense copy")
        out = np.full(self.size, fill, dtype=dtype or self.values.dtype)
        out[self.flat] = self.values
        return out.reshape(self.shape)

    def refuse_huge(self, what: str) -> None:
        """Raise MemoryError, with a sentence, if `what` would take one number for each of too many entries."""
        if self.size > DENSE_LIMIT:
            msg = f"{what} needs one number per entry, {self.size:.3g} of them; the limit is {DENSE_LIMIT:.3g}. "
            msg += "Work with coordinates instead, done.at(indices), or chunk by chunk, done.to_dask()."
            raise MemoryError(msg)

    def digest(self) -> str:
        """A short name for shape, coordinates, values, weights and features."""
        total = hashlib.sha256(repr(self.shape).encode())
        for array in (self.indices, self.values, self.weights, *self.features.values()):
            total.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
        return total.hexdigest()[:16]

    def position(self, mode: int) -> Array:
        """Where the entries of a mode lie, (I_n,): 0, 1, 2, ... unless the data say otherwise."""
        at = None if self.positions is None else self.positions[mode]
        return np.arange(self.shape[mode], dtype=np.float64) if at is None else at

    def has_order(self, mode: int) -> bool:
        """Has a mode neighbours and periods, or only names?"""
        return self.dims[mode] not in self.unordered

    def empty_slices(self) -> list[tuple[int, int]]:
        """(mode, index) of every slice in which nothing is observed."""
        return [(n, int(i)) for n in range(self.ndim) for i in np.flatnonzero(~self.seen(n))]

    def seen(self, mode: int) -> NDArray[np.bool_]:
        """Which slices along a mode have an observed entry, (I_n,)."""
        return np.asarray(self.counts[mode] > 0)

    @cached_property
    def counts(self) -> tuple[NDArray[np.intp], ...]:
        """Of every mode, how many entries of each slice are observed, (I_n,)."""
        if self.size > 10 * self.nnz:  # else the mask takes a tenth of the time
            return tuple(np.bincount(self.indices[:, n], minlength=length) for n, length in enumerate(self.shape))
        others = [tuple(m for m in range(self.ndim) if m != n) for n in range(self.ndim)]
        return tuple(np.count_nonzero(self.mask, axis=axes) for axes in others)

    def check_domain(self, domain: Interval, prior: str, advice: str = 'prior="normal"') -> None:
        """Refuse values that the prior cannot produce, naming the first."""
        bad = np.flatnonzero(~domain.includes(self.values))
        if bad.size:
            at = f"{float(self.values[bad[0]])} at index {self.index_at(bad[0])}"
            msg = f"values must be {domain.phrase} for {prior}; got {at}. Use {advice}, or mask that entry."
            raise ValueError(msg)

    # --- parts --------------------------------------------------------------------------------------------------

    def subset(self, keep: Array) -> Observations:
        """Only the observations that `keep` (nnz,) selects; the others come back as unknown in `completed` too."""
        indices = self.indices[keep]
        weights = None if self.weights is None else self.weights[keep]
        source = None if self.source is None else self.source.only(indices)
        return replace(self, indices=indices, values=self.values[keep], weights=weights, source=source)

    def split(self, share: float, rng: np.random.Generator) -> tuple[Observations, Observations]:
        """(training, validation): a random share of the observed entries held out, at least one on either side."""
        check_share(share)
        if self.nnz < 2:
            msg = f"holding out entries needs at least 2 observations; got {self.nnz}. Use held_out=0."
            raise ValueError(msg)
        count = min(max(1, round(share * self.nnz)), self.nnz - 1)
        out = np.zeros(self.nnz, dtype=bool)
        out[rng.choice(self.nnz, size=count, replace=False)] = True
        return self.subset(~out), self.subset(out)

    def __repr__(self) -> str:
        size = " x ".join(f"{d}={n}" for d, n in zip(self.dims, self.shape, strict=True))
        weighted = ", weighted" if self.weights is not None else ""
        return f"Observations({size}: {self.nnz:,} of {self.size:,} entries, {self.share:.1%}{weighted})"


def check_share(share: float) -> None:
    """Refuse a share unless some entries, but not all, are held out."""
    if not 0 < share < 1:
        msg = f"the held-out share must be between 0 and 1; got {share}."
        raise ValueError(msg)


def check_dims(dims: Sequence[str] | None, ndim: int) -> tuple[str, ...]:
    """Dimension names: given, or mode0, mode1, ..."""
    if dims is None or (isinstance(dims, Sequence) and not dims):
        return tuple(f"mode{n}" for n in range(ndim))
    if not isinstance(dims, Iterable):
        msg = f"dims must be {ndim} different names; got {dims!r}."
        raise TypeError(msg)
    names = (dims,) if isinstance(dims, str) and ndim == 1 else tuple(str(d) for d in dims)
    if len(names) != ndim or len(set(names)) != ndim:
        must = "one name" if ndim == 1 else f"{ndim} different names"
        msg = f"dims must be {must}; got {names}."
        raise ValueError(msg)
    return names
