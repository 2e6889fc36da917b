"""auto: everything chosen from the data; what the user gives wins."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from tensorfill.completion import Completion
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.defaults import (
    GRAINY,
    SHORT,
    default_held_out,
    default_rank,
    default_ridge,
    default_smooth,
    grain,
    prior_for,
    smooth_modes,
)
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.methods.field import cannot_refine, complete_field, field_recipe
from tensorfill.methods.noisy_field import complete_noisy_field
from tensorfill.methods.table import Recipe, complete_table, table_solver
from tensorfill.numerical.base import NumericalPrior
from tensorfill.solvers.base import Solver

STARTS = 3
SMALL = 30_000  # entries of a field that is fitted in a moment: there is time to decide everything on held-out ones


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
    held_out : share of observed entries set aside to choose by; 0 for none. Of clean fields none are
    starts : how many fits of a table compete; 3
    passes : of self-similarity over a field, after the fit; 2, and 0 for none
    """

    reference = "this package"
    assumes = "low CP rank; smooth modes are found, not assumed"
    use_when = "always, to begin with"
    default_passes: ClassVar[int] = 2

    prior: NumericalPrior | str | None = None
    rank: int | None = None
    smooth: Mapping[int | str, float] | None = None
    ridge: float | None = None
    tv: float | None = None
    solver: Solver | str | None = None
    held_out: float | None = None
    starts: int | None = None
    passes: int | None = None

    def complete(self, obs: Observations, run: Run) -> Completion:
        prior = prior_for(obs, self.prior)
        obs.check_domain(prior.t_domain, type(prior).__name__)
        level = _level(obs) if prior.location and self.rank is None else 0.0
        if level == 0:
            return self._complete(obs, prior, run)
        moved = replace(obs, values=obs.values.astype(np.float64) - level)
        return raised(self._complete(moved, prior, run), obs, level)

    def _complete(self, obs: Observations, prior: NumericalPrior, run: Run) -> Completion:
        given = None if self.smooth is None else {obs.mode(k): float(v) for k, v in self.smooth.items() if v}
        modes = smooth_modes(obs) if given is None else tuple(given)
        table = partial(self._complete_table, prior=prior, given=given)
        field = len(modes) >= 2 and obs.size <= DENSE_LIMIT // 4
        self._refuse_strangers(field)
        if field:
            make = partial(
                field_recipe,
                obs,
                prior,
                prior_given=isinstance(self.prior, NumericalPrior),
                modes=modes,
                smooth=given,
                rank=default_rank(obs, modes) if self.rank is None else int(self.rank),
                ridge=self.ridge,
                tv=self.tv,
                solver=self.solver,
                passes=self.default_passes if self.passes is None else self.passes,
            )
            ratio, noise = grain(obs, modes[:2])
            # fits cut short cannot be compared, and weights that were given are not up for choice
            weighed = self.smooth is not None or self.tv is not None
            # a long mode that is not smooth may be better served as one of a table: stations by day by hour
            mixed = any(length >= SHORT and n not in modes for n, length in enumerate(obs.shape))
            clean = ratio < GRAINY and obs.size > SMALL and not mixed
            settled = weighed or run.max_iter is not None or clean
            if settled if self.held_out is None else self.held_out == 0:
                return complete_field(obs, make(), run, self.name)
            began = time.monotonic()
            share = default_held_out(obs) if self.held_out is None else self.held_out
            done = complete_noisy_field(
                obs,
                partial(make, noise=noise),
                run,
                self.name,
                share=share,
                sure=weighed,
                rival=table if mixed and not weighed else None,
            )
            if done is not None:
                return done
            if run.seconds is not None:
                run = replace(run, seconds=max(run.seconds - (time.monotonic() - began), 1e-9))
        return table(obs, run)

    def _complete_table(
        self, obs: Observations, run: Run, *, prior: NumericalPrior, given: Mapping[int, float] | None
    ) -> Completion:
        smooth = default_smooth(obs, prior) if given is None else given
        recipe = Recipe(
            prior,
            rank=self.rank,
            most=default_rank(obs, tuple(smooth)[:1] if len(smooth) == 1 else ()),
            smooth=smooth,
            ridge=default_ridge(obs, prior) if self.ridge is None else float(self.ridge),
            ridge_given=self.ridge is not None,
            solver=table_solver(self.solver, prior),
            held_out=default_held_out(obs) if self.held_out is None else self.held_out,
            starts=STARTS if self.starts is None else self.starts,
            smooth_given=given is not None,
        )
        return complete_table(obs, recipe, run, self.name)

    def _refuse_strangers(self, field: bool) -> None:
        """A sentence for what was given and would not be used."""
        if field and self.starts is not None:
            msg = f"starts is for tables, and this is a field: two modes or more are smooth; got {self.starts}."
            raise ValueError(msg)
        for name in () if field else ("tv", "passes"):
            given = getattr(self, name)
            if given:
                msg = (
                    f"{name} is for fields, and fewer than two modes here are smooth; got {given}. "
                    f"Leave it out, or name the smooth modes: smooth={{0: 1.0, 1: 1.0}}."
                )
                raise ValueError(msg)


def _level(obs: Observations) -> float:
    """The mean of data that lie far from zero, measured by their spread; else 0. Taken out of them, it neither uses up
    the smoothness and the ridge of the factors nor the digits of their numbers.
    """
    t = obs.values.astype(np.float64)
    level, spread = float(t.mean()), float(t.std())
    return level if abs(level) > 3 * spread > 0 else 0.0


def raised(done: Completion, obs: Observations, level: float) -> Completion:
    """The completion of data less `level`, as that of `obs`: a constant component more."""
    factors = done.factors
    if factors is not None:
        size = abs(level) ** (1.0 / obs.ndim)
        ends = [
            np.full((len(A), 1), size if n or level > 0 else -size, dtype=np.float64) for n, A in enumerate(factors)
        ]
        factors = [np.hstack([A, end]) for A, end in zip(factors, ends, strict=True)]
    dense = None if done.dense is None else done.dense + level
    settings = {**done.settings, "level": level}
    return replace(done, observations=obs, factors=factors, dense=dense, settings=settings)


@METHODS.register("auto-best")
@dataclass(frozen=True)
class AutoBest(Auto):
    """As auto, with many passes of self-similarity: for pictures, cubes and video alone."""

    reference = "this package"
    assumes = "two modes are positions (rows and columns), and small patches have look-alikes nearby"
    use_when = "pictures, spectral cubes and video, when some seconds more are fine"
    default_passes = 10

    def refuses(self, obs: Observations) -> str | None:
        modes = smooth_modes(obs) if self.smooth is None else tuple(obs.mode(k) for k, v in self.smooth.items() if v)
        return cannot_refine(obs, prior_for(obs, self.prior), modes)

    def complete(self, obs: Observations, run: Run) -> Completion:
        self.check(obs)
        return super().complete(obs, run)
