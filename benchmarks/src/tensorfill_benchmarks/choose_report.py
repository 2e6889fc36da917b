"""What choose.csv says: choose.md, a line per cell and what must hold, choose.png, and choose_seconds.png."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import mean

from tensorfill_benchmarks import choose_front
from tensorfill_benchmarks.cells import write_text
from tensorfill_benchmarks.choose_data import REPORTED, TUNED
from tensorfill_benchmarks.choose_lines import ALONE, Line, arrange, csv_file, geometric
from tensorfill_benchmarks.choose_others import INTERPOLATION, MEANS

FARTHEST = 4.0  # ratio at the right edge of the picture
TARGETS = "geometric mean <= 1.00, worst <= 1.10, means and interpolation <= 1.03, seeds <= 5 %"

MEANING = (
    "Errors: root mean square over the hidden entries, in standard deviations, of each column where columns have units "
    "of their own; for yes or no, the root of the Brier score. Seconds of processor time."
)


# --- Markdown --------------------------------------------------------------------------------------------------------


def markdown(lines: Sequence[Line]) -> str:
    """What must hold, a line per cell, and everyone's record."""
    out = ["# auto, and the best of all others", "", f"To reach: {TARGETS}.", ""]
    for title, (head, body) in (("", summary(lines)), ("Cell by cell", cells(lines)), ("Everyone", standings(lines))):
        out += ["", f"## {title}", ""] if title else []
        out += _table(head, body)
        out += ["", MEANING] if title == "Cell by cell" else []
    return "\n".join(out) + "\n"


def summary(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """(head, rows): the figures that count, for each half and for both."""
    head = [
        "half",
        "cells",
        "geometric mean",
        "worst",
        "where",
        "worst / means",
        "worst / interpolation",
        "worst seeds",
    ]
    rows = []
    for half in (TUNED, REPORTED, "both"):
        here = [line for line in lines if line.ratio is not None and half in (line.half, "both")]
        if not here:
            continue
        worst = max(here, key=lambda line: line.ratio or 0.0)
        rows.append(
            [
                half,
                str(len(here)),
                _number(geometric(line.ratio for line in here)),
                _number(worst.ratio),
                worst.title,
                _number(_most(line.against(MEANS) for line in here)),
                _number(_most(line.against(INTERPOLATION) for line in here)),
                _percent(_most(line.scatter for line in here)),
            ]
        )
    return head, rows


def standings(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """(head, rows), for everyone: how often, how far from the best of all, how often the best."""
    head, rows = ["who", "cells", "error / best of all", "worst", "times the best", "seconds"], []
    for what in sorted({w for line in lines for w in line.errors}, key=lambda w: (w != "auto", w.startswith(ALONE), w)):
        here = [line for line in lines if what in line.errors and len(line.errors) > 1]
        far = [line.errors[what] / max(min(line.errors.values()), 1e-300) for line in here]
        if far:
            wins, seconds = sum(f <= 1 for f in far), mean(line.seconds[what] for line in here)
            rows.append([what, str(len(far)), _number(geometric(far)), _number(max(far)), str(wins), f"{seconds:.2f}"])
    return head, rows


def cells(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """(head, rows): `auto` beside the best other in every cell."""
    head = ["set", "half", "gaps", "auto", "best other", "who", "ratio"]
    return [*head, "/ means", "/ interpolation", "seeds", "seconds"], [_cells(line) for line in lines]


def _cells(line: Line) -> list[str]:
    best = line.best
    auto = line.errors.get("auto")
    return [
        line.name,
        line.half,
        line.gaps,
        "–" if auto is None else f"{auto:.4g}",
        "–" if best is None else f"{line.errors[best]:.4g}",
        best or "–",
        _number(line.ratio),
        _number(line.against(MEANS)),
        _number(line.against(INTERPOLATION)),
        _percent(line.scatter),
        "–" if auto is None else f"{line.seconds['auto']:.3g}",
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def _most(values: Iterable[float | None]) -> float | None:
    return max((v for v in values if v is not None), default=None)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f} %"


# --- the picture -----------------------------------------------------------------------------------------------------


def draw(lines: Sequence[Line], path: Path) -> Path:
    """A row per cell: the error of `auto` over the best other as a full dot, all others as light ones."""
    import matplotlib as mpl

    from tensorfill.show.panels import BLUE, COLOURS, MISSING, STYLE, new_figure
    from tensorfill_benchmarks.plans import save

    shown = sorted((line for line in lines if line.ratio), key=lambda line: (line.half != TUNED, line.ratio))
    with mpl.rc_context(STYLE):
        figure = new_figure(7.5, 1.4 + 0.19 * len(shown))
        axes = figure.subplots()
        for y, line in enumerate(shown):
            scale = line.errors[line.best or "auto"]
            for what, error in line.errors.items():
                if what != "auto":
                    x = error / scale
                    mark = "|" if what in (*MEANS, *INTERPOLATION) else "."
                    axes.plot(min(x, FARTHEST), y, ">" if x > FARTHEST else mark, color=COLOURS[5], alpha=0.5, ms=5)
            good = (line.ratio or 0) <= 1.1
            axes.plot(min(line.ratio or 0, FARTHEST), y, "o", color=BLUE if good else COLOURS[6], ms=6, zorder=3)
        tuned = sum(line.half == TUNED for line in shown)
        if 0 < tuned < len(shown):
            axes.axhline(tuned - 0.5, color=MISSING, linewidth=0.8)
        for x, style in ((1.0, "-"), (1.1, ":")):
            axes.axvline(x, color=MISSING, linewidth=1, linestyle=style, zorder=0)
        axes.set_xscale("log")
        ticks = [t for t in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2, 3, 4) if t >= _left(shown)]
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        axes.set_xlim(_left(shown), FARTHEST * 1.05)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_yticks(range(len(shown)), [line.title for line in shown], fontsize=7)
        axes.set_xlabel("error / error of the best other. Full: auto; light: all others (bars: means, interpolation)")
        axes.set_title(f"{TUNED} above, {REPORTED} below" if 0 < tuned < len(shown) else (TUNED if tuned else REPORTED))
        return save(figure, path)


def _left(lines: Sequence[Line]) -> float:
    return min(0.78, *(0.95 * (line.ratio or 1.0) for line in lines), 0.78)


def write(folder: str | Path) -> list[Path]:
    """choose.md and choose.png from choose.csv; the files that there are."""
    place = Path(folder)
    lines = arrange(csv_file(place).rows())
    if not lines:
        return []
    written = [csv_file(place).path, place / "choose.md"]
    write_text(written[1], markdown(lines))
    if any(line.ratio for line in lines):
        reported = [line for line in lines if line.half == REPORTED]
        written.append(draw(lines, place / "choose.png"))
        written.append(choose_front.draw(reported or lines, place / "choose_seconds.png"))
    return written
