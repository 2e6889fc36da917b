"""How entries hang together: priors on factors, and on the tensor. Importing this package registers all."""

from tensorfill.registry import import_modules, names_in_modules

import_modules(__name__, __path__)
__getattr__ = names_in_modules(__name__)
