"""Partitioned: a Problem whose observations are in blocks. The objective is a sum over blocks, and so is its gradient.

Design: `observations` is a sample in memory with statistics of all of them: starts, defaults and warnings use it. What
needs every observation goes through `Partitions.gather`: a block is sent the rows of the longest mode that it owns and
the factors of all other modes, and sends back the gradient in the same form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tensorfill.blocks import Block, Partitions
from tensorfill.blocks.base import Sized, in_unit
from tensorfill.kernels.sampled import SampledLayout
from tensorfill.models import MODELS
from tensorfill.numerical.base import Interval, NumericalPrior
from tensorfill.problem import Problem
from tensorfill.typing import Array


@dataclass(frozen=True, eq=False)
class Evaluation(Sized):
    """What a block needs to evaluate the data term; sent to the process or machine that holds the block."""

    prior: NumericalPrior
    model: str
    rank: Any
    shape: tuple[int, ...]
    factors: Sequence[Array | None]  # None for the mode whose rows the block owns
    dtype: Any
    shift: float  # values are fitted as (t - shift) / spread
    spread: float
    threads: int | None

    def layout(self, block: Block, own: Array) -> tuple[SampledLayout, list[Array]]:
        """(the block as a tensor of its own, as long along its mode as it has rows; the factors of that tensor).

        own : (rows of the block, R), its part of the factor of its mode
        """
        shape = list(self.shape)
        shape[block.mode] = len(own)
        contraction = MODELS[self.model].contraction(shape, self.rank)
        factors = [own if A is None else A for A in self.factors]
        return SampledLayout(block.indices, contraction, self.threads, checked=True), factors


def value_and_pullback(block: Block, shared: Evaluation, own: Array) -> tuple[list[Any], Array]:
    """([value, gradients of all other modes], gradient of the rows that the block owns)."""
    t = in_unit(block, shared.shift, shared.spread, shared.dtype)
    w = None if block.weights is None else block.weights.astype(shared.dtype, copy=False)

    def entrywise(start: int, stop: int, x: Array) -> tuple[float, Array]:
        nll, g = shared.prior.nll_and_grad(t[start:stop], x)
        if w is not None:
            nll, g = nll * w[start:stop], g * w[start:stop]
        return float(nll.sum(dtype=np.float64)), g

    layout, factors = shared.layout(block, own)
    value, grads = layout.value_and_pullback(entrywise, factors)
    mine = np.array(grads[block.mode])
    return [value, [None if n == block.mode else G for n, G in enumerate(grads)]], mine


def value_alone(block: Block, shared: Evaluation, own: Array) -> tuple[float, None]:
    """(value of the data term in this block, None: nothing is kept per block)."""
    layout, factors = shared.layout(block, own)
    nll = shared.prior.nll(in_unit(block, shared.shift, shared.spread, shared.dtype), layout.predict(factors))
    return float((nll if block.weights is None else nll * block.weights).sum(dtype=np.float64)), None


def first_outside(block: Block, domain: Interval, own: None) -> tuple[None, Any]:
    """(None, (coordinates, value) of the first observation that the prior cannot produce, or None)."""
    bad = np.flatnonzero(~domain.includes(block.values))
    if not len(bad):
        return None, None
    at = block.coordinates()[bad[0]]
    return None, (tuple(int(i) for i in at), float(block.values[bad[0]]))


@dataclass(frozen=True, eq=False)
class Partitioned(Problem):
    """A problem over partitions. Parameters are those of `Problem`, and `partitions`, of which `observations` must be
    the sample; make one with `Partitioned.on_blocks`.
    """

    partitions: Partitions = field(kw_only=True, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tensorspace is not None:
            msg = (
                "tensorspace must be None for observations in blocks, because a tensor-space prior needs every entry "
                f"of the tensor in memory; got {self.tensorspace}. Leave it out."
            )
            raise ValueError(msg)
        if not self.prior.uniform:
            msg = (
                "prior must be one for all entries where observations lie in blocks; got a prior per slice. Complete "
                "the slices in memory, or in parts."
            )
            raise ValueError(msg)
        if not self.quiet:
            self.check_domain()

    @staticmethod
    def on_blocks(partitions: Partitions, rank: Any, **settings: Any) -> Partitioned:
        """The problem of these observations."""
        return Partitioned(partitions.sample, rank, partitions=partitions, **settings)

    def check_domain(self) -> None:
        """Refuse values that the prior cannot produce, in any block."""
        domain = self.prior.t_domain
        if domain == Interval():
            return
        for found in self.partitions.gather(first_outside, domain, self.partitions.main)[1]:
            if found is not None:
                msg = (
                    f"values must be {domain.phrase} for {type(self.prior).__name__}; got {found[1]} at index "
                    f'{found[0]}. Use prior="normal", or leave that entry out.'
                )
                raise ValueError(msg)

    # --- the objective --------------------------------------------------------------------------------------------

    def value(self, factors: Sequence[Array]) -> float:
        factors = self.check_factors(factors)
        total, _ = self._gather(value_alone, factors)
        return float(total) + self._l2(factors)

    def value_and_grad(self, factors: Sequence[Array]) -> tuple[float, list[Array]]:
        factors = self.check_factors(factors)
        (value, grads), mine = self._gather(value_and_pullback, factors)
        grads = list(grads)
        grads[self.partitions.main] = np.concatenate(mine)
        return float(value) + self._l2(factors), self._add_smooth(grads, factors)

    def _gather(self, work: Any, factors: Sequence[Array]) -> tuple[Any, list[Any]]:
        """(sum over blocks, list of what each block gives for its own rows) of `work(block, evaluation, own rows)`."""
        p = self.partitions
        return p.gather(work, self.evaluation(factors, p.main), p.main, p.own(p.main, factors[p.main]))

    def evaluation(self, factors: Sequence[Array], mode: int) -> Evaluation:
        """What is sent to all blocks along `mode`: everything but the factor of that mode, of which each owns rows."""
        p = self.partitions
        others = [None if n == mode else A for n, A in enumerate(factors)]
        return Evaluation(
            self.prior, self.model, self.rank, self.shape, others, self.dtype, p.shift, p.spread, p.threads
        )

    def fingerprint(self) -> str:
        own = self.partitions
        return f"{super().fingerprint()} {own.digest} {own.shift!r} {own.spread!r}"

    def on(self, observations: Any) -> Problem:
        """The same problem for observations in memory, as a plain Problem."""
        names = ("rank", "prior", "interelement", "tensorspace", "layout", "dtype", "model")
        return Problem(observations, quiet=True, **{name: getattr(self, name) for name in names})
