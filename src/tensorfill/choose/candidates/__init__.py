"""Candidates, one file each. Importing this package registers all of them, the plain ones first."""

from tensorfill.choose.candidates import means as _means  # noqa: F401, I001  the order of lists
from tensorfill.choose.candidates import interpolate as _interpolate  # noqa: F401
from tensorfill.choose.candidates import season as _season  # noqa: F401
from tensorfill.choose.candidates import timeline as _timeline  # noqa: F401
from tensorfill.choose.candidates import columns as _columns  # noqa: F401
from tensorfill.choose.candidates import together as _together  # noqa: F401
from tensorfill.choose.candidates import rows as _rows  # noqa: F401
from tensorfill.choose.candidates import posterior as _posterior  # noqa: F401
from tensorfill.choose.candidates import low_rank as _low_rank  # noqa: F401
from tensorfill.choose.candidates import exact as _exact  # noqa: F401
from tensorfill.choose.candidates import models as _models  # noqa: F401
from tensorfill.choose.candidates import field as _field  # noqa: F401
from tensorfill.choose.candidates import components as _components  # noqa: F401
from tensorfill.choose.candidates import continuation as _continuation  # noqa: F401
from tensorfill.choose.candidates import classical as _classical  # noqa: F401
from tensorfill.choose.candidates.base import CANDIDATES as CANDIDATES
