"""What the paper leaves open in Algorithm 3, varied one thing at a time: start, alpha, rho, epsilon, order, length.

A run is scored at many iterations, so its length costs nothing extra. OUT/sptc_study.csv has a row for each of them;
OUT/sptc_study.md has a line per variant: PSNR at the end, and the mean distance to print after so many iterations.
Nothing in a run sees the truth: it is scored by a callback that the solver knows nothing of.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.methods.classical.modes import long_modes
from tensorfill.methods.sptc import SWEEPS, paper_problem
from tensorfill.models.cp import CP
from tensorfill.numerical.base import PRIORS
from tensorfill.registry import did_you_mean
from tensorfill.result.record import Status
from tensorfill.solvers.fit import solve
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.stepsize import SHARE
from tensorfill_benchmarks import paper
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Row, Watcher, run_cells, write_text
from tensorfill_benchmarks.metrics import psnr
from tensorfill_benchmarks.pictures import Picture, choose
from tensorfill_benchmarks.sptc_steps import Steps
from tensorfill_benchmarks.table1 import check_numbers, remember

if TYPE_CHECKING:
    from tensorfill.result.record import History
    from tensorfill.solvers.base import State

Array = NDArray[Any]

COLUMNS = (
    *("factor", "level", "image", "missing_percent", "seed", "budget"),
    *("iteration", "psnr", "objective", "alpha", "seconds", "paper_psnr"),
)
KEY = COLUMNS[:6]
RANK = 300
SHOWN = (500, 1000, 2000, 4000, 10_000, 20_000)  # iterations of the table
MARKS = frozenset({*SHOWN, *(round(100 * 1.25**k) for k in range(30))})  # and those of the CSV


USUAL = Steps()


@dataclass(frozen=True)
class Variant:
    """Algorithm 3 with one thing changed.

    Attributes
    ----------
    draw : how an entry of the start is drawn, "absolute normal" or "uniform" between 0 and 1
    scale : factors of the start of rows, columns and channels
    rho : weight of quadratic variation along the long modes; 5 and 20 are Eq. 15 with its 1/2 read otherwise
    """

    factor: str = "none"
    level: str = "absolute normal start"
    draw: str = "absolute normal"
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    rho: float = 10.0
    steps: Steps = USUAL

    def start(self, shape: Sequence[int], seed: int) -> list[Array]:
        """The first factors [(I_n, R)]."""
        rng = np.random.default_rng(seed)
        sizes = self.scale if len(shape) == 3 else (1.0,) * len(shape)
        draw = rng.random if self.draw == "uniform" else lambda size: np.abs(rng.standard_normal(size))
        return [size * draw((length, RANK)) for length, size in zip(shape, sizes, strict=True)]


VARIANTS = (
    Variant(),
    Variant("epsilon", "added to B, as printed", steps=Steps(in_b=True)),
    Variant("epsilon", "added to B; uniform start", draw="uniform", steps=Steps(in_b=True)),
    Variant("start", "uniform", draw="uniform"),
    Variant("start", "x 0.5", scale=(0.5, 0.5, 0.5)),
    Variant("start", "x 0.3, 0.3, 10", scale=(0.3, 0.3, 10.0)),
    Variant("alpha", "fixed, no rise taken back", steps=Steps(rule="fixed")),
    Variant("alpha", "a ninth more", steps=Steps(share=1 / SHARE)),
    Variant("alpha", "half of it", steps=Steps(share=0.5)),
    Variant("alpha", "grown, every rise taken back", steps=Steps(rule="grown")),
    Variant("alpha", "grown, one for each mode", steps=Steps(rule="each")),
    Variant("rho", "1", rho=1.0),
    Variant("rho", "5", rho=5.0),
    Variant("rho", "20", rho=20.0),
    Variant("order", "channels first", steps=Steps(modes=(2, 1, 0))),
    Variant("order", "all at once", steps=Steps(order="together")),
)
FACTORS = tuple(dict.fromkeys(v.factor for v in VARIANTS))


def csv_file(folder: str | Path) -> CellFile:
    """OUT/sptc_study.csv."""
    return CellFile(Path(folder) / "sptc_study.csv", COLUMNS, KEY)


def run(
    images: str | Path,
    out: str | Path,
    names: Sequence[str] | None = ("house", "tree"),
    rates: Sequence[float] = (60, 80, 95),
    seeds: Sequence[int] = (0, 1),
    only: Sequence[str] | None = None,
    progress: Watcher | None = None,
    *,
    iterations: int = SWEEPS,
    again: bool = False,
) -> Report:
    """Run what OUT/sptc_study.csv does not have, then write sptc_study.md.

    Parameters
    ----------
    only : some of FACTORS; None for all. The unchanged one always runs
    """
    check_numbers(rates, seeds)
    for name in only or ():
        if name not in FACTORS:
            msg = f"--only must be among {', '.join(FACTORS)}; got {name!r}.{did_you_mean(name, list(FACTORS))}"
            raise ValueError(msg)
    pictures = choose(images, names)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    remember(folder, pictures)
    file, budget = csv_file(folder), f"{iterations} iterations"
    cells = [
        Cell(
            file,
            (v.factor, v.level, picture.name, f"{rate:g}", str(seed), budget),
            f"{v.factor}: {v.level} · {picture.name} {rate:g} % · seed {seed}",
            partial(_rows, v, picture, rate, seed, iterations),
            size=float(picture.truth.size),
        )
        for seed in seeds
        for v in VARIANTS
        if only is None or v.factor in (*only, "none")
        for rate in rates
        for picture in pictures
    ]
    try:
        return run_cells(cells, progress, again=again)
    finally:
        write_text(folder / "sptc_study.md", markdown(file.rows()))


class Scores:
    """A callback that scores the model at some iterations, with its clock stopped."""

    def __init__(self, truth: Array, mask: NDArray[np.bool_], last: int) -> None:
        self.truth, self.mask, self.last = truth, mask, last
        self.points: list[tuple[int, float, float, float, float]] = []  # iteration, PSNR, objective, alpha, seconds
        self.spent, self._since = 0.0, time.perf_counter()

    def __call__(self, state: State, history: History) -> bool:
        self.spent += time.perf_counter() - self._since
        k = history.rows[-1].iteration
        if k in MARKS or k == self.last:
            score = psnr(CP(state.factors).full(), self.truth, self.mask)
            self.points.append((k, score, state.value, float(state.numbers["alpha"]), self.spent))
        self._since = time.perf_counter()
        return False


def _rows(v: Variant, picture: Picture, rate: float, seed: int, iterations: int) -> list[dict[str, Any]]:
    mask = picture.mask(rate, seed)
    obs = Observations.from_dense(picture.incomplete(mask), mask=mask)
    rho = dict.fromkeys(long_modes(obs.shape), v.rho)
    problem = paper_problem(obs, rho, RANK, PRIORS.make("poisson"))
    scores = Scores(picture.truth, mask, iterations)
    stopping = Stopping(max_iter=iterations, tol=0.0)
    start = v.start(obs.shape, seed)
    done = solve(problem, v.steps, init=start, stopping=stopping, seed=seed, callback=scores)
    if done.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    words = (v.factor, v.level, picture.name, f"{rate:g}", seed, f"{iterations} iterations")
    printed = paper.printed("sptc", picture.name, rate)
    points = scores.points or [
        (done.iterations, psnr(done.estimate, picture.truth, mask), np.nan, np.nan, scores.spent)
    ]
    return [
        dict(zip(COLUMNS, (*words, k, f"{p:.4f}", f, a, f"{s:.2f}", printed), strict=True)) for k, p, f, a, s in points
    ]


def summary(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """(head, rows): a line per variant, PSNR at the end for each picture and rate, then the distance to print."""
    places = sorted({(r["image"], float(r["missing_percent"])) for r in rows})
    marks = [k for k in SHOWN if any(int(r["iteration"]) == k for r in rows)]
    head = ["varied", "to", *(f"{image} {rate:g} %" for image, rate in places)]
    head += [f"from print, {k}" for k in marks]
    lines = []
    for v in VARIANTS:
        own = [r for r in rows if (r["factor"], r["level"]) == (v.factor, v.level)]
        if own:
            cells = [_end(own, image, rate) for image, rate in places]
            gaps = [_distance(own, k, len(places)) for k in marks]
            lines.append([v.factor, v.level, *cells, *gaps])
    printed = [paper.printed("sptc", image, rate) for image, rate in places]
    if any(printed):
        blank = [""] * len(marks)
        lines.append(["print", "", *("–" if p is None else f"{p:.2f}" for p in printed), *blank])
    return head, lines


def _end(rows: Sequence[Row], image: str, rate: float) -> str:
    """PSNR after the last iteration, the mean over seeds."""
    own = [r for r in rows if (r["image"], float(r["missing_percent"])) == (image, rate)]
    last = {r["seed"]: float(r["psnr"]) for r in sorted(own, key=lambda r: int(r["iteration"]))}
    return f"{mean(last.values()):.2f}" if last else "–"


def _distance(rows: Sequence[Row], iteration: int, places: int) -> str:
    """Mean distance to print after so many iterations; only where every picture and rate has got there."""
    own = [r for r in rows if int(r["iteration"]) == iteration and r["paper_psnr"]]
    if len({(r["image"], r["missing_percent"]) for r in own}) < places:
        return "–"
    return f"{mean(abs(float(r['psnr']) - float(r['paper_psnr'])) for r in own):.2f}"


def markdown(rows: Sequence[Row]) -> str:
    """The table in Markdown."""
    head, lines = summary(rows)
    body = "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines])
    return (
        f"## Algorithm 3, one thing changed at a time\n\nPSNR in dB; distances are means of absolute ones.\n\n{body}\n"
    )
