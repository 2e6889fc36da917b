"""Table 1 in the layout of the paper: rows rate x picture and their average, a column per method.

In every cell stands our PSNR, the mean over seeds, then the printed one and the difference. The best of a row is bold,
the second underlined, as in the paper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from statistics import mean

from tensorfill_benchmarks import paper, style

Row = Mapping[str, str]

MEANING = (
    "PSNR in dB: ours, the mean over seeds, then what the paper prints and the difference. "
    "The best of each row is bold, the second is underlined."
)
BELOW = "▽"
BESIDE = "auto and auto-best are not in the paper; beside them stands its own method, SPTC."


@dataclass(frozen=True)
class Entry:
    """One cell of the table."""

    psnr: float
    ssim: float
    seconds: float
    seeds: Mapping[str, float]  # seed -> PSNR
    printed: float | None
    note: int | None = None  # number of the footnote about the printed value
    place: int = 0  # 1 = best of its row, 2 = second
    below: tuple[str, ...] = ()  # of ours: the columns, as run here or as printed, that are better

    @property
    def difference(self) -> float | None:
        return None if self.printed is None else self.psnr - self.printed


@dataclass(frozen=True)
class Line:
    """One row of the table; the average of its rate has the picture None."""

    rate: str
    image: str | None
    entries: Mapping[str, Entry]

    @property
    def title(self) -> str:
        return "Average" if self.image is None else self.image.capitalize()


@dataclass(frozen=True)
class Table:
    """The whole of it."""

    methods: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    remarks: tuple[str, ...]
    seeds: tuple[str, ...]


def title(method: str) -> str:
    """How the paper writes the name."""
    return "SPTC, authors' steps" if method == paper.AUTHORS else paper.TITLES.get(method, method)


def column_order(method: str) -> tuple[int, str]:
    """The paper's columns in its order, then others, then ours."""
    if method == paper.AUTHORS:
        return paper.METHODS.index("sptc"), method
    if method in paper.METHODS:
        return paper.METHODS.index(method), method
    return (200 + paper.OURS.index(method) if method in paper.OURS else 100), method


def arrange(rows: Sequence[Row], not_in_paper: Sequence[str] = ()) -> Table:
    """The table of all rows of table1.csv; `not_in_paper`: pictures with a name of the paper that are not its own."""
    methods = tuple(sorted({r["method"] for r in rows}, key=column_order))
    images = sorted({r["image"] for r in rows})
    notes: list[str] = []
    lines = []
    for rate in sorted({r["missing_percent"] for r in rows}, key=float):
        group = []
        for image in images:
            here = [r for r in rows if (r["missing_percent"], r["image"]) == (rate, image)]
            if here:
                entries = _marked(_entries(here, methods, notes), image, float(rate))
                group.append(Line(rate, image, _placed(entries)))
        lines += [*group, Line(rate, None, _placed(_averages(group, methods)))]
    ours = [m for m in paper.OURS if m in methods]
    remarks = [BESIDE, *(_shortfalls(m, lines) for m in ours)] if ours else []
    if not_in_paper:
        remarks.append(
            f"Not the paper's pictures, in spite of their names: {', '.join(not_in_paper)}; the numbers printed in the "
            "paper are for others."
        )
    seeds = tuple(sorted({r["seed"] for r in rows}, key=lambda s: (len(s), s)))
    return Table(methods, tuple(lines), tuple(notes), tuple(remarks), seeds)


def _entries(rows: Sequence[Row], methods: Sequence[str], notes: list[str]) -> dict[str, Entry]:
    """The cells of one picture at one rate; new footnotes are added to `notes`."""
    out = {}
    for method in methods:
        own = [r for r in rows if r["method"] == method]
        if not own:
            continue
        image, rate = own[0]["image"], float(own[0]["missing_percent"])
        why = paper.doubt(method, image, rate)
        if why and why not in notes:
            notes.append(why)
        out[method] = Entry(
            psnr=mean(float(r["psnr"]) for r in own),
            ssim=mean(float(r["ssim"]) for r in own),
            seconds=mean(float(r["seconds"]) for r in own),
            seeds={r["seed"]: float(r["psnr"]) for r in own},
            printed=paper.beside(method, image, rate),
            note=notes.index(why) + 1 if why else None,
        )
    return out


def _marked(entries: dict[str, Entry], image: str, rate: float) -> dict[str, Entry]:
    """The same, with every better column noted at `auto` and `auto-best`."""
    here = {f"{title(m)} here": e.psnr for m, e in entries.items() if m not in paper.OURS}
    known = {f"{title(m)} as printed": paper.printed(m, image, rate) for m in paper.METHODS}
    other = {**here, **{name: value for name, value in known.items() if value is not None}}
    return {
        m: replace(e, below=tuple(name for name, value in other.items() if value > e.psnr)) if m in paper.OURS else e
        for m, e in entries.items()
    }


def _shortfalls(method: str, lines: Sequence[Line]) -> str:
    """In how many cells a method of ours is below another column, and which."""
    cells = [(line, line.entries[method]) for line in lines if line.image is not None and method in line.entries]
    worse = [f"{line.image} {line.rate} % ({', '.join(e.below)})" for line, e in cells if e.below]
    return f"{method} is below another column, marked {BELOW}, in {len(worse)} of {len(cells)} cells" + (
        f": {'; '.join(worse)}." if worse else "."
    )


def _averages(group: Sequence[Line], methods: Sequence[str]) -> dict[str, Entry]:
    """Means over the pictures of a rate, for the methods that have run on all of them."""
    out = {}
    for method in methods:
        entries = [line.entries[method] for line in group if method in line.entries]
        if len(entries) < len(group):
            continue
        printed = [e.printed for e in entries if e.printed is not None]
        doubted = [e.note for e in entries if e.note]
        out[method] = Entry(
            psnr=mean(e.psnr for e in entries),
            ssim=mean(e.ssim for e in entries),
            seconds=mean(e.seconds for e in entries),
            seeds={},
            printed=mean(printed) if len(printed) == len(entries) else None,
            note=doubted[0] if doubted else None,
        )
    return out


def _placed(entries: dict[str, Entry]) -> dict[str, Entry]:
    """The same, with the best two marked."""
    order = sorted(entries, key=lambda m: -entries[m].psnr)
    return {m: replace(e, place=order.index(m) + 1 if order.index(m) < 2 else 0) for m, e in entries.items()}


def averages(table: Table) -> tuple[list[str], list[list[str]]]:
    """(head, rows) of the averages alone, ours with the paper's in brackets, for a terminal."""
    rows = []
    for line in table.lines:
        if line.image is None:
            cells = []
            for method in table.methods:
                e = line.entries.get(method)
                beside = "" if e is None or e.printed is None else f" ({e.printed:.2f})"
                cells.append("–" if e is None else f"{e.psnr:.2f}{beside}")
            rows.append([f"{line.rate} %", *cells])
    return ["missing", *map(title, table.methods)], rows


# --- Markdown ---------------------------------------------------------------------------------------------------------


def markdown(table: Table) -> str:
    """The table in Markdown; a difference is an arrow and a number, as there are no colours."""
    titles = list(map(title, table.methods))
    rows = [
        [f"{line.rate} %", line.title if line.image else f"**{line.title}**"]
        + [_md_cell(line.entries.get(m)) for m in table.methods]
        for line in table.lines
    ]
    asides = [
        [f"{line.rate} %", *(_aside(line.entries.get(m)) for m in table.methods)]
        for line in table.lines
        if line.image is None
    ]
    notes = [f"{k}. {note}" for k, note in enumerate(table.notes, 1)]
    parts = ["# Table 1", MEANING, style.markdown(["missing", "picture", *titles], rows)]
    parts += ["## Averages: SSIM, seconds", style.markdown(["missing", *titles], asides)]
    return "\n\n".join(parts) + "\n\n" + "\n".join([_seeds(table), *table.remarks, "", *notes]).rstrip() + "\n"


def _md_cell(entry: Entry | None) -> str:
    if entry is None:
        return "–"
    ours = f"{entry.psnr:.2f}"
    ours = {1: f"**{ours}**", 2: f"<u>{ours}</u>"}.get(entry.place, ours) + BELOW * bool(entry.below)
    if entry.printed is None or entry.difference is None:
        return ours
    mark = f"<sup>{entry.note}</sup>" if entry.note else ""
    return f"{ours} ({entry.printed:.2f}{mark}, {'▲' if entry.difference >= 0 else '▼'}{abs(entry.difference):.2f})"


def _aside(entry: Entry | None) -> str:
    return "–" if entry is None else f"{entry.ssim:.3f}, {entry.seconds:.3g} s"


def _seeds(table: Table) -> str:
    return f"Seed{'s' if len(table.seeds) > 1 else ''} {', '.join(table.seeds)}."


# --- HTML -------------------------------------------------------------------------------------------------------------


def html(table: Table) -> str:
    """A page of its own, in light and dark."""
    return style.page("Table 1: ours and the paper's", fragment(table))


def fragment(table: Table) -> str:
    """The table and what is said about it, as a part of a page."""
    heads = "".join(f"<th scope=col>{escape(title(m))}</th>" for m in table.methods)
    body = []
    for k, line in enumerate(table.lines):
        first = k == 0 or table.lines[k - 1].rate != line.rate
        rows = sum(other.rate == line.rate for other in table.lines)
        rate = f'<th scope=rowgroup rowspan={rows} class="rate">{line.rate} %</th>' if first else ""
        cells = "".join(_td(line.entries.get(m)) for m in table.methods)
        kind = ' class="average"' if line.image is None else ' class="first"' if first else ""
        body.append(f"<tr{kind}>{rate}<th scope=row>{escape(line.title)}</th>{cells}</tr>")
    aside = [
        f'<tr><th scope=row class="rate">{line.rate} %</th>'
        + "".join(f"<td>{_aside(line.entries.get(m))}</td>" for m in table.methods)
        + "</tr>"
        for line in table.lines
        if line.image is None
    ]
    notes = "".join(f"<li id=note{k}>{escape(note)}</li>" for k, note in enumerate(table.notes, 1))
    about = " ".join(map(escape, (_seeds(table), *table.remarks)))
    doubtful = f"<h3>Doubtful figures in the paper</h3><ol>{notes}</ol>" if notes else ""
    return "\n".join(
        [
            f"<p>{escape(MEANING)}</p>\n<p>{about}</p>",
            f'<div class="wide"><table>\n<thead><tr><th></th><th></th>{heads}</tr></thead>\n<tbody>',
            *body,
            f"</tbody></table></div>\n{doubtful}\n<h3>Averages: SSIM, seconds</h3>",
            f'<div class="wide"><table>\n<thead><tr><th></th>{heads}</tr></thead>\n<tbody>',
            *aside,
            "</tbody></table></div>",
        ]
    )


def _td(entry: Entry | None) -> str:
    if entry is None:
        return '<td class="none">–</td>'
    ours = f"{entry.psnr:.2f}"
    ours = {1: f"<b>{ours}</b>", 2: f"<u>{ours}</u>"}.get(entry.place, ours) + BELOW * bool(entry.below)
    seeds = ", ".join(f"seed {s}: {v:.2f}" for s, v in entry.seeds.items())
    tip = f"{seeds + '; ' if seeds else ''}SSIM {entry.ssim:.3f}, {entry.seconds:.3g} s"
    if entry.below:
        tip += escape(f"; below {', '.join(entry.below)}")
    if entry.printed is None or entry.difference is None:
        return f'<td title="{tip}">{ours}</td>'
    way = "up" if entry.difference >= 0 else "down"
    strength = round(10 + 30 * min(1.0, abs(entry.difference) / 3))  # full colour from 3 dB on
    mark = f'<sup><a href="#note{entry.note}">{entry.note}</a></sup>' if entry.note else ""
    return (
        f'<td class="{way}" style="--s:{strength}%" title="{tip}">{ours}'
        f"<small>{entry.printed:.2f}{mark} <i>{entry.difference:+.2f}</i></small></td>"
    )
