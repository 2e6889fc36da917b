"""SPTC: Smooth Poisson Tensor Completion, Algorithm 3 of the paper with the paper's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tensorfill.data.observations import Observations
from tensorfill.interelement.quadratic import penalties
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.methods.modes import long_modes
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.problem import Problem
from tensorfill.result.completion import Completion
from tensorfill.solvers.fit import solve
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.onestep import OneStep

# When to stop is left open by the paper, and smoothing fades as a run goes on, so that its length matters. Read off one
# run, tree with 95 % missing, which falls through the printed 20.53 dB at about 3.4. As the sum of the steps, because
# alpha at the edge goes about as 1 / (number of observed entries); that one sum suits all rates is an assumption.
TIME = 3.5


@METHODS.register("sptc")
@dataclass(frozen=True)
class SPTC(Method):
    """Smooth Poisson Tensor Completion.

    Parameters
    ----------
    smooth : {mode: rho}; by default rho 10 on every mode longer than 4: 10, 10, 0 for a colour picture
    rank, epsilon : R and epsilon of Algorithm 3
    alpha : step size, or "auto": nine tenths of the largest that does not collapse
    time : the run ends when its steps add up to this, if not before
    prior : Poisson in the paper; any other gives that instance of the framework
    """

    reference = "Yuan and Huang, A Generalizable Framework for Low-Rank Tensor Completion with Numerical Priors"
    assumes = "non-negative whole numbers, smooth along the long modes, low CP rank"
    use_when = "reproducing the paper; auto is faster and more accurate"

    smooth: Mapping[int | str, float] | None = None
    rank: int = 300
    epsilon: float = 1e-3
    alpha: float | str = "auto"
    prior: NumericalPrior | str = "poisson"
    time: float | None = TIME
    max_iter: int = 8000
    tol: float = 1e-8

    def memory(self, obs: Observations) -> float:
        each = min(60.0 * obs.size, 400.0 * obs.nnz)  # dense, or by coordinates
        return each + 32.0 * self.rank * sum(obs.shape)  # four arrays of the size of the factors

    def complete(self, obs: Observations, run: Run) -> Completion:
        prior = PRIORS.make(self.prior)
        if self.smooth is None:
            rho = dict.fromkeys(long_modes(obs.shape), 10.0)
        else:
            rho = {obs.mode(k): float(v) for k, v in self.smooth.items()}
        problem = Problem(obs, rank=self.rank, prior=prior, interelement=penalties(obs.ndim, rho, 0.0))
        done = solve(
            problem,
            OneStep(self.alpha, self.epsilon, project=prior.x_domain.low >= 0, time=self.time),
            init="uniform",
            stopping=Stopping(
                max_iter=self.max_iter if run.max_iter is None else run.max_iter, tol=self.tol, seconds=run.seconds
            ),
            seed=run.seed,
            callback=run.callback,
            checkpoint=run.checkpoint,
            resume=run.resume,
        )
        return replace(done, method=self.name)
