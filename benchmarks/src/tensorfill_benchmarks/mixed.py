"""Ordinary tables with numbers and categories: how well hidden cells are filled, beside the imputers people use."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import tensorfill as tfl

Array = NDArray[Any]

SHARE, MOST_ROWS, LEVELS = 0.3, 500, 12
COLUMNS = ["set", "pattern", "method", "seed", "nrmse", "error_rate", "seconds"]


# --- tables -----------------------------------------------------------------------------------------------------


def tables(data: Path | None) -> dict[str, Any]:
    """{name: table without gaps}; those whose package or folder is not there are left out."""
    found: dict[str, Any] = {}
    for make in (_sklearn, _plotnine, _statsmodels):
        try:
            found |= make()
        except ImportError:
            continue
    for file in sorted(data.glob("*.csv")) if data is not None else ():
        found[file.stem] = pd.read_csv(file, index_col=0)
    return {name: tidy(frame) for name, frame in found.items()}


def tidy(frame: Any) -> Any:
    """At most MOST_ROWS rows without gaps; text and whole numbers of few levels as categories."""
    frame = frame.dropna()
    frame = frame.sample(min(MOST_ROWS, len(frame)), random_state=0).reset_index(drop=True)
    out = {}
    for name, column in frame.items():
        text = not pd.api.types.is_numeric_dtype(column)
        if (text and column.nunique() > LEVELS) or column.nunique() < 2:
            continue
        out[str(name)] = pd.Categorical(column.astype(str)) if text else column.astype(float)
    return pd.DataFrame(out)


def _sklearn() -> dict[str, Any]:
    from sklearn import datasets

    out = {}
    for name in ("iris", "wine", "diabetes"):
        got = getattr(datasets, f"load_{name}")(as_frame=True)
        frame = got.frame
        if name != "diabetes":
            frame = frame.assign(target=got.target_names[got.target])
        out[name] = frame
    return out


def _plotnine() -> dict[str, Any]:
    from plotnine import data

    return {"mpg": data.mpg, "penguins": data.penguins.drop(columns="year"), "diamonds": data.diamonds}


def _statsmodels() -> dict[str, Any]:
    from statsmodels.datasets import fair  # type: ignore[import-untyped]

    affairs = fair.load_pandas().data
    return {"fair": affairs.assign(occupation=affairs["occupation"].map("job {:.0f}".format))}


# --- gaps -------------------------------------------------------------------------------------------------------


def at_random(frame: Any, rng: np.random.Generator) -> Array:
    """MCAR: every cell alike."""
    return rng.random(frame.shape) < SHARE


def by_another(frame: Any, rng: np.random.Generator) -> Array:
    """MAR: the larger the number of one column, which is known throughout, the more of the others is missing."""
    rank = _numbers(frame.iloc[:, :1])[:, 0].argsort(kind="stable").argsort(kind="stable") / len(frame)
    hidden = rng.random(frame.shape) < 2 * SHARE * rank[:, None]
    hidden[:, 0] = False
    return hidden


def by_itself(frame: Any, rng: np.random.Generator) -> Array:
    """MNAR: the larger a number, the likelier it is missing."""
    rank = _numbers(frame).argsort(axis=0, kind="stable").argsort(axis=0, kind="stable") / len(frame)
    return rng.random(frame.shape) < 2 * SHARE * rank


def in_blocks(frame: Any, rng: np.random.Generator) -> Array:
    """As in questionnaires: a row lacks whole groups of neighbouring columns."""
    groups = np.arange(frame.shape[1]) * min(4, frame.shape[1]) // frame.shape[1]
    return (rng.random((len(frame), groups.max() + 1)) < SHARE)[:, groups]


PATTERNS: dict[str, Callable[[Any, np.random.Generator], Array]] = {
    "random": at_random,
    "another column": by_another,
    "own value": by_itself,
    "blocks": in_blocks,
}


def hide(frame: Any, pattern: str, seed: int) -> Array:
    """Which cells to hide (rows, columns); every row and column keeps some."""
    rng = np.random.default_rng([seed, *map(ord, pattern)])
    hidden = PATTERNS[pattern](frame, rng)
    empty = hidden.all(axis=1)
    hidden[empty, rng.integers(frame.shape[1], size=int(empty.sum()))] = False
    return hidden


def _numbers(frame: Any) -> Array:
    """Every column as numbers, categories by their codes."""
    return np.stack([c.cat.codes if hasattr(c, "cat") else c for _, c in frame.items()], axis=1).astype(float)


# --- methods ----------------------------------------------------------------------------------------------------


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


METHODS: dict[str, Callable[[Any, int], Any]] = {
    "tensorfill": tensorfill,
    "iterated ExtraTrees": one_hot(_forest),
    "IterativeImputer": one_hot(_iterative),
    "KNNImputer": one_hot(_knn),
    "mean and mode": mean_and_mode,
}


# --- the run ----------------------------------------------------------------------------------------------------


def score(truth: Any, found: Any, hidden: Array) -> tuple[float, float]:
    """(root mean square error of numbers in standard deviations, share of wrong categories); NaN where none is."""
    squares, wrong = [], []
    for n, (name, column) in enumerate(truth.items()):
        here = hidden[:, n]
        if hasattr(column, "cat"):
            wrong.append((found[name].astype(str) != column.astype(str)).to_numpy()[here])
        else:
            squares.append((((found[name] - column) / (column.std() or 1.0)) ** 2).to_numpy()[here])
    rms = float(np.sqrt(np.concatenate(squares).mean())) if squares else np.nan
    return rms, float(np.concatenate(wrong).mean()) if wrong else np.nan


def run(
    out: str,
    data: Path | None,
    names: Iterable[str] | None = None,
    methods: Iterable[str] | None = None,
    seeds: Iterable[int] = (0,),
) -> Any:
    """Run what is not in OUT/mixed.csv yet; returns the whole table."""
    path = Path(out) / "mixed.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    there = {(r["set"], r["pattern"], r["method"], r["seed"]) for r in rows}
    for name, truth in tables(data).items():
        for pattern in PATTERNS if names is None or name in names else ():
            for method, seed in ((m, s) for m in METHODS for s in seeds):
                if (name, pattern, method, seed) in there or (methods is not None and method not in methods):
                    continue
                hidden = hide(truth, pattern, seed)
                began = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = METHODS[method](truth.mask(hidden), seed)
                seconds = time.process_time() - began
                rows.append(
                    dict(
                        zip(COLUMNS, (name, pattern, method, seed, *score(truth, found, hidden), seconds), strict=True)
                    )
                )
                pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
    return pd.DataFrame(rows, columns=COLUMNS)


def standings(rows: Any) -> Any:
    """Of every method: its error of numbers over that of the best of the others, geometric mean; the mean of its error,
    of the share of categories that are wrong, and of its seconds.
    """
    out = []
    keys = ["set", "pattern", "seed"]
    for method, own in rows.groupby("method", sort=False):
        rest = rows[rows["method"] != method].groupby(keys)["nrmse"].min()
        ratio = np.exp(np.log(own.set_index(keys)["nrmse"] / rest).mean())
        means = own[["nrmse", "error_rate", "seconds"]].mean()
        out.append(
            [method, *(f"{x:.3f}" for x in (ratio, means["nrmse"], means["error_rate"])), f"{means['seconds']:.2f}"]
        )
    columns = ["method", "numbers over the best other", "error of numbers (SD)", "categories wrong", "seconds"]
    return pd.DataFrame(out, columns=columns).sort_values(columns[1])


def write(out: str, rows: Any) -> list[Path]:
    """OUT/mixed.md and OUT/mixed.png."""
    import matplotlib.pyplot as plt

    board = standings(rows)
    lines = ["| " + " | ".join(board.columns) + " |", "|" + "---|" * len(board.columns)]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in board.itertuples(index=False)]
    table = Path(out) / "mixed.md"
    table.write_text("\n".join(lines) + "\n")
    picture = Path(out) / "mixed.png"
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    for axis, measure, title in zip(
        axes, ("nrmse", "error_rate"), ("numbers: error in SD", "categories: share wrong"), strict=True
    ):
        means = rows.groupby(["pattern", "method"], sort=False)[measure].mean().unstack()
        means.plot.bar(ax=axis, title=title, xlabel="", rot=0, legend=axis is axes[0], width=0.8)
    figure.savefig(picture, dpi=110)
    plt.close(figure)
    return [Path(out) / "mixed.csv", table, picture]
