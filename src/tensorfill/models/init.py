"""Where a solver starts: initial factors.

`uniform` and `normal` are random and positive (Algorithm 1, line 1); the others use what the observations say before
any fitting.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tensorfill.numerical.slices import PerSlice
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.data.observations import Observations
    from tensorfill.numerical.base import NumericalPrior
    from tensorfill.problem import Problem


INITS = ("uniform", "normal", "scaled", "constant", "means")


def initial_factors(
    problem: Problem,
    init: str | Sequence[Array] = "scaled",
    rng: np.random.Generator | None = None,
    *,
    noise: float = 0.05,
) -> list[Array]:
    """Starting factors: the parameters of the model, of CP [(I_n, R)].

    init : "uniform"   uniform(0, 1)
           "normal"    absolute values of normal numbers
           "scaled"    uniform(0, 1), scaled so that the model's mean is the data's
           "constant"  one constant component at the data's mean, the others small noise
           "means"     of CP the per-mode means, the other components small noise; of other models as "constant"
           or a list of arrays, which is checked and copied
    noise : size of the small noise, relative to a typical factor entry
    """
    rng = rng if rng is not None else np.random.default_rng(0)
    if not isinstance(init, str):
        factors = [np.array(A) for A in problem.check_factors(init)]
    elif init == "uniform":
        factors = [rng.random(shape) for shape in problem.parameter_shapes]  # Algorithm 1, line 1
    elif init == "normal":
        factors = [np.abs(rng.standard_normal(shape)) for shape in problem.parameter_shapes]
    elif init == "scaled":
        factors = _start_scaled(problem, rng)
    elif init == "constant":
        factors = _constant(problem, rng, noise)
    elif init == "means":
        factors = _means(problem, rng, noise)
    else:
        msg = f"init must be one of {', '.join(INITS)}, or a list of factors; got {init!r}."
        raise ValueError(msg)
    for n, A in enumerate(factors):
        low, high = problem.bounds(n)
        np.clip(A, low, high, out=A)
    return [A.astype(problem.dtype) for A in factors]


def typical(obs: Observations, prior: NumericalPrior) -> tuple[float, float]:
    """(x at the data's mean, typical size of x): in units of the model, after the prior's link."""
    if not prior.uniform:
        parts = [(typical(obs.subset(at), part), len(at)) for part, at in prior.at(obs.indices).groups((obs.nnz,))]
        count = [n for _, n in parts]
        return tuple(float(np.average([pair[k] for pair, _ in parts], weights=count)) for k in (0, 1))  # type: ignore[return-value]
    t = obs.values.astype(np.float64)
    x0 = float(prior.start(float(np.average(t, weights=obs.weights))))
    low, high = (float(prior.start(float(q))) for q in np.quantile(t, (0.1, 0.9)))
    size = max(abs(x0), abs(high - low) / 2)
    return x0, size if np.isfinite(size) and size > 0 else 1.0


def unit(problem: Problem) -> float:
    """Typical size of one entry of a parameter: the product of one of each is the typical size of x."""
    return typical(problem.observations, problem.prior)[1] ** (1.0 / len(problem.parameter_shapes))


def _noise(problem: Problem, rng: np.random.Generator, relative: float) -> list[Array]:
    size = unit(problem)
    factors = problem.form.noise(problem.shape, problem.rank, relative, size, rng)
    problem.form.aim(factors, partial(directions, problem.observations, rng), size)
    return factors


def directions(obs: Observations, rng: np.random.Generator, mode: int, count: int, rounds: int = 3) -> Array:
    """The directions along a mode in which the observations vary most about their mean, (I_n, count): of the unfolding
    with zeros where nothing is known, by a few rounds of subspace iteration; random ones where it has no more.
    """
    from scipy.sparse import csr_array

    length, others = obs.shape[mode], [n for n in range(obs.ndim) if n != mode]
    flat = np.ravel_multi_index(tuple(obs.indices[:, others].T), [obs.shape[n] for n in others])
    columns = np.unique(flat, return_inverse=True)[1]
    t = obs.values.astype(np.float64)
    Y = csr_array((t - t.mean(), (obs.indices[:, mode], columns)), shape=(length, int(columns.max()) + 1))
    Q = rng.standard_normal((length, count))
    for _ in range(rounds):
        fresh = np.linalg.qr(Q)[0]
        Q[:, : fresh.shape[1]] = Y @ (Y.T @ fresh)
    alive = np.linalg.norm(Q, axis=0) > 0
    return np.where(alive, Q, rng.standard_normal(Q.shape))


def _start_scaled(problem: Problem, rng: np.random.Generator) -> list[Array]:
    x0, size = typical(problem.observations, problem.prior)
    goal = x0 if x0 != 0 else size
    count = len(problem.parameter_shapes)
    expected = problem.form.terms(problem.shape, problem.rank) * 0.5**count  # mean of a sum of products of uniforms
    scale = (abs(goal) / expected) ** (1.0 / count)
    factors = [scale * rng.random(shape) for shape in problem.parameter_shapes]
    if goal < 0:
        factors[0] *= -1.0
    return factors


def _constant(problem: Problem, rng: np.random.Generator, noise: float) -> list[Array]:
    x0, typical_size = typical(problem.observations, problem.prior)
    factors = _noise(problem, rng, noise)
    if abs(x0) <= noise * typical_size:  # a component of almost nothing would stay at zero: it is a saddle
        return factors
    size = abs(x0) ** (1.0 / len(problem.shape))
    lines = [np.full(length, size) for length in problem.shape]
    lines[0] *= np.sign(x0)
    problem.form.put_product(problem.shape, problem.rank, factors, lines)
    return factors


def _means(problem: Problem, rng: np.random.Generator, noise: float) -> list[Array]:
    """Main effects as a low-rank model: multiplicative (one component) where x must be positive, else additive, which
    takes a component for each mode: constant in every mode but that one. As many as the rank can hold.
    """
    x0, _ = typical(problem.observations, problem.prior)
    positive = problem.prior.x_domain.low >= 0 and x0 > 0
    if problem.model != "cp" and not positive:
        return _constant(problem, rng, noise)
    factors, effects, N = _noise(problem, rng, noise), mode_effects(problem), len(problem.shape)
    if positive:
        lines = [x0 ** (1.0 / N) * np.maximum(e / x0, 1e-3) for e in effects]
        problem.form.put_product(problem.shape, problem.rank, factors, lines)
        return factors
    size = unit(problem)
    for n, effect in enumerate(effects[: problem.rank]):
        for A in factors:
            A[:, n] = size
        factors[n][:, n] = (effect - (x0 if n else 0.0)) / size ** (N - 1)  # the overall level is in the first alone
    return factors


def mode_effects(problem: Problem, sweeps: int = 3) -> list[Array]:
    """x at the mean of every slice of every mode, what the other modes explain taken out: [(I_n,)].

    Each sweep fits the slices of one mode to what the others leave. Means of few or noisy entries are drawn towards
    the overall mean by as many pseudo-observations as the noise has variances of the slices (James and Stein).
    """
    obs, prior = problem.observations, problem.prior
    if isinstance(prior, PerSlice):
        return _slice_levels(obs, prior)
    t = obs.values.astype(np.float64)
    w = np.ones_like(t) if obs.weights is None else obs.weights
    overall = float(np.average(t, weights=w))
    effects = [np.zeros(length) for length in obs.shape]
    rest = t - overall
    mass = [np.bincount(obs.indices[:, n], weights=w, minlength=length) for n, length in enumerate(obs.shape)]
    for _ in range(sweeps):
        for n, length in enumerate(obs.shape):
            at = obs.indices[:, n]
            rest += effects[n][at]
            seen = mass[n] > 0
            means = np.bincount(at, weights=w * rest, minlength=length) / np.where(seen, mass[n], 1.0)
            noise = float(np.average((rest - means[at]) ** 2, weights=w))
            between = float(np.mean(means[seen] ** 2 - noise / mass[n][seen]))
            trust = mass[n] * between / np.where(seen, mass[n] * between + noise, 1.0) if between > 0 else 0.0
            effects[n] = trust * means
            rest -= effects[n][at]
    low, high = float(t.min()), float(t.max())  # sums of effects may leave what the prior allows
    return [start_at_means(prior, np.clip(overall + e, low, high)) for e in effects]


def _slice_levels(obs: Observations, prior: PerSlice) -> list[Array]:
    """x at the mean of every slice that has a prior of its own, the same everywhere along the other modes: numbers of
    different kinds have no other effects in common.
    """
    n, x0 = prior.mode, typical(obs, prior)[0]
    at = obs.indices[:, n]
    mass = np.bincount(at, weights=obs.weights, minlength=obs.shape[n])
    t = obs.values.astype(np.float64) * (1.0 if obs.weights is None else obs.weights)
    means = np.bincount(at, weights=t, minlength=obs.shape[n]) / np.where(mass > 0, mass, 1.0)
    levels = [p.start(float(m)) if seen else x0 for p, m, seen in zip(prior.priors, means, mass > 0, strict=True)]
    return [np.array(levels) if m == n else np.full(length, x0) for m, length in enumerate(obs.shape)]


def start_at_means(prior: NumericalPrior, means: Array, nodes: int = 2000) -> Array:
    """`prior.start` of every mean (k,): x where the prior has that mean. Of very many on the line between those of
    `nodes` of them.
    """
    if len(means) <= nodes:
        return np.array([prior.start(float(m)) for m in means])
    at = np.unique(np.quantile(means, np.linspace(0, 1, nodes)))
    return np.interp(means, at, [prior.start(float(m)) for m in at])
