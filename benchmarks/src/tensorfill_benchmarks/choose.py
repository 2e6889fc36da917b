"""`bench choose`: `auto` against every candidate alone and against what people use, on real data with real gaps.

OUT/choose.csv comes first, a row per finished cell: (set, kind of gaps, seed, who filled them). The gaps of a cell are
the same for everybody and for every seed; another draw of them is a cell of its own, `runs#1`. Candidates and others
run with seed 0 alone. choose.md and choose.png are made from the file.

`auto` and the candidates are given an array and a mask, and nothing else: no names, no time, no columns.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.api import complete
from tensorfill.auto.auto import Auto
from tensorfill.data.facts import compute_facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import METHODS, Run
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill_benchmarks import choose_networks
from tensorfill_benchmarks import choose_sets as sets
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Watcher, run_cells
from tensorfill_benchmarks.choose_data import DataSet, NotHere, Places, Spec
from tensorfill_benchmarks.choose_gaps import hide
from tensorfill_benchmarks.choose_lines import ALONE, csv_file
from tensorfill_benchmarks.choose_others import OTHERS
from tensorfill_benchmarks.choose_report import write
from tensorfill_benchmarks.table1 import warm_up

Array = NDArray[Any]
Mask = NDArray[np.bool_]

PARTS = ("others", "auto", "candidates")  # the quick ones first
CROP = 24  # entries along each mode of what warms up compiled code


def run(
    out: str | Path,
    names: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    places: Places = Places(),  # noqa: B008 - frozen
    progress: Watcher | None = None,
    *,
    only: Sequence[str] | None = None,
    half: str | None = None,
    draws: Sequence[int] = (0,),
    again: bool = False,
) -> tuple[Report, list[str]]:
    """Run the cells that OUT/choose.csv does not have, then write choose.md and choose.png.

    Returns what was done, and a sentence for each set that is not on this machine.

    Parameters
    ----------
    names : sets (`wine`), cells (`wine/slices`) or kinds (`series`); None for all
    seeds : of `auto`; all others run with 0
    places : folders of pictures and of data files
    only : of others, auto, candidates
    half : tuned or reported
    draws : of the gaps
    """
    parts = checked("--only", PARTS if only is None else only, PARTS)
    if half is not None:
        checked("--half", [half], (sets.TUNED, sets.REPORTED))
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    file = csv_file(folder)
    cells, left_out = [], []
    for spec, gaps in sets.choose(names, half):
        try:
            size = float(sets.load(spec.name, places).values.size)
        except NotHere as missing:
            left_out.append(f"{spec.name}: {missing}")
            continue
        for draw in draws:
            for what, seed in _runs(parts, seeds):
                cells.append(_cell(file, spec, gaps, draw, seed, what, places, size))
    try:
        return run_cells(cells, progress, again=again), list(dict.fromkeys(left_out))
    finally:
        write(folder)


def checked(option: str, given: Sequence[str], known: Sequence[str]) -> list[str]:
    """The words given, in the order in which they are known; any other is refused."""
    for word in given:
        if word not in known:
            msg = f"{option} must be among {', '.join(known)}; got {word!r}."
            raise ValueError(msg)
    return [word for word in known if word in given]


def _runs(parts: Iterable[str], seeds: Sequence[int]) -> list[tuple[str, int]]:
    """(who, seed) of everything to be run in one place."""
    out: list[tuple[str, int]] = []
    for part in parts:
        if part == "others":
            out += [(name, 0) for name in (*OTHERS, *choose_networks.installed())]
        elif part == "candidates":
            out += [(ALONE + name, 0) for name in candidates()]
        else:
            out += [("auto", seed) for seed in seeds]
    return out


def _cell(file: CellFile, spec: Spec, gaps: str, draw: int, seed: int, what: str, places: Places, size: float) -> Cell:
    label = gaps if draw == 0 else f"{gaps}#{draw}"

    def work() -> list[dict[str, Any]]:
        data, hidden = problem(spec.name, gaps, draw, places)
        estimate, seconds, note = fill(data, hidden, what, seed)
        error = None if estimate is None else data.error(estimate, hidden)
        return [
            {"set": spec.name, "half": spec.half, "gaps": label, "seed": seed, "what": what, "error": error,
             "seconds": None if estimate is None else round(seconds, 3), "note": note}
        ]  # fmt: skip

    return Cell(
        file, (spec.name, label, str(seed), what), f"{spec.name} · {label} · {what} · seed {seed}", work, what, size
    )


@lru_cache(maxsize=2)
def problem(name: str, gaps: str, draw: int = 0, places: Places = Places()) -> tuple[DataSet, Mask]:  # noqa: B008
    """A set and its hidden entries."""
    data = sets.load(name, places)
    return data, hide(data, name, gaps, draw)


def incomplete(data: DataSet, hidden: Mask) -> tuple[Array, Mask]:
    """(values, mask) as a user has them: zeros in the gaps, so that no method can see the truth."""
    mask = data.known & ~hidden
    return np.where(mask, data.values, 0).astype(data.values.dtype), mask


def fill(data: DataSet, hidden: Mask, what: str, seed: int) -> tuple[Array | None, float, str]:
    """(the whole array or None, seconds of processor time, a remark): the gaps filled by one of all."""
    T, mask = incomplete(data, hidden)
    if what == "auto":
        warm_up(T[tuple(slice(CROP) for _ in T.shape)], "auto", {})
        work: Callable[[], Any] = partial(_auto, T, mask, seed)
    elif what.startswith(ALONE):
        work = partial(alone, what.removeprefix(ALONE), Observations.from_dense(T, mask), seed)
    else:
        filler = OTHERS[what] if what in OTHERS else choose_networks.load(what)
        work = partial(filler, data, np.where(mask, T, np.nan).astype(np.float64))
    start = time.process_time()
    answer = work()
    seconds = time.process_time() - start
    if answer is None or isinstance(answer, str):
        return None, seconds, answer or "cannot"
    note = ""
    if isinstance(answer, tuple):
        answer, note = answer
    if not np.isfinite(answer[hidden]).all():
        msg = f"{what} left gaps: {np.count_nonzero(~np.isfinite(answer[hidden]))} of {np.count_nonzero(hidden)}."
        raise ValueError(msg)
    return answer, seconds, note


def _auto(T: Array, mask: Mask, seed: int) -> tuple[Array, str]:
    done = _whole(complete(T, mask=mask, seed=seed))
    return done.estimate, "" if done.status.ok else done.status.sentence


def _whole(done: Completion) -> Completion:
    """Half a run is no result here."""
    if done.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    return done


def candidates() -> list[str]:
    """Names of the candidates of the contest."""
    return [name for name, method in METHODS.items() if method.competes]


def alone(name: str, obs: Observations, seed: int) -> Array | None:
    """What one family of candidates does by itself, its best variant; None where it cannot run on these data."""
    if METHODS[name]().suits(compute_facts(obs)) is not None:
        return None
    return _whole(Auto(candidates=(name,)).fit(obs, Run(seed))).estimate
