"""`da.tensorfill.complete()`: tensorfill as an accessor of xarray's DataArray and Dataset.

`import tensorfill.accessor` registers it. It is not registered by `import tensorfill`, which does not import xarray.
"""

from __future__ import annotations

from typing import Any

from tensorfill.api import complete
from tensorfill.io.optional import attempt_import
from tensorfill.result.completion import Completion

xarray = attempt_import("xarray", "tensorfill.accessor", "xarray")


@xarray.register_dataset_accessor("tensorfill")
@xarray.register_dataarray_accessor("tensorfill")
class TensorfillAccessor:
    """What tensorfill can do with a DataArray or a Dataset: NaN is missing, dimensions go by their names."""

    def __init__(self, data: Any) -> None:
        self._data = data

    def complete(self, mask: Any = None, **options: Any) -> Completion:
        """Fill the missing entries: `tensorfill.complete(data, mask, **options)`.

        Parameters
        ----------
        mask : True = observed, a DataArray in any order of dims, or an array of the data's shape; None: NaN alone
        **options : those of `tensorfill.complete`, e.g. prior="poisson", smooth={"hour": 1.0}, seed=0

        Returns
        -------
        Completion : its `.completed` has the type, coordinates, attributes and names of the data. A dask-backed
            array is loaded whole, and a warning says how large it is.
        """
        return complete(self._data, mask, **options)
