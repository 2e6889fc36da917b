"""What a Completion is for others: arrays in chunks, pictures, reports, text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Exports:
    """The part of a Completion that hands it on; all of it is loaded when it is asked for."""

    def to_dask(self: Any, chunks: Any = None) -> Any:
        """The estimate as a Dask array, computed chunk by chunk when it is asked for; .to_zarr(path) writes it."""
        from tensorfill.result.chunks import to_dask

        return to_dask(self, chunks)

    def plot(
        self: Any, *, truth: ArrayLike | None = None, count: int = 4, labels: Mapping[str, Sequence[Any]] | None = None
    ) -> Figure:
        """Known and completed side by side, as fits the data: picture, frames, lines, heat map, cuts."""
        from tensorfill.show.plots import plot

        return plot(self, truth=truth, count=count, labels=labels)

    def report(self: Any, path: str | Path, *, truth: ArrayLike | None = None, title: str | None = None) -> None:
        """Write a page that explains itself: before and after, what was tried, how good it is."""
        from tensorfill.show.report import write_report

        write_report(self, path, truth=truth, title=title)

    def plot_history(self: Any) -> Figure:
        """The objective and the held-out error over the iterations."""
        from tensorfill.show.plots import plot_history

        return plot_history(self)

    def plot_factors(
        self: Any, components: int | Sequence[int] = 6, *, labels: Mapping[str, Sequence[Any]] | None = None
    ) -> Figure:
        """The strongest components (or those listed) along each mode."""
        from tensorfill.show.plots import plot_factors

        return plot_factors(self, components, labels=labels)

    def _repr_html_(self: Any) -> str:
        """What a notebook shows."""
        from tensorfill.show.card import html

        return html(self)

    def __repr__(self: Any) -> str:
        from tensorfill.show.summary import printed

        return printed(self)
