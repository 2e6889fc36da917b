"""What one number is: the numerical priors."""

from tensorfill.numerical.base import COUNTS, NONNEGATIVE, POSITIVE, PRIORS, REAL, UNIT, Interval, NumericalPrior
from tensorfill.numerical.binary import Bernoulli, BernoulliLogit, BernoulliOdds, Binomial
from tensorfill.numerical.check import check_numerical_prior
from tensorfill.numerical.continuous import Huber, Laplace, Normal, StudentT
from tensorfill.numerical.custom import Custom
from tensorfill.numerical.discrete import Geometric, NegativeBinomial, Poisson, PoissonLog
from tensorfill.numerical.extend import Extended
from tensorfill.numerical.positive import BetaDivergence, Exponential, Gamma, LogNormal, Rayleigh

__all__ = [
    "COUNTS",
    "NONNEGATIVE",
    "POSITIVE",
    "PRIORS",
    "REAL",
    "UNIT",
    "Bernoulli",
    "BernoulliLogit",
    "BernoulliOdds",
    "BetaDivergence",
    "Binomial",
    "Custom",
    "Exponential",
    "Extended",
    "Gamma",
    "Geometric",
    "Huber",
    "Interval",
    "Laplace",
    "LogNormal",
    "NegativeBinomial",
    "Normal",
    "NumericalPrior",
    "Poisson",
    "PoissonLog",
    "Rayleigh",
    "StudentT",
    "check_numerical_prior",
]
