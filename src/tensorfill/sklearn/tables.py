"""What TensorImputer does with arrays and tables beside the fit: seeds, means, entries to hide, categories."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_random_state

from tensorfill.data.exact import is_number
from tensorfill.typing import Array


def is_nan(marker: Any) -> bool:
    """Is this what marks missing entries NaN?"""
    return isinstance(marker, float) and math.isnan(marker)


def as_table(X: Any, categorical: Any, marker: Any, like: Any) -> Any:
    """X as a table: the features `categorical` (numbers, names or a mask) as categories, with the levels that they have
    in `like` where it is given, all others as numbers.
    """
    frame = X.copy() if hasattr(X, "iloc") else pd.DataFrame(np.asarray(X, dtype=object))
    names = [str(c) for c in frame.columns]
    frame = frame.set_axis(names, axis=1)
    chosen = np.asarray(categorical)
    if chosen.dtype.kind == "b":
        chosen = np.flatnonzero(chosen)
    strange = [c for c in chosen.tolist() if (c not in names if isinstance(c, str) else not 0 <= c < len(names))]
    if strange:
        msg = f"categorical_features must be among the {len(names)} features {', '.join(names)}; got {strange[0]!r}."
        raise ValueError(msg)
    places = {names.index(c) if isinstance(c, str) else int(c) for c in chosen.tolist()}
    for n, name in enumerate(names):
        column = frame[name] if is_nan(marker) else frame[name].where(frame[name] != marker)
        if n in places:
            levels = None if like is None else like[name].cat.categories
            frame[name] = pd.Categorical(column.astype(object), categories=levels)
        else:
            frame[name] = pd.to_numeric(column).astype(np.float64)
    return frame


def text_sentence(X: Any) -> str:
    """What to do about the first feature of a table of pandas that holds text; empty if none does."""
    for name, column in X.items() if hasattr(X, "iloc") and X.ndim == 2 else ():
        text = next((x for x in column.dropna().unique() if isinstance(x, str) and not is_number(x)), None)
        if text is not None:
            return (
                f"feature {name!r} must hold numbers; got {text!r}. Name it in categorical_features, or leave it out."
            )
    return ""


def draw_gaps(done: Any, spread: Mapping[str, float], rng: np.random.Generator) -> Any:
    """The completed table with gaps drawn: levels by their probabilities, numbers as far off as held-out ones were;
    `spread` has the standard deviation of every column.
    """
    frame, out = done.observations.source.frame, done.completed.copy()
    error = {c.name: c.error for c in done.by_column if c.entries}
    facts = {c.name: c for c in done.columns}
    for name, column in frame.items():
        gaps = column.isna()
        if not gaps.any():
            continue
        if hasattr(column, "cat"):
            if out[name].notna().all():  # else it has too many levels to be learnt
                shares = done.probabilities(name)
                pick = (shares.to_numpy().cumsum(axis=1) > rng.random(len(shares))[:, None]).argmax(axis=1)
                levels = pd.Series(shares.columns.to_numpy(dtype=object)[pick], index=out.index)
                out[name] = out[name].astype(object).where(~gaps, levels).astype(column.dtype)
            continue
        noise = rng.normal(size=len(out)) * error.get(name, 1.0) * spread.get(name, 0.0)
        fact = facts[name]
        values = np.clip(out[name] + noise, max(fact.low, fact.floor), fact.high)
        out[name] = out[name].where(~gaps, np.rint(values) if fact.step == 1 else values)
    return out


def seed_of(random_state: Any) -> int:
    """A whole number from what scikit-learn allows; None stands for 0, so that the same call gives the same answer."""
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def feature_means(T: Array) -> Array:
    """Mean of each feature over the samples, the overall mean where a feature was never seen; shape of a sample."""
    known = ~np.isnan(T)
    count = known.sum(axis=0)
    total = np.where(known, T, 0.0).sum(axis=0, dtype=np.float64)
    return np.where(count > 0, total / np.maximum(count, 1), total.sum() / max(int(count.sum()), 1))


def hide(T: Array, share: float, seed: int) -> NDArray[np.bool_]:
    """Known entries to hide in each sample, True = hide; one at least stays and, of two or more, one at least goes."""
    if not 0 < share < 1:
        msg = f"held_out must be between 0 and 1; got {share}."
        raise ValueError(msg)
    rng = np.random.default_rng(seed)
    flat = T.reshape(len(T), -1)
    hidden = np.zeros(flat.shape, dtype=bool)
    for i, row in enumerate(flat):
        known = np.flatnonzero(~np.isnan(row))
        if len(known) >= 2:
            count = min(max(1, round(share * len(known))), len(known) - 1)
            hidden[i, rng.choice(known, size=count, replace=False)] = True
    return hidden.reshape(T.shape)
