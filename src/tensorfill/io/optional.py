"""Optional libraries: imported when first needed, with a sentence that says how to get them."""

from __future__ import annotations

import importlib
from types import ModuleType


def attempt_import(module: str, purpose: str, extra: str) -> ModuleType:
    """Import `module`, or say what it is for and how to install it.

    Parameters
    ----------
    module : dotted name, e.g. "pyarrow.parquet"
    purpose : the start of the sentence, e.g. "reading Parquet"
    extra : the extra of this package that brings the library, e.g. "pandas"
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        missing = (error.name or package).partition(".")[0]
        # a library that is there but lacks one of its own: both names help
        needed = package if missing == package else f"{package} and {missing}"
        pronoun = "it" if missing == package else "them"
        msg = f"{purpose} needs {needed}; install {pronoun} with: pip install 'tensorfill[{extra}]'"
        raise ImportError(msg) from error
