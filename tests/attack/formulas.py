"""Losses written as text: nested, long, huge, undefined, or no formula at all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import tensorfill as tfl
from attack.arena import Wrong
from tensorfill.numerical.expression import FUNCTIONS

LEAVES = ["x", "t", "0", "1", "2", "-1", "0.5", "3.15", "1e308", "1e-308", "9" * 30, "1j", "y", "True", "'x'", "x.real"]
SIGNS = ["+", "-", "*", "/", "**", "//", "%", "<", "@", " and "]
DEEPEST = 12
T, X = np.array([0.0, 1.0, 3.0]), np.array([0.5, 1.0, 2.0])


def formula(rng: np.random.Generator, depth: int) -> str:
    """By the grammar of formulas, with a few words that it has not."""
    if depth == 0 or rng.random() < 0.1:
        common = len(LEAVES) if rng.random() < 0.1 else 10
        return LEAVES[int(rng.integers(common))]
    if rng.random() < 0.5:
        name = FUNCTIONS[int(rng.integers(len(FUNCTIONS)))]
        parts = [formula(rng, depth - 1) for _ in range(2 if name in ("min", "max") else 1)]
        return f"{name}({', '.join(parts)})"
    sign = SIGNS[int(rng.integers(len(SIGNS) if rng.random() < 0.05 else 5))]
    return f"({formula(rng, depth - 1)}{sign}{formula(rng, depth - 1)})"


class Cases:
    """Case k makes a prior of the k-th formula and asks it for its loss and its derivatives."""

    hang = 5.0
    budget = 64 * 2**20

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        text = formula(rng, int(rng.integers(1, DEEPEST)))
        if rng.random() < 0.1:  # a chain: x*x*x*...
            text = text[:60] + "*x" * int(rng.integers(1, 1500))
        return f"#{k} {text[:120]}", lambda: self.use(text)

    def use(self, text: str) -> None:
        prior = tfl.Custom(text)
        with np.errstate(all="ignore"):
            for made in (prior.nll(T, X), prior.grad(T, X)):
                if np.shape(made) != X.shape:
                    raise Wrong(f"of shape {np.shape(made)}")
