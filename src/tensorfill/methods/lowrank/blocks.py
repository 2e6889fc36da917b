"""One low-rank fit to observations in blocks: it starts from a fit to a dense subset, and stops by those held out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tensorfill.blocks import Partitions
from tensorfill.blocks.dense_subset import dense_subset, facts_in_blocks
from tensorfill.data.memory import ask
from tensorfill.methods.base import Run
from tensorfill.models.unseen import fill_unseen
from tensorfill.partitioned import Partitioned
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors, factors_of
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.adam import Adam
from tensorfill.solvers.base import SOLVERS, Solver
from tensorfill.solvers.fit import Fit, mean_loss, rms_error
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Outcome, Stopping
from tensorfill.solvers.newton import Newton
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.methods.lowrank.low_rank import LowRank

FINAL = Stopping(max_iter=60, tol=1e-5, patience=4)
BURST = LBFGSB(burst=10, memory=8)  # at scale each of its vectors is as long as all factors together
COPIES = 12  # of the factors that a fit holds at once: old, new, best, stacked, gradients of each thread
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
    need = COPIES * sum(8.0 * a * b for a, b in problem.parameter_shapes)
    ask(need, f"factors of rank {problem.rank} of a tensor of shape {parts.shape}, and a fit's copies of them,")
    stopped = corner.status is Status.INTERRUPTED  # what the subset says is the best so far
    rest = replace(run.rest(began), max_iter=0) if stopped else run.rest(began)
    start = _spread(found.model.parameters, rows, problem.shape)
    outcome = _run(problem, solver, start, smooth, rest)
    factors, held = fill_unseen(parts.sample, outcome.state.factors, smooth), parts.held
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


def _spread(factors: Sequence[Array], rows: Sequence[Array], shape: Sequence[int]) -> list[Array]:
    """Factors of a subset at the rows of every mode that it has; the average of them at all others."""
    out = []
    for A, row, length in zip(factors, rows, shape, strict=False):
        full = np.tile(A.mean(axis=0), (length, 1))
        full[row] = A
        out.append(full)
    return out + list(factors[len(out) :])  # parameters without a mode


def _run(problem: Partitioned, solver: Solver, start: Sequence[Array], smooth: dict[int, float], run: Run) -> Outcome:
    """From the factors of the subset to the best on the entries that are held out."""
    mend = partial(fill_unseen, problem.observations, smooth=smooth)
    fit = Fit(problem, solver, mend(start), problem.partitions.held, mend)
    stopping = replace(FINAL, seconds=run.seconds)
    if isinstance(solver, Adam):  # which has a schedule of its own
        stopping = replace(stopping, max_iter=solver.steps, tol=0.0)
    if run.max_iter is not None:
        stopping = replace(stopping, max_iter=run.max_iter)
    saving = replace(run, checkpoint=run.section("blocks"))
    fingerprint = f"{problem.fingerprint()} {solver!r} {run.seed}"
    return saving.drive(fit, stopping, np.random.default_rng([run.seed, 13]), fingerprint)
