"""Figure 4: PSNR against alpha, and where the model collapses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill_benchmarks.cells import Cell, CellFile, Row
from tensorfill_benchmarks.pictures import Picture
from tensorfill_benchmarks.plans import RATE, Effort, Plan, alpha_unit, main_picture, save
from tensorfill_benchmarks.table1 import fill

ALPHAS = ("order", "alpha", "image", "missing_percent", "seed", "iterations", "psnr", "seconds", "status")
# in units of the paper's 3e-4; dense at 1, where its model collapses, and at 1.5, where house at 60 % does
GRID = (0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.0333, 1.1, 1.2, 1.3, 1.4, 1.45, 1.5, 1.55, 1.6, 1.7, 2.0)
QUICK_GRID = (0.1, 1.0, 30.0)
ORDERS = {"sequential": "mode by mode, as printed", "together": "all modes at once, as in the authors' program"}


def figure4(pictures: Sequence[Picture], out: Path, effort: Effort, seed: int) -> Plan:
    """sptc in both orders of its steps, with fixed alphas for a fixed number of iterations."""
    picture, iterations = main_picture(pictures), max(effort.iterations // 3, 1)
    file = alphas_file(out)
    grid = [f"{alpha_unit(picture) * a:.4g}" for a in (GRID if effort.limit is None else QUICK_GRID)]

    def cell(order: str, alpha: str) -> Cell:
        words = (order, alpha, picture.name, f"{RATE:g}", str(seed), str(iterations))

        def work() -> list[dict[str, Any]]:
            how = {"alpha": float(alpha), "order": order, "max_iter": iterations, "tol": 0.0}
            filled = fill(picture, "sptc", RATE, seed, **how)
            numbers = (f"{filled.psnr:.4f}", f"{filled.seconds:.3f}", str(filled.done.status))
            return [dict(zip(ALPHAS, (*words, *numbers), strict=True))]

        return Cell(file, words, f"fig4: {order}, alpha {alpha} · {picture.name} {RATE:g} %", work, group="fig4")

    def draw() -> list[Path]:
        wanted = (picture.name, f"{RATE:g}", str(seed), str(iterations))
        rows = [r for r in file.rows() if tuple(r[c] for c in ALPHAS[2:6]) == wanted]
        return [_draw_alphas(rows, out / "fig4.png")] if rows else []

    return Plan([cell(order, alpha) for order in ORDERS for alpha in grid], draw)


def alphas_file(out: Path) -> CellFile:
    """OUT/fig4.csv."""
    return CellFile(out / "fig4.csv", ALPHAS, ALPHAS[:6])


def _draw_alphas(rows: Sequence[Row], path: Path) -> Path:
    import matplotlib as mpl

    from tensorfill.show.panels import COLOURS, STYLE, new_figure

    rows = sorted(rows, key=lambda r: float(r["alpha"]))
    with mpl.rc_context(STYLE):
        figure = new_figure(6.5, 3.6)
        axes = figure.subplots()
        for (order, words), colour in zip(ORDERS.items(), COLOURS, strict=False):
            own = [r for r in rows if r["order"] == order]
            x, y = (np.array([float(r[c]) for r in own]) for c in ("alpha", "psnr"))
            bad = np.array([r["status"] in ("collapsed", "nonfinite") for r in own], dtype=bool)
            axes.plot(x, y, color=colour, alpha=0.4, zorder=1)
            axes.plot(x[~bad], y[~bad], "o", color=colour, label=words)
            axes.plot(x[bad], y[bad], "X", color=colour, markersize=8, label="collapsed" if bad.any() else None)
        axes.set_xscale("log")
        axes.set_xlabel("alpha")
        axes.set_ylabel("PSNR in dB")
        one = rows[0]
        axes.set_title(f"{one['image']}, {one['missing_percent']} % missing, after {one['iterations']} iterations")
        axes.legend()
        return save(figure, path)
