"""What tables.csv says: tables.md, a table per data set with published figures beside, and tables.png."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from tensorfill_benchmarks.cells import CellFile, Row, write_text
from tensorfill_benchmarks.tables_tasks import TASKS, Task

COLUMNS = ("data", "case", "seed", "what", "measure", "value", "seconds", "note")
KEY = ("data", "case", "seed", "what")
OURS = ("bayes", "auto")
FARTHEST = 2.5  # ratio at the right edge of the picture
MEANING = (
    "Small is good. RMSE, MAE: root mean square and mean absolute error over the hidden entries, in standard "
    "deviations of the column where columns have units of their own; MAPE: mean of |error| / truth; AP: average "
    "precision of the yes; NDCG@10, HR@10: how well the hidden films of each user are ranked (hit rate: users with "
    "more than ten of them, one of whose favourites is among the first ten); missed: share of 200 simulated tables "
    "for which an interval of 95 % by Rubin's rules does not hold the true mean. `bayes`: mean over the seeds, and in "
    "brackets the worst. Published figures are in italics; those stated as ratios to linear interpolation are "
    "multiplied by its error in this run. Seconds of processor time."
)


@dataclass(frozen=True)
class Line:
    """A task: {(who, measure): values over the seeds}, and {who: mean seconds}."""

    task: Task
    values: dict[tuple[str, str], list[float]]
    seconds: dict[str, float]

    @property
    def who(self) -> list[str]:
        """Ours first."""
        return sorted(self.seconds, key=lambda what: (what not in OURS, OURS.index(what) if what in OURS else 0))

    @property
    def compares(self) -> bool:
        """Are there ours and others?"""
        return len({who in OURS for who in self.all()}) == 2

    def published(self, who: str, measure: int) -> float | None:
        """In the unit of the measure; None where nothing was stated, or what it is a ratio to did not run."""
        figure = self.task.published[who][measure]
        if figure is None or self.task.over is None:
            return figure
        other = self.values.get((self.task.over, self.task.measures[measure]))
        return figure * mean(other) if other else None

    def all(self, measure: int = 0) -> dict[str, float]:
        """Mean of everyone, published ones too; those run here go first where names agree."""
        name = self.task.measures[measure]
        said = {f"{who} (published)": self.published(who, measure) for who in self.task.published}
        ran = {who: mean(v) for (who, m), v in self.values.items() if m == name}
        return ran | {who: v for who, v in said.items() if v is not None}


def arrange(rows: Sequence[Row]) -> list[Line]:
    """A line per task that has rows, in the order of TASKS."""
    lines = []
    for task in TASKS:
        here = [r for r in rows if (r["data"], r["case"]) == (task.data, task.case) and r["value"]]
        values: dict[tuple[str, str], list[float]] = {}
        seconds: dict[str, list[float]] = {}
        for row in here:
            values.setdefault((row["what"], row["measure"]), []).append(float(row["value"]))
            seconds.setdefault(row["what"], []).append(float(row["seconds"]))
        if here:
            lines.append(Line(task, values, {who: mean(s) for who, s in seconds.items()}))
    return lines


# --- Markdown --------------------------------------------------------------------------------------------------------


def markdown(lines: Sequence[Line]) -> str:
    """A table per data set."""
    out = ["# Tables: the posterior, `auto`, and others", "", MEANING, ""]
    for data in dict.fromkeys(line.task.data for line in lines):
        here = [line for line in lines if line.task.data == data]
        head, rows = table(here)
        out += [f"## {data}: {' / '.join(here[0].task.measures)}", "", *_markdown(head, rows), ""]
    return "\n".join(out)


def table(lines: Sequence[Line]) -> tuple[list[str], list[list[str]]]:
    """(head, rows) of one data set: cases down, everyone across; the mean of folds below them."""
    who = list(dict.fromkeys(w for line in lines for w in line.who))
    who.sort(key=lambda what: OURS.index(what) if what in OURS else len(OURS))
    said = list(dict.fromkeys(w for line in lines for w in line.task.published))
    head = ["case", *who, *(f"*{w}*" for w in said), *(f"seconds of {w}" for w in who if w in OURS)]
    rows = [
        [
            line.task.case,
            *(_cell(line, w) for w in who),
            *(_said(line, w) for w in said),
            *(f"{line.seconds[w]:.1f}" if w in line.seconds else "–" for w in who if w in OURS),
        ]
        for line in lines
    ]
    if len(lines) > 1 and all(line.task.case.startswith("fold") for line in lines):
        rows.append(_folds(lines, who, said))
    return head, rows


def _folds(lines: Sequence[Line], who: Sequence[str], said: Sequence[str]) -> list[str]:
    """Means over the folds that someone has run."""
    row = [f"mean of {len(lines)}"]
    for w in who:
        each = [[mean(line.values[w, m]) for line in lines if (w, m) in line.values] for m in lines[0].task.measures]
        row.append(" / ".join(f"{mean(v):.4g}" for v in each if v) or "–")
    row += [_said(lines[0], w) for w in said]
    return row + [f"{mean(s):.1f}" if (s := [x.seconds[w] for x in lines if w in x.seconds]) else "–"
                  for w in who if w in OURS]  # fmt: skip


def _cell(line: Line, who: str) -> str:
    parts = []
    for name in line.task.measures:
        values = line.values.get((who, name))
        if values:
            worst = f" ({max(values):.4g})" if len(values) > 1 else ""
            parts.append(f"{mean(values):.4g}{worst}")
    return " / ".join(parts) or "–"


def _said(line: Line, who: str) -> str:
    if who not in line.task.published:
        return "–"
    figures = [line.published(who, k) for k in range(len(line.task.measures))]
    return " / ".join(f"*{f:.4g}*" for f in figures if f is not None) or "–"


def _markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


# --- the picture -----------------------------------------------------------------------------------------------------


def draw(lines: Sequence[Line], path: Path) -> Path:
    """A row per task: the error of `bayes` and `auto` over the best of all others, the others as light dots."""
    import matplotlib as mpl

    from tensorfill.show.panels import BLUE, COLOURS, MISSING, ORANGE, STYLE, new_figure
    from tensorfill_benchmarks.plans import save

    shown = [line for line in lines if line.compares]
    with mpl.rc_context(STYLE):
        figure = new_figure(7.5, 1.5 + 0.22 * len(shown))
        axes = figure.subplots()
        for y, line in enumerate(shown):
            everyone = line.all()
            best = min(v for who, v in everyone.items() if who not in OURS)
            for who, value in everyone.items():
                x = min(value / best, FARTHEST)
                if who in OURS:
                    mark, colour, size = ("o", BLUE, 6.5) if who == "bayes" else ("D", ORANGE, 4.5)
                    axes.plot(x, y, mark, color=colour, ms=size, zorder=3)
                else:
                    mark = "s" if who.endswith("(published)") else "."
                    axes.plot(x, y, mark, color=COLOURS[5], alpha=0.5, ms=4 if mark == "s" else 6)
        axes.axvline(1.0, color=MISSING, linewidth=1, zorder=0)
        axes.set_xscale("log")
        ticks = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2, 1.5, 2.0, 2.5)
        axes.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axes.minorticks_off()
        axes.set_xlim(None, FARTHEST * 1.05)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_yticks(range(len(shown)), [f"{line.task.data} {line.task.case}" for line in shown], fontsize=7)
        axes.set_xlabel("error / error of the best other (grey; squares: published)")
        for who, mark, colour in (("bayes", "o", BLUE), ("auto", "D", ORANGE)):
            axes.plot([], [], mark, color=colour, label=who, ms=5)
        figure.legend(loc="outside upper right", ncols=2)
        return save(figure, path)


def csv_file(folder: str | Path) -> CellFile:
    """OUT/tables.csv."""
    return CellFile(Path(folder) / "tables.csv", COLUMNS, KEY)


def write(folder: str | Path) -> list[Path]:
    """tables.md and tables.png from tables.csv; the files that there are."""
    place = Path(folder)
    lines = arrange(csv_file(place).rows())
    if not lines:
        return []
    written = [csv_file(place).path, place / "tables.md"]
    write_text(written[1], markdown(lines))
    if any(line.compares for line in lines):
        written.append(draw(lines, place / "tables.png"))
    return written
