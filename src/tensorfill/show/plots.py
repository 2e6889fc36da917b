"""Plots of a Completion as functions; each returns a matplotlib Figure of its own, never a global one.

`plot(done)` shows what fits the data (picture, frames, lines, heat map, cuts), `plot_history(done)` how the run went,
`plot_factors(done)` what the model found along each mode.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tensorfill.show import panels, view
from tensorfill.show.labels import labels_of
from tensorfill.show.panels import STYLE
from tensorfill.typing import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tensorfill.result.completion import Completion


FAINT = 0.01  # a component weaker than this, relative to the strongest, is not worth a line


def plot(
    done: Completion,
    *,
    truth: ArrayLike | None = None,
    count: int = 4,
    labels: Mapping[str, Sequence[Any] | Array] | None = None,
) -> Figure:
    """Known entries and completed ones, side by side.

    Parameters
    ----------
    truth : the complete data, where they are known (full shape): shown beside, for comparison
    count : how many frames or cuts to show, at most
    labels : {dimension name: labels along it}, instead of those that the data carry
    """
    import matplotlib as mpl

    draw = {
        "picture": panels.picture,
        "video": panels.cuts,
        "slices": panels.cuts,
        "matrix": panels.matrix,
        "lines": panels.lines,
    }[view.kind(done)]
    with mpl.rc_context(STYLE):
        return draw(done, view.sheets(done, count, labels), None if truth is None else view.truth_of(done, truth))


def curves(done: Completion) -> list[str]:
    """The columns of the history that hold numbers."""
    history = done.history
    return [c for c in ("value", "held_out") if len(history) and np.isfinite(history[c]).any()]


def plot_history(done: Completion) -> Figure:
    """The objective, and the held-out error where there is one, over the iterations."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        history, columns = done.history, curves(done)
        figure = panels.new_figure(panels.WIDTH, 2.8)
        if not columns:
            axes = figure.subplots()
            axes.set_axis_off()
            axes.text(0.5, 0.5, f"method {done.method} reports no objective; {done.iterations} iterations", ha="center")
            return figure
        for k, (axes, column) in enumerate(
            zip(figure.subplots(1, len(columns), squeeze=False)[0], columns, strict=True)
        ):
            panels.curve(axes, history["iteration"], history[column], column, panels.COLOURS[k])
        return figure


def plot_factors(
    done: Completion,
    components: int | Sequence[int] = 6,
    *,
    labels: Mapping[str, Sequence[Any] | Array] | None = None,
) -> Figure:
    """The columns of each factor, one panel per mode.

    Parameters
    ----------
    components : how many, the strongest first (without those under 1 % of the strongest); or a list of which, from 0
    labels : {dimension name: labels along it}, instead of those that the data carry

    Columns are scaled to a largest entry of 1 and put the right way up, for display only; their strength is in the
    legend, as a share of the strongest.
    """
    import matplotlib as mpl

    factors, strength, chosen = strongest(done, components)
    dims = done.observations.dims[: len(factors)]  # of a tubal model the first two
    known = labels_of(done.observations, labels)
    with mpl.rc_context(STYLE):
        figure = panels.new_figure(panels.WIDTH, 1.9 * len(factors) + 0.4)
        rows = figure.subplots(len(factors), 1, squeeze=False)[:, 0]
        for axes, A, dim in zip(rows, factors, dims, strict=True):
            panels.factor(axes, A, dim, known.get(dim, np.arange(len(A))))
        names = [f"{r}: {s:.0%}" for r, s in zip(chosen, strength, strict=True)]
        title = f"component: strength (of {done.rank})" if done.model.name == "cp" else "direction: strength"
        figure.legend(rows[0].get_lines()[: len(names)], names, loc="outside right upper", title=title)
        return figure


def strongest(done: Completion, components: int | Sequence[int]) -> tuple[list[Array], Array, list[int]]:
    """(columns (I_n, K) scaled for display, strength relative to the strongest (K,), their numbers): the components of
    CP; of other models the principal directions of each mode, whose strength is the largest over the modes.
    """
    factors, strengths = done.model.components()
    most = strengths.shape[1]  # a short mode has fewer directions: nothing is drawn for the others
    factors = [np.pad(A, ((0, 0), (0, most - A.shape[1])), constant_values=np.nan) for A in factors]
    norms = (strengths / np.maximum(strengths.max(axis=1, keepdims=True), np.finfo(float).tiny)).max(axis=0)
    order = np.argsort(-norms, kind="stable")
    if isinstance(components, int | np.integer):
        if components < 1:
            msg = f"components must be a number >= 1, or a list of component numbers; got {components}."
            raise ValueError(msg)
        chosen = [int(r) for r in order[: int(components)] if norms[r] >= FAINT * norms.max()]
    else:
        chosen = [int(r) for r in components]
        if not chosen or not all(0 <= r < len(norms) for r in chosen):
            msg = f"components must be numbers from 0 to {len(norms) - 1}; got {list(components)}."
            raise ValueError(msg)
    shown = []
    for A in factors:
        part = A[:, chosen]
        peak = part[np.abs(part).argmax(axis=0), np.arange(len(chosen))]
        shown.append(part / np.where(peak == 0, 1.0, peak))
    return shown, norms[chosen] / max(norms.max(), np.finfo(float).tiny), chosen
