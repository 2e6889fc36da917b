"""Processor time of `auto` after warm-up: what a contest may cost. OUT/choose-speed.csv.

For one thread, set OMP_NUM_THREADS and NUMBA_NUM_THREADS to 1 before the start.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.api import complete
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Watcher, run_cells
from tensorfill_benchmarks.choose import checked, incomplete, problem
from tensorfill_benchmarks.choose_data import NotHere, Places

Array = NDArray[Any]
Task = tuple[Array, NDArray[np.bool_]]

COLUMNS = ("what", "shape", "observed", "seconds", "target", "status")
SMALL = 40  # entries along each mode of what warms up


def small_table(places: Places) -> Task:
    """12 x 10, a fifth missing."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 10)) + 0.1 * rng.normal(size=(12, 10))
    return values, rng.random(values.shape) > 0.2


def ratings(places: Places) -> Task:
    """ML-100k, a fifth hidden."""
    return incomplete(*problem("ml-100k", "single20", 0, places))


def counts(places: Places) -> Task:
    """A city's counts: 30 x 30 x 1464 hours, 790,000 of them observed; simulated, with a day and a week in them."""
    rng = np.random.default_rng(0)
    hour = np.arange(1464)
    day = np.exp(np.cos(2 * np.pi * (hour[:, None] / 24 - rng.random(6))))
    week = 1 + 0.4 * np.cos(2 * np.pi * (hour[:, None] / 168 - rng.random(6)))
    a, b = rng.gamma(0.6, 1.0, (2, 30, 6))
    mean = np.einsum("ir,jr,kr->ijk", a, b, day * week)
    return rng.poisson(mean), rng.random(mean.shape) < 790_000 / mean.size


def photograph(places: Places) -> Task:
    """A colour picture of 256 x 256, 80 % missing."""
    try:
        from skimage.data import astronaut
    except ImportError as error:
        msg = "scikit-image is not installed: pip install ./benchmarks"
        raise NotHere(msg) from error
    values = astronaut()[:256, 96:352]
    mask = np.random.default_rng(0).random(values.shape) >= 0.8
    return np.where(mask, values, 0).astype(np.uint8), mask


TASKS: dict[str, tuple[Callable[[Places], Task], str]] = {
    "table": (small_table, "<= 0.5"),
    "ratings": (ratings, "<= 10"),
    "counts": (counts, "<= 150"),
    "picture": (photograph, "as before"),
}


def csv_file(folder: str | Path) -> CellFile:
    """OUT/choose-speed.csv."""
    return CellFile(Path(folder) / "choose-speed.csv", COLUMNS, ("what",))


def run(
    out: str | Path,
    names: Sequence[str] | None = None,
    places: Places = Places(),  # noqa: B008 - frozen
    progress: Watcher | None = None,
    *,
    again: bool = False,
) -> tuple[Report, list[str]]:
    """Time each task that the file does not have; a sentence for each whose data are not here."""
    asked = list(TASKS) if names is None else checked("--names", names, list(TASKS))
    Path(out).mkdir(parents=True, exist_ok=True)
    file, left_out, cells = csv_file(out), [], []
    for name in asked:
        make, target = TASKS[name]
        try:
            task = make(places)
        except NotHere as missing:
            left_out.append(f"{name}: {missing}")
            continue
        cells.append(Cell(file, (name,), name, _work(name, task, target), name, float(task[0].size)))
    return run_cells(cells, progress, again=again), left_out


def _work(name: str, task: Task, target: str) -> Callable[[], list[dict[str, Any]]]:
    def work() -> list[dict[str, Any]]:
        T, mask = task
        part: Sequence[slice] = tuple(slice(SMALL) for _ in T.shape)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _ = complete(T[tuple(part)], mask=mask[tuple(part)]).estimate  # whole, so that all compiled code has run
        start = time.process_time()
        done = complete(T, mask=mask)
        _ = done.estimate
        seconds = time.process_time() - start
        shape = " x ".join(map(str, T.shape))
        return [
            {"what": name, "shape": shape, "observed": int(mask.sum()), "seconds": round(seconds, 3), "target": target,
             "status": done.status.name.lower()}
        ]  # fmt: skip

    return work
