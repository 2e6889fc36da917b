"""The modules of compiled loops, each imported when one of its functions is first used: Numba is slow to import."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Compiled:
    """The functions of a module in this folder."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        function = getattr(import_module(f"tensorfill.kernels.{self._module}"), name)
        setattr(self, name, function)
        return function


cp, ring, tucker, tubal = Compiled("_numba"), Compiled("_ring"), Compiled("_tucker"), Compiled("_tubal")
gibbs, newton, conjugate = Compiled("_gibbs"), Compiled("_newton"), Compiled("_conjugate")
