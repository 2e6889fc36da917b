"""The imputers that people use on tables with numbers and categories, each as its makers mean it to be used."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

import tensorfill as tfl


def tensorfill(frame: Any, seed: int) -> Any:
    """Fill by `complete`."""
    return filled_numbers(frame, tfl.complete(frame, seed=seed))


def filled_numbers(frame: Any, done: tfl.Completion) -> Any:
    """Categories as completed, numbers unrounded: they are judged by squares."""
    completed, estimate = done.completed, done.estimate
    return completed.assign(**{n: estimate[n].astype(float) for n, c in frame.items() if not hasattr(c, "cat")})


def mean_and_mode(frame: Any, seed: int) -> Any:
    """Fill numbers by their mean, categories by the most frequent level."""
    return frame.apply(lambda c: c.fillna(c.mode()[0] if hasattr(c, "cat") else c.mean()))


def one_hot(make: Callable[[int], Any]) -> Callable[[Any, int], Any]:
    """An imputer of numbers on standardised numbers and one column per level; the largest level is taken."""

    def fill(frame: Any, seed: int) -> Any:
        parts, levels = [], {}
        for name, column in frame.items():
            if hasattr(column, "cat"):
                levels[name] = list(column.cat.categories)
                hot = pd.get_dummies(column, dtype=float)
                hot[column.isna()] = np.nan
                parts.append(hot.set_axis([f"{name}={level}" for level in hot.columns], axis=1))
            else:
                parts.append(((column - column.mean()) / (column.std() or 1.0)).to_frame(name))
        wide = pd.concat(parts, axis=1)
        X = pd.DataFrame(make(seed).fit_transform(wide.to_numpy()), columns=wide.columns)
        out = {}
        for name, column in frame.items():
            if name in levels:
                likeliest = X[[f"{name}={level}" for level in levels[name]]].to_numpy().argmax(axis=1)
                found = pd.Series(pd.Categorical.from_codes(likeliest, dtype=column.dtype))
            else:
                found = X[name] * (column.std() or 1.0) + column.mean()
            out[name] = column.where(column.notna(), found)
        return pd.DataFrame(out)

    return fill


def _iterative(seed: int) -> Any:
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(random_state=seed, max_iter=10)


def _forest(seed: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(ExtraTreesRegressor(50, random_state=seed), random_state=seed, max_iter=4)


def _knn(seed: int) -> Any:
    from sklearn.impute import KNNImputer

    return KNNImputer()


def hyperimpute(frame: Any, seed: int) -> Any:
    """HyperImpute, told by its threshold which columns are categories. It writes to parts of tables, which pandas 3
    does not pass on, and gives a setting that scikit-learn lost: both are made good here.
    """
    from sklearn.linear_model import LogisticRegression

    imputers = import_module("hyperimpute.plugins.imputers")
    loop = import_module("hyperimpute.plugins.imputers._hyperimpute_internals").IterativeErrorCorrection
    most = max((len(c.cat.categories) for _, c in frame.items() if hasattr(c, "cat")), default=0)
    X = frame.apply(lambda c: c.cat.codes.where(c.notna()).astype(float) if hasattr(c, "cat") else c)
    with (
        mock.patch("sklearn.linear_model.LogisticRegression", partial(_logistic, LogisticRegression)),
        mock.patch.object(loop, "_impute_single_column", _hyperimpute_column),
    ):
        found = (
            imputers.Imputers().get("hyperimpute", random_state=seed, class_threshold=max(5, most + 2)).fit_transform(X)
        )
    return _levels(frame, np.asarray(found, dtype=float))


def _logistic(make: Any, multi_class: str = "auto", **settings: Any) -> Any:
    return make(**settings)


def _hyperimpute_column(self: Any, X: Any, col: str, train: bool) -> Any:
    """One column of HyperImpute predicted from all others by the model that it chose."""
    gaps, rest = self.mask[col], X.drop(columns=col)
    known = X.loc[~gaps, col].astype(int if col in self.categorical_cols else float)
    if gaps.any() and known.nunique() > 1:
        model = self.column_to_model[col]
        if train:
            model.fit(rest[~gaps], known)
        X.loc[gaps, col] = np.clip(np.asarray(model.predict(rest[gaps]), dtype=float).ravel(), *self.limits[col])
    return X


def miceforest(frame: Any, seed: int) -> Any:
    """One of its data sets, by the predictions themselves: the mean of several draws would be no category."""
    named = frame.set_axis([f"c{n}" for n in range(frame.shape[1])], axis=1)  # its trees allow no blanks in names
    kernel = import_module("miceforest").ImputationKernel(
        named, num_datasets=1, random_state=seed, mean_match_candidates=0
    )
    kernel.mice(5, num_threads=1, verbosity=-1)
    return kernel.complete_data(0).set_axis(frame.columns, axis=1)


def _levels(frame: Any, X: Any) -> Any:
    """The gaps of a table by numbers, of categories by the nearest code."""
    out = {}
    for n, (name, column) in enumerate(frame.items()):
        found = pd.Series(X[:, n])
        if hasattr(column, "cat"):
            codes = np.clip(np.rint(X[:, n]), 0, len(column.cat.categories) - 1).astype(int)
            found = pd.Series(pd.Categorical.from_codes(codes, dtype=column.dtype))
        out[name] = column.where(column.notna(), found)
    return pd.DataFrame(out)


METHODS: dict[str, Callable[[Any, int], Any]] = {
    "tensorfill": tensorfill,
    "iterated ExtraTrees": one_hot(_forest),
    "IterativeImputer": one_hot(_iterative),
    "KNNImputer": one_hot(_knn),
    "miceforest": miceforest,
    "HyperImpute": hyperimpute,
    "mean and mode": mean_and_mode,
}
NEEDS = {"miceforest": "miceforest", "HyperImpute": "hyperimpute"}  # packages that may not be there


def installed(name: str) -> bool:
    """Can this method run here?"""
    return name not in NEEDS or find_spec(NEEDS[name]) is not None
