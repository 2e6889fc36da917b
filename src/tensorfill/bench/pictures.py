"""Pictures from a folder: any names, any size, grey or colour, 8 or 16 bit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.files import FileError, Loaded, read
from tensorfill.registry import did_you_mean

Array = NDArray[Any]

ENDINGS = (".png", ".tif", ".tiff", ".jpg", ".jpeg", ".jpe")


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture and its name: `truth` is (H, W) or (H, W, 3), uint8 or uint16."""

    name: str
    truth: Array
    loaded: Loaded

    @property
    def fingerprint(self) -> str:
        """A short name for its contents."""
        words = f"{self.truth.shape} {self.truth.dtype}".encode()
        return hashlib.sha256(words + np.ascontiguousarray(self.truth).tobytes()).hexdigest()[:16]

    def mask(self, missing_percent: float, seed: int) -> NDArray[np.bool_]:
        """True = observed: each voxel on its own, as in the paper."""
        return np.random.default_rng(seed).random(self.truth.shape) >= missing_percent / 100

    def incomplete(self, mask: NDArray[np.bool_]) -> Array:
        """The picture with zeros where it is missing, so that no method could ever see the truth."""
        return np.where(mask, self.truth, 0).astype(self.truth.dtype)


def find(folder: str | Path) -> dict[str, Path]:
    """The pictures of a folder by name, in alphabetical order: lower case, without ending where that is unambiguous."""
    place = Path(folder)
    if not place.is_dir():
        msg = f"--images must be a folder of pictures; got {str(folder)!r}, which is not there."
        raise FileError(msg)
    files = sorted(p for p in place.iterdir() if p.suffix.lower() in ENDINGS and p.is_file())
    stems = [p.stem.lower() for p in files]
    out = {(p.name if stems.count(stem) > 1 else stem): p for p, stem in zip(files, stems, strict=True)}
    if not out:
        msg = f"{str(folder)!r} holds no picture; it must hold some ending in {', '.join(ENDINGS)}."
        raise FileError(msg)
    return dict(sorted(out.items()))


def load(path: str | Path, name: str | None = None) -> Picture:
    """One picture; a file that is none is refused with a sentence."""
    loaded = read(path)
    truth = loaded.values
    fits = truth is not None and (truth.ndim == 2 or (truth.ndim == 3 and truth.shape[2] in (1, 3)))
    if truth is None or not fits or truth.dtype not in (np.uint8, np.uint16):
        msg = f"{path} must be one grey or RGB picture of 8 or 16 bit; got {loaded.dtype} of shape {loaded.shape}."
        raise FileError(msg)
    if truth.ndim == 3 and truth.shape[2] == 1:
        truth = truth[..., 0]
    return Picture(name or Path(path).stem.lower(), truth, loaded)


def choose(folder: str | Path, names: Sequence[str] | None = None) -> list[Picture]:
    """The named pictures of a folder, or all of them; the order is that of the names."""
    found = find(folder)
    out = []
    for name in found if names is None else names:
        key = name if name in found else name.lower()
        if key not in found:
            options = list(found)
            msg = f"{str(folder)!r} holds no picture named {name!r}; it holds {', '.join(options)}."
            raise FileError(msg + did_you_mean(name, options))
        out.append(load(found[key], key))
    return out
