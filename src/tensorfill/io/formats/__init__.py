"""File formats, one module per family; importing this package registers all that are in its folder.

Design: nothing here imports an optional or slow library before a file needs it.
"""

import logging

from tensorfill.io.formats.base import FORMATS as FORMATS
from tensorfill.io.formats.base import FileError as FileError
from tensorfill.io.formats.base import FileWarning as FileWarning
from tensorfill.io.formats.base import Format as Format
from tensorfill.io.formats.base import Loaded as Loaded
from tensorfill.registry import import_modules

import_modules(__name__, __path__)
LAST = "hdf5"  # NetCDF files start the same
FORMATS.sort([name for name in FORMATS if name != LAST])

# What these libraries log about a damaged file is in the error message already.
for _library in ("PIL", "tifffile", "rasterio", "openpyxl"):
    logging.getLogger(_library).addHandler(logging.NullHandler())
