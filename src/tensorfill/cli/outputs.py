"""What a job writes: checked before the fit, not after an hour of it."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.data.atomic import refuse_obstacle, sweep
from tensorfill.data.files import FileError, Loaded
from tensorfill.data.formats.opening import choose_out
from tensorfill.data.formats.output import check_place, naming, try_out
from tensorfill.data.observations import Observations

if TYPE_CHECKING:
    from tensorfill.cli.job import Job

TRIAL = 4_000_000  # up to so many entries the output is tried out before the fit


def check_outputs(job: Job, loaded: Loaded, obs: Observations, indices: Any) -> None:
    """Refuse what cannot be written, or cannot hold these values."""
    with naming(job.out, "write"):
        kind = choose_out(job.out, loaded, job.out_format)
        if job.out == "-" and not kind.streams:
            msg = f"{kind.title} cannot be sent through a stream; give a file name."
            raise FileError(msg)
        if job.unrounded and kind.whole:
            msg = f"{kind.title} holds whole numbers, and --unrounded makes fractions; write .npy, .csv or .tif."
            raise FileError(msg)
        if job.max_gap is not None and kind.whole:
            msg = f"{kind.title} holds whole numbers, and --max-gap leaves gaps; write .npy, .csv or .tif."
            raise FileError(msg)
        check_free(job.out, store=kind.makes_store(loaded), special=True)
        if indices is not None:
            kind.write_rows(io.BytesIO(), indices[:1], np.zeros(1, dtype=loaded.dtype), loaded)
        elif loaded.size <= TRIAL:
            dtype = loaded.dtype
            trial = loaded.restore(obs.dense(fill=float(np.median(obs.values)), dtype=np.float64))
            try_out(kind, job.out, trial.astype(dtype, copy=False), loaded)
    if job.error_bars is not None:
        with naming(job.error_bars, "write"):
            kind = choose_out(job.error_bars, loaded, None)
            if kind.whole:
                msg = f"{kind.title} holds whole numbers, and error bars are fractions; write .npy, .csv or .tif."
                raise FileError(msg)
            check_free(job.error_bars, store=kind.makes_store(loaded))
    for other in (job.report, job.checkpoint):
        if other is not None:
            with naming(other, "write"):
                check_free(other)


def check_free(path: str, *, store: bool = False, special: bool = False) -> None:
    """Is there a directory to write to, and may we? `special`: a device or a pipe will do, to be written into."""
    target = Path(os.path.realpath(path))
    if special and (path == "-" or (target.exists() and not target.is_file() and not target.is_dir())):
        return
    if not store:
        refuse_obstacle(path)
    check_place(target, store=store)
    sweep(target)
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(13, "permission denied", path)
