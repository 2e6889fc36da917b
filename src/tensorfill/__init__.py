"""Low-rank tensor completion with numerical priors: fill the holes in multiway data."""

from tensorfill import _command  # noqa: F401, I001  first: it sees to a Ctrl-C while the rest is loading
from tensorfill import interelement, numerical
from tensorfill.api import complete as complete
from tensorfill.data.convert import observe as observe
from tensorfill.data.observations import Observations as Observations
from tensorfill.interelement import *  # noqa: F403  every prior registered there
from tensorfill.methods import METHODS as METHODS
from tensorfill.models import CP as CP
from tensorfill.models import MODELS as MODELS
from tensorfill.models import TR as TR
from tensorfill.models import TT as TT
from tensorfill.models import Tubal as Tubal
from tensorfill.models import Tucker as Tucker
from tensorfill.models.init import initial_factors as initial_factors
from tensorfill.numerical import *  # noqa: F403  every prior registered there
from tensorfill.problem import DataWarning as DataWarning
from tensorfill.problem import Problem as Problem
from tensorfill.result.completion import Completion as Completion
from tensorfill.result.record import History as History
from tensorfill.result.record import Status as Status
from tensorfill.solvers import ADMM as ADMM
from tensorfill.solvers import HALS as HALS
from tensorfill.solvers import LBFGSB as LBFGSB
from tensorfill.solvers import SOLVERS as SOLVERS
from tensorfill.solvers import Adam as Adam
from tensorfill.solvers import BlockProx as BlockProx
from tensorfill.solvers import Multiplicative as Multiplicative
from tensorfill.solvers import Newton as Newton
from tensorfill.solvers import OneStep as OneStep
from tensorfill.solvers import Stopping as Stopping
from tensorfill.solvers.fit import solve as solve

__version__ = "0.1.0"

__all__ = [
    "ADMM",
    "CP",
    "HALS",
    "LBFGSB",
    "METHODS",
    "MODELS",
    "SOLVERS",
    "TR",
    "TT",
    "Adam",
    "BlockProx",
    "Completion",
    "DataWarning",
    "History",
    "Multiplicative",
    "Newton",
    "Observations",
    "OneStep",
    "Problem",
    "Status",
    "Stopping",
    "Tubal",
    "Tucker",
    "complete",
    "initial_factors",
    "observe",
    "solve",
    *numerical.__all__,
    *interelement.__all__,
]


def __dir__() -> list[str]:
    """The public names only: what completion in an editor or a notebook shows."""
    return sorted([*__all__, "__version__", "__doc__"])
