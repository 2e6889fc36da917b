"""Beside other packages on a tensor with gaps: time to the same held-out error, a gradient and a sweep, in one run.

100 x 100 x 100, rank 5 plus noise, 30 to 95 % missing: what pyttb (`gcp_opt` with a mask, L-BFGS-B) and TensorLy
(`parafac` with a mask: imputation, with line search) can do. All have the true rank and the same random start;
packages that show their answer at the end alone are run anew for each length. Seconds are processor time.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.interelement.quadratic import penalties
from tensorfill.numerical.continuous import Normal
from tensorfill.problem import Problem
from tensorfill.solvers.newton import Newton
from tensorfill_benchmarks.speed_ratings import Curve, over, to_same
from tensorfill_benchmarks.speed_rows import Row, at_most, side_by_side

Array = NDArray[Any]
Mask = NDArray[np.bool_]

RANK, NOISE = 5, 0.1
RIDGE = 1e-3  # next to nothing: theirs have none
LENGTHS = (5, 10, 20, 40, 80, 160)  # iterations of a run of theirs
SWEEPS = 40
INSTALL = "pip install ./benchmarks"


def measure(quick: bool, skipped: list[str]) -> Iterator[Row]:
    """Rows for speed.csv; what is not installed goes to `skipped` as a sentence."""
    side = 20 if quick else 100
    known = (("pyttb gcp_opt", "pyttb", pyttb_on), ("TensorLy parafac", "tensorly", tensorly_on))
    skipped += [f"{module} is not installed: {INSTALL}" for _, module, _ in known if find_spec(module) is None]
    rivals = [(name, rival) for name, module, rival in known if find_spec(module) is not None]
    for missing in (0.3, 0.6, 0.95):
        T, seen, aside = cube(side, missing)
        ours = ours_on(T, seen, aside)
        for name, rival in rivals:
            a, b = to_same(ours, rival(T, seen, aside))
            yield at_most(f"{side}^3, {missing:.0%} missing: time to the same error / {name}", 1.0, a / b, a, b)
    T, seen, _ = cube(side, 0.6)
    if find_spec("pyttb") is not None:
        yield gradient(T, seen, repeats=3 if quick else 15)
    if find_spec("tensorly") is not None:
        yield sweeps(T, seen, repeats=3 if quick else 7)


def cube(side: int, missing: float, seed: int = 0) -> tuple[Array, Mask, Mask]:
    """(the tensor, what is known of it, what it is judged by: a tenth of the rest)."""
    rng = np.random.default_rng(seed)
    A, B, C = (rng.normal(size=(side, RANK)) for _ in range(3))
    T = np.einsum("ir,jr,kr->ijk", A, B, C)
    T += NOISE * T.std() * rng.normal(size=T.shape)
    seen = rng.random(T.shape) >= missing
    return T, seen, ~seen & (rng.random(T.shape) < 0.1)


def start_of(T: Array, seen: Mask) -> list[Array]:
    """Of the size of the data, signs at random."""
    rng = np.random.default_rng(1)
    size = float(np.std(T[seen])) ** (1 / 3) / RANK ** (1 / 6)
    return [size * rng.normal(size=(n, RANK)) for n in T.shape]


def error(X: Array, T: Array, aside: Mask) -> float:
    """Root mean square error on the entries set aside."""
    return float(np.sqrt(np.mean((X[aside] - T[aside]) ** 2)))


def problem_of(T: Array, seen: Mask) -> Problem:
    """Ours."""
    obs = Observations.from_dense(T, mask=seen)
    return Problem(obs, RANK, prior=Normal(), interelement=penalties(3, {}, RIDGE), dtype=np.float64, quiet=True)


def ours_on(T: Array, seen: Mask, aside: Mask) -> Curve:
    """Second-order sweeps."""
    problem, solver = problem_of(T, seen), Newton()
    start, rng = start_of(T, seen), np.random.default_rng(0)
    solver.step(problem, solver.init(problem, start, rng), rng)  # compiled
    problem = problem_of(T, seen)  # sorting the entries is on the clock
    began, out = process_time(), []
    state = solver.init(problem, start, rng)
    for _ in range(SWEEPS):
        state = solver.step(problem, state, rng)
        seconds = process_time() - began
        out.append((seconds, error(problem.model_of(state.factors).full(), T, aside)))
        if over(out):
            break
        began += process_time() - began - seconds  # looking at it does not count
    return out


def pyttb_on(T: Array, seen: Mask, aside: Mask) -> Curve:
    """`gcp_opt` with a mask, which it has for L-BFGS-B alone."""
    import pyttb as ttb
    from pyttb.gcp.handles import Objectives
    from pyttb.gcp.optimizers import LBFGSB

    data, mask = ttb.tensor(np.where(seen, T, 0.0)), ttb.tensor(seen.astype(float))
    start, out = start_of(T, seen), []
    with no_words():
        for length in LENGTHS:
            how = LBFGSB(maxiter=length, maxfun=4 * length)
            first = ttb.ktensor([np.array(A, order="F") for A in start])  # it is changed
            began = process_time()
            model, _, _ = ttb.gcp_opt(data, RANK, Objectives.GAUSSIAN, how, init=first, mask=mask, printitn=0)
            out.append((process_time() - began, error(model.full().double(), T, aside)))
            if over(out, wait=2):
                break
    return out


@contextmanager
def no_words() -> Iterator[None]:
    """Without what pyttb prints about every copy it makes."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def tensorly_on(T: Array, seen: Mask, aside: Mask) -> Curve:
    """`parafac` with a mask."""
    import tensorly as tl
    from tensorly.decomposition import parafac

    data, out = np.where(seen, T, 0.0), []
    for length in LENGTHS:
        first = tl.cp_tensor.CPTensor((np.ones(RANK), [A.copy() for A in start_of(T, seen)]))
        settings = {"n_iter_max": length, "tol": 1e-12, "linesearch": True}
        began = process_time()
        model = parafac(data, RANK, mask=seen.astype(float), init=first, **settings)
        out.append((process_time() - began, error(tl.cp_to_tensor(model), T, aside)))
        if over(out, wait=2):
            break
    return out


def gradient(T: Array, seen: Mask, repeats: int) -> Row:
    """One value and gradient with a mask, against pyttb's."""
    import pyttb as ttb
    from pyttb.gcp.fg import evaluate
    from pyttb.gcp.fg_setup import setup
    from pyttb.gcp.handles import Objectives

    problem = problem_of(T, seen)
    start = start_of(T, seen)
    data, model = ttb.tensor(np.where(seen, T, 0.0)), ttb.ktensor([np.asfortranarray(A) for A in start])
    value, slope, _ = setup(Objectives.GAUSSIAN, data)
    weights = np.asfortranarray(seen.astype(float))
    both = [lambda: problem.value_and_grad(start), lambda: evaluate(model, data, weights, value, slope)]
    with no_words():
        ours, theirs = side_by_side(both, repeats)
    return at_most(f"{len(T)}^3, 60% missing: value and gradient / pyttb", 1.0, ours / theirs, ours, theirs)


def sweeps(T: Array, seen: Mask, repeats: int) -> Row:
    """Ten sweeps, against those of TensorLy's `parafac` with a mask, which goes through the whole array."""
    import tensorly as tl
    from tensorly.decomposition import parafac

    problem, solver, rng = problem_of(T, seen), Newton(extrapolate=0.0, exchange=False), np.random.default_rng(0)
    data, mask, start = np.where(seen, T, 0.0), seen.astype(float), start_of(T, seen)

    def ours() -> None:
        state = solver.init(problem, start, rng)
        for _ in range(10):
            state = solver.step(problem, state, rng)

    def theirs() -> None:
        first = tl.cp_tensor.CPTensor((np.ones(RANK), [A.copy() for A in start]))
        parafac(data, RANK, mask=mask, init=first, n_iter_max=10, tol=0.0)

    a, b = side_by_side([ours, theirs], repeats)
    return at_most(f"{len(T)}^3, 60% missing: ten sweeps / TensorLy parafac", 1.0, a / b, a, b)
