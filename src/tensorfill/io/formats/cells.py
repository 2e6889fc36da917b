"""The cells of a text table: numbers, words for yes and no, and what stands for missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.exact import whole_numbers
from tensorfill.io.formats.base import Array, FileError, texts

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
        if delimiter != ",":  # where commas separate cells, none is part of a number
            cells = list(cells)
            gone = cls.of((), missing).missing
            found = [cell for cell in map(str.strip, cells) if cell.lower() not in gone]
            if any(COMMA.fullmatch(c) for c in found) and all(COMMA.fullmatch(c) or WHOLE.fullmatch(c) for c in found):
                return replace(cls.of((), missing), comma=True)
        gone = MISSING if missing is None else MISSING | {missing.strip().lower()}
        seen: dict[bool, str] = {}
        for cell in cells:
            word = cell.strip()
            low = word.lower()
            if low in gone:
                continue
            if low not in OPPOSITE:
                return cls(gone)
            seen.setdefault(low in TRUE, word)
        if not seen:
            return cls(gone)
        no, yes = (seen.get(k) or _other(seen[not k]) for k in (False, True))
        return cls(gone, (no, yes))

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

    def column(self, cells: Sequence[str], where: str, names: Iterable[str]) -> Array:
        """Cells as bool (words) or integers (whole numbers) where none is missing, else float64 with NaN.

        `names` say where each cell is.
        """
        parsed = [self.number(cell) for cell in cells]
        for cell, value, name in zip(cells, parsed, names, strict=True):
            if value is None:
                msg = f"{cell.strip()!r} in {name} is not a number{where}."
                raise FileError(msg)
        exact = self.exact(cells)
        return exact if exact is not None and len(exact) == len(cells) else np.array(parsed, dtype=np.float64)

    def exact(self, cells: Sequence[str]) -> Array | None:
        """The cells that are not missing as bool or integers; None where they are neither words nor whole numbers."""
        known = [cell for cell in map(str.strip, cells) if cell.lower() not in self.missing]
        if self.words is not None:
            return np.array([cell.lower() in TRUE for cell in known], dtype=bool)
        if not all(WHOLE.fullmatch(cell) for cell in known):
            return None
        try:
            return whole_numbers(known)
        except ValueError as error:
            raise FileError(str(error)) from error

    def keeps(self, values: Array) -> bool:
        """May cells that were read stay among such values? Words may not among fractions."""
        return self.words is None or values.dtype.kind == "b"

    def like(self, cells: Iterable[str], values: Array) -> Iterator[str]:
        """Each value with as many digits after the point as these cells have; as `texts` where they say none."""
        known = [cell for cell in map(str.strip, cells) if cell.lower() not in self.missing]
        plain = values.dtype.kind == "f" and self.words is None
        if not known or not plain or any(set("eEnN") & set(cell) for cell in known):  # 1e-7, inf
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
        return (text.replace(".", ",") for text in texts(values)) if self.comma else texts(values)


def _other(word: str) -> str:
    """The opposite of a word, in capitals where it is."""
    other = OPPOSITE[word.lower()]
    if word.isupper():
        return other.upper()
    return other.capitalize() if word[0].isupper() else other
