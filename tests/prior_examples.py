"""Instances of every registered inter-element and tensor-space prior, for the grids."""

import numpy as np

from tensorfill import INTERELEMENT, TENSORSPACE
from tensorfill.interelement.tensorspace import opponent


def star(n):
    """A star with uneven weights: neither banded nor regular."""
    leaves = np.arange(1, n)
    return INTERELEMENT["graph-laplacian"](0.8, np.stack([0 * leaves, leaves], axis=1), 0.5 + leaves, n)


def interelement_examples(name, n):
    """Instances that suit factors of n rows; the default one where nothing else is said of a prior."""
    cls = INTERELEMENT[name]
    if name == "graph-laplacian":
        return (star(n),)
    return {
        "autoregressive": lambda: (cls(0.9), cls(1.3, (1, 3)), cls(0.7, (1, 2), (1.2, -0.4))),
        "box": lambda: (cls(-0.5, 0.7), cls(None, 0.3), cls(0.2, 2.0)),
        "quadratic-variation": lambda: tuple(cls(1.7, o, periodic) for o in (1, 2) for periodic in (False, True)),
    }.get(name, lambda: (cls(),))()


def tensorspace_examples(name):
    """Instances with a shape of X that suits each: modes and transforms of all kinds."""
    cls = TENSORSPACE[name]
    if name != "isotropic-tv":
        return ((cls(), (5, 6, 3)),)
    wide = ((1.0, 0.5, -0.2), (0.3, -1.0, 0.4))
    return (
        (cls(0.7), (5, 6, 3)),
        (cls(0.7, corner=0.3), (4, 5)),
        (cls(0.7, (0, 1), 0.5, opponent()), (5, 6, 3)),
        (cls(1.0, (2, 1), 0.5, wide, 0), (3, 5, 4)),
        (cls(1.0, (0, 3), 0.5, wide, 1), (4, 3, 2, 5)),
        (cls(1.0, (0, 1)), (1, 4, 2)),
    )
