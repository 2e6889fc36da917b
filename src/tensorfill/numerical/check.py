"""The checker of numerical priors: what every one of them must hold to, tried on data from its own domains.

Design: nothing here restates a formula. Derivatives are compared with differences, means with samples, parts with
their whole. A checker raises (AssertionError, with a sentence); it never returns a verdict that one can ignore.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Iterator
from typing import NoReturn

import numpy as np

from tensorfill.numerical.base import Array, Interval, NumericalPrior

SIZE = 400  # entries drawn for the derivatives
EPS = np.finfo(float).eps
DRAWS = 20_000  # samples per model value
DTYPES = (np.float64, np.float32)


def check_numerical_prior(prior: NumericalPrior, *, seed: int = 0) -> None:
    """Raise an AssertionError that says what is wrong with `prior`, if anything is.

    Tried on random data from `t_domain` and `x_domain`, their edges, and far outside: `grad` and `curv` against
    differences, `nll_and_grad`, `split`, dtype and shape, finite values at extremes, a loss bounded below,
    `mean` with `start`, `sample` and `quantile` where the prior has them, copies by pickle and by `settings`.
    """
    rng = np.random.default_rng(seed)
    with np.errstate(all="ignore"):  # numbers that are not finite are reported by the checks, with their place
        _check_extremes(prior)
        _check_bounded(prior)
        t, x = entries(prior, rng)
        _check_derivative(prior, "grad", "nll", t, x)
        if prior.has("curv"):
            _check_derivative(prior, "curv", "grad", t, x)
        _check_kinds(prior, t, x)
        _check_pair(prior, t, x)
        _check_split(prior, t, x)
        _check_mean(prior, rng)
        _check_sample(prior, rng)
    _check_copies(prior)


def _fail(prior: NumericalPrior, sentence: str) -> NoReturn:
    msg = f"{type(prior).__name__}: {sentence}"
    raise AssertionError(msg)


def _refuse(prior: NumericalPrior, wrong: Array, sentence: str, **arrays: Array) -> None:
    """Fail if `wrong` is true anywhere, with the numbers at the first such place in the sentence."""
    for place in np.flatnonzero(wrong)[:1]:
        numbers = {name: np.broadcast_to(a, wrong.shape).flat[place].item() for name, a in arrays.items()}
        _fail(prior, sentence.format(**numbers))


def _check_derivative(prior: NumericalPrior, what: str, of: str, t: Array, x: Array) -> None:
    got = getattr(prior, what)(t, x)
    f = getattr(prior, of)
    expected, error = derivative(lambda z: f(t, z), x, steps(prior, x))
    # A derivative near 0 is judged by what is usual here, and by the size of f.
    usual = 1e-3 * np.median(np.abs(expected)) + 1e-4 * np.abs(f(t, x)) / (1 + np.abs(x))
    scale = np.maximum(np.abs(expected), usual)
    smooth = error <= 1e-7 * scale  # elsewhere the differences say nothing: a kink is near
    if np.mean(smooth) < 0.8:
        sentence = f"{of} is not smooth in x at too many places, such as t = {{t:.9g}}, x = {{x:.9g}}."
        _refuse(prior, ~smooth, sentence, t=t, x=x)
    wrong = smooth & ~(np.abs(got - expected) <= 1e-6 * scale)
    sentence = what + " is wrong at t = {t:.9g}, x = {x:.9g}: it answers {a:.9g}, differences of " + of
    _refuse(prior, wrong, sentence + " give {b:.9g}.", t=t, x=x, a=got, b=expected)


def _methods(prior: NumericalPrior) -> Iterator[tuple[str, Callable[[Array, Array], Array]]]:
    """Every entry-wise answer of the prior, by name."""
    yield "nll", prior.nll
    yield "grad", prior.grad
    yield "nll_and_grad()[0]", lambda t, x: prior.nll_and_grad(t, x)[0]
    yield "nll_and_grad()[1]", lambda t, x: prior.nll_and_grad(t, x)[1]
    yield "mean", lambda t, x: prior.mean(x)
    if prior.has("curv"):
        yield "curv", prior.curv
    if prior.has("split"):
        yield "split()[0]", lambda t, x: prior.split(t, x)[0]
        yield "split()[1]", lambda t, x: prior.split(t, x)[1]


def _check_kinds(prior: NumericalPrior, t: Array, x: Array) -> None:
    """Shape and dtype kept, new memory, arguments untouched, float32 close to float64."""
    for name, method in _methods(prior):
        exact = method(t.astype(np.float32).astype(float), x.astype(np.float32).astype(float))
        for dtype in DTYPES:
            a, b = t.astype(dtype), x.astype(dtype)
            for shape in ((SIZE,), (SIZE // 4, 4), (0,)):
                u, v = np.resize(a, shape), np.resize(b, shape)
                u.setflags(write=False)
                v.setflags(write=False)
                try:
                    got = method(u, v)
                except ValueError as err:
                    _fail(prior, f"{name} failed on arrays of shape {shape} that must not be written to: {err}.")
                if not isinstance(got, np.ndarray) or got.shape != shape or got.dtype != dtype:
                    kind = f"{getattr(got, 'dtype', type(got))} of shape {np.shape(got)}"
                    _fail(prior, f"{name} must keep dtype and shape: for {dtype.__name__} {shape} it gave {kind}.")
                if np.shares_memory(got, u) or np.shares_memory(got, v):
                    _fail(prior, f"{name} must answer in new memory; it returned (a view of) its argument.")
        got = method(t.astype(np.float32), x.astype(np.float32))
        scale = np.abs(exact) + np.median(np.abs(exact)) + 1e-3
        sentence = name + " at t = {t:.9g}, x = {x:.9g} is {a:.9g} in float32, {b:.9g} in float64."
        _refuse(prior, ~(np.abs(got - exact) <= 1e-3 * scale), sentence, t=t, x=x, a=got, b=exact)


def _check_pair(prior: NumericalPrior, t: Array, x: Array) -> None:
    pair = prior.nll_and_grad(t, x)
    for both, alone, name in zip(pair, (prior.nll(t, x), prior.grad(t, x)), ("nll", "grad"), strict=True):
        wrong = ~np.isclose(both, alone, rtol=1e-10, atol=1e-12 * (1 + np.median(np.abs(alone))))
        sentence = "nll_and_grad and " + name + " differ at t = {t:.9g}, x = {x:.9g}: {a:.9g} and {b:.9g}."
        _refuse(prior, wrong, sentence, t=t, x=x, a=both, b=alone)


def _check_split(prior: NumericalPrior, t: Array, x: Array) -> None:
    if not prior.has("split"):
        return
    t, x = t[x > 0], x[x > 0]
    positive, negative = prior.split(t, x)
    grad = prior.grad(t, x)
    for part, name in ((positive, "positive"), (negative, "negative")):
        sentence = "the " + name + " part of split must be >= 0; it is {a:.9g} at t = {t:.9g}, x = {x:.9g}."
        _refuse(prior, part < 0, sentence, t=t, x=x, a=part)
    wrong = ~(np.abs(positive - negative - grad) <= 1e-9 * (positive + negative + np.abs(grad)))
    sentence = "positive - negative is {a:.9g} at t = {t:.9g}, x = {x:.9g}, where grad is {b:.9g}."
    _refuse(prior, wrong, sentence, t=t, x=x, a=positive - negative, b=grad)


def _some_t(prior: NumericalPrior) -> Array:
    """A few data: the edges of the domain that belong to it, ordinary ones, large ones."""
    domain = prior.t_domain
    values = np.array([domain.low, domain.high, 0.0, 1e-30, 0.3, 1.0, 7.0, 255.0, -3.0, 1e4])
    return values[domain.includes(values) & np.isfinite(values)]


def _check_extremes(prior: NumericalPrior) -> None:
    """Finite everywhere: at the edges, just outside, far away."""
    floor = getattr(prior, "floor", 1e-3)
    points = [0.0, 1e-300, 1e-12, 1e-5, 0.5, 1.0, 30.0, 90.0, 800.0, 1e4]
    for end in (prior.x_domain.low, prior.x_domain.high):
        if np.isfinite(end):
            points += [end, end + floor, end - floor, end - 2 * floor, end + 2 * floor]
    x, t = map(np.ravel, np.meshgrid([sign * p for p in points for sign in (1, -1)], _some_t(prior)))
    for dtype in DTYPES:
        for name, method in _methods(prior):
            got = np.asarray(method(t.astype(dtype), x.astype(dtype)))
            sentence = (
                name + " must be finite for every x; it is {a} at t = {t:.9g}, x = {x:.9g} (" + dtype.__name__ + "). "
                "If the loss holds only on a range of x, say so in x_domain: beyond it, the loss is continued."
            )
            _refuse(prior, ~np.isfinite(np.broadcast_to(got, t.size)), sentence, t=t, x=x, a=got)


def _check_bounded(prior: NumericalPrior) -> None:
    """Far away on either side, the loss must not go on falling."""
    t = _some_t(prior)
    for sign in (-1.0, 1.0):
        far, farther = (prior.nll(t, np.full_like(t, sign * size)) for size in (1e5, 1e8))
        sentence = (
            "nll must be bounded below; with t = {t:.9g} it falls from {a:.9g} at x = {x:g} to {b:.9g} at {y:g}. "
            "If such x make no sense, leave them out of x_domain."
        )
        wrong, ends = ~(farther >= far - 1e-3 * (1 + np.abs(far))), np.array([sign * 1e5, sign * 1e8])
        _refuse(prior, wrong, sentence, t=t, a=far, b=farther, x=ends[0], y=ends[1])


def _inner(prior: NumericalPrior) -> Array:
    """A few ordinary model values inside the floor, float64."""
    floor = getattr(prior, "floor", 0.0)
    low, high = prior.x_domain.low + floor, prior.x_domain.high - floor
    if np.isfinite(low) and np.isfinite(high):
        return low + (high - low) * np.array([0.2, 0.5, 0.7])
    if np.isfinite(low):
        return low + np.array([0.3, 2.0, 17.0])
    return high - np.array([0.3, 2.0, 17.0]) if np.isfinite(high) else np.array([-1.7, 0.4, 3.0])


def _check_mean(prior: NumericalPrior, rng: np.random.Generator) -> None:
    """`start` inverts `mean`; and where grad is linear in t, E[grad] = 0 means grad = 0 at t = mean(x)."""
    x = _inner(prior)
    mean = prior.mean(x)
    back = np.array([prior.start(float(m)) for m in mean])
    sentence = "start must invert mean: mean({x:.9g}) = {m:.9g}, but start({m:.9g}) = {b:.9g}."
    _refuse(prior, ~np.isclose(back, x, rtol=1e-6, atol=1e-6), sentence, x=x, m=mean, b=back)
    pair = draw(prior.t_domain, rng, 2 * len(x)).reshape(2, -1)
    ends = [prior.grad(t, x) for t in (*pair, pair.mean(axis=0))]
    size = np.abs(ends[0]) + np.abs(ends[1])
    if (np.abs(ends[0] + ends[1] - 2 * ends[2]) <= 1e-9 * size).all():
        slope = prior.grad(mean, x)
        sentence = (
            "the loss must be lowest where mean(x) = t; at x = {x:.9g} and t = mean(x) = {m:.9g} its derivative is "
            "{g:.9g}. Either grad is wrong, or mean is not what x stands for."
        )
        _refuse(prior, ~(np.abs(slope) <= 1e-9 * size + 1e-12), sentence, x=x, m=mean, g=slope)


def _check_sample(prior: NumericalPrior, rng: np.random.Generator) -> None:
    """Samples lie in t_domain, average to mean(x), and make the expected derivative 0; quantiles cut them right."""
    if not prior.has("sample"):
        return
    for value in _inner(prior):
        x = np.full(DRAWS, value)
        t = prior.sample(x, rng)
        outside = ~prior.t_domain.includes(t)
        if t.shape != x.shape or outside.any():
            _fail(prior, f"samples must be {prior.t_domain}, {x.shape} of them; got {t[:3]}... at x = {value:.9g}.")
        for name, got, mean in (("t", t, prior.mean(x[:1])[0]), ("grad", prior.grad(t, x), 0.0)):
            error = float(np.std(got)) / DRAWS**0.5
            if not abs(got.mean() - mean) <= 5 * error + 1e-12:
                _fail(
                    prior,
                    f"over samples at x = {value:.9g} the average {name} must be {mean:.9g}; "
                    f"it is {got.mean():.9g}, give or take {error:.2g}.",
                )
        for q in (0.1, 0.5, 0.9) if prior.has("quantile") else ():
            cut = prior.quantile(x[:1], q)[0]
            below, upto, slack = np.mean(t < cut), np.mean(t <= cut), 5 * (q * (1 - q) / DRAWS) ** 0.5
            if not below - slack <= q <= upto + slack:
                _fail(
                    prior,
                    f"quantile({value:.9g}, {q}) = {cut:.9g} has {below:.4f} of the samples below it, "
                    f"{upto:.4f} with it.",
                )


def _check_copies(prior: NumericalPrior) -> None:
    """The same prior again by pickle and from its settings."""
    if not prior.savable:
        return
    again = type(prior)(**json.loads(json.dumps(prior.settings())))
    if again != prior:
        _fail(prior, f"settings must make the same prior again; {prior.settings()} made {again}.")
    if pickle.loads(pickle.dumps(prior)) != prior:
        _fail(prior, "a pickled copy must equal the original.")


# --- what priors are tried on, and derivatives found without formulas ------------------------------------------------


def derivative(f: Callable[[Array], Array], x: Array, step: Array, levels: int = 8) -> tuple[Array, Array]:
    """d f / dx entry by entry: central differences, halved steps, Richardson's extrapolation (Ridders 1982).

    x, step: (n,) float64. Returns the value of the tableau with the smallest estimated error, and that error.
    """
    best, error = np.zeros_like(x), np.full_like(x, np.inf)
    row: list[Array] = []
    for level in range(levels):
        h = step / 2**level
        up, down = x + h, x - h
        right, left = f(up), f(down)
        new = [(right - left) / (up - down)]
        rounding = EPS * np.maximum(np.abs(right), np.abs(left)) / h
        for k, previous in enumerate(row):
            new.append(new[k] + (new[k] - previous) / (4.0 ** (k + 1) - 1))
            guess = np.maximum(np.abs(new[k + 1] - new[k]), np.abs(new[k + 1] - previous)) + rounding
            better = guess < error
            best, error = np.where(better, new[k + 1], best), np.where(better, guess, error)
        row = new
    return best, error


def draw(domain: Interval, rng: np.random.Generator, n: int) -> Array:
    """(n,) float64 values inside the domain, of many magnitudes; its edges too where they belong to it."""
    size = 10.0 ** rng.uniform(-2, 2, n)
    if np.isfinite(domain.low) and np.isfinite(domain.high):
        values = domain.low + (domain.high - domain.low) * rng.uniform(0.02, 0.98, n)
    elif np.isfinite(domain.low):
        values = domain.low + size
    elif np.isfinite(domain.high):
        values = domain.high - size
    else:
        values = size * rng.normal(size=n)
    if domain.whole:
        values = np.round(values)
    for k, edge in enumerate((domain.low, domain.high)):
        if np.isfinite(edge) and (domain.low_inclusive, domain.high_inclusive)[k]:
            values[k::10] = edge
    return values


def entries(prior: NumericalPrior, rng: np.random.Generator, n: int = SIZE) -> tuple[Array, Array]:
    """Pairs (t, x), (n,) each: x all over its domain, near the datum's own x, and about the ends of the domain."""
    t = draw(prior.t_domain, rng, n)
    x = draw(prior.x_domain, rng, n)
    floor = getattr(prior, "floor", 1e-3)
    third = n // 3
    for i in range(third):
        x[i] = prior.start(float(t[i])) * (1 + 0.3 * rng.normal()) + 0.1 * rng.normal()
    ends = [end for end in (prior.x_domain.low, prior.x_domain.high) if np.isfinite(end)]
    for k, end in enumerate(ends):
        chosen = slice(third + k, 2 * third, 2)
        x[chosen] = end + floor * rng.uniform(-5, 5, len(x[chosen]))
    return t, x


def steps(prior: NumericalPrior, x: Array) -> Array:
    """First steps of the differences: a tenth of the way to the nearest end of the domain, or of the scale of x."""
    step = 0.1 * (1 + np.abs(x))
    for end in (prior.x_domain.low, prior.x_domain.high):
        if np.isfinite(end):
            step = np.minimum(step, 0.1 * np.abs(x - end) + 1e-9)
    return step
