"""auto: everything chosen from the data; what the user gives wins."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np

from tensorfill.choose.defaults import (
    GRAINY,
    SHORT,
    default_held_out,
    default_rank,
    default_ridge,
    default_smooth,
    grain,
    prior_for,
    smooth_modes,
    unit_mode,
)
from tensorfill.choose.field import complete_field, field_recipe, schedule
from tensorfill.choose.noisy_field import complete_noisy_field
from tensorfill.choose.table import Recipe, complete_table, table_solver
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.data.units import Units
from tensorfill.methods.base import METHODS, Method, Run
from tensorfill.methods.checks import check_above, check_whole
from tensorfill.numerical.base import NumericalPrior
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.solvers.base import Solver

SMALL = 30_000  # entries of a field that is fitted in a moment: there is time to decide everything on held-out ones


@METHODS.register("auto", at=0)
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
    default_starts: ClassVar[int] = 3

    prior: NumericalPrior | str | None = None
    rank: int | None = None
    smooth: Mapping[int | str, float] | None = None
    ridge: float | None = None
    tv: float | None = None
    solver: Solver | str | None = None
    held_out: float | None = None
    starts: int | None = None
    passes: int | None = None

    def __post_init__(self) -> None:
        check_above(self, 0, *self._given("ridge", "tv"), included=True)
        check_whole(self, 1, *self._given("rank", "starts"))
        check_whole(self, 0, *self._given("passes"))
        if self.held_out is not None and not 0 <= self.held_out < 1:
            msg = f"held_out must be a share between 0 and 1, 0 for none; got {self.held_out!r}."
            raise ValueError(msg)
        for mode, rho in (self.smooth or {}).items():
            if not 0 <= rho < np.inf:
                msg = f"smooth must hold weights >= 0; got {rho!r} for mode {mode!r}."
                raise ValueError(msg)

    def _given(self, *names: str) -> list[str]:
        return [name for name in names if getattr(self, name) is not None]

    def complete(self, obs: Observations, run: Run) -> Completion:
        prior = prior_for(obs, self.prior)
        obs.check_domain(prior.t_domain, type(prior).__name__)
        even = obs if obs.weights is None else replace(obs, weights=obs.weights / obs.weights.mean())
        units = self._units(obs, prior)
        if units is None:
            return replace(self._complete(even, prior, run), observations=obs)
        moved = units.take_out(even)
        if units.own:
            prior = prior_for(moved, "normal")
        return in_units(self._complete(moved, prior, run), units, obs)

    def _units(self, obs: Observations, prior: NumericalPrior) -> Units | None:
        """Units for the fit, if not those of the data. With them the model has a component more, and weights that were
        given would mean something else.
        """
        if self.rank is not None:
            return None
        if self.prior is None and self.ridge is None and not self.smooth:
            mode = unit_mode(obs)
            if mode is not None:
                return Units.of_slices(obs, mode)
        if not prior.location or not abs(float(obs.values.mean())) > 3 * float(obs.values.std()) > 0:
            return None
        return Units.of_all(obs, scaled=False)

    def _complete(self, obs: Observations, prior: NumericalPrior, run: Run) -> Completion:
        given = None if self.smooth is None else by_mode(obs, self.smooth)
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
            short = run.max_iter is not None and run.max_iter < schedule(make().solver)
            settled = weighed or short or clean
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
            starts=self.default_starts if self.starts is None else self.starts,
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


def by_mode(obs: Observations, smooth: Mapping[int | str, float]) -> dict[int, float]:
    """{mode: rho} without zeros; a mode named twice is refused."""
    modes = [obs.mode(k) for k in smooth]
    if len(set(modes)) < len(modes):
        msg = f"smooth must name each mode once; got {dict(smooth)}, of which two are the same mode."
        raise ValueError(msg)
    return {n: float(rho) for n, rho in zip(modes, smooth.values(), strict=True) if rho}


@METHODS.register("auto-best", at=1)
@dataclass(frozen=True)
class AutoBest(Auto):
    """As auto, with more time: many passes of self-similarity over a field, many starts of a table."""

    reference = "this package"
    assumes = "as auto; for fields also that small patches have look-alikes nearby"
    use_when = "when a few times as long is fine: above all pictures, spectral cubes and video"
    default_passes = 10
    default_starts = 10


def in_units(done: Completion, units: Units, obs: Observations) -> Completion:
    """The completion of `units.take_out(obs)` as that of `obs`."""
    answer = done.answer
    if isinstance(answer, Filled):
        behind = None if answer.behind is None else replace(answer.behind, units=units)
        answer = Filled(units.put_back(answer.X), behind)
    else:
        answer = replace(answer, units=units)  # type: ignore[type-var]
    return replace(done, observations=obs, answer=answer, error_units=units if units.own else None)
