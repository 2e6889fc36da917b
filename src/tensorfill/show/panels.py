"""How the panels of the plots are drawn: style, one function for each kind of data, curves and factors."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.show import ticks, view
from tensorfill.show.labels import escape_dollars, format_labels, shorten
from tensorfill.show.scales import in_own_scales, own_scale_axis
from tensorfill.typing import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tensorfill.result.completion import Completion


STYLE: dict[Any, Any] = {
    "font.family": ["DejaVu Sans"],
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.labelsize": 9.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.8,
    "axes.grid": False,
    "lines.linewidth": 1.6,
    "legend.frameon": False,
    "figure.dpi": 110,
}
BLUE, ORANGE = "#3b7dd8", "#e0752d"
COLOURS = (BLUE, ORANGE, "#3a9b6e", "#b658b0", "#c9a227", "#6b7a90", "#d0505a", "#22a3b5")
MISSING = "#c4c9d1"
MAP = "viridis"
WIDTH = 9.0  # inches of a figure


def new_figure(width: float, height: float) -> Figure:
    """An empty figure that a notebook shows, whether or not pyplot was ever imported."""
    from matplotlib.figure import Figure

    class Plot(Figure):
        def _repr_png_(self) -> bytes:
            out = io.BytesIO()
            self.savefig(out, format="png", bbox_inches="tight")
            return out.getvalue()

    return Plot(figsize=(width, min(height, 40.0)), layout="constrained")


def _bare(axes: Axes, title: str) -> None:
    axes.set_title(escape_dollars(title))
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _share(done: Completion) -> str:
    share = done.observations.share
    return f"{share:.3g} of all" if share < 0.001 else f"{share:.1%}".replace(".0%", "%")


def picture(done: Completion, sheets: list[view.Sheet], truth: Array | None) -> Figure:
    """Known and completed (and true) as pictures."""
    sheet, limits = sheets[0], view.value_range(done.observations)
    height, width = sheet.given.shape[:2]
    figure = new_figure(WIDTH, WIDTH / 3 * height / width + 0.32)
    known, filled, third = figure.subplots(1, 3)
    known.imshow(view.to_rgb(sheet.given, limits, ~sheet.observed), interpolation="nearest")
    _bare(known, f"known: {_share(done)}")
    filled.imshow(view.to_rgb(sheet.completed, limits, np.isnan(sheet.completed)))
    if truth is None:
        _bare(filled, "completed")
        third.imshow(sheet.filled, cmap="Greys", vmin=0, vmax=1, interpolation="nearest")
        _bare(third, "where it was filled in (dark)")
        return figure
    peak = limits[1]
    ratio = view.psnr(done.full, truth, done.observations.mask, peak)
    _bare(filled, f"completed: {ratio:.2f} dB PSNR")
    third.imshow(view.to_rgb(truth[np.ix_(*sheet.index)], limits))
    _bare(third, "the truth")
    return figure


def _heat(axes: Axes, values: Array, limits: tuple[float, float]) -> Any:
    import matplotlib as mpl

    shown = mpl.colormaps[MAP].with_extremes(bad=MISSING)
    return axes.imshow(
        np.ma.masked_invalid(values), cmap=shown, vmin=limits[0], vmax=limits[1], aspect="auto", interpolation="nearest"
    )


def _scale(figure: Figure, image: Any, panels: Any, sheets: list[view.Sheet], **options: Any) -> None:
    """A colour bar; whole numbers have whole ticks."""
    from matplotlib.ticker import MaxNLocator

    whole = all((np.isnan(s.completed) | (s.completed == np.rint(s.completed))).all() for s in sheets)
    ticks = MaxNLocator(integer=True, nbins="auto") if whole else None
    figure.colorbar(image, ax=list(panels), pad=0.02, ticks=ticks, **options)


def matrix(done: Completion, sheets: list[view.Sheet], truth: Array | None) -> Figure:
    """Known and completed (and true) as heat maps."""
    sheet, limits, axis = sheets[0], view.colour_range(sheets), own_scale_axis(done.observations, sheets[0])
    if axis is not None:
        sheet, limits = in_own_scales(sheet, axis), (0.0, 1.0)
    height = float(np.clip(WIDTH / 3 * sheet.given.shape[0] / sheet.given.shape[1], 2.4, 5.0))
    figure = new_figure(WIDTH, height)
    known, filled, third = figure.subplots(1, 3)
    _heat(known, sheet.given, limits)
    known.set_title(f"known: {_share(done)}")
    image = _heat(filled, sheet.completed, limits)
    filled.set_title(
        "completed" if axis is None else f"completed, each {escape_dollars(sheet.dims[axis])} in its own scale"
    )
    if truth is None:
        third.imshow(sheet.filled, cmap="Greys", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
        third.set_title("where it was filled in (dark)")
    else:
        true = replace(sheets[0], given=truth[np.ix_(*sheet.index)])
        _heat(third, (true if axis is None else in_own_scales(true, axis)).given, limits)
        third.set_title("the truth")
    for axes in (known, filled, third):
        axes.set_xlabel(escape_dollars(sheet.dims[1]))
        ticks.along_x(axes, sheet.labels[1], (WIDTH - 1.5) / 3)
        axes.tick_params(labelleft=axes is known)
        ticks.along_y(axes, sheet.labels[0], height - 0.8)
        axes.yaxis.set_inverted(not sheet.upward)
    known.set_ylabel(escape_dollars(sheet.dims[0]))
    if axis is None:
        _scale(figure, image, [known, filled, third], sheets, shrink=0.9)
    else:
        bar = figure.colorbar(image, ax=[known, filled, third], pad=0.02, ticks=(0, 1), shrink=0.9)
        bar.set_ticklabels(["lowest", "highest"])
    return figure


def cuts(done: Completion, sheets: list[view.Sheet], truth: Array | None) -> Figure:
    """One column per frame or cut; rows: known, completed, and the truth where it is known."""
    colour = view.kind(done) == "video"
    scales = [view.value_range(done.observations)] * len(sheets) if colour else view.colour_ranges(sheets)
    apart = len(set(scales)) > 1
    height, width = sheets[0].given.shape[:2]
    rows = ["known", "completed"] + ([] if truth is None else ["the truth"])
    each = (WIDTH - 1) / len(sheets)
    ratio = float(np.clip(height / width, 0.4, 1.3))
    figure = new_figure(WIDTH, len(rows) * (each * ratio + (0.1 if colour else 0.3)) + (0.9 if apart else 0.4))
    panels = figure.subplots(len(rows), len(sheets), squeeze=False)
    image = None
    for column, sheet, limits in zip(panels.T, sheets, scales, strict=True):
        parts = [sheet.given, sheet.completed]
        if truth is not None:
            parts.append(cut_of(truth, sheet, done))
        for axes, values in zip(column, parts, strict=True):
            if colour:
                axes.imshow(view.to_rgb(values, limits, np.isnan(values)))
            else:
                image = _heat(axes, values, limits)
                axes.yaxis.set_inverted(not sheet.upward)
            _bare(axes, sheet.title.replace(", ", "\n") if axes is column[0] else "")
        if not colour:
            column[-1].set_xlabel(escape_dollars(sheet.dims[1]))
            ticks.along_x(column[-1], sheet.labels[1], each)
        if apart and image is not None:  # each slice on a scale of its own
            _scale(figure, image, column, [sheet], location="bottom", shrink=0.9, aspect=30)
    for axes, name in zip(panels[:, 0], rows, strict=True):
        axes.set_ylabel(escape_dollars(name if colour else f"{name}\n({sheets[0].dims[0]})"))
        if not colour:
            ticks.along_y(axes, sheets[0].labels[0], each * ratio)
    if image is not None and not apart:
        _scale(figure, image, panels.ravel(), sheets, shrink=0.8)
    return figure


def cut_of(truth: Array, sheet: view.Sheet, done: Completion) -> Array:
    """The same cut of another tensor of full shape."""
    shown = iter(sheet.index)
    at = [np.array([sheet.fixed[n]]) if n in sheet.fixed else next(shown) for n in range(done.observations.ndim)]
    return np.asarray(truth[np.ix_(*at)], dtype=np.float64).reshape(sheet.given.shape)


def lines(done: Completion, sheets: list[view.Sheet], truth: Array | None) -> Figure:
    """A matrix with few rows or columns: one panel for each series."""
    sheet = sheets[0]
    along = int(np.argmax(sheet.given.shape))
    given, completed = (a if along == 1 else a.T for a in (sheet.given, sheet.completed))
    others = None if truth is None else (truth if along == 1 else truth.T)
    bars = None if done.bars is None else done.bounds
    at, names = sheet.index[along], format_labels(sheet.labels[1 - along])
    named = sheet.labels[1 - along].dtype.kind == "U"
    figure = new_figure(WIDTH, 1.3 * len(given) + 0.5)
    panels = figure.subplots(len(given), 1, sharex=True, squeeze=False)[:, 0]
    for k, axes in enumerate(panels):
        if others is not None:
            axes.plot(at, others[k][at], color=MISSING, linewidth=3, label="the truth")
        if bars is not None:
            low, high = ((end if along == 1 else end.T)[k][at] for end in bars)
            share = f"{100 * done.bars.level:.4g} % interval" if done.bars is not None else ""
            there = ~np.isnan(completed[k])  # not along gaps that were to stay gaps
            axes.fill_between(at, low, high, where=there, color=ORANGE, alpha=0.25, linewidth=0, label=share)
        axes.plot(at, completed[k], color=ORANGE, label="filled in")
        axes.plot(at, given[k], color=BLUE, marker="." if len(at) <= 200 else None, markersize=4, label="known")
        axes.set_ylabel(escape_dollars(shorten(names[k] if named else f"{sheet.dims[1 - along]} {names[k]}")))
    panels[0].legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=4)
    panels[-1].set_xlabel(escape_dollars(sheet.dims[along]))
    places, texts = ticks.choose(sheet.labels[along], lambda texts: ticks.fit(texts, WIDTH - 1))
    panels[-1].set_xticks(np.interp(places, np.arange(len(at)), at), list(map(escape_dollars, texts)))
    return figure


def curve(axes: Axes, iteration: Array, values: Array, column: str, colour: str) -> None:
    """One column of a history over the iterations."""
    seen = np.isfinite(values)
    x, y = iteration[seen], values[seen]
    if column == "held_out":
        axes.plot(x, y, color=colour)
        best = int(np.argmin(y))
        axes.plot(x[best], y[best], "o", color=colour, markersize=5)
        axes.annotate("best", (x[best], y[best]), xytext=(0, 8), textcoords="offset points", ha="center")
        axes.set_title("error on held-out entries (mean loss)")
    elif len(y) > 2 and (gap := y - y.min())[0] > 0:
        # losses drop constants and may be negative: what is left to gain is what a logarithm can show
        axes.semilogy(x[gap > 0], gap[gap > 0], color=colour)
        axes.set_title(f"objective, above its lowest ({y.min():.6g})")
    else:
        axes.plot(x, y, color=colour, marker="o" if len(x) <= 40 else None, markersize=4)
        axes.set_title("objective")
    axes.locator_params(axis="x", integer=True)
    axes.set_xlabel("iteration")


def factor(axes: Axes, A: Array, dim: str, labels: Array) -> None:
    """The columns of A (I_n, k) along its mode."""
    few = len(A) <= 16
    for k, column in enumerate(A.T):
        axes.plot(np.arange(len(A)), column, color=COLOURS[k % len(COLOURS)], marker="o" if few else None, markersize=4)
    axes.axhline(0, color=MISSING, linewidth=0.8, zorder=0)
    axes.set_ylabel(escape_dollars(dim))
    axes.margins(x=0.01 if not few else 0.03)
    ticks.along_x(axes, labels, WIDTH - 3)
