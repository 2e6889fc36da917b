"""Gibbs sampling of a CP model with main effects: every weight is drawn, none is searched for.

Model, in the unit the likelihood works in: x_i = sum_c prod_n F_n[i_n, c] over C columns. A column is free in some
modes and 1 in the others: free in one mode it is that mode's main effect, free in all it is a component. `ColumnPrior`
is the prior of each free column. One step draws noise and latent variables given x, then mode after mode the rows given all
else, then the precisions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.solvers.gibbs_data import Entries, RowPrior
from tensorfill.solvers.gibbs_likelihood import Likelihood
from tensorfill.solvers.gibbs_prior import RATIOS, ColumnPrior

Array = NDArray[Any]

SHAPE, RATE = 1.0, 1.0  # Gamma prior of the ridge, data standardised
START = 0.1  # size of a component at the start: it grows if the data ask for it
PROBES = 64  # observations whose fitted values are traced, to judge convergence


@dataclass(frozen=True, eq=False)
class Gibbs:
    """A posterior to be sampled, as the loop drives it.

    State arrays: A0, A1, ... (I_n, C); ridge, ratio, middle (N, C); x (nnz,); trace (steps after burn-in, PROBES + 1);
    kept0, kept1, ... the draws kept, stacked (sum of I_n, C); kept (their number, parameters of the likelihood).
    Numbers: k, and the likelihood's parameters.
    """

    entries: Entries
    likelihood: Likelihood
    rank: int
    smooth: frozenset[int]
    burn: int
    draws: int
    keep: int
    effects: bool = True
    rate: float = RATE

    @cached_property
    def free(self) -> Array:
        """Which columns are drawn in which mode, (N, C); effects first."""
        N = len(self.entries.shape)
        effects = np.eye(N, dtype=bool) if self.effects else np.zeros((N, 0), dtype=bool)
        return np.concatenate([effects, np.ones((N, self.rank), dtype=bool)], axis=1)

    @cached_property
    def moves(self) -> Array:
        """Which columns have a middle of their own, (N, C): components, and one effect, for the level of all."""
        out = self.free.copy()
        out[1:, : out.shape[1] - self.rank] = False
        return out

    @cached_property
    def priors(self) -> list[ColumnPrior]:
        """Of every mode."""
        return [
            ColumnPrior(length, RATIOS if n in self.smooth else RATIOS[:1], SHAPE, self.rate)
            for n, length in enumerate(self.entries.shape)
        ]

    @cached_property
    def _kept_at(self) -> frozenset[int]:
        """Steps after burn-in whose draw is kept: spread evenly, the last among them."""
        count = min(self.keep, self.draws)
        return frozenset(int(k) for k in np.ceil(np.arange(1, count + 1) * self.draws / count))

    @cached_property
    def _probes(self) -> Array:
        nnz = self.entries.nnz
        return np.unique(np.linspace(0, nnz - 1, min(PROBES, nnz)).astype(np.int64))

    # --- the loop -----------------------------------------------------------------------------------------------

    def init(self, rng: np.random.Generator) -> State:
        N, C = self.free.shape
        R = self.rank
        F = np.ones((int(self.entries.first[-1]), C))
        for n in range(N):
            A = np.where(self.free[n], 0.0, np.ones((self.entries.shape[n], C)))
            A[:, C - R :] = START ** (1 / N) * rng.standard_normal((self.entries.shape[n], R))
            F[self.entries.part(n)] = A
        hyper = {"ridge": np.ones((N, C)), "ratio": np.zeros((N, C)), "middle": np.zeros((N, C))}
        x = self.entries.predict(F)
        numbers = {"k": 0, **self.likelihood.start(x, rng)}
        trace = {"trace": np.empty((0, len(self._probes) + 1))}
        return State(self._split(F) | hyper | {"x": x} | trace, numbers, self.likelihood.nll(x, numbers))

    def step(self, state: State, rng: np.random.Generator) -> State:
        numbers, z, w = self.likelihood.augment(state.arrays["x"], dict(state.numbers), rng)
        F = np.concatenate(state.factors)
        ridge, ratio, middle = (state.arrays[name].copy() for name in ("ridge", "ratio", "middle"))
        for n in range(len(self.free)):
            free = np.flatnonzero(self.free[n])
            rows = self.entries.part(n)
            prior = RowPrior(
                free, np.flatnonzero(~self.free[n]), ridge[n, free], (ridge * ratio)[n, free], middle[n, free]
            )
            A = self.entries.draw(F, n, z, w, prior, rng.standard_normal((self.entries.shape[n], len(free))))
            F[rows, free] = A
            moves = self.moves[n, free]
            ridge[n, free], ratio[n, free], middle[n, free] = self.priors[n].draw(A, middle[n, free], moves, rng)
        x = self.entries.predict(F)
        value = self.likelihood.nll(x, numbers)
        k = numbers["k"] = state.numbers["k"] + 1
        arrays = {
            **{name: a for name, a in state.arrays.items() if name.startswith("kept")},
            **self._split(F),
            "ridge": ridge,
            "ratio": ratio,
            "middle": middle,
            "x": x,
            "trace": state.arrays["trace"],
        }
        if k > self.burn:
            arrays["trace"] = np.vstack([state.arrays["trace"], np.append(x[self._probes], value)])
            self._keep(k - self.burn, arrays, F, numbers)
        return State(arrays, numbers, value)

    def score(self, state: State) -> float:
        return np.nan

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.FINISHED if state.numbers["k"] >= self.burn + self.draws else None

    def _keep(self, k: int, arrays: dict[str, Array], F: Array, numbers: dict[str, Any]) -> None:
        if k not in self._kept_at:
            return
        parameters = np.array([self.likelihood.parameters(numbers)])
        before = arrays.get("kept", np.empty((0, parameters.shape[1])))
        arrays[f"kept{len(before)}"] = F.astype(np.float32)
        arrays["kept"] = np.concatenate([before, parameters])

    def _split(self, F: Array) -> dict[str, Array]:
        return {f"A{n}": F[self.entries.part(n)] for n in range(len(self.free))}

    # --- what is left of it -------------------------------------------------------------------------------------

    def kept(self, state: State) -> tuple[list[Array], Array]:
        """(stacked factors of each draw, parameters (draws, p)); the current draw where none was kept yet."""
        if "kept" not in state.arrays:
            return [np.concatenate(state.factors)], np.array([self.likelihood.parameters(state.numbers)])
        parameters = state.arrays["kept"]
        return [state.arrays[f"kept{j}"] for j in range(len(parameters))], parameters
