"""What the examples share: where the picture goes, a fill to compare with, the line with the score."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.auto.contest import BUDGET

QUICK = os.environ.get("TENSORFILL_QUICK", "") not in ("", "0")
SHORT = 0.3  # of the usual budget of a contest, in a short run: the best of each example does not change


def folder() -> Path:
    """The folder named on the command line, `out` by default; made if need be. `--quick` shortens the run."""
    parser = argparse.ArgumentParser(description="Makes one picture and prints one score.")
    parser.add_argument("out", nargs="?", type=Path, default=Path("out"), help="folder for the picture")
    parser.add_argument("--quick", action="store_true", help="less data, fewer iterations")
    given = parser.parse_args()
    if given.quick:
        shorten()
    given.out.mkdir(parents=True, exist_ok=True)
    return given.out


def shorten() -> None:
    """From here on runs are short: less data, fewer iterations, contests with little time."""
    global QUICK
    QUICK = True
    BUDGET["normal"] = SHORT


def quick() -> bool:
    """Was a short run asked for?"""
    return QUICK


def real(name: str) -> np.ndarray:
    """Real numbers that lie inside an installed package, by their name in `tensorfill bench choose`."""
    from tensorfill_benchmarks.choose_data import NotHere, Places
    from tensorfill_benchmarks.choose_sets import load

    try:
        return load(name, Places()).values
    except NotHere as missing:
        raise SystemExit(str(missing)) from missing


def limits() -> dict[str, int]:
    """Nothing, or few iterations in a short run."""
    return {"max_iter": 12} if QUICK else {}


def per_mode_means(T: Any, mask: np.ndarray) -> np.ndarray:
    """The overall mean plus how much each slice of each mode differs from it: what a careful spreadsheet would do."""
    T, seen = np.asarray(T, dtype=float), np.asarray(mask, dtype=bool)
    overall = T[seen].mean()
    out = np.full(T.shape, overall)
    for mode in range(T.ndim):
        others = tuple(n for n in range(T.ndim) if n != mode)
        count = seen.sum(axis=others, keepdims=True)
        total = np.where(seen, T - overall, 0.0).sum(axis=others, keepdims=True)
        out = out + np.where(count > 0, total / np.maximum(count, 1), 0.0)
    return out


def rms(estimate: Any, truth: Any, where: np.ndarray) -> float:
    """Root of the mean squared error at the entries `where`."""
    return float(np.sqrt(np.mean((np.asarray(estimate, float) - np.asarray(truth, float))[where] ** 2)))


def score(what: str, ours: float, other: float, name: str = "per-mode means") -> None:
    """Print the line that tells how good it is; smaller is better."""
    print(f"{what}: {ours:.3g} (tensorfill), {other:.3g} ({name}), {1 - ours / other:.0%} less")


def save(figure: Any, path: Path) -> None:
    """Write the picture and say where."""
    figure.savefig(path, dpi=100)
    print(f"picture: {path}")


if QUICK:
    shorten()
