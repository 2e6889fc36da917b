"""All of the paper in one run: Table 1, Figures 2, 3 and 4, the ablation, and a page that sets each beside print.

Nothing is computed here: the cells are those of `table1`, `figures` and `ablation`, each in its own folder below OUT,
and what they have is not run again. OUT/paper.html is made from their files alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tensorfill_benchmarks import ablation, figures, paper, table1, whole_page
from tensorfill_benchmarks.cells import Report, Watcher, write_text
from tensorfill_benchmarks.pictures import find
from tensorfill_benchmarks.plans import QUICK


def run(
    images: str | Path,
    out: str | Path,
    names: Sequence[str] | None = None,
    rates: Sequence[float] = paper.RATES,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    seeds_of_ours: Sequence[int] = (0, 1, 2),
    progress: Watcher | None = None,
    *,
    seconds: float | None = None,
    observed: str | Path | None = None,
    quick: bool = False,
    again: bool = False,
) -> tuple[Report, Path]:
    """Run what OUT does not have, write OUT/paper.html, and say where it is.

    Parameters
    ----------
    names : which pictures; None for all
    methods : columns of Table 1 and Figure 2; None for the paper's ten, its authors' steps and auto
    seeds, seeds_of_ours : of the paper's methods, and of auto, in Table 1; all else has the first seed
    seconds : of every run of Figure 3 (b); the paper's 2 minutes by default
    observed : folder of incomplete pictures; None to draw masks
    quick : a few iterations of everything, in OUT/quick, to see that it works
    """
    chosen = table1.columns(methods)
    folder = Path(out) / whole_page.QUICK_FOLDER if quick else Path(out)
    shared: dict[str, Any] = {"observed": observed, "again": again}
    limits = {m: {"max_iter": QUICK.limit} for m in chosen} if quick else None
    report = Report()
    try:
        for group, each in (
            ([m for m in chosen if m not in paper.OURS], seeds),
            ([m for m in chosen if m in paper.OURS], seeds_of_ours),
        ):
            if group:
                at = folder / "table1"
                report += table1.run(images, names, rates, group, each, at, progress, settings=limits, **shared)
        compared = [m for m in chosen if m != paper.AUTHORS]
        given = {"names": names, "seed": seeds[0], "seconds": seconds, "quick": quick, **shared}
        drawn, _ = figures.run(images, folder / "figures", None, compared, progress, **given)
        limit = QUICK.limit if quick else None
        studied, _ = ablation.run(
            images, folder / "ablation", usual(images, names), (60, 90), seeds[:1], progress, limit=limit, **shared
        )
        report += drawn + studied
    finally:  # a stopped run has a page of what is finished
        page = folder / "paper.html"
        folder.mkdir(parents=True, exist_ok=True)
        write_text(page, whole_page.html(folder))
    return report, page


def usual(images: str | Path, names: Sequence[str] | None) -> list[str] | None:
    """The pictures of the ablation: those of its own choice that were asked for, else the first two."""
    if names is None:
        return None
    asked = [n for n in find(images) if n in {name.lower() for name in names}]
    return [n for n in asked if n in ablation.USUAL] or asked[:2] or list(names)
