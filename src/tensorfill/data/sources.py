"""Sources: what observations were made from, to give the answer in the same type, with observed entries untouched."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.casting import as_objects, cast_like, column_numbers, fill_column
from tensorfill.data.coordinates import match_rows
from tensorfill.typing import Array


class Source:
    """Where the observations came from: gives the answer back in the same type. Subclasses are dataclasses."""

    table: Any = False  # are these the rows and columns of a table, which are no pixels?
    leaves_gaps: Any = True  # can gaps stay in data of this type, as NaN or masked?
    latent: Any = frozenset()  # names of columns that stand for levels, not for numbers to round

    def fill(self, estimate: Array, unfilled: NDArray[np.bool_] | None = None) -> Any:
        """The input with its missing entries taken from `estimate` (full shape), observed ones untouched; those that
        are `unfilled` (full shape) stay gaps.
        """
        raise NotImplementedError

    def wrap(self, estimate: Array) -> Any:
        """Other numbers (full shape) in the same type: an estimate, an end of an interval."""
        return estimate

    def only(self, kept: Array) -> Self:
        """The same with nothing observed but the entries at the coordinates `kept` (k, N), some of those that were."""
        return replace(self, kept=kept)  # type: ignore[type-var]

    def axis_labels(self, dims: Sequence[str]) -> dict[str, Any]:
        """{dimension: labels} that the data came with: index, columns, coordinates."""
        return {}


@dataclass(frozen=True, eq=False)
class ArraySource(Source):
    """A dense array; numpy.ma stays numpy.ma."""

    array: Array
    observed: NDArray[np.bool_]
    kept: Array | None = None  # coordinates (k, N) of a part: nothing else counts as observed then

    @property
    def known(self) -> NDArray[np.bool_]:
        """True = observed and kept, full shape; made when asked for, since most parts are never given back."""
        if self.kept is None:
            return self.observed
        out = np.zeros(self.array.shape, dtype=bool)
        out[tuple(self.kept.T)] = True
        return out

    def fill(self, estimate: Array, unfilled: NDArray[np.bool_] | None = None) -> Array:
        out = np.array(np.ma.getdata(self.array), copy=True)
        gaps = ~self.known
        if out.dtype.kind != "f":  # what has no estimate stays as it is
            gaps &= ~np.isnan(estimate)
        out[gaps] = cast_like(estimate[gaps], out.dtype)
        if unfilled is not None and (out.dtype.kind != "f" or isinstance(self.array, np.ma.MaskedArray)):
            return np.ma.MaskedArray(out, mask=unfilled)  # whole numbers have no NaN
        if unfilled is not None:
            out[unfilled] = np.nan
        return self.wrap(out)

    def wrap(self, estimate: Array) -> Array:
        return np.ma.MaskedArray(estimate, mask=False) if isinstance(self.array, np.ma.MaskedArray) else estimate


@dataclass(frozen=True, eq=False)
class LabelledSource(ArraySource):
    """An array with labels of its own: the cells of a table in a file, which is written by its format."""

    labels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    table: bool = True


@dataclass(frozen=True, eq=False)
class EntriesSource(Source):
    """Coordinates (nnz, N) and values (nnz,) of a tensor whose other entries are missing."""

    leaves_gaps = False

    indices: Array
    values: Array
    kept: Array | None = None  # as of ArraySource

    def fill(self, estimate: Array, unfilled: Array | None = None) -> Array:
        out = np.array(cast_like(np.asarray(estimate), self.values.dtype))
        known = is_kept(self.indices, self.kept, out.shape)
        out[tuple(self.indices[known].T)] = self.values[known]
        return out


def is_kept(where: Array, kept: Array | None, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    """Which of the coordinates (nnz, N) are among those kept, (nnz,); all if that is None."""
    return np.ones(len(where), dtype=bool) if kept is None else match_rows(kept, where, shape) >= 0


class Wrapped(Source):
    """A source around another one: `back` makes data of the type that was given from what the inner one gives."""

    inner: Any

    def back(self, out: Any) -> Any:
        raise NotImplementedError

    @property
    def table(self) -> bool:
        return bool(self.inner.table)

    @property
    def leaves_gaps(self) -> bool:
        return bool(self.inner.leaves_gaps)

    @property
    def latent(self) -> frozenset[str]:
        return frozenset(self.inner.latent)

    def only(self, kept: Array) -> Self:
        return replace(self, inner=self.inner.only(kept))  # type: ignore[type-var]

    def fill(self, estimate: Array, unfilled: NDArray[np.bool_] | None = None) -> Any:
        return self.back(self.inner.fill(estimate, unfilled))

    def wrap(self, estimate: Array) -> Any:
        return self.back(self.inner.wrap(estimate))

    def axis_labels(self, dims: Sequence[str]) -> dict[str, Any]:
        return dict(self.inner.axis_labels(dims))

    def probabilities(self, estimate: Array, name: Any) -> Any:
        return self.inner.probabilities(estimate, name)


@dataclass(frozen=True, eq=False)
class ConvertedSource(Wrapped):
    """Data of another type, which were converted to that of `inner`; `convert` makes them again."""

    inner: Any
    convert: Callable[[Any], Any]

    def back(self, out: Any) -> Any:
        return self.convert(out)


@dataclass(frozen=True, eq=False)
class LineSource(ConvertedSource):
    """One series alone, as a tensor whose second mode has length 1; `convert` makes a series of its only column."""


@dataclass(frozen=True, eq=False)
class XarraySource(Wrapped):
    """A DataArray: coordinates, attributes and name are kept."""

    da: Any
    inner: Any

    def back(self, out: Any) -> Any:
        return self.da.copy(data=out)

    def fill(self, estimate: Array, unfilled: NDArray[np.bool_] | None = None) -> Any:
        out = super().fill(estimate)
        return out if unfilled is None else out.where(~unfilled)

    def axis_labels(self, dims: Sequence[str]) -> dict[str, Any]:
        return {str(d): self.da.indexes[d] for d in self.da.dims if d in self.da.indexes}


def first_column(array: Array) -> Array:
    """The series (n,) of (n, 1)."""
    return array[:, 0]


def root(source: Any) -> Any:
    """The innermost of nested sources, which holds the numbers."""
    while hasattr(source, "inner"):
        source = source.inner
    return source


@dataclass(frozen=True, eq=False)
class MatrixSource(Source):
    """A pandas table in wide form."""

    table = True

    frame: Any
    inner: Any

    def only(self, kept: Array) -> Self:
        return replace(self, inner=self.inner.only(kept))

    def fill(self, estimate: Array, unfilled: NDArray[np.bool_] | None = None) -> Any:
        out = self._fill(estimate)
        return out if unfilled is None else out.mask(unfilled)

    def _fill(self, estimate: Array) -> Any:
        kinds = set(self.frame.dtypes)
        if len(kinds) == 1 and kinds == {self.inner.array.dtype}:  # one block of numbers
            return type(self.frame)(self.inner.fill(estimate), index=self.frame.index, columns=self.frame.columns)
        out, known = self.frame.copy(), self.inner.known
        for n, (_, column) in enumerate(self.frame.items()):
            if not known[:, n].all() and not np.isnan(estimate[:, n]).all():
                out.isetitem(n, fill_column(column, known[:, n], estimate[:, n]))
        return out

    def wrap(self, estimate: Array) -> Any:
        return type(self.frame)(estimate, index=self.frame.index, columns=self.frame.columns)

    def axis_labels(self, dims: Sequence[str]) -> dict[str, Any]:
        return dict(zip(dims, (self.frame.index, self.frame.columns), strict=True))


@dataclass(frozen=True, eq=False)
class EncodedSource(Wrapped):
    """A pandas table of which `inner` holds the columns of numbers, and those that categories, dates and the like were
    encoded as; other columns are carried along.
    """

    frame: Any
    encoder: Any  # io.encoding.TableEncoder
    inner: Any

    @property
    def leaves_gaps(self) -> bool:
        return not self.encoder.learnt  # what a level has of several numbers is all or nothing

    @property
    def latent(self) -> frozenset[str]:
        return frozenset(self.encoder.latent)

    def back(self, out: Any) -> Any:
        return self.encoder.inverse_transform(out, self.frame)

    def fill(self, estimate: Array, unfilled: NDArray[np.bool_] | None = None) -> Any:
        out = super().fill(estimate, unfilled)
        for c in self.encoder.used:
            if c.kind != "number":  # what is known is kept as it is, to the last digit
                column = self.frame.iloc[:, c.place]
                out.isetitem(c.place, column.where(column.notna(), out.iloc[:, c.place]))
        return out

    def probabilities(self, estimate: Array, name: Any) -> Any:
        """Of every level of a category, by these numbers (rows, columns of numbers)."""
        return self.encoder.probabilities(estimate, self.frame, name)


@dataclass(frozen=True, eq=False)
class SavedSource(Wrapped):
    """The numbers of an encoded table whose run was read from a file: the cells themselves were not saved."""

    frame: Any  # its columns, without rows
    encoder: Any
    inner: Any

    def back(self, out: Any) -> Any:
        return out


@dataclass(frozen=True, eq=False)
class FrameSource(Source):
    """A pandas table in long form: the answer has one row for every combination of labels."""

    frame: Any
    dims: tuple[str, ...]
    value: str
    labels: tuple[Array, ...]
    codes: Array
    kept: Array | None = None  # as of ArraySource

    def fill(self, estimate: Array, unfilled: NDArray[np.bool_] | None = None) -> Any:
        given = self.frame[self.value]
        numbers = column_numbers(given)
        dtype = getattr(given.dtype, "numpy_dtype", numbers.dtype)
        objects = given.dtype == object
        column = np.array(as_objects(given, estimate)) if objects else cast_like(estimate, dtype)
        shape = tuple(len(u) for u in self.labels)
        seen = ~np.isnan(numbers) if numbers.dtype.kind == "f" else np.ones(len(numbers), dtype=bool)
        seen &= is_kept(self.codes, self.kept, shape)
        column[tuple(self.codes[seen].T)] = given[seen].to_numpy(dtype=column.dtype)
        out = self.wrap(column).astype({self.value: given.dtype})
        return out if unfilled is None else out.assign(**{self.value: out[self.value].mask(unfilled.ravel())})

    def wrap(self, estimate: Array) -> Any:
        shape = tuple(len(u) for u in self.labels)
        grid = np.unravel_index(np.arange(math.prod(shape)), shape)
        table = {d: u[g] for d, u, g in zip(self.dims, self.labels, grid, strict=True)}
        out = type(self.frame)({**table, self.value: np.asarray(estimate).ravel()})
        return out.astype({d: self.frame[d].dtype for d in self.dims if hasattr(self.frame[d], "cat")})

    def axis_labels(self, dims: Sequence[str]) -> dict[str, Any]:
        return dict(zip(self.dims, self.labels, strict=True))


def encoded_source(source: Any) -> EncodedSource | SavedSource | None:
    """The table whose categories or dates were encoded as numbers, if this source holds one."""
    while source is not None and not (isinstance(source, EncodedSource | SavedSource) and source.encoder.learnt):
        source = getattr(source, "inner", None)
    return source
