"""`tensorfill complete` for data too large to be read at once: files in pieces; a model, or answers at some entries."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.blocks.cluster import ClusterError
from tensorfill.blocks.paths import files_of, in_pieces, is_table
from tensorfill.blocks.pieces import rows_of
from tensorfill.cli.checks import prior_of
from tensorfill.cli.outputs import check_output_path, check_side_outputs, show_outcome
from tensorfill.data.labels import axis_labels
from tensorfill.data.memory import most_in_memory
from tensorfill.data.observations import DENSE_LIMIT, DataWarning
from tensorfill.io.checkpoint import CheckpointWarning
from tensorfill.io.formats.long import check_columns
from tensorfill.io.formats.output import file_errors, replace_path
from tensorfill.io.optional import attempt_import
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.terminal import BAD_DATA, BAD_USAGE, INTERRUPTED, OK, UserError, as_user_error, collect_warnings
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.cli.job import Job

TEXT = 2**27  # bytes of a text file from which on it is read in pieces: some five million lines
MODEL = ".npz"
ENDINGS = (".parquet", ".pq", ".csv")  # of tables
REFUSED = (
    "mask",
    "save",
    "report",
    "error_bars",
    "missing_value",
    "variable",
    "fold",
    "time",
    "max_gap",
    "horizon",
    "format",
)


def is_large(job: Job) -> bool:
    """Is the input a pattern of files, a folder of them, or one too large to be read at once?"""
    source = job.source
    if source == "-" or not in_pieces(source):
        if job.scheduler is not None:
            msg = f"--scheduler is for tables and .tns files, which are read in pieces; got {source}. Leave it out."
            raise UserError(msg, BAD_USAGE)
        return False
    if job.scheduler is not None or os.path.isdir(source) or (glob.has_magic(source) and not os.path.exists(source)):
        return True
    if not os.path.exists(source) or (is_table(source) and job.value is None):
        return False
    if source.lower().endswith((".parquet", ".pq")):
        return rows_of(source) > most_in_memory()
    return os.path.getsize(source) > TEXT


def run(job: Job, settings: dict[str, Any]) -> int:
    """The whole job; returns the exit code."""
    with as_user_error(BAD_USAGE):
        target = _check(job)
        if job.prior is not None:
            settings["prior"] = prior_of(job.prior)
    with as_user_error(BAD_DATA), _workers(job), collect_warnings(DataWarning, CheckpointWarning) as notes:
        dims = None if job.dims is None else [d.strip() for d in job.dims.split(",")]
        done = job.fit(files_of(job.source), job.source, dims=dims, value=job.value, **settings)
        if job.out.lower().endswith(MODEL):
            with file_errors(job.out, "write"):
                done.save(job.out)
        with _model_kept(done, job.out):
            if job.at is not None:
                table, where = read_list(job.at, done.observations.dims, axis_labels(done.observations))
                write_table(table.assign(**{job.value or "value": done.at(where, known=True)}), target)
                notes = [*notes, f"{len(table):,} answers are in {target}"]
            elif not job.out.lower().endswith(MODEL):
                _write_all(done, job.out)
    show_outcome(job, done, notes)
    return INTERRUPTED if done.status is Status.INTERRUPTED else OK


def _check(job: Job) -> str:
    """What cannot be had of data in blocks is refused; returns where answers to --at go."""
    for name in REFUSED:
        if getattr(job, name):
            flag = "--" + name.replace("_", "-")
            msg = f"{flag} needs all of the data in memory, and {job.source} is read in pieces; leave it out."
            raise UserError(msg, BAD_USAGE)
    is_model = job.out.lower().endswith(MODEL)
    if not is_model and not job.out.lower().endswith(ENDINGS):
        msg = f"-o must be a model, model{MODEL}, or a table, {' or '.join(ENDINGS)}; got {job.out}."
        raise UserError(msg, BAD_USAGE)
    target = job.out
    if job.at is not None:
        target = job.out[: -len(MODEL)] + ".at" + Path(job.at).suffix if is_model else job.out
        check_list(job.at, target)
        if target != job.out:
            job.check_overwriting(answers=target)
        if not os.path.exists(job.at):
            msg = f"cannot read {job.at}: there is no such file."
            raise UserError(msg, BAD_DATA)
    for path in {job.out, target}:
        with file_errors(path, "write"):
            check_output_path(path)
    with as_user_error(BAD_DATA):
        check_side_outputs({"saved run": job.out if is_model else None})
    return target


@contextmanager
def _workers(job: Job) -> Iterator[None]:
    """The cluster that --scheduler names, and its end as a sentence."""
    if job.scheduler is None:
        yield
        return
    distributed = attempt_import("distributed", "--scheduler", "dask")
    where = {"scheduler_file": job.scheduler} if os.path.exists(job.scheduler) else {"address": job.scheduler}
    with distributed.Client(**where, set_as_default=True):
        try:
            yield
        except ClusterError as error:
            raise UserError(str(error), BAD_DATA) from error


@contextmanager
def _model_kept(done: Completion, out: str) -> Iterator[None]:
    """Where answers cannot be written, the fit is not lost: the model is kept beside them, unless it is already."""
    try:
        with as_user_error(BAD_DATA):
            yield
    except UserError as error:
        model = out
        if not out.lower().endswith(MODEL):
            model = str(Path(out).with_suffix(MODEL))
            if os.path.exists(model):
                raise
            with file_errors(model, "write"):
                done.save(model)
        msg = f"{error.sentence} The model itself is in {model}, for tensorfill.Completion.load."
        raise UserError(msg, error.code) from error


def check_list(wanted: str, out: str) -> None:
    """Refuse a list of entries, or a place for its answers, that is no table."""
    for name, what in ((wanted, "the list of --at"), (out, "the answers to --at")):
        if not name.lower().endswith(ENDINGS):
            msg = f"{what} must be a table, {' or '.join(ENDINGS)}; got {name}."
            raise UserError(msg, BAD_USAGE)


def read_list(wanted: str, dims: Sequence[str], known: Mapping[str, Any]) -> tuple[Any, Array]:
    """(the columns of a table that are dimensions, the coordinates (k, N) that they name). Labels, where they are
    `known`, are matched by what they say: 7 in one file and "7" in another are the same; others count from 0.
    """
    import pandas as pd

    with file_errors(wanted, "read"):
        is_csv = wanted.lower().endswith(".csv")
        table = pd.read_csv(wanted, dtype=dict.fromkeys(known, str)) if is_csv else pd.read_parquet(wanted)
        check_columns(dims, [str(c) for c in table.columns])
    where = []
    for d in dims:
        column = table[d]
        if d in known:
            codes = pd.Index([str(label) for label in np.asarray(known[d]).tolist()]).get_indexer(column.astype(str))
            if (codes < 0).any():
                msg = f"the list of --at names {d} {str(column[codes < 0].iloc[0])!r}, which the data do not have; "
                raise ValueError(msg + "leave it out.")
            column = codes
        where.append(np.asarray(column))
    return table[list(dims)], np.stack(where, axis=1)


def write_table(table: Any, out: str) -> None:
    """Write a pandas table as the ending of the name says."""
    with file_errors(out, "write"), replace_path(Path(out), store=False) as place:
        (table.to_csv if out.lower().endswith(".csv") else table.to_parquet)(place, index=False)


def _write_all(done: Completion, out: str) -> None:
    """All entries as a long table, where that is few enough."""
    obs = done.observations
    if obs.size > DENSE_LIMIT or not hasattr(obs.source, "frame"):
        msg = (
            f"the completed table would have {obs.size:.2g} rows; name the entries you want with --at F, or keep the "
            f"model: -o model{MODEL}."
        )
        raise UserError(msg, BAD_DATA)
    write_table(done.completed, out)
