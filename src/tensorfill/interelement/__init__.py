"""How entries hang together: priors on factor matrices, and on the tensor itself."""

from tensorfill.interelement.algebra import Scaled as Scaled
from tensorfill.interelement.algebra import Sum as Sum
from tensorfill.interelement.algebra import interelement_from_settings as interelement_from_settings
from tensorfill.interelement.autoregressive import Autoregressive as Autoregressive
from tensorfill.interelement.base import INTERELEMENT as INTERELEMENT
from tensorfill.interelement.base import InterElementPrior as InterElementPrior
from tensorfill.interelement.base import Weighted as Weighted
from tensorfill.interelement.check import check_interelement_prior as check_interelement_prior
from tensorfill.interelement.check import check_tensorspace_prior as check_tensorspace_prior
from tensorfill.interelement.graph import GraphLaplacian as GraphLaplacian
from tensorfill.interelement.nonsmooth import L1 as L1
from tensorfill.interelement.nonsmooth import Box as Box
from tensorfill.interelement.nonsmooth import NonNegative as NonNegative
from tensorfill.interelement.nonsmooth import TotalVariation as TotalVariation
from tensorfill.interelement.quadratic import Quadratic as Quadratic
from tensorfill.interelement.quadratic import QuadraticVariation as QuadraticVariation
from tensorfill.interelement.quadratic import Ridge as Ridge
from tensorfill.interelement.tensorspace import TENSORSPACE as TENSORSPACE
from tensorfill.interelement.tensorspace import IsotropicTV as IsotropicTV
from tensorfill.interelement.tensorspace import TensorSpacePrior as TensorSpacePrior
from tensorfill.interelement.tensorspace import opponent as opponent
from tensorfill.interelement.tensorspace import tensorspace_from_settings as tensorspace_from_settings

__all__ = [
    "INTERELEMENT",
    "L1",
    "TENSORSPACE",
    "Autoregressive",
    "Box",
    "GraphLaplacian",
    "InterElementPrior",
    "IsotropicTV",
    "NonNegative",
    "Quadratic",
    "QuadraticVariation",
    "Ridge",
    "Scaled",
    "Sum",
    "TensorSpacePrior",
    "TotalVariation",
    "Weighted",
    "check_interelement_prior",
    "check_tensorspace_prior",
    "interelement_from_settings",
    "opponent",
    "tensorspace_from_settings",
]
