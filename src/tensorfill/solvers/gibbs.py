"""Gibbs sampling of a CP model with main effects: every weight is drawn, none is searched for.

Model, in the unit the likelihood works in: x_i = sum_c prod_n F_n[i_n, c] over C columns. A column is free in some
modes and 1 in the others: free in one mode it is that mode's main effect, free in all it is a component. `ColumnPrior`
is the prior of each free column; components have a size on top, kept inside the first mode drawn: F = size * A there.
Sizes shrink hard (a horseshoe): components the data do not ask for vanish, so that the rank matters little.

One step draws noise and latent variables given x, then mode after mode the rows given all else and their precisions,
and the sizes before the last mode. Modes go from the shortest to the longest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.solvers.gibbs_data import Entries, RowPrior, interleaved
from tensorfill.solvers.gibbs_likelihood import Likelihood
from tensorfill.solvers.gibbs_prior import RATIOS, ColumnPrior

Array = NDArray[Any]

SHAPE, RATE = 1.0, 1.0  # Gamma prior of the ridge; data are standardised
LOCAL, GLOBAL = 0.5, (0.5, 1.0)  # Gamma priors of the precision of each size, and of the scale that all of these share
START = 0.1  # size of a component at the start; it grows if the data need it
SMALLEST = 1e-8  # a size is never closer to zero, for it is divided by
PROBES = 64  # observations whose fitted values are traced, to judge convergence


@dataclass
class Chain:
    """Where the sampler is: a working copy that one step changes.

    Attributes
    ----------
    F : (sum of I_n, C), the factors stacked along the modes
    ridge, ratio, middle : (N, C), hyperparameters of every column in every mode, see `ColumnPrior`
    size : (R,), of the components
    hold : (R,), the precision of each size
    held : the scale that these precisions share
    """

    F: Array
    ridge: Array
    ratio: Array
    middle: Array
    size: Array
    hold: Array
    held: float


@dataclass(frozen=True, eq=False)
class Gibbs:
    """A posterior to be sampled, as the loop drives it.

    State arrays: A0, A1, ... (I_n, C); ridge, ratio, middle (N, C); size, hold (R,); x (nnz,); trace (steps after
    burn-in, PROBES + 1); kept0, kept1, ... the draws kept (sum of I_n, C); mean0, ... the mean of the last mode's rows
    given the others (I, C), where `means`; kept (draws, parameters of the likelihood). Numbers: k, held, and the
    likelihood's. Several chains run one after the other, each with its own start, burn-in and draws. Of several
    likelihoods, which take the data in different units, the chains have one after the other in turn; `views` bring
    their x into one unit, in which the trace is.
    """

    entries: Entries
    likelihood: Likelihood
    rank: int
    smooth: frozenset[int]
    burn: int
    draws: int
    keep: int
    effects: bool = True
    means: bool = False
    pairs: int = 0
    chains: int = 1
    others: tuple[Likelihood, ...] = ()
    views: tuple[Callable[[Array], Array], ...] = ()
    rings: frozenset[int] = frozenset()  # smooth modes whose last row is a neighbour of the first

    @property
    def length(self) -> int:
        """Steps of one chain."""
        return self.burn + self.draws

    @cached_property
    def sequence(self) -> list[int]:
        """The modes in the order of their draws: the longest last, for it has most to gain from its mean."""
        return sorted(range(len(self.entries.shape)), key=lambda n: self.entries.shape[n])

    @cached_property
    def free(self) -> Array:
        """Which columns are drawn in which mode, (N, C); effects first."""
        N = len(self.entries.shape)
        effects = np.eye(N, dtype=bool) if self.effects else np.zeros((N, 0), dtype=bool)
        couples = [np.isin(np.arange(N), pair) for pair in combinations(range(N), 2) for _ in range(self.pairs)]
        pairs = np.array(couples, dtype=bool).reshape(-1, N).T
        return np.concatenate([effects, pairs, np.ones((N, self.rank), dtype=bool)], axis=1)

    @cached_property
    def moves(self) -> Array:
        """Which columns have a middle of their own, (N, C): components, and one effect, for the level of all."""
        out = self.free.copy()
        out[1:, out.sum(axis=0) == 1] = False
        return out

    @property
    def components(self) -> slice:
        """Their columns."""
        return slice(self.free.shape[1] - self.rank, self.free.shape[1])

    @cached_property
    def priors(self) -> list[ColumnPrior]:
        """Of every mode."""
        return [
            ColumnPrior(length, RATIOS if n in self.smooth else RATIOS[:1], SHAPE, RATE, ring=n in self.rings)
            for n, length in enumerate(self.entries.shape)
        ]

    def unit(self, k: int) -> int:
        """Which of the likelihoods serves step k."""
        return k // self.length % (1 + len(self.others))

    def _serving(self, k: int) -> Likelihood:
        return (self.likelihood, *self.others)[self.unit(k)]

    # --- the loop -----------------------------------------------------------------------------------------------

    def init(self, rng: np.random.Generator, k: int = 0) -> State:
        N, C = self.free.shape
        F = np.ones((int(self.entries.first[-1]), C))
        for n, length in enumerate(self.entries.shape):
            A = np.where(self.free[n], 0.0, np.ones((length, C)))
            A[:, self.components] = rng.standard_normal((length, self.rank))
            F[self.entries.part(n)] = A
        F[self.entries.part(self.sequence[0]), self.components] *= START
        size = np.full(self.rank, START)
        chain = Chain(F, np.ones((N, C)), np.zeros((N, C)), np.zeros((N, C)), size, size**-2, 1.0)
        x = self.entries.predict(F)
        trace = {"trace": np.empty((0, len(self._traced(x, 0.0, k))))}
        likelihood = self._serving(k)
        numbers = {"k": k, "held": 1.0, **likelihood.start(x, rng)}
        return State(self._arrays(chain) | {"x": x} | trace, numbers, likelihood.nll(x, numbers))

    def step(self, state: State, rng: np.random.Generator) -> State:
        place = state.numbers["k"] % self.length
        if place == 0 and state.numbers["k"]:
            state = self._afresh(state, rng)
        likelihood = self._serving(state.numbers["k"])
        numbers, z, w = likelihood.augment(state.arrays["x"], dict(state.numbers), rng)
        chain, (z, w) = self.chain(state), interleaved(z, w)
        for n in self.sequence:
            mean = self.draw_mode(chain, n, z, w, rng)
        x = self.entries.predict(chain.F)
        value = likelihood.nll(x, numbers)
        k = state.numbers["k"] + 1
        numbers |= {"k": k, "held": chain.held}
        arrays = {name: a for name, a in state.arrays.items() if name.startswith(("kept", "mean", "trace"))}
        arrays |= self._arrays(chain) | {"x": x}
        if place >= self.burn:
            arrays["trace"] = np.vstack([arrays["trace"], self._traced(x, value, k - 1)])
            if place - self.burn in self._kept_at:
                self._keep(arrays, chain.F, mean, numbers, k - 1)
        return State(arrays, numbers, value)

    def score(self, state: State) -> float:
        return np.nan

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.FINISHED if state.numbers["k"] >= self.chains * self.length else None

    def _afresh(self, state: State, rng: np.random.Generator) -> State:
        """The start of the next chain, with what the chains before it have left."""
        first = self.init(rng, state.numbers["k"])
        left = {name: a for name, a in state.arrays.items() if name.startswith(("kept", "mean", "trace"))}
        return State({**first.arrays, **left}, first.numbers, first.value)

    # --- draws --------------------------------------------------------------------------------------------------

    def draw_mode(self, chain: Chain, n: int, z: Array, w: Array, rng: np.random.Generator) -> Array:
        """New rows of mode n and new precisions of its columns; new sizes where it is their turn.

        Returns the mean that the rows were drawn around, (I_n, C).
        """
        free, rows = np.flatnonzero(self.free[n]), self.entries.part(n)
        size = np.ones(self.free.shape[1])
        if n == self.sequence[0]:
            size[self.components] = chain.size
        size = size[free]
        ridge, ratio, middle = chain.ridge[n, free] / size**2, chain.ratio[n, free], chain.middle[n, free]
        fixed = np.flatnonzero(~self.free[n])
        prior = RowPrior(free, fixed, ridge, ridge * ratio, size * middle, n in self.rings)
        normals = rng.standard_normal((self.entries.shape[n] + (n in self.rings), len(free)))
        turn = self.rank > 0 and n == self.sequence[-2]
        A, mean, Q, q = self.entries.draw(chain.F, n, z, w, prior, normals, sums=turn)
        chain.F[rows, free] = A
        chain.ridge[n, free], chain.ratio[n, free], chain.middle[n, free] = self.priors[n].draw(
            A / size, middle, self.moves[n, free], rng
        )
        if turn:
            self._draw_sizes(chain, Q, q, rng)
        out = np.ones((self.entries.shape[n], self.free.shape[1]))
        out[:, free] = mean
        return out

    def _draw_sizes(self, chain: Chain, Q: Array, q: Array, rng: np.random.Generator) -> None:
        """All sizes at once, given the shapes of the components: Q (K, K) and q (K,) are their normal equations."""
        R, size = self.rank, chain.size
        own, rest = slice(len(q) - R, len(q)), slice(0, len(q) - R)
        P = Q[own, own] + np.diag(chain.hold * size**2)
        L = np.linalg.cholesky(P + 1e-12 * np.diag(np.diag(P)))
        v = np.linalg.solve(L, q[own] - Q[own, rest].sum(axis=1)) + rng.standard_normal(R)
        new = size * np.linalg.solve(L.T, v)
        new = np.where(np.abs(new) < SMALLEST, SMALLEST, new)
        chain.F[self.entries.part(self.sequence[0]), self.components] *= new / size
        chain.size = new
        chain.hold = rng.standard_gamma(LOCAL + 0.5, R) / (LOCAL * chain.held + 0.5 * new**2)
        shape, rate = GLOBAL
        chain.held = float(rng.standard_gamma(shape + LOCAL * R) / (rate + LOCAL * chain.hold.sum()))

    def sample_prior(self, rng: np.random.Generator) -> Chain:
        """A chain drawn from the prior, before any data."""
        N, C = self.free.shape
        shape, rate = GLOBAL
        held = float(rng.standard_gamma(shape) / rate)
        hold = rng.standard_gamma(LOCAL, self.rank) / (LOCAL * held)
        size = rng.standard_normal(self.rank) / np.sqrt(hold)
        ridge, ratio, middle = np.ones((N, C)), np.zeros((N, C)), np.zeros((N, C))
        F = np.ones((int(self.entries.first[-1]), C))
        for n, length in enumerate(self.entries.shape):
            free = np.flatnonzero(self.free[n])
            hyper = self.priors[n].sample(self.moves[n, free], rng)
            ridge[n, free], ratio[n, free], middle[n, free] = hyper
            basis = self.priors[n].basis
            sd = 1 / np.sqrt(hyper[0] * (1 + np.outer(self.priors[n].waves, hyper[1])))
            F[self.entries.part(n), free] = hyper[2] + basis @ (sd * rng.standard_normal((length, len(free))))
        F[self.entries.part(self.sequence[0]), self.components] *= size
        return Chain(F, ridge, ratio, middle, size, hold, held)

    # --- state --------------------------------------------------------------------------------------------------

    def chain(self, state: State) -> Chain:
        """A working copy of where the sampler is."""
        parts = {name: state.arrays[name].copy() for name in ("ridge", "ratio", "middle", "size", "hold")}
        return Chain(np.concatenate(state.factors), held=state.numbers["held"], **parts)

    def kept(self, state: State) -> tuple[list[Array], list[Array], Array]:
        """(stacked factors of each draw, means of its last mode's rows, parameters (draws, p), the last its unit).

        The current draw where none was kept yet.
        """
        if "kept" not in state.arrays:
            k = max(state.numbers["k"] - 1, 0)
            return [np.concatenate(state.factors)], [], np.array([self._parameters(state.numbers, k)])
        arrays, parameters = state.arrays, state.arrays["kept"]
        means = [arrays[f"mean{j}"] for j in range(len(parameters)) if self.means]
        return [arrays[f"kept{j}"] for j in range(len(parameters))], means, parameters

    @cached_property
    def _kept_at(self) -> frozenset[int]:
        """Steps after burn-in whose draw is kept: spread evenly, the last among them."""
        count = max(1, min(self.keep // self.chains, self.draws))
        return frozenset(int(k) - 1 for k in np.ceil(np.arange(1, count + 1) * self.draws / count))

    @cached_property
    def _probes(self) -> Array:
        nnz = self.entries.nnz
        return np.unique(np.linspace(0, nnz - 1, min(PROBES, nnz)).astype(np.int64))

    def _traced(self, x: Array, value: float, k: int) -> Array:
        """Of step k the values at the probes, in one unit; and its loss, where that has one unit."""
        if not self.others:
            return np.append(x[self._probes], value)
        return self.views[self.unit(k)](x[self._probes])

    def _parameters(self, numbers: Mapping[str, Any], k: int) -> list[float]:
        """Those of the likelihood, and the number of its unit."""
        return [*self._serving(k).parameters(numbers), float(self.unit(k))]

    def _keep(self, arrays: dict[str, Array], F: Array, mean: Array, numbers: dict[str, Any], k: int) -> None:
        parameters = np.array([self._parameters(numbers, k)])
        before = arrays.get("kept", np.empty((0, parameters.shape[1])))
        arrays[f"kept{len(before)}"] = F.astype(np.float32)
        if self.means:
            arrays[f"mean{len(before)}"] = mean.astype(np.float32)
        arrays["kept"] = np.concatenate([before, parameters])

    def _arrays(self, chain: Chain) -> dict[str, Array]:
        factors = {f"A{n}": chain.F[self.entries.part(n)] for n in range(len(self.free))}
        hyper = {"ridge": chain.ridge, "ratio": chain.ratio, "middle": chain.middle}
        return factors | hyper | {"size": chain.size, "hold": chain.hold}
