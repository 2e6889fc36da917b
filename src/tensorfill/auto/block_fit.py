"""One fit to observations in blocks, from what a corner of them says, stopped by those set aside."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorfill.blocks.placed import Placed
from tensorfill.data.memory import ask
from tensorfill.methods.base import Run
from tensorfill.models.unseen import fill_unseen
from tensorfill.partitioned import Partitioned, keeps
from tensorfill.solvers.adam import Adam
from tensorfill.solvers.base import Solver
from tensorfill.solvers.fit import Fit
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.solvers.loop import run as run_loop
from tensorfill.solvers.newton import Newton
from tensorfill.typing import Array

FINAL = Stopping(max_iter=60, tol=1e-5, patience=4)
COPIES = 12  # of the factors that a fit holds at once: old, new, best, stacked, gradients of each thread
BROADCAST = 5  # copies of the longest factor that a worker makes of it while it solves for other modes
SHARE = 0.25  # of a worker's memory may go into them: the rest is for blocks, and for what Dask moves about


@dataclass(frozen=True, eq=False)
class Corner:
    """Factors of a corner, and which rows of every mode it has."""

    factors: Sequence[Array]
    rows: Sequence[Array]

    def start(self, problem: Partitioned) -> list[Any]:
        """Its factors at the rows that it has; the average of them at all others."""
        out: list[Any] = []
        for n, (A, row, length) in enumerate(zip(self.factors, self.rows, problem.shape, strict=False)):
            usual = A.mean(axis=0)
            if problem.kept and n == problem.partitions.main:
                out.append(Placed.start(problem.partitions, n, usual, row, A))
                continue
            full = np.tile(usual, (length, 1))
            full[row] = A
            out.append(full)
        return out + list(self.factors[len(out) :])  # parameters without a mode


def keep_if_large(problem: Partitioned, solver: Solver) -> Partitioned:
    """The problem, its longest factor kept by its blocks where a worker has no room for all of it; a sentence where
    there is no room for the factors at all.
    """
    parts, sizes = problem.partitions, [8.0 * a * b for a, b in problem.parameter_shapes]
    longest = sizes[parts.main] if problem.model == "cp" else 0.0
    kept = isinstance(solver, Newton) and BROADCAST * longest > SHARE * parts.room and keeps(problem)
    need = COPIES * (sum(sizes) - longest) + longest if kept else COPIES * sum(sizes)
    ask(need, f"factors of rank {problem.rank} of a tensor of shape {parts.shape}, and a fit's copies of them,")
    return replace(problem, kept=True, quiet=True) if kept else problem


def adapt_stopping(stopping: Stopping, solver: Solver, nnz: int) -> Stopping:
    """The same for most; stochastic steps have a schedule of their own, and are judged once per look at all `nnz`
    observations.
    """
    if not isinstance(solver, Adam):
        return stopping
    each = 1 if solver.batch is None else max(1, round(nnz / solver.batch))
    return replace(stopping, max_iter=solver.steps, tol=0.0, every=min(each, solver.steps))


def make_mend(problem: Partitioned, smooth: dict[int, float]) -> Callable[[Sequence[Any]], list[Any]]:
    """What is done to factors before they are judged: rows that no observation speaks of."""
    obs, far = problem.observations, problem.partitions.main

    def mend(factors: Sequence[Any]) -> list[Any]:
        if not isinstance(factors[far], Placed):
            return fill_unseen(obs, factors, smooth)
        out: list[Any] = fill_unseen(obs, factors, smooth, leave=[far])
        unseen = int(np.count_nonzero(~obs.seen(far)))
        out[far] = out[far].at_mean(unseen) if unseen else out[far]
        return out

    return mend


def fit_blocks(problem: Partitioned, solver: Solver, corner: Corner, smooth: dict[int, float], run: Run) -> Outcome:
    """One fit to all blocks, stopped by the entries set aside."""
    rng = np.random.default_rng([run.seed, 13])
    mend = make_mend(problem, smooth)
    fit = Fit(problem, solver, mend(corner.start(problem)), problem.partitions.held, mend)
    stopping = replace(adapt_stopping(FINAL, solver, problem.partitions.nnz), seconds=run.seconds)
    if run.max_iter is not None:
        stopping = replace(stopping, max_iter=run.max_iter)
    return run_loop(
        fit,
        stopping=stopping,
        rng=rng,
        callback=run.callback,
        checkpoint=run.checkpoint if run.checkpoint is None else run.section("blocks"),
        resume=run.resume,
        fingerprint=f"{problem.fingerprint()} {solver!r} {run.seed}",
    )
