"""Tables of several kinds of columns in files: read and written by their formats, every known cell as it was."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.data.observations import DataWarning
from tensorfill.data.sources import encoded_source
from tensorfill.io.formats.base import FORMATS, Loaded
from tensorfill.io.formats.cells import Notation, to_text
from tensorfill.io.formats.opening import format_of, open_file
from tensorfill.io.formats.output import write_stream
from tensorfill.io.formats.parquet import ArrowSheet
from tensorfill.io.formats.tables import Sheet, Table, make_sheet
from tensorfill.io.frames import CODE, ISO, observe_pandas


def table_format(path: str | Path) -> type[Table] | None:
    """The format of tables that the ending of a name says, or None."""
    kind = format_of(path)
    return kind if kind is not None and issubclass(kind, Table) else None


@dataclass(frozen=True, eq=False)
class MixedTable:
    """A table of a file: `frame` has its columns as numbers, dates and text, `sheet` its cells as they stand in it, and
    `like` what is needed to write them in the same way.
    """

    frame: Any
    sheet: Sheet | ArrowSheet
    like: Loaded

    @classmethod
    def read(cls, path: str, missing_value: float | str | None = None) -> MixedTable:
        """From a file of any format of tables; cells that hold `missing_value` are missing, as empty ones are."""
        kind = table_format(path)
        if kind is None:
            endings = (kind.endings[0] for _, kind in FORMATS.items() if issubclass(kind, Table))
            msg = f"a table must end in {', '.join(endings)}; got {path!r}."
            raise ValueError(msg)
        with open_file(path) as (_, request):
            cells, extra = kind().open(request)
        if kind.cells == "arrow":
            frame = cells.to_pandas()
            frame = frame if missing_value is None else frame.mask(frame == missing_value)
            sheet: Sheet | ArrowSheet = ArrowSheet(cells)
        else:
            sheet, frame = _parse(cells, kind.cells, extra, missing_value)
        return cls(frame, sheet, Loaded(kind.name, frame.shape, np.dtype(object), extra=extra))

    @classmethod
    def find(cls, path: str, missing_value: float | str | None = None) -> MixedTable | None:
        """The table, if it has gaps and categories or dates to learn from; None for anything else: numbers."""
        if table_format(path) is None or not Path(path).is_file():
            return None
        try:
            table = cls.read(path, missing_value)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                found = observe_pandas(table.frame, None, weights=None, dims=None)
        except Exception:  # whatever it is: the readers of numbers say it in their words
            return None
        return table if encoded_source(found.source) is not None and found.nnz < found.size else None

    def texts(self, rows: int, columns: int) -> list[list[str | None]]:
        """The cells of the first rows and columns as text, None where one is missing."""
        shown = self.frame.iloc[:rows, :columns]
        cells = shown.to_numpy(dtype=object)
        if isinstance(self.sheet, Sheet):
            cells = np.stack([column[:rows] for column in self.sheet.columns[:columns]], axis=1)
        known = shown.notna().to_numpy()
        return [
            [to_text(x) if k else None for x, k in zip(*row, strict=True)] for row in zip(cells, known, strict=True)
        ]

    def write(self, path: str, filled: Any) -> None:
        """Write the completed table; the ending says the format. Known cells stay as they were read."""
        kind = table_format(path)
        assert kind is not None
        sheet = self._sheet(filled, kind.cells)
        write_stream(
            path, lambda sink: kind().send(sink, sheet, self.like), packed=kind.text and path.lower().endswith(".gz")
        )

    def write_bars(self, path: str, done: Any) -> None:
        """Write how far the truth may be from each number, the longer side of its interval; without other columns."""
        (low, high), middle = done.interval, done.completed
        numbers = [name for name in middle.columns if middle[name].dtype.kind in "iuf"]
        reach = np.maximum(high[numbers] - middle[numbers], middle[numbers] - low[numbers])
        bars = {name: x.to_numpy(dtype=float) for name, x in reach.items()}
        plain_sheet = Sheet([*bars], [*bars.values()], "values")
        replace(self, frame=reach, sheet=plain_sheet).write(path, reach)

    def _sheet(self, filled: Any, kind: str) -> Sheet | ArrowSheet:
        """The completed table as cells of that kind."""
        if kind == "arrow":
            return ArrowSheet.of(filled, self.sheet.table.schema if isinstance(self.sheet, ArrowSheet) else None)
        before = self.sheet
        if not isinstance(before, Sheet) or before.kind != kind:
            return Sheet([*filled.columns], [_values(column) for _, column in filled.items()], "values")
        columns = []
        for n, cells in enumerate(before.columns):
            known, column = self.frame.iloc[:, n].notna().to_numpy(), filled.iloc[:, n]
            new = _values(column) if kind == "values" else _texts(column, cells[known], before.notation)
            columns.append(np.where(known | column.isna().to_numpy(), cells, new))
        return replace(before, columns=columns)


def _parse(rows: Any, kind: str, extra: Any, missing_value: float | str | None) -> tuple[Sheet, Any]:
    """(the cells of rows, header first; the table that they mean)."""
    import pandas as pd

    sheet = make_sheet(rows[0], rows[1:], kind)
    delimiter = extra["style"]["delimiter"] if kind == "text" else ","
    names = [name or f"column {n + 1}" for n, name in enumerate(sheet.names)]
    columns, commas = {}, False
    for n, cells in enumerate(sheet.columns):
        if kind == "text" or all(x is None or isinstance(x, str) for x in cells):
            notation = Notation.of(map(to_text, cells), delimiter=delimiter)
            columns[n] = _of_text(pd.Series(cells).fillna(""), notation, missing_value)
            commas |= notation.comma
        else:
            column = pd.Series(list(cells))
            columns[n] = column if missing_value is None else column.mask(column == missing_value)
    return replace(sheet, notation=Notation(comma=commas)), pd.DataFrame(columns).set_axis(names, axis=1)


def _of_text(texts: Any, notation: Notation, missing_value: float | str | None) -> Any:
    """A column of texts as numbers or dates where all of them are, else as texts; None or NaN = missing. Numbers that
    begin with 0, such as 007, are names.
    """
    import pandas as pd

    clean = texts.str.strip()
    known = ~clean.str.lower().isin(notation.missing) & (clean != missing_value)
    plain_texts = clean.str.replace(".", "").str.replace(",", ".") if notation.comma else clean
    numbers = pd.to_numeric(plain_texts.where(known), errors="coerce")
    if isinstance(missing_value, float):
        known &= numbers != missing_value
    if not known.any():
        return texts.where(known).astype(float)
    if numbers[known].notna().all() and not clean[known].str.fullmatch(CODE).any():
        return numbers.where(known)
    if clean[known].str.fullmatch(ISO).all():
        return pd.to_datetime(clean.where(known), errors="coerce", format="ISO8601")
    return texts.where(known, None)


def _values(column: Any) -> Any:
    """The values of a column as a sheet has them, None for missing."""
    return column.astype(object).where(column.notna(), None).to_numpy()


def _texts(column: Any, known: Any, notation: Notation) -> Any:
    """Values as text, in the way of the texts that are known of the column."""
    if column.dtype.kind == "M":
        length = max(map(len, known), default=0)
        form = {10: "%Y-%m-%d", 16: "%Y-%m-%d %H:%M"}.get(length, "%Y-%m-%d %H:%M:%S")
        return column.dt.strftime(form).to_numpy(dtype=object)
    if column.dtype.kind in "iuf":
        return np.array([*notation.like(known, column.to_numpy())], dtype=object)
    return column.astype(str).to_numpy(dtype=object)
