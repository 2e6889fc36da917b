"""A Completion as a small HTML card, for notebooks."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tensorfill.show import summary, view
from tensorfill.show.scales import in_own_scales, own_scale_axis

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion

STYLE = (
    "font:13px/1.5 system-ui,sans-serif;border:1px solid rgba(128,128,128,.35);border-radius:10px;"
    "padding:12px 14px;max-width:640px;display:flex;gap:14px;align-items:flex-start;flex-wrap:wrap"
)
SIDE = 150  # pixels of a thumbnail


def png_uri(rgb: NDArray[np.uint8]) -> str:
    """A picture (H, W, 3) as a data: address."""
    from PIL import Image

    out = io.BytesIO()
    Image.fromarray(rgb).save(out, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def thumbnails(done: Completion) -> list[tuple[str, NDArray[np.uint8]]]:
    """Small pictures of what was known and of what came out: [(caption, (h, w, 3) uint8)]."""
    pictures = view.before_and_after(done)
    if pictures is not None:
        step = _step(max(pictures[0].shape[:2]))
        small = [np.ascontiguousarray(rgb[::step, ::step]) for rgb in pictures[:2]]
        return list(zip(_captions(pictures[2]), small, strict=True))
    import matplotlib as mpl

    sheet = view.sheets(done, 1)[0]
    axis = own_scale_axis(done.observations, sheet)
    sheet = sheet if axis is None else in_own_scales(sheet, axis)
    low, high = view.colour_range([sheet]) if axis is None else (0.0, 1.0)
    out = []
    for caption, values in zip(_captions(sheet), (sheet.given, sheet.completed), strict=True):
        rgb = mpl.colormaps["viridis"](np.clip((np.nan_to_num(values, nan=low) - low) / (high - low), 0, 1))[..., :3]
        rgb[np.isnan(values)] = 0.77
        rgb = np.rint(255 * (rgb[::-1] if sheet.upward else rgb)).astype(np.uint8)
        for axis in (0, 1):  # each by itself: a few long series keep all of them
            rgb = rgb.swapaxes(0, axis)[:: _step(rgb.shape[axis])].swapaxes(0, axis)
        out.append((caption, np.ascontiguousarray(rgb)))
    return out


def _captions(sheet: view.Sheet) -> list[str]:
    """What the pictures show, and of which slice, as more than one could be shown."""
    return [f"{word}, {sheet.title}" if sheet.title else word for word in ("known", "completed")]


def _step(length: int) -> int:
    return -(-length // (2 * SIDE))  # two pixels per point, for sharp screens


def _height(done: Completion, rgb: NDArray[np.uint8]) -> int:
    """Pixels on the screen: pictures keep their shape, heat maps are made readable."""
    height = SIDE * rgb.shape[0] / rgb.shape[1]
    return round(height if view.picture_axes(done.observations) else float(np.clip(height, 80, 1.5 * SIDE)))


def _pixels(rgb: NDArray[np.uint8]) -> str:
    """Few pixels are shown as pixels, many as a photograph."""
    return "" if max(rgb.shape) > SIDE else ";image-rendering:pixelated"


def html(done: Completion) -> str:
    """The card."""
    rows = [row for row in summary.lines_about(done, done.quality) if row[0] not in ("status", "method", "why")]
    table = "".join(
        f'<tr><td style="opacity:.65;padding:0 10px 0 0;text-align:left;vertical-align:top">{escape(k)}</td>'
        f'<td style="padding:0;text-align:left">{escape(v)}</td></tr>'
        for k, v in rows
    )
    pictures = "".join(
        f'<figure style="margin:0"><img alt="{escape(caption)}" src="{png_uri(rgb)}" style="display:block;'
        f'width:{SIDE}px;height:{_height(done, rgb)}px;border-radius:6px{_pixels(rgb)}">'
        f'<figcaption style="opacity:.65;font-size:11px;max-width:{SIDE}px">{escape(caption)}</figcaption></figure>'
        for caption, rgb in thumbnails(done)
    )
    return (
        f'<div style="{STYLE}"><div style="flex:1 1 260px"><div style="font-weight:600">{summary.heading(done)} by '
        f'{escape(done.method)}</div><div style="margin:2px 0 6px">{escape(done.status.sentence)}</div>'
        f'<table style="border-collapse:collapse;font-size:12px;background:none">{table}</table></div>'
        f'<div style="display:flex;gap:8px">{pictures}</div></div>'
    )
