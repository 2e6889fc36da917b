"""Labels along the modes as text. How one is printed depends on all labels of its mode: days without 00:00, numbers in
as few digits as tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.data.labels import axis_labels, plain_labels
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.data.observations import Observations


DIGITS = 4  # significant, unless more are needed to tell neighbours apart


def labels_of(obs: Observations, given: Mapping[str, Sequence[Any] | Array] | None = None) -> dict[str, Array]:
    """{dimension: its labels, (I_n,)}: those given, else those the data carry; nothing where there are none."""
    found = {**axis_labels(obs), **(given or {})}
    out = {}
    for dim, length in zip(obs.dims, obs.shape, strict=True):
        if dim not in found:
            continue
        if len(found[dim]) != length:
            msg = f"labels of {dim!r} must be {length}, one for each index; got {len(found[dim])}."
            raise ValueError(msg)
        out[dim] = plain_labels(found[dim])
    return out


def format_labels(labels: Array, at: Any = slice(None)) -> list[str]:
    """The labels at the indices `at` as text; how they are printed is decided by all of them."""
    chosen = labels[at]
    if labels.dtype.kind == "M":
        unit = _unit(labels)
        return [str(x).replace("T", " ") for x in np.datetime_as_string(chosen, unit=unit)]
    if labels.dtype.kind == "f":
        digits, zero = _digits(labels.astype(np.float64))
        return [_number(0.0 if abs(x) < zero else float(x), digits) for x in chosen]
    return [str(x) for x in chosen]


def _unit(moments: Array) -> Any:
    """The coarsest unit that loses nothing; a single midnight is a day."""
    seen = moments[~np.isnat(moments)]
    several = ("Y", "M") if len(np.unique(seen)) > 1 else ()
    for unit in (*several, "D", "m", "s", "ms"):
        if (seen == seen.astype(f"M8[{unit}]")).all():
            return unit
    return "us"


def _digits(numbers: Array) -> tuple[int, float]:
    """(significant digits that tell neighbours apart, what is 0 but for rounding)."""
    seen = np.unique(numbers[np.isfinite(numbers)])
    if len(seen) < 2:
        return DIGITS, 0.0
    step = float(np.median(np.diff(seen)))
    return int(np.clip(np.ceil(np.log10(np.abs(seen).max() / step)), DIGITS, 15)), 1e-9 * step


def _number(x: float, digits: int) -> str:
    text = f"{x:.{digits}g}"
    return f"{x:.0f}" if "e" in text and 1 <= abs(x) < 1e7 else text


def shorten(text: str, most: int = 16) -> str:
    """A label in at most so many letters: its start and its end, as names are often told apart there."""
    end = most // 3
    return text if len(text) <= most else f"{text[: most - end - 1]}…{text[-end:]}"


def escape_dollars(text: str) -> str:
    """Text that matplotlib shows as it is: a dollar sign in it begins no formula."""
    return text.replace("$", r"\$")
