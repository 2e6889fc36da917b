"""What is in a file, and what came out, in the words and pictures of the page."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.app.choice import Choice
from tensorfill.data.facts import Facts
from tensorfill.data.factwords import NUMBERS
from tensorfill.data.files import FORMATS, Loaded
from tensorfill.data.formats.long import dim_names
from tensorfill.data.labels import tidy
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.data.sentinels import sentinels
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Status
from tensorfill.show import report
from tensorfill.show.card import thumbnails
from tensorfill.show.labels import labels_of, short, words
from tensorfill.show.view import observed_range, picture_axes, to_rgb

Array = NDArray[Any]

SIDE = 1600  # pixels of a picture to paint on
WIDE, LOW = 640, 140  # pixels of a heat map: about so wide, at least so high
LARGEST_SHOWN = 20_000_000  # entries of which a heat map is drawn
ROWS, COLUMNS = 6, 7  # of a table to show
# A colour fills holes if it has at least this share of the pixels, and this many times as many as nearly equal colours
HOLE_SHARE, HOLE_SPIKE, NEARLY = (0.005, 0.98), 10, 4


def paintable(loaded: Loaded) -> bool:
    """Is it one picture, to be painted on?"""
    return loaded.extra.get("axes") in ("HW", "HWC") and loaded.values is not None


def described(name: str, loaded: Loaded, obs: Observations, facts: Facts, choice: Choice) -> dict[str, Any]:
    """What the page says about a file."""
    missing = obs.size - obs.nnz
    return {
        "name": name,
        "kind": FORMATS[loaded.format].title,
        "shape": list(obs.shape),
        "dims": list(obs.dims),
        "dtype": str(loaded.dtype),
        "entries": obs.size,
        "missing": missing,
        "share": missing / obs.size,
        "numbers": NUMBERS[facts.numbers],
        "range": [_plain(facts.low), _plain(facts.high)],
        "lines": str(facts).split("\n")[2:],
        "paint": paintable(loaded),
        "picture": picture_axes(obs) is not None,
        "questions": questions(loaded, obs),
        "peek": peek(loaded),
        "columns": sorted(set(loaded.extra["header"]), key=loaded.extra["header"].index) if _long(loaded) else [],
        "read_as": {"dims": list(loaded.dims or ()), "value": choice.value} if _long(loaded) else None,
        "chosen": choice.reading,
    }


def _long(loaded: Loaded) -> bool:
    return loaded.extra.get("form") == "long" and "header" in loaded.extra


def _plain(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e15 or value != round(value) else f"{value:.3g}"


def questions(loaded: Loaded, obs: Observations) -> list[dict[str, Any]]:
    """What may mean missing, to be asked: never guessed."""
    out: list[dict[str, Any]] = [
        {"text": found.question, "set": {"missing_value": found.value}} for found in sentinels(obs.values)
    ]
    if not paintable(loaded) or obs.nnz < obs.size:
        return out
    alpha = loaded.extra.get("alpha")
    if alpha is not None and (alpha == 0).any():
        share = float((alpha == 0).mean())
        out.append({"text": f"{share:.1%} of the pixels are transparent: missing?", "set": {"alpha_missing": True}})
    for word, colour in hole_colours(loaded):
        share = float(hole(loaded, colour).mean())
        out.append({"text": f"{share:.1%} of the pixels are pure {word}: missing?", "mask": word})
    return out


def hole_colours(loaded: Loaded) -> list[tuple[str, int]]:
    """Black and white, where they stand out as the filling of holes would."""
    if loaded.dtype != np.uint8:
        return []
    return [(word, c) for word, c in (("black", 0), ("white", 255)) if _stands_out(loaded, c)]


def _stands_out(loaded: Loaded, colour: int) -> bool:
    exact = hole(loaded, colour)
    assert loaded.values is not None
    away = np.abs(loaded.values.astype(np.int16) - colour)
    nearly = (away.max(axis=2) if away.ndim == 3 else away) <= NEARLY
    low, high = HOLE_SHARE
    return low <= exact.mean() <= high and exact.sum() > HOLE_SPIKE * (nearly.sum() - exact.sum())


def hole(loaded: Loaded, colour: int) -> NDArray[np.bool_]:
    """The pixels that have this value in all channels, (H, W)."""
    assert loaded.values is not None
    same = loaded.values == colour
    return same.all(axis=2) if same.ndim == 3 else same


def write_hole_mask(loaded: Loaded, colour: int, path: Path) -> None:
    """A mask of a hole's colour as a picture: black = missing."""
    from PIL import Image

    Image.fromarray(np.where(hole(loaded, colour), 0, 255).astype(np.uint8)).save(path)


def peek(loaded: Loaded) -> dict[str, Any] | None:
    """The first rows of a matrix: labels, and cells of which None is missing."""
    if len(loaded.shape) != 2 or loaded.values is None or loaded.extra.get("axes"):
        return None
    values, known = loaded.values[:ROWS, :COLUMNS], loaded.observed()
    names, labels = dim_names(loaded), loaded.labels or {}
    marks = [
        _marks(list(labels.get(d, range(n)))[:k]) for d, n, k in zip(names, loaded.shape, values.shape, strict=True)
    ]
    return {
        "corner": names[0],
        "rows": marks[0],
        "columns": marks[1],
        "cells": [
            [f"{v:.6g}" if k else None for v, k in zip(*row, strict=False)]  # there are more, which are not shown
            for row in zip(values, known, strict=False)
        ],
        "more": [n - k for n, k in zip(loaded.shape, values.shape, strict=True)],
    }


def _marks(labels: list[Any]) -> list[str]:
    """Labels for the margin of a table: texts are shortened, dates are not, since they differ in the middle."""
    at = tidy(labels)
    return [short(x) for x in words(at)] if at.dtype.kind == "U" else words(at)


def drawn(obs: Observations, loaded: Loaded) -> NDArray[np.uint8]:
    """The data as a picture, (h, w, 3): a photograph as it is with its holes in grey, anything else as a heat map."""
    if paintable(loaded):
        assert loaded.values is not None
        step = -(-max(loaded.shape[:2]) // SIDE)
        thin = (slice(None, None, step),) * 2 + (slice(3),) * (len(loaded.shape) - 2)
        return to_rgb(loaded.values[thin], observed_range(obs), ~loaded.observed()[thin])
    if obs.size > min(DENSE_LIMIT, LARGEST_SHOWN):
        return np.full((8, 8, 3), 196, dtype=np.uint8)
    blank = Filled(np.full(obs.shape, float(obs.values.mean())))
    rgb = thumbnails(Completion(obs, "none", Status.NOTHING_MISSING, History(), blank))[0][1]
    return broad(rgb)


def broad(rgb: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """A heat map in a form that fills its place: lying if it is long, entries as large as there is room for."""
    if rgb.shape[0] > 1.5 * rgb.shape[1]:
        rgb = rgb.swapaxes(0, 1)
    height, width = rgb.shape[:2]
    times = max(1, round(WIDE / width))
    tall = max(1, round(min(max(times, LOW / height), WIDE / 2 / height)))
    return np.ascontiguousarray(rgb.repeat(tall, axis=0).repeat(times, axis=1))


def details(done: Completion, loaded: Loaded) -> str:
    """The result as a piece of HTML: before and after, then what explains it, each part to be opened."""
    labels = labels_of(done.observations, loaded.labels)
    heading, *parts = report.before_and_after(done, None, labels)
    first = f'<section class="hero"><h2 class="quiet">{escape(heading)}</h2>{"".join(parts)}</section>'
    rest = "".join(
        f'<details class="part"><summary>{escape(title)}</summary><div>{"".join(pieces)}</div></details>'
        for title, *pieces in report.explained(done, labels)
    )
    return first + f'<div class="parts">{rest}</div>'
