"""Low-rank tensor completion with numerical priors: fill the holes in multiway data."""

from tensorfill import _command  # noqa: F401  first: it sees to a Ctrl-C while the rest is loading
from tensorfill.api import complete
from tensorfill.data.convert import observe
from tensorfill.data.observations import Observations
from tensorfill.interelement import (
    INTERELEMENT,
    L1,
    TENSORSPACE,
    Autoregressive,
    Box,
    GraphLaplacian,
    InterElementPrior,
    IsotropicTV,
    NonNegative,
    QuadraticVariation,
    Ridge,
    TensorSpacePrior,
    TotalVariation,
    check_interelement_prior,
    check_tensorspace_prior,
)
from tensorfill.methods import METHODS
from tensorfill.models import CP, MODELS, TR, TT, Tubal, Tucker
from tensorfill.models.init import initial_factors
from tensorfill.numerical import (
    PRIORS,
    Bernoulli,
    BernoulliLogit,
    BernoulliOdds,
    BetaDivergence,
    Binomial,
    Custom,
    Exponential,
    Gamma,
    Geometric,
    Huber,
    Interval,
    Laplace,
    LogNormal,
    NegativeBinomial,
    Normal,
    NumericalPrior,
    Poisson,
    PoissonLog,
    Rayleigh,
    StudentT,
    check_numerical_prior,
)
from tensorfill.problem import DataWarning, Problem
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Status
from tensorfill.solvers import (
    ADMM,
    HALS,
    LBFGSB,
    SOLVERS,
    Adam,
    BlockProx,
    Multiplicative,
    Newton,
    OneStep,
    Stopping,
)
from tensorfill.solvers.fit import solve

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
    "BetaDivergence",
    "Binomial",
    "BlockProx",
    "Box",
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
    "Poisson",
    "PoissonLog",
    "Problem",
    "QuadraticVariation",
    "Rayleigh",
    "Ridge",
    "Status",
    "Stopping",
    "StudentT",
    "TensorSpacePrior",
    "TotalVariation",
    "Tubal",
    "Tucker",
    "check_interelement_prior",
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
