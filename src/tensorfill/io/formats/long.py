"""Long tables, whatever file they come from: one column per dimension, one value column, one row per known entry.

Labels of one dimension that are all numbers, all ISO dates, or all clock times (7:05, 23:30) are put in their natural
order, because smoothness along a dimension means something only then; any other labels stay in the order of their first
appearance. Output has one row for every combination, each dimension in the order of first appearance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.coordinates import first_duplicate
from tensorfill.data.dates import parse_dates
from tensorfill.io.formats.base import FileError, Loaded, Request
from tensorfill.io.formats.cells import Notation
from tensorfill.registry import did_you_mean

CLOCK = re.compile(r"(\d{1,2}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Axis:
    """One dimension of a long table.

    Attributes
    ----------
    labels : (I_n,) in the order of the tensor
    codes : (rows,) index of each row's label
    first : (I_n,) indices in the order of first appearance
    """

    labels: list[Any]
    codes: NDArray[np.intp]
    first: NDArray[np.intp]


def encode_labels(column: Sequence[Any]) -> Axis:
    """Number the labels of one column."""
    seen: dict[Any, int] = {}
    codes = np.array([seen.setdefault(label, len(seen)) for label in column], dtype=np.intp)
    found = list(seen)
    order = natural_order(found)
    rank = np.empty(len(found), dtype=np.intp)
    rank[order] = np.arange(len(found))
    return Axis([found[k] for k in order], rank[codes], rank)


def natural_order(labels: list[Any]) -> list[int]:
    """Places of the labels by number, date or clock time; as they are when they are none of these."""
    keys = _natural(labels)
    return list(range(len(labels))) if keys is None else sorted(range(len(labels)), key=keys.__getitem__)


def _seconds(label: str) -> float:
    """`7:05` or `07:05:10` as seconds since midnight."""
    found = CLOCK.fullmatch(label.strip())
    if found is None:
        msg = f"a clock time must look like 7:05 or 07:05:10; got {label!r}."
        raise ValueError(msg)
    hours, minutes, seconds = found.groups(default="0")
    return 3600 * int(hours) + 60 * int(minutes) + float(seconds)


PARSERS: tuple[Callable[[str], Any], ...] = (float, datetime.fromisoformat, _seconds)


def _natural(labels: list[Any]) -> list[Any] | None:
    """Keys that sort the labels by number, date or clock time, or None when they are none of these."""
    if all(isinstance(x, int | float) and not isinstance(x, bool) for x in labels):
        return labels
    if any(all(type(x) is kind for x in labels) for kind in (date, time)) or all(
        isinstance(x, datetime) for x in labels
    ):
        return labels
    if not all(isinstance(x, str) for x in labels):
        return None
    for parse in PARSERS:
        try:
            keys: list[Any] = [parse(x) for x in labels]
            sorted(keys)  # raises TypeError for dates with and without a time zone
            return keys if all(key == key for key in keys) else None  # not with NaN, which cannot be sorted
        except (ValueError, TypeError):  # not of this kind
            continue
    found = parse_dates(labels)
    return None if found is None else list(found)


def check_columns(names: Sequence[str], there: Sequence[str]) -> None:
    """A sentence for a column that a table does not have, or has twice."""
    for name in names:
        if name not in there:
            msg = f"it has no column {name!r}; its columns are {', '.join(there)}.{did_you_mean(name, list(there))}"
            raise FileError(msg)
        if list(there).count(name) > 1:
            msg = f"it has more than one column {name!r}."
            raise FileError(msg)


def pick_columns(columns: Sequence[str], request: Request) -> tuple[tuple[str, ...], str]:
    """(dimension columns, value column): what was named, and the rest where it is plain."""
    dims, value = request.dims, request.value
    check_columns([*(dims or ()), *([value] if value else [])], columns)
    if dims is None:
        dims = tuple(c for c in columns if c != value)
    if value is None:
        rest = [c for c in columns if c not in dims]
        if len(rest) != 1:
            listed = ", ".join(rest) or "none"
            msg = f"the value column is not plain (columns left beside the dimensions: {listed}); name it with --value."
            raise FileError(msg)
        value = rest[0]
    if len(set(dims)) != len(dims) or len(dims) < 2 or value in dims:
        msg = f"a long table needs at least two different dimension columns and a value column; got {', '.join(dims)}."
        raise FileError(msg)
    return dims, value


def guess_columns(table: Mapping[str, Sequence[str]]) -> tuple[list[str], str] | None:
    """(dimension columns, value column) of a table with one row for each entry, or None where it does not look like
    one: the shortest run of first columns whose labels come twice on average, two at least, which together name every
    row but once; then the first column of numbers after them.
    """
    dims: list[str] = []
    rows = len(next(iter(table.values()), ()))
    for name, cells in table.items():
        if all(cell.strip() for cell in cells) and 2 * len(set(cells)) <= rows + 1:
            dims.append(name)
            if len(dims) > 1 and len(set(zip(*(table[d] for d in dims), strict=True))) == rows:
                break
    else:
        return None
    notation, names = Notation(), list(table)
    for name in names[names.index(dims[-1]) + 1 :]:
        cells = table[name]
        if all(notation.number(cell) is not None for cell in cells):
            return dims, name
    return None


def read_long(sheet: Any, request: Request, *, first_row: int) -> Loaded:
    """One row per known entry, of a sheet that gives the `labels` (None: none) and the `numbers` of a column by its
    place; its rows are counted from `first_row`.
    """
    dims, value = pick_columns(sheet.names, request)
    places, at = [sheet.names.index(d) for d in dims], sheet.names.index(value)
    axes = []
    for d, n in zip(dims, places, strict=True):
        labels = sheet.labels(n)
        if None in labels:
            row = labels.index(None) + first_row
            msg = f"row {row} has no label in column {d!r}; name it, or leave that row out."
            raise FileError(msg)
        axes.append(encode_labels(labels))
    codes = np.stack([axis.codes for axis in axes], axis=1)
    twice = first_duplicate(codes)
    if twice:
        key = ", ".join(f"{d}={a.labels[c]}" for d, a, c in zip(dims, axes, codes[twice[0]], strict=True))
        rows = f"rows {twice[0] + first_row} and {twice[1] + first_row}"
        msg = f"the entry ({key}) appears twice ({rows}); keep one row for each entry."
        raise FileError(msg)
    numbers, exact = sheet.numbers(at)
    seen = numbers == numbers
    values = numbers[seen] if exact is None else exact
    own = {"sheet": sheet, "places": places, "at": at, "name": value, "first": [a.first for a in axes]}
    return Loaded(
        format="",
        shape=tuple(len(a.labels) for a in axes),
        dtype=values.dtype,
        indices=codes[seen],
        values_coo=values,
        dims=dims,
        labels={d: a.labels for d, a in zip(dims, axes, strict=True)},
        extra={"form": "long", "numbers": numbers, "codes": codes, **own},
    )


def all_rows(like: Loaded) -> NDArray[np.intp]:
    """The coordinates of every entry, (size, N), the last dimension running fastest."""
    first = like.extra.get("first") or [np.arange(n) for n in like.shape]
    grid = np.meshgrid(*first, indexing="ij")
    return np.stack([g.ravel() for g in grid], axis=1)


def dim_names(like: Loaded) -> tuple[str, ...]:
    """Names of the modes: those of the file, or mode0, mode1, ..."""
    return like.dims or tuple(f"mode{n}" for n in range(len(like.shape)))


def dim_labels(like: Loaded) -> list[list[Any]]:
    """Labels along each mode: those of the file, or 0, 1, 2, ..."""
    known = like.labels or {}
    return [list(known.get(d, range(n))) for d, n in zip(dim_names(like), like.shape, strict=True)]


def writes_long(like: Loaded) -> bool:
    """Should a table be written in long form? As it came; otherwise a matrix is wide and the rest is long."""
    if "form" in like.extra:
        return like.extra["form"] == "long"
    return len(like.shape) != 2 or like.coordinate
