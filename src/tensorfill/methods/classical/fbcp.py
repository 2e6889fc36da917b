"""FBCP: fully Bayesian CP completion that finds its rank, and FBCP-MP, its smooth mixture-prior variant for pictures.

Model (Zhao, Zhang, Cichocki 2015): y = [[A_1, ..., A_N]] + noise of precision beta; row i of every factor ~ N(0,
diag(gamma)^-1) with one gamma (R,) for all modes; Gamma(1e-6, 1e-6) hyperpriors on beta and each gamma_r. Mean-field
variational Bayes; a component whose gamma_r grows dies and is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tensorfill.data.observations import Observations
from tensorfill.methods.arrays import ArrayMethod, Dense
from tensorfill.methods.base import METHODS, Run
from tensorfill.methods.checks import check_above
from tensorfill.methods.defaults import long_modes
from tensorfill.models.cp import CP
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.solvers.base import State, check_time, pack
from tensorfill.solvers.fit import ENDED_EARLY
from tensorfill.typing import Array

HYPER = 1e-6  # shape and rate of the Gamma hyperpriors
MOMENTS_LIMIT = 2**27  # second moments of all rows, in doubles: 1 GiB
ROUNDING = 1e-10  # least expected error, as a share of ||Y||^2 (100 dB): what is below is rounding of large differences
STRONGEST = 1e6  # largest `mixing`: beyond, neighbours alone count, and products of factors overflow
AT_ONCE = 1_000_000  # numbers in a batch of inverses: fractions of a second between two looks at the clock
CONTRACTED = 2**22  # doubles of one intermediate of `contract`: 32 MiB


@METHODS.register("fbcp")
@dataclass(frozen=True)
class FBCP(ArrayMethod):
    """Bayesian CP with automatic rank.

    State: A0, A1, ... posterior means Z_n (I_n, R); M0, M1, ... second moments E[z z'] of every row, upper triangles
    (I_n, R(R+1)/2); gamma (R,); number beta.
    """

    rank: int | None = None  # where R starts; None: the longest side, at most 100
    precision: float = 1e4  # where beta starts
    max_iter: int = 20
    center: bool | None = None  # around the mean of the data? None: only if else all components die

    room: ClassVar[float] = 370.0
    reference: ClassVar[str] = (
        "Zhao, Zhang, Cichocki: Bayesian CP factorization of incomplete tensors with automatic rank determination, "
        "IEEE Trans. Pattern Analysis and Machine Intelligence 2015"
    )
    assumes: ClassVar[str] = "low CP rank plus Gaussian noise; the rank need not be known"
    use_when: ClassVar[str] = "noisy low-rank data of unknown rank; any order"
    peak: ClassVar[float] = 255.0

    def __post_init__(self) -> None:
        check_above(self, 0, "precision", "max_iter")
        check_above(self, 1, "rank", included=True)

    def level(self, obs: Observations) -> float:
        return float(np.mean(obs.values, dtype=np.float64)) if self.center else 0.0

    def fit(self, obs: Observations, run: Run) -> Completion:
        done = super().fit(obs, run)
        if self.center is not None or done.status in ENDED_EARLY:
            return done
        t = obs.values.astype(np.float64)
        off = np.asarray(done.at(obs.indices), dtype=np.float64) - t
        if np.mean(off**2) < t.var():
            return done
        # Worse than a constant on the very data it was fitted to: with few of them, far from zero and noisy, their
        # mean is no component that survives (ratings).
        steps = None if run.max_iter is None else run.max_iter - done.iterations
        seconds = None if run.seconds is None else max(run.seconds - done.seconds, 1e-9)
        if steps == 0:
            return done
        again = replace(run, checkpoint=run.section("centred"), max_iter=steps, seconds=seconds)
        return replace(self, center=True).fit(obs, again)

    def first_rank(self, shape: Sequence[int]) -> int:
        """The number of components to start from."""
        return min(100, max(shape)) if self.rank is None else self.rank

    def refuses(self, obs: Observations) -> str | None:
        R, rows = self.first_rank(obs.shape), sum(obs.shape)
        if rows * _packed_size(R) <= MOMENTS_LIMIT:
            return None
        able = int(np.sqrt(2 * MOMENTS_LIMIT / rows))
        advice = f"use rank <= {able}" if able else "use a method without covariances"
        return (
            f"the covariances of {rows} rows at rank {R} need {rows * _packed_size(R):.3g} numbers, the limit is "
            f"{MOMENTS_LIMIT:.3g}; {advice}"
        )

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        R = self.first_rank(data.T.shape)
        means = [self.smooth_rows(data, n, Z) for n, Z in enumerate(self._draw(data.T.shape, R, rng))]
        identity = np.eye(R)[np.triu_indices(R)]
        # The authors start the second moments from the covariance alone; it matters for the first half-sweep only.
        moments = [np.tile(identity, (length, 1)) for length in data.T.shape]
        return State(pack(means, M=moments, gamma=np.ones(R)), {"k": 0, "beta": self.precision, "R": R})

    def _draw(self, shape: Sequence[int], R: int, rng: np.random.Generator) -> list[Array]:
        return [rng.standard_normal((length, R)) for length in shape]

    def order(self, shape: Sequence[int]) -> list[int]:
        """The modes in the order of their updates."""
        return list(range(len(shape)))

    def smooth_rows(self, data: Dense, n: int, Z: Array) -> Array:
        """Mode n's means after the smoothing of its rows: none here."""
        return Z

    def balance_scales(self, means: list[Array], moments: list[Array]) -> tuple[list[Array], list[Array]]:
        """The same model with its scale shared out among the modes: as it is, here."""
        return means, moments

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        gamma, beta, k = state.arrays["gamma"], state.numbers["beta"], state.numbers["k"] + 1
        means, moments = state.factors, state.numbered("M")
        observed = data.O.astype(np.float64)
        rows, columns = np.triu_indices(len(gamma))
        for n in self.order(data.T.shape):
            B = contract(observed, moments, n)  # sums of products of the other modes' second moments
            f = contract(data.T, means, n)
            Z, S = posterior(B, f, gamma, beta)
            means[n] = self.smooth_rows(data, n, Z)
            moments[n] = S + means[n][:, rows] * means[n][:, columns]
        # <Y, X> and the expected squared model from f and B of the mode updated last: no pass over the full tensor.
        twice = np.where(rows == columns, 1.0, 2.0)
        total = np.sum(data.T**2)
        squared = total - 2 * np.sum(f * means[n]) + np.sum((B * moments[n]) @ twice)
        means, moments = self.balance_scales(means, moments)
        power = sum(M[:, rows == columns].sum(axis=0) for M in moments)
        gamma = (HYPER + 0.5 * sum(data.T.shape)) / (HYPER + 0.5 * power)
        beta = (HYPER + 0.5 * data.O.sum()) / (HYPER + 0.5 * max(squared, ROUNDING * total))
        if k >= 2:
            means, moments, gamma = prune(means, moments, gamma)
        return State(
            pack(means, M=moments, gamma=gamma), {"k": k, "beta": float(beta), "R": len(gamma)}, value=float(squared)
        )

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        return Status.FINISHED if state.numbers["k"] >= self.max_iter else None

    def answer(self, data: Dense, state: State) -> Array:
        return CP(state.factors).full()


@METHODS.register("fbcp-mp")
@dataclass(frozen=True)
class FBCPMP(FBCP):
    """FBCP whose rows are mixed with their neighbours' after each update, along every mode longer than 4."""

    max_iter: int = 30
    mixing: float = 1.0  # the authors' nd: 1 for natural pictures, 0.1 for strongly structured ones, 0 for none

    room: ClassVar[float] = 820.0
    assumes: ClassVar[str] = "low CP rank, and neighbouring indices of the modes longer than 4 carry similar values"
    use_when: ClassVar[str] = "pictures with most entries missing, noise level and rank unknown"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_above(self, 0, "mixing", included=True, most=STRONGEST)

    def _draw(self, shape: Sequence[int], R: int, rng: np.random.Generator) -> list[Array]:
        return [rng.random((length, R)) for length in shape]

    def order(self, shape: Sequence[int]) -> list[int]:
        """Short modes last: their regression absorbs the gain of the mixing."""
        smooth = long_modes(shape) if self.mixing > 0 else []
        return smooth + [n for n in range(len(shape)) if n not in smooth]

    def start(self, data: Dense, rng: np.random.Generator) -> State:
        return super().start(_with_channel(data), rng)

    def step(self, data: Dense, state: State, rng: np.random.Generator) -> State:
        return super().step(_with_channel(data), state, rng)

    def answer(self, data: Dense, state: State) -> Array:
        return super().answer(data, state).reshape(data.T.shape)

    def smooth_rows(self, data: Dense, n: int, Z: Array) -> Array:
        """(I + W) Z, a gain of 1 + 5 mixing that the regression of the short modes absorbs."""
        if n not in long_modes(data.T.shape) or self.mixing == 0:
            return Z
        return Z + 5 * self.mixing * neighbour_means(Z, data.share)

    def balance_scales(self, means: list[Array], moments: list[Array]) -> tuple[list[Array], list[Array]]:
        """Equal root mean squares in all modes.

        Left alone, the gain of 6 moves scale from the last mode to the first in every iteration, until gamma weighs
        nothing, the inverses break down (a loss of 1 dB on house at 60 %, iteration 30) and the numbers overflow.
        """
        size = np.array([np.sqrt(np.mean(Z**2)) for Z in means])
        if self.mixing == 0 or not size.all():
            return means, moments
        scale = np.exp(np.mean(np.log(size))) / size
        scaled = [c * Z for c, Z in zip(scale, means, strict=True)]
        return scaled, [c**2 * M for c, M in zip(scale, moments, strict=True)]


def _with_channel(data: Dense) -> Dense:
    """Data with at least one mode that is not mixed, of length 1 if there is none: a grey picture has one channel."""
    if len(long_modes(data.T.shape)) < data.T.ndim:
        return data
    return Dense(data.T[..., None], data.O[..., None])


def neighbour_means(Z: Array, share: float) -> Array:
    """Row i: the mean of the rows j != i of Z (I, R) weighted by exp(-2 share (i - j)^2); Z itself if I = 1."""
    from scipy.ndimage import convolve1d

    reach = min(int(np.sqrt(20 / share)), len(Z) - 1)  # beyond it the weights are below 1e-17
    if reach == 0:
        return Z
    w = np.exp(-2.0 * share * np.arange(-reach, reach + 1) ** 2)
    w[reach] = 0.0
    total, weight = (convolve1d(A, w, axis=0, mode="constant") for A in (Z, np.ones((len(Z), 1))))
    return total / weight


def posterior(B: Array, f: Array, gamma: Array, beta: float) -> tuple[Array, Array]:
    """Every row's mean beta S_i f_i, (I, R), and covariance S_i = (beta B_i + diag gamma)^-1, upper triangles as B."""
    R = len(gamma)
    rows, columns = np.triu_indices(R)
    P = np.empty((len(B), R, R))
    P[:, rows, columns] = P[:, columns, rows] = beta * B
    P[:, range(R), range(R)] += gamma
    # Unit diagonals plus 1e-12: collinear components of noise-free data leave P singular to rounding.
    d = 1.0 / np.sqrt(P[:, range(R), range(R)])
    P *= d[:, :, None] * d[:, None, :]
    P[:, range(R), range(R)] += 1e-12
    for part in np.array_split(P, max(1, P.size // AT_ONCE)):  # views
        check_time()
        part[:] = np.linalg.inv(part)
    S = P * (d[:, :, None] * d[:, None, :])
    return beta * (S @ f[:, :, None])[:, :, 0], S[:, rows, columns]


def prune(means: list[Array], moments: list[Array], gamma: Array) -> tuple[list[Array], list[Array], Array]:
    """Drop the components whose power is zero to rounding; the strongest always stays."""
    power = sum(np.sum(Z**2, axis=0) for Z in means)
    total = np.sqrt(power.sum())
    alive = power > sum(map(len, means)) * np.spacing(total)
    alive[np.argmax(power)] = True
    if alive.all():
        return means, moments, gamma
    rows, columns = np.triu_indices(len(gamma))
    kept = alive[rows] & alive[columns]
    return [Z[:, alive] for Z in means], [M[:, kept] for M in moments], gamma[alive]


def contract(X: Array, matrices: Sequence[Array], n: int) -> Array:
    """sum over all modes but n of X times the matrices' rows, column by column: (I_n, columns).

    The longest other mode is summed by matrix products, the remaining ones in blocks of bounded size: the Khatri-Rao
    product of two long modes (5 GB for a picture at rank 100) is never formed.
    """
    others = [m for m in range(X.ndim) if m != n]
    long = max(others, key=lambda m: X.shape[m])
    rest = [m for m in others if m != long]
    columns = matrices[n].shape[1]
    stack = np.ascontiguousarray(X.transpose(*rest, n, long)).reshape(-1, X.shape[n], X.shape[long])
    places = np.indices([X.shape[m] for m in rest]).reshape(len(rest), len(stack))
    block = max(1, CONTRACTED // (X.shape[n] * columns))
    out = np.zeros((X.shape[n], columns))
    for k in range(0, len(stack), block):
        check_time()
        part = stack[k : k + block]
        sums = (part.reshape(-1, part.shape[2]) @ matrices[long]).reshape(len(part), -1, columns)
        weights = np.ones((len(part), columns))
        for m, place in zip(rest, places, strict=True):
            weights *= matrices[m][place[k : k + block]]
        out += np.einsum("kic,kc->ic", sums, weights)
    return out


def _packed_size(R: int) -> int:
    return R * (R + 1) // 2
