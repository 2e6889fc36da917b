"""Numbers are read exactly, or refused with a sentence: none is rounded, cut or cast silently."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tensorfill.typing import Array

EXACT = 2**53  # float64 holds every whole number up to here
LONGEST = 400  # digits: longer than any number that a float can be near to
ADVICE = "Subtract a constant first, or give a dense integer array with a mask, which comes back as it is."


def numbers(given: ArrayLike, what: str) -> Array:
    """An array of numbers (a masked one stays masked); objects (None, Python's integers) as floats."""
    array = np.asanyarray(given)
    if array.dtype == object and not isinstance(array, np.ma.MaskedArray):
        return floats(array, what)
    if array.dtype.kind not in "biuf":
        msg = f"{what} must be numbers (integer, float or bool); got {_other(array)}"
        raise TypeError(msg)
    return array


def _other(array: Array) -> str:
    """The end of the error message: what the array holds instead of numbers, and what to do."""
    kind = array.dtype.kind
    if kind == "c":
        return f"dtype {array.dtype}. Give both parts, with one more mode: numpy.stack([T.real, T.imag], axis=-1)."
    if kind in "US" and array.size:
        flat = array.ravel()
        bad = next((k for k, text in enumerate(flat) if not is_number(text)), 0)
        index = tuple(int(i) for i in np.unravel_index(bad, array.shape))
        return f"text, {str(flat[bad])!r} at index {index}. Mark what is missing by None or NaN; number what has names."
    if kind in "Mm":
        return f"dtype {array.dtype}. Count from a start: (T - T.min()) / numpy.timedelta64(1, 'D')."
    return f"dtype {array.dtype}. Choose one of its fields." if kind == "V" else f"dtype {array.dtype}."


def is_number(text: Any) -> bool:
    """Does a text say a number, and not that there is none?"""
    try:
        return not np.isnan(float(text))
    except ValueError:
        return False


def floats(objects: Array, what: str, hint: str = "Mark what is missing by None or NaN.") -> Array:
    """Python objects as numbers, None and pandas.NA as NaN; what is no number is refused."""
    flat = [np.nan if x is None or type(x).__name__ == "NAType" else x for x in objects.ravel()]
    flat = [float(x) if isinstance(x, Decimal) else x for x in flat]
    for x in flat:
        if not isinstance(x, Real | np.bool_):
            msg = f"{what} must be numbers; got {x!r}. {hint}"
            raise TypeError(msg)
        if isinstance(x, int) and abs(x) > EXACT and not _is_exact(x):
            msg = f"{what} that are whole numbers must be within 2^53 to be exact here; got {x}. {ADVICE}"
            raise ValueError(msg)
    return np.array(flat, dtype=np.float64).reshape(objects.shape)


def _is_exact(x: int) -> bool:
    """Does float64 hold this number exactly?"""
    try:
        return int(float(x)) == x
    except OverflowError:
        return False


def check_exact(where: Array, given: Array) -> None:
    """Refuse whole numbers `given` (nnz,) at `where` (nnz, N) that float64 would change."""
    if given.dtype.kind not in "iu" or given.dtype.itemsize < 8:
        return
    whole = given.astype(np.float64)
    fits = whole < float(np.iinfo(given.dtype).max)  # 2^64 - 1 becomes 2^64, which does not fit back
    bad = np.flatnonzero(~fits | (np.where(fits, whole, 0.0).astype(given.dtype) != given))
    if bad.size:
        index = tuple(int(i) for i in where[bad[0]])
        msg = f"whole numbers must be within 2^53 to be exact here; got {given[bad[0]]} at index {index}. {ADVICE}"
        raise ValueError(msg)


def whole_numbers(texts: Sequence[str]) -> Array:
    """Whole numbers written in digits as int64, or uint64 where they need it; refused where neither holds them."""
    for text in texts:
        if len(text) > LONGEST:
            raise ValueError(_beyond_64_bits(text))
    read = [int(text) for text in texts]
    low, high = min(read, default=0), max(read, default=0)
    if low >= -(2**63) and high < 2**63:
        return np.array(read, dtype=np.int64)
    if low >= 0 and high < 2**64:
        return np.array(read, dtype=np.uint64)
    raise ValueError(_beyond_64_bits(str(high if high >= 2**63 else low)))


def _beyond_64_bits(text: str) -> str:
    shown = text if len(text) <= LONGEST else f"{text[:20]}... ({len(text)} digits)"
    return (
        f"{shown} is a whole number beyond 64 bits, which no array of them holds; "
        "write it with a point (1.0) if its last digits do not matter."
    )
