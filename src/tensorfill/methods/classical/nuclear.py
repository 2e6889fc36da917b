"""What the methods that minimise nuclear norms of X itself have in common beside thresholding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.observations import Observations
from tensorfill.methods.arrays import ArrayMethod, Dense
from tensorfill.methods.checks import check_above, keep_as_tuples
from tensorfill.result.record import Status
from tensorfill.solvers.base import State
from tensorfill.typing import Array


def has_channels(shape: Sequence[int]) -> bool:
    """Is it a shape of pictures or film: a last mode of at most 4 (colours) behind longer ones?"""
    return len(shape) >= 3 and shape[-1] <= 4 and min(shape[:-1]) > 4


def mode_weights(shape: Sequence[int], given: Sequence[float] | None = None, channel: float = 1e-3) -> Array:
    """Weights of the modes, summing to 1: `given`, or equal ones but for `channel` on a colour mode."""
    weights = np.ones(len(shape)) if given is None else np.asarray(given, dtype=float)
    if weights.shape != (len(shape),) or not np.all(weights >= 0) or not weights.sum() > 0:
        msg = f"alpha must hold one weight >= 0 for each of the {len(shape)} modes, not all 0; got {given}."
        raise ValueError(msg)
    if given is None and has_channels(shape):
        weights[-1] = channel
    return weights / weights.sum()


def mean_filled(T: Array, O: NDArray[np.bool_]) -> Array:  # noqa: E741
    """T with the mean of the observed entries in the gaps: where the nuclear-norm methods start."""
    return np.where(O, T, T[O].mean())


def paste(X: Array, data: Dense) -> Array:
    """X with T on O, in place. Multiplying is eight times faster than a choice per entry on a random mask."""
    X *= ~data.O
    X += data.T
    return X


def too_few(obs: Observations) -> bool:
    """Are there fewer than 4 observed entries per degree of freedom of a rank-one matrix, in the easiest unfolding?

    Then the least nuclear norm is reached near zero fill (256 x 256 x 3 at 99 % missing: 8 dB, against 14 dB for the
    mean), since isolated entries cost more when joined by a full low-rank matrix than when left alone.
    """
    easiest = min(size + obs.size // size for size in obs.shape)
    return obs.nnz < 4 * easiest


@dataclass(frozen=True)
class NuclearMethod(ArrayMethod):
    """A method whose norm pulls X towards a level: zero as published, the observed mean where that would win.

    Attributes
    ----------
    center : True: towards the mean of the observed entries; False: towards zero; None: the mean when `too_few`
    """

    center: bool | None = None

    def level(self, obs: Observations) -> float:
        centred = too_few(obs) if self.center is None else self.center
        return float(np.mean(obs.values, dtype=np.float64)) if centred else 0.0


@dataclass(frozen=True)
class LRTC(NuclearMethod):
    """What FaLRTC, SiLRTC and HaLRTC share: nuclear norms of the unfoldings, stopped by the change of X.

    Attributes
    ----------
    alpha : weights of the modes; None: equal, 1e-3 for a colour mode (see `mode_weights`)
    """

    reference: ClassVar[str] = (
        "Liu, Musialski, Wonka, Ye: Tensor completion for estimating missing values in visual data, IEEE TPAMI 2013"
    )
    assumes: ClassVar[str] = "every unfolding is near low rank; any number of modes"

    alpha: Sequence[float] | None = None
    min_iter: int = 100
    eps: float = 1e-5

    def __post_init__(self) -> None:
        keep_as_tuples(self, "alpha")
        check_above(self, 0, "eps")

    def done(self, data: Dense, state: State, previous: State | None) -> Status | None:
        if previous is None or state.numbers["k"] < self.min_iter:
            return None
        size, gap = float(np.vdot(data.T, data.T)), state.arrays["X"] - previous.arrays["X"]
        change = np.sqrt(np.vdot(gap, gap) / (size or 1.0))  # ||change of X|| / ||T on O||, as the LRTC package has it
        return Status.CONVERGED if change < self.eps else None
