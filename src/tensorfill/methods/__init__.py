"""Methods: everything that fills gaps. Importing this package registers every method in the folders below it."""

from tensorfill.methods.base import METHODS
from tensorfill.registry import import_modules

# The order of lists: the paper's, the others of the literature, then all others in the order of folders and files.
FIRST = [
    "sptc",
    "bayes",
    "falrtc",
    "halrtc",
    "stdc",
    "t-svd",
    "lrtv-pds",
    "fbcp",
    "fbcp-mp",
    "spc-tv",
    "spc-qv",
    "silrtc",
    "lrtc-tnn",
    "t-ctv",
]

import_modules(__name__, __path__)
METHODS.sort(FIRST)

__all__ = ["METHODS"]
