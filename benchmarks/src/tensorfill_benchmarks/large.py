"""Large pictures: how long 12 megapixels take, and whether windows cost quality beside a fit of the whole.

The large picture is a mosaic of the pictures of a folder, each enlarged to a cell of its own content.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.api import complete
from tensorfill.data.facts import compute_facts
from tensorfill.data.observations import Observations
from tensorfill.io.observe import observe
from tensorfill.methods.base import Run
from tensorfill.methods.defaults import prior_for
from tensorfill.methods.image.complete import complete_field
from tensorfill.methods.image.field import Field
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Row, Watcher, run_cells
from tensorfill_benchmarks.metrics import psnr
from tensorfill_benchmarks.pictures import choose

Array = NDArray[Any]
Mask = NDArray[np.bool_]

COLUMNS = ("picture", "missing", "how", "psnr", "told", "error", "seconds", "wall")
KEY = COLUMNS[:3]
CELL = 1000  # pixels of a picture in the mosaic
PART = 1024  # side of the part that is also completed as a whole
SCRATCHED, SCATTERED = "1 % scratches", "80 % at random"


def csv_file(out: str | Path) -> CellFile:
    """OUT/large.csv."""
    return CellFile(Path(out) / "large.csv", COLUMNS, KEY)


def mosaic(pictures: Sequence[Array], rows: int = 3, columns: int = 4) -> NDArray[np.uint8]:
    """The middle square of each picture, enlarged, in rows x columns cells: taken in turn where there are fewer."""
    from PIL import Image

    out = np.zeros((rows * CELL, columns * CELL, 3), dtype=np.uint8)
    for k in range(rows * columns):
        image = Image.fromarray(pictures[k % len(pictures)]).convert("RGB")
        side = min(image.size)
        left, top = (image.width - side) // 2, (image.height - side) // 2
        image = image.crop((left, top, left + side, top + side)).resize((CELL, CELL), Image.Resampling.LANCZOS)
        y, x = divmod(k, columns)
        out[y * CELL : (y + 1) * CELL, x * CELL : (x + 1) * CELL] = np.asarray(image)
    return out


def scratches(H: int, W: int, share: float, rng: np.random.Generator) -> Mask:
    """True = known: bent lines of 2 to 7 pixels, until they cover this share."""
    from PIL import Image, ImageDraw

    page = Image.new("L", (W, H))
    draw = ImageDraw.Draw(page)
    t = np.linspace(0, 1, 30)
    while np.asarray(page).mean() / 255 < share:
        x, y = rng.random(2) * (W, H)
        angle, length = np.pi * rng.random(), rng.uniform(0.1, 0.6) * W
        line = zip(x + length * t * np.cos(angle) + 40 * np.sin(6 * t), y + length * t * np.sin(angle), strict=True)
        draw.line(list(line), fill=255, width=int(rng.integers(2, 8)))
    return np.asarray(page) == 0


def mask_of(missing: str, shape: tuple[int, ...]) -> Mask:
    """True = known, full shape."""
    rng = np.random.default_rng(1)
    if missing == SCRATCHED:
        return np.broadcast_to(scratches(shape[0], shape[1], 0.01, rng)[..., None], shape)
    return rng.random(shape) >= 0.8


def run(
    images: str | Path,
    out: str | Path,
    names: Sequence[str] | None = None,
    progress: Watcher | None = None,
    *,
    again: bool = False,
) -> Report:
    """Run what OUT/large.csv does not have."""
    file = csv_file(out)
    whole = mosaic([p.truth for p in choose(images, names)])
    at = slice(CELL // 2, CELL // 2 + PART)
    cells = []
    for name, truth in ((f"{PART} x {PART}", whole[at, at]), ("{} x {}".format(*whole.shape[:2]), whole)):
        for missing in (SCRATCHED, SCATTERED):
            for how in ("windows", "whole") if truth is not whole and missing == SCATTERED else ("windows",):
                work = partial(_rows, name, truth, missing, how)
                label = f"{name}, {missing}, {how}"
                cells.append(Cell(file, (name, missing, how), label, work, group=missing, size=float(truth.size)))
    return run_cells(cells, progress, again=again)


def _rows(name: str, truth: Array, missing: str, how: str) -> list[dict[str, Any]]:
    known = mask_of(missing, truth.shape)
    obs = observe(np.where(known, truth, 0).astype(truth.dtype), mask=known)
    began, wall = time.process_time(), time.perf_counter()
    done = _as_a_whole(obs) if how == "whole" else complete(obs)
    X = np.asarray(done.full)
    seconds, wall = time.process_time() - began, time.perf_counter() - wall
    if done.status is Status.INTERRUPTED:  # a picture half done is no figure
        raise KeyboardInterrupt
    error = float(np.sqrt(np.mean((X[~known] - truth[~known]) ** 2)))
    figures = (f"{psnr(X, truth, known):.3f}", f"{done.error:.3f}", f"{error:.3f}", f"{seconds:.1f}", f"{wall:.1f}")
    return [dict(zip(COLUMNS, (name, missing, how, *figures), strict=True))]


def _as_a_whole(obs: Observations) -> Completion:
    """As a smaller picture would be completed."""
    field = Field().whole(compute_facts(obs))
    return complete_field(obs, field.recipe(obs, prior_for(obs, None)), Run(), "auto")


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """(head, a line for each run)."""
    head = ["picture", "missing", "how", "PSNR, dB", "error told", "error", "processor, s", "wall, s"]
    return head, [[r[c] for c in COLUMNS] for r in rows]
