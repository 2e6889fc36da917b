"""auto: everything chosen from the data; what the user gives wins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tensorfill.completion import Completion
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.defaults import default_held_out, default_rank, default_ridge, default_smooth, prior_for
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.methods.field import DEFAULT_TV, FieldRecipe, complete_field, field_solver
from tensorfill.methods.table import Recipe, complete_table, table_solver
from tensorfill.numerical.base import NumericalPrior
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
    held_out: float | None = None
    starts: int = 3

    def complete(self, obs: Observations, run: Run) -> Completion:
        prior = prior_for(obs, self.prior)
        obs.check_domain(prior.t_domain, type(prior).__name__)
        if self.smooth is None:
            smooth = default_smooth(obs, prior)
        else:
            smooth = {obs.mode(k): float(v) for k, v in self.smooth.items() if v}
        ridge = default_ridge(obs, prior) if self.ridge is None else float(self.ridge)
        if len(smooth) >= 2 and obs.size <= DENSE_LIMIT // 4:
            rank = default_rank(obs, tuple(smooth)) if self.rank is None else int(self.rank)
            solver = field_solver() if self.solver is None else SOLVERS.make(self.solver)
            tv = DEFAULT_TV if self.tv is None else float(self.tv)
            return complete_field(obs, FieldRecipe(prior, rank, smooth, ridge, tv, solver), run, self.name)
        recipe = Recipe(
            prior,
            rank=self.rank,
            most=default_rank(obs),
            smooth=smooth,
            ridge=ridge,
            ridge_given=self.ridge is not None,
            solver=table_solver(self.solver),
            held_out=default_held_out(obs) if self.held_out is None else self.held_out,
            starts=self.starts,
        )
        return complete_table(obs, recipe, run, self.name)
