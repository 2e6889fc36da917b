"""Methods: ready-made recipes. Importing this package registers all of them."""

from tensorfill.methods import auto as _auto  # noqa: F401
from tensorfill.methods import sptc as _sptc  # noqa: F401
from tensorfill.methods.base import METHODS as METHODS
