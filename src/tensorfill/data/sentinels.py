"""Numbers that stand for "missing" among the values: -999, 9999, 1e20 and their like, found before they are believed.

A value is suspicious if it is the least or the largest, is there more than once, and lies far from all others. How far
it must lie depends on what it looks like: a code that people use for "missing" (nines; a number too large for any
unit; the least integer of a type), or any number at all. Zero and full scale (1, 255, 65535, ...) are values.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tensorfill.data.observations import DataWarning, Observations
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.typing import Array

OTHERS, DISTINCT = 5, 3  # other values, and different ones among them, needed to say that one lies far from them
ONE_SIGN = 20  # so many others, none below 0, make a negative code the odd one out however far they spread
CODE_FAR = 3.0  # a code lies so many times as far from the median as the next value on its side
ANY_FAR = 50.0  # any other number lies so many times the range of all others away from them
HUGE = 1e19  # beyond it no unit of measurement makes sense of a lone number
LEAST = (-(2.0**15), -(2.0**31), -(2.0**63))  # of 16, 32 and 64-bit integers
SAMPLE = 100_000  # so many values are enough for a median
CODES = 4  # more than so many are not looked for: -999 and -9999, and one at the other end


@dataclass(frozen=True)
class Sentinel:
    """A value that may mean "missing", and how often it is there."""

    value: float
    count: int

    @property
    def number(self) -> str:
        whole = self.value == round(self.value) and abs(self.value) < 1e15
        return f"{self.value:.0f}" if whole else str(self.value)

    @property
    def question(self) -> str:
        return f"{self.count:,} values are {self.number}: missing?"

    def __str__(self) -> str:
        return (
            f"{self.question} Mark them: mask=T != {self.number}; of a pandas table, T.replace({self.number}, np.nan) "
            f"(on the command line: --missing-value {self.number})."
        )


def warn_of_sentinels(obs: Observations) -> Observations:
    """Return the observations unchanged, after a DataWarning for each value among them that may mean "missing"."""
    for found in sentinels(obs.values):
        warnings.warn(str(found), DataWarning, stacklevel=find_stacklevel())
    return obs


def sentinels(values: Array) -> list[Sentinel]:
    """The suspicious values among `values` (nnz,), the most extreme first."""
    return list(_find(np.asarray(values)))


def _find(values: Array) -> Iterator[Sentinel]:
    for _ in range(CODES):
        if len(values) < OTHERS + 2:
            return
        for extreme in (values.min(), values.max()):
            if extreme == 0:
                continue
            there = values == extreme
            count = int(np.count_nonzero(there))
            if 1 < count <= len(values) // 2 and _far(float(extreme), values[~there]):
                yield Sentinel(extreme if abs(extreme) >= HUGE else float(str(extreme)), count)
                values = values[~there]
                break
        else:
            return


def _far(value: float, rest: Array) -> bool:
    """Does the extreme lie so far from all others that it is hardly one of them?"""
    low, high = float(rest.min()), float(rest.max())
    if len(rest) < OTHERS or len(np.unique(rest[:SAMPLE])) < DISTINCT:
        return False
    near = low if value < low else high
    if _is_code(value):
        if value < 0 <= low and len(rest) >= ONE_SIGN:
            return True
        middle = float(np.median(rest[:: -(-len(rest) // SAMPLE)]))
        same_side = np.sign(near) == np.sign(value)
        return abs(value - middle) > CODE_FAR * abs(near - middle) and not (same_side and abs(value) < 2 * abs(near))
    return not _full_scale(value) and abs(value - near) > ANY_FAR * (high - low)


def _is_code(value: float) -> bool:
    """Nines (-9, -99.9, 9999), a huge number, the least integer of a type."""
    digits = f"{abs(value):.7g}".replace(".", "")
    nines = set(digits) == {"9"} and len(digits) >= (1 if value < 0 else 2)
    return nines or abs(value) >= HUGE or value in LEAST


def _full_scale(value: float) -> bool:
    """1, 3, 255, 1023, 65535, ...: what a saturated detector says."""
    return value > 0 and value == round(value) and math.log2(value + 1).is_integer()
