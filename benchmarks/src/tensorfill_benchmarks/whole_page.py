"""OUT/paper.html: every table and figure of the paper as made here, beside what is printed, and how far off it is."""

from __future__ import annotations

import base64
import platform
from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from pathlib import Path
from statistics import mean

import numpy as np

from tensorfill_benchmarks import ablation, curves, layout, paper, strips, table1
from tensorfill_benchmarks.cells import CellFile, Row
from tensorfill_benchmarks.style import page, table

NEAR = 0.3  # dB: a cell this near to print counts as reproduced
EMPTY = 10.0  # dB: where the paper prints less, its method had completed nothing
QUICK_FOLDER = "quick"  # below OUT: of a run that only shows that everything works
COLLAPSE = (3.0e-4, 3.1e-4)  # between which alphas the paper's model collapses, Figure 4


def html(folder: Path) -> str:
    """The page of everything below `folder`."""
    made = (
        f"tensorfill {version('tensorfill')}, NumPy {np.__version__}, Python {platform.python_version()}. "
        "Differences are ours minus print, in dB of PSNR."
    )
    parts = [f"<p>{escape(made)}</p>"]
    if folder.name == QUICK_FOLDER:
        parts.append(
            "<p><strong>A few iterations of everything, to see that it works: no figure here is a result.</strong></p>"
        )
    for title, section in (
        ("Table 1", _table1(folder / "table1")),
        ("Figure 2: six pictures completed by each method", _figure2(folder / "figures")),
        ("Figure 3: smoothness and rank", _figure3(folder / "figures")),
        ("Figure 4: alpha", _figure4(folder / "figures")),
        ("Ablation", _ablation(folder / "ablation")),
    ):
        parts.append(f"<h2>{escape(title)}</h2>\n{section or '<p>Not run yet.</p>'}")
    return page("The paper, made again", "\n".join(parts))


# --- Table 1 ----------------------------------------------------------------------------------------------------------


def distances(whole: layout.Table) -> tuple[list[str], list[list[str]]]:
    """(head, rows): how far each method of the paper is from its printed column, over the cells that have run."""
    head = [
        "method",
        "cells",
        "mean difference",
        "mean distance",
        f"within {NEAR:g} dB",
        "farthest",
        "in print",
    ]
    rows = []
    for method in whole.methods:
        cells = [
            (line, line.entries[method])
            for line in whole.lines
            if line.image is not None and method in line.entries and line.entries[method].printed is not None
        ]
        if not cells or method in paper.OURS:
            continue
        groups = {"completed": [c for c in cells if not _empty(c[1])], "left empty": [c for c in cells if _empty(c[1])]}
        for words, some in groups.items():
            if some:
                rows.append([layout.title(method), str(len(some)), *_spread(some), words])
    return head, rows


def _empty(entry: layout.Entry) -> bool:
    return entry.printed is not None and entry.printed < EMPTY


def _spread(cells: Sequence[tuple[layout.Line, layout.Entry]]) -> list[str]:
    """Mean, mean size, how many are near, and the farthest of the differences."""
    gaps = [(e.difference or 0.0, f"{line.image} {line.rate} %") for line, e in cells]
    farthest = max(gaps, key=lambda gap: abs(gap[0]))
    sizes = [abs(d) for d, _ in gaps]
    near = f"{sum(s <= NEAR for s in sizes)} of {len(sizes)}"
    return [f"{mean(d for d, _ in gaps):+.2f}", f"{mean(sizes):.2f}", near, f"{farthest[0]:+.2f}, {farthest[1]}"]


def _table1(folder: Path) -> str:
    rows = table1.csv_file(folder).rows()
    if not rows:
        return ""
    whole = layout.arrange(rows, table1.others(folder))
    return table(*distances(whole)) + layout.fragment(whole)


# --- the figures ------------------------------------------------------------------------------------------------------


def _picture(path: Path, words: str) -> str:
    """A PNG inside the page, so that the page can be sent to someone."""
    if not path.exists():
        return ""
    data = base64.b64encode(path.read_bytes()).decode()
    return f'<figure><img alt="{escape(words)}" src="data:image/png;base64,{data}"></figure>'


def _figure2(folder: Path) -> str:
    rows = CellFile(folder / "fig2.csv", strips.COLUMNS, strips.KEY).rows()
    if not rows:
        return ""
    methods = sorted({r["setting"] for r in rows}, key=layout.column_order)
    places = list(dict.fromkeys((r["image"], r["missing_percent"]) for r in rows))
    lines = []
    for image, rate in places:
        own = {r["setting"]: r for r in rows if (r["image"], r["missing_percent"]) == (image, rate)}
        lines.append([f"{image} {rate} %", *(_beside(own.get(m), m, image, rate) for m in methods)])
    said = "<p>PSNR in dB: ours (in Table 1 of the paper, difference).</p>"
    return said + table(["picture", *map(layout.title, methods)], lines) + _picture(folder / "fig2.png", "Figure 2")


def _beside(row: Row | None, method: str, image: str, rate: str) -> str:
    if row is None:
        return "–"
    ours, print_ = float(row["psnr"]), paper.beside(method, image, float(rate))
    return f"{ours:.2f}" + ("" if print_ is None else f" ({print_:.2f}, {ours - print_:+.2f})")


def _figure3(folder: Path) -> str:
    rows = CellFile(folder / "fig3.csv", strips.COLUMNS, strips.KEY).rows()
    if not rows:
        return ""
    parts = []
    for letter, printed in (("a", "rho 10,10,0"), ("b", "R 300")):
        own = [r for r in rows if r["setting"].split()[0] == printed.split()[0]]
        if not own:
            continue
        best = max(own, key=lambda r: float(r["psnr"]))["setting"]
        parts.append(f"<p>({letter}) Best in the paper, to judge by its pictures: {printed}. Best here: {best}.</p>")
        lines = [[r["setting"], r["budget"], r["iterations"], f"{float(r['psnr']):.2f}"] for r in own]
        parts.append(table(["setting", "budget", "iterations", "PSNR"], lines))
        parts.append(_picture(folder / f"fig3{letter}.png", f"Figure 3 ({letter})"))
    return "\n".join(parts)


def collapse(rows: Sequence[Row]) -> tuple[float | None, float | None]:
    """(the last alpha that works, the first that collapses) of fig4.csv; None where there is none."""
    good = {float(r["alpha"]): r["status"] not in ("collapsed", "nonfinite") for r in rows}
    bad = min((a for a, works in good.items() if not works), default=None)
    below = [a for a, works in good.items() if works and (bad is None or a < bad)]
    return max(below, default=None), bad


def _figure4(folder: Path) -> str:
    rows = curves.alphas_file(folder).rows()
    if not rows:
        return ""
    said = [f"The paper's model works at {COLLAPSE[0]:.2g} and collapses at {COLLAPSE[1]:.2g}."]
    for order, words in curves.ORDERS.items():
        works, fails = collapse([r for r in rows if r["order"] == order])
        if fails is None:
            said.append(f"Ours, {words}, collapses nowhere on this grid.")
        elif works is None:
            said.append(f"Ours, {words}, collapses at the first of the grid, {fails:.3g}.")
        else:
            edge = f"its edge is {works / COLLAPSE[0]:.2f} to {fails / COLLAPSE[1]:.2f} times the paper's"
            said.append(f"Ours, {words}, works at {works:.3g} and collapses at {fails:.3g}: {edge}.")
    return f"<p>{escape(' '.join(said))}</p>" + _picture(folder / "fig4.png", "Figure 4: PSNR against alpha")


# --- ablation ---------------------------------------------------------------------------------------------------------


def _ablation(folder: Path) -> str:
    rows = CellFile(folder / "ablation.csv", ablation.COLUMNS, ablation.KEY).rows()
    if not rows:
        return ""
    parts = []
    for study in ("paper", "ours"):
        for budget in dict.fromkeys(r["budget"] for r in rows):
            one = ablation.arrange(rows, study, budget)
            if one.rows:
                lines = [*one.rows, *_printed_gap(rows)] if study == "paper" else list(one.rows)
                parts += [f"<p>{escape(one.title)}; PSNR in dB.</p>", table(one.head, lines)]
    return "\n".join(parts)


def _printed_gap(rows: Sequence[Row]) -> list[list[str]]:
    """What the paper sets against Poisson is SPC-QV of its Table 1: those cells, in the form of an ablation table."""
    places = sorted({(r["image"], float(r["missing_percent"])) for r in rows if r["study"] == "paper"})
    out, gaps = [], []
    for method in ("sptc", "spc-qv"):
        cells = [paper.printed(method, image, rate) for image, rate in places]
        known = [c for c in cells if c is not None]
        if not known:
            return []
        gaps.append(mean(known))
        change = f"{gaps[-1] - gaps[0]:+.2f}" if len(gaps) > 1 else ""
        texts = ["–" if c is None else f"{c:.2f}" for c in cells]
        out.append([f"printed: {layout.title(method)}", *texts, f"{gaps[-1]:.2f}", change])
    return out
