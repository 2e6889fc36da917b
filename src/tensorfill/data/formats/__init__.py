"""File formats, one module per family; importing this package registers them all.

Design: nothing here imports an optional or slow library before a file needs it.
"""

import logging

from tensorfill.data.formats import arrays as arrays
from tensorfill.data.formats import dicom as dicom
from tensorfill.data.formats import jsons as jsons
from tensorfill.data.formats import mat as mat
from tensorfill.data.formats import movies as movies
from tensorfill.data.formats import nifti as nifti
from tensorfill.data.formats import parquet as parquet
from tensorfill.data.formats import pictures as pictures
from tensorfill.data.formats import tables as tables
from tensorfill.data.formats import tns as tns
from tensorfill.data.formats import video as video
from tensorfill.data.formats import xarrays as xarrays
from tensorfill.data.formats import xlsx as xlsx

from tensorfill.data.formats import hdf5 as hdf5  # isort: skip  after NetCDF, which starts the same
from tensorfill.data.formats.base import FORMATS as FORMATS
from tensorfill.data.formats.base import FileError as FileError
from tensorfill.data.formats.base import FileWarning as FileWarning
from tensorfill.data.formats.base import Format as Format
from tensorfill.data.formats.base import Loaded as Loaded

# What these libraries log about a damaged file is in the error message already.
for _library in ("PIL", "tifffile", "pydicom", "rasterio", "openpyxl"):
    logging.getLogger(_library).addHandler(logging.NullHandler())
