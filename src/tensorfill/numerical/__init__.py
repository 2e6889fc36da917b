"""What one number is: the numerical priors. Importing this package registers all of them."""

from tensorfill.registry import import_modules, names_in_modules

import_modules(__name__, __path__)
__getattr__ = names_in_modules(__name__)
