"""Figure 4, PSNR against alpha; and ours, PSNR against seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.api import complete
from tensorfill.data.facts import smooth_modes
from tensorfill.data.observations import Observations
from tensorfill.interelement.quadratic import penalties
from tensorfill.methods.defaults import default_rank, default_ridge, default_smooth
from tensorfill.models.cp import CP
from tensorfill.problem import Problem
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Status
from tensorfill.solvers.base import State
from tensorfill.solvers.fit import solve
from tensorfill.solvers.loop import Callback, Stopping
from tensorfill_benchmarks import paper
from tensorfill_benchmarks.cells import Cell, CellFile, Row
from tensorfill_benchmarks.metrics import psnr
from tensorfill_benchmarks.pictures import Picture
from tensorfill_benchmarks.plans import RATE, Drawn, Effort, Plan, alpha_unit, main_picture, save
from tensorfill_benchmarks.table1 import fill, warm_up

Array = NDArray[Any]

ALPHAS = ("order", "alpha", "image", "missing_percent", "seed", "iterations", "psnr", "seconds", "status")
TRACES = ("run", "image", "missing_percent", "seed", "budget", "iteration", "seconds", "psnr")
# in units of the paper's 3e-4; dense around 1, where the paper's model collapses between 3.0e-4 and 3.1e-4
GRID = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0, 1.0333, 1.0667, 1.1, 1.2, 1.4, 1.7, 2.0, 3.0)
# at the rank of a picture: the steps of the others cost its square for each observation
FIRST_ORDER = ("onestep", "multiplicative", "blockprox", "lbfgsb", "adam")
QUICK_GRID = (0.1, 1.0, 30.0)
ORDERS = {"sequential": "mode by mode, as printed", "together": "all modes at once, as in the authors' program"}


def figure4(pictures: Sequence[Picture], out: Path, effort: Effort, seed: int) -> Plan:
    """sptc in both orders of its steps, with fixed alphas for a fixed number of iterations."""
    picture, iterations = main_picture(pictures), max(effort.iterations // 3, 1)
    file = alphas_file(out)
    grid = [f"{alpha_unit(picture) * a:.4g}" for a in (GRID if effort.limit is None else QUICK_GRID)]

    def cell(order: str, alpha: str) -> Cell:
        words = (order, alpha, picture.name, f"{RATE:g}", str(seed), str(iterations))

        def work() -> list[dict[str, Any]]:
            how = {"alpha": float(alpha), "order": order, "max_iter": iterations, "tol": 0.0}
            filled = fill(picture, "sptc", RATE, seed, **how)
            numbers = (f"{filled.psnr:.4f}", f"{filled.seconds:.3f}", str(filled.done.status))
            return [dict(zip(ALPHAS, (*words, *numbers), strict=True))]

        return Cell(file, words, f"fig4: {order}, alpha {alpha} · {picture.name} {RATE:g} %", work, group="fig4")

    def draw() -> Drawn:
        wanted = (picture.name, f"{RATE:g}", str(seed), str(iterations))
        rows = [r for r in file.rows() if tuple(r[c] for c in ALPHAS[2:6]) == wanted]
        return Drawn((_draw_alphas(rows, out / "fig4.png"),)) if rows else Drawn()

    return Plan([cell(order, alpha) for order in ORDERS for alpha in grid], draw)


def alphas_file(out: Path) -> CellFile:
    """OUT/fig4.csv."""
    return CellFile(out / "fig4.csv", ALPHAS, ALPHAS[:6])


def _draw_alphas(rows: Sequence[Row], path: Path) -> Path:
    import matplotlib as mpl

    from tensorfill.show.panels import COLOURS, STYLE, new_figure

    rows = sorted(rows, key=lambda r: float(r["alpha"]))
    with mpl.rc_context(STYLE):
        figure = new_figure(6.5, 3.6)
        axes = figure.subplots()
        for (order, words), colour in zip(ORDERS.items(), COLOURS, strict=False):
            own = [r for r in rows if r["order"] == order]
            x, y = (np.array([float(r[c]) for r in own]) for c in ("alpha", "psnr"))
            bad = np.array([r["status"] in ("collapsed", "nonfinite") for r in own], dtype=bool)
            axes.plot(x, y, color=colour, alpha=0.4, zorder=1)
            axes.plot(x[~bad], y[~bad], "o", color=colour, label=words)
            axes.plot(x[bad], y[bad], "X", color=colour, markersize=8, label="collapsed" if bad.any() else None)
        axes.set_xscale("log")
        axes.set_xlabel("alpha")
        axes.set_ylabel("PSNR in dB")
        one = rows[0]
        axes.set_title(f"{one['image']}, {one['missing_percent']} % missing, after {one['iterations']} iterations")
        axes.legend()
        return save(figure, path)


# --- PSNR against seconds ---------------------------------------------------------------------------------------------


class Trace:
    """A callback that scores the model as it goes, with the clock stopped while it does.

    Points are a few percent of the run's time apart. With `limit`, it ends the run after so many seconds on this clock.
    """

    def __init__(self, truth: Array, mask: NDArray[np.bool_], limit: float | None = None) -> None:
        self.truth, self.mask, self.limit = truth, mask, limit
        self.points: list[tuple[int, float, float]] = []  # iteration, seconds, PSNR
        self.spent, self._due = 0.0, 0.0
        self._since = time.perf_counter()

    def __call__(self, state: State, history: History) -> bool:
        self.spent += time.perf_counter() - self._since
        if self.spent >= self._due and state.factors:
            x = CP(state.factors).full()  # the mean itself: all runs traced here are Poisson with identity link
            self.points.append((history.rows[-1].iteration, self.spent, psnr(x, self.truth, self.mask)))
            self._due = 1.04 * self.spent + 0.005
        self._since = time.perf_counter()
        return self.limit is not None and self.spent >= self.limit

    def finish(self, done: Completion) -> None:
        """The last point: what the run returned, at the time it did."""
        estimate = done.estimate
        self.spent += time.perf_counter() - self._since
        self.points.append((done.iterations, self.spent, psnr(estimate, self.truth, self.mask)))


Runner = Callable[[Array, NDArray[np.bool_], Callback], Completion]


def speed_runs(picture: Picture, effort: Effort, seed: int) -> dict[str, tuple[str, Runner, float | None]]:
    """Name -> (budget, how to run it with a callback, limit in seconds)."""
    alpha = float(f"{alpha_unit(picture):.4g}")

    def method(name: str, **settings: Any) -> Runner:
        def runner(T: Array, mask: NDArray[np.bool_], callback: Callback) -> Completion:
            return complete(T, mask=mask, method=name, seed=seed, callback=callback, **settings)

        return runner

    def solver(name: str) -> Runner:
        def runner(T: Array, mask: NDArray[np.bool_], callback: Callback) -> Completion:
            stopping = Stopping(max_iter=10**7, tol=0.0)
            return solve(one_problem(T, mask), name, init="scaled", stopping=stopping, seed=seed, callback=callback)

        return runner

    own = {} if effort.limit is None else {"max_iter": effort.limit}
    many = {"max_iter": effort.sptc, "tol": 0.0}
    steps = f"{effort.sptc} iterations"
    runs: dict[str, tuple[str, Runner, float | None]] = {
        "auto": ("to the end" if not own else f"{effort.limit} iterations", method("auto", **own), None),
        f"sptc, alpha {alpha:g}": (steps, method("sptc", alpha=alpha, **many), None),
        "sptc, alpha auto": (steps, method("sptc", **many), None),
    }
    for name in FIRST_ORDER:
        runs[f"solver {name}"] = (f"{effort.seconds:g} seconds", solver(name), effort.seconds)
    return runs


def one_problem(T: Array, mask: NDArray[np.bool_]) -> Problem:
    """The problem all solvers get: Poisson, quadratic variation, ridge; no tensor-space prior, which not all take."""
    from tensorfill.numerical.discrete import Poisson

    obs = Observations.from_dense(T, mask=mask)
    prior = Poisson()
    smooth = default_smooth(obs, prior, smooth_modes(obs))
    priors = penalties(obs.ndim, smooth, default_ridge(obs, prior))
    rank = default_rank(obs.nnz, obs.shape, tuple(smooth))
    return Problem(obs, rank=rank, prior=prior, interelement=priors, dtype=np.float32, quiet=True)


def speed(pictures: Sequence[Picture], out: Path, effort: Effort, seed: int) -> Plan:
    """PSNR against seconds for auto, sptc, and each solver on one problem."""
    picture = main_picture(pictures)
    file = CellFile(out / "fig_speed.csv", TRACES, TRACES[:5])
    runs = speed_runs(picture, effort, seed)

    def cell(name: str) -> Cell:
        budget, runner, limit = runs[name]
        words = (name, picture.name, f"{RATE:g}", str(seed), budget)

        def work() -> list[dict[str, Any]]:
            mask = picture.mask(RATE, seed)
            T = picture.incomplete(mask)
            warm_up(T, "sptc" if name.startswith("sptc") else "auto", {})
            trace = Trace(picture.truth, mask, limit)
            done = runner(T, mask, trace)
            if done.status is Status.INTERRUPTED:
                raise KeyboardInterrupt
            trace.finish(done)
            points = [(k, f"{s:.4f}", f"{p:.4f}") for k, s, p in trace.points]
            return [dict(zip(TRACES, (*words, *point), strict=True)) for point in points]

        return Cell(file, words, f"speed: {name}", work, group="speed")

    def draw() -> Drawn:
        budgets = {name: budget for name, (budget, _, _) in runs.items()}
        wanted = (picture.name, f"{RATE:g}", str(seed))
        rows = [
            r
            for r in file.rows()
            if (r["image"], r["missing_percent"], r["seed"]) == wanted and budgets.get(r["run"]) == r["budget"]
        ]
        if not rows:
            return Drawn()
        return Drawn((_draw_traces(rows, list(runs), out / "fig_speed.png"),), verdict(rows))

    return Plan([cell(name) for name in runs], draw)


def time_to(rows: Sequence[Row], run: str, goal: float) -> float | None:
    """Seconds until a run of fig_speed.csv first reaches `goal` dB; None if it never does."""
    seconds = [float(r["seconds"]) for r in rows if r["run"] == run and float(r["psnr"]) >= goal]
    return min(seconds) if seconds else None


def verdict(rows: Sequence[Row]) -> str:
    """When auto passes the paper's figure, next to the whole run of sptc with a fixed alpha; "" if it cannot say."""
    fixed = [r for r in rows if r["run"].startswith("sptc, alpha") and r["run"] != "sptc, alpha auto"]
    goal = paper.printed("sptc", rows[0]["image"], float(rows[0]["missing_percent"])) if rows else None
    reached = None if goal is None else time_to(rows, "auto", goal)
    if not fixed or goal is None or reached is None:
        return ""
    last = fixed[-1]
    whole = float(last["seconds"])
    return (
        f"auto passes the paper's {goal:.2f} dB after {reached:.2f} s; sptc takes {whole:.1f} s for its "
        f"{last['iteration']} iterations ({whole / reached:.1f} times as long) and ends at {float(last['psnr']):.2f} dB"
    )


def _draw_traces(rows: Sequence[Row], names: Sequence[str], path: Path) -> Path:
    import matplotlib as mpl

    from tensorfill.show.panels import COLOURS, MISSING, STYLE, new_figure

    with mpl.rc_context(STYLE):
        figure = new_figure(8.0, 4.4)
        axes = figure.subplots()
        for k, name in enumerate(names):
            own = [r for r in rows if r["run"] == name]
            x, y = (np.array([float(r[c]) for r in own]) for c in ("seconds", "psnr"))
            style = {"linewidth": 2.4} if name == "auto" else {"linestyle": "--"} if name.startswith("solver") else {}
            axes.plot(x, y, color=COLOURS[k % len(COLOURS)], label=name, **style)
        one = rows[0]
        goal = paper.printed("sptc", one["image"], float(one["missing_percent"]))
        if goal is not None:
            axes.axhline(goal, color=MISSING, linewidth=1, zorder=0)
            axes.annotate("the paper's SPTC", (1, goal), xycoords=("axes fraction", "data"), ha="right", va="bottom")
        axes.set_xscale("log")
        axes.set_xlabel("seconds")
        axes.set_ylabel("PSNR in dB")
        axes.set_title(f"{one['image']}, {one['missing_percent']} % missing")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return save(figure, path)
