"""Good files of every kind, small, to be damaged."""

from __future__ import annotations

import gzip
import shutil
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np

import tensorfill as tfl
from tensorfill.io.files import FORMATS, Loaded, write

RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 255, (9, 8, 3), dtype=np.uint8)
TABLE = np.round(RNG.normal(size=(7, 5)), 3)
CUBE = RNG.integers(0, 99, (5, 4, 3)).astype(np.float32)
GAPS = TABLE.copy()
GAPS[::2, ::2] = np.nan
LONG = [(f"s{i}", j, float(TABLE[i, j])) for i in range(7) for j in range(5)]


def seeds(folder: Path) -> dict[str, Path]:
    """One good file or more of every kind, {name: path}; the name begins with the format."""
    out = {}
    for name, kind in FORMATS.items():
        for what, array in {"picture": PICTURE, "table": TABLE, "cube": CUBE}.items():
            path = folder / f"{what}-{name}{kind.endings[0]}"
            try:
                with warnings.catch_warnings(action="ignore"):
                    write(path, array, Loaded("npy", array.shape, array.dtype, values=array), format=name)
            except Exception:  # a format that has no room for such an array
                shutil.rmtree(path, ignore_errors=True)
                path.unlink(missing_ok=True)
                continue
            out[f"{name}, {what}"] = path
    for name, (ending, make) in OTHERS.items():
        path = folder / f"{name.replace(', ', '-').replace(' ', '-')}{ending}"
        with suppress(ImportError):
            make(path)
            out[name] = path
    done = tfl.complete(GAPS, method="halrtc", max_iter=3, checkpoint=folder / "run.checkpoint")
    done.save(folder / "run.completion")
    return {**out, "checkpoint": folder / "run.checkpoint", "completion": folder / "run.completion"}


# --- as other programs write them ---------------------------------------------------------------------------------


def deep_png(path: Path) -> None:
    from PIL import Image

    Image.fromarray(PICTURE[..., 0].astype(np.uint16) * 200).save(path)


def palette(path: Path) -> None:
    from PIL import Image

    Image.fromarray(PICTURE).quantize(16).save(path, transparency=3, dpi=(72, 72))


def film(path: Path) -> None:
    from PIL import Image

    pages = [Image.fromarray(np.roll(PICTURE, k, axis=0)) for k in range(3)]
    pages[0].save(path, save_all=True, append_images=pages[1:], duration=50, loop=0)


def telephone(path: Path) -> None:
    import pillow_heif
    from PIL import Image

    pillow_heif.from_pillow(Image.fromarray(np.repeat(np.repeat(PICTURE, 8, axis=0), 8, axis=1))).save(path)


def on_its_side(path: Path) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(PICTURE).save(path, exif=exif)


def tiles(path: Path) -> None:
    import tifffile

    deep = np.repeat(np.repeat(PICTURE, 4, axis=0), 4, axis=1).astype(np.uint16)
    tifffile.imwrite(path, deep, photometric="rgb", tile=(16, 16), compression="zlib")


def big(path: Path) -> None:
    import tifffile

    tifffile.imwrite(path, TABLE, bigtiff=True)


def geo(path: Path) -> None:
    import rasterio
    from affine import Affine

    given = {"driver": "GTiff", "width": 5, "height": 7, "count": 2, "dtype": "float64", "nodata": -9.0}
    with rasterio.open(path, "w", crs="EPSG:32632", transform=Affine(10, 0, 5, 0, -10, 9), **given) as file:
        file.write(np.stack([TABLE, -TABLE]))


def old_mat(path: Path) -> None:
    from scipy.io import savemat

    savemat(path, {"x": TABLE}, format="4")


def plain_mat(path: Path) -> None:
    from scipy.io import savemat

    savemat(path, {"x": CUBE, "s": {"a": 1, "b": "word"}, "c": np.array([["p", 2]], dtype=object)})


def old_netcdf(path: Path) -> None:
    import xarray as xr

    packed = {"t": {"dtype": "i2", "scale_factor": 0.01, "_FillValue": -1}}
    xr.DataArray(TABLE, dims=("y", "x"), coords={"y": range(7)}, name="t").to_netcdf(
        path, engine="scipy", encoding=packed
    )


def chunks(path: Path) -> None:
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("g/x", data=CUBE, chunks=(2, 2, 3), compression="gzip", shuffle=True, fletcher32=False)
        file["names"] = ["p", "q"]


def rows(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels, columns, values = zip(*LONG, strict=True)
    table = pa.table({"site": labels, "hour": columns, "v": values, "note": [None, "x"] * 17 + [None]})
    pq.write_table(table, path, row_group_size=10, compression="gzip")


def arrow(path: Path) -> None:
    import pyarrow as pa
    from pyarrow import feather

    labels, columns, values = zip(*LONG, strict=True)
    table = pa.table({"site": pa.array(labels).dictionary_encode(), "hour": columns, "v": values})
    feather.write_feather(table, path, compression="uncompressed")


def third_zarr(path: Path) -> None:
    import xarray as xr

    xr.DataArray(TABLE, dims=("y", "x"), name="t").to_dataset().to_zarr(path, zarr_format=3, consolidated=False)


def long_text(path: Path) -> None:
    path.write_text("site,hour,v\n" + "".join(f"{a},2024-01-0{b + 1},{v}\n" for a, b, v in LONG))


def gzipped(text: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        path.write_bytes(gzip.compress(text, mtime=0))

    return make


LINES = b"".join(b"%d %d %d %d\n" % (i + 1, j + 1, k + 1, v) for (i, j, k), v in np.ndenumerate(CUBE))
OTHERS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "png, 16 bits": (".png", deep_png),
    "png, palette": (".png", palette),
    "heic, picture": (".heic", telephone),
    "webp, on its side": (".webp", on_its_side),
    "jpeg, on its side": (".jpg", on_its_side),
    "tiff, tiles": (".tif", tiles),
    "tiff, big": (".tif", big),
    "tiff, pages": (".tif", film),
    "tiff, map": (".tif", geo),
    "mat, version 4": (".mat", old_mat),
    "mat, structures": (".mat", plain_mat),
    "netcdf, version 3": (".nc", old_netcdf),
    "hdf5, chunks": (".h5", chunks),
    "parquet, long": (".parquet", rows),
    "feather, categories": (".feather", arrow),
    "zarr, version 3": (".zarr", third_zarr),
    "csv, long": (".csv", long_text),
    "csv, gzipped": (".csv.gz", gzipped(b"a,b,c\n" + b"1.5,2,\n" * 9)),
    "tns, gzipped": (".tns.gz", gzipped(LINES)),
    "json, gzipped": (".json.gz", gzipped(b'[{"a": 1, "b": "x", "v": 2.5}, {"a": 2, "b": "y", "v": null}]')),
    "npz, packed": (".npz", lambda path: np.savez_compressed(path, values=TABLE, mask=TABLE > 0)),
}
