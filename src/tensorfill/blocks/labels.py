"""Labels to numbers as they come: of any kind, and any number of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorfill.io.formats.long import natural_order
from tensorfill.typing import Array


class Numbering:
    """The labels of one dimension, numbered in the order of their first appearance."""

    def __init__(self) -> None:
        self.seen: dict[Any, int] = {}

    def codes(self, labels: Sequence[Any], which: Array) -> Array:
        """Numbers of `labels[which]`, (n,); labels are different from one another."""
        seen = self.seen
        numbers = np.fromiter((seen.setdefault(label, len(seen)) for label in labels), np.int64, len(labels))
        return numbers[which]

    def finish(self) -> tuple[Array, Array]:
        """(labels (I_n,) in the order of the tensor, for each number its place in it)."""
        found = list(self.seen)
        order = natural_order(found)
        rank = np.empty(len(found), dtype=np.int32)
        rank[order] = np.arange(len(found), dtype=np.int32)
        return label_array([found[k] for k in order]), rank


def label_array(labels: list[Any]) -> Array:
    """Labels as an array of one mode: of numbers where they are numbers, else of Python's own objects."""
    if labels and all(type(x) is int for x in labels):
        return np.array(labels)
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out
