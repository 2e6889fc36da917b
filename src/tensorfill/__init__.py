"""Low-rank tensor completion with numerical priors: fill the holes in multiway data."""

import importlib
import sys
import typing

from tensorfill import _command  # first: it sees to a Ctrl-C while the rest is loading

if not _command.asks_for_help(sys.orig_argv):  # a page of help is printed without the half second that loading takes
    from tensorfill.api import complete as complete
    from tensorfill.data.observations import Observations as Observations
    from tensorfill.interelement.base import INTERELEMENT as INTERELEMENT
    from tensorfill.interelement.base import InterElementPrior as InterElementPrior
    from tensorfill.interelement.check import check_interelement_prior as check_interelement_prior
    from tensorfill.interelement.check import check_tensorspace_prior as check_tensorspace_prior
    from tensorfill.interelement.graph import GraphLaplacian as GraphLaplacian
    from tensorfill.interelement.nonsmooth import L1 as L1
    from tensorfill.interelement.nonsmooth import Box as Box
    from tensorfill.interelement.nonsmooth import NonNegative as NonNegative
    from tensorfill.interelement.nonsmooth import TotalVariation as TotalVariation
    from tensorfill.interelement.quadratic import Autoregressive as Autoregressive
    from tensorfill.interelement.quadratic import QuadraticVariation as QuadraticVariation
    from tensorfill.interelement.quadratic import Ridge as Ridge
    from tensorfill.interelement.tensorspace import TENSORSPACE as TENSORSPACE
    from tensorfill.interelement.tensorspace import IsotropicTV as IsotropicTV
    from tensorfill.interelement.tensorspace import TensorSpacePrior as TensorSpacePrior
    from tensorfill.io.observe import observe as observe
    from tensorfill.methods import METHODS as METHODS
    from tensorfill.methods.check_method import check_method as check_method
    from tensorfill.models import CP as CP
    from tensorfill.models import MODELS as MODELS
    from tensorfill.models import TR as TR
    from tensorfill.models import TT as TT
    from tensorfill.models import Tubal as Tubal
    from tensorfill.models import Tucker as Tucker
    from tensorfill.models.init import initial_factors as initial_factors
    from tensorfill.numerical.base import PRIORS as PRIORS
    from tensorfill.numerical.base import Interval as Interval
    from tensorfill.numerical.base import NumericalPrior as NumericalPrior
    from tensorfill.numerical.binary import Bernoulli as Bernoulli
    from tensorfill.numerical.binary import BernoulliLogit as BernoulliLogit
    from tensorfill.numerical.binary import BernoulliOdds as BernoulliOdds
    from tensorfill.numerical.binary import Binomial as Binomial
    from tensorfill.numerical.check import check_numerical_prior as check_numerical_prior
    from tensorfill.numerical.continuous import Huber as Huber
    from tensorfill.numerical.continuous import Laplace as Laplace
    from tensorfill.numerical.continuous import Normal as Normal
    from tensorfill.numerical.continuous import StudentT as StudentT
    from tensorfill.numerical.custom import Custom as Custom
    from tensorfill.numerical.discrete import Geometric as Geometric
    from tensorfill.numerical.discrete import NegativeBinomial as NegativeBinomial
    from tensorfill.numerical.discrete import Poisson as Poisson
    from tensorfill.numerical.discrete import PoissonLog as PoissonLog
    from tensorfill.numerical.ordinal import Ordinal as Ordinal
    from tensorfill.numerical.positive import BetaDivergence as BetaDivergence
    from tensorfill.numerical.positive import Exponential as Exponential
    from tensorfill.numerical.positive import Gamma as Gamma
    from tensorfill.numerical.positive import LogNormal as LogNormal
    from tensorfill.numerical.positive import Rayleigh as Rayleigh
    from tensorfill.numerical.proportion import Beta as Beta
    from tensorfill.numerical.slices import PerSlice as PerSlice
    from tensorfill.numerical.slices import Rescaled as Rescaled
    from tensorfill.numerical.truncated import TruncatedNormal as TruncatedNormal
    from tensorfill.numerical.zeros import ZeroInflatedPoisson as ZeroInflatedPoisson
    from tensorfill.numerical.zeros import ZeroTruncatedPoisson as ZeroTruncatedPoisson
    from tensorfill.problem import DataWarning as DataWarning
    from tensorfill.problem import Problem as Problem
    from tensorfill.result.completion import Completion as Completion
    from tensorfill.result.record import History as History
    from tensorfill.result.record import Status as Status
    from tensorfill.solvers.adam import Adam as Adam
    from tensorfill.solvers.admm import ADMM as ADMM
    from tensorfill.solvers.base import SOLVERS as SOLVERS
    from tensorfill.solvers.fit import solve as solve
    from tensorfill.solvers.lbfgsb import LBFGSB as LBFGSB
    from tensorfill.solvers.loop import Stopping as Stopping
    from tensorfill.solvers.multiplicative import Multiplicative as Multiplicative
    from tensorfill.solvers.newton import Newton as Newton
    from tensorfill.solvers.onestep import OneStep as OneStep
elif not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name after all: of a package that adds a command."""
        if name.startswith("_") or not _command.asks_for_help(sys.orig_argv):
            raise AttributeError(name)
        _command.asks_for_help = lambda argv: False
        return getattr(importlib.reload(sys.modules[__name__]), name)


__version__ = "0.1.0"

__all__ = [n for n, thing in [*vars(sys.modules[__name__]).items()] if n[0] != "_" and not isinstance(thing, type(sys))]


def __dir__() -> list[str]:
    """The public names only: what completion in an editor or a notebook shows."""
    return sorted([*__all__, "__version__", "__doc__"])
