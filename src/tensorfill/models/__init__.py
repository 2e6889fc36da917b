"""Models, one file each. Importing this package registers all of them, CP first."""

from tensorfill.models.base import MODELS as MODELS  # noqa: I001  the order of lists
from tensorfill.models.base import Model as Model
from tensorfill.models.cp import CP as CP
from tensorfill.models.tucker import Tucker as Tucker
from tensorfill.models.tt import TT as TT
from tensorfill.models.tr import TR as TR
from tensorfill.models.tubal import Tubal as Tubal
from tensorfill.models.init import initial_factors as initial_factors
from tensorfill.registry import import_modules

import_modules(__name__, __path__)
