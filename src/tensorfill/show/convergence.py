"""Do the chains of a posterior agree? Split R-hat and effective draws in words, and what to do where they do not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tensorfill.result.answer import posterior_of

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion

AGREE = 1.1  # R-hat below which chains are commonly taken to agree (Gelman and Rubin 1992)
ENOUGH = 10.0  # effective draws: the mean is then known to a third of the spread (1 / sqrt 10)


@dataclass(frozen=True)
class Convergence:
    """How far a sampler has come.

    Attributes
    ----------
    rhat : split R-hat of fitted values and objective, the 95 % point over those traced; 1 where chains agree
    ess : effective number of independent draws, median over those traced
    chains, draws : chains that were run, and draws that were kept
    """

    rhat: float
    ess: float
    chains: int
    draws: int

    @property
    def ok(self) -> bool:
        """Nothing to worry about?"""
        return self.rhat < AGREE and self.ess >= ENOUGH

    @property
    def words(self) -> str:
        """The numbers: `R-hat 1.03, 85 effective draws, 4 chains, 60 draws kept`."""
        if not np.isfinite(self.rhat):
            return f"too few steps to tell whether they converged; {self.draws} kept"
        chains = f"{self.chains} chain{'s' if self.chains != 1 else ''}"
        return f"R-hat {self.rhat:.2f}, {self.ess:.0f} effective draws, {chains}, {self.draws} draws kept"

    @property
    def doubt(self) -> str:
        """What is wrong and what to do, in a sentence or two; empty where nothing is."""
        if self.ok:
            return ""
        more = "More draws may help (draws=, burn=: twice as many each)"
        if not np.isfinite(self.rhat):
            return f"The sampler was stopped before its convergence could be judged. {more}."
        if self.rhat >= AGREE:
            return (
                f"The chains disagree (R-hat {self.rhat:.2f}, should be below {AGREE}), so intervals may be off. "
                f"{more}, or a lower rank=."
            )
        return f"The draws are correlated (only {self.ess:.0f} effective ones), so intervals are rough. {more}."


def convergence(done: Completion) -> Convergence | None:
    """Of a run whose answer is a posterior; None for any other."""
    posterior = posterior_of(done.answer)
    if posterior is None:
        return None
    chains = int(posterior.numbers.get("chains", 1))
    return Convergence(posterior.rhat, posterior.ess, chains, len(posterior.draws))
