"""Low-rank tensor completion with numerical priors: fill the holes in multiway data."""

import importlib
import sys
import typing

from tensorfill import _command  # first: it sees to a Ctrl-C while the rest is loading

if not _command.asks_for_help(sys.orig_argv):  # a page of help is printed without the half second that loading takes
    from tensorfill.api import complete
    from tensorfill.data.categories import Categories
    from tensorfill.data.observations import Observations
    from tensorfill.interelement.autoregressive import Autoregressive
    from tensorfill.interelement.base import INTERELEMENT, InterElementPrior
    from tensorfill.interelement.check import check_interelement_prior, check_tensorspace_prior
    from tensorfill.interelement.graph import GraphLaplacian
    from tensorfill.interelement.nonsmooth import L1, Box, NonNegative, TotalVariation
    from tensorfill.interelement.quadratic import QuadraticVariation, Ridge
    from tensorfill.interelement.tensorspace import TENSORSPACE, IsotropicTV, TensorSpacePrior
    from tensorfill.io.observe import observe
    from tensorfill.methods import METHODS
    from tensorfill.methods.check_method import check_method
    from tensorfill.models import CP, MODELS, TR, TT, Tubal, Tucker
    from tensorfill.models.init import initial_factors
    from tensorfill.numerical.base import PRIORS, Interval, NumericalPrior
    from tensorfill.numerical.binary import Bernoulli, BernoulliLogit, BernoulliOdds, Binomial
    from tensorfill.numerical.check import check_numerical_prior
    from tensorfill.numerical.continuous import Huber, Laplace, Normal, StudentT
    from tensorfill.numerical.custom import Custom
    from tensorfill.numerical.discrete import Geometric, NegativeBinomial, Poisson, PoissonLog
    from tensorfill.numerical.ordinal import Ordinal
    from tensorfill.numerical.positive import BetaDivergence, Exponential, Gamma, LogNormal, Rayleigh
    from tensorfill.numerical.proportion import Beta
    from tensorfill.numerical.slices import PerSlice, Rescaled
    from tensorfill.numerical.truncated import TruncatedNormal
    from tensorfill.numerical.zeros import ZeroInflatedPoisson, ZeroTruncatedPoisson
    from tensorfill.problem import DataWarning, Problem
    from tensorfill.result.completion import Completion
    from tensorfill.result.record import History, Status
    from tensorfill.solvers.adam import Adam
    from tensorfill.solvers.admm import ADMM
    from tensorfill.solvers.base import SOLVERS
    from tensorfill.solvers.blockprox import BlockProx
    from tensorfill.solvers.fit import solve
    from tensorfill.solvers.hals import HALS
    from tensorfill.solvers.lbfgsb import LBFGSB
    from tensorfill.solvers.loop import Stopping
    from tensorfill.solvers.multiplicative import Multiplicative
    from tensorfill.solvers.newton import Newton
    from tensorfill.solvers.onestep import OneStep
elif not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name after all: of a package that adds a command."""
        if name not in __all__:
            raise AttributeError(name)
        _command.asks_for_help = lambda argv: False
        return getattr(importlib.reload(sys.modules[__name__]), name)


__version__ = "0.1.0"

__all__ = [
    "ADMM",
    "CP",
    "HALS",
    "INTERELEMENT",
    "L1",
    "LBFGSB",
    "METHODS",
    "MODELS",
    "PRIORS",
    "SOLVERS",
    "TENSORSPACE",
    "TR",
    "TT",
    "Adam",
    "Autoregressive",
    "Bernoulli",
    "BernoulliLogit",
    "BernoulliOdds",
    "Beta",
    "BetaDivergence",
    "Binomial",
    "BlockProx",
    "Box",
    "Categories",
    "Completion",
    "Custom",
    "DataWarning",
    "Exponential",
    "Gamma",
    "Geometric",
    "GraphLaplacian",
    "History",
    "Huber",
    "InterElementPrior",
    "Interval",
    "IsotropicTV",
    "Laplace",
    "LogNormal",
    "Multiplicative",
    "NegativeBinomial",
    "Newton",
    "NonNegative",
    "Normal",
    "NumericalPrior",
    "Observations",
    "OneStep",
    "Ordinal",
    "PerSlice",
    "Poisson",
    "PoissonLog",
    "Problem",
    "QuadraticVariation",
    "Rayleigh",
    "Rescaled",
    "Ridge",
    "Status",
    "Stopping",
    "StudentT",
    "TensorSpacePrior",
    "TotalVariation",
    "TruncatedNormal",
    "Tubal",
    "Tucker",
    "ZeroInflatedPoisson",
    "ZeroTruncatedPoisson",
    "check_interelement_prior",
    "check_method",
    "check_numerical_prior",
    "check_tensorspace_prior",
    "complete",
    "initial_factors",
    "observe",
    "solve",
]


def __dir__() -> list[str]:
    """The public names only: what completion in an editor or a notebook shows."""
    return sorted([*__all__, "__version__", "__doc__"])
