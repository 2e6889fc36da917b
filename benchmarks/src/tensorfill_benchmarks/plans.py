"""What the figures share: which picture, how long, and a plan of cells with a drawing made from their file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tensorfill.io.atomic import replace_file
from tensorfill_benchmarks.cells import Cell
from tensorfill_benchmarks.metrics import peak_of
from tensorfill_benchmarks.pictures import Picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER_ALPHA = 3e-4  # the last that works, Figure 4
PAPER_SIZE = 256 * 256 * 3  # entries of a usual picture of the paper
RATE = 60.0  # Figures 3 and 4: house with 60 % missing


@dataclass(frozen=True)
class Effort:
    """How much to spend; every number is part of the key of the cells it made, so quick rows never pass for full ones.

    Attributes
    ----------
    iterations : of Figure 3 (a) and, a third of it, Figure 4
    seconds : of every run of Figure 3 (b); the paper's 2 minutes
    limit : iterations of every method in Figure 2; None for the method's own
    """

    iterations: int = 900
    seconds: float = 120.0
    limit: int | None = None

    @property
    def suffix(self) -> str:
        """For the names of files whose contents depend on it."""
        return "" if self.limit is None else f"-{self.limit}"


QUICK = Effort(iterations=9, seconds=0.5, limit=6)


@dataclass(frozen=True)
class Plan:
    """The cells of one figure, and how to draw it from their file."""

    cells: Sequence[Cell]
    draw: Callable[[], list[Path]]


def main_picture(pictures: Sequence[Picture]) -> Picture:
    """House, as in the paper's Figures 3 and 4; without it, the first."""
    return next((p for p in pictures if p.name == "house"), pictures[0])


def alpha_unit(picture: Picture) -> float:
    """The paper's alpha for house, carried over to other sizes and depths: a gradient sums over rows and columns."""
    return PAPER_ALPHA * (PAPER_SIZE / picture.truth.size) ** 0.5 * 255 / peak_of(picture.truth)


def save(figure: Figure, path: Path) -> Path:
    """The figure as a PNG that is whole or absent."""
    with replace_file(path) as file:
        figure.savefig(file, format="png", dpi=150, bbox_inches="tight")
    return path
