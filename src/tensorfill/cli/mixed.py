"""Tables with text, categories and dates on the command line, and rows that arrive later."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorfill.cli.options import ExtendOptions
from tensorfill.cli.outputs import check_output_path, show_outcome, write_report
from tensorfill.data.observations import DataWarning
from tensorfill.io.atomic import find_overwritten
from tensorfill.io.files import number_or_text
from tensorfill.io.formats.output import file_errors
from tensorfill.io.mixed import MixedTable, table_format
from tensorfill.result.completion import Completion
from tensorfill.result.outputs import LEVEL
from tensorfill.result.record import Status
from tensorfill.terminal import BAD_DATA, BAD_USAGE, INTERRUPTED, OK, UserError, as_user_error, collect_warnings

if TYPE_CHECKING:
    from tensorfill.cli.job import Job

# what is for arrays, or for tables of numbers alone
NUMBERS = (*("mask", "dims", "value", "at", "fold", "time", "max_gap", "horizon", "variable", "format", "unrounded"),)


def table_of(job: Job) -> MixedTable | None:
    """The file as a table with categories or dates to learn from; None for anything else, which is read as numbers."""
    if table_format(job.out) is None or any(getattr(job, name) for name in NUMBERS):
        return None
    return MixedTable.find(job.source, number_or_text(job.missing_value))


def run(job: Job, table: MixedTable, settings: dict[str, Any]) -> int:
    """Complete the table and write it; returns the exit code."""
    with as_user_error(BAD_DATA):
        for path in (job.out, job.error_bars):
            if path is not None:
                with file_errors(path, "write"):
                    check_output_path(path)
        bars = None if job.error_bars is None else LEVEL
        with collect_warnings(DataWarning) as notes:
            done = job.fit(table.frame, Path(job.source).name, error_bars=bars, **settings)
        with file_errors(job.out, "write"):
            table.write(job.out, done.completed)
        if job.error_bars is not None and done.bars is not None:
            with file_errors(job.error_bars, "write"):
                table.write_bars(job.error_bars, done)
        job.save_run(done)
        if job.report is not None:
            notes += write_report(job, done, None, notes)
    show_outcome(job, done, notes)
    return INTERRUPTED if done.status is Status.INTERRUPTED else OK


@dataclass(frozen=True)
class Extend(ExtendOptions):
    """`tensorfill extend RUN.npz NEW -o OUT`."""

    command: str = ""

    def run(self) -> int:
        """Do it; returns the exit code."""
        if clash := find_overwritten({"--out": self.out}, {"RUN.npz": self.run_file, "NEW": self.source}):
            raise UserError(clash, BAD_USAGE)
        with as_user_error(BAD_DATA):
            done = Completion.load(self.run_file)
            with file_errors(self.source, "read"):
                table = MixedTable.read(self.source)
            more = done.extend(table.frame)
            with file_errors(self.out, "write"):
                check_output_path(self.out)
                filled = more.completed
                table.write(self.out, filled[[c for c in table.frame.columns if c in filled]])
        if not self.quiet:
            rows = len(table.frame)
            print(f"tensorfill: {rows:,} rows filled by {self.run_file}, in {self.out}.")
        return OK
