"""Sets for `bench choose` that are photographs, periodic textures, spectra and smooth fields."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill_benchmarks.choose_data import DataSet, Places, frame, given, optional, package_file

Array = NDArray[Any]

SIDE = 128  # of the pictures cut from scikit-image: a completion takes seconds


def picture(values: Array) -> DataSet:
    """A colour or grey picture of 8 bit; whole pixels go missing together."""
    return DataSet(
        values, columns=(values.ndim - 1,), plane=(0, 1), fibres=(2,) if values.ndim == 3 else (), low=0, high=255
    )


def photograph(name: str, corner: tuple[int, int], shrink: int = 1) -> DataSet:
    """A square of a picture of scikit-image, made smaller by a whole number."""
    full = getattr(optional("skimage.data"), name)()
    row, column = corner
    part = full[row : row + shrink * SIDE, column : column + shrink * SIDE]
    return picture(smaller(part, shrink))


def smaller(part: Array, by: int) -> Array:
    """Means of by x by pixels."""
    rows, columns = part.shape[0] // by, part.shape[1] // by
    blocks = part[: rows * by, : columns * by].reshape(rows, by, columns, by, *part.shape[2:])
    return np.rint(blocks.mean(axis=(1, 3))).astype(np.uint8)


def given_picture(name: str) -> Any:
    """A loader for a picture of the folder `--images`."""

    def load(places: Places) -> DataSet:
        from tensorfill_benchmarks.pictures import load as read

        return picture(read(given(places.images, "--images", f"{name}.png", f"{name}.tif", f"{name}.tiff")).truth)

    return load


def facade(name: str, corner: tuple[int, int], seed: int, tile: int = 32) -> DataSet:
    """A wall in colour: one piece of a photograph again and again, as windows are, each a little different in light.

    The neighbours of a pixel say little about it, the pixel one period away says much: a picture that looks rough.
    """
    full = getattr(optional("skimage.data"), name)()
    row, column = corner
    piece = smaller(full[row : row + 2 * tile, column : column + 2 * tile], 2).astype(np.float64)
    if piece.ndim == 2:  # stone is never quite grey
        piece = piece[..., None] * np.array([1.0, 0.86, 0.72]) + np.array([0.0, 8.0, 20.0])
    rng = np.random.default_rng(seed)
    times = SIDE // tile
    wall = np.tile(piece, (times, times, 1))
    light = rng.uniform(0.8, 1.1, (times, times, 1)).repeat(tile, axis=0).repeat(tile, axis=1)
    shade = np.linspace(1.05, 0.8, SIDE)[:, None, None]
    noise = rng.normal(0, 3, wall.shape)  # of the camera
    return picture(np.clip(np.rint(wall * light * shade + noise), 0, 255).astype(np.uint8))


# --- spectra and smooth fields ---------------------------------------------------------------------------------------


def tensorly_file(name: str) -> Array:
    """An array that ships with tensorly."""
    out: Array = np.load(package_file("tensorly", "datasets", "data", f"{name}.npy"), allow_pickle=False)
    return out


def indian_pines(_: Places) -> DataSet:
    """Fields seen in 50 bands, 48 x 48 pixels."""
    cube = tensorly_file("Indian_pines_corrected")[40:88, 40:88, ::4]
    return DataSet(cube.astype(np.int64), columns=(2,), plane=(0, 1), fibres=(2,), low=0)


def kinetic(_: Places) -> DataSet:
    """Fluorescence while a reaction goes on: 32 x 12 x 10 x 30, smooth along three modes."""
    values = tensorly_file("Kinetic")[::2, :, :, ::2]
    return DataSet(np.ascontiguousarray(values), columns=(1, 2), time=(3,), fibres=(3,))


def serology(_: Places) -> DataSet:
    """438 samples x 6 antigens x 11 receptors."""
    return DataSet(tensorly_file("COVID19_data"), columns=(1, 2), fibres=(2,))


def cytokines(_: Places) -> DataSet:
    """Response of cells: 13 ligands x 4 times x 12 doses x 8 cells; one in 26 is unknown."""
    return DataSet(tensorly_file("IL2_Response_Tensor"), columns=(3,), time=(2,), fibres=(2,), low=0)


def geyser(_: Places) -> DataSet:
    """Density of eruptions over a grid of 75 x 75: as smooth as fields come."""
    rows = frame("plotnine", "data", "faithfuld.csv").pivot(index="waiting", columns="eruptions", values="density")
    return DataSet(rows.to_numpy(dtype=np.float64), plane=(0, 1), low=0)


def seals(_: Places) -> DataSet:
    """Way of seals over a grid of latitude and longitude: 21 x 55 x 2."""
    rows = frame("plotnine", "data", "seals.csv").sort_values(["lat", "long"])
    values = rows[["delta_long", "delta_lat"]].to_numpy(dtype=np.float64).reshape(rows["lat"].nunique(), -1, 2)
    return DataSet(values, columns=(2,), units=2, plane=(0, 1), fibres=(2,))
