"""Whom `bench tables` runs beside ours: the fillers of `bench choose`, Surprise's SVD and myFM."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stderr
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill_benchmarks import choose_others
from tensorfill_benchmarks.choose_data import optional
from tensorfill_benchmarks.tables_measures import Puzzle

Array = NDArray[Any]
Filler = Callable[[Puzzle, int], "Array | str"]

FACTORS, DRAWS = 10, 200  # of myFM, as in its own example for this set


def surprise(puzzle: Puzzle, seed: int) -> Array:
    """Surprise's SVD as it comes: biases and 100 factors by stochastic gradient descent."""
    library, pandas = optional("surprise"), optional("pandas")
    obs = puzzle.observations
    table = pandas.DataFrame({"user": obs.indices[:, 0], "item": obs.indices[:, 1], "value": obs.values})
    reader = library.Reader(rating_scale=(puzzle.data.low, puzzle.data.high))
    model = library.SVD(random_state=seed)
    model.fit(library.Dataset.load_from_df(table, reader).build_full_trainset())
    return np.array([model.predict(int(i), int(j)).est for i, j in puzzle.where])


def myfm(puzzle: Puzzle, seed: int) -> Array:
    """myFM: a Bayesian factorisation machine of user and item, 10 factors, 200 draws by Gibbs sampling."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it asks setuptools for its own version in a way that is going out of use
        library = optional("myfm")
    obs = puzzle.observations
    model = library.MyFMRegressor(rank=FACTORS, random_seed=seed)
    with redirect_stderr(io.StringIO()):  # its progress bar
        model.fit(_one_hot(obs.indices, obs.shape), obs.values, n_iter=DRAWS)
    return np.asarray(model.predict(_one_hot(puzzle.where, obs.shape)))


def _one_hot(indices: Array, shape: tuple[int, ...]) -> Any:
    from scipy.sparse import csr_matrix

    first = np.concatenate([[0], np.cumsum(shape)])
    columns = (indices + first[:-1]).reshape(-1)
    rows = np.repeat(np.arange(len(indices)), len(shape))
    return csr_matrix((np.ones(len(columns)), (rows, columns)), (len(indices), int(first[-1])))


def _of_choose(name: str) -> Filler:
    def fill(puzzle: Puzzle, seed: int) -> Array | str:
        out = choose_others.OTHERS[name](puzzle.data, puzzle.gapped)
        return out if isinstance(out, str) else out[puzzle.scored]

    return fill


OTHERS: dict[str, Filler] = {
    **{name: _of_choose(name) for name in ("column means", "mode means", "linear", "knn", "iterative")},
    "surprise": surprise,
    "myfm": myfm,
}
