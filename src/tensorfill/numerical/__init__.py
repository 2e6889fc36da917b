"""What one number is: the numerical priors."""

from tensorfill.numerical.base import COUNTS as COUNTS
from tensorfill.numerical.base import NONNEGATIVE as NONNEGATIVE
from tensorfill.numerical.base import POSITIVE as POSITIVE
from tensorfill.numerical.base import PRIORS as PRIORS
from tensorfill.numerical.base import REAL as REAL
from tensorfill.numerical.base import UNIT as UNIT
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
from tensorfill.numerical.extend import Extended as Extended
from tensorfill.numerical.positive import BetaDivergence as BetaDivergence
from tensorfill.numerical.positive import Exponential as Exponential
from tensorfill.numerical.positive import Gamma as Gamma
from tensorfill.numerical.positive import LogNormal as LogNormal
from tensorfill.numerical.positive import Rayleigh as Rayleigh

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
