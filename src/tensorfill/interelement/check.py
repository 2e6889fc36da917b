"""Checks that a prior keeps its promises: for your own priors, and run on every registered one by our tests.

Each raises AssertionError with a sentence; none returns a bool that could be ignored. Derivatives are compared with
finite differences, a prox with the definition of a minimiser.
"""

from __future__ import annotations

import json
import math
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from tensorfill.interelement.base import INTERELEMENT, InterElementPrior, Scaled, Sum, interelement_from_settings
from tensorfill.interelement.tensorspace import TENSORSPACE, TensorSpacePrior, tensorspace_from_settings
from tensorfill.typing import Array

STEPS = (0.03, 0.7, 20.0)


def check_interelement_prior(prior: InterElementPrior, *, shape: tuple[int, int] = (7, 3), seed: int = 0) -> None:
    """Check value, grad, prox, matrix, dtypes and settings of a prior on factors of `shape` (I_n, R).

    Parameters
    ----------
    prior
        The prior to check; convex.
    shape
        Shape of the random factors it is checked on.
    seed
        Of those factors.
    """
    rng = np.random.default_rng(seed)
    low, high = prior.bounds
    A = rng.normal(size=shape)
    inside = np.clip(A, low, high)
    rest = prior.nonsmooth
    _require(rest is None or rest.has("prox"), f"{prior!r} must have a grad, or a prox for what has none.")
    _require(math.isfinite(prior.value(inside)), f"value must be finite inside the bounds of {prior!r}.")
    for end, outside in ((low, -1.0), (high, 1.0)):
        if math.isfinite(end):
            wrong = inside.copy()
            wrong[0, 0] = end + outside
            _require(prior.value(wrong) == math.inf, f"value of {prior!r} must be inf beyond {end:g}.")
    if prior.has("grad"):
        _check_gradient(prior, A)
    if prior.has("prox"):
        for step in STEPS:
            _check_prox(prior, A, step, rng)
        _close(prior.prox(A, 0.0), inside, f"prox of {prior!r} with step 0, and the nearest point inside its bounds,")
    if prior.has("matrix"):
        _check_matrix(prior, A)
    for what in ("grad", "prox"):
        if prior.has(what):
            call = prior.grad if what == "grad" else lambda Z: prior.prox(Z, 0.7)
            for point in (A, inside):
                _check_dtype(call, point, f"{what} of {prior!r}")
    if _is_registered(prior):
        _check_settings(prior, interelement_from_settings)


def check_tensorspace_prior(prior: TensorSpacePrior, *, shape: tuple[int, ...] = (5, 6, 3), seed: int = 0) -> None:
    """Check value, grad, dtypes and settings of a tensor-space prior on arrays X of `shape`."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    prior.check(shape)
    value, G = prior.value_and_grad(X)
    _close(prior.value(X), value, f"value and value_and_grad of {prior!r}")
    _close(prior.grad(X), G, f"grad and value_and_grad of {prior!r}")
    _check_gradient(prior, X)
    _check_dtype(prior.grad, X, f"grad of {prior!r}")
    if getattr(prior, "name", None) in TENSORSPACE:
        _check_settings(prior, tensorspace_from_settings)


def _check_gradient(prior: Any, A: Array) -> None:
    """grad = derivative of value, entry by entry, by central differences."""
    h = 1e-5
    numerical = np.empty_like(A)
    for at in np.ndindex(*A.shape):
        E = np.zeros_like(A)
        E[at] = h
        numerical[at] = (prior.value(A + E) - prior.value(A - E)) / (2.0 * h)
    _close(prior.grad(A), numerical, f"grad of {prior!r} and finite differences of its value", 1e-7)


def _check_prox(prior: InterElementPrior, A: Array, step: float, rng: np.random.Generator) -> None:
    """Z = prox(A, step) minimises value(Z) + |Z - A|^2 / (2 step), and prox is firmly non-expansive.

    Z is the minimiser if and only if U = (A - Z) / step is a subgradient of the value at Z (so that Z and U split A as
    Moreau's decomposition says): value(Z') >= value(Z) + <U, Z' - Z> for all Z'. That is far sharper than comparing
    objectives, since a small error of Z shows in first order.
    """
    low, high = prior.bounds
    Z = prior.prox(A, step)
    at_Z = prior.value(Z)
    _require(math.isfinite(at_Z), f"prox of {prior!r} must give a point where the value is finite.")
    U = (A - Z) / step
    scale = 1.0 + abs(at_Z) + float(np.abs(U).sum())
    for _ in range(100):
        move = rng.normal(size=A.shape) * 10.0 ** rng.uniform(-3, 1)
        if rng.random() < 0.5:  # along few entries: constraints and kinks show there
            move *= rng.random(A.shape) < 2.0 / A.size
        other = np.clip(Z + move, low, high)
        gap = prior.value(other) - at_Z - float(np.sum(U * (other - Z)))
        reach = scale * float(np.abs(other - Z).max(initial=0.0))
        _require(
            gap >= -1e-9 * (scale + reach),
            f"prox of {prior!r} must be a minimiser; with step {step} it is not, by {-gap:g}.",
        )
    B = A + rng.normal(size=A.shape)
    moved = prior.prox(B, step) - Z
    _require(
        np.sum(moved * moved) <= np.sum(moved * (B - A)) + 1e-9,
        f"prox of {prior!r} must be firmly non-expansive; with step {step} it is not.",
    )


def _check_matrix(prior: InterElementPrior, A: Array) -> None:
    """value = 1/2 tr(A' Q A), grad = Q A; Q symmetric, without negative eigenvalues."""
    n = len(A)
    Q = prior.matrix(n).toarray()
    _require(np.array_equal(Q, Q.T), f"matrix of {prior!r} must be symmetric.")
    eigenvalues = np.linalg.eigvalsh(Q)
    _require(eigenvalues.min() >= -1e-9 * (1.0 + eigenvalues.max()), f"matrix of {prior!r} must be >= 0.")
    _close(prior.value(A), 0.5 * np.trace(A.T @ Q @ A), f"value of {prior!r} and 1/2 tr(A' Q A)")
    if prior.has("grad"):
        _close(prior.grad(A), Q @ A, f"grad of {prior!r} and Q A")


def _check_dtype(call: Callable[[Array], Array], A: Array, what: str) -> None:
    """float32 in, float32 out and near the float64 answer; neither the input nor its memory order matters."""
    reference = call(A)
    for given in (A, A.astype(np.float32), np.asfortranarray(A)):
        kept = given.copy()
        given.flags.writeable = False
        result = call(given)
        given.flags.writeable = True
        _require(np.array_equal(given, kept), f"{what} must leave its input as it was.")
        _require(result.dtype == given.dtype, f"{what} must keep {given.dtype}; got {result.dtype}.")
        _require(result.shape == given.shape, f"{what} must keep shape {given.shape}; got {result.shape}.")
        _require(not np.shares_memory(result, given), f"{what} must be an array of its own, not its input.")
        _require(not np.shares_memory(result, call(given)), f"{what} must be a new array at every call.")
        _close(result, reference, what, 1e-12 if given.dtype == np.float64 else 2e-4)


def _check_settings(prior: Any, remake: Callable[[dict[str, Any]], Any]) -> None:
    """Settings go through JSON and pickle, and come back as an equal prior."""
    text = json.dumps(prior.settings(), allow_nan=False)
    for again in (remake(json.loads(text)), pickle.loads(pickle.dumps(prior))):
        _require(again == prior, f"{prior!r} must be re-made equal from its settings; got {again!r}.")
        _require(hash(again) == hash(prior), f"{prior!r} and its copy must have one hash.")


def _is_registered(prior: InterElementPrior) -> bool:
    """Can `interelement_from_settings` know this prior?"""
    if isinstance(prior, Sum):
        return all(_is_registered(term) for term in prior.terms)
    if isinstance(prior, Scaled):
        return _is_registered(prior.prior)
    return getattr(prior, "name", None) in INTERELEMENT


def _require(true: Any, sentence: str) -> None:
    if not true:
        raise AssertionError(sentence)


def _close(got: Any, expected: Any, what: str, tolerance: float = 1e-9) -> None:
    """Equal up to `tolerance` times the size of the largest entry (at least 1)."""
    got, expected = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    allowed = tolerance * max(1.0, float(np.abs(expected).max(initial=0.0)))
    worst = float(np.abs(got - expected).max(initial=0.0)) if got.shape == expected.shape else math.inf
    _require(worst <= allowed, f"{what} must agree; they differ by {worst:g}.")
