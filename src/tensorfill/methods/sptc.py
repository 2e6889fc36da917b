"""SPTC: Smooth Poisson Tensor Completion, Algorithm 3 of the paper with the paper's settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.data.units import Units
from tensorfill.interelement.quadratic import penalties
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.methods.defaults import long_modes
from tensorfill.models.init import typical
from tensorfill.numerical.base import NONNEGATIVE, POSITIVE, PRIORS, REAL, NumericalPrior
from tensorfill.problem import Problem
from tensorfill.result.answer import Factors
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.fit import solve
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.onestep import OneStep

SWEEPS = 2000  # mode by mode they get as far as the 4000 iterations of the authors' program (docs/paper.md)
RANGE = 255.0  # of the paper's pictures
SCALABLE = (NONNEGATIVE, POSITIVE, REAL)  # domains of data that are scaled to it


@METHODS.register("sptc")
@dataclass(frozen=True)
class SPTC(Method):
    """Smooth Poisson Tensor Completion.

    Parameters
    ----------
    smooth : {mode: rho}; by default rho 10 on every mode longer than 4: 10, 10, 0 for a colour picture
    rank, epsilon : R and epsilon of Algorithm 3
    alpha : step size, or "auto": below the largest that does not collapse, chosen by the objective
    order : "sequential", mode by mode, as printed; "together", all modes from one X, as in the authors' own program
    prior : Poisson in the paper; any other gives that instance of the framework

    The settings mean the same in every unit: for the fit, data are scaled to the range of the paper's pictures (the
    largest becomes 255). Pictures of 8 bit, whole numbers up to 255 with some above 127, are taken as they are, in any
    binary unit; so are all data with a prior that is given as an object, or is for probabilities or whole numbers.
    """

    reference = "Yuan and Huang, A Generalizable Framework for Low-Rank Tensor Completion with Numerical Priors"
    assumes = "non-negative whole numbers, smooth along the long modes, low CP rank"
    use_when = "reproducing the paper; auto is faster and more accurate"
    uses_weights = True

    smooth: Mapping[int | str, float] | None = None
    rank: int = 300
    epsilon: float = 1e-3
    alpha: float | str = "auto"
    order: str = "sequential"
    prior: NumericalPrior | str = "poisson"
    max_iter: int = SWEEPS
    tol: float = 1e-9

    def __post_init__(self) -> None:
        OneStep(self.alpha, self.epsilon, order=self.order)  # refuses what it cannot take

    def memory(self, obs: Observations) -> float:
        each = min(60.0 * obs.size, 400.0 * obs.nnz)  # dense, or by coordinates
        return each + 32.0 * self.rank * sum(obs.shape)  # four arrays of the size of the factors

    def fit(self, obs: Observations, run: Run) -> Completion:
        prior = PRIORS.make(self.prior)
        obs.check_domain(prior.t_domain, type(prior).__name__)  # before scaling: the message names a value as given
        units = self._units(obs, prior)
        given, obs = obs, obs if units is None else units.transform(obs)
        if self.smooth is None:
            rho = dict.fromkeys(long_modes(obs.shape), 10.0)
        else:
            rho = {obs.mode(k): float(v) for k, v in self.smooth.items()}
        # float32 takes half of the time for the same score, where the data are in its range
        dtype = np.float32 if 1e-14 < typical(obs, prior)[1] < 1e14 else np.float64
        problem = Problem(obs, rank=self.rank, prior=prior, interelement=penalties(obs.ndim, rho, 0.0), dtype=dtype)
        limit = self.max_iter if run.max_iter is None else run.max_iter
        done = solve(
            problem,
            OneStep(self.alpha, self.epsilon, prior.x_domain.low >= 0, self.order),
            init="uniform",
            stopping=Stopping(max_iter=limit, tol=self.tol, seconds=run.seconds),
            seed=run.seed,
            callback=run.callback,
            checkpoint=run.checkpoint,
            resume=run.resume,
        )
        whole = done.status is Status.ITERATIONS and limit == self.max_iter
        done = replace(done, method=self.name, status=Status.FINISHED if whole else done.status)
        if units is None:
            return done
        assert isinstance(done.answer, Factors)
        return replace(done, observations=given, answer=replace(done.answer, units=units), problem=None)

    def _units(self, obs: Observations, prior: NumericalPrior) -> Units | None:
        """What brings the data to the range of the paper; None if they are in it, or their unit is the prior's."""
        largest = float(np.abs(obs.values).max())
        if not isinstance(self.prior, str) or prior.t_domain not in SCALABLE or largest == 0:
            return None
        power = int(np.ceil(np.log2(largest / RANGE)))
        whole = np.ldexp(obs.values.astype(np.float64), -power)
        scale = np.ldexp(1.0, power) if np.array_equal(whole, np.rint(whole)) else largest / RANGE  # 8 bit, or not
        return None if scale == 1 else Units(0, np.zeros(obs.shape[0]), np.full(obs.shape[0], scale))
