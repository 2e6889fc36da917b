"""Methods: ready-made recipes. Importing this package registers all of them, in the order users see."""

from tensorfill.methods import sptc as _sptc  # noqa: F401, I001  the order of registration is the order of lists
from tensorfill.methods import bayes as _bayes  # noqa: F401
from tensorfill.methods import falrtc as _falrtc  # noqa: F401
from tensorfill.methods import halrtc as _halrtc  # noqa: F401
from tensorfill.methods import stdc as _stdc  # noqa: F401
from tensorfill.methods import tsvd as _tsvd  # noqa: F401
from tensorfill.methods import lrtv_pds as _lrtv_pds  # noqa: F401
from tensorfill.methods import fbcp as _fbcp  # noqa: F401
from tensorfill.methods import spc as _spc  # noqa: F401
from tensorfill.methods import silrtc as _silrtc  # noqa: F401
from tensorfill.methods import lrtc_tnn as _lrtc_tnn  # noqa: F401
from tensorfill.methods import tctv as _tctv  # noqa: F401
from tensorfill.methods.base import METHODS as METHODS
