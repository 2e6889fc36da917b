"""What transforms have in common: a transform of a method is a method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from tensorfill.data.facts import Facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Method, Run
from tensorfill.result.completion import Completion
from tensorfill.result.packing import Answer


@dataclass(frozen=True)
class Transform(Method):
    """Fit `method` to transformed data; give `apply` and `invert`, and where the shape changes `facts_after`."""

    method: Method

    @property
    def words(self) -> str:
        """What stands behind the label of the method."""
        return ""

    def apply(self, obs: Observations) -> tuple[Observations, Any]:
        """Return the transformed observations, and what it takes to invert the answer."""
        raise NotImplementedError

    def invert(self, answer: Answer, state: Any) -> Answer:
        """Return the answer for the data as they were."""
        raise NotImplementedError

    def facts_after(self, facts: Facts) -> Facts:
        """Facts of the transformed data, as far as costs depend on them."""
        return facts

    def fit(self, obs: Observations, run: Run) -> Completion:
        data, state = self.apply(obs)
        facts = None if run.facts is None else self.facts_after(run.facts)
        done = self.method.fit(data, replace(run, facts=facts))
        return replace(done, observations=obs, answer=self.invert(done.answer, state))

    @property
    def label(self) -> str:
        return f"{self.method.label}, {self.words}" if self.words else self.method.label

    @property
    def name(self) -> str:  # type: ignore[override]
        """Of the method."""
        return self.method.name

    @property
    def averages(self) -> bool:  # type: ignore[override]
        """As the method."""
        return self.method.averages

    def cost(self, facts: Facts) -> float:
        return self.method.cost(self.facts_after(facts))

    def shorter(self, facts: Facts, seconds: float) -> Method:
        return replace(self, method=self.method.shorter(self.facts_after(facts), seconds))

    def knows_unseen(self, mode: int) -> bool:
        return self.method.knows_unseen(mode)

    def settings(self) -> dict[str, Any]:
        return self.method.settings()
