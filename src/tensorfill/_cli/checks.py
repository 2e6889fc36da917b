"""Checks of what the user typed and named, before any work begins."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill._cli.problem import BAD_USAGE, Problem
from tensorfill.data.files import FileError, Loaded
from tensorfill.data.formats.output import check_place


def check_free(path: str, *, store: bool = False) -> None:
    """Is there a directory to write to, and may we?"""
    target = Path(os.path.realpath(path))
    if path == "-" or (target.exists() and not target.is_file() and not target.is_dir()):
        return
    check_place(target, store=store)
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(13, "permission denied", path)


LOWEST = {"rank": 1, "max_iter": 1, "seed": 0}


def check_numbers(**given: float | None) -> None:
    """Refuse a rank, a limit or a seed that makes no sense."""
    for name, number in given.items():
        low = LOWEST.get(name)
        if number is None or (number > 0 if low is None else number >= low):
            continue
        must = "> 0" if low is None else f">= {low}"
        msg = f"--{name.replace('_', '-')} must be {must}; got {number:g}."
        raise Problem(msg, BAD_USAGE)


def mode_and_weight(text: str) -> tuple[int | str, float]:
    """`row=10` or `0=10`."""
    name, sign, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = math.nan
    if not (sign and name and math.isfinite(weight) and weight >= 0):
        msg = f"--smooth must be MODE=RHO with RHO >= 0, e.g. row=10 or 0=10; got {text!r}."
        raise Problem(msg, BAD_USAGE)
    return (int(name) if name.lstrip("-").isdigit() else name), weight


def coordinates(listed: Loaded, loaded: Loaded) -> Any:
    """Coordinates in `loaded` of the entries that `listed` holds; labels are matched by what they say."""
    if listed.indices is None or len(listed.shape) != len(loaded.shape):
        msg = f"it must list entries by {len(loaded.shape)} coordinates each: a .tns file, or a table like the input."
        raise FileError(msg)
    where = listed.indices.copy()
    for n, dim in enumerate(loaded.dims or ()):
        if listed.labels and loaded.labels and dim in loaded.labels:
            at = {str(label): i for i, label in enumerate(loaded.labels[dim])}
            new = [at.get(str(label), -1) for label in listed.labels[dim]]
            where[:, n] = np.array(new)[where[:, n]]
    outside = np.flatnonzero(((where < 0) | (where >= np.array(loaded.shape))).any(axis=1))
    if outside.size:
        msg = f"its entry {int(outside[0]) + 1} lies outside the data, which have shape {loaded.shape}."
        raise FileError(msg)
    return where
