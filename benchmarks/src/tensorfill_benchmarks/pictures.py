"""Pictures from a folder: any names, any size, grey or colour, 8 or 16 bit."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.io.files import FileError, Loaded, read
from tensorfill.registry import did_you_mean

Array = NDArray[Any]

ENDINGS = (".png", ".tif", ".tiff", ".jpg", ".jpeg", ".jpe")


MISSING = 255  # what stands in the incomplete pictures of the paper's authors where a voxel is missing


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture and its name: `truth` is (H, W) or (H, W, 3), uint8 or uint16.

    `observed`: a folder of its incomplete versions, NAME60.tiff where 60 % are missing; None to draw masks.
    """

    name: str
    truth: Array
    loaded: Loaded
    observed: Path | None = None

    @property
    def fingerprint(self) -> str:
        """A short name for its contents."""
        words = f"{self.truth.shape} {self.truth.dtype}{' as observed' if self.observed else ''}".encode()
        return hashlib.sha256(words + np.ascontiguousarray(self.truth).tobytes()).hexdigest()[:16]

    def mask(self, missing_percent: float, seed: int) -> NDArray[np.bool_]:
        """True = observed: each voxel on its own, as in the paper; or where the incomplete picture has a value."""
        if self.observed is not None:
            return self._observed_mask(self.observed / f"{self.name}{missing_percent:g}")
        return np.random.default_rng(seed).random(self.truth.shape) >= missing_percent / 100

    def _observed_mask(self, path: Path) -> NDArray[np.bool_]:
        files = [path.with_name(path.name + ending) for ending in ENDINGS]
        file = next((f for f in files if f.is_file()), None)
        if file is None:
            msg = f"--observed must hold {path.name}{ENDINGS[2]}, or with another ending of pictures; it holds none."
            raise FileError(msg)
        values = load(file).truth
        mask = values != MISSING
        if values.shape != self.truth.shape or (values[mask] != self.truth[mask]).any():
            msg = f"{file} must be {self.name} of --images with {MISSING} for what is missing; its other values differ."
            raise FileError(msg + f" Put its original into {file.parent / 'original'}.")
        return mask

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
    """One picture, by its contents whatever its ending; a file that is none is refused with a sentence."""
    loaded = read(path, format="png" if _is_png(Path(path)) else None)
    truth = loaded.values
    fits = truth is not None and (truth.ndim == 2 or (truth.ndim == 3 and truth.shape[2] in (1, 3)))
    if truth is None or not fits or truth.dtype not in (np.uint8, np.uint16):
        msg = f"{path} must be one grey or RGB picture of 8 or 16 bit; got {loaded.dtype} of shape {loaded.shape}."
        raise FileError(msg)
    if truth.ndim == 3 and truth.shape[2] == 1:
        truth = truth[..., 0]
    return Picture(name or Path(path).stem.lower(), truth, loaded)


def _is_png(path: Path) -> bool:
    """Is it a PNG? The original of lenna that the paper's authors publish is one, named lenna.tiff."""
    with suppress(OSError), open(path, "rb") as file:
        return file.read(8) == b"\x89PNG\r\n\x1a\n"
    return False


def originals(observed: Path) -> dict[str, Path]:
    """The originals that come with incomplete pictures: in a folder `original`, in theirs or beside it."""
    places = (observed.parent / "original", observed / "original")
    return {name: path for place in places if place.is_dir() for name, path in find(place).items()}


def choose(folder: str | Path, names: Sequence[str] | None = None, observed: str | Path | None = None) -> list[Picture]:
    """The named pictures of a folder, or all of them; the order is that of the names.

    observed : folder of their incomplete versions, whose originals are taken instead of those of the same name
    """
    found = find(folder)
    if observed is not None:
        if not Path(observed).is_dir():
            msg = f"--observed must be a folder of incomplete pictures; got {str(observed)!r}, which is not there."
            raise FileError(msg)
        found |= {name: path for name, path in originals(Path(observed)).items() if name in found}
    out = []
    for name in found if names is None else names:
        key = name if name in found else name.lower()
        if key not in found:
            options = list(found)
            msg = f"{str(folder)!r} holds no picture named {name!r}; it holds {', '.join(options)}."
            raise FileError(msg + did_you_mean(name, options))
        picture = load(found[key], key)
        out.append(picture if observed is None else replace(picture, observed=Path(observed)))
    return out
