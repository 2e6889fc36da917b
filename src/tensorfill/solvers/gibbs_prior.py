"""The precisions of the Gibbs sampler: how strongly each column of a factor is held to its mean and to its neighbours.

Column a (I,) of a mode: minus log density ridge/2 (sum_i (a_i - middle)^2 + ratio sum_i (a_i - a_(i+1))^2), so the
quadratic variation weighs rho = ridge * ratio. The ratio lies on a grid that begins with 0: a mode without an order
finds itself there. Given the column, ratio (with the ridge integrated out), ridge and middle are drawn exactly; the
normaliser needs the eigenvalues of the second differences only, which are cosines. On a ring (the hours of a day, which
go over into the next day's) the last row is a neighbour of the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class ColumnPrior:
    """Hyperpriors of the columns of one mode, and their conditional draws.

    Attributes
    ----------
    length : I, the rows
    grid : ratios that may be drawn, the first 0; just (0,) for a mode without smoothness
    shape, rate : of the Gamma prior of the ridge; rate (K,) or a number
    centre : precision of the middle around 0
    ring : is the last row a neighbour of the first?
    """

    length: int
    grid: tuple[float, ...]
    shape: float
    rate: Any
    centre: float = 1.0
    ring: bool = False

    @cached_property
    def log_det(self) -> Array:
        """ln det(identity + ratio * second differences), for each ratio."""
        return np.log1p(np.outer(self.grid, self.waves)).sum(axis=1)

    @cached_property
    def waves(self) -> Array:
        """Eigenvalues of the second differences, (I,)."""
        k = np.arange(self.length)
        return 2 - 2 * np.cos(np.pi * (2 * ((k + 1) // 2) if self.ring else k) / self.length)

    @cached_property
    def basis(self) -> Array:
        """Their eigenvectors, in columns, (I, I)."""
        i, k = np.arange(self.length), np.arange(self.length)
        if self.ring:  # 1, then cosine and sine of each frequency; of an even length the last cosine is alone
            turns = 2 * np.pi * np.outer(i, (k + 1) // 2) / self.length
            out = np.where((k % 2 == 1) | (k == 0), np.cos(turns), np.sin(turns))
        else:
            out = np.cos(np.pi * np.outer(i + 0.5, k) / self.length)
        return out / np.linalg.norm(out, axis=0)

    def apart(self, A: Array) -> Array:
        """Sum of squared differences of neighbours in every column of A (I, K), (K,)."""
        out = (np.diff(A, axis=0) ** 2).sum(axis=0)
        return out + (A[-1] - A[0]) ** 2 if self.ring else out

    def draw(self, A: Array, middle: Array, moves: Array, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """(ridge, ratio, middle), each (K,), given the columns A (I, K); `moves` says which middles are not 0."""
        around = ((A - middle) ** 2).sum(axis=0)
        shape = self.shape + 0.5 * self.length
        grid = np.asarray(self.grid)
        if len(grid) > 1:
            rates = self.rate + 0.5 * (around + grid[:, None] * self.apart(A))
            chance = 0.5 * self.log_det[:, None] - shape * np.log(rates)
            chance = np.cumsum(np.exp(chance - chance.max(axis=0)), axis=0)
            pick = (chance < rng.random(A.shape[1]) * chance[-1]).sum(axis=0)
            ratio, rate = grid[pick], rates[pick, np.arange(A.shape[1])]
        else:
            ratio, rate = np.zeros(A.shape[1]), self.rate + 0.5 * around
        ridge = rng.standard_gamma(shape, A.shape[1]) / rate
        precision = ridge * self.length + self.centre
        middle = ridge * A.sum(axis=0) / precision + rng.standard_normal(A.shape[1]) / np.sqrt(precision)
        return ridge, ratio, np.where(moves, middle, 0.0)

    def sample(self, moves: Array, rng: np.random.Generator) -> tuple[Array, Array, Array]:
        """(ridge, ratio, middle) from the prior."""
        K = len(moves)
        ridge = rng.standard_gamma(self.shape, K) / self.rate
        ratio = np.asarray(self.grid)[rng.integers(len(self.grid), size=K)]
        middle = np.where(moves, rng.standard_normal(K) / np.sqrt(self.centre), 0.0)
        return ridge, ratio, middle


RATIOS = (0.0, *(4.0**k for k in range(-1, 9)))  # smooth over about sqrt(ratio) rows
