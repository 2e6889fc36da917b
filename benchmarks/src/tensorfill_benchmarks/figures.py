"""The paper's figures: each writes its CSV first, then the PNG from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tensorfill.methods import METHODS
from tensorfill.registry import did_you_mean
from tensorfill_benchmarks import curves, strips
from tensorfill_benchmarks.cells import Report, Watcher, run_cells
from tensorfill_benchmarks.pictures import choose
from tensorfill_benchmarks.plans import QUICK, Effort
from tensorfill_benchmarks.table1 import default_methods, remember

FIGURES = {
    "fig2": "six pictures completed by each method",
    "fig3": "sptc with other weights of smoothness, and with other ranks for the same time",
    "fig4": "PSNR against alpha, and where it collapses",
}


def run(
    images: str | Path,
    out: str | Path,
    only: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    progress: Watcher | None = None,
    *,
    names: Sequence[str] | None = None,
    seed: int = 0,
    seconds: float | None = None,
    observed: str | Path | None = None,
    quick: bool = False,
    again: bool = False,
) -> tuple[Report, list[Path]]:
    """Run what the CSVs do not have yet, then draw.

    Parameters
    ----------
    images : folder of pictures
    only : some of FIGURES; None for all
    methods : the columns of Figure 2; None for the paper's ten and ours
    names : which pictures; None for all. Figures 3 and 4 use house, or the first where it is missing
    seconds : of every run of Figure 3 (b); the paper's 2 minutes by default
    observed : folder of incomplete pictures, as in Table 1; None to draw masks
    quick : a few iterations of everything, to see that it works
    again : run also what is finished
    """
    wanted = list(FIGURES) if only is None else list(only)
    for name in wanted:
        if name not in FIGURES:
            msg = f"--only must be among {', '.join(FIGURES)}; got {name!r}.{did_you_mean(name, list(FIGURES))}"
            raise ValueError(msg)
    effort = QUICK if quick else Effort()
    if seconds is not None:
        if not seconds > 0:
            msg = f"seconds must be > 0; got {seconds:g}."
            raise ValueError(msg)
        effort = replace(effort, seconds=seconds)
    usual = ["auto", "sptc"] if quick else default_methods()
    columns = [METHODS[m].name for m in (usual if methods is None else methods)]
    pictures = choose(images, names, observed)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    remember(folder, pictures)
    make = {
        "fig2": lambda: strips.figure2(pictures, columns, folder, effort, seed),
        "fig3": lambda: strips.figure3(pictures, folder, effort, seed),
        "fig4": lambda: curves.figure4(pictures, folder, effort, seed),
    }
    plans = [make[name]() for name in wanted]
    cells = [cell for plan in plans for cell in plan.cells]
    report = run_cells(cells, progress, again=again)
    return report, [path for plan in plans for path in plan.draw()]
