"""LRTC-TNN: HaLRTC with the truncated nuclear norm, whose leading singular values go unshrunk."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from tensorfill.methods.arrays import Dense
from tensorfill.methods.base import METHODS
from tensorfill.methods.checks import check_above
from tensorfill.methods.classical.halrtc import HaLRTC


@METHODS.register("lrtc-tnn")
@dataclass(frozen=True)
class LRTCTNN(HaLRTC):
    """min over X of sum_i alpha_i (sum of all but the first r_i singular values of unfold_i(X)), with X = T on O.

    Attributes
    ----------
    theta : r_i = ceil(theta I_i); None: 0.35 times the observed share, so that the free part stays within what the
        observed entries determine (the authors take 0.25, 0.2, 0.1 at 30, 70, 90 % missing, too many at 90 %)
    """

    reference: ClassVar[str] = (
        "Chen, Yang, Sun: A nonconvex low-rank tensor completion model for spatiotemporal traffic data imputation, "
        "Transportation Research C 2020"
    )
    assumes: ClassVar[str] = "a few strong patterns per mode that must not be shrunk, e.g. sensor x day x hour"
    use_when: ClassVar[str] = "sensor or traffic tables with a daily pattern, up to about 70 % missing"
    competes: ClassVar[bool] = True
    costs: ClassVar[tuple[float, float, float, int]] = (9e-4, 5e-8, 7e-10, 80)

    rho: float = 1e-2
    eps: float = 1e-4
    theta: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.theta is not None:
            check_above(self, 0, "theta", included=True)

    def keep(self, data: Dense) -> list[int]:
        theta = 0.35 * data.share if self.theta is None else min(self.theta, 1.0)
        shape, size = data.T.shape, data.T.size
        # At least one value stays under the penalty: with all of them free, any filling would be optimal.
        return [min(math.ceil(theta * length), min(length, size // length) - 1) for length in shape]
