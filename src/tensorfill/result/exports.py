"""A model as other libraries have it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tensorfill.io.optional import attempt_import
from tensorfill.models import CP, TR, TT, Model, Tucker


def to_tensorly(model: Model) -> Any:
    """The same tensor in TensorLy's class for its form."""
    what = "exporting to TensorLy"
    if isinstance(model, CP):
        cp = attempt_import("tensorly.cp_tensor", what, "export")
        return cp.CPTensor((np.ones(model.rank, dtype=model.factors[0].dtype), list(model.factors)))
    if isinstance(model, Tucker):
        return attempt_import("tensorly.tucker_tensor", what, "export").TuckerTensor((model.core, list(model.factors)))
    if isinstance(model, TT):
        return attempt_import("tensorly.tt_tensor", what, "export").TTTensor(list(model.cores))
    if isinstance(model, TR):
        return attempt_import("tensorly.tr_tensor", what, "export").TRTensor(list(model.cores))
    raise _no_form(model, "TensorLy")


def to_pyttb(model: Model) -> Any:
    """The same tensor in pyttb's class for its form."""
    pyttb = attempt_import("pyttb", "exporting to pyttb", "export")
    if isinstance(model, CP):
        return pyttb.ktensor([np.asfortranarray(A, dtype=np.float64) for A in model.factors])
    if isinstance(model, Tucker):
        core = pyttb.tensor(np.asfortranarray(model.core, dtype=np.float64))
        return pyttb.ttensor(core, [np.asfortranarray(A, dtype=np.float64) for A in model.factors])
    raise _no_form(model, "pyttb")


def _no_form(model: Model, library: str) -> TypeError:
    return TypeError(f"{library} has no class for a {model.name} model; use done.model.full().")
