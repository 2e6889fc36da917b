"""MATLAB's .mat up to version 7 through SciPy, read in a process of its own."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import IO, Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.arrays import choose_variable
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.isolated import read_isolated, task

WHOLE = tuple(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))
TYPES = {"double": "f8", "single": "f4", "logical": "?", **dict(zip(WHOLE, WHOLE, strict=True))}  # MATLAB's names


@FORMATS.register("mat")
class MAT(Format):
    """MATLAB through SciPy, written as version 5."""

    title = "a MATLAB file"
    description = "MATLAB variables by name (--variable), up to version 7"
    endings = (".mat",)
    magic = (b"MATLAB 5.0", b"MATLAB 7.3")
    options = frozenset({"variable"})

    def read(self, request: Request) -> Loaded:
        assert request.file is not None
        if request.file.read(10) == self.magic[1]:
            msg = "it is of version 7.3; save it in MATLAB with -v7, or as HDF5 (.h5)."
            raise FileError(msg)
        request.file.seek(0)
        variables = read_isolated("mat", request)
        numbers = {
            k: str(v.shape)
            for k, v in variables.items()
            if isinstance(v, np.ndarray) and v.dtype.kind in "biuf" and (v.size > 1 or k == request.variable)
        }
        odd = [k for k, v in variables.items() if isinstance(v, np.ndarray) and v.dtype.kind == "c"]
        if request.variable in odd or (odd and not numbers):
            msg = f"{request.variable or odd[0]} holds complex numbers; only real numbers can be completed."
            raise FileError(msg)
        name = choose_variable(numbers, request.variable)
        values = variables[name]
        return Loaded("mat", values.shape, values.dtype, values, extra={"variables": variables, "name": name})

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        from scipy.io import savemat

        name = str(like.extra.get("name") or "values")
        if not name.isidentifier():  # MATLAB names are letters, digits and underscores
            name = "values"
        variables = {**like.extra.get("variables", {}), name: array} if like.format == "mat" else {name: array}
        out = io.BytesIO()
        # SciPy turns a vector into a row of its own accord, and refuses names over 31 letters unless told
        savemat(out, variables, do_compression=True, long_field_names=True)
        sink.write(out.getbuffer())


@task("mat", "scipy.io")
def variables_of(source: str | bytes) -> dict[str, Any]:
    """All variables of a file, by its path or its bytes."""
    from scipy.io import loadmat, whosmat

    data = Path(source).read_bytes() if isinstance(source, str) else source
    listed = whosmat(io.BytesIO(data))
    ask(24 * sum(math.prod(shape) for _, shape, _ in listed), "what is in it, unpacked,")
    # a double that MATLAB stored as small integers to save room is still a double, and a logical no integer; SciPy's
    # own way to say so, mat_dtype=True, takes the imaginary part away from complex numbers
    found = loadmat(io.BytesIO(data), mat_dtype=False)
    kinds = {name: TYPES.get(kind) for name, _, kind in listed}
    out = {k: v for k, v in found.items() if not k.startswith("__")}
    for name, values in out.items():
        dtype = kinds.get(name)
        if dtype is not None and isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
            out[name] = values.astype(dtype, copy=False)
    return out
