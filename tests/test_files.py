"""Files in and out. Every registered format has an example made without the code under test."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
from datetime import datetime
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from tensorfill.data.files import FORMATS, FileError, format_of, read, read_mask, sniff, write

RNG = np.random.default_rng(5)
GREY = RNG.integers(0, 256, (6, 7), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (6, 7, 3), dtype=np.uint8)
VIDEO = RNG.integers(0, 256, (4, 6, 7, 3), dtype=np.uint8)
FLOATS = RNG.standard_normal((3, 4, 2))
COUNTS = RNG.integers(0, 50, (3, 4, 2))


# --- one example per format: make(path) writes it with another library, get(path) reads it with one ----------------


def make_gif(path):
    frames = [Image.fromarray(f) for f in VIDEO]
    frames[0].save(path, "GIF", save_all=True, append_images=frames[1:], duration=[50, 60, 70, 80], loop=0)


def get_pages(path):
    with Image.open(path) as image:
        pages = []
        for k in range(image.n_frames):
            image.seek(k)
            pages.append(np.array(image.convert("RGB")))
    return np.stack(pages)


def get_picture(path):
    with Image.open(path) as image:
        return np.array(image)


def make_tiff(path):
    pages = [Image.fromarray(f) for f in VIDEO]
    pages[0].save(path, "TIFF", save_all=True, append_images=pages[1:])


def make_mat(path):
    from scipy.io import savemat

    savemat(path, {"x": FLOATS, "note": "hello"})


def get_mat(path):
    from scipy.io import loadmat

    assert loadmat(path)["note"] == ["hello"]
    return loadmat(path)["x"]


def get_npz(path):
    with np.load(path) as arrays:
        return arrays["x"]


def make_csv(path):
    rows = ["b,a,unit,v", *(f"{j},s{i},kg,{GREY[i, j]}" for i in range(6) for j in range(7))]
    path.write_text("\n".join(rows) + "\n")


def get_csv(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    out = np.full((7, 6), -1)
    for row in rows:
        out[int(row["b"]), int(row["a"][1:])] = int(row["v"])
    return out


def make_parquet(path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    i, j = np.indices((6, 7)).reshape(2, -1)
    pq.write_table(pa.table({"a": i, "b": [f"s{k}" for k in j], "v": GREY.ravel()}), path)


def get_parquet(path):
    import pyarrow.parquet as pq

    table = pq.read_table(path)
    assert str(table.schema.field("v").type) == "uint8"
    out = np.full((6, 7), -1)
    out[table["a"].to_numpy(), [int(s[1:]) for s in table["b"].to_pylist()]] = table["v"].to_numpy()
    return out


def dataset(values=FLOATS):
    import xarray as xr

    array = xr.DataArray(
        values,
        dims=("time", "y", "x"),
        coords={"time": np.array(["2024-01-01", "2024-01-02", "2024-01-05"], "datetime64[ns]"), "y": [9.5, 8.0, 7.0, 1.0]},
        attrs={"units": "K"},
    )
    return xr.Dataset({"t": array, "other": ("y", ["p", "q", "r", "s"])}, attrs={"title": "a test"})


def get_dataset(path, **engine):
    import xarray as xr

    with xr.open_dataset(path, **engine) as found:
        assert found.attrs["title"] == "a test"
        assert found.t.attrs["units"] == "K"
        xr.testing.assert_identical(found.t.coords.to_dataset(), dataset().t.coords.to_dataset())
        return found.t.values


def make_tns(path):
    path.write_text("# a comment\n" + "".join(f"{i + 1} {j + 1} {k + 1} {v}\n" for (i, j, k), v in np.ndenumerate(COUNTS)))


def get_tns(path):
    out = np.zeros((3, 4, 2), dtype=int)
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            *where, value = map(int, line.split())
            out[tuple(np.array(where) - 1)] = value
    return out


EXAMPLES = {  # format: (ending, make, values, get, options of read)
    "png": (".png", lambda p: Image.fromarray(COLOUR).save(p), COLOUR, get_picture, {}),
    "jpeg": (".jpg", lambda p: Image.fromarray(COLOUR).save(p, quality=100), None, get_picture, {}),
    "gif": (".gif", make_gif, None, get_pages, {}),
    "tiff": (".tif", make_tiff, VIDEO, get_pages, {}),
    "npy": (".npy", lambda p: np.save(p, FLOATS), FLOATS, np.load, {}),
    "npz": (".npz", lambda p: np.savez(p, x=FLOATS, y=COUNTS), FLOATS, get_npz, {"variable": "x"}),
    "mat": (".mat", make_mat, FLOATS, get_mat, {}),
    "csv": (".csv", make_csv, GREY.T, get_csv, {"dims": ["b", "a"], "value": "v"}),
    "parquet": (".parquet", make_parquet, GREY, get_parquet, {"dims": ["a", "b"]}),
    "netcdf": (
        ".nc",
        lambda p: dataset().to_netcdf(p, engine="scipy"),
        FLOATS,
        lambda p: get_dataset(p, engine="scipy"),
        {"variable": "t"},
    ),
    "zarr": (
        ".zarr",
        lambda p: dataset().to_zarr(p, zarr_format=2),
        FLOATS,
        lambda p: get_dataset(p, engine="zarr"),
        {"variable": "t"},
    ),
    "tns": (".tns", make_tns, COUNTS, get_tns, {}),
}


def dense(loaded):
    if not loaded.coordinate:
        return loaded.values
    out = np.full(loaded.shape, np.nan)
    out[tuple(loaded.indices.T)] = loaded.values_coo
    return out


def test_every_format_has_an_example_and_a_description():
    assert set(EXAMPLES) == set(FORMATS)
    for _, kind in FORMATS.items():
        assert kind.description
        assert len(kind.description) < 110
        assert kind.lossy == bool(kind.note)


@pytest.mark.parametrize("name", EXAMPLES)
def test_round_trip(name, tmp_path):
    ending, make, values, get, options = EXAMPLES[name]
    path, out = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    make(path)
    values = get(path) if values is None else values  # lossy formats: what another reader sees
    loaded = read(path, **options)
    assert loaded.format == name == format_of(path).name
    np.testing.assert_array_equal(dense(loaded), values)
    # a result in floats, one entry of which is new and out of range or between two integers
    completed = dense(loaded).astype(np.float64)
    completed[(0,) * completed.ndim] = 3.4
    write(out, completed, loaded)
    expected = values.copy()
    expected[(0,) * expected.ndim] = 3 if values.dtype.kind in "iu" else 3.4
    if FORMATS[name].lossy:
        np.testing.assert_allclose(get(out).astype(float), expected, atol=12 if name == "jpeg" else 0)
    else:
        np.testing.assert_array_equal(get(out), expected)
    again = read(out, **options)
    assert (again.shape, again.dtype, again.dims) == (loaded.shape, loaded.dtype, loaded.dims)
    obs = loaded.observations()
    assert (obs.shape, obs.nnz) == (values.shape, values.size)
    if loaded.dims:
        assert obs.dims == loaded.dims


@pytest.mark.parametrize("source", EXAMPLES)
@pytest.mark.parametrize("target", EXAMPLES)
def test_any_format_into_any_other(source, target, tmp_path):
    """Either the numbers arrive, or one sentence says why they cannot."""
    ending, make, _, _, options = EXAMPLES[source]
    make(tmp_path / f"in{ending}")
    loaded = read(tmp_path / f"in{ending}", **options)
    out = tmp_path / f"out{EXAMPLES[target][0]}"
    values = dense(loaded)
    try:
        write(out, values, loaded)
    except FileError as error:
        assert str(error).startswith(f"cannot write {out}: ")
        assert "\n" not in str(error)
        assert target in ("png", "jpeg", "gif")
        assert not out.exists()
        return
    if target in ("jpeg", "gif"):
        return
    long = target in ("csv", "parquet") and (len(loaded.shape) > 2 or loaded.coordinate)
    named = target in ("npz", "mat", "netcdf", "zarr")
    columns = {"dims": list(loaded.dims or (f"mode{n}" for n in range(values.ndim)))} if long else {}
    if long:
        columns["value"] = loaded.extra.get("name") or "value"
    again = read(out, variable=loaded.extra.get("name") if named else None, **columns)
    if long:  # labels that are numbers were put in order: compare what stands at each label
        values = values[np.ix_(*(_places(loaded, again, n) for n in range(values.ndim)))]
    np.testing.assert_array_equal(dense(again), values)


def _places(loaded, again, n):
    """For each index along mode n of `again`, the index of the same label in `loaded`."""

    def plain(label):
        if isinstance(label, datetime | np.datetime64):
            return np.datetime64(label, "s")
        for kind in (float, lambda x: np.datetime64(x, "s")):
            try:
                return kind(label)
            except (TypeError, ValueError):
                pass
        return str(label)

    known = [plain(x) for x in (loaded.labels or {}).get(again.dims[n]) or range(loaded.shape[n])]
    return [known.index(plain(x)) for x in again.labels[again.dims[n]]]
