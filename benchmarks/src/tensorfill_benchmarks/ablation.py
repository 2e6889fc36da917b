"""Ablations: the paper's (Poisson against Normal, the same run otherwise), and auto without each of its parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.methods import METHODS
from tensorfill.methods.defaults import long_modes
from tensorfill.numerical.continuous import Normal
from tensorfill_benchmarks import style
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Row, Watcher, run_cells, write_text
from tensorfill_benchmarks.pictures import Picture, choose, find
from tensorfill_benchmarks.table1 import check_numbers, fill, remember

Array = NDArray[Any]

COLUMNS = ("study", "variant", "image", "missing_percent", "seed", "budget", "psnr", "ssim", "seconds")
KEY = COLUMNS[:6]
USUAL = ("house", "tree")
NOTHING = 1e-12  # a weight that does nothing, where 0 or "none" would choose another recipe altogether

Settings = dict[str, Any]


@dataclass(frozen=True)
class Variant:
    """One line of a study: a method and its settings, which may look at what is observed (t: (nnz,), ndim)."""

    study: str
    name: str
    method: str
    settings: Callable[[Array, tuple[int, ...]], Settings] = lambda t, shape: {}


def _same_weight(t: Array, shape: tuple[int, ...]) -> Settings:
    """Normal whose curvature is that of Poisson at the mean, 1 / x: smoothness then weighs the same in both."""
    return {"prior": Normal(sigma=float(np.sqrt(t.mean())))}


def _no_smoothness(t: Array, shape: tuple[int, ...]) -> Settings:
    return {"smooth": dict.fromkeys(long_modes(shape), NOTHING)}


VARIANTS = (
    Variant("paper", "sptc: Poisson", "sptc"),
    # L1 = (x - t)^2 as printed, that is sigma^2 = 1/2
    Variant("paper", "sptc: Normal, as printed", "sptc", lambda t, shape: {"prior": Normal(sigma=0.5**0.5)}),
    Variant("paper", "sptc: Normal, smoothness of the same weight", "sptc", _same_weight),
    Variant("ours", "auto", "auto"),
    Variant("ours", "without self-similarity", "auto", lambda t, shape: {"passes": 0}),
    Variant("ours", "without total variation on X", "auto", lambda t, shape: {"tv": 0.0}),
    Variant("ours", "without quadratic variation", "auto", _no_smoothness),
    Variant("ours", "without ridge", "auto", lambda t, shape: {"ridge": 0.0}),
    Variant("ours", "Normal instead of Poisson", "auto", lambda t, shape: {"prior": "normal"}),
    Variant("ours", "rank 50", "auto", lambda t, shape: {"rank": 50}),
)


def variants() -> list[Variant]:
    """Those whose method is there and has the setting that is taken away."""
    out = []
    for v in VARIANTS:
        if v.method in METHODS:
            known = {f.name for f in dataclasses.fields(METHODS[v.method])}
            if set(v.settings(np.ones(1), (16, 16))) <= known:
                out.append(v)
    return out


def run(
    images: str | Path,
    out: str | Path,
    names: Sequence[str] | None = None,
    rates: Sequence[float] = (60, 90),
    seeds: Sequence[int] = (0,),
    progress: Watcher | None = None,
    *,
    limit: int | None = None,
    observed: str | Path | None = None,
    again: bool = False,
) -> tuple[Report, list[Table]]:
    """Run what OUT/ablation.csv does not have, write ablation.md, and return its tables.

    Parameters
    ----------
    names : which pictures; None for house and tree, or the first two where those are missing
    limit : iterations of every run; None for each method's own
    observed : folder of incomplete pictures, as in Table 1; None to draw masks
    """
    check_numbers(rates, seeds)
    if names is None:
        found = list(find(images))
        names = [n for n in USUAL if n in found] or found[:2]
    pictures = choose(images, names, observed)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    remember(folder, pictures)
    file = CellFile(folder / "ablation.csv", COLUMNS, KEY)
    budget = "to the end" if limit is None else f"{limit} iterations"
    chosen = variants()
    cells = [
        Cell(
            file,
            (v.study, v.name, picture.name, f"{rate:g}", str(seed), budget),
            f"{v.name} · {picture.name} {rate:g} %" + (f" · seed {seed}" if len(seeds) > 1 else ""),
            partial(_rows, v, picture, rate, seed, budget, limit),
            group=v.method,
            size=float(picture.truth.size),
        )
        for seed in seeds
        for v in chosen
        for rate in rates
        for picture in pictures
    ]
    try:
        report = run_cells(cells, progress, again=again)
    finally:
        tables = [arrange(file.rows(), study, budget) for study in ("paper", "ours")]
        write_text(folder / "ablation.md", "\n".join(map(markdown, tables)))
    return report, tables


def _rows(v: Variant, picture: Picture, rate: float, seed: int, budget: str, limit: int | None) -> list[Settings]:
    mask = picture.mask(rate, seed)
    settings = v.settings(picture.truth[mask].astype(np.float64), picture.truth.shape)
    filled = fill(picture, v.method, rate, seed, **settings, **({} if limit is None else {"max_iter": limit}))
    words = (v.study, v.name, picture.name, f"{rate:g}", seed, budget)
    numbers = (f"{filled.psnr:.4f}", f"{filled.ssim:.4f}", f"{filled.seconds:.3f}")
    return [dict(zip(COLUMNS, (*words, *numbers), strict=True))]


@dataclass(frozen=True)
class Table:
    """A study as text: a row per variant, a column per picture and rate (PSNR), the mean, and what is lost."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


TITLES = {
    "paper": "The paper's ablation: sptc with other numerical priors",
    "ours": "auto without each of its parts in turn",
}


def arrange(rows: Sequence[Row], study: str, budget: str) -> Table:
    """The table of one study, in the order of VARIANTS; PSNR in dB, the mean over seeds."""
    own = [r for r in rows if (r["study"], r["budget"]) == (study, budget)]
    places = sorted({(r["image"], float(r["missing_percent"])) for r in own})
    score: dict[str, list[float | None]] = {}
    for v in VARIANTS:
        if v.study == study and any(r["variant"] == v.name for r in own):
            score[v.name] = [_psnr(own, v.name, image, rate) for image, rate in places]
    first = next(iter(score.values()), [])
    lines = []
    for name, cells in score.items():
        gains = [b - a for a, b in zip(first, cells, strict=True) if a is not None and b is not None]
        known = [c for c in cells if c is not None]
        ends = (f"{mean(known):.2f}", f"{mean(gains):+.2f}" if gains and cells is not first else "")
        lines.append((name, *("–" if c is None else f"{c:.2f}" for c in cells), *ends))
    head = ("variant", *(f"{image} {rate:g} %" for image, rate in places), "mean", "change")
    return Table(TITLES[study], head, tuple(lines))


def _psnr(rows: Sequence[Row], variant: str, image: str, rate: float) -> float | None:
    own = [r for r in rows if (r["variant"], r["image"], float(r["missing_percent"])) == (variant, image, rate)]
    return mean(float(r["psnr"]) for r in own) if own else None


def markdown(table: Table) -> str:
    """The table in Markdown."""
    return f"## {table.title}\n\n{style.markdown(table.head, table.rows)}\n"
