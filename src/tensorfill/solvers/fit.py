"""solve: a problem, a solver, a start -> a Completion."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.models.init import INITS, initial_factors
from tensorfill.problem import Problem
from tensorfill.registry import check_setting
from tensorfill.result.answer import Factors
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.base import SOLVERS, Solver, State
from tensorfill.solvers.loop import Callback, Outcome, Stopping, run
from tensorfill.typing import Array

RESTARTS = 2  # further starts if the only one ended worse than the mean of the data
ASTRAY = 3.0  # a fit whose error is more than this many times the spread of the data had a bad start
ENDED_EARLY = (Status.INTERRUPTED, Status.CALLBACK, Status.TIME)  # ends of one fit that end the whole run
Scored = tuple[float, int, Outcome]  # (score of a start, its number, its outcome): the least is the best


@dataclass(frozen=True, eq=False)
class Fit:
    """A solver tied to a problem and a start: what the loop drives."""

    problem: Problem
    solver: Solver
    start: Sequence[Array]
    held_out: Observations | None = None
    mend: Callable[[Sequence[Array]], list[Array]] = list  # applied to the factors before held-out entries are scored

    def init(self, rng: np.random.Generator) -> State:
        self.solver.check(self.problem)
        return self.solver.init(self.problem, self.start, rng)

    def step(self, state: State, rng: np.random.Generator) -> State:
        return self.solver.step(self.problem, state, rng)

    def score(self, state: State) -> float:
        if self.held_out is None:
            return np.nan
        return mean_loss(self.problem, self.mend(state.factors), self.held_out)

    def done(self, state: State, previous: State | None) -> Status | None:
        return self.solver.done(state, previous)


def mean_loss(problem: Problem, factors: Sequence[Array], obs: Observations) -> float:
    """Mean (weighted) loss of the model at the observations `obs`."""
    x = problem.at(factors, obs.indices).astype(np.float64)
    nll = problem.prior.at(obs.indices).nll(obs.values.astype(np.float64), x)
    return float(np.average(nll, weights=obs.weights))


def rms_error(problem: Problem, factors: Sequence[Array], obs: Observations) -> float:
    """Root mean square error of the model's mean at the observations `obs`, in the unit of the data."""
    mean = problem.prior.at(obs.indices).mean(problem.at(factors, obs.indices).astype(np.float64))
    return float(np.sqrt(np.average((mean - obs.values) ** 2, weights=obs.weights)))


def solve(
    problem: Problem,
    solver: Solver | str = "lbfgsb",
    *,
    init: str | Sequence[Array] = "scaled",
    starts: int = 1,
    held_out: float = 0.0,
    stopping: Stopping | None = None,
    seed: int = 0,
    callback: Callback | None = None,
    checkpoint: str | PathLike[str] | None = None,
    resume: bool = False,
) -> Completion:
    """Minimise the problem's objective.

    Parameters
    ----------
    solver : a Solver or its name
    init : how to start, see `initial_factors`
    starts : how many random starts; the one with the best held-out error (without one: objective) is kept
    held_out : share of the observed entries held out; the run stops when their error no longer falls and the best
        model is returned. 0 for none
    seed : everything random follows from it
    """
    solver = SOLVERS.make(solver)
    _check(solver, init, starts, held_out, stopping, seed, checkpoint)
    solver.check(problem)
    root = np.random.SeedSequence(seed)
    more = RESTARTS if starts == 1 and checkpoint is None and isinstance(init, str) else 0
    split_rng, *start_rngs = (np.random.default_rng(s) for s in root.spawn(1 + starts + more))
    train, validation = problem, None
    if held_out:
        training, validation = problem.observations.split(held_out, split_rng)
        train = problem.on(training)
    name = f"{train.fingerprint()} {solver!r} {_name_of(init)} {seed} {held_out}"
    stopping = stopping or Stopping()
    stopping = stopping if solver.settles else dataclasses.replace(stopping, tol=0.0)
    saving = {"callback": callback, "checkpoint": checkpoint, "resume": resume, "fingerprint": name}
    fits = ((Fit(train, solver, initial_factors(train, init, rng), validation), rng) for rng in start_rngs)
    outcomes = _run_starts(fits, starts, stopping, saving)
    last = outcomes[-1][2].status
    score, _, best = min(outcomes, key=lambda o: o[:2])
    return Completion(
        observations=problem.observations,
        method=solver.name,
        status=last if last in ENDED_EARLY else best.status,
        history=best.history,
        settings=_settings(problem, solver, init) | {"starts": starts, "held_out": held_out, "seed": seed},
        answer=Factors(problem.model_of(best.state.factors), problem.prior),
        problem=problem,
        held_out=score if validation is not None else np.nan,
        error=rms_error(problem, best.state.factors, validation) if validation is not None else np.nan,
    )


def _run_starts(
    fits: Iterable[tuple[Fit, np.random.Generator]], starts: int, stopping: Stopping, saving: dict[str, Any]
) -> list[Scored]:
    """Run start after start within one limit of seconds; more than `starts` of them where all ended badly."""
    outcomes: list[Scored] = []
    spent = 0.0
    for fit, rng in fits:
        left = None if stopping.seconds is None else max(stopping.seconds - spent, 1e-9)  # shared by all starts
        outcome = run(fit, stopping=dataclasses.replace(stopping, seconds=left), rng=rng, **saving)
        outcomes.append((_score(fit, outcome), len(outcomes), outcome))
        spent += outcome.history.rows[-1].seconds
        again = len(outcomes) < starts or _start_again(fit.problem, outcomes, fit.held_out)
        if outcome.status in ENDED_EARLY or not again:
            break
    return outcomes


def _settings(problem: Problem, solver: Solver, init: str | Sequence[Array]) -> dict[str, Any]:
    """What was minimised and how, for `Completion.settings`."""
    return {
        "solver": {"name": solver.name, **dataclasses.asdict(solver)},
        "model": problem.model,
        "rank": problem.rank,
        "interelement": {str(n): p.settings() for n, p in problem.modes},
        "init": init if isinstance(init, str) else "given",
    }


def _start_again(problem: Problem, outcomes: Sequence[Scored], validation: Observations | None) -> bool:
    """Is the best so far worse than the mean of the data would be? From some starts the objective hardly falls. Not
    where the last run was cut off by its limit of iterations: where it would have led is not known.
    """
    if outcomes[-1][2].status is Status.ITERATIONS:
        return False
    factors, obs = min(outcomes, key=lambda o: o[:2])[2].state.factors, validation or problem.observations
    spread = float(np.std(problem.observations.values, dtype=np.float64))
    with np.errstate(all="ignore"):
        return not rms_error(problem, factors, obs) <= ASTRAY * spread


def _check(
    solver: Any, init: Any, starts: Any, held_out: Any, stopping: Any, seed: Any, checkpoint: str | PathLike[str] | None
) -> None:
    """Refuse arguments that `solve` cannot use."""
    if not isinstance(solver, Solver):
        msg = f"solver must be a Solver or one of {', '.join(SOLVERS)}; got {solver!r}."
        raise TypeError(msg)
    if not isinstance(init, str | Sequence):
        msg = f"init must be one of {', '.join(INITS)}, or a list of factors (I_n, R); got {init!r}."
        raise TypeError(msg)
    check_setting("starts", starts, "int")
    check_setting("held_out", held_out, "float")
    check_setting("seed", seed, "int")
    check_setting("stopping", stopping, "Stopping | None")
    if starts < 1:
        msg = f"starts must be >= 1; got {starts}."
        raise ValueError(msg)
    if starts > 1 and checkpoint is not None:
        msg = f"a checkpoint follows one run; got starts={starts}. Use starts=1."
        raise ValueError(msg)


def _name_of(init: str | Sequence[Array]) -> str:
    """The start in a fingerprint: its name, or a hash of the factors given."""
    if isinstance(init, str):
        return init
    return hashlib.sha256(b"".join(np.ascontiguousarray(A).tobytes() for A in init)).hexdigest()[:16]


def _score(fit: Fit, outcome: Outcome) -> float:
    """What starts are compared by: held-out error, or the objective on all entries (a stochastic solver reports that of
    its last batch alone).
    """
    factors = outcome.state.factors
    score = fit.problem.value(factors) if fit.held_out is None else mean_loss(fit.problem, factors, fit.held_out)
    return score if np.isfinite(score) else np.inf
