"""How an objective goes down. Importing this package registers every solver."""

from tensorfill.registry import import_modules, names_in_modules

import_modules(__name__, __path__)
__getattr__ = names_in_modules(__name__)
