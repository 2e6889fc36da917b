"""Tables with text, categories and dates on the page: the same run as on the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tensorfill.app.options import Options, arguments
from tensorfill.io.files import FORMATS
from tensorfill.io.mixed import MixedTable, table_format

ROWS, COLUMNS = 6, 7  # of the table that are shown


def describe_table(table: MixedTable) -> dict[str, Any]:
    """What the page says of the whole table, where the columns of numbers are only part of it."""
    frame = table.frame
    missing = int(frame.isna().sum().sum())
    shown = frame.iloc[:ROWS, :COLUMNS]
    return {
        "shape": list(frame.shape),
        "dims": ["row", "column"],
        "dtype": "numbers, text and dates",
        "entries": int(frame.size),
        "missing": missing,
        "share": missing / frame.size,
        "peek": {
            "corner": "row",
            "rows": [str(k) for k in shown.index],
            "columns": [str(c) for c in shown.columns],
            "cells": table.texts(ROWS, COLUMNS),
            "more": [n - k for n, k in zip(frame.shape, shown.shape, strict=True)],
        },
    }


def table_formats(name: str) -> list[dict[str, str]]:
    """The formats that hold such a table, the file's own first."""
    own = [table_format(name), *(kind for _, kind in FORMATS.items() if table_format(kind.endings[0]))]
    kinds = dict.fromkeys(kind for kind in own if kind is not None)
    return [{"name": kind.name, "ending": kind.endings[0], "title": kind.title} for kind in kinds]


def table_python(choice: Options, name: str, out: str) -> str:
    """The lines of Python that do what the page did."""
    settings: Mapping[str, Any] = choice.fitting
    return (
        "import tensorfill as tfl\nfrom tensorfill.io.mixed import MixedTable\n\n"
        f"table = MixedTable.read({name!r}{arguments(choice.reading)})\n"
        f"done = tfl.complete(table.frame{arguments(settings)})\n"
        f"table.write({out!r}, done.completed)\n"
    )
