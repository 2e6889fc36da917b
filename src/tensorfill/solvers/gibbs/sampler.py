"""The sampler: chains of a CP model with main effects, and the draws that are kept of them.

Model, in the unit the likelihood works in: x_i = sum_c prod_n F_n[i_n, c] over C columns. A column is free in some
modes and 1 in the others: free in one mode it is that mode's main effect, free in all it is a component. Each free
column has a precision and, along smooth modes, a weight of its quadratic variation; where the rows of a mode have
features, its middle is linear in them. Components have a size on top, kept inside the first mode drawn. Sizes shrink
hard (a horseshoe): components the data do not ask for vanish, so that the rank matters little.

One sweep draws noise and latent variables given x, then mode after mode, from the shortest to the longest, the rows
given all else and their precisions, and the sizes before the last mode. Sweeps run compiled, a burst at a time
(`kernels._sweeps`); several chains run side by side where a sweep is long enough to pay for threads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.solvers.entries import Entries
from tensorfill.solvers.gibbs.likelihoods import Likelihood
from tensorfill.solvers.threads import in_threads

Array = NDArray[Any]

RATIOS = (0.0, *(4.0**k for k in range(-1, 9)))  # smooth over about sqrt(ratio) rows
START = 0.1  # size of a component at the start; it grows if the data need it
PROBES = 64  # observations whose fitted values are traced, to judge convergence
BURST = 2**28  # multiplications between two looks at the clock, about a tenth of a second
WORTH = 2**21  # multiplications of a sweep that pay for a thread of its own
FIELDS = ("F", "ridge", "ratio", "middle", "size", "hold", "numbers", "lean", "slope", "stiff")  # of a chain


@dataclass(frozen=True, eq=False)
class Gibbs:
    """A posterior to be sampled, as the loop drives it: each step is a burst of sweeps of a group of chains.

    State arrays: those of `kernels._chain.Chain` and the last two of its `Slopes`, one after the other for each chain
    of the group; trace (chains, draws, PROBES); kept0, kept1, ... the draws kept (sum of I_n, C); mean0, ... the mean
    of the last mode's rows given the others (I, C), where `means`; kept (draws, 2 + P), of each its chain, its sweep
    and the parameters of the likelihood.
    Numbers: k sweeps in all, the first `chain` of the group and the `place` of its sweeps, the seeds of all chains and
    the `streams` of random numbers of the group. Each chain has its own start, burn-in and draws. Of several
    likelihoods, which take the data in different units, the chains have one after the other in turn; `views` bring
    their x into one unit, in which the trace is.
    """

    entries: Entries
    likelihoods: tuple[Likelihood, ...]
    rank: int
    smooth: frozenset[int]
    burn: int
    draws: int
    keep: int
    effects: bool = True
    means: bool = False
    chains: int = 1
    views: tuple[Callable[[Array], Array], ...] = ()
    rings: frozenset[int] = frozenset()  # smooth modes whose last row is a neighbour of the first
    burst: int | None = None  # sweeps of a step at most; None: by the clock
    features: Mapping[int, Array] = field(default_factory=dict)  # {mode: (I_n, P)}; these modes are not smooth
    hyper: Mapping[str, float] | None = None  # parameters of the priors other than those of `kernels._augment.Hyper`

    @property
    def length(self) -> int:
        """Sweeps of one chain."""
        return self.burn + self.draws

    @cached_property
    def sequence(self) -> list[int]:
        """The modes in the order of their draws: the longest last, for it has most to gain from its mean."""
        return sorted(range(len(self.entries.shape)), key=lambda n: self.entries.shape[n])

    @cached_property
    def free(self) -> Array:
        """Which columns are drawn in which mode, (N, C); effects first."""
        N = len(self.entries.shape)
        effects = np.eye(N, N if self.effects else 0, dtype=bool)
        return np.concatenate([effects, np.ones((N, self.rank), dtype=bool)], axis=1)

    @cached_property
    def moves(self) -> Array:
        """Which columns have a middle of their own, (N, C): components, and one effect, for the level of all."""
        out = self.free.copy()
        out[1:, out.sum(axis=0) == 1] = False
        return out

    def unit(self, chain: int) -> int:
        """Which of the likelihoods serves a chain."""
        return chain % len(self.likelihoods)

    # --- the loop -----------------------------------------------------------------------------------------------

    def init(self, rng: np.random.Generator) -> State:
        arrays = {
            "trace": np.zeros((self.chains, self.draws, len(self._probes))),
            "kept": np.empty((0, 2 + max(1, self.likelihoods[0].slices_in_all))),
        }
        numbers = {"k": 0, "chain": 0, "seeds": rng.integers(2**62, size=self.chains).tolist()}
        return self._start_group(State(arrays, numbers))

    def step(self, state: State, rng: np.random.Generator) -> State:
        if state.numbers["place"] == self.length:
            group = len(state.arrays["F"])
            state = self._start_group(State(state.arrays, {**state.numbers, "chain": state.numbers["chain"] + group}))
        first, place = state.numbers["chain"], state.numbers["place"]
        arrays = {name: a.copy() if name in (*FIELDS, "trace") else a for name, a in state.arrays.items()}
        group = len(arrays["F"])
        count = min(self.length - place, self._burst)
        streams, losses = list(state.numbers["streams"]), np.zeros(group)
        records: list[Any] = [None] * group

        def work(start: int, stop: int) -> None:
            for g in range(start, stop):
                rng = np.random.default_rng()
                rng.bit_generator.state = streams[g]
                records[g] = self._record(place, count, arrays["numbers"].shape[1] - 1)
                chain = {name: arrays[name][g] for name in FIELDS}
                losses[g] = self.sweep(chain, self.likelihoods[self.unit(first + g)], records[g], rng)
                streams[g] = rng.bit_generator.state

        in_threads(work, list(range(group + 1)))
        for g in range(group):
            self._keep(arrays, records[g], first + g, place)
        numbers = {"k": state.numbers["k"] + group * count, "place": place + count, "streams": streams}
        return State(arrays, {**state.numbers, **numbers}, float(losses.mean()))

    def score(self, state: State) -> float:
        return np.nan

    def done(self, state: State, previous: State | None) -> Status | None:
        return Status.FINISHED if state.numbers["k"] >= self.chains * self.length else None

    def sweep(self, chain: Mapping[str, Array], likelihood: Likelihood, record: Any, rng: np.random.Generator) -> float:
        """Sweep as often as `record` has room, changing the chain; returns minus log likelihood before the last."""
        from tensorfill.kernels import _augment, _sweeps  # Numba is slow to import

        places = _sweeps.Places(self.entries.rows, self.entries.others, self.entries.order, self.entries.starts)
        at, hyper = _sweeps.Chain(*(chain[name] for name in FIELDS[:-2])), _augment.Hyper(**(self.hyper or {}))
        slopes, what = _sweeps.Slopes(*self._features, chain["slope"], chain["stiff"]), self._structure
        return _sweeps.sweep_burst(likelihood.augment, what, slopes, places, likelihood.data, hyper, at, record, rng)

    def _start_group(self, state: State) -> State:
        """Chains from `chain` on at their starts: as many as may run side by side."""
        first, seeds = state.numbers["chain"], state.numbers["seeds"]
        group = min(self.chains - first, self.entries.threads if self._work > WORTH else 1)
        chains, streams = [], []
        for c in range(first, first + group):
            rng = np.random.default_rng(seeds[c])
            chains.append(self._first(rng, self.likelihoods[self.unit(c)]))
            streams.append(rng.bit_generator.state)
        arrays = {name: np.stack([chain[name] for chain in chains]) for name in FIELDS}
        return State({**state.arrays, **arrays}, {**state.numbers, "place": 0, "streams": streams}, state.value)

    def _first(self, rng: np.random.Generator, likelihood: Likelihood) -> dict[str, Array]:
        """The start of a chain."""
        (N, C), R = self.free.shape, self.rank
        F = np.repeat(np.where(self.free, 0.0, 1.0), self.entries.shape, axis=0)
        F[:, C - R :] = rng.standard_normal((len(F), R))
        F[self.entries.part(self.sequence[0]), C - R :] *= START
        size, numbers = np.full(R, START), np.array([1.0, *likelihood.start])
        hypers = (np.ones((N, C)), np.zeros((N, C)), np.zeros((N, C)), size, size**-2, numbers)
        P = self._features[0].shape[1]
        slopes = (np.zeros((len(F) if P else 0, C)), np.zeros((N, P, C)), np.ones((N, C)))
        return dict(zip(FIELDS, (F, *hypers, *slopes), strict=True))

    # --- what the compiled sweeps read ---------------------------------------------------------------------------

    @cached_property
    def _structure(self) -> Any:
        from tensorfill.kernels import _sweeps

        shape = self.entries.shape
        modes = np.zeros(len(shape), _sweeps.MODES)
        modes["begin"], modes["end"] = self.entries.first[:-1], self.entries.first[1:]
        modes["free"], modes["turn"] = self.free.sum(axis=1), self.sequence
        modes["ring"] = np.isin(np.arange(len(shape)), list(self.rings))
        modes["choices"] = np.where(np.isin(np.arange(len(shape)), list(self.smooth)), len(RATIOS), 1)
        modes["features"] = [np.count_nonzero(row) for row in self._features[1]]
        modes["sized"][self.sequence[0]] = 1
        spectra = [frequencies(length, ring=bool(r)) for length, r in zip(shape, modes["ring"], strict=True)]
        log_det = np.array([np.log1p(np.outer(RATIOS, spectrum)).sum(axis=1) for spectrum in spectra])
        columns = np.argsort(~self.free, axis=1, kind="stable")
        effects = self.free.sum(axis=0) == 1
        return _sweeps.Structure(modes, columns, self.moves, effects, np.array(RATIOS), log_det)

    @cached_property
    def _features(self) -> tuple[Array, Array]:
        """Features of the rows, stacked along the modes, (sum of I_n, P), and the sums of their squares, (N, P): more
        than 0 of those that a mode has.
        """
        found = {n: directions(X) for n, X in self.features.items()}
        N, most = len(self.entries.shape), max((Z.shape[1] for Z in found.values()), default=0)
        stack, energy = np.zeros((int(self.entries.first[-1]), most)), np.zeros((N, most))
        for n, Z in found.items():
            stack[self.entries.part(n), : Z.shape[1]], energy[n, : Z.shape[1]] = Z, (Z**2).sum(axis=0)
        return stack, energy

    def _record(self, place: int, count: int, parameters: int = 1) -> Any:
        """Room for what sweeps from `place` on leave, so many parameters of the likelihood among it."""
        from tensorfill.kernels import _sweeps

        kept = np.isin(np.arange(place, place + count) - self.burn, self._kept_at)
        at = np.where(kept, np.cumsum(kept) - 1, -1)
        (rows, length), C = (int(self.entries.first[-1]), self.entries.shape[self.sequence[-1]]), self.free.shape[1]
        draws = np.empty((kept.sum(), rows, C), dtype=np.float32)
        means = np.ones((kept.sum() if self.means else 0, length, C), dtype=np.float32)
        probes = self.entries.rows[self._probes]
        return _sweeps.Record(
            probes, np.empty((count, len(probes))), at, draws, means, np.empty((kept.sum(), parameters))
        )

    @cached_property
    def _kept_at(self) -> Array:
        """Sweeps after burn-in whose draw is kept: spread evenly, the last among them."""
        count = max(1, min(self.keep // self.chains, self.draws))
        return np.ceil(np.arange(1, count + 1) * self.draws / count).astype(int) - 1

    @cached_property
    def _probes(self) -> Array:
        nnz = self.entries.nnz
        return np.unique(np.linspace(0, nnz - 1, min(PROBES, nnz)).astype(np.int64))

    @property
    def _work(self) -> int:
        """Multiplications of a sweep, about."""
        K, N = int(self.free.sum(axis=1).max(initial=1)), len(self.entries.shape)
        return int(N * self.entries.nnz * (K * K // 2 + 30) + self.entries.first[-1] * (K**3 // 3 + 10 * K))

    @property
    def _burst(self) -> int:
        return max(1, BURST // self._work) if self.burst is None else self.burst

    # --- draws ---------------------------------------------------------------------------------------------------

    def _keep(self, arrays: dict[str, Array], record: Any, chain: int, place: int) -> None:
        """Add what a burst from `place` on has left."""
        view = self.views[self.unit(chain)] if self.views else np.asarray
        drawn = max(0, place - self.burn)
        new = record.trace[max(0, self.burn - place) :]
        arrays["trace"][chain, drawn : drawn + len(new)] = view(new)
        likelihood = self.likelihoods[self.unit(chain)]
        for j, s in enumerate(np.flatnonzero(record.at >= 0)):
            number = len(arrays["kept"])
            arrays[f"kept{number}"] = record.kept[j]
            if self.means:
                arrays[f"mean{number}"] = record.means[j]
            row = [[chain, place + s, *likelihood.parameter(record.parameters[j])]]
            arrays["kept"] = np.concatenate([arrays["kept"], row])

    def kept(self, state: State) -> tuple[list[Array], list[Array], Array, Array]:
        """(stacked factors of each draw, means of its last mode's rows, its parameter (m,), or (m, slices) where slices
        have noise of their own, its unit (m,)), chain after chain. The current draw where none was kept yet.
        """
        arrays, table = state.arrays, state.arrays["kept"]
        if not len(table):
            unit = self.unit(state.numbers["chain"])
            parameters = self.likelihoods[unit].parameter(arrays["numbers"][0, 1:])
            return [arrays["F"][0]], [], self._shaped(parameters[None]), np.array([unit])
        order = np.lexsort((table[:, 1], table[:, 0]))
        means = [arrays[f"mean{j}"] for j in order if self.means]
        units = table[order, 0].astype(int) % len(self.likelihoods)
        return [arrays[f"kept{j}"] for j in order], means, self._shaped(table[order, 2:]), units

    def _shaped(self, parameters: Array) -> Array:
        """(m, P) as they are where slices have noise of their own, else (m,)."""
        return parameters if self.likelihoods[0].slices_in_all else parameters[:, 0]

    def trace(self, state: State) -> Array:
        """The values traced, (chains, draws, PROBES): of all chains that are through, or of the first so far."""
        through = state.numbers["chain"] + len(state.arrays["F"]) * (state.numbers["place"] == self.length)
        if through:
            return state.arrays["trace"][:through]
        return state.arrays["trace"][:1, : max(0, state.numbers["place"] - self.burn)]


def frequencies(length: int, *, ring: bool = False) -> Array:
    """Eigenvalues of the matrix of squared differences of neighbours, (length,): cosines. On a ring (the hours of a
    day, which go over into the next day's) the last row is a neighbour of the first.
    """
    k = np.arange(length)
    return 2 - 2 * np.cos(np.pi * (2 * ((k + 1) // 2) if ring else k) / length)


def directions(X: Array) -> Array:
    """Features (I, P) of rows as orthogonal, centred columns: slopes on these have independent draws, and independent
    normal priors of one precision as before. Together they vary by 1, however many they are.
    """
    U, s, _ = np.linalg.svd((X - X.mean(axis=0)) / np.sqrt(max(X.shape[1], 1)), full_matrices=False)
    real = s > 1e-9 * max(s.max(initial=0.0), 1.0)
    return np.ascontiguousarray(U[:, real] * s[real])
