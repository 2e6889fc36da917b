"""Dates as people write them: 3.2.2024, 2/13/2024 4:05 pm, 2024/02/03, 3 Feb 2024, 3. März 2024, 2024-02, 2024Q1.

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

NAMES = {  # of the months, in full
    "English": [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ],
    "German": [
        "Januar",
        "Februar",
        "März",
        "April",
        "Mai",
        "Juni",
        "Juli",
        "August",
        "September",
        "Oktober",
        "November",
        "Dezember",
    ],
    "French": [
        "janvier",
        "février",
        "mars",
        "avril",
        "mai",
        "juin",
        "juillet",
        "août",
        "septembre",
        "octobre",
        "novembre",
        "décembre",
    ],
}
SHORT = (  # further forms, without accents
    "jan janner janv",
    "feb febr feber fev fevr",
    "mar maerz mrz",
    "apr avr",
    "",
    "jun",
    "jul juil",
    "aug",
    "sep sept",
    "oct okt",
    "nov",
    "dec dez",
)
CLOCK = r"(?:[ T]+(?P<h>\d{1,2}):(?P<min>\d\d)(?::(?P<s>\d\d(?:\.\d+)?))?\s*(?P<half>[ap]m)?)?"
ZONE = re.compile(r"\s*(?:Z|UTC|[+-]\d\d:?\d\d)$")
FORMS = tuple(
    re.compile(form + CLOCK, re.IGNORECASE)
    for form in (
        r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})",
        r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})",
        r"(?P<y>\d{4})[ -]?Q(?P<q>[1-4])",
        r"Q(?P<q>[1-4])[ /-](?P<y>\d{4})",
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
        month = _month(name) if name else int(parts.get("m") or 3 * int(parts.get("q") or 0) - 2)
        day = int(parts.get("d") or 1)
    hour = int(parts["h"] or 0)
    if parts["half"]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + 12 * (parts["half"].lower() == "pm")
    start = datetime(int(parts["y"] or 0), month, day, hour, int(parts["min"] or 0))
    return start + timedelta(seconds=float(parts["s"] or 0))


def _plain(name: str) -> str:
    """In small letters, without accents."""
    return "".join(c for c in unicodedata.normalize("NFD", name.lower()) if not unicodedata.combining(c))


MONTHS = {_plain(name): k + 1 for names in NAMES.values() for k, name in enumerate(names)}
MONTHS |= {name: k + 1 for k, names in enumerate(SHORT) for name in names.split()}


def _month(name: str) -> int:
    """The number of a month by its name, in any case, with or without accents; ValueError for any other word."""
    if _plain(name) not in MONTHS:
        raise ValueError
    return MONTHS[_plain(name)]


# --- writing ------------------------------------------------------------------------------------------------------


def written_like(labels: Sequence[str], new: Moments) -> list[str] | None:
    """Moments as these labels, which `moments` can read, are written; None if months have names that tell no language.

    A number has two digits where all of its kind have.
    """
    text = [unicodedata.normalize("NFC", label.strip()) for label in labels]
    bare = [ZONE.sub("", label) for label in text]
    at = moments(text)
    if at is None:
        return None
    form = next((form for form in FORMS if form.fullmatch(bare[0])), EITHER)
    order = next((o for o in ("ab", "ba") if _same(_read(bare, EITHER, o), at)), "") if form is EITHER else ""
    found = [form.fullmatch(label) for label in bare]
    parts = [match.groupdict() for match in found if match is not None]
    names = None
    if "name" in form.groupindex:
        names = _names([str(part["name"]) for part in parts])
        if names is None:
            return None
    last = found[-1]
    assert last is not None
    return [_written(last, parts, moment, order, names) + text[-1][len(bare[-1]) :] for moment in new.astype("M8[us]")]


def _same(reading: Moments | None, at: Moments) -> bool:
    return reading is not None and bool((reading == at).all())


def _written(
    like: re.Match[str], parts: list[dict[str, str | None]], moment: np.datetime64, order: str, names: list[str] | None
) -> str:
    """One moment in the place of the last label: each group of the form is written anew, all between them stays."""
    when = moment.item()
    assert isinstance(when, datetime)
    numbers = {"y": when.year, "m": when.month, "d": when.day, "q": (when.month + 2) // 3, "h": when.hour}
    numbers |= {"min": when.minute, "s": when.second}
    if order:
        numbers |= {order[0]: when.day, order[1]: when.month}
    if like.groupdict().get("half"):
        numbers["h"] = (when.hour + 11) % 12 + 1
    out, end = "", 0
    for group in sorted((g for g in like.groupdict() if like.group(g) is not None), key=like.start):
        old = like.group(group)
        if group == "name":
            new = (names or [])[when.month - 1]
        elif group == "half":
            new = ("pm" if when.hour >= 12 else "am") if old.islower() else ("PM" if when.hour >= 12 else "AM")
        elif group == "sep":
            new = old
        elif group == "s" and "." in old:
            new = f"{when.second + when.microsecond / 1e6:0{len(old)}.{len(old.partition('.')[2])}f}"
        else:
            seen = [part[group] or "00" for part in parts]
            short = (group == "d" and names) or (group == "h" and like.group("half"))  # Mar 1 and 1:00 pm are usual
            wide = all(len(x) >= 2 for x in seen) and (not short or any(x.startswith("0") for x in seen))
            new = f"{numbers[group]:02d}" if wide else str(numbers[group])
        out += like.string[end : like.start(group)] + new
        end = like.end(group)
    return out + like.string[end:]


def _names(seen: list[str]) -> list[str] | None:
    """All twelve names as those seen are written: in their language, short or long, in capitals or not; names that were
    seen stay as they are. None if they are of no one language and length.
    """
    known = {_month(name): name for name in seen}
    for names in NAMES.values():
        for letters in (3, 9):
            for case in (str, str.lower, str.upper, str.title):
                style = [case(name[:letters]) for name in names]
                if all(style[month - 1] == name for month, name in known.items()):
                    return style
    return [known[k] for k in range(1, 13)] if len(known) == 12 else None
