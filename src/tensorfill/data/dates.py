"""Dates as people write them: 3.2.2024, 2/13/2024 4:05 pm, 2024/02/03, 3 Feb 2024, 2024-02, 2024Q1.

Whether 1/2/2024 is the first of February or the second of January is decided by all labels together: by a number above
12, by points (1.2.2024 is day first), or by the order in which the labels rise evenly. If none of these decides, the
labels are treated as text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

Moments = NDArray[np.datetime64]

MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
WORD = re.compile(r"([^\W\d_]{3,9})(\.?)")
ZONE = re.compile(r"(?<=:\d\d)(\.\d+)?\s*(?:Z|UTC|([+-]\d\d):?(\d\d))$")
QUARTER = re.compile(r"(\d{4})[ -]?Q([1-4])|Q([1-4])[ /-](\d{4})")
# what `_normalise` makes of labels, as `datetime.strptime` has it; a month that has a name is month2
DATES = (
    *(f"%Y{s}%m{s}%d" for s in "-/."),
    *(f"%Y{s}%m" for s in "-/."),
    "%Y quarter%m",
    "%d month%m %Y",
    "%d-month%m-%Y",
)
DATES += ("month%m %d, %Y", "month%m %d %Y", "month%m %Y", "month%m-%Y")
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %H:%M:%S.%f", " %I:%M %p", " %I:%M:%S %p")
FORMATS = tuple(date + clock for date in DATES for clock in CLOCKS)
DAY_FIRST = tuple(f"%d{s}%m{s}%Y{clock}" for s in "./-" for clock in CLOCKS)


def parse_dates(labels: Sequence[str]) -> Moments | None:
    """The labels as moments (datetime64), or None if they are not all dates of one form.

    They are what the clock there shows, but in UTC where it was changed in between, by daylight saving.
    """
    found = _parse(labels)
    return None if found is None else found[1] - _utc_offsets(labels)


def _utc_offsets(labels: Sequence[str]) -> NDArray[np.timedelta64]:
    """By how much the clock of each label is ahead of UTC, (k,), where they differ in that; else 0."""
    found = [ZONE.search(label.strip()) for label in labels]
    ends = [(match[2], match[3]) if match else (None, None) for match in found]
    minutes = [60 * int(h) + int(h[0] + m) if h and m else 0 for h, m in ends]
    return np.array(minutes if len(set(minutes)) > 1 else [0] * len(minutes), dtype="m8[m]")


def _parse(labels: Sequence[str]) -> tuple[str, Moments] | None:
    """(the format of the labels, without zone and with months by their numbers, the moments)."""
    if not labels or not any(character.isdigit() for character in labels[0]):
        return None
    text = [_normalise(label) for label in labels]
    form = next((form for form in FORMATS if _parse_all([text[0]], form) is not None), None)
    if form is not None:
        read = _parse_all(text, form)
        return None if read is None else (form, read)
    for day_first in DAY_FIRST:
        month_first = day_first.replace("%d", "#").replace("%m", "%d").replace("#", "%m")
        one, two = _parse_all(text, day_first), _parse_all(text, month_first)
        if one is not None and (two is None or "." in day_first[:3] or (one == two).all() or _is_steadier(one, two)):
            return day_first, one
        if two is not None and (one is None or _is_steadier(two, one)):
            return month_first, two
    return None


def _normalise(label: str) -> str:
    """A label without its zone, in the words that `FORMATS` knows."""
    text = ZONE.sub(r"\1", label.strip())
    if found := QUARTER.fullmatch(text):
        year, quarter = found[1] or found[4], int(found[2] or found[3])
        return f"{year} quarter{3 * quarter - 2}"
    text = re.sub(r"(?<=\d)T(?=\d)", " ", text)
    text = re.sub(r"(?<=\d)\s*([ap]m)$", r" \1", text, flags=re.IGNORECASE)
    return WORD.sub(lambda word: _month(word[1]) or word[0], text)


def _month(word: str) -> str:
    """`month2` for Feb, february, ...; "" for any other word."""
    found = [k for k, name in enumerate(MONTHS, start=1) if name.lower().startswith(word.lower())]
    return f"month{found[0]}" if found else ""


def _parse_all(text: Sequence[str], form: str) -> Moments | None:
    """The moments of all texts, or None if one is not of that form, or the 30th of February."""
    try:
        return np.array([datetime.strptime(label, form) for label in text], dtype="M8[us]")
    except ValueError:
        return None


def _is_steadier(one: Moments, two: Moments) -> bool:
    """Does the first of two readings (k,) rise where the other does not, or by fewer different steps?"""
    scores = []
    for reading in (one, two):
        days = bool((reading.astype("M8[D]") == reading).all())
        steps = np.diff(reading).astype("m8[D]" if days else "m8[us]").astype(np.int64)
        if days:
            steps[(steps >= 28) & (steps <= 31)] = 30  # months are even steps, too
        scores.append((bool((steps <= 0).any()), len(np.unique(steps))))
    return scores[0] < scores[1]


# --- writing ------------------------------------------------------------------------------------------------------


def format_like(labels: Sequence[str], new: Moments) -> list[str] | None:
    """Moments written as the last of these labels is; None if `parse_dates` cannot read them."""
    found = _parse(labels)
    if found is None:
        return None
    form, last = found[0], labels[-1].strip()
    zone, name = ZONE.search(last), WORD.search(last)
    end = "" if zone is None else last[zone.end(1) if zone[1] else zone.start() :]
    form = form.replace("month%m", "%b" if name and len(name[1]) == 3 else "%B")
    form = form.replace(" %H", "T%H") if re.search(r"\dT\d", last) else form
    case = str.upper if last.isupper() else str.lower if last.islower() else str
    padded, short = (any(re.search(number, x) for x in labels) for number in (r"(?<!\d)0\d", r"(?<!\d)\d(?!\d)"))
    short |= name is not None and not padded  # Mar 1, not Mar 01
    out = []
    for moment in (new.astype("M8[us]") + _utc_offsets(labels)[-1]).tolist():
        text = moment.strftime(form)
        if "quarter" in form:
            quarter = (moment.month + 2) // 3
            text = f"Q{quarter}{last[2]}{moment.year}" if last[0] in "Qq" else f"{moment.year}{last[4:-1]}{quarter}"
        elif short:
            text = re.sub(r"(?<![\d:])0(?=\d)", "", text)
        out.append(case(text) + end)
    return out
