"""choose.csv: its columns, and its rows gathered into one line per set and kind of gaps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from tensorfill_benchmarks.cells import CellFile, Row
from tensorfill_benchmarks.choose_data import TUNED

COLUMNS = ("set", "half", "gaps", "seed", "what", "error", "seconds", "note")
KEY = ("set", "gaps", "seed", "what")
ALONE = "alone/"  # stands before the name of a candidate


def csv_file(folder: str | Path) -> CellFile:
    """OUT/choose.csv."""
    return CellFile(Path(folder) / "choose.csv", COLUMNS, KEY)


@dataclass(frozen=True)
class Line:
    """One set with one kind of gaps: mean error and seconds of everyone, and the errors of `auto` by seed."""

    name: str
    half: str
    gaps: str
    errors: dict[str, float]
    seconds: dict[str, float]
    seeds: tuple[float, ...]

    @property
    def title(self) -> str:
        return f"{self.name} / {self.gaps}"

    @property
    def best(self) -> str | None:
        """Who of all but `auto` has the smallest error."""
        rest = {what: error for what, error in self.errors.items() if what != "auto"}
        return min(rest, key=lambda what: rest[what]) if rest else None

    def against(self, names: Iterable[str]) -> float | None:
        """Error of `auto` over the smallest of these; None where it or all of them are absent."""
        rest = [self.errors[n] for n in names if n in self.errors]
        return self.errors["auto"] / max(min(rest), 1e-300) if rest and "auto" in self.errors else None

    @property
    def ratio(self) -> float | None:
        return self.against([] if self.best is None else [self.best])

    @property
    def scatter(self) -> float | None:
        """Standard deviation over the seeds, as a share of the mean."""
        return stdev(self.seeds) / mean(self.seeds) if len(self.seeds) > 1 else None


def arrange(rows: Sequence[Row]) -> list[Line]:
    """The lines of all rows, the tuned half first."""
    groups: dict[tuple[str, str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["half"], row["set"], row["gaps"]), []).append(row)
    lines = []
    for (half, name, gaps), here in groups.items():
        ran = [r for r in here if r["error"]]
        errors, seconds = _means(ran, "error"), _means(ran, "seconds")
        seeds = tuple(float(r["error"]) for r in ran if r["what"] == "auto")
        lines.append(Line(name, half, gaps, errors, seconds, seeds))
    return sorted(lines, key=lambda line: (line.half != TUNED, line.name, line.gaps))


def _means(rows: Sequence[Row], column: str) -> dict[str, float]:
    names = dict.fromkeys(r["what"] for r in rows)
    return {what: mean(float(r[column]) for r in rows if r["what"] == what) for what in names}


def geometric(values: Iterable[float | None]) -> float | None:
    """Geometric mean of those that are there."""
    logs = [math.log(v) for v in values if v]
    return math.exp(mean(logs)) if logs else None
