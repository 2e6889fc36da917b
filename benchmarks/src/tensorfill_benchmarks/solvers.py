"""Solvers on tables: objective and held-out loss against seconds. OUT/solvers.csv, then solvers.png.

Seconds are processor time, compiled code warm, scoring not on the clock. For one thread, set OMP_NUM_THREADS and
NUMBA_NUM_THREADS to 1 before the start. Tables are drawn anew for each seed; a tenth of their entries is held out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.interelement.base import InterElementPrior, Sum
from tensorfill.interelement.nonsmooth import NonNegative
from tensorfill.interelement.quadratic import Ridge
from tensorfill.methods.lowrank.low_rank import first_factors
from tensorfill.numerical.base import NumericalPrior
from tensorfill.numerical.binary import BernoulliLogit, sigmoid
from tensorfill.numerical.continuous import Normal
from tensorfill.numerical.discrete import Poisson
from tensorfill.problem import Problem
from tensorfill.registry import did_you_mean
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.fit import mean_loss
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Row, Watcher, run_cells
from tensorfill_benchmarks.plans import save

Array = NDArray[Any]

COLUMNS = ("table", "seed", "solver", "step", "seconds", "objective", "held_out")
COMPARED = ("lbfgsb", "newton", "multiplicative", "admm", "adam")
REFERENCE = "lbfgsb"  # what a table was fitted with before there were second-order steps
EVEN = "-even"  # at the end of the name of a table whose rows hold as many entries
SKEW = 0.8  # of the others
NEAR = 0.01  # a loss is reached when all but this share of the way to it is done
SECONDS = 6.0  # of each run
QUICK = 0.05  # the same, to see that it works


@dataclass(frozen=True)
class Table:
    """Data, a problem about nine tenths of them, and where every solver starts."""

    problem: Problem
    held_out: Observations
    start: Sequence[Array]


def draw_table(kind: str, seed: int, small: bool = False) -> Table:
    """A table as they are met: few rows hold most of the entries, main effects beside the components. Of a kind that
    ends in "-even" all rows hold about as many.
    """
    kind, even = kind.removesuffix(EVEN), kind.endswith(EVEN)
    rng = np.random.default_rng([seed, 11])
    shape, observed, rank = SIZES[kind]
    shape, observed = (tuple(max(n // 10, 6) for n in shape), 600) if small else (shape, observed)
    indices = _places(shape, observed, 0.0 if even else SKEW, rng)
    t, prior, penalty = KINDS[kind](indices, shape, rng)
    aside = rng.random(len(t)) < 0.1
    kept, held_out = (Observations.from_coo(indices[part], t[part], shape) for part in (~aside, aside))
    penalties = dict.fromkeys(range(len(shape)), penalty)
    problem = Problem(kept, rank, prior, penalties, dtype=np.float64, quiet=True)
    return Table(problem, held_out, first_factors(problem, rng))


def _places(shape: Sequence[int], observed: int, skew: float, rng: np.random.Generator) -> Array:
    """Different places (nnz, N), sorted; rows of long modes are met as words are, the k-th as often as k^-skew."""
    columns = []
    for length in shape:
        often = rng.permutation((1.0 + np.arange(length)) ** (-skew if length > 50 else 0.0))
        columns.append(rng.choice(length, 3 * observed, p=often / often.sum()))
    places = np.unique(np.stack(columns, axis=1), axis=0)
    return places[np.sort(rng.choice(len(places), min(observed, len(places)), replace=False))]


def _effects_and_components(indices: Array, shape: Sequence[int], rng: np.random.Generator) -> Array:
    x = sum(0.5 * rng.standard_normal(length)[indices[:, n]] for n, length in enumerate(shape))
    product = np.ones((len(indices), 5))
    for n, length in enumerate(shape):
        product *= rng.standard_normal((length, 5))[indices[:, n]]
    return x + 0.6 * product.sum(axis=1) / np.sqrt(5)


Drawn = tuple[Array, NumericalPrior, InterElementPrior]


def ratings(indices: Array, shape: Sequence[int], rng: np.random.Generator) -> Drawn:
    """Normal, about their mean; people by films."""
    x = _effects_and_components(indices, shape, rng)
    return x - x.mean() + 0.9 * rng.standard_normal(len(x)), Normal(0.9), Ridge(3.0)


def counts(indices: Array, shape: Sequence[int], rng: np.random.Generator) -> Drawn:
    """Poisson, factors >= 0, mean 5, overdispersed; places by places by hours."""
    product = np.ones((len(indices), 5))
    for n, length in enumerate(shape):
        product *= rng.gamma(1.0, 1.0, (length, 5))[indices[:, n]]
    mean = product.sum(axis=1)
    mean *= 5 / mean.mean() * rng.gamma(5.0, 0.2, len(mean))
    return rng.poisson(mean).astype(float), Poisson(), Sum((Ridge(1.0), NonNegative()))


def answers(indices: Array, shape: Sequence[int], rng: np.random.Generator) -> Drawn:
    """Bernoulli by its logit; people by questions by occasions."""
    x = _effects_and_components(indices, shape, rng)
    return (rng.random(len(x)) < sigmoid(1.5 * x)).astype(float), BernoulliLogit(), Ridge(3.0)


KINDS: dict[str, Callable[[Array, Sequence[int], np.random.Generator], Drawn]] = {
    "normal": ratings,
    "poisson": counts,
    "bernoulli": answers,
}
TABLES = [*KINDS, *(kind + EVEN for kind in KINDS)]
SIZES = {
    "normal": ((900, 1200), 90_000, 8),
    "poisson": ((30, 30, 1464), 474_000, 8),
    "bernoulli": ((300, 200, 24), 90_000, 8),
}


def trace(table: Table, solver: Solver, seconds: float) -> list[tuple[int, float, float, float]]:
    """(step, seconds, objective, held-out loss) from the start until `seconds` of processor time are spent."""
    rng = np.random.default_rng(0)
    began = time.process_time()
    state = solver.init(table.problem, table.start, rng)
    spent, previous = time.process_time() - began, None
    points: list[tuple[int, float, float, float]] = []
    while True:
        held_out = mean_loss(table.problem, state.factors, table.held_out)
        points.append((len(points), spent, state.value, held_out))
        if spent >= seconds or (previous is not None and solver.done(state, previous) is not None):
            return points
        began, previous = time.process_time(), state
        state = solver.step(table.problem, state, rng)
        spent += time.process_time() - began


def solver_named(name: str) -> Solver:
    """With the settings that the low-rank candidate of `auto` gives it, where it does."""
    return LBFGSB(burst=20, memory=20) if name == "lbfgsb" else SOLVERS[name]()


def csv_file(folder: str | Path) -> CellFile:
    """OUT/solvers.csv."""
    return CellFile(Path(folder) / "solvers.csv", COLUMNS, COLUMNS[:3])


def run(
    out: str | Path,
    tables: Sequence[str] | None = None,
    solvers: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    progress: Watcher | None = None,
    *,
    seconds: float = SECONDS,
    quick: bool = False,
    again: bool = False,
) -> Report:
    """Every solver on every table it accepts; what the file has is not run again."""
    file, cells = csv_file(out), []
    for kind in _checked("--tables", list(KINDS) if tables is None else tables, TABLES):
        for seed in seeds:
            table = draw_table(kind, seed, quick)
            for name in _checked("--solvers", solvers, list(COMPARED)):
                if solver_named(name).refuses(table.problem) is None:
                    work = _work(kind, seed, name, table, QUICK if quick else seconds)
                    cells.append(Cell(file, (kind, str(seed), name), f"{kind} {seed}: {name}", work))
    return run_cells(cells, progress, again=again)


def _work(kind: str, seed: int, name: str, table: Table, seconds: float) -> Callable[[], list[dict[str, Any]]]:
    def work() -> list[dict[str, Any]]:
        solver = solver_named(name)
        _warm_up(draw_table(kind, seed, small=True), solver)
        points = trace(table, solver, seconds)
        return [dict(zip(COLUMNS, (kind, seed, name, *point), strict=True)) for point in points]

    return work


def _warm_up(table: Table, solver: Solver) -> None:
    """A few steps, for compiled code is loaded when it is first met."""
    rng = np.random.default_rng(0)
    state = solver.init(table.problem, table.start, rng)
    for _ in range(3):
        state = solver.step(table.problem, state, rng)


def _checked(option: str, given: Sequence[str] | None, known: list[str]) -> list[str]:
    for name in given or ():
        if name not in known:
            msg = f"{option} must be of {', '.join(known)}; got {name!r}.{did_you_mean(name, known)}"
            raise ValueError(msg)
    return known if given is None else list(given)


# --- what the file says -----------------------------------------------------------------------------------------------


def curve(rows: Sequence[Row], table: str, seed: str, solver: str) -> Array:
    """(seconds, objective, held-out loss) of one run, (steps, 3)."""
    own = [r for r in rows if (r["table"], r["seed"], r["solver"]) == (table, seed, solver)]
    return np.array([[float(r[c]) for c in COLUMNS[4:]] for r in own]).reshape(-1, 3)


def time_to_same(first: Array, second: Array) -> tuple[float, float]:
    """Seconds of two runs to the lowest held-out loss that both reach, all but NEAR of the way from the start."""
    goal = max(first[:, 2].min(), second[:, 2].min())
    goal += NEAR * (first[0, 2] - goal)
    return _reached(first, goal), _reached(second, goal)


def _reached(run: Array, goal: float) -> float:
    """When the loss passes `goal`, on the line between the steps before and after."""
    k = int(np.argmax(run[:, 2] <= goal))
    if k == 0:
        return float(run[0, 0])
    (s0, _, a), (s1, _, b) = run[k - 1], run[k]
    return float(s0 + (s1 - s0) * (a - goal) / (a - b))


def summary(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """Head and lines: for each table and solver, the medians over seeds of best loss, seconds, and L-BFGS-B's ratio."""
    head = ["table", "solver", "best held-out", "seconds to the same loss", "lbfgsb", "times faster"]
    lines = []
    for table in [t for t in TABLES if any(r["table"] == t for r in rows)]:
        seeds = sorted({r["seed"] for r in rows if r["table"] == table})
        for solver in COMPARED:
            pairs = [(curve(rows, table, s, solver), curve(rows, table, s, REFERENCE)) for s in seeds]
            pairs = [(own, other) for own, other in pairs if len(own) and len(other)]
            if not pairs:
                continue
            best = float(np.median([own[:, 2].min() for own, _ in pairs]))
            times = np.array([time_to_same(own, other) for own, other in pairs])
            ratio = float(np.median(times[:, 1] / np.maximum(times[:, 0], 1e-9)))
            mine, theirs = np.median(times, axis=0)
            lines.append([table, solver, f"{best:.4f}", f"{mine:.3f}", f"{theirs:.3f}", f"{ratio:.1f}"])
    return head, lines


def draw(out: str | Path) -> Path | None:
    """OUT/solvers.png: for the first seed, how far the objective is above the lowest of all runs, against seconds."""
    import matplotlib as mpl

    from tensorfill.show.panels import COLOURS, STYLE, new_figure

    rows = csv_file(out).rows()
    tables = [t for t in TABLES if any(r["table"] == t for r in rows)]
    if not tables:
        return None
    with mpl.rc_context(STYLE):
        figure = new_figure(3.4 * len(tables) + 0.6, 3.6)
        panels = figure.subplots(1, len(tables), squeeze=False)[0]
        for axes, table in zip(panels, tables, strict=True):
            seed = min({r["seed"] for r in rows if r["table"] == table}, key=int)
            runs = {name: curve(rows, table, seed, name) for name in COMPARED}
            runs = {name: run for name, run in runs.items() if len(run)}
            lowest, start = min(run[:, 1].min() for run in runs.values()), max(run[0, 1] for run in runs.values())
            for name, run in runs.items():
                above = np.maximum((run[:, 1] - lowest) / (start - lowest), 1e-4)
                style = {"linewidth": 2.4} if name == "newton" else {}
                axes.plot(run[1:, 0], above[1:], color=COLOURS[COMPARED.index(name)], label=name, **style)
            axes.set(xscale="log", yscale="log", title=table, xlabel="seconds")
        panels[0].set_ylabel("objective above the lowest\n(1 at the start)")
        handles = {h.get_label(): h for axes in panels for h in axes.get_lines()}
        panels[-1].legend(handles.values(), handles.keys(), loc="center left", bbox_to_anchor=(1.0, 0.5))
        return save(figure, Path(out) / "solvers.png")
