"""`da.tensorfill.complete()`: tensorfill as an accessor of xarray.DataArray. `import tensorfill.accessor` registers it.

It is not registered by `import tensorfill`, which does not import xarray.
"""

from __future__ import annotations

from typing import Any

from tensorfill.api import complete
from tensorfill.data.optional import attempt_import
from tensorfill.result.completion import Completion

xarray = attempt_import("xarray", "tensorfill.accessor", "xarray")


@xarray.register_dataarray_accessor("tensorfill")
class TensorfillAccessor:
    """What tensorfill can do with a DataArray: NaN is missing, dimensions go by their names."""

    def __init__(self, da: Any) -> None:
        self._da = da

    def complete(self, mask: Any = None, **options: Any) -> Completion:
        """Fill the missing entries: `tensorfill.complete(da, mask, **options)`.

        Parameters
        ----------
        mask : True = observed, a DataArray in any order of dims, or an array of the data's shape; None: NaN alone
        **options : those of `tensorfill.complete`, e.g. prior="poisson", smooth={"hour": 1.0}, seed=0

        Returns
        -------
        Completion : its `.completed` is a DataArray with the same coordinates, attributes and name. A dask-backed
            array is loaded whole, and a warning says how large it is.
        """
        return complete(self._da, mask, **options)
