"""What `auto` is measured against in `bench choose`: the ways people fill gaps today.

Each takes a set and its values with NaN in the gaps, and returns the whole array, or a sentence that says why not.
Unlike `auto`, they are told which mode is time, which is a plane and which holds the columns.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill_benchmarks.choose_data import DataSet, optional
from tensorfill_benchmarks.choose_gaps import flat_time, from_flat_time

Array = NDArray[Any]
Filler = Callable[[DataSet, Array], "Array | str"]

MOST_COLUMNS = 300  # of the imputers, whose time grows with their square and cube
MOST_ROWS = 6_000  # of the nearest neighbours, which are all compared
SWEEPS = 30  # of the means of each mode in turn


def column_means(data: DataSet, T: Array) -> Array:
    """The mean of each column; of everything where a column is empty."""
    axes = tuple(n for n in range(T.ndim) if n not in data.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing
        means = np.nanmean(T, axis=axes, keepdims=True)
    return np.where(np.isnan(T), np.where(np.isfinite(means), means, np.nanmean(T)), T)


def mode_means(data: DataSet, T: Array) -> Array:
    """One effect per index of each mode, added up: fitted in turn, in units of their own where there are."""
    U, mean, spread = standardised(T, () if data.units is None else (data.units,))
    seen = np.isfinite(U)
    fit = np.zeros(T.shape)
    effects = [np.zeros([length if m == n else 1 for m, length in enumerate(T.shape)]) for n in range(T.ndim)]
    left = np.where(seen, U, 0.0)
    for _ in range(SWEEPS):
        for n in range(T.ndim):
            axes = tuple(m for m in range(T.ndim) if m != n)
            count = seen.sum(axis=axes, keepdims=True)
            step = np.where(seen, left - fit, 0.0).sum(axis=axes, keepdims=True) / np.maximum(count, 1)
            effects[n] += step
            fit = fit + step
    return np.where(seen, T, fit * spread + mean)


def linear(data: DataSet, T: Array) -> Array | str:
    """Pandas: straight lines along time, series by series, and the nearest value at the ends."""
    if not data.time:
        return "no mode is time"
    table = optional("pandas").DataFrame(flat_time(data, T))
    out = table.interpolate(method="linear", limit_direction="both").to_numpy()
    return column_means(data, from_flat_time(data, out))  # a series of which nothing is seen


def griddata(data: DataSet, T: Array) -> Array | str:
    """SciPy: triangles over the two smooth modes, slice by slice; the nearest value outside of them."""
    if not data.plane:
        return "no two modes are a plane"
    from scipy.interpolate import griddata as triangles

    rest = [n for n in range(T.ndim) if n not in data.plane]
    stack = T.transpose(*rest, *data.plane)
    out = stack.copy().reshape(-1, *stack.shape[-2:])
    for part in out:
        gap = np.isnan(part)
        if gap.all() or not gap.any():
            continue
        at, values, where = np.argwhere(~gap), part[~gap], np.argwhere(gap)
        try:
            part[gap] = triangles(at, values, where, method="linear")
        except Exception:  # fewer than three points, or all on a line: Qhull's own error
            part[gap] = np.nan
        gap = np.isnan(part)
        if gap.any():
            part[gap] = triangles(at, values, np.argwhere(gap), method="nearest")
    return column_means(data, out.reshape(stack.shape).transpose(np.argsort([*rest, *data.plane])))


def knn(data: DataSet, T: Array) -> Array | str:
    """scikit-learn's KNNImputer: the five nearest rows, on standardised columns."""
    impute = optional("sklearn.impute")
    rows = T.size // _count(data)
    if rows > MOST_ROWS:
        return f"{rows} rows are too many"
    return _impute(data, T, impute.KNNImputer(n_neighbors=5, weights="distance", keep_empty_features=True))


def iterative(data: DataSet, T: Array) -> Array | str:
    """scikit-learn's IterativeImputer: each column by regression on the others, in turn."""
    optional("sklearn.experimental.enable_iterative_imputer")
    impute = optional("sklearn.impute")
    return _impute(data, T, impute.IterativeImputer(random_state=0, max_iter=10, keep_empty_features=True))


def _count(data: DataSet) -> int:
    return math.prod(data.shape[n] for n in data.columns)


def _impute(data: DataSet, T: Array, imputer: Any) -> Array | str:
    columns = _count(data)
    if columns > MOST_COLUMNS:
        return f"{columns} columns are too many"
    U, mean, spread = standardised(T, data.columns)
    order = [*(n for n in range(T.ndim) if n not in data.columns), *data.columns]
    moved = U.transpose(order)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # not converged after ten rounds: that is how it is used
        filled = imputer.fit_transform(moved.reshape(-1, columns))
    return filled.reshape(moved.shape).transpose(np.argsort(order)) * spread + mean


def standardised(T: Array, modes: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """(values, mean, spread): each slice of these modes brought to mean 0 and spread 1 by what is seen of it."""
    axes = tuple(n for n in range(T.ndim) if n not in modes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # an empty column
        mean, spread = np.nanmean(T, axis=axes, keepdims=True), np.nanstd(T, axis=axes, keepdims=True)
    mean = np.where(np.isfinite(mean), mean, np.nanmean(T))
    spread = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
    return (T - mean) / spread, mean, spread


OTHERS: dict[str, Filler] = {
    "column means": column_means,
    "mode means": mode_means,
    "linear": linear,
    "griddata": griddata,
    "knn": knn,
    "iterative": iterative,
}
MEANS = ("column means", "mode means")
INTERPOLATION = ("linear", "griddata")
