"""Tables of what was measured in README.md and docs/*.md, between `<!-- measured: X -->` and `<!-- end -->`, made from
docs/results/*.csv.

Run:  python docs/measured.py      (rewrites them; a test fails while they are out of date)

The files are those that `tensorfill bench table1`, `cubes` and `choose` write: copy one into a folder, give that
folder as `-o`, and the command goes on from it.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, median

from tensorfill_benchmarks import choose_lines, choose_report, cubes, layout, paper, style, whole_page
from tensorfill_benchmarks.choose_data import REPORTED
from tensorfill_benchmarks.choose_others import OTHERS

DOCS = Path(__file__).resolve().parent
BLOCK = re.compile(r"(<!-- measured: ([\w -]+) -->\n).*?(<!-- end -->)", re.DOTALL)
Line = Sequence[str]


def rows(name: str) -> list[dict[str, str]]:
    """The rows of docs/results/name.csv."""
    with open(DOCS / "results" / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def by_cell(method: str, file: str) -> dict[tuple[str, int], list[float]]:
    """{(picture, rate): PSNR of each seed}."""
    found: dict[tuple[str, int], list[float]] = {}
    for row in rows(file):
        if row["method"] == method:
            found.setdefault((row["image"], int(row["missing_percent"])), []).append(float(row["psnr"]))
    return found


def first_start() -> list[dict[str, str]]:
    """The rows of the authors' pictures for seed 0: the table has one start, of `sptc` there are three."""
    return [row for row in rows("observed") if row["seed"] == "0"]


def scores(method: str) -> dict[tuple[str, int], float]:
    """{(picture, rate): mean PSNR over seeds}."""
    return {place: mean(values) for place, values in by_cell(method, "table1").items()}


def figures(values: Sequence[float | None]) -> str:
    """12.34 / 12.34, or blank where nothing was measured."""
    return " / ".join("" if v is None else f"{v:.2f}" for v in values).strip(" /")


def sptc() -> list[Line]:
    """Pictures x rates, ours / printed, and the distance below each rate."""
    ours = scores("sptc")
    lines: list[Line] = [["sptc, ours / printed", *(f"{rate} %" for rate in paper.RATES)]]
    for image in paper.IMAGES:
        pairs = [(ours.get((image, rate)), paper.printed("sptc", image, rate)) for rate in paper.RATES]
        lines.append([image, *("" if own is None else figures((own, said)) for own, said in pairs)])
    gaps = {
        rate: [ours[i, r] - (paper.printed("sptc", i, r) or 0.0) for i, r in ours if r == rate] for rate in paper.RATES
    }
    lines.append(["mean difference", *(f"{mean(g):+.2f}" if g else "" for g in gaps.values())])
    lines.append(["mean distance", *(f"{mean(map(abs, g)):.2f}" if g else "" for g in gaps.values())])
    return lines


TUNED = {
    (image, rate) for image in ("house", "tree") for rate in (60, 80, 95)
}  # cells that sptc's rules were chosen on


def sptc_in_words() -> str:
    """How far sptc is from print: over all cells, without the doubtful ones, and where nothing was chosen on them."""
    gaps = {place: abs(own - (paper.printed("sptc", *place) or 0.0)) for place, own in scores("sptc").items()}
    sound = [gap for place, gap in gaps.items() if paper.doubt("sptc", *place) is None]
    fresh = [gap for place, gap in gaps.items() if place not in TUNED]
    near = sum(gap <= 0.3 for gap in gaps.values())
    return (
        f"Mean distance to print: {mean(gaps.values()):.2f} dB over the {len(gaps)} cells measured, "
        f"{mean(sound):.2f} dB over the {len(sound)}\n"
        f"whose printed figure is not doubtful, {mean(fresh):.2f} dB over the {len(fresh)} that nothing was chosen on; "
        f"{near} of {len(gaps)} are within 0.3 dB.\n"
    )


def ours() -> list[Line]:
    """Pictures x rates, auto; below the means, what the paper prints for SPTC, and the gain over it."""
    own = scores("auto")
    lines: list[Line] = [["`auto`", *(f"{rate} %" for rate in paper.RATES)]]
    lines += [[image, *(f"{own[image, rate]:.2f}" for rate in paper.RATES)] for image in paper.IMAGES]
    means, print_, gain, worst = (["mean"], ["SPTC as printed, mean"], ["gain, mean"], ["gain, worst cell"])
    for rate in paper.RATES:
        said = {image: paper.printed("sptc", image, rate) or 0.0 for image in paper.IMAGES}
        gaps = [own[image, rate] - said[image] for image in paper.IMAGES]
        means.append(f"{mean(own[image, rate] for image in paper.IMAGES):.2f}")
        print_.append(f"{mean(said.values()):.2f}")
        gain.append(f"{mean(gaps):.2f}")
        worst.append(f"{min(gaps):.2f}")
    return [*lines, means, print_, gain, worst]


FOUR, FEW = ("house", "tree", "jellybeans", "barbara"), (60, 80, 90, 95)  # pictures and rates of the README


def few() -> list[Line]:
    """Four pictures x four rates, auto, under the mean of what the paper prints for SPTC."""
    own = scores("auto")
    said = [mean(paper.printed("sptc", image, rate) or 0.0 for image in FOUR) for rate in FEW]
    lines: list[Line] = [["missing", *(f"{rate} %" for rate in FEW)]]
    lines.append(["SPTC as printed in the paper, mean of the four", *(f"{x:.1f}" for x in said)])
    return [*lines, *([image, *(f"{own[image, rate]:.1f}" for rate in FEW)] for image in FOUR)]


def choose_in_words() -> str:
    """The errors of auto on the reported half, over those of the usual tools and of the best of all."""
    lines = [line for line in choose_lines.arrange(rows("choose")) if line.half == REPORTED]
    usual = choose_lines.geometric(line.against(OTHERS) for line in lines)
    best = choose_lines.geometric(line.ratio for line in lines)
    worst = max(lines, key=lambda line: line.ratio or 0.0)
    seeds = max(len(line.seeds) for line in lines)
    return (
        f"On the {len(lines)} cells that were not used for tuning, the error of `auto` (mean of {seeds} seeds) is on "
        f"geometric average {usual:.2f} times\nthat of the best usual tool, and {best:.2f} times that of the best of "
        f"all, its own candidates included, picked with hindsight.\nAt worst it is {worst.ratio:.2f} times, on "
        f"{worst.name}, with gaps of the kind `{worst.gaps}`.\n"
    )


def baselines() -> list[Line]:
    """Methods x rates, ours / printed, each the mean over the pictures measured; the last column says how many."""
    lines: list[Line] = [["ours / printed, mean", *(f"{rate} %" for rate in paper.RATES), "cells"]]
    for method in (m for m in paper.METHODS if m != "sptc"):
        own = scores(method)
        line = []
        for rate in paper.RATES:
            known = [image for image in paper.IMAGES if (image, rate) in own]
            said = [paper.printed(method, image, rate) or 0.0 for image in known]
            line.append(figures((mean(own[image, rate] for image in known), mean(said))) if known else "")
        lines.append([paper.TITLES[method], *line, str(len(own))])
    return lines


def observed() -> list[Line]:
    """Cell by cell on the authors' own incomplete pictures; ours are marked where any other column is better."""
    nine = [m for m in paper.METHODS if m != "sptc"]
    head = ["missing", "picture", "SPTC in print", "authors' steps here", "`sptc`", "best of the others here"]
    lines: list[Line] = [[*head, "in print", "`auto`"]]
    for line in layout.arrange(first_start()).lines:
        if line.image is None:
            continue
        place = (line.image, float(line.rate))
        own = {m: line.entries[m].psnr for m in nine if m in line.entries}
        best = max(own, key=own.__getitem__) if own else None
        said = {m: paper.printed(m, *place) or 0.0 for m in nine}
        known = max(said, key=said.__getitem__)
        doubt = " (doubtful)" if paper.doubt("sptc", *place) else ""
        entries = [line.entries.get(m) for m in (paper.AUTHORS, "sptc")]
        ours = line.entries["auto"]
        lines.append(
            [
                f"{line.rate} %",
                line.image,
                f"{paper.printed('sptc', *place):.2f}{doubt}",
                *("" if e is None else f"{e.psnr:.2f}" for e in entries),
                "" if best is None else f"{own[best]:.2f} {layout.title(best)}",
                f"{said[known]:.2f} {layout.title(known)}",
                f"{ours.psnr:.2f}{layout.BELOW * bool(ours.below)}",
            ]
        )
    return lines


def observed_in_words() -> str:
    """What the table of the authors' pictures says, over the cells that were measured."""
    table = layout.arrange(first_start())
    said = [remark for remark in table.remarks if "is below" in remark]
    sptc, steps, auto = (
        {(r["image"], int(r["missing_percent"])): float(r["psnr"]) for r in first_start() if r["method"] == method}
        for method in ("sptc", paper.AUTHORS, "auto")
    )
    for name, own in (("`sptc`", sptc), ("The authors' steps here", steps)):
        gaps = [psnr - (paper.printed("sptc", *place) or 0.0) for place, psnr in own.items()]
        if gaps:
            far = f"{mean(gaps):+.2f} dB on average, {mean(map(abs, gaps)):.2f} dB in mean distance"
            said.append(f"{name} against print: {far}, {len(gaps)} cells.")
    both = [sptc[place] - steps[place] for place in sptc.keys() & steps.keys()]
    if both:
        said.append(f"`sptc` against the authors' steps: {mean(both):+.2f} dB on average, {len(both)} cells.")
    run = {m: len(by_cell(m, "observed")) for m in paper.METHODS if m != "sptc"}
    others = ", ".join(f"{paper.TITLES[m]} ({n} cells)" for m, n in run.items() if n)
    said.append(f"Of the nine other methods measured here: {others or 'none'}.")
    gains = []
    for rate in paper.RATES:
        own = [v - (paper.printed("sptc", *place) or 0.0) for place, v in auto.items() if place[1] == rate]
        if own:
            gains.append(f"{mean(own):+.2f} at {rate} % ({len(own)})")
    said.append(f"`auto` against printed SPTC, mean in dB (cells): {', '.join(gains)}.")
    return "\n".join(f"- {one}" for one in said) + "\n"


def starts_in_words() -> str:
    """How far the worst of three starts of sptc is below their median."""
    cells = {place: values for place, values in by_cell("sptc", "observed").items() if len(values) == 3}
    short = {place: median(values) - min(values) for place, values in cells.items()}
    worst = max(short, key=short.__getitem__)
    return (
        f"On the authors' masks, three starts each, {len(cells)} of 36 cells measured: the worst start is at most "
        f"{short[worst]:.2f} dB below\nthe median ({worst[0]} {worst[1]} %).\n"
    )


def from_print() -> list[Line]:
    """How far each method of the paper is from its printed column, as on the page of `bench paper`."""
    head, body = whole_page.distances(layout.arrange(rows("table1")))
    return [head, *body]


def many_bands() -> list[Line]:
    """PSNR of every method on each of the cubes."""
    found = {(r["data"], r["missing_percent"], r["method"]): f"{float(r['psnr']):.2f}" for r in rows("cubes")}
    methods = ("auto-best", *cubes.OTHERS)
    lines: list[Line] = [["data", "missing", *methods]]
    for data, rates in cubes.RATES.items():
        for rate in rates:
            lines.append([data, f"{rate:g} %", *(found.get((data, f"{rate:g}", m), "") for m in methods)])
    return lines


def chosen(part: Callable[[Sequence[choose_lines.Line]], tuple[Line, Sequence[Line]]]) -> list[Line]:
    """A table of `bench choose`."""
    head, body = part(choose_lines.arrange(rows("choose")))
    return [head, *body]


def networks() -> list[Line]:
    """Errors where the networks of PyPOTS were run, and below them the median of the seconds."""
    who = ("auto", "saits", "brits", "iterative", "knn", "linear")
    lines = [line for line in choose_lines.arrange(rows("choose")) if {"saits", "brits"} <= set(line.errors)]
    out: list[Line] = [["set", "gaps", *who]]
    for line in lines:
        out.append([line.name, line.gaps, *(f"{line.errors[w]:.3f}" if w in line.errors else "–" for w in who)])
    ratios = [choose_lines.geometric(line.errors[w] / line.errors["auto"] for line in lines) for w in who]
    out.append(["over `auto`", "geometric mean", *(f"{r:.2f}" for r in ratios)])
    taken = [median(line.seconds[w] for line in lines if w in line.seconds) for w in who]
    out.append(["seconds", "median", *(f"{t:.1f}" if t >= 0.05 else "< 0.1" for t in taken)])
    return out


def who_else() -> list[Line]:
    """Everyone's record on the reported half, where every candidate was run alone."""
    return chosen(lambda lines: choose_report.standings([line for line in lines if line.half == REPORTED]))


WORDS: dict[str, Callable[[], str]] = {
    "choose in words": choose_in_words,
    "sptc in words": sptc_in_words,
    "observed in words": observed_in_words,
    "starts in words": starts_in_words,
}
TABLES: dict[str, Callable[[], list[Line]]] = {
    "choose": lambda: chosen(choose_report.summary),
    "choose cells": lambda: chosen(choose_report.cells),
    "choose everyone": who_else,
    "few": few,
    "sptc": sptc,
    "auto": ours,
    "baselines": baselines,
    "distances": from_print,
    "observed": observed,
    "cubes": many_bands,
    "networks": networks,
}


def table(name: str) -> str:
    """One of TABLES in Markdown, or the words beside it."""
    if name in WORDS:
        return WORDS[name]()
    head, *body = TABLES[name]()
    return style.markdown(head, body) + "\n"


def updated(text: str) -> str:
    """A page with its tables as they should be."""
    return BLOCK.sub(lambda found: f"{found[1]}\n{table(found[2])}\n{found[3]}", text)


def main() -> None:
    """Bring every page up to date."""
    for page in [DOCS.parent / "README.md", *sorted(DOCS.glob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        if updated(text) != text:
            page.write_text(updated(text), encoding="utf-8")
            print(f"updated {page.name}")


if __name__ == "__main__":
    main()
