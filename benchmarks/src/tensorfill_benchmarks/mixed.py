"""Ordinary tables with numbers and categories: how well hidden cells are filled, beside the imputers people use."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tensorfill_benchmarks.mixed_peers import METHODS, installed
from tensorfill_benchmarks.mixed_tables import PATTERNS, TUNED, hide, tables

Array = NDArray[Any]

COLUMNS = ["set", "pattern", "method", "seed", "nrmse", "error_rate", "seconds"]
KEYS = ["set", "pattern", "seed"]
NEAR, OWN = 1.05, "tensorfill"


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
    asked = [m for m in METHODS if installed(m) and (methods is None or m in methods)]
    for name, truth in tables(data).items():
        for pattern in PATTERNS if names is None or name in names else ():
            for method, seed in ((m, s) for m in asked for s in seeds):
                if (name, pattern, method, seed) in there:
                    continue
                hidden = hide(truth, pattern, seed)
                began = time.process_time()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = METHODS[method](truth.mask(hidden), seed)
                seconds = time.process_time() - began
                result = (name, pattern, method, seed, *score(truth, found, hidden), seconds)
                rows.append(dict(zip(COLUMNS, result, strict=True)))
                pd.DataFrame(rows, columns=COLUMNS).to_csv(path, index=False)
    return pd.DataFrame(rows, columns=COLUMNS)


def standings(rows: Any) -> Any:
    """Of every method, over all sets and patterns: its error of numbers over that of the best other, geometric mean;
    the share of sets on which it is within 5 % of that; the means of its errors and of its time.
    """
    out = []
    for method, own in rows.groupby("method", sort=False):
        ratio = beside_the_best(rows, method)["nrmse"].dropna()
        near = np.exp(ratio.groupby("set").mean()) <= NEAR
        means = own[["nrmse", "error_rate", "seconds"]].mean()
        figures = (f"{np.exp(ratio.mean()):.3f}", f"{near.mean():.0%}", *(f"{x:.3f}" for x in means[:2]))
        out.append([method, *figures, f"{means['seconds']:.2f}"])
    columns = ["numbers over the best other", "sets within 5 %", "error of numbers (SD)", "categories wrong", "seconds"]
    return pd.DataFrame(out, columns=["method", *columns]).sort_values(columns[0])


def beside_the_best(rows: Any, method: str) -> Any:
    """Of every set, pattern and seed the logarithm of its errors over the least of the other methods."""
    keyed, measures = rows.set_index(KEYS), ["nrmse", "error_rate"]
    own, others = (keyed.loc[(keyed["method"] == method) == mine, measures] for mine in (True, False))
    return np.log((own / others.groupby(KEYS).min()).replace([0.0, np.inf], np.nan))


def write(out: str, rows: Any) -> list[Path]:
    """OUT/mixed.md and OUT/mixed.png."""
    import matplotlib.pyplot as plt

    chose, lines = rows["set"].isin(TUNED), []
    for title, part in (
        ("Sets that chose nothing", rows[~chose]),
        ("Sets that settings may be chosen on", rows[chose]),
    ):
        if len(part):
            lines += [f"{title}: {', '.join(part['set'].unique())}", "", *_markdown(standings(part)), ""]
    ratio = np.exp(beside_the_best(rows, OWN)["nrmse"].groupby(["set", "pattern"]).mean()).unstack()
    if len(ratio):
        lines += ["Numbers over the best other, of tensorfill", "", *_markdown(ratio.round(3).reset_index())]
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


def _markdown(board: Any) -> list[str]:
    """A table in Markdown, line by line."""
    lines = ["| " + " | ".join(map(str, board.columns)) + " |", "|" + "---|" * len(board.columns)]
    return lines + ["| " + " | ".join(map(str, row)) + " |" for row in board.itertuples(index=False)]
