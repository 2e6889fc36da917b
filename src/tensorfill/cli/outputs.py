"""What a job writes: checked before the fit, not after an hour of it; its report and what it prints."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.io.atomic import check_own_file, remove_leftovers
from tensorfill.io.files import FileError, Format, Loaded
from tensorfill.io.formats.opening import choose_output_format
from tensorfill.io.formats.output import check_target, check_writable, file_errors
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status

if TYPE_CHECKING:
    from tensorfill.cli.job import Job

TRIAL = 4_000_000  # up to so many entries the output is tried out before the fit


def check_outputs(job: Job, loaded: Loaded, obs: Observations) -> None:
    """Refuse what cannot be written, or cannot hold these values."""
    with file_errors(job.out, "write"):
        kind = choose_output_format(job.out, loaded, job.out_format)
        if job.out == "-" and kind.store:
            msg = f"{kind.title} cannot be sent through a stream; give a file name."
            raise FileError(msg)
        if job.unrounded:
            _refuse_whole(kind, "--unrounded makes fractions")
        if job.max_gap is not None:
            _refuse_whole(kind, "--max-gap leaves gaps")
        check_output_path(job.out, store=kind.store, special=True)
        if job.at is None and loaded.size <= TRIAL:
            trial = loaded.restore(obs.dense(fill=float(np.median(obs.values)), dtype=np.float64))
            check_writable(kind, job.out, trial.astype(loaded.dtype, copy=False), loaded)
    if job.error_bars is not None:
        with file_errors(job.error_bars, "write"):
            kind = choose_output_format(job.error_bars, loaded, None)
            _refuse_whole(kind, "error bars are fractions")
            check_output_path(job.error_bars, store=kind.store)


def check_side_outputs(files: Mapping[str, str | None]) -> None:
    """Refuse places, {what is to be written there: path}, where it cannot be, or that hold something else."""
    for what, path in files.items():
        if path is not None:
            with file_errors(path, "write"):
                check_output_path(path)
            check_own_file(path, what)


def _refuse_whole(kind: Format, why: str) -> None:
    if kind.whole:
        msg = f"{kind.title} holds whole numbers, and {why}; write .npy, .csv or .tif."
        raise FileError(msg)


def check_output_path(path: str, *, store: bool = False, special: bool = False) -> None:
    """Is there a directory to write to, and may we? `special`: a device or a pipe will do, to be written into."""
    target = Path(os.path.realpath(path))
    if special and (path == "-" or (target.exists() and not target.is_file() and not target.is_dir())):
        return
    check_target(target, store=store)
    remove_leftovers(target)
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(13, "permission denied", path)


def write_report(job: Job, done: Completion, labels: Any, notes: Sequence[str]) -> list[str]:
    """Write it; returns what to tell where it cannot be drawn: the answer, which is written, is what was asked."""
    from tensorfill.show.report import write_report as write

    assert job.report is not None
    name = "standard input" if job.source == "-" else Path(job.source).name
    with file_errors(job.report, "write"):
        try:
            write(done, job.report, command=job.command, title=name, labels=labels, notes=notes)
        except (OSError, MemoryError):
            raise
        except Exception as error:  # whatever a drawing library meets in labels and numbers
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            sentence = f"the report could not be drawn ({line}); the answer is written"
            if job.quiet:  # not a note: what was asked for is not there
                print(f"tensorfill: {sentence}.", file=sys.stderr)
            return [sentence]
    return []


def show_outcome(job: Job, done: Completion, notes: Sequence[str]) -> None:
    """The summary: for machines, or for people on a terminal. Notes are told in any case, but for --quiet."""
    if done.status is Status.INTERRUPTED:
        print(f"tensorfill: interrupted; the best so far is in {_place(job)}.", file=sys.stderr)
    if job.as_json:
        from tensorfill import __version__
        from tensorfill.show.summary import facts

        where = {"input": job.source, "output": job.out, "report": job.report, "error_bars": job.error_bars}
        print(json.dumps({**facts(done), **where, "notes": list(notes), "version": __version__}, indent=2))
    if job.quiet:
        return
    if job.as_json or job.out == "-" or not sys.stdout.isatty():
        for note in notes:
            print(f"tensorfill: {note.rstrip('.')}.", file=sys.stderr)
    else:
        from tensorfill.cli.show import lines_about, show_summary

        lines = [*lines_about(done), *(("note", note) for note in notes), ("written", _place(job))]
        more = {"error bars": job.error_bars, "report": job.report}
        lines += [(word, path) for word, path in more.items() if path is not None]
        show_summary(f"{job.source} → {job.out}", lines, good=done.status.ok)


def _place(job: Job) -> str:
    return "standard output" if job.out == "-" else job.out
