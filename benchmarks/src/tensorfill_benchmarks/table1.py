"""Table 1 of the paper: methods x pictures x missing rates x seeds, next to the printed numbers.

OUT/table1.csv comes first, a row per cell as soon as it is finished; table1.md and table1.html are made from it.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.api import complete
from tensorfill.io.files import FileError
from tensorfill.methods import METHODS
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill_benchmarks import paper
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Watcher, log, run_cells, write_text
from tensorfill_benchmarks.metrics import peak_of, psnr, ssim
from tensorfill_benchmarks.pictures import Picture, choose

Array = NDArray[Any]

COLUMNS = ("method", "image", "missing_percent", "seed", "psnr", "ssim", "seconds", "paper_psnr")
KEY = COLUMNS[:4]
SIDE = 64  # of the picture that warms up compiled code

_warm: set[tuple[Any, ...]] = set()  # what has run in this process already


def default_methods() -> list[str]:
    """Ours, then the paper's ten."""
    return ["auto", "sptc", *(m for m in paper.METHODS if m != "sptc")]


def columns(methods: Sequence[str] | None) -> list[str]:
    """Names of the columns, checked; None for the paper's ten, the steps of its authors' program, and ours."""
    if methods is None:
        return [*default_methods(), paper.AUTHORS]
    return [m if m == paper.AUTHORS else METHODS[m].name for m in methods]


def run(
    images: str | Path,
    names: Sequence[str] | None = None,
    rates: Sequence[float] = paper.RATES,
    methods: Sequence[str] | None = None,
    seeds: Sequence[int] = (0,),
    out: str | Path = "out/table1",
    progress: Watcher | None = None,
    *,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    observed: str | Path | None = None,
    again: bool = False,
) -> Report:
    """Run the cells that OUT/table1.csv does not have, then write table1.md and table1.html.

    Parameters
    ----------
    images : folder of pictures
    names : which of them; None for all
    rates : missing, in percent
    methods : names, and "sptc-together" for the authors' steps; None for the paper's ten, these, and ours
    progress : called with a Progress before every cell and at the end
    settings : {method: settings passed to `complete`}, for experiments
    observed : folder of incomplete pictures, house60.tiff with 255 for what is missing, instead of drawn masks
    again : run also the cells that are finished
    """
    chosen = columns(methods)
    check_numbers(rates, seeds)
    pictures = choose(images, names, observed)
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    remember(folder, pictures)
    file = csv_file(folder)
    cells = [
        Cell(
            file,
            (method, picture.name, f"{rate:g}", str(seed)),
            f"{method} · {picture.name} {rate:g} %" + (f" · seed {seed}" if len(seeds) > 1 else ""),
            partial(cell_rows, picture, method, rate, seed, (settings or {}).get(method, {}), file.path),
            group=method,
            size=float(picture.truth.size),
        )
        for seed in seeds  # a whole table for the first seed, then the next
        for method in chosen
        for rate in rates
        for picture in pictures
    ]
    try:
        return run_cells(cells, progress, again=again)
    finally:
        write_tables(folder)


def csv_file(folder: str | Path) -> CellFile:
    """OUT/table1.csv."""
    return CellFile(Path(folder) / "table1.csv", COLUMNS, KEY)


def check_numbers(rates: Sequence[float], seeds: Sequence[int]) -> None:
    """Refuse what is no percentage, and what is no seed."""
    for seed in seeds:
        if seed < 0:
            msg = f"seeds must be whole numbers >= 0; got {seed}."
            raise ValueError(msg)
    for rate in rates:
        if not 1 <= rate < 100:
            msg = f"rates must be percentages from 1 up to, but not including, 100; got {rate:g}. For 60 % write 60."
            raise ValueError(msg)


def cell_rows(
    picture: Picture, method: str, rate: float, seed: int, settings: Mapping[str, Any], path: Path
) -> list[dict[str, Any]]:
    """The row of one cell."""
    filled = fill(picture, method, rate, seed, **settings)
    if not filled.done.status.ok:
        log(path, f"note, {method} · {picture.name} {rate:g} % · seed {seed}: {filled.done.status.sentence}")
    return [
        {
            "method": method,
            "image": picture.name,
            "missing_percent": f"{rate:g}",
            "seed": seed,
            "psnr": f"{filled.psnr:.4f}",
            "ssim": f"{filled.ssim:.4f}",
            "seconds": f"{filled.seconds:.3f}",
            "paper_psnr": paper.beside(method, picture.name, rate),
        }
    ]


@dataclass(frozen=True, eq=False)
class Filled:
    """A completed picture, scored."""

    done: Completion
    psnr: float
    ssim: float
    seconds: float


def fill(picture: Picture, method: str, rate: float, seed: int, **settings: Any) -> Filled:
    """Complete a picture with `rate` percent of its voxels missing; compilation is not on the clock."""
    if method == paper.AUTHORS:
        method, settings = "sptc", {**paper.AUTHORS_SETTINGS, **settings}
    mask = picture.mask(rate, seed)
    T = picture.incomplete(mask)
    warm_up(T, method, settings)
    start = time.perf_counter()
    done = complete(T, mask=mask, method=method, seed=seed, **settings)
    estimate = done.estimate
    seconds = time.perf_counter() - start
    if done.status is Status.INTERRUPTED:  # the loop keeps the best model so far; half a run is no result here
        raise KeyboardInterrupt
    truth = picture.truth
    return Filled(done, psnr(estimate, truth, mask), ssim(estimate, truth, mask), seconds)


def warm_up(T: Array, method: str, settings: Mapping[str, Any]) -> None:
    """Two iterations on a small ramp, once per process, method and kind of picture: compiles what is compiled."""
    kind = (method, T.ndim, T.dtype.str, *sorted(settings))
    if kind in _warm:
        return
    _warm.add(kind)
    shape = (min(SIDE, T.shape[0]), min(SIDE, T.shape[1]), *T.shape[2:])
    ramp = np.indices(shape).sum(axis=0).astype(T.dtype)  # smooth, as pictures are
    mask = np.random.default_rng(0).random(shape) < 0.5
    short = {k: v for k, v in settings.items() if k not in ("max_iter", "seconds", "callback")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with suppress(Exception):  # where it cannot work, the cell itself will say so
            _ = complete(ramp, mask=mask, method=method, seed=0, max_iter=2, seconds=20.0, **short).estimate


def remember(folder: Path, pictures: Sequence[Picture]) -> None:
    """Keep the fingerprints of the pictures beside the CSV, and refuse another picture under a name it has."""
    path = folder / "pictures.json"
    known: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for picture in pictures:
        scale = 255 / peak_of(picture.truth)
        mean_square = float(np.mean((scale * picture.truth.astype(np.float64)) ** 2))
        now = {"fingerprint": picture.fingerprint, "as_in_paper": paper.is_the_picture(picture.name, mean_square)}
        before = known.setdefault(picture.name, now)
        if before["fingerprint"] != now["fingerprint"]:
            msg = f"{folder} has results for another picture named {picture.name!r}, or for gaps of another kind."
            msg += " Use another folder for --out."
            raise FileError(msg)
    write_text(path, json.dumps(known, indent=1))


def others(folder: Path) -> list[str]:
    """Names that are in the paper but whose pictures here are not the paper's."""
    path = folder / "pictures.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return sorted(name for name, entry in known.items() if not entry["as_in_paper"])


def write_tables(folder: str | Path) -> None:
    """table1.md and table1.html from table1.csv."""
    from tensorfill_benchmarks import layout

    place = Path(folder)
    rows = csv_file(place).rows()
    if not rows:
        return
    table = layout.arrange(rows, others(place))
    write_text(place / "table1.md", layout.markdown(table))
    write_text(place / "table1.html", layout.html(table))
