"""Which row and which column of a matrix of numbers are names, not data: those that count, and columns called id."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from tensorfill.data.dates import parse_dates
from tensorfill.io.formats.cells import WHOLE, Notation

ROUND = re.compile(r"[+-]?\d+(?:\.0*)?")
IDENTIFIER = re.compile(r"(?i:(?:.*[\s_.-])?id|idx|index|unnamed: 0)|.*[a-z]I[dD]")  # station_id, patientId


def counting_step(cells: Sequence[str], pattern: re.Pattern[str] = WHOLE) -> int:
    """The step of whole numbers that count, like 2005, 2006, 2007 or 30, 20, 10; 0 if these do not."""
    clean = [cell.strip() for cell in cells]
    if len(clean) < 3 or not all(map(pattern.fullmatch, clean)):  # two may count by chance
        return 0
    steps = {b - a for a, b in pairwise(int(cell.partition(".")[0]) for cell in clean)}
    return steps.pop() if len(steps) == 1 else 0


def header_note(rows: Sequence[Sequence[str]]) -> str | None:
    """Why a first row of numbers is the header: it counts, and the row below it does not; None if it is data.

    Behind a blank corner there is no doubt, and nothing to say.
    """
    corner = rows[0][0].strip() == ""
    cells = rows[0][1:] if corner else rows[0]
    by = counting_step(cells)
    if len(rows) < 2 or by == 0 or (not corner and counting_step(rows[1]) == by):
        return None
    if corner:
        return ""
    return (
        f"the first row counts {_first_three(cells)}: it is taken as the header, not as data. If it is data, put a row "
        "of names above it."
    )


def label_note(
    header: str, first: Sequence[str], others: Iterable[Sequence[str]], notation: Notation | None = None
) -> str | None:
    """Why a first column of numbers is labels; None if it is data.

    It counts, and not all the other columns do; or it is called id and holds a different whole number in each row.
    """
    missing = (notation or Notation()).missing
    if counting_step(first, ROUND):
        full = (cells for cells in others if not any(cell.strip().lower() in missing for cell in cells))
        counting = (counting_step(cells, ROUND) != 0 for cells in full)
        if next(counting, False) and all(counting):
            return None
        why = f"counts {_first_three(first)}"
    elif (
        IDENTIFIER.fullmatch(header)
        and all(ROUND.fullmatch(x.strip()) for x in first)
        and len(set(first)) == len(first)
    ):
        why = "numbers the rows"
    else:
        return None
    named = f", {header!r}," if header else ""
    return (
        f"the first column{named} {why}: it is taken as labels, not as data. If it is data, put a column of labels "
        "before it."
    )


def label_column(columns: Mapping[int, Sequence[str]]) -> int | None:
    """Which of the columns of text (by their place) tells the rows apart: dates that rise before all others, then the
    first whose cells all differ, then the first; None if there are none.
    """
    unlike = [n for n, cells in columns.items() if "" not in cells and len(set(cells)) == len(cells)]
    for n in unlike:
        at = parse_dates(list(columns[n]))
        if at is not None and (at[1:] > at[:-1]).all():
            return n
    return next(iter([*unlike, *columns]), None)


def ignored_columns_note(names: Sequence[str], empty: int) -> list[str]:
    """A note about columns that are neither numbers nor labels of rows, of whose cells so many are `empty`."""
    if not names:
        return []
    if len(names) == 1:
        words, whose = f"column {names[0]} holds no numbers and is left as it is", "its"
    else:
        words, whose = f"columns {', '.join(names)} hold no numbers and are left as they are", "their"
    return [f"{words}, {empty:,} of {whose} cells empty." if empty else f"{words}."]


def first_mode(header: str) -> str:
    """What to call the rows: as the column of their labels is called, if that is a name and not taken."""
    by_machine = header.startswith("__") or header.lower() in ("", "unnamed: 0")  # pandas' own
    return "row" if by_machine or header == "column" or Notation().number(header) is not None else header


def _first_three(cells: Sequence[str]) -> str:
    return ", ".join(cell.strip() for cell in cells[:3]) + (", ..." if len(cells) > 3 else "")
