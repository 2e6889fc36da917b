"""Figures 2 and 3: pictures side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.io.files import read, write
from tensorfill.show import view
from tensorfill_benchmarks import layout
from tensorfill_benchmarks.cells import Cell, CellFile, Row
from tensorfill_benchmarks.metrics import peak_of
from tensorfill_benchmarks.pictures import Picture
from tensorfill_benchmarks.plans import RATE, Effort, Plan, main_picture, save
from tensorfill_benchmarks.table1 import Filled, fill

Array = NDArray[Any]

# the rows of Figure 2
FIGURE2 = (("house", 60), ("airplane", 70), ("barbara", 80), ("jellybeans", 90), ("tree", 95), ("lenna", 99))
COLUMNS = ("setting", "image", "missing_percent", "seed", "budget", "iterations", "psnr", "ssim", "seconds")
KEY = COLUMNS[:5]

# Figure 3: (a) weights of smoothness, (b) ranks
RHOS = ((10.0, 10.0, 0.0), (0.0, 0.0, 0.0), (1000.0, 1000.0, 0.0))
RANKS = (300, 50, 2000)


def figure2_rows(pictures: Sequence[Picture]) -> list[tuple[Picture, int]]:
    """The paper's pairs of picture and rate; where none of its pictures is there, up to six others."""
    named = {p.name: p for p in pictures}
    rows = [(named[name], rate) for name, rate in FIGURE2 if name in named]
    return rows or [(p, rate) for p, (_, rate) in zip(pictures, FIGURE2, strict=False)]


def figure2(pictures: Sequence[Picture], methods: Sequence[str], out: Path, effort: Effort, seed: int) -> Plan:
    """Each row's picture completed by each method."""
    file, budget = CellFile(out / "fig2.csv", COLUMNS, KEY), _limit(effort.limit)
    limits = {} if effort.limit is None else {"max_iter": effort.limit}
    rows = figure2_rows(pictures)
    cells = [
        _cell(file, p, (method, rate, seed, budget), f"fig2{effort.suffix}", method, limits, p.truth.size)
        for method in methods
        for p, rate in rows
    ]

    def draw() -> list[Path]:
        have = _here(file, budget, seed)
        shown = sorted({r["setting"] for r in have}, key=layout.column_order)
        strips = [(p, rate, [_find(have, m, p, rate) for m in shown]) for p, rate in rows]
        if not have:
            return []
        titles = [layout.title(m) for m in shown]
        return [_draw(out, f"fig2{effort.suffix}", strips, titles, seed, "fig2.png")]

    return Plan(cells, draw)


def figure3(pictures: Sequence[Picture], out: Path, effort: Effort, seed: int) -> Plan:
    """sptc with other weights of smoothness (a), and with other ranks for the same time (b)."""
    picture = main_picture(pictures)
    file = CellFile(out / "fig3.csv", COLUMNS, KEY)
    budgets = {"a": _limit(effort.iterations), "b": f"{effort.seconds:g} seconds"}
    folder = f"fig3{effort.suffix}"
    runs: dict[str, list[tuple[str, dict[str, Any]]]] = {"a": [], "b": []}
    for rho in RHOS:
        weights = dict(enumerate(rho[: picture.truth.ndim]))
        limits = {"max_iter": effort.iterations, "tol": 0.0}
        runs["a"].append((f"rho {','.join(f'{r:g}' for r in rho)}", {"smooth": weights, **limits}))
    for rank in RANKS:
        runs["b"].append((f"R {rank}", {"rank": rank, "seconds": effort.seconds, "max_iter": 10**7, "tol": 0.0}))
    cells = [
        _cell(file, picture, (name, RATE, seed, budgets[part]), folder, "sptc", settings, _cost(settings))
        for part, settings_of in runs.items()
        for name, settings in settings_of
    ]

    def draw() -> list[Path]:
        made = []
        for part, settings_of in runs.items():
            have = _here(file, budgets[part], seed)
            names = [name for name, _ in settings_of]
            strip = (picture, RATE, [_find(have, name, picture, RATE) for name in names])
            if any(strip[2]):
                titles = [f"{name}, {budgets[part]}" for name in names]
                made.append(_draw(out, folder, [strip], titles, seed, f"fig3{part}.png"))
        return made

    return Plan(cells, draw)


def _limit(iterations: int | None) -> str:
    return "to the end" if iterations is None else f"{iterations} iterations"


def _cost(settings: dict[str, Any]) -> float:
    return float(settings.get("seconds", 1.0))


def _cell(
    file: CellFile,
    picture: Picture,
    key: tuple[str, float, int, str],
    folder: str,
    method: str,
    settings: dict[str, Any],
    size: float,
) -> Cell:
    """A cell that also leaves its picture in OUT/folder; without the picture it is not finished."""
    setting, rate, seed, budget = key
    words = (setting, picture.name, f"{rate:g}", str(seed), budget)
    target = file.path.parent / folder / _file_name(words)
    if file.path.exists() and not target.exists():
        file.forget({words})

    def work() -> list[dict[str, Any]]:
        filled = fill(picture, method, rate, seed, **settings)
        _keep(filled, picture, rate, seed, target)
        numbers = (filled.done.iterations, f"{filled.psnr:.4f}", f"{filled.ssim:.4f}", f"{filled.seconds:.3f}")
        return [dict(zip(COLUMNS, (*words, *numbers), strict=True))]

    label = f"{file.path.stem}: {setting} · {picture.name} {rate:g} %"
    return Cell(file, words, label, work, group=f"{file.path.stem} {method} {budget}", size=size)


def _file_name(words: Sequence[str]) -> str:
    """A name without blanks: house-60-sptc-0.png."""
    setting, image, rate, seed, _ = words
    return f"{image}-{rate}-{setting.replace(' ', '').replace(',', '_')}-{seed}.png"


def _keep(filled: Filled, picture: Picture, rate: float, seed: int, target: Path) -> None:
    """The completed picture as a PNG."""
    peak = peak_of(picture.truth)
    whole = np.where(picture.mask(rate, seed), picture.truth, np.clip(filled.done.estimate, 0, peak))
    target.parent.mkdir(parents=True, exist_ok=True)
    write(target, whole.reshape(picture.loaded.shape), picture.loaded, format="png")


def _here(file: CellFile, budget: str, seed: int) -> list[Row]:
    return [r for r in file.rows() if (r["budget"], r["seed"]) == (budget, str(seed))]


def _find(rows: Sequence[Row], setting: str, picture: Picture, rate: float) -> Row | None:
    wanted = (setting, picture.name, f"{rate:g}")
    return next((r for r in rows if (r["setting"], r["image"], r["missing_percent"]) == wanted), None)


Strip = tuple[Picture, float, list[Row | None]]


def _draw(out: Path, folder: str, strips: Sequence[Strip], titles: Sequence[str], seed: int, name: str) -> Path:
    """A grid: a row per strip, columns original, incomplete, and one per setting, with its PSNR."""
    import matplotlib as mpl

    from tensorfill.show.panels import STYLE, new_figure

    columns = 2 + len(titles)
    tall = sum(p.truth.shape[0] / p.truth.shape[1] for p, _, _ in strips)
    side = 1.9 if columns > 5 else 2.6
    with mpl.rc_context(STYLE):
        figure = new_figure(side * columns, side * tall + 0.35 * len(strips) + 0.3)
        grid = figure.subplots(len(strips), columns, squeeze=False)
        for k, (picture, rate, entries) in enumerate(strips):
            limits, mask = (0.0, peak_of(picture.truth)), picture.mask(rate, seed)
            heads = ["original", "incomplete", *titles] if k == 0 else [""] * columns
            _panel(grid[k, 0], view.to_rgb(picture.truth, limits), heads[0], picture.name)
            _panel(grid[k, 1], view.to_rgb(picture.incomplete(mask), limits, ~mask), heads[1], f"{rate:g} % missing")
            for axes, entry, head in zip(grid[k, 2:], entries, heads[2:], strict=True):
                if entry is None:
                    _panel(axes, np.full((*picture.truth.shape[:2], 3), 128, np.uint8), head, "not run")
                    continue
                made = read(out / folder / _file_name([entry[c] for c in KEY])).values
                assert made is not None
                _panel(axes, view.to_rgb(made, limits), head, f"{float(entry['psnr']):.2f} dB")
        return save(figure, out / name)


def _panel(axes: Any, pixels: Array, head: str, below: str) -> None:
    axes.imshow(pixels)
    axes.set_title(f"{head}\n{below}" if head else below)
    axes.set_axis_off()
