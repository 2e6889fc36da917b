"""The cells of a table: numbers, words for yes and no, and what stands for missing, as text and as values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

import numpy as np

from tensorfill.data.exact import whole_numbers
from tensorfill.io.formats.base import Array, FileError, format_numbers

MISSING = frozenset({"", "nan", "na", "n/a", "null", "none", "-", "--", "?", "\u2013", "\u2014"})  # also long dashes
MISSING |= {"#n/a", "#na", "<na>", "#div/0!", "#num!", "#value!", "#ref!"}  # of spreadsheets, and of pandas
OPPOSITE = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
TRUE = frozenset({"yes", "true"})
COMMA = re.compile(r"[+-]?(?:\d*|\d{1,3}(?:\.\d{3})+),\d+(?:[eE][+-]?\d+)?")
WHOLE = re.compile(r"[+-]?\d+")


@dataclass(frozen=True)
class Notation:
    """How one table writes its values.

    Attributes
    ----------
    missing : texts that mean missing, in lower case
    words : its words for (no, yes), where all its values are such words; else None
    comma : are decimals written with a comma (3,14), and thousands with points (1.234,5)?
    """

    missing: frozenset[str] = MISSING
    words: tuple[str, str] | None = None
    comma: bool = False

    @classmethod
    def of(cls, cells: Iterable[str], missing: str | None = None, delimiter: str = ",") -> Notation:
        """That of these cells; `missing` is one more text that means missing, and `delimiter` is between them."""
        gone = MISSING if missing is None else MISSING | {missing.strip().lower()}
        known = [cell for cell in dict.fromkeys(map(str.strip, cells)) if cell.lower() not in gone]
        if known and all(cell.lower() in OPPOSITE for cell in known):
            seen = {cell.lower() in TRUE: cell for cell in reversed(known)}
            no, yes = (seen.get(k) or _opposite_word(seen[not k]) for k in (False, True))
            return cls(gone, (no, yes))
        # where commas separate cells, none is part of a number
        commas = delimiter != "," and any(COMMA.fullmatch(cell) for cell in known)
        return cls(gone, comma=commas and all(COMMA.fullmatch(cell) or WHOLE.fullmatch(cell) for cell in known))

    def known(self, cells: Iterable[str]) -> list[str]:
        """The cells that are not missing, without spaces around them."""
        return [cell for cell in map(str.strip, cells) if cell.lower() not in self.missing]

    def number(self, text: str) -> float | None:
        """The number in a cell; NaN where it says missing, None where it is something else."""
        clean = text.strip()
        low = clean.lower()
        if low in self.missing:
            return np.nan
        if self.words is not None:
            return float(low in TRUE) if low in OPPOSITE else None
        if self.comma and COMMA.fullmatch(clean):
            clean = clean.replace(".", "").replace(",", ".")
        try:
            return None if "_" in clean else float(clean)  # Python reads 2020_01 as a number; people do not
        except ValueError:
            return None

    def numbers(self, cells: Sequence[str], where: str, names: Iterable[str]) -> tuple[Array, Array | None]:
        """(cells as floats, NaN for missing; those that are not missing as bool or integers, None if they are neither).

        `names` say where each cell is.
        """
        parsed = [self.number(cell) for cell in cells]
        if None in parsed:
            cell, name = next((c, n) for c, n, value in zip(cells, names, parsed, strict=True) if value is None)
            msg = f"{cell.strip()!r} in {name} is not a number{where}."
            raise FileError(msg)
        known = self.known(cells)
        exact: Array | None = None
        if self.words is not None:
            exact = np.array([cell.lower() in TRUE for cell in known], dtype=bool)
        elif all(WHOLE.fullmatch(cell) for cell in known):
            try:
                exact = whole_numbers(known)
            except ValueError as error:
                raise FileError(str(error)) from error
        return np.array(parsed, dtype=np.float64), exact

    def like(self, cells: Iterable[str], values: Array) -> Iterator[str]:
        """Each value with as many digits after the point as these cells have; as short as can be where none is."""
        known = self.known(cells)
        fractions = values.dtype.kind == "f" and self.words is None
        if not known or not fractions or any(set("eEnN") & set(cell) for cell in known):  # 1e-7, inf
            return self.texts(values)
        point = "," if self.comma else "."
        counts = {len(cell.partition(point)[2]) for cell in known}
        most = max(counts)
        out = (f"{value + 0.0:.{most}f}" for value in np.round(values, most).tolist())
        if len(counts) > 1:
            out = (text.rstrip("0").rstrip(".") if "." in text else text for text in out)
        return ("" if text == "nan" else text.replace(".", point) for text in out)

    def texts(self, values: Array) -> Iterator[str]:
        """Each value as this table writes it."""
        if self.words is not None and values.dtype.kind == "b":
            words = self.words
            return (words[v] for v in values.tolist())
        return (text.replace(".", ",") for text in format_numbers(values)) if self.comma else format_numbers(values)


def _opposite_word(word: str) -> str:
    """The opposite of a word, in capitals where it is."""
    other = OPPOSITE[word.lower()]
    if word.isupper():
        return other.upper()
    return other.capitalize() if word[0].isupper() else other


def to_text(cell: Any) -> str:
    """A value as a text table would have it."""
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, datetime):
        return str(cell.date()) if cell.time() == time() and cell.tzinfo is None else str(cell)
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)


def to_value(text: str) -> Any:
    """A number, True or False where the text is one, None where it is blank, else the text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if WHOLE.fullmatch(text):
        return int(text)
    try:
        return float(text) if text and "_" not in text else text or None
    except ValueError:
        return text


def to_values(cells: Sequence[Any]) -> list[Any]:
    """A column as Python's own values, None for missing. Text is numbers only if all of it is written as such a number
    is: 007 is a name.
    """
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        return [to_value(text) for text in format_numbers(cells)]
    if not all(isinstance(cell, str) for cell in cells):
        return [to_python(cell) for cell in cells]
    found = [to_value(text) for text in cells]
    numbers = all(type(value) in (int, float) and str(value) == text for value, text in zip(found, cells, strict=True))
    return found if numbers else [text or None for text in cells]


def to_python(cell: Any) -> Any:
    """A scalar of NumPy as one of Python; moments that Python cannot hold as text."""
    if isinstance(cell, np.generic):
        cell = str(cell) if cell.dtype.kind == "M" else cell.item()
    return None if cell != cell else cell
