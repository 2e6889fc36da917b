"""What must not change an answer: the order of rows, columns and records, names, types of labels, weights of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import tensorfill as tfl
from attack.arena import Wrong

LETTERS = list("bcdfgklnpruvxz")  # no month and no day begins so
SAME = 1e-6  # standard deviations of the data


def names(count: int, rng: np.random.Generator) -> list[str]:
    """Words without an order, all different."""
    letters = rng.permutation(LETTERS)
    return [f"{letters[k % 14]}{letters[k // 14]}o" for k in rng.permutation(14 * 14)[:count]]


def table(seed: int, rows: int | None = None) -> tuple[pd.DataFrame, np.random.Generator]:
    """Numbers of one of four kinds, rows x columns with names, three of ten missing."""
    rng = np.random.default_rng(seed)
    n, m = rows or int(rng.integers(8, 16)), int(rng.integers(4, 7))
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, m)) + 0.3 * rng.normal(size=(n, m))
    kinds = (X, rng.poisson(np.exp(X / 2)), X > 0, np.clip(np.rint(X + 3), 1, 5))
    values = np.where(rng.random(X.shape) > 0.3, kinds[seed % 4].astype(float), np.nan)
    values[0], values[:, 0] = kinds[seed % 4][0], kinds[seed % 4][:, 0]
    return pd.DataFrame(values, index=names(n, rng), columns=names(m, rng)), rng


def _records(frame: pd.DataFrame) -> pd.DataFrame:
    """Its known entries, one row each."""
    return frame.stack().rename("value").rename_axis(["row", "column"]).reset_index()


def _by_records(rows: pd.DataFrame) -> pd.Series:
    done = tfl.complete(rows, dims=["row", "column"], value="value")
    found = done.at(pd.DataFrame({d: np.asarray(rows[d]) for d in ("row", "column")}))
    return pd.Series(found, index=pd.MultiIndex.from_frame(rows[["row", "column"]].astype(str)))


def shuffled_rows(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return _estimate(frame.iloc[rng.permutation(len(frame))])


def shuffled_columns(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return _estimate(frame.iloc[:, rng.permutation(frame.shape[1])])


def weights_of_one(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    return _estimate(frame, weights=np.ones(frame.shape))


def other_names(frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    other = frame.set_axis(names(len(frame), rng)).set_axis(names(frame.shape[1], rng), axis=1)
    return _estimate(other).set_axis(frame.index).set_axis(frame.columns, axis=1)


def shuffled_records(frame: pd.DataFrame, rng: np.random.Generator) -> pd.Series:
    rows = _records(frame)
    return _by_records(rows.iloc[rng.permutation(len(rows))])


def categories(frame: pd.DataFrame, rng: np.random.Generator) -> pd.Series:
    rows = _records(frame)
    return _by_records(rows.assign(row=pd.Categorical(rows["row"], categories=rng.permutation(frame.index))))


def _estimate(frame: pd.DataFrame, **given: Any) -> pd.DataFrame:
    return tfl.complete(frame, **given).estimate


WIDE = (shuffled_rows, shuffled_columns, weights_of_one, other_names)
LONG = (shuffled_records, categories)


def compare(seed: int, *, every: bool = False) -> None:
    """Complete a table as it is and changed, in one way or in every way; Wrong if the answers differ."""
    frame, rng = table(seed)
    for changes in (WIDE, LONG):
        turn = [change for k, change in enumerate(WIDE + LONG) if every or k == (seed // 4) % len(WIDE + LONG)]
        chosen = [change for change in turn if change in changes]
        a = None if not chosen else _estimate(frame) if changes is WIDE else _by_records(_records(frame))
        for change in chosen:
            b = change(frame, rng)
            b = b.reindex(a.index) if b.ndim == 1 else b.loc[a.index, a.columns]
            off = np.abs(a.to_numpy() - b.to_numpy()).max() / np.nanstd(frame.to_numpy())
            if not off < SAME:
                raise Wrong(f"{change.__name__} of table {seed} changed the answer by {off:.2g} standard deviations")


class Cases:
    """Case k changes the k-th table."""

    hang = 60.0

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        return f"#{k}", lambda: compare(10_000 * self.seed + k)
