"""`bench tables`: the posterior and `auto` on tables, beside published figures and others run in the same run.

OUT/tables.csv comes first, a row per measure of a finished cell: (data, case, seed, who). Gaps are the same for
everybody and for every seed. `bayes` runs with all seeds; `auto` and the others, which take longer or are not random,
with the first. tables.md and tables.png are made from the file.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.api import complete
from tensorfill.data.observations import Observations
from tensorfill.registry import did_you_mean
from tensorfill.result.record import Status
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Watcher, run_cells
from tensorfill_benchmarks.choose import checked
from tensorfill_benchmarks.choose_data import NotHere, Places
from tensorfill_benchmarks.tables_measures import MEASURES, Puzzle
from tensorfill_benchmarks.tables_others import OTHERS
from tensorfill_benchmarks.tables_report import csv_file, write
from tensorfill_benchmarks.tables_tasks import TASKS, Task

Array = NDArray[Any]

PARTS = ("others", "bayes", "auto")  # the quick ones first
CROP = 12  # entries along each mode of what warms up compiled code


def run(
    out: str | Path,
    names: Sequence[str] | None = None,
    seeds: Sequence[int] = (0, 1, 2),
    places: Places = Places(),  # noqa: B008 - frozen
    progress: Watcher | None = None,
    *,
    only: Sequence[str] | None = None,
    again: bool = False,
) -> tuple[Report, list[str]]:
    """Run the cells that OUT/tables.csv does not have, then write tables.md and tables.png.

    Returns what was done, and a sentence for each task or library that is not on this machine.

    Parameters
    ----------
    names : data (`hangzhou`) or tasks (`hangzhou/A NM 40`); None for all
    seeds : of `bayes`; all others run with the first
    places : where hangzhou.mat is
    only : of others, bayes, auto
    """
    parts = checked("--only", PARTS if only is None else only, PARTS)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    file, cells, left_out = csv_file(folder), [], []
    for task in tasks(names):
        try:
            size = 1e4 if task.make is None else float(puzzle(task.name, places).observations.nnz)
        except NotHere as missing:
            left_out.append(f"{task.data}: {missing}")
            continue
        cells += [_cell(file, task, what, seed, places, size) for what, seed in _runs(task, parts, seeds)]
    kept, missing_libraries = _installed(cells)
    try:
        return run_cells(kept, progress, again=again), list(dict.fromkeys([*left_out, *missing_libraries]))
    finally:
        write(folder)


def tasks(names: Sequence[str] | None) -> list[Task]:
    """The tasks asked for."""
    if names is None:
        return list(TASKS)
    options = list(dict.fromkeys([*(t.data for t in TASKS), *(t.name for t in TASKS)]))
    for name in names:
        if name not in options:
            msg = f"--names must be among {', '.join(options)}; got {name!r}.{did_you_mean(name, options)}"
            raise ValueError(msg)
    return [t for t in TASKS if t.data in names or t.name in names]


def _runs(task: Task, parts: Sequence[str], seeds: Sequence[int]) -> list[tuple[str, int]]:
    """(who, seed) of everything to be run on one task; folds are repetitions already."""
    each = seeds[:1] if task.case.startswith("fold") or task.make is None else seeds
    out: list[tuple[str, int]] = []
    for part in parts:
        if part == "others":
            out += [(name, seeds[0]) for name in task.others]
        elif part == "bayes" or task.make is not None:
            out += [(part, seed) for seed in (each if part == "bayes" else seeds[:1])]
    return out


def _installed(cells: Sequence[Cell]) -> tuple[list[Cell], list[str]]:
    """The cells whose library is here, and a sentence for each library that is not."""
    from importlib.util import find_spec

    away = {name for name in ("surprise", "myfm") if find_spec(name) is None}
    said = [f"{name}: it is not installed: pip install ./benchmarks" for name in sorted(away)]
    asked = {cell.key[3] for cell in cells}
    return [c for c in cells if c.key[3] not in away], [s for s in said if s.partition(":")[0] in asked]


def _cell(file: CellFile, task: Task, what: str, seed: int, places: Places, size: float) -> Cell:
    def work() -> list[dict[str, Any]]:
        if task.simulate is not None:
            return [_simulated(task, task.simulate, what, seed)]
        here = puzzle(task.name, places)
        values, seconds, note = fill(here, what, seed)
        common = {"data": task.data, "case": task.case, "seed": seed, "what": what, "note": note}
        if values is None:
            return [common | {"measure": task.measures[0], "value": None, "seconds": None}]
        x = np.clip(values, here.data.low, here.data.high)
        return [
            common | {"measure": m, "value": MEASURES[m](here, x), "seconds": round(seconds, 3)} for m in task.measures
        ]

    label = f"{task.name} · {what} · seed {seed}"
    return Cell(file, (task.data, task.case, str(seed), what), label, work, what, size)


def _simulated(task: Task, simulate: Callable[[int], float], what: str, seed: int) -> dict[str, Any]:
    start = time.process_time()
    value = simulate(seed)
    row = {"data": task.data, "case": task.case, "seed": seed, "what": what, "measure": task.measures[0]}
    return row | {"value": value, "seconds": round(time.process_time() - start, 3), "note": ""}


@lru_cache(maxsize=2)
def puzzle(name: str, places: Places = Places()) -> Puzzle:  # noqa: B008 - frozen
    """A task's data and hidden entries."""
    make = next(t for t in TASKS if t.name == name).make
    assert make is not None
    return make(places)


def fill(here: Puzzle, what: str, seed: int) -> tuple[Array | None, float, str]:
    """(values at the scored entries or None, seconds of processor time, a remark)."""
    if what in ("bayes", "auto"):
        _warm_up(here, what)
    start = time.process_time()
    answer: Array | str
    note = ""
    if what == "bayes":
        answer, note = _bayes(here, seed)
    elif what == "auto":
        done = _finished(complete(here.observations, seed=seed))
        answer = done.at(here.where)
    else:
        answer = OTHERS[what](here, seed)
    seconds = time.process_time() - start
    if isinstance(answer, str):
        return None, seconds, answer
    if not np.isfinite(answer).all():
        msg = f"{what} left gaps: {np.count_nonzero(~np.isfinite(answer))} of {len(answer)}."
        raise ValueError(msg)
    return answer, seconds, note


def _bayes(here: Puzzle, seed: int) -> tuple[Array, str]:
    """The posterior as it comes."""
    given = {} if here.prior is None else {"prior": here.prior}
    done = _finished(complete(here.observations, method="bayes", seed=seed, **given))  # type: ignore[arg-type]
    return done.at(here.where), f"R-hat {done.settings.get('rhat', np.nan):.2f}"


def _finished(done: Any) -> Any:
    if done.status is Status.INTERRUPTED:  # half a run is no result here
        raise KeyboardInterrupt
    return done


def _warm_up(here: Puzzle, what: str) -> None:
    """A corner of the table, so that all compiled code has run."""
    obs = here.observations
    corner = (obs.indices < CROP).all(axis=1)
    if corner.sum() < CROP:
        return
    small = Observations.from_coo(
        obs.indices[corner], obs.values[corner], tuple(min(n, CROP) for n in obs.shape), dims=obs.dims
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if what == "auto":
            _ = complete(small, effort="quick").estimate
        else:
            given = {} if here.prior is None else {"prior": here.prior}
            _ = complete(small, method="bayes", draws=4, burn=2, rank=2, **given).estimate  # type: ignore[arg-type]
