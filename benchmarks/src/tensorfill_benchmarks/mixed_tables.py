"""Ordinary tables with numbers and categories, and four ways in which their cells go missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[Any]

SHARE, MOST_ROWS, LEVELS = 0.3, 500, 12


# Settings of methods may be chosen on these; on all others they are only reported.
TUNED = ("wine", "diabetes", "penguins", "fair", "cars", "seattle-weather", "anes96", "randhie", "midwest")


def tables(data: Path | None) -> dict[str, Any]:
    """{name: table without gaps}; those whose package or folder is not there are left out."""
    found: dict[str, Any] = {}
    for make in (_sklearn, _plotnine, _statsmodels, _vega):
        try:
            found |= make()
        except ImportError:
            continue
    for file in sorted(data.glob("*.csv")) if data is not None else ():
        found[file.name] = pd.read_csv(file, index_col=0)
    return {name: tidy(frame) for name, frame in found.items()}


def tidy(frame: Any) -> Any:
    """At most MOST_ROWS rows without gaps; text of few levels as categories, of many left out."""
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
    for name in ("iris", "wine", "diabetes", "breast_cancer"):
        got = getattr(datasets, f"load_{name}")(as_frame=True)
        named = hasattr(got, "target_names")
        out[name] = got.frame.assign(target=got.target_names[got.target]) if named else got.frame
    return out


def _plotnine() -> dict[str, Any]:
    from plotnine import data

    return {
        "mpg": data.mpg,
        "penguins": data.penguins.drop(columns="year"),
        "diamonds": data.diamonds,
        "midwest": data.midwest.drop(columns=["PID", "county"]),
    }


def _statsmodels() -> dict[str, Any]:
    from statsmodels import datasets  # type: ignore[import-untyped]

    def frame(name: str, **coded: str) -> Any:
        """Its columns, numbers that stand for something as text."""
        found = getattr(datasets, name).load_pandas().data
        return found.assign(
            **{column: found[column].map((words + " {:.0f}").format) for column, words in coded.items()}
        )

    return {
        "fair": frame("fair", occupation="job"),
        "anes96": frame("anes96", vote="candidate", PID="party"),
        "randhie": frame("randhie", hlthg="good", hlthf="fair", hlthp="poor", idp="plan"),
        "modechoice": frame("modechoice", mode="mode", choice="choice").drop(columns="individual"),
        "statecrime": frame("statecrime"),
    }


def _vega() -> dict[str, Any]:
    from vega_datasets import local_data  # type: ignore[import-untyped]

    cars, weather = local_data.cars(), local_data.seattle_weather()
    return {
        "cars": cars.assign(Year=cars["Year"].dt.year),
        "seattle-weather": weather.assign(day=weather["date"].dt.dayofyear).drop(columns="date"),
        "barley": local_data.barley(),
    }


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
