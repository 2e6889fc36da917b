"""Sources: what observations were made from, to give the answer in the same type, with observed entries untouched."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.exact import floats

Array = NDArray[Any]


def cast_like(values: Array, dtype: np.dtype[Any]) -> Array:
    """Estimates in the input's own type, inside its range: integers rounded, bool by majority."""
    if dtype.kind == "b":
        return values >= 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        rounded = np.rint(values)
        # float64(2^63 - 1) rounds up to 2^63: clip by comparing, so that the cast cannot overflow
        out = np.clip(rounded, limits.min, np.nextafter(np.float64(limits.max) + 1, 0)).astype(dtype)
        return np.where(rounded >= limits.max, dtype.type(limits.max), out)
    if dtype.kind == "f" and dtype.itemsize < values.dtype.itemsize:
        values = np.clip(values, np.finfo(dtype).min, np.finfo(dtype).max)
    return values.astype(dtype)


def column_numbers(column: Any, hint: str = "Choose a column of numbers.") -> Array:
    """The numbers of a pandas column: as they are, or as floats with NaN where its type has its own missing value."""
    if column.dtype.kind not in "biuf":
        if any(isinstance(x, str) and _is_number(x) for x in column.unique()):  # numbers as text, and perhaps words
            name = f"frame[{column.name!r}]"
            hint = f"Make numbers of text, gaps of all else: {name} = pandas.to_numeric({name}, errors='coerce')."
        return floats(column.to_numpy(dtype=object), f"the values of column {column.name!r}", hint)
    plain = isinstance(column.dtype, np.dtype)
    return column.to_numpy() if plain else column.to_numpy(dtype=np.float64, na_value=np.nan)


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


@dataclass(frozen=True, eq=False)
class ArraySource:
    """A dense array; numpy.ma stays numpy.ma."""

    table: ClassVar[bool] = False  # rows and columns of a table, which are no pixels

    array: Array
    observed: NDArray[np.bool_]
    kept: Array | None = None  # coordinates (k, N) of a part: nothing else counts as observed then

    def only(self, kept: Array) -> Self:
        return replace(self, kept=kept)

    @property
    def known(self) -> NDArray[np.bool_]:
        """True = observed and kept, full shape; made when asked for, since most parts are never given back."""
        if self.kept is None:
            return self.observed
        out = np.zeros(self.array.shape, dtype=bool)
        out[tuple(self.kept.T)] = True
        return out

    def fill(self, estimate: Array) -> Array:
        out = np.array(np.ma.getdata(self.array), copy=True)
        gaps = ~self.known
        out[gaps] = cast_like(estimate[gaps], out.dtype)
        return self.wrap(out)

    def wrap(self, estimate: Array) -> Array:
        """Other numbers in the same type."""
        return np.ma.MaskedArray(estimate, mask=False) if isinstance(self.array, np.ma.MaskedArray) else estimate


@dataclass(frozen=True, eq=False)
class CellsSource(ArraySource):
    """The cells of a table in a file, which is written by its format; `labels` are those of the file."""

    table: ClassVar[bool] = True

    labels: Mapping[str, Sequence[Any]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class XarraySource:
    """A DataArray: coordinates, attributes and name are kept."""

    da: Any
    inner: Any

    def only(self, kept: Array) -> Self:
        return replace(self, inner=self.inner.only(kept))

    def fill(self, estimate: Array) -> Any:
        return self.da.copy(data=self.inner.fill(estimate))

    def wrap(self, estimate: Array) -> Any:
        return self.da.copy(data=self.inner.wrap(estimate))


@dataclass(frozen=True, eq=False)
class LineSource:
    """One series alone, as a tensor whose second mode has length 1; `take` makes a series of its only column."""

    inner: Any
    take: Callable[[Any], Any]

    def only(self, kept: Array) -> Self:
        return replace(self, inner=self.inner.only(kept))

    def fill(self, estimate: Array) -> Any:
        return self.take(self.inner.fill(estimate))

    def wrap(self, estimate: Array) -> Any:
        return self.take(self.inner.wrap(estimate))


def first_column(array: Array) -> Array:
    """The series (n,) of (n, 1)."""
    return array[:, 0]


def root(source: Any) -> Any:
    """The innermost of nested sources, which holds the numbers."""
    while hasattr(source, "inner"):
        source = source.inner
    return source


@dataclass(frozen=True, eq=False)
class SeriesSource:
    """A pandas Series with one index level per dimension, or a table of one such column."""

    series: Any
    inner: Any
    frame: bool = False

    def only(self, kept: Array) -> Self:
        return replace(self, inner=self.inner.only(kept))

    def fill(self, estimate: Array) -> Any:
        return self._series(self.inner.fill(estimate))

    def wrap(self, estimate: Array) -> Any:
        return self._series(self.inner.wrap(estimate))

    def _series(self, table: Any) -> Any:
        out = table.set_index(list(self.inner.dims))[self.inner.value]
        out = out.rename_axis(self.series.index.names).rename(self.series.name)
        return out.to_frame() if self.frame else out


@dataclass(frozen=True, eq=False)
class MatrixSource:
    """A pandas table in wide form."""

    table: ClassVar[bool] = True

    frame: Any
    inner: Any

    def only(self, kept: Array) -> Self:
        return replace(self, inner=self.inner.only(kept))

    def fill(self, estimate: Array) -> Any:
        if not any(hasattr(d, "numpy_dtype") for d in self.frame.dtypes):
            return type(self.frame)(self.inner.fill(estimate), index=self.frame.index, columns=self.frame.columns)
        out, known = self.frame.copy(), self.inner.known  # nullable columns: each keeps its type
        for n, (_, column) in enumerate(self.frame.items()):
            dtype = getattr(column.dtype, "numpy_dtype", column_numbers(column).dtype)
            out.isetitem(n, column.where(known[:, n], cast_like(estimate[:, n], dtype)))
        return out

    def wrap(self, estimate: Array) -> Any:
        return type(self.frame)(estimate, index=self.frame.index, columns=self.frame.columns)


@dataclass(frozen=True, eq=False)
class CarriedSource:
    """A pandas table with columns of text or dates beside those of numbers, which stand at `places`."""

    table: ClassVar[bool] = True

    frame: Any
    places: tuple[int, ...]
    inner: Any

    def only(self, kept: Array) -> Self:
        return replace(self, inner=self.inner.only(kept))

    def fill(self, estimate: Array) -> Any:
        return self._beside(self.inner.fill(estimate))

    def wrap(self, estimate: Array) -> Any:
        return self._beside(self.inner.wrap(estimate))

    def _beside(self, numbers: Any) -> Any:
        out = self.frame.copy()
        for n, place in enumerate(self.places):
            out.isetitem(place, numbers.iloc[:, n].set_axis(out.index))
        return out

    def masked(self, out: Any, where: NDArray[np.bool_]) -> Any:
        """`out` with NaN at `where` (rows, columns of numbers)."""
        out = out.copy()
        for n, place in enumerate(self.places):
            out.isetitem(place, out.iloc[:, place].mask(where[:, n]))
        return out


@dataclass(frozen=True, eq=False)
class FrameSource:
    """A pandas table in long form: the answer has one row for every combination of labels."""

    frame: Any
    dims: tuple[str, ...]
    value: str
    labels: tuple[Array, ...]
    codes: Array
    kept: Array | None = None  # as of ArraySource

    def only(self, kept: Array) -> Self:
        return replace(self, kept=kept)

    def fill(self, estimate: Array) -> Any:
        given = self.frame[self.value]
        numbers = column_numbers(given)
        dtype = getattr(given.dtype, "numpy_dtype", numbers.dtype)
        column = cast_like(estimate, dtype)
        shape = tuple(len(u) for u in self.labels)
        seen = ~np.isnan(numbers) if numbers.dtype.kind == "f" else np.ones(len(numbers), dtype=bool)
        if self.kept is not None:
            places, kept = (np.ravel_multi_index(tuple(where.T), shape) for where in (self.codes, self.kept))
            seen &= np.isin(places, kept)
        column[tuple(self.codes[seen].T)] = given[seen].to_numpy(dtype=dtype)
        return self.wrap(column).astype({self.value: given.dtype})

    def wrap(self, estimate: Array) -> Any:
        shape = tuple(len(u) for u in self.labels)
        grid = np.unravel_index(np.arange(math.prod(shape)), shape)
        table = {d: u[g] for d, u, g in zip(self.dims, self.labels, grid, strict=True)}
        out = type(self.frame)({**table, self.value: np.asarray(estimate).ravel()})
        return out.astype({d: self.frame[d].dtype for d in self.dims if hasattr(self.frame[d], "cat")})
