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

from tensorfill.io.files import FORMATS, FileError, FileWarning, format_of, read, read_mask, sniff, write

RNG = np.random.default_rng(5)
GREY = RNG.integers(0, 256, (6, 7), dtype=np.uint8)
COLOUR = RNG.integers(0, 256, (6, 7, 3), dtype=np.uint8)
VIDEO = RNG.integers(0, 256, (4, 6, 7, 3), dtype=np.uint8)
FLOATS = RNG.standard_normal((3, 4, 2))
COUNTS = RNG.integers(0, 50, (3, 4, 2))


# --- one example per format: make(path) writes it with another library, get(path) reads it with one ----------------


def get_pages(path):
    with Image.open(path) as image:
        pages = []
        for k in range(image.n_frames):
            image.seek(k)
            pages.append(np.array(image.convert("RGB")))
    return np.stack(pages)


def get_picture(path):
    if path.suffix == ".heic":
        pytest.importorskip("pillow_heif").register_heif_opener()
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


def make_tsv(path):
    make_csv(path)
    path.write_text(path.read_text().replace(",", "\t"))


def get_csv(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ","))
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
        coords={
            "time": np.array(["2024-01-01", "2024-01-02", "2024-01-05"], "datetime64[ns]"),
            "y": [9.5, 8.0, 7.0, 1.0],
        },
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
    path.write_text(
        "# a comment\n" + "".join(f"{i + 1} {j + 1} {k + 1} {v}\n" for (i, j, k), v in np.ndenumerate(COUNTS))
    )


def get_tns(path):
    out = np.zeros((3, 4, 2), dtype=int)
    for line in path.read_text().splitlines():
        if not line.startswith("#"):
            *where, value = map(int, line.split())
            out[tuple(np.array(where) - 1)] = value
    return out


def make_hdf5(path):
    import h5py

    with h5py.File(path, "w") as file:
        values = file.create_dataset("runs/first", data=FLOATS)
        file["runs/note"] = "hello"
        file["y"] = [9.5, 8.0, 7.0, 1.0]
        file["y"].make_scale("y")
        values.dims[1].attach_scale(file["y"])


def get_hdf5(path):
    import h5py

    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["y"], [9.5, 8.0, 7.0, 1.0])
        return file["runs/first"][()]


def make_feather(path):
    import pyarrow as pa
    from pyarrow import feather

    i, j = np.indices((6, 7)).reshape(2, -1)
    feather.write_feather(pa.table({"a": i, "b": [f"s{k}" for k in j], "v": GREY.ravel()}), path)


def get_feather(path):
    from pyarrow import feather

    table = feather.read_table(path)
    out = np.full((6, 7), -1)
    out[table["a"].to_numpy(), [int(s[1:]) for s in table["b"].to_pylist()]] = table["v"].to_numpy()
    return out


def make_json(path):
    records = [{"a": i, "b": f"s{j}", "unit": "kg", "v": int(GREY[i, j])} for i in range(6) for j in range(7)]
    path.write_text(json.dumps(records))


def get_json(path):
    out = np.full((6, 7), -1)
    for row in json.loads(path.read_text()):
        assert row["unit"] == "kg"
        out[row["a"], int(row["b"][1:])] = row["v"]
    return out


def make_xlsx(path):
    import openpyxl

    book = openpyxl.Workbook()
    book.active.append(["site", *range(2001, 2008)])
    for k, row in enumerate(GREY.tolist()):
        book.active.append([f"s{k}", *row])
    book.active.title = "counts"
    book.create_sheet("notes")["A1"] = "hello"
    book.save(path)


def get_xlsx(path):
    import openpyxl

    book = openpyxl.load_workbook(path)
    assert book["notes"]["A1"].value == "hello"
    header, *rows = book["counts"].iter_rows(values_only=True)
    assert header == ("site", *range(2001, 2008))
    return np.array([row[1:] for row in rows])


def make_film(path):
    import av

    ramp = np.linspace(0, 200, 16 * 24).reshape(16, 24)
    with av.open(path, "w") as container:
        stream = container.add_stream("libx264", rate=12, options={"crf": "12"})
        stream.width, stream.height, stream.pix_fmt = 24, 16, "yuv420p"
        for k in range(5):
            picture = np.stack([ramp + 9 * k, ramp, 255 - ramp], axis=-1).astype(np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))


def get_film(path):
    import av

    with av.open(path) as container:
        assert container.streams.video[0].average_rate == 12
        return np.stack([frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)])


EXAMPLES = {  # format: (ending, make, values, get, options of read)
    "png": (".png", lambda p: Image.fromarray(COLOUR).save(p), COLOUR, get_picture, {}),
    "jpeg": (".jpg", lambda p: Image.fromarray(COLOUR).save(p, quality=100), None, get_picture, {}),
    "tiff": (".tif", make_tiff, VIDEO, get_pages, {}),
    "npy": (".npy", lambda p: np.save(p, FLOATS), FLOATS, np.load, {}),
    "npz": (".npz", lambda p: np.savez(p, x=FLOATS, y=COUNTS), FLOATS, get_npz, {"variable": "x"}),
    "mat": (".mat", make_mat, FLOATS, get_mat, {}),
    "csv": (".csv", make_csv, GREY.T, get_csv, {"dims": ["b", "a"], "value": "v"}),
    "tsv": (".tsv", make_tsv, GREY.T, get_csv, {"dims": ["b", "a"], "value": "v"}),
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
    "hdf5": (".h5", make_hdf5, FLOATS, get_hdf5, {}),
    "feather": (".feather", make_feather, GREY, get_feather, {"dims": ["a", "b"]}),
    "json": (".json", make_json, GREY, get_json, {"dims": ["a", "b"], "value": "v"}),
    "xlsx": (".xlsx", make_xlsx, GREY, get_xlsx, {}),
    "video": (".mp4", make_film, None, get_film, {}),
}


def make_heic(path):
    pillow_heif = pytest.importorskip("pillow_heif")
    pillow_heif.from_pillow(Image.fromarray(np.repeat(np.repeat(COLOUR, 8, 0), 8, 1))).save(path, quality=100)


EXAMPLES |= {
    "webp": (".webp", lambda p: Image.fromarray(COLOUR).save(p, lossless=True), COLOUR, get_picture, {}),
    "bmp": (".bmp", lambda p: Image.fromarray(COLOUR).save(p), COLOUR, get_picture, {}),
    "jpeg2000": (".jp2", lambda p: Image.fromarray(COLOUR).save(p), COLOUR, get_picture, {}),
    "heic": (".heic", make_heic, None, get_picture, {}),
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
        assert ("lossy" in kind.description) == bool(kind.note)


@pytest.mark.parametrize("name", EXAMPLES)
def test_round_trip(name, tmp_path):
    ending, make, values, get, options = EXAMPLES[name]
    path, out = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    make(path)
    values = get(path) if values is None else values  # lossy formats: what another reader sees
    loaded = read(path, **options)
    assert loaded.format == name == format_of(path).name
    np.testing.assert_array_equal(dense(loaded), values)
    if not FORMATS[name].writes:
        with pytest.raises(FileError, match="is read only"):
            write(out, dense(loaded), loaded)
        return
    # a result in floats, one entry of which is new and out of range or between two integers
    completed = dense(loaded).astype(np.float64)
    completed[(0,) * completed.ndim] = 3.4
    write(out, completed, loaded)
    expected = values.copy()
    expected[(0,) * expected.ndim] = 3 if values.dtype.kind in "iu" else 3.4
    if FORMATS[name].note:
        np.testing.assert_allclose(get(out).astype(float), expected, atol={"jpeg": 12, "video": 40}.get(name, 0))
    else:
        np.testing.assert_array_equal(get(out), expected)
    again = read(out, **options)
    assert (again.shape, again.dtype, again.dims) == (loaded.shape, loaded.dtype, loaded.dims)
    obs = loaded.observations()
    assert (obs.shape, obs.nnz) == (values.shape, values.size)
    if loaded.dims:
        assert obs.dims == loaded.dims


# similar to others as sources
SIMILAR = (
    "jpeg",
    "webp",
    "bmp",
    "jpeg2000",
    "heic",
    "npz",
    "mat",
    "zarr",
    "tsv",
    "hdf5",
    "feather",
    "json",
    "video",
)  # to others, as sources


@pytest.mark.parametrize("target", EXAMPLES)
@pytest.mark.parametrize("source", [name for name in EXAMPLES if name not in SIMILAR])
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
        sentence = str(error)
    else:
        sentence = ""
    if sentence:
        assert sentence.startswith(f"cannot write {out}: ")
        assert "\n" not in sentence
        assert target in ("png", "jpeg", "webp", "bmp", "jpeg2000", "video", "heic")
        assert not out.exists()
        return
    if target in ("jpeg", "video"):
        return
    table = target in ("csv", "tsv", "parquet", "feather", "xlsx", "json")
    long = table and (len(loaded.shape) > 2 or loaded.coordinate)
    named = target in ("npz", "mat", "netcdf", "zarr")
    columns = {"dims": list(loaded.dims or (f"mode{n}" for n in range(values.ndim)))} if long else {}
    if long:
        columns["value"] = loaded.extra.get("name") or "value"
    again = read(out, variable=loaded.extra.get("name") if named else None, **columns)
    if long:  # labels that are numbers were put in order: compare what stands at each label
        values = values[np.ix_(*(_places(loaded, again, n) for n in range(values.ndim)))]
    found = dense(again)[..., 0] if target == "webp" and values.ndim == 2 else dense(again)  # WebP has no grey
    np.testing.assert_array_equal(found, values)


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


# --- what is missing ----------------------------------------------------------------------------------------------


def test_nan_is_missing_and_zero_is_not(tmp_path):
    array = np.array([[0.0, np.nan], [2.0, 0.0]])
    np.save(tmp_path / "a.npy", array)
    obs = read(tmp_path / "a.npy").observations()
    assert obs.nnz == 3
    np.save(tmp_path / "b.npy", np.zeros((2, 3), dtype=np.uint8))
    assert read(tmp_path / "b.npy").observations().nnz == 6


def test_missing_value_marks_entries_and_is_replaced(tmp_path):
    array = np.array([[1, -999, 3], [4, 5, 6]], dtype=np.int16)
    np.save(tmp_path / "a.npy", array)
    loaded = read(tmp_path / "a.npy", missing_value=-999)
    np.testing.assert_array_equal(loaded.mask, array != -999)
    write(tmp_path / "b.npy", np.where(array == -999, 1e9, array), loaded)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), [[1, 32767, 3], [4, 5, 6]])


def test_missing_value_of_a_colour_picture_is_a_whole_pixel(tmp_path):
    array = COLOUR.copy()
    array[0, 0], array[1, 1, 2] = 0, 0
    Image.fromarray(array).save(tmp_path / "a.png")
    mask = read(tmp_path / "a.png", missing_value=0).mask
    np.testing.assert_array_equal(mask, np.repeat((array != 0).any(axis=2)[..., None], 3, axis=2))
    assert not mask[0, 0].any()
    assert mask[1, 1].all()


def test_missing_value_in_coordinates(tmp_path):
    (tmp_path / "a.tns").write_text("1 1 5\n1 2 -1\n2 1 7\n")
    loaded = read(tmp_path / "a.tns", missing_value=-1)
    np.testing.assert_array_equal(loaded.values_coo, [5, 7])
    assert loaded.shape == (2, 2)


def test_values_and_mask_in_one_npz(tmp_path):
    mask = RNG.random(COUNTS.shape) < 0.5
    np.savez(tmp_path / "a.npz", values=COUNTS, mask=mask)
    loaded = read(tmp_path / "a.npz")
    np.testing.assert_array_equal(loaded.mask, mask)
    write(tmp_path / "b.npz", COUNTS + 0.0, loaded)
    assert read(tmp_path / "b.npz").mask.all()  # nothing is missing any more


def test_with_mask_narrows_both_kinds_of_data(tmp_path):
    np.save(tmp_path / "a.npy", FLOATS)
    make_tns(tmp_path / "a.tns")
    mask = RNG.random(FLOATS.shape) < 0.5
    for path in (tmp_path / "a.npy", tmp_path / "a.tns"):
        obs = read(path).with_mask(mask).observations()
        np.testing.assert_array_equal(obs.mask, mask)
        with pytest.raises(ValueError, match="must have the shape of the data"):
            read(path).with_mask(mask[0])


PIXELS = RNG.random((6, 7)) < 0.5
MASKS = {  # name: (array saved as mask, shape of the data, mask expected)
    "same": (PIXELS, (6, 7), PIXELS),
    "channels": (PIXELS, (6, 7, 3), np.repeat(PIXELS[..., None], 3, axis=2)),
    "frames": (PIXELS, (4, 6, 7), np.stack([PIXELS] * 4)),
    "frames and channels": (PIXELS, (4, 6, 7, 3), np.repeat(np.stack([PIXELS] * 4)[..., None], 3, axis=3)),
    "video pixels": (VIDEO[..., 0] > 90, (4, 6, 7, 3), np.repeat((VIDEO[..., 0] > 90)[..., None], 3, axis=3)),
}


@pytest.mark.parametrize(
    ("case", "kind"),
    [(c, k) for c, (given, _, _) in MASKS.items() for k in ("npy", "png", "tif") if k == "npy" or given.ndim == 2],
)
def test_masks_spread_over_channels_and_frames(case, kind, tmp_path):
    given, shape, expected = MASKS[case]
    path = tmp_path / f"m.{kind}"
    if kind == "npy":
        np.save(path, given.astype(float))
    else:
        Image.fromarray(given.astype(np.uint8) * 255).save(path)
    found = read_mask(path, shape)
    assert found.dtype == bool
    np.testing.assert_array_equal(found, expected)


def test_masks_of_other_kinds(tmp_path):
    colour = np.repeat(PIXELS[..., None], 3, axis=2).astype(np.uint8) * np.array([255, 0, 9], dtype=np.uint8)
    Image.fromarray(colour).save(tmp_path / "colour.png")
    np.testing.assert_array_equal(read_mask(tmp_path / "colour.png", (6, 7)), PIXELS)
    np.save(tmp_path / "nan.npy", np.where(PIXELS, 1.0, np.nan))
    np.testing.assert_array_equal(read_mask(tmp_path / "nan.npy", (6, 7)), PIXELS)
    (tmp_path / "m.tns").write_text("1 1 1\n3 2 1\n")
    assert np.argwhere(read_mask(tmp_path / "m.tns", (6, 7))).tolist() == [[0, 0], [2, 1]]
    Image.fromarray(PIXELS.astype(np.uint8)).save(tmp_path / "dim.png")  # two levels, 0 and 1
    np.testing.assert_array_equal(read_mask(tmp_path / "dim.png", (6, 7)), PIXELS)
    (tmp_path / "m.csv").write_text("1,0\n,1\n")
    np.testing.assert_array_equal(read_mask(tmp_path / "m.csv", (2, 2)), [[True, False], [False, True]])


@pytest.mark.parametrize("mode", ["L", "RGB", "I;16"])
def test_soft_edges_of_a_mask_are_missing(mode, tmp_path):
    soft = np.where(PIXELS, 255, 0).astype(np.uint8)
    soft[2, :4] = [1, 128, 254, 255]
    picture = Image.fromarray(soft.astype(np.uint16) * 257) if mode == "I;16" else Image.fromarray(soft).convert(mode)
    picture.save(tmp_path / "m.png")
    top = 65535 if mode == "I;16" else 255
    words = rf"m\.png has 5 grey levels; only the brightest, {top}, counts as known, {(soft == 255).mean():.1%} of the"
    with pytest.warns(FileWarning, match=words):
        found = read_mask(tmp_path / "m.png", (6, 7))
    np.testing.assert_array_equal(found, soft == 255)


# --- types --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "?", ">i2", ">f8"])
def test_types_and_ranges_are_kept(dtype, tmp_path):
    dtype = np.dtype(dtype)
    array = np.array([[0, 1, 0], [1, 1, 0]]).astype(dtype)
    if dtype.kind in "iu":
        array[0, 1], array[0, 2] = np.iinfo(dtype).max, np.iinfo(dtype).max - 1  # not exact in float64 for 64 bits
    np.save(tmp_path / "a.npy", array)
    completed = array.astype(np.float64)
    completed[1] = [-1e30, 1e30, 0.6] if dtype.kind in "iu" else [0.25, 0.75, 0.6]
    write(tmp_path / "b.npy", completed, read(tmp_path / "a.npy"))
    out = np.load(tmp_path / "b.npy")
    assert out.dtype == dtype
    np.testing.assert_array_equal(out[0], array[0])
    limits = [np.iinfo(dtype).min, np.iinfo(dtype).max, 1] if dtype.kind in "iu" else [0.25, 0.75, 0.6]
    np.testing.assert_array_equal(out[1], np.array(limits) > 0.5 if dtype.kind == "b" else np.array(limits, dtype))


def test_completed_of_a_wrong_shape_or_with_gaps_is_the_callers_mistake(tmp_path):
    np.save(tmp_path / "a.npy", COUNTS)
    loaded = read(tmp_path / "a.npy")
    with pytest.raises(ValueError, match=r"completed must have the shape of the data, \(3, 4, 2\); got \(3, 4\)"):
        write(tmp_path / "b.npy", COUNTS[..., 0], loaded)
    with pytest.raises(ValueError, match=r"got NaN at index \(0, 0, 1\)"):
        write(tmp_path / "b.npy", np.where(np.arange(24).reshape(3, 4, 2) == 1, np.nan, COUNTS), loaded)
    assert not (tmp_path / "b.npy").exists()


def test_input_is_never_changed(tmp_path):
    np.save(tmp_path / "a.npy", FLOATS)
    loaded, completed = read(tmp_path / "a.npy"), FLOATS + 1
    write(tmp_path / "b.npy", completed, loaded)
    np.testing.assert_array_equal(completed, FLOATS + 1)
    np.testing.assert_array_equal(loaded.values, FLOATS)


def test_dims_name_the_modes_of_an_array(tmp_path):
    np.save(tmp_path / "a.npy", FLOATS)
    assert read(tmp_path / "a.npy", dims=["day", "hour", "site"]).observations().dims == ("day", "hour", "site")


def test_a_tensor_too_large_to_be_dense_is_read(tmp_path):
    (tmp_path / "a.tns").write_text("".join(f"{10**6 * k} {10**6} {10**6} {10**6} {k}\n" for k in (1, 2)))
    assert read(tmp_path / "a.tns").size > 2**62


# --- streams ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name, kind in FORMATS.items() if kind.writes and not kind.store])
def test_streams(name, tmp_path, monkeypatch):
    ending, make, _, get, options = EXAMPLES[name]
    make(tmp_path / f"in{ending}")
    data, out = (tmp_path / f"in{ending}").read_bytes(), io.BytesIO()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    loaded = read("-", **options)
    assert (
        loaded.format == sniff(data[:4096]).name == name.replace("tsv", "csv")
    )  # text is a table, whatever separates it
    write("-", dense(loaded), loaded)
    (tmp_path / f"out{ending}").write_bytes(out.getvalue())
    expected = get(tmp_path / f"in{ending}").astype(float)
    np.testing.assert_allclose(get(tmp_path / f"out{ending}"), expected, atol={"jpeg": 12, "video": 40}.get(name, 0))


def test_named_pipe(tmp_path):
    data = io.BytesIO()
    np.save(data, FLOATS)
    os.mkfifo(tmp_path / "pipe.npy")
    script = "import sys; open(sys.argv[1], 'wb').write(bytes.fromhex(sys.argv[2]))"
    with subprocess.Popen([sys.executable, "-c", script, tmp_path / "pipe.npy", data.getvalue().hex()]):
        np.testing.assert_array_equal(read(tmp_path / "pipe.npy").values, FLOATS)


def test_gzip_by_ending_and_by_content(tmp_path, monkeypatch):
    make_tns(tmp_path / "a.tns")
    (tmp_path / "a.tns.gz").write_bytes(gzip.compress((tmp_path / "a.tns").read_bytes()))
    loaded = read(tmp_path / "a.tns.gz")
    write(tmp_path / "b.tns.gz", COUNTS, loaded)
    (tmp_path / "b.tns").write_bytes(gzip.decompress((tmp_path / "b.tns.gz").read_bytes()))
    np.testing.assert_array_equal(get_tns(tmp_path / "b.tns"), COUNTS)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO((tmp_path / "a.tns.gz").read_bytes())))
    assert read("-").format == "tns"


# --- nothing slow is imported -------------------------------------------------------------------------------------


def test_optional_and_slow_libraries_are_left_alone():
    script = (
        "import sys, json, tensorfill.io.files; "
        "print(json.dumps([m for m in ('pandas', 'xarray', 'pyarrow', 'PIL', 'numba', 'scipy.io', 'zarr', 'h5py', "
        "'tifffile') if m in sys.modules]))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert json.loads(found) == []
