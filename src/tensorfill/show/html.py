"""Pieces of HTML that the report is made of: sections, paragraphs, pictures of numbers, charts as SVG."""

from __future__ import annotations

import io
import re
import warnings
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tensorfill.result.completion import Completion


INK = "#010203"  # stands for the page's own text colour, light or dark, while matplotlib draws
DRAWN: dict[Any, Any] = {
    **{key: INK for key in ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")},
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
}


def section(heading: str, *parts: str) -> str:
    """A section of the page with its heading."""
    return f"<section>\n<h2>{escape(heading)}</h2>\n" + "\n".join(parts) + "\n</section>"


def p(text: str, kind: str = "") -> str:
    """A paragraph of plain text, of a CSS class where one is given."""
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def crisp(rgb: Array) -> str:
    """Few pixels are shown as pixels, many as a photograph."""
    return ' class="crisp"' if max(rgb.shape[:2]) <= 200 else ""


def heat(values: Array) -> tuple[NDArray[np.uint8], float]:
    """Numbers >= 0 as colours from black, (H, W, 3), and the number that is brightest."""
    import matplotlib as mpl

    top = float(np.quantile(values, 0.995)) or float(values.max()) or 1.0
    return np.rint(255 * mpl.colormaps["magma"](np.clip(values / top, 0, 1))[..., :3]).astype(np.uint8), top


def chart(draw: Any, done: Completion, **options: Any) -> str:
    """A plot as SVG within the page, in the page's own text colour."""
    import matplotlib as mpl

    with mpl.rc_context({**DRAWN, "svg.hashsalt": f"{draw.__name__} {done.method}"}):
        return f'<div class="chart" role="img" aria-label="{draw.__name__}">{svg(draw(done, **options))}</div>'


def svg(figure: Figure) -> str:
    """A figure as an SVG element without a fixed size."""
    out = io.BytesIO()
    with warnings.catch_warnings():  # the page's own fonts draw the text, whichever glyphs matplotlib's have
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None})
    text = out.getvalue().decode()
    text = text[text.index("<svg") :].replace(INK, "currentColor")
    return re.sub(r'(<svg[^>]*?) (?:width|height)="[^"]*"', r"\1", re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text))
