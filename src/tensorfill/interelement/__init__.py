"""How entries hang together: priors on factor matrices, and on the tensor itself."""

from tensorfill.interelement.algebra import Scaled, Sum
from tensorfill.interelement.autoregressive import Autoregressive
from tensorfill.interelement.base import INTERELEMENT, InterElementPrior, Weighted
from tensorfill.interelement.check import check_interelement_prior, check_tensorspace_prior
from tensorfill.interelement.graph import GraphLaplacian
from tensorfill.interelement.nonsmooth import L1, Box, NonNegative, TotalVariation
from tensorfill.interelement.quadratic import Quadratic, QuadraticVariation, Ridge
from tensorfill.interelement.tensorspace import TENSORSPACE, IsotropicTV, TensorSpacePrior

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
]
