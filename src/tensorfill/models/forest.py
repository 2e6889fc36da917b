"""Extremely randomised trees that predict one column of a table from others.

Grown one by one, because a forest of scikit-learn's spends a third of its time on copies of its settings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tensorfill.typing import Array


@dataclass(frozen=True, eq=False)
class Forest:
    """Its trees; those of scikit-learn."""

    trees: tuple[Any, ...]

    @classmethod
    def grow(cls, X: Array, y: Array, count: int, seed: int) -> Self:
        """So many trees on rows X (n, p) and y (n,)."""
        import sklearn  # slow to import
        from sklearn.tree import ExtraTreeRegressor

        X, trees = X.astype(np.float32), []
        with sklearn.config_context(skip_parameter_validation=True):
            for own in np.random.default_rng(seed).integers(2**31, size=count):
                tree = ExtraTreeRegressor(min_samples_leaf=2, max_features=1.0, random_state=int(own))
                trees.append(tree.fit(X, y, check_input=False).tree_)
        return cls(tuple(trees))

    def predict(self, X: Array) -> Array:
        """Its mean at rows X (n, p)."""
        X = np.ascontiguousarray(X, dtype=np.float32)
        total = np.zeros(len(X))
        for tree in self.trees:
            total += tree.predict(X)[:, 0]
        return total / len(self.trees)


def evidence(known: Array) -> list[Array]:
    """For each column of `known`, (k, p), the columns that are known in some row where it is not, or else all others.

    What is always missing with it (the levels of one category, the answers to one sheet) explains it best where nothing
    is to be explained, and is a guess where it is to be filled.
    """
    there, columns = known.T.astype(np.float64) @ ~known, np.arange(known.shape[1])
    return [np.flatnonzero(there[:, j]) if there[:, j].any() else np.delete(columns, j) for j in columns]
