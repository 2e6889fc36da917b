"""Holes in photographs: auto beside biharmonic filling (scikit-image), Telea and Navier-Stokes (OpenCV)."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.api import complete
from tensorfill.result.record import Status
from tensorfill_benchmarks.cells import Cell, CellFile, Report, Row, Watcher, run_cells, write_text
from tensorfill_benchmarks.metrics import peak_of, ssim
from tensorfill_benchmarks.pictures import Picture, choose

Array = NDArray[Any]
Mask = NDArray[np.bool_]

COLUMNS = ("image", "gap", "method", "psnr", "ssim", "seconds")
KEY = COLUMNS[:3]
GAPS = ("scratch", "text", "hole 50", "hole 100")
SCRATCHES, WIDTH = 6, 3  # of a picture, and pixels
WORDS = "The quick brown fox jumps over the lazy dog. "
HEIGHT, LINE = 14, 32  # of letters and from line to line, pixels


def gap(kind: str, shape: Sequence[int]) -> Mask:
    """True = missing, (H, W): six scratches, lines of text, or a square in the middle."""
    H, W = shape[:2]
    out = np.zeros((H, W), dtype=bool)
    if kind == "scratch":
        y, x = np.mgrid[0:H, 0:W]
        rng = np.random.default_rng(0)
        for ends in rng.random((SCRATCHES, 2, 2)) * (H, W):
            (a, b), (dy, dx) = ends[0], ends[1] - ends[0]
            along = np.clip(((y - a) * dy + (x - b) * dx) / max(dy * dy + dx * dx, 1.0), 0, 1)
            out |= np.hypot(y - a - along * dy, x - b - along * dx) <= WIDTH / 2
    elif kind == "text":
        out = _text(H, W)
    else:
        side = min(int(kind.split()[1]), H // 2, W // 2)
        top, left = (H - side) // 2, (W - side) // 2
        out[top : top + side, left : left + side] = True
    return out


def _text(H: int, W: int) -> Mask:
    """Lines of text over the whole picture, True where there is ink."""
    import matplotlib
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.truetype(str(Path(matplotlib.get_data_path(), "fonts", "ttf", "DejaVuSans-Bold.ttf")), HEIGHT)
    page = Image.new("L", (W, H))
    draw = ImageDraw.Draw(page)
    for k, top in enumerate(range(LINE // 4, H, LINE)):
        draw.text((-HEIGHT * k, top), WORDS * (2 + W // 200), fill=255, font=font)
    return np.asarray(page) > 0


def _auto(T: Array, missing: Mask) -> Array:
    known = ~missing if T.ndim == 2 else np.broadcast_to(~missing[..., None], T.shape)
    done = complete(T, mask=known)
    if done.status is Status.INTERRUPTED:  # a picture half done is no figure
        raise KeyboardInterrupt
    return done.estimate


def _biharmonic(T: Array, missing: Mask) -> Array:
    from skimage.restoration import inpaint_biharmonic

    filled = inpaint_biharmonic(T, missing, channel_axis=-1 if T.ndim == 3 else None)
    return np.asarray(filled, dtype=np.float64) * peak_of(T)


def _opencv(flag: str, T: Array, missing: Mask) -> Array:
    import cv2

    return np.asarray(cv2.inpaint(T, missing.astype(np.uint8), 3, getattr(cv2, flag)), dtype=np.float64)


Method = Callable[[Array, Mask], Array]
# name: (what does it, the module it needs, what to install)
METHODS: dict[str, tuple[Method, str, str]] = {
    "auto": (_auto, "numpy", "numpy"),
    "biharmonic": (_biharmonic, "skimage", "scikit-image"),
    "telea": (partial(_opencv, "INPAINT_TELEA"), "cv2", "opencv-python-headless"),
    "navier-stokes": (partial(_opencv, "INPAINT_NS"), "cv2", "opencv-python-headless"),
}


def csv_file(out: str | Path) -> CellFile:
    """OUT/holes.csv."""
    return CellFile(Path(out) / "holes.csv", COLUMNS, KEY)


def run(
    images: str | Path,
    out: str | Path,
    names: Sequence[str] | None = None,
    progress: Watcher | None = None,
    *,
    crop: int | None = None,
    again: bool = False,
) -> tuple[Report, list[str]]:
    """Run what OUT/holes.csv does not have, write holes.md; also returned: a sentence for all that is left out. With
    `crop`, of the middle crop x crop pixels of each picture.
    """
    file, left_out, cells = csv_file(out), [], []
    pictures = [p if crop is None else middle(p, crop) for p in choose(images, names)]
    for method, (fill, module, package) in METHODS.items():
        if importlib.util.find_spec(module) is None:
            left_out.append(f"{method}: it needs {package}, which is not installed. pip install {package}")
            continue
        for picture in pictures:
            for kind in GAPS:
                work = partial(_rows, method, fill, picture, kind)
                label = f"{method} · {picture.name} {kind}"
                key = (picture.name, kind, method)
                cells.append(Cell(file, key, label, work, group=method, size=float(picture.truth.size)))
    try:
        report = run_cells(cells, progress, again=again)
    finally:
        head, body = table(file.rows())
        lines = [head, ["---"] * len(head), *body]
        if file.path.parent.is_dir():
            title = "# Holes in photographs: PSNR inside the gaps in dB, SSIM of the picture"
            write_text(
                Path(out) / "holes.md", "\n".join([title, "", *(f"| {' | '.join(line)} |" for line in lines), ""])
            )
    return report, left_out


def middle(picture: Picture, side: int) -> Picture:
    """Its middle side x side pixels, or what it has of them."""
    rows, columns = (slice(max(0, (n - side) // 2), max(0, (n - side) // 2) + side) for n in picture.truth.shape[:2])
    return replace(picture, name=f"{picture.name} {side}", truth=picture.truth[rows, columns])


def _rows(method: str, fill: Method, picture: Picture, kind: str) -> list[dict[str, Any]]:
    missing = gap(kind, picture.truth.shape)
    known = ~missing if picture.truth.ndim == 2 else np.broadcast_to(~missing[..., None], picture.truth.shape)
    began = time.process_time()
    X = fill(picture.incomplete(known), missing)
    seconds = time.process_time() - began
    peak = peak_of(picture.truth)
    off = (np.clip(X, 0, peak) - picture.truth)[missing]
    inside = 10 * np.log10(peak**2 / max(float(np.mean(off**2)), 1e-12))
    figures = (f"{inside:.4f}", f"{ssim(X, picture.truth, known):.5f}", f"{seconds:.3f}")
    return [dict(zip(COLUMNS, (picture.name, kind, method, *figures), strict=True))]


def table(rows: Sequence[Row]) -> tuple[list[str], list[list[str]]]:
    """(head, a line per picture and gap, and the means per gap): PSNR / SSIM of each method."""
    methods = [m for m in METHODS if any(r["method"] == m for r in rows)]
    places = list(dict.fromkeys((r["image"], r["gap"]) for r in sorted(rows, key=lambda r: (r["gap"], r["image"]))))
    at = {(r["image"], r["gap"], r["method"]): (float(r["psnr"]), float(r["ssim"])) for r in rows}

    def line(image: str, kind: str, images: Sequence[str]) -> list[str]:
        cells = []
        for m in methods:
            got = [at[i, kind, m] for i in images if (i, kind, m) in at]
            cells.append(f"{mean(p for p, _ in got):.2f} / {mean(s for _, s in got):.4f}" if got else "–")
        return [kind, image, *cells]

    body = [line(image, kind, [image]) for image, kind in places]
    body += [line("mean", k, [i for i, kind in places if kind == k]) for k in GAPS if any(p[1] == k for p in places)]
    return ["gap", "picture", *methods], body
