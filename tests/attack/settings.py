"""Every setting of every method, prior, inter-element prior and solver, with every odd value, one at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import tensorfill as tfl
from attack.calls import ODD, _data, check, complete
from tensorfill.api import settings_of
from tensorfill.data.memory import limit_memory
from tensorfill.methods import METHODS

PARTS = {"prior": tfl.PRIORS, "smoothness": tfl.INTERELEMENT, "solver": tfl.SOLVERS}


def all_settings() -> list[tuple[str, str, str]]:
    """(kind, which of the kind, setting)"""
    out = [("method", method, name) for method in METHODS for name in sorted(settings_of(METHODS[method]))]
    for kind, registry in PARTS.items():
        out += [(kind, key, f.name) for key in registry for f in dataclasses.fields(registry[key]) if f.init]
    return out


class Cases:
    """All of them, in an order drawn by the seed, and then again."""

    budget = 64 * 2**20  # bytes that a call may take

    def __init__(self, seed: int) -> None:
        self.settings = all_settings()
        self.order = np.random.default_rng(seed).permutation(len(self.settings) * len(ODD))
        self.data = dict(_data(np.random.default_rng(0)))["counts"]

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        which, odd = divmod(int(self.order[k % len(self.order)]), len(ODD))
        kind, key, name = self.settings[which]
        words = f"{kind} {key}, {name}={ODD[odd]!r}"[:160]
        return f"#{k} {words}", partial(self.use, kind, key, {name: ODD[odd]})

    def use(self, kind: str, key: str, given: dict[str, Any]) -> None:
        with limit_memory(self.budget):
            if kind == "method":
                complete(self.data, key, given, np.random.default_rng(0))
                return
            part = PARTS[kind][key](**given)
            problem = tfl.Problem(
                tfl.observe(self.data),
                rank=2,
                prior=part if kind == "prior" else "normal",
                interelement={0: part} if kind == "smoothness" else {},
            )
            solver = part if kind == "solver" else "lbfgsb"
            check(tfl.solve(problem, solver, stopping=tfl.Stopping(max_iter=2, seconds=2.0)), None)
