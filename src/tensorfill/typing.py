"""Types that annotations use all over the package."""

from typing import Any

from numpy.typing import NDArray

Array = NDArray[Any]
