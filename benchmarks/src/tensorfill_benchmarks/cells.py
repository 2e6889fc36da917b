"""Experiments as cells: each is run once, its rows are on disk before the next begins, a failing one stops no other.

Design: a CSV is the memory. Cells whose key is in it are not run again; rows of other runs stay. Tables and pictures
are made from the file, never from what happens to be in memory.
"""

from __future__ import annotations

import csv
import io
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tensorfill.io.atomic import replace_file
from tensorfill.io.files import FileError

Row = dict[str, str]


@dataclass(frozen=True)
class CellFile:
    """A CSV of rows; those that agree in the columns `key` belong to one cell."""

    path: Path
    columns: tuple[str, ...]
    key: tuple[str, ...]

    def rows(self) -> list[Row]:
        """All rows on disk."""
        if not self.path.exists():
            return []
        with open(self.path, newline="", encoding="utf-8") as file:
            reader = csv.DictReader(file)
            if tuple(reader.fieldnames or ()) != self.columns:
                found = ",".join(reader.fieldnames or ())
                msg = f"{self.path} must have the columns {','.join(self.columns)}; got {found}. Use another folder."
                raise FileError(msg)
            # a line cut short by hand has None in it: that cell is run again
            return [row for row in reader if None not in row.values() and None not in row]

    def key_of(self, row: Mapping[str, str]) -> tuple[str, ...]:
        return tuple(row[name] for name in self.key)

    def done(self) -> set[tuple[str, ...]]:
        """Keys of the finished cells."""
        return {self.key_of(row) for row in self.rows()}

    def add(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Put the rows of one or more cells in the place of what the file has for them; the rest stays."""
        new = [{name: text(row[name]) for name in self.columns} for row in rows]
        replaced = {self.key_of(row) for row in new}
        with _locked(self.path):  # two runs may fill one file at the same time
            self._write([row for row in self.rows() if self.key_of(row) not in replaced] + new)

    def forget(self, keys: set[tuple[str, ...]]) -> None:
        """Drop the rows of these cells."""
        with _locked(self.path):
            self._write([row for row in self.rows() if self.key_of(row) not in keys])

    def _write(self, rows: Sequence[Row]) -> None:
        out = io.StringIO()
        writer = csv.DictWriter(out, self.columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        write_text(self.path, out.getvalue())


def write_text(path: Path, content: str) -> None:
    """A whole new file, in UTF-8 everywhere."""
    with replace_file(path) as file:
        file.write(content.encode())


def text(value: Any) -> str:
    """A value as it stands in a CSV: floats with six significant digits, blank for None."""
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        import fcntl
    except ImportError:  # Windows: one run at a time
        yield
        return
    with open(path.with_name(f".{path.name}.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Cell:
    """One experiment: its place in the file, and what to do.

    Attributes
    ----------
    file : where its rows go
    key : values of the key columns, as text
    label : for the progress bar
    work : returns the cell's rows
    group, size : cells of one group take time in proportion to their size; for the time left
    """

    file: CellFile
    key: tuple[str, ...]
    label: str
    work: Callable[[], list[dict[str, Any]]]
    group: str = ""
    size: float = 1.0


@dataclass(frozen=True)
class Progress:
    """Where a run is."""

    done: int
    total: int
    label: str
    seconds_left: float | None = None


Watcher = Callable[[Progress], None]


@dataclass
class Report:
    """What a run did: numbers of cells, and a sentence for each that failed."""

    ran: int = 0
    already: int = 0
    failed: list[str] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 0

    def __add__(self, other: Report) -> Report:
        return Report(self.ran + other.ran, self.already + other.already, self.failed + other.failed)


class Pace:
    """Seconds per unit of size, by group, learnt on the way."""

    def __init__(self) -> None:
        self.seen: dict[str, tuple[float, float]] = {}

    def learn(self, cell: Cell, seconds: float) -> None:
        spent, size = self.seen.get(cell.group, (0.0, 0.0))
        self.seen[cell.group] = (spent + seconds, size + cell.size)

    def left(self, cells: Sequence[Cell]) -> float | None:
        """Expected seconds for these cells; a group not seen yet is taken to be like the others; None at the start."""
        size = sum(s for _, s in self.seen.values())
        if size == 0:
            return None
        typical = (sum(spent for spent, _ in self.seen.values()), size)
        rates = {g: spent / size for g, (spent, size) in self.seen.items()}
        return sum(c.size * rates.get(c.group, typical[0] / typical[1]) for c in cells)


def run_cells(cells: Sequence[Cell], progress: Watcher | None = None, *, again: bool = False) -> Report:
    """Run the cells that their files do not have; `again`: all of them.

    Failures go to the log beside the file (table1.csv -> table1.log) with their sentence, and leave no row, so the
    next call tries them again.
    """
    have: dict[CellFile, set[tuple[str, ...]]] = {}
    for file in dict.fromkeys(cell.file for cell in cells):
        file.path.parent.mkdir(parents=True, exist_ok=True)
        if again:
            file.forget({cell.key for cell in cells if cell.file == file})
        have[file] = file.done()
    todo = [cell for cell in cells if cell.key not in have[cell.file]]
    report, pace = Report(already=len(cells) - len(todo)), Pace()
    tell = progress or (lambda now: None)
    for k, cell in enumerate(todo):
        tell(Progress(report.already + k, len(cells), cell.label, pace.left(todo[k:])))
        start = time.perf_counter()
        failure = _run_one(cell)
        pace.learn(cell, time.perf_counter() - start)
        if failure is None:
            report.ran += 1
        else:
            report.failed.append(failure)
    tell(Progress(len(cells), len(cells), "", 0.0))
    return report


def _run_one(cell: Cell) -> str | None:
    """Run a cell and write its rows; a sentence if it fails."""
    path = cell.file.path
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            rows = cell.work()
        cell.file.add(rows)
        for line in dict.fromkeys(str(w.message) for w in said):
            log(path, f"note, {cell.label}: {line}")
    except Exception as error:  # one bad cell must not cost the night's other cells
        detail = "" if isinstance(error, ValueError | FileError) else "\n" + traceback.format_exc()
        log(path, f"FAILED, {cell.label}: {type(error).__name__}: {error}{detail}")
        return f"{cell.label}: {str(error) or type(error).__name__}"
    return None


def log(path: Path, line: str) -> None:
    """One line in the log beside `path`."""
    with open(path.with_suffix(".log"), "a", encoding="utf-8") as file:
        file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")
