"""auto: everything chosen from the data; what the user gives wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tensorfill.completion import Completion
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.defaults import default_prior, default_rank, default_ridge, default_smooth
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.methods.field import FieldRecipe, complete_field, field_solver
from tensorfill.methods.table import Recipe, complete_table, make_solver
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.solvers.base import SOLVERS, Solver


@METHODS.register("auto")
@dataclass(frozen=True)
class Auto(Method):
    """The default: looks at the data and chooses; None means "choose".

    Parameters
    ----------
    prior : numerical prior, an object or its name
    rank : R
    smooth : {mode or dimension name: rho} of quadratic variation along that mode; {} for none
    ridge : weight of the ridge on every factor
    tv : dimensionless weight of total variation on X itself (pictures and fields); 0 for none
    solver : a Solver or its name
    held_out : share of observed entries set aside to choose and to stop by (tables)
    starts : how many fits compete (tables)
    """

    reference = "this package"
    assumes = "low CP rank; smooth modes are found, not assumed"
    use_when = "always, to begin with"

    prior: NumericalPrior | str | None = None
    rank: int | None = None
    smooth: Mapping[int | str, float] | None = None
    ridge: float | None = None
    tv: float | None = None
    solver: Solver | str | None = None
    held_out: float = 0.1
    starts: int = 3

    def complete(self, obs: Observations, run: Run) -> Completion:
        prior = default_prior(obs) if self.prior is None else PRIORS.make(self.prior)
        obs.check_domain(prior.t_domain, type(prior).__name__)
        if self.smooth is None:
            smooth = default_smooth(obs, prior)
        else:
            smooth = {obs.mode(k): float(v) for k, v in self.smooth.items() if v}
        ridge = default_ridge(obs, prior) if self.ridge is None else float(self.ridge)
        rank = default_rank(obs, tuple(smooth)) if self.rank is None else int(self.rank)
        if len(smooth) >= 2 and obs.size <= DENSE_LIMIT // 4:
            solver = field_solver() if self.solver is None else SOLVERS.make(self.solver)
            tv = 1.0 if self.tv is None else float(self.tv)
            return complete_field(obs, FieldRecipe(prior, rank, smooth, ridge, tv, solver), run, self.name)
        recipe = Recipe(
            prior,
            rank,
            smooth,
            ridge,
            make_solver(self.solver),
            self.held_out,
            self.starts,
            rank_given=self.rank is not None,
            ridge_given=self.ridge is not None,
        )
        return complete_table(obs, recipe, run, self.name)
