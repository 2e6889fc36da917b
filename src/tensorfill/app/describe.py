"""What is in a file, and what came out, in the words and pictures of the page; also of tables with text and dates."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.app.openfile import OpenFile, paintable
from tensorfill.app.options import COLOURS
from tensorfill.data.facts import unit_mode
from tensorfill.data.factwords import NUMBERS
from tensorfill.data.labels import plain_labels
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.data.sentinels import sentinels
from tensorfill.io.files import FORMATS, Loaded
from tensorfill.io.formats.long import dim_labels, dim_names
from tensorfill.io.mixed import MixedTable
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Status
from tensorfill.show import report
from tensorfill.show.card import thumbnails
from tensorfill.show.labels import format_labels, labels_of, shorten
from tensorfill.show.view import picture_axes, to_rgb

Array = NDArray[Any]

SIDE = 4096  # pixels of a picture to paint on
LARGEST_PNG = 1_000_000  # pixels
WIDE, LOW = 640, 140  # pixels of a heat map: about so wide, at least so high
LARGEST_SHOWN = 20_000_000  # entries of which a heat map is drawn
ROWS, COLUMNS = 6, 7  # of a table to show
MOST_STRIPS = 16  # columns that are named beside the heat map
# A colour fills holes if it has at least this share of the pixels, and this many times as many as nearly equal colours
HOLE_SHARE, HOLE_SPIKE, NEARLY = (0.005, 0.98), 10, 4


def describe_file(file: OpenFile, name: str) -> dict[str, Any]:
    """What the page says about a file, of which it has looked at a sample."""
    loaded, facts, frame = file.loaded, file.facts, None if file.table is None else file.table.frame
    missing = facts.size - facts.observed if frame is None else int(frame.isna().to_numpy().sum())
    shape, size = (facts.shape, facts.size) if frame is None else (frame.shape, frame.size)
    long = loaded.extra.get("form") == "long" and "sheet" in loaded.extra
    paint = paintable(loaded)
    found = {
        "name": name,
        "kind": FORMATS[loaded.format].title,
        "shape": list(shape),
        "dims": list(file.sample.dims),
        "entries": size,
        "missing": missing,
        "share": missing / size,
        "lines": str(facts).split("\n")[2:],
        "paint": paint,
        "picture": frame is None and picture_axes(file.sample) is not None,
        "given": "given.jpg" if paint and math.prod(shape[:2]) > LARGEST_PNG else "given.png",  # ten times as quick
        "questions": questions(loaded, full=not missing),
        "peek": preview(loaded, file.table),
        "strips": strips(loaded, file.table),
        "columns": list(dict.fromkeys(loaded.extra["sheet"].names)) if long else [],
        "read_as": {"dims": list(loaded.dims or ()), "value": file.options.value} if long else None,
        "chosen": file.options.reading,
    }
    if frame is not None:
        return found | {"kinds": column_kinds(frame), "own_scales": "column"}
    found |= {"numbers": NUMBERS[facts.numbers], "range": [_plain(facts.low), _plain(facts.high)]}
    return found | {"dtype": str(loaded.dtype), "own_scales": None if paint else own_scales(file.sample)}


def _plain(value: float) -> str:
    return f"{value:.4g}" if abs(value) < 1e15 or value != round(value) else f"{value:.3g}"


def questions(loaded: Loaded, *, full: bool) -> list[dict[str, Any]]:
    """What may mean missing, to be asked: never guessed."""
    values = loaded.observed_values()
    out: list[dict[str, Any]] = [
        {"text": found.question, "set": {"missing_value": found.value}} for found in sentinels(values)
    ]
    if not paintable(loaded) or not full:
        return out
    alpha = loaded.extra.get("alpha")
    if alpha is not None and (alpha == 0).any():
        share = float((alpha == 0).mean())
        out.append({"text": f"{share:.1%} of the pixels are transparent: missing?", "set": {"alpha_missing": True}})
    for word, colour in COLOURS.items() if loaded.dtype == np.uint8 else ():
        away = distance(loaded, colour)
        share, near = float((away == 0).mean()), float((away <= NEARLY).mean())
        if HOLE_SHARE[0] <= share <= HOLE_SHARE[1] and share > HOLE_SPIKE * (near - share):
            out.append({"text": f"{share:.1%} of the pixels are pure {word}: missing?", "mask": word})
    return out


def distance(loaded: Loaded, colour: int) -> NDArray[np.uint8]:
    """How far the furthest channel of each pixel of an 8-bit picture is from black or white, (H, W)."""
    assert loaded.values is not None
    channels = loaded.values.reshape(*loaded.shape[:2], -1)
    furthest = np.maximum if colour == 0 else np.minimum
    out = functools.reduce(furthest, (channels[..., c] for c in range(channels.shape[2])))
    return np.asarray(out if colour == 0 else 255 - out)


def is_table(loaded: Loaded, table: MixedTable | None) -> bool:
    """Has it rows and columns to be shown?"""
    return table is not None or (len(loaded.shape) == 2 and loaded.values is not None and not loaded.extra.get("axes"))


def margins(loaded: Loaded, table: MixedTable | None, *places: Any) -> list[Any]:
    """The name of the rows of a table, and the labels of these of its rows and columns: texts are shortened, dates are
    not, since they differ in the middle.
    """
    out: list[Any] = ["row" if table is not None else dim_names(loaded)[0]]
    for labels, at in zip(dim_labels(loaded) if table is None else table.frame.axes, places, strict=True):
        chosen = plain_labels([labels[k] for k in at])
        out.append([shorten(x) if chosen.dtype.kind == "U" else x for x in format_labels(chosen)])
    return out


def preview(loaded: Loaded, table: MixedTable | None = None) -> dict[str, Any] | None:
    """The first rows of a table: labels, and cells of which None is missing."""
    if not is_table(loaded, table):
        return None
    shape = loaded.shape if table is None else table.frame.shape
    corner, *marks = margins(loaded, table, *(range(min(k, n)) for k, n in zip((ROWS, COLUMNS), shape, strict=True)))
    if table is not None:
        cells = table.texts(ROWS, COLUMNS)
    else:
        assert loaded.values is not None
        values, known = (x[:ROWS, :COLUMNS] for x in (loaded.values, loaded.observed()))
        rows = zip(values.tolist(), known.tolist(), strict=True)
        cells = [[f"{v:.6g}" if k else None for v, k in zip(*row, strict=True)] for row in rows]
    more = [n - len(x) for n, x in zip(shape, marks, strict=True)]
    return {"corner": corner, "rows": marks[0], "columns": marks[1], "cells": cells, "more": more}


def own_scales(obs: Observations) -> str | None:
    """The dimension along which each slice of the heat map has a scale of its own."""
    mode = unit_mode(obs) if obs.size <= LARGEST_SHOWN else None
    return None if mode is None else obs.dims[mode]


def strips(loaded: Loaded, table: MixedTable | None) -> list[str]:
    """The names of the few columns of a table, which its heat map shows as strips one below the other."""
    shape = loaded.shape if table is None else table.frame.shape
    named = is_table(loaded, table) and (table is not None or loaded.labels)
    if not named or not is_lying(shape) or shape[1] > MOST_STRIPS:
        return []
    return list(margins(loaded, table, (), range(shape[1]))[2])


def is_lying(shape: Sequence[int]) -> bool:
    """Is a heat map of this shape turned, so that its longer side lies?"""
    return shape[0] > 1.5 * shape[1]


def draw_photograph(loaded: Loaded, limits: tuple[float, float]) -> NDArray[np.uint8]:
    """The photograph as it is, (h, w, 3), with its holes in grey; a very large one smaller."""
    assert loaded.values is not None
    step = -(-max(loaded.shape[:2]) // SIDE)
    thin = (slice(None, None, step),) * 2 + (slice(3),) * (len(loaded.shape) - 2)
    values = loaded.values[thin]
    if loaded.mask is None and values.dtype == np.uint8 and values.shape[2:] == (3,):
        return values
    return to_rgb(values, limits, ~loaded.observed()[thin])


def draw_heat_map(obs: Observations) -> NDArray[np.uint8]:
    """The data as colours, (h, w, 3)."""
    if obs.size > min(DENSE_LIMIT, LARGEST_SHOWN):
        return np.full((8, 8, 3), 196, dtype=np.uint8)
    blank = Filled(np.full(obs.shape, float(obs.values.mean())))
    rgb = thumbnails(Completion(obs, "none", Status.NOTHING_MISSING, History(), blank))[0][1]
    return stretch(rgb, turned=is_lying(obs.shape if obs.ndim == 2 else rgb.shape))


def stretch(rgb: NDArray[np.uint8], *, turned: bool) -> NDArray[np.uint8]:
    """A heat map in a form that fills its place: lying if it is long, entries as large as there is room for."""
    if turned:
        rgb = rgb.swapaxes(0, 1)
    height, width = rgb.shape[:2]
    times = max(1, round(WIDE / width))
    tall = max(1, round(min(max(times, LOW / height), WIDE / 2 / height)))
    return np.ascontiguousarray(rgb.repeat(tall, axis=0).repeat(times, axis=1))


def slice_means(obs: Observations) -> Array:
    """The overall mean and how far the mean of each slice is from it, added up, within the range of the data."""
    low, mean, high = (float(x) for x in (obs.values.min(), obs.values.mean(dtype=np.float64), obs.values.max()))
    away = obs.dense(fill=0.0)
    away -= np.multiply(mean, obs.mask, dtype=away.dtype)
    X: Array = np.full(obs.shape, mean, dtype=away.dtype)
    for n, (total, known) in enumerate(zip(_slice_sums(away), _slice_sums(obs.mask), strict=True)):
        X += (total / np.maximum(known, 1)).reshape(-1, *(1,) * (X.ndim - n - 1)).astype(X.dtype)
    return np.clip(X, low, high, out=X)


def _slice_sums(T: Array) -> list[Array]:
    """The sum of each slice of each mode, [(I_1,), ...]: two passes over T, whatever their number."""
    if T.ndim == 1:
        return [T]
    return [T.reshape(len(T), -1).sum(axis=1, dtype=np.float64), *_slice_sums(T.sum(axis=0, dtype=np.float64))]


def filled_rows(done: Completion, loaded: Loaded, table: MixedTable | None) -> str:
    """The first rows of a table that had gaps, as HTML; what was filled in is bold. Empty for anything else."""
    if not is_table(loaded, table):
        return ""
    if table is not None:
        cells, known = done.completed.to_numpy(dtype=object), table.frame.notna().to_numpy()
    else:
        cells, known = np.asarray(done), done.observations.mask
    rows = np.flatnonzero(~known.all(axis=1))[:ROWS]
    columns = np.flatnonzero(~known[rows].all(axis=0) | (known.shape[1] <= COLUMNS))[:COLUMNS]
    corner, *marks = margins(loaded, table, rows, columns)
    lines = ["".join(f"<th>{escape(x)}</th>" for x in (corner, *marks[1]))]
    for mark, k in zip(marks[0], rows, strict=True):
        body = (f'<td class="number">{_cell(cells[k, n], known=known[k, n])}</td>' for n in columns)
        lines.append(f"<th>{escape(mark)}</th>{''.join(body)}")
    return (
        '<details class="part" open><summary>Filled in</summary><div><p class="soft">The first rows that had gaps; '
        'what was filled in is bold.</p><div class="scroll"><table><tr>'
        + "</tr><tr>".join(lines)
        + "</tr></table></div></div></details>"
    )


def _cell(value: Any, *, known: bool) -> str:
    if isinstance(value, float | np.floating):
        shown = value if known else float(f"{value:.4g}")
        text = "" if np.isnan(value) else f"{shown:.6g}"
    else:
        text = escape(str(value).removesuffix(" 00:00:00"))
    return text if known else f"<b>{text}</b>"


def details(done: Completion, loaded: Loaded, table: MixedTable | None) -> str:
    """The result as a piece of HTML: before and after, then what explains it, each part to be opened."""
    labels = labels_of(done.observations, loaded.labels)
    heading, *parts = report.before_and_after(done, None, labels)
    first = f'<section class="hero"><h2 class="quiet">{escape(heading)}</h2>{"".join(parts)}</section>'
    rest = "".join(
        f'<details class="part"><summary>{escape(title)}</summary><div>{"".join(pieces)}</div></details>'
        for title, *pieces in report.explained(done, labels)
    )
    return f'{first}<div class="parts">{filled_rows(done, loaded, table)}{rest}</div>'


def column_kinds(frame: Any) -> str:
    """How many columns there are of each kind: "2 of numbers, 1 of text"."""
    from pandas.api import types

    kinds = {"numbers": types.is_numeric_dtype, "dates": types.is_datetime64_any_dtype, "text": lambda dtype: True}
    found = [next(kind for kind, holds in kinds.items() if holds(dtype)) for dtype in frame.dtypes]
    return ", ".join(f"{found.count(kind)} of {kind}" for kind in kinds if kind in found)


def in_own_scales(table: MixedTable) -> Observations:
    """Every column as numbers from 0 to 1, lowest to highest; of text and dates, by their order."""
    import pandas as pd

    columns = []
    for _, column in table.frame.items():
        if not pd.api.types.is_numeric_dtype(column.dtype):
            if pd.api.types.infer_dtype(column, skipna=True).startswith("mixed"):  # without an order
                column = column.astype(str).where(column.notna())
            column = pd.Series(pd.factorize(column, sort=True)[0]).replace(-1, np.nan)
        columns.append(column.to_numpy(dtype=np.float64, na_value=np.nan))
    T = np.stack(columns, axis=1)
    seen = ~np.isnan(T).all(axis=0)
    T[:, seen] -= np.nanmin(T[:, seen], axis=0)
    T[:, seen] /= np.maximum(np.nanmax(T[:, seen], axis=0), np.finfo(float).tiny)
    return Observations.from_dense(T, dims=("row", "column"))
