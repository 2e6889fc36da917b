"""Dates as people write them: 3.2.2024, 2/13/2024 4:05 pm, 2024/02/03, 3 Feb 2024, Feb 2024, 2024-02, 3. März 2024.

Whether 1/2/2024 is the first of February or the second of January is decided by all labels together: by a number above
12, by points (1.2.2024 is day first), or by the order in which the labels rise evenly. If none of these decides, the
labels are treated as text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from numpy.typing import NDArray

Moments = NDArray[np.datetime64]

MONTHS = {  # names in English, German and French, short and long, without accents
    name: number
    for number, names in enumerate(
        (
            "jan january januar janner janv janvier",
            "feb febr february februar feber fev fevr fevrier",
            "mar march marz maerz mrz mars",
            "apr april avr avril",
            "may mai",
            "jun june juni juin",
            "jul july juli juil juillet",
            "aug august aout",
            "sep sept september septembre",
            "oct october okt oktober octobre",
            "nov november novembre",
            "dec december dez dezember decembre",
        ),
        start=1,
    )
    for name in names.split()
}
CLOCK = r"(?:[ T]+(?P<h>\d{1,2}):(?P<min>\d\d)(?::(?P<s>\d\d(?:\.\d+)?))?\s*(?P<half>[ap]m)?)?"
ZONE = re.compile(r"\s*(?:Z|UTC|[+-]\d\d:?\d\d)$")
FORMS = tuple(
    re.compile(form + CLOCK, re.IGNORECASE)
    for form in (
        r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})",
        r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})",
        r"(?P<d>\d{1,2})(?:\.|er)?[ -](?P<name>[^\W\d_]{3,9})\.?[ ,-]+(?P<y>\d{4})",
        r"(?P<name>[^\W\d_]{3,9})\.? (?P<d>\d{1,2}),? (?P<y>\d{4})",
        r"(?P<name>[^\W\d_]{3,9})\.?[ -](?P<y>\d{4})",
    )
)
EITHER = re.compile(r"(?P<a>\d{1,2})(?P<sep>[./-])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4})" + CLOCK, re.IGNORECASE)


def moments(labels: Sequence[str]) -> Moments | None:
    """The labels as moments (datetime64), or None if they are not all dates of one form."""
    text = [ZONE.sub("", unicodedata.normalize("NFC", label.strip())) for label in labels]
    if not text or not text[0][:1].isalnum():
        return None
    for form in FORMS:
        if form.fullmatch(text[0]):
            return _read(text, form, "")
    if not EITHER.fullmatch(text[0]):
        return None
    day_first, month_first = _read(text, EITHER, "ab"), _read(text, EITHER, "ba")
    if day_first is None or month_first is None or "." in text[0]:
        return day_first if day_first is not None else month_first
    return _likelier(day_first, month_first)


def _likelier(one: Moments, two: Moments) -> Moments | None:
    """Of two readings (k,), the one that rises, or rises by fewer different steps; None if neither is better."""
    if (one == two).all():
        return one
    scores = []
    for reading in (one, two):
        steps = np.diff(reading).astype("m8[D]" if _whole_days(reading) else "m8[us]").astype(np.int64)
        if _whole_days(reading):
            steps[(steps >= 28) & (steps <= 31)] = 30  # months are even steps, too
        scores.append((bool((steps <= 0).any()), len(np.unique(steps))))
    return None if scores[0] == scores[1] else (one if scores[0] < scores[1] else two)


def _whole_days(reading: Moments) -> bool:
    return bool((reading.astype("M8[D]") == reading).all())


def _read(text: list[str], form: re.Pattern[str], order: str) -> Moments | None:
    """All labels by one form; `order` says which group is the day and which the month where both are numbers."""
    out = []
    for label in text:
        found = form.fullmatch(label)
        if found is None:
            return None
        try:
            out.append(_moment(found.groupdict(), order))
        except ValueError:  # the 13th month, the 30th of February
            return None
    return np.array(out, dtype="M8[us]")


def _moment(parts: dict[str, str | None], order: str) -> datetime:
    if order:
        day, month = int(parts[order[0]] or 0), int(parts[order[1]] or 0)
    else:
        name = parts.get("name")
        month = _month(name) if name else int(parts["m"] or 0)
        day = int(parts.get("d") or 1)
    hour = int(parts["h"] or 0)
    if parts["half"]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + 12 * (parts["half"].lower() == "pm")
    start = datetime(int(parts["y"] or 0), month, day, hour, int(parts["min"] or 0))
    return start + timedelta(seconds=float(parts["s"] or 0))


def _month(name: str) -> int:
    """The number of a month by its name, in any case, with or without accents; ValueError for any other word."""
    letters = unicodedata.normalize("NFD", name.lower())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter))
    if plain not in MONTHS:
        raise ValueError
    return MONTHS[plain]
