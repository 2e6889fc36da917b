"""The figures of docs/ratings.md on clicks: `python docs/clicks.py`, with `pip install implicit` for its ALS."""

import itertools
import warnings

import numpy as np

import tensorfill as tfl

USERS, ITEMS, TASTES, FIRST = 300, 200, 5, 10


def draw(seed):
    """Simulated clicks (users, items), and for each user the item that was taken out of five or more, else -1."""
    rng = np.random.default_rng(seed)
    taste = rng.normal(size=(USERS, TASTES)) @ rng.normal(size=(ITEMS, TASTES)).T / np.sqrt(TASTES)
    clicks = rng.poisson(np.exp(1.2 * taste + rng.normal(size=ITEMS) - 2.2))
    hidden = np.full(USERS, -1)
    for user in range(USERS):
        clicked = np.flatnonzero(clicks[user])
        if len(clicked) >= 5:
            hidden[user] = rng.choice(clicked)
            clicks[user, hidden[user]] = 0
    return clicks, hidden


def rank(scores, clicks, hidden):
    """Hit rate and NDCG of the first ten items that a user has not clicked."""
    first = np.argsort(-np.where(clicks > 0, -np.inf, scores), axis=1)[:, :FIRST]
    hits = (first == hidden[:, None])[hidden >= 0]
    return hits.any(axis=1).mean(), (hits / np.log2(np.arange(2, FIRST + 2))).sum(axis=1).mean()


def popular():
    """Everybody gets what most others clicked."""
    return lambda clicks: np.tile((clicks > 0).mean(axis=0), (USERS, 1))


def weighted(weight, rank):
    """Clicked or not, where a click counts `weight` more for each time."""
    return lambda clicks: (
        tfl.complete(
            (clicks > 0) * 1.0, weights=1 + weight * clicks, method="low-rank", prior="normal", rank=rank
        ).estimate
    )


def counted(rank):
    """Numbers of clicks, of which 0 is one."""
    return lambda clicks: tfl.complete(clicks, method="low-rank", prior="poisson-log", rank=rank).estimate


def als(alpha, regularization, factors):
    """Alternating least squares of Hu, Koren and Volinsky, as in the package implicit."""
    from implicit.als import AlternatingLeastSquares
    from scipy.sparse import csr_matrix

    settings = {"alpha": alpha, "regularization": regularization, "factors": factors}

    def fit(clicks):
        model = AlternatingLeastSquares(iterations=30, random_state=0, **settings)
        model.fit(csr_matrix(clicks.astype(np.float32)), show_progress=False)
        return model.user_factors @ model.item_factors.T

    return fit


METHODS = {  # and settings to choose from
    "most clicked items": (popular, []),
    "clicked or not, weighted": (weighted, [(1.0, 3.0, 10.0), (5, 8)]),
    "numbers of clicks, Poisson": (counted, [(3, 5, 8)]),
    "ALS of implicit": (als, [(1, 3, 10), (0.5, 5, 20), (5, 8)]),
}


def measure(method, seeds):
    """Mean hit rate and NDCG over data sets."""
    return np.mean([rank(method(clicks), clicks, hidden) for clicks, hidden in map(draw, seeds)], axis=0)


def main():
    """Print a row for each method."""
    for name, (make, grid) in METHODS.items():
        try:  # settings are chosen on data of their own
            best = max(itertools.product(*grid), key=lambda given: measure(make(*given), range(100, 105))[1])
            hit, ndcg = measure(make(*best), range(20))
        except ImportError as error:
            print(name, error)
        else:
            print(f"| {name} | {', '.join(map(str, best))} | {hit:.3f} | {ndcg:.3f} |", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
