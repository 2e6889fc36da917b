"""choose_seconds.png: how far everyone's error is from the best, against processor time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from tensorfill_benchmarks.choose_lines import ALONE, Line, geometric

SHORTEST = 1e-3  # seconds at the left edge of the picture
MIN_SHARE = 0.5  # who ran on fewer of the cells is left out: means over other data cannot be compared


@dataclass(frozen=True)
class Point:
    """One who filled gaps: error over that of the best (geometric mean), and seconds of processor time (median)."""

    who: str
    error: float
    seconds: float


def points(lines: Sequence[Line]) -> list[Point]:
    """Everyone who ran on at least half of the cells, the fastest first."""
    lines = [line for line in lines if len(line.errors) > 1]
    out = []
    for who in dict.fromkeys(w for line in lines for w in line.errors):
        here = [line for line in lines if who in line.errors]
        error = geometric(line.errors[who] / max(min(line.errors.values()), 1e-300) for line in here)
        if error is not None and len(here) >= MIN_SHARE * len(lines):
            out.append(Point(who, error, max(median(line.seconds[who] for line in here), SHORTEST)))
    return sorted(out, key=lambda p: (p.seconds, p.error))


def front(everyone: Sequence[Point]) -> list[Point]:
    """Those whom nobody beats in error at no more seconds; `everyone` has the fastest first."""
    out: list[Point] = []
    for point in everyone:
        if not out or point.error < out[-1].error:
            out.append(point)
    return out


def draw(lines: Sequence[Line], path: Path) -> Path:
    """A dot for everyone, and a line through those who are best for their time."""
    import matplotlib as mpl

    from tensorfill.show.panels import BLUE, COLOURS, MISSING, STYLE, new_figure
    from tensorfill_benchmarks.plans import save

    everyone = points(lines)
    best = front(everyone)
    with mpl.rc_context(STYLE):
        figure = new_figure(7.5, 4.6)
        axes = figure.subplots()
        axes.step([p.seconds for p in best], [p.error for p in best], where="post", color=MISSING, zorder=0)
        for p in everyone:
            own, part = p.who == "auto", p.who.startswith(ALONE)
            axes.plot(p.seconds, p.error, "o", color=BLUE if own else COLOURS[5 if part else 1], ms=8 if own else 5)
            axes.annotate(p.who.removeprefix(ALONE), (p.seconds, p.error), (4, 3), textcoords="offset points", size=7)
        axes.set_xscale("log")
        axes.set_xlabel("seconds of processor time (median). Orange: others; grey: a method of auto alone")
        axes.set_ylabel("error / error of the best")
        axes.set_yscale("log")
        ticks = [t for t in (1, 1.1, 1.2, 1.5, 2, 3, 5, 10) if t <= max(p.error for p in everyone) * 1.1]
        axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        return save(figure, path)
