"""Names of files that can be read in pieces: patterns, folders, lists of them."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Any

from tensorfill.io.formats.base import FileError

TABLES = (".parquet", ".pq", ".csv", ".tsv", ".csv.gz")
READS = (*TABLES, ".tns")


def files_of(pattern: Any) -> list[str]:
    """The files that a pattern, a path, a folder of Parquet files, or a list of any of these means, in order."""
    if not isinstance(pattern, str | os.PathLike):
        return [f for p in pattern for f in files_of(p)]
    text = os.fspath(pattern)
    if os.path.isdir(text):
        found = sorted(glob.glob(os.path.join(glob.escape(text), "**", "*.parquet"), recursive=True))
        kind = "the folder holds no .parquet file"
    else:
        found = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))
        kind = "there is no such file"
    if not found:
        msg = f"cannot read {text}: {kind}."
        raise FileError(msg)
    strange = [f for f in found if not f.lower().endswith(READS)]
    if strange:
        msg = f"cannot read {strange[0]} in pieces: its name must end in one of {' '.join(READS)}."
        raise ValueError(msg)
    return found


def is_table(path: str) -> bool:
    """Is it a table, whose columns must be named?"""
    return path.lower().endswith(TABLES)


def path_like(data: Any) -> bool:
    """Does this name files?"""
    if isinstance(data, str | Path):
        return True
    return isinstance(data, list | tuple) and len(data) > 0 and all(isinstance(x, str | Path) for x in data)


def in_pieces(pattern: Any) -> bool:
    """Does it name files that can be read in pieces, by their endings?"""
    names = [pattern] if isinstance(pattern, str | Path) else pattern
    return all(_folder(name) or os.fspath(name).lower().endswith(READS) for name in names)


def _folder(name: Any) -> bool:
    """Is it a folder of Parquet files, somewhere below? A store or a series of pictures may be a folder, too."""
    return os.path.isdir(name) and next(Path(name).rglob("*.parquet"), None) is not None
