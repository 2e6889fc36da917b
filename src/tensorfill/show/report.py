"""write_report: what happened in a run, as one HTML page that needs nothing but itself."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorfill.io.atomic import check_own_file, check_replaceable, replace_file
from tensorfill.show import html, panels, plots, summary, view
from tensorfill.show.card import png_uri
from tensorfill.show.convergence import convergence
from tensorfill.show.labels import format_labels, labels_of
from tensorfill.show.leaderboard import answered_by, leaderboard, not_tried, why

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion

Array = NDArray[Any]
Labels = Mapping[str, Sequence[Any] | Array]

# Nothing may be fetched: what the page shows is in the page.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def write_report(
    done: Completion,
    path: str | Path,
    *,
    command: str | None = None,
    truth: ArrayLike | None = None,
    title: str | None = None,
    labels: Labels | None = None,
    notes: Sequence[str] = (),
) -> None:
    """Write the page to `path`, whole or not at all.

    Parameters
    ----------
    command : the command that made it, shown on the page
    truth : the complete data where they are known, full shape: the difference is then the error
    title : of the page, e.g. the name of the file
    labels : {dimension name: labels along it}, instead of those that the data carry
    notes : sentences to show beside the result
    """
    check_replaceable(path)
    check_own_file(path, "report")
    known = None if truth is None else view.truth_of(done, truth)
    marks = labels_of(done.observations, labels)
    text = page(done, command=command, truth=known, title=title, labels=marks, notes=notes)
    with replace_file(path) as file:
        file.write(text.encode())


def page(
    done: Completion,
    *,
    command: str | None,
    truth: Array | None,
    title: str | None,
    labels: Labels,
    notes: Sequence[str] = (),
) -> str:
    """The page as text."""
    assets = files("tensorfill.show") / "assets"
    name = title or summary.heading(done)
    body = [
        _header(done, name, truth, notes),
        html.section(*before_and_after(done, truth, labels)),
        *(html.section(*part) for part in explained(done, labels)),
        html.section("How it was made", *_made(done, command)),
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(name)} · tensorfill</title>\n"
        f"<style>\n{(assets / 'report.css').read_text('utf-8')}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(body)
        + f"\n</main>\n<script>\n{(assets / 'report.js').read_text('utf-8')}</script>\n</body>\n</html>\n"
    )


def explained(done: Completion, labels: Labels) -> list[tuple[str, ...]]:
    """(heading, pieces of HTML) of each part that explains the answer."""
    parts = [
        ("Leaderboard", *(_tried(done) if done.tried else [])),
        ("About the data", *(_facts(done) if done.facts is not None else [])),
        ("How the run went", *_history(done)),
        ("Factors along each mode", *(_factors(done, labels) if done.factors is not None else [])),
        ("Least certain entries", *_widest(done, labels)),
    ]
    return [part for part in parts if len(part) > 1]


# --- parts --------------------------------------------------------------------------------------------------------


def _header(done: Completion, name: str, truth: Array | None, notes: Sequence[str]) -> str:
    chips = [
        ("data", summary.size_words(done)),
        ("known", summary.known_words(done)),
        ("method", done.method),
        *_made_of(done),
        ("time", summary.run_words(done)),
    ]
    if truth is not None:
        what, number = summary.error_against(done, truth)
        chips.insert(0, (what, f"{number:.4g}"))
    if (draws := convergence(done)) is not None and (done.bars is None or not done.tried):
        chips.append(("R-hat", f"{draws.rhat:.2f}"))
        notes = [*notes, *([draws.doubt] if draws.doubt else [])]
    items = "".join(f"<li>{escape(k)} <b>{escape(v)}</b></li>" for k, v in chips)
    kind = "status" if done.status.ok else "status notok"
    return (
        f"<header>\n<h1>{escape(name)}</h1>\n{html.p(done.status.sentence, kind)}\n{html.p(summary.quality(done))}\n"
        + "".join(html.p(f"Note: {note}") for note in notes)
        + f'<ul class="chips">{items}</ul>\n</header>'
    )


def _made_of(done: Completion) -> list[tuple[str, str]]:
    """Prior and rank of a low-rank fit; else what made the answer, but for a blend, whose parts have a table."""
    if not summary.is_fit(done):
        name = answered_by(done)
        return [("answer by", name)] if name and " + " not in name else []
    assert done.prior is not None
    cp = done.rank is not None and done.model.name == "cp"
    return [
        ("prior", done.prior.name),
        *([("rank", str(done.rank))] if cp else []),
        *([("model", summary.rank_words(done).removeprefix(", "))] if done.rank and not cp else []),
    ]


def before_and_after(done: Completion, truth: Array | None, labels: Labels) -> tuple[str, ...]:
    """(heading, pieces of HTML): before, after, and the filled entries or their error."""
    pictures = view.before_and_after(done)
    if pictures is None:
        return "Before and after", html.chart(plots.plot, done, truth=truth, labels=labels)
    before, after, sheet = pictures
    crisp = html.crisp(before)
    after_class = f'class="after{" crisp" if crisp else ""}"'
    place = f" ({sheet.title})" if sheet.title else ""
    slider = (
        f'<figure><div class="compare"><img{crisp} alt="before" src="{png_uri(before)}">'
        f'<img {after_class} alt="after" src="{png_uri(after)}">'
        '<input type="range" min="0" max="100" value="50" step="1" aria-label="Before on the left, after on the right">'
        '<div class="bar"></div><span class="tag left">before</span><span class="tag right">after</span></div>'
        f"<figcaption>Drag, or use the arrow keys{escape(place)}.</figcaption></figure>"
    )
    picture, caption = _difference(done, sheet, truth)
    word = "filled entries" if truth is None else "error"
    still = (
        f'<figure class="still"><img{crisp} alt="{word}" src="{png_uri(picture)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
    parts = [f'<div class="pair">{slider}{still}</div>']
    if view.kind(done) == "video":
        parts.append(html.chart(plots.plot, done, truth=truth, labels=labels))
    return "Before and after", *parts


def _difference(done: Completion, sheet: view.Sheet, truth: Array | None) -> tuple[NDArray[np.uint8], str]:
    """With the truth, the error of each entry; without it, the filled entries alone."""
    limits = view.value_range(done.observations)
    if truth is None:
        added = np.where(sheet.observed, limits[0], sheet.completed)
        return view.to_rgb(added, limits, np.isnan(added)), "Only what was filled in; known pixels are black."
    error = np.nan_to_num(np.abs(sheet.completed - panels.cut_of(truth, sheet, done)))
    rgb, top = html.heat(error.mean(axis=2) if error.ndim == 3 else error)
    return rgb, f"Difference to the truth: black is 0, brightest {top:.3g} or more."


def _history(done: Completion) -> list[str]:
    out = [html.chart(plots.plot_history, done)] if plots.curves(done) else []
    if (draws := convergence(done)) is not None:
        out.append(html.p(f"Draws from the posterior: {draws.words}. {draws.doubt}".strip()))
    return out


def _factors(done: Completion, labels: Labels) -> list[str]:
    text = (
        "Each component is a product of one curve per mode; they add up to the model. The strongest are shown, scaled "
        "to a largest value of 1."
        if done.model.name == "cp"
        else "Along each mode the model moves in a few directions. The strongest are shown, scaled to a largest value "
        "of 1."
    )
    return [html.p(text, "soft"), html.chart(plots.plot_factors, done, labels=labels)]


def _widest(done: Completion, labels: Labels) -> list[str]:
    found = summary.widest_intervals(done)
    if found is None:
        return []
    dims = done.observations.dims
    head = "".join(f"<th>{escape(d)}</th>" for d in dims) + "<th>filled in</th><th>interval</th>"
    rows = ""
    for where, low, high, mean in zip(*found, strict=True):
        cells = "".join(f"<td>{escape(_label(labels, d, int(i)))}</td>" for d, i in zip(dims, where, strict=True))
        rows += f'<tr>{cells}<td class="number">{mean:.4g}</td><td class="number">{low:.4g} to {high:.4g}</td></tr>'
    if done.bars is not None:
        text = f"Error bars that hold {done.bars.level:.0%} of the missing values, as measured on known ones that were "
        text += "hidden from a second run. The widest:"
    else:
        text = "Intervals of 90 % by the posterior: the uncertainty of the model and the noise of the data. The widest:"
    return [html.p(text), f'<div class="scroll"><table><tr>{head}</tr>{rows}</table></div>']


def _label(labels: Labels, dim: str, i: int) -> str:
    return format_labels(np.asarray(labels[dim]), [i])[0] if dim in labels else str(i)


def _tried(done: Completion) -> list[str]:
    """The leaderboard, and the error on entries that were not used to choose."""
    cells = [[escape(cell) for cell in row] for row in leaderboard(done)]
    rows = "".join(f"<tr><th>{name}</th>{''.join(f'<td>{c}</td>' for c in others)}</tr>" for name, *others in cells)
    head = "<tr><th>method</th><td>error on held-out entries</td><td>seconds</td><td>weight in the answer</td></tr>"
    out = [
        html.p(f"Why this answer: {reason}.") if (reason := why(done)) else "",
        html.p(
            "Every method was fitted without some of the known entries and then had to predict them. The order is by "
            "the mean of two errors: in the unit of the data, and in the standard deviation of each slice. A method "
            "that was dropped early was tested on fewer entries; beside it stands the error of the leader on these. "
            "In the end the methods in the answer were fitted to all known entries.",
            "soft",
        ),
        f'<div class="scroll"><table>{head}{rows}</table></div>',
    ]
    if left := not_tried(done):
        said = "; ".join(f"{', '.join(names)} ({reason})" for names, reason in left)
        out.append(html.p(f"Not tried: {said}.", "soft"))
    if done.by_gap:
        told = summary.gap_words(done).capitalize()
        out.append(html.p(f"{told}. Measured on entries that were not used to choose."))
    return out


def _facts(done: Completion) -> list[str]:
    """A line each."""
    return ["<ul>" + "".join(f"<li>{escape(line)}</li>" for line in str(done.facts).split("\n")) + "</ul>"]


def _made(done: Completion, command: str | None) -> list[str]:
    from importlib.metadata import version

    facts = summary.facts(done)
    prior = {} if facts["prior"] is None else {"prior": facts["prior"]}
    rows = {"method": done.method, **prior, **facts["settings"]}
    rows |= {"stopped": f"{facts['status']}, after {summary.run_words(done)}"}
    rows |= {"tensorfill": version("tensorfill"), "numpy": np.__version__}
    table = "".join(f"<tr><th>{escape(str(k))}</th><td>{escape(_setting(v))}</td></tr>" for k, v in rows.items())
    start = [f"<pre>{escape(command)}</pre>"] if command else []
    return [*start, f'<div class="scroll"><table>{table}</table></div>']


def _setting(value: Any) -> str:
    """Text as it is, numbers in four digits, for reading; `done.settings` has them in full."""
    if isinstance(value, str):
        return value
    return re.sub(r"\d+\.\d+(e[+-]?\d+)?", lambda number: f"{float(number[0]):.4g}", json.dumps(value))
