"""One low-rank fit to observations in blocks: it starts from a fit to a dense subset, and stops by those held out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.blocks import Partitions
from tensorfill.blocks.dense_subset import dense_subset, facts_in_blocks
from tensorfill.blocks.placed import Placed
from tensorfill.data.memory import ask
from tensorfill.methods.base import Run
from tensorfill.models.unseen import fill_unseen
from tensorfill.partitioned import Partitioned, keeps
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors, factors_of
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.adam import Adam
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.fit import Fit, mean_loss, rms_error
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.solvers.loop import run as run_loop
from tensorfill.solvers.newton import Newton
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.methods.lowrank.low_rank import LowRank

FINAL = Stopping(max_iter=60, tol=1e-5, patience=4)
BURST = LBFGSB(burst=10, memory=8)  # at scale each of its vectors is as long as all factors together
COPIES = 12  # of the factors that a fit holds at once: old, new, best, stacked, gradients of each thread
BROADCAST = 5  # copies of the longest factor that a worker makes of it while it solves for other modes
SHARE = 0.25  # of a worker's memory may go into them: the rest is for blocks, and for what Dask moves about
STARTING = 0.4  # of a time limit may be used up by the fit to the subset


def fit_in_blocks(method: LowRank, parts: Partitions, run: Run) -> Completion:
    """The model that `method` fits to a dense subset of the observations, fitted to all of them."""
    began, (small, rows) = time.monotonic(), dense_subset(parts)
    facts = run.facts or facts_in_blocks(parts, small)
    alone = replace(run, facts=facts, checkpoint=None, resume=False, max_iter=None, callback=None, memo={})
    alone = alone if run.seconds is None else replace(alone, seconds=STARTING * run.seconds)
    corner = method.fit(small, alone)
    found, there = factors_of(corner.answer), corner.problem
    assert found is not None
    assert there is not None
    smooth = {int(n): rho for n, rho in corner.settings["smooth"].items()}
    problem = Partitioned.on_blocks(
        parts,
        there.rank,
        prior=there.prior,
        interelement=method.penalties(len(parts.shape), smooth, corner.settings["ridge"]),
        dtype=np.float64,
        model=there.model,
        quiet=True,
    )
    problem.check_domain()
    solver = choose_solver(problem, method.solver)
    problem = keep_if_large(problem, solver)
    stopped = corner.status is Status.INTERRUPTED  # what the subset says is the best so far
    rest = replace(run.rest(began), max_iter=0) if stopped else run.rest(began)
    outcome = _run(problem, solver, Corner(found.model.parameters, rows), smooth, rest)
    factors = [np.asarray(A) for A in make_mend(problem, smooth)(outcome.state.factors)]
    problem, held = replace(problem, kept=False, quiet=True), parts.held  # they are here now
    return method.completion(
        replace(parts.sample, blocks=parts),
        run,
        Factors(problem.model_of(factors), problem.prior),
        status=corner.status if stopped else outcome.status,
        history=outcome.history,
        settings={**corner.settings, "solver": solver.name, "prior": problem.prior.described()},
        held_out=np.nan if held is None else mean_loss(problem, factors, held),
        error=np.nan if held is None else rms_error(problem, factors, held),
    )


def choose_solver(problem: Problem, given: Solver | str | None) -> Solver:
    """The user's; else second-order sweeps, and L-BFGS-B where they do not apply (other models than CP)."""
    if given is not None:
        return SOLVERS.make(given)
    return Newton() if Newton().refused(problem) is None else BURST


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


def _run(problem: Partitioned, solver: Solver, corner: Corner, smooth: dict[int, float], run: Run) -> Outcome:
    """From the factors of the subset to the best on the entries that are held out."""
    mend = make_mend(problem, smooth)
    fit = Fit(problem, solver, mend(corner.start(problem)), problem.partitions.held, mend)
    stopping = replace(adapt_stopping(FINAL, solver, problem.partitions.nnz), seconds=run.seconds)
    if run.max_iter is not None:
        stopping = replace(stopping, max_iter=run.max_iter)
    return run_loop(
        fit,
        stopping=stopping,
        rng=np.random.default_rng([run.seed, 13]),
        callback=run.callback,
        checkpoint=run.section("blocks"),
        resume=run.resume,
        fingerprint=f"{problem.fingerprint()} {solver!r} {run.seed}",
    )
