"""Tables of several kinds of columns in files: read by pandas, and written with every known cell as it was."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.data.observations import DataWarning
from tensorfill.data.sources import EncodedSource
from tensorfill.io.atomic import replacing
from tensorfill.io.formats.cells import text_of
from tensorfill.io.formats.xlsx import read_sheet, write_sheet
from tensorfill.io.frames import CODE, observe_pandas

TEXT, OTHER = (".csv", ".tsv"), (".xlsx", ".parquet", ".feather")
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None", "none", "?")
ISO = r"\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?"  # dates in text that are taken for dates


@dataclass(frozen=True, eq=False)
class MixedTable:
    """A table of a file. `texts` are its cells as they are written, None where the file has types of its own; `sheet`
    is what was read of a workbook.
    """

    frame: Any
    texts: Any = None
    delimiter: str = ","
    sheet: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: str, missing_value: float | str | None = None) -> MixedTable:
        """From CSV, Excel, Parquet or Feather; cells that hold `missing_value` are missing, as empty ones are."""
        ending = Path(path).suffix.lower()
        if ending in TEXT:
            return cls.parse(Path(path).read_text(encoding="utf-8-sig"), missing_value)
        if ending not in OTHER:
            msg = f"a table must end in {', '.join((*TEXT, *OTHER))}; got {path!r}."
            raise ValueError(msg)
        import pandas as pd

        if ending == ".xlsx":
            sheet = read_sheet(Path(path).read_bytes())
            head, *rows = sheet["cells"]
            cells = pd.DataFrame(rows, columns=[*map(text_of, head)])
            return cls(cells.apply(_cast_cells, missing_value=missing_value), sheet=sheet)
        frame = (pd.read_parquet if ending == ".parquet" else pd.read_feather)(path)
        return cls(frame if missing_value is None else frame.mask(frame == missing_value))

    @classmethod
    def find(cls, path: str, missing_value: float | str | None = None) -> MixedTable | None:
        """The table, if it has gaps and categories or dates to learn from; None for anything else: numbers."""
        if Path(path).suffix.lower() not in {*TEXT, *OTHER} or not Path(path).is_file():
            return None
        try:
            table = cls.read(path, missing_value)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                found = observe_pandas(table.frame, None, weights=None, dims=None)
        except Exception:  # whatever it is: the readers of numbers say it in their words
            return None
        return table if isinstance(found.source, EncodedSource) and found.nnz < found.size else None

    @classmethod
    def parse(cls, text: str, missing_value: float | str | None = None) -> MixedTable:
        """From the text of a CSV file."""
        import pandas as pd

        delimiter = max(",;\t", key=text.splitlines()[0].count) if text else ","
        texts = pd.read_csv(io.StringIO(text), sep=delimiter, dtype=str, keep_default_na=False, na_filter=False)
        return cls(texts.apply(_cast, missing_value=missing_value).set_axis(texts.index), texts, delimiter)

    def write(self, path: str, filled: Any) -> None:
        """Write the completed table; the ending says the format."""
        ending = Path(path).suffix.lower()
        with replacing(path) as file:
            if ending in TEXT:
                delimiter = "\t" if ending == ".tsv" else self.delimiter
                text = self._texts(filled).to_csv(index=False, sep=delimiter, quoting=csv.QUOTE_MINIMAL)
                file.write(text.encode())
            elif ending == ".xlsx":
                write_sheet(file, self._cells(filled), self.sheet)
            else:
                filled.to_parquet(file, index=False) if ending == ".parquet" else filled.to_feather(file)

    def _cells(self, filled: Any) -> Iterator[list[Any]]:
        """The rows of a sheet, header first; known cells as they were read."""
        yield list(filled.columns)
        known, old = self.frame.notna().to_numpy(), self.sheet.get("cells")
        new = filled.astype(object).where(filled.notna(), None).to_numpy()
        for k, row in enumerate(new):
            yield [old[k + 1][n] if old and known[k, n] else _as_cell(x) for n, x in enumerate(row)]

    def write_bars(self, path: str, done: Any) -> None:
        """Write how far the truth may be from each number, the longer side of its interval; without other columns."""
        (low, high), middle = done.interval, done.completed
        numbers = [name for name in middle.columns if middle[name].dtype.kind in "iuf"]
        reach = np.maximum(high[numbers] - middle[numbers], middle[numbers] - low[numbers])
        MixedTable(reach, delimiter=self.delimiter).write(path, reach)

    def _texts(self, filled: Any) -> Any:
        """The cells as they were, and what was filled as its column writes numbers and dates."""
        if self.texts is None:
            return filled
        out = self.texts.copy()
        for n in range(filled.shape[1]):
            column, gaps = filled.iloc[:, n], self.frame.iloc[:, n].isna() & filled.iloc[:, n].notna()
            if gaps.any():
                out.isetitem(n, out.iloc[:, n].where(~gaps, _format_cells(column, self.texts.iloc[:, n][~gaps])))
        return out


def _cast_cells(column: Any, missing_value: float | str | None) -> Any:
    """A column of a sheet: the text in it as `_cast` has it."""
    if missing_value is not None:
        column = column.mask(column == missing_value)
    if column.dtype.kind in "iufbM":
        return column
    texts = column.map(lambda x: isinstance(x, str))
    if not (texts | column.isna()).all():  # numbers and text
        return column
    return _cast(column.where(texts, ""), missing_value)


def _as_cell(value: Any) -> Any:
    """A value of a column as Excel has it."""
    if hasattr(value, "to_pydatetime"):
        return value.to_pydatetime()
    return value.item() if isinstance(value, np.generic) else value


def _cast(texts: Any, missing_value: float | str | None) -> Any:
    """A column of texts as numbers or dates where all of them are, else as texts; None or NaN = missing. Numbers that
    begin with 0, such as 007, are names.
    """
    import pandas as pd

    known = ~texts.str.strip().isin([*MISSING, missing_value])
    if isinstance(missing_value, float):
        known &= pd.to_numeric(texts, errors="coerce") != missing_value
    if not known.any():
        return texts.where(known).astype(float)
    numbers = pd.to_numeric(texts.where(known), errors="coerce")
    if numbers.notna().sum() == known.sum() and not texts.str.fullmatch(CODE).any():
        return numbers
    if texts[known].str.fullmatch(ISO).all():
        return pd.to_datetime(texts.where(known), errors="coerce", format="ISO8601")
    return texts.where(known, None)


def _format_cells(column: Any, known: Any) -> Any:
    """Values as text, in the way of the texts that are known of the column."""
    if column.dtype.kind == "M":
        return column.dt.strftime(
            {10: "%Y-%m-%d", 16: "%Y-%m-%d %H:%M"}.get(known.str.len().max(), "%Y-%m-%d %H:%M:%S")
        )
    if column.dtype.kind != "f":
        return column.astype(str)
    import pandas as pd

    places = known.str.extract(r"\.(\d+)\s*$")[0].str.len().max()
    return column.map(lambda x: f"{x:.{0 if pd.isna(places) else int(places)}f}")
