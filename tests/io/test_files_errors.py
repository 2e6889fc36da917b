"""Every failure is one sentence; a file is replaced whole or not at all."""

import contextlib
import errno
import io
import os
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

from tensorfill.io import atomic
from tensorfill.io.files import FORMATS, FileError, read, read_mask, write
from tensorfill.io.formats import output

NOISE = np.random.default_rng(0).integers(0, 256, (20, 20), dtype=np.uint8)
GREY = np.arange(42, dtype=np.uint8).reshape(6, 7)


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz(**arrays):
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


def picture(kind, array=GREY, **settings):
    out = io.BytesIO()
    Image.fromarray(array).save(out, kind, **settings)
    return out.getvalue()


def pages(kind, *arrays):
    images = [Image.fromarray(a) for a in arrays]
    out = io.BytesIO()
    images[0].save(out, kind, save_all=True, append_images=images[1:])
    return out.getvalue()


LONG = {"dims": ["a", "b"], "value": "v"}
BAD = [  # (name, contents, options, sentence after "cannot read NAME: ")
    ("a.png", b"", {}, "it is empty."),
    ("a.png", b"hello", {}, "it is not a PNG picture."),
    ("a.png", picture("JPEG"), {}, "it is not a PNG picture; it looks like a JPEG picture."),
    ("a.png", picture("PNG", NOISE)[:90], {}, "it is damaged or of an unknown kind (image file is truncated)."),
    ("a.png", picture("PNG"), {"variable": "x"}, "--variable means nothing for a PNG picture; leave it out."),
    ("a.png", picture("PNG"), {"value": "x"}, "--value means nothing for a PNG picture; leave it out."),
    (
        "a.png",
        picture("PNG"),
        {"alpha_missing": True},
        "it has no alpha channel that could mark what is missing; leave --alpha-missing out.",
    ),
    (
        "a.png",
        picture("PNG"),
        {"missing_value": -999},
        "--missing-value -999 cannot occur in uint8 data; leave it out.",
    ),
    ("a.png", picture("PNG"), {"dims": ["x"]}, "--dims must be 2 different names for shape (6, 7); got x."),
    ("a.png", pages("PNG", GREY, 255 - GREY), {}, "it is an animated PNG; save it as multi-page TIFF."),
    ("a.jpg", picture("PNG"), {}, "it is not a JPEG picture; it looks like a PNG picture."),
    (
        "a.tif",
        pages("TIFF", GREY, GREY[:3]),
        {},
        "its pages differ: page 1 is (6, 7) uint8, page 2 is (3, 7) uint8; a video needs pages of one size and type.",
    ),
    ("a.npy", npy(np.ones((2, 2), dtype=complex)), {}, "it holds complex numbers; only real numbers can be completed."),
    ("a.npy", npy(np.array([["x", "y"]])), {}, "it holds text; only real numbers can be completed."),
    (
        "a.npy",
        npy(np.ones(5)),
        {},
        "it has shape (5,); a file needs at least two modes, e.g. days x hours; Python takes one.",
    ),
    ("a.npy", npy(np.ones((0, 5))), {}, "it has shape (0, 5), which holds no entries."),
    ("a.npy", npy(np.full((2, 2), np.nan)), {}, "it holds no observed value: everything is missing."),
    (
        "a.npy",
        npy(np.array([[None, 1]], dtype=object)),
        {},
        "it holds Python objects, not numbers; save it as an array of floats or integers.",
    ),
    (
        "a.npz",
        npz(a=np.ones((2, 2)), b=np.ones((3, 3))),
        {},
        "it holds several variables (a (2, 2), b (3, 3)); choose one with --variable.",
    ),
    (
        "a.npz",
        npz(temp=np.ones((2, 2))),
        {"variable": "tmp"},
        "it has no variable 'tmp'; it has temp. Did you mean 'temp'?",
    ),
    (
        "a.npz",
        npz(values=np.ones((2, 2)), mask=np.ones(2, dtype=bool)),
        {},
        "its mask must be True/False of shape (2, 2); got bool of shape (2,).",
    ),
    ("a.mat", b"not a matlab file at all, no", {}, None),
    ("a.csv", b"1,2\n3\n", {}, "row 2 has 1 cell, but row 1 has 2. Give each row as many, blank where one is missing."),
    ("a.csv", b"\n\n", {}, "it holds no rows."),
    ("a.csv", b"a,b\n", {}, "it holds no numbers, only a header."),
    ("a.csv", "a,b\n1,\u00e9\n2,3\n".encode("latin-1"), {}, None),
    ("a.csv", b"a,b\n1,\x81\n", {}, "it is neither UTF-8 nor cp1252 text (byte 6); save it as UTF-8."),
    ("a.csv", b"\xff\xfea", {}, "it is neither UTF-16 nor cp1252 text (byte 2); save it as UTF-8."),
    ("a.csv", picture("PNG"), {}, "it is not a CSV table; it looks like a PNG picture."),
    (
        "a.csv",
        b"a,b\n1,2\n3,oops\n",
        {},
        "'oops' in row 3, column 2 is not a number, and a matrix holds numbers only; for one row per entry name its "
        "columns: --dims a,b,c --value v.",
    ),
    ("a.csv", b"a,b,v\nx,y,1\nx,z,oops\n", LONG, "'oops' in row 3, column 'v' is not a number."),
    ("a.csv", b"a,b,v\nx,,1\n", LONG, "row 2 has no label in column 'b'; name it, or leave that row out."),
    ("a.csv", b"a,b,v\n", LONG, "it has a header but no rows."),
    (
        "a.csv",
        b"a,b,v\nx,y,1\nx,z,2\nx,y,3\n",
        LONG,
        "the entry (a=x, b=y) appears twice (rows 2 and 4); keep one row for each entry.",
    ),
    (
        "a.csv",
        b"day,hour,v\n1,2,3\n",
        {"dims": ["day", "hours"]},
        "it has no column 'hours'; its columns are day, hour, v. Did you mean 'hour'?",
    ),
    (
        "a.csv",
        b"a,b,v,w\n1,2,3,4\n",
        {"dims": ["a", "b"]},
        "the value column is not plain (columns left beside the dimensions: v, w); name it with --value.",
    ),
    (
        "a.csv",
        b"a,v\n1,2\n",
        {"dims": ["a"], "value": "v"},
        "a long table needs at least two different dimension columns and a value column; got a.",
    ),
    ("a.mat", b"MATLAB 7.3 MAT", {}, "it is of version 7.3; save it in MATLAB with -v7, or as HDF5 (.h5)."),
    ("a.tns", b"1 2\n", {}, "each line must be `i j [k ...] value`: at least two indices and a value."),
    ("a.tns", b"# nothing\n", {}, "each line must be `i j [k ...] value`: at least two indices and a value."),
    ("a.tns", b"0 1 5\n1 1 2\n", {}, "indices must be whole numbers from 1; got (0, 1) in entry 1."),
    ("a.tns", b"1 1 5\n1 1.5 2\n", {}, "indices must be whole numbers from 1; got (1, 1.5) in entry 2."),
    ("a.tns", b"1 1 5\n1 2 2\n1 1 6\n", {}, "the entry (1, 1) appears twice (entries 1 and 3); keep one of them."),
    (
        "a.tns",
        b"# shape 1 1\n1 2 2\n",
        {},
        "its comment says shape (1, 1), but the largest indices are (1, 2); correct the comment or drop it.",
    ),
    ("a.nc", picture("PNG"), {}, "it is not a NetCDF file; it looks like a PNG picture."),
    ("a.zarr", b"x", {}, "it is not a Zarr store."),
    ("a.parquet", npy(np.ones((2, 2))), {}, "it is not a Parquet table; it looks like a NumPy array."),
    (
        "a.unknown",
        b"\0\1\2",
        {},
        "the ending .unknown is not known, nor is how it starts. Files are read that end in "
        f"{' '.join(kind.endings[0] for _, kind in FORMATS.items())}; say what it is with --format.",
    ),
    ("a.png", picture("PNG"), {"format": "pmg"}, None),
]


@pytest.mark.parametrize(("name", "contents", "options", "sentence"), BAD, ids=range(len(BAD)))
def test_bad_inputs(name, contents, options, sentence, tmp_path):
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(FileError) as caught:
        read(path, **options)
    text = str(caught.value)
    assert "\n" not in text
    assert text.startswith(f"cannot read {path}: ")
    if sentence is not None:
        assert text == f"cannot read {path}: {sentence}"


@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_of_every_format(name, tmp_path):
    """The right start and then rubbish: one sentence, whatever the library behind it says."""
    kind = FORMATS[name]
    path = tmp_path / f"a{kind.endings[0]}"
    if name == "zarr":
        path.mkdir()
        (path / ".zgroup").write_text("{")
    else:
        path.write_bytes((kind.magic or (b"\xff",))[0] + bytes(range(256)) * 3)
    with pytest.raises(FileError, match=r"^cannot read \S+: [^\n]+\.$"):
        read(path)


def test_misspelt_format(tmp_path):
    (tmp_path / "a").write_bytes(picture("PNG"))
    with pytest.raises(FileError, match=r"format must be one of .*; got 'pmg'. Did you mean 'png'\?$"):
        read(tmp_path / "a", format="pmg")
    with pytest.raises(FileError, match=r"cannot write .*: format must be one of"):
        write(tmp_path / "b", GREY, read(tmp_path / "a"), format="pmg")


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(FileError, match=r"cannot read \S+a.png: there is no such file\.$"):
        read(tmp_path / "a.png")
    with pytest.raises(FileError, match=r"cannot read mask \S+m.png: there is no such file\.$"):
        read_mask(tmp_path / "m.png", (2, 2))
    with pytest.raises(FileError, match=r"it is a directory, and no Zarr store\.$"):
        read(tmp_path)


def test_unreadable_file(tmp_path, monkeypatch):
    (tmp_path / "a.png").write_bytes(picture("PNG"))

    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(FileError, match=r"cannot read \S+a.png: permission denied\.$"):
        read(tmp_path / "a.png")


MASKS = [  # (contents, shape, sentence)
    (
        npy(np.ones((6, 8))),
        (6, 7, 3),
        "it has shape (6, 8), but the data have (6, 7, 3); a mask must have that shape, or (6, 7) to serve all of the "
        "last mode.",
    ),
    (npy(np.ones((6, 8))), (6, 7), "it has shape (6, 8), but the data have (6, 7); a mask must have that shape."),
    (npy(np.zeros((6, 7))), (6, 7), "it marks no entry as observed; non-zero must mean observed."),
    (npy(np.array([["x"]])), (1, 1), "a mask must hold numbers or True/False, non-zero = observed; got <U1."),
    (picture("JPEG"), (6, 7), "JPEG blurs the edges of a mask; save it as PNG."),
]


@pytest.mark.parametrize(("contents", "shape", "sentence"), MASKS, ids=range(len(MASKS)))
def test_bad_masks(contents, shape, sentence, tmp_path):
    path = tmp_path / "mask"
    path.write_bytes(contents)
    with pytest.raises(FileError) as caught:
        read_mask(path, shape)
    assert str(caught.value) == f"cannot read mask {path}: {sentence}"


# --- optional libraries -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "contents", "module", "sentence"),
    [
        (
            "a.parquet",
            b"PAR1....",
            "pyarrow",
            "reading Parquet needs pyarrow; install it with: pip install 'tensorfill[parquet]'",
        ),
        (
            "a.nc",
            b"CDF\x01....",
            "xarray",
            "reading NetCDF needs xarray; install it with: pip install 'tensorfill[xarray]'",
        ),
        (
            "a.nc",
            b"\x89HDF....",
            "h5netcdf",
            "reading NetCDF 4 needs h5netcdf; install it with: pip install 'tensorfill[xarray]'",
        ),
        ("a.h5", b"\x89HDF....", "h5py", "reading HDF5 needs h5py; install it with: pip install 'tensorfill[xarray]'"),
        (
            "a.feather",
            b"ARROW1..",
            "pyarrow",
            "reading Feather needs pyarrow; install it with: pip install 'tensorfill[parquet]'",
        ),
        (
            "a.xlsx",
            b"PK\x03\x04...xl/...",
            "openpyxl",
            "reading Excel needs openpyxl; install it with: pip install 'tensorfill[excel]'",
        ),
        ("a.mp4", b"....ftyp....", "av", "reading films needs av; install it with: pip install 'tensorfill[video]'"),
    ],
)
def test_a_missing_library_is_named(name, contents, module, sentence, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / name
    path.write_bytes(contents)
    with pytest.raises(FileError) as caught:
        read(path)
    assert str(caught.value) == f"cannot read {path}: {sentence}"


# --- writing ------------------------------------------------------------------------------------------------------


@pytest.fixture
def loaded(tmp_path):
    np.save(tmp_path / "in.npy", GREY)
    return read(tmp_path / "in.npy")


def listing(folder):
    return sorted(p.name for p in folder.iterdir())


def test_bad_outputs(loaded, tmp_path):
    (tmp_path / "folder.png").mkdir()
    (tmp_path / "folder.zarr").mkdir()
    (tmp_path / "folder.zarr" / "diary.txt").write_text("dear diary")
    (tmp_path / "file.zarr").write_text("x")
    bad = {
        "no/where/out.png": f"the directory {tmp_path / 'no/where'} does not exist.",
        "folder.png": "it is a directory.",
        "folder.zarr": "it is a directory that holds other files; name another.",
        "file.zarr": "there is a file of that name, and a directory is to be written; name another.",
    }
    for name, sentence in bad.items():
        with pytest.raises(FileError) as caught:
            write(tmp_path / name, GREY, loaded)
        assert str(caught.value) == f"cannot write {tmp_path / name}: {sentence}"
    assert (tmp_path / "folder.zarr" / "diary.txt").read_text() == "dear diary"
    with pytest.raises(FileError, match=r"the ending .xyz is not known; use one of .*\.png"):
        write(tmp_path / "out.xyz", GREY, loaded)
    with pytest.raises(FileError, match=r"cannot write standard output: a Zarr store cannot be sent through a stream"):
        write("-", GREY, loaded, format="zarr")


PICTURES = [  # (array, ending, sentence)
    (
        np.full((4, 5), 0.5),
        ".png",
        "PNG holds whole numbers 0..255; got fractions up to 0.5; multiply by 255, or write .npy or .tif.",
    ),
    (
        np.full((4, 5), -3),
        ".png",
        "PNG holds whole numbers 0..65535; got values from -3 to -3; write .npy or .tif instead.",
    ),
    (
        np.full((4, 5), 300),
        ".jpg",
        "JPEG holds whole numbers 0..255; got values from 300 to 300; write .npy or .tif instead.",
    ),
    (
        np.full((4, 5), 3, np.uint16),
        ".jpg",
        "JPEG holds 8 bits per sample and these values have 16; write .png or .tif instead.",
    ),
    (np.full((4, 5, 4), 3, np.uint8), ".jpg", "JPEG holds no alpha channel; write .png or .tif instead."),
    (
        np.full((4, 5, 6), 3, np.uint8),
        ".png",
        "PNG holds one picture and this is a video of 4 frames; write .tif instead.",
    ),
    (
        np.full((2, 2, 2, 2, 2), 3, np.uint8),
        ".png",
        "PNG holds (H, W) or (H, W, 3 or 4), and frames of these; got shape (2, 2, 2, 2, 2); write .npy instead.",
    ),
]


@pytest.mark.parametrize(("array", "ending", "sentence"), PICTURES)
def test_pictures_are_not_made_by_guesswork(array, ending, sentence, tmp_path):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(FileError) as caught:
        write(tmp_path / f"b{ending}", array, read(tmp_path / "a.npy"))
    assert str(caught.value) == f"cannot write {tmp_path / f'b{ending}'}: {sentence}"


class FullDisk(io.RawIOBase):
    """Takes a few bytes, then the disk is full."""

    def writable(self):
        return True

    def write(self, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize("name", [n for n, kind in FORMATS.items() if kind.writes and not kind.store])
def test_full_disk_leaves_the_old_file_and_nothing_else(name, loaded, tmp_path, monkeypatch):
    path = tmp_path / f"out{FORMATS[name].endings[0]}"
    path.write_text("old")
    before = listing(tmp_path)
    real = os.fdopen

    def fdopen(handle, mode):
        os.close(handle)
        return io.BufferedWriter(FullDisk(), 16)

    monkeypatch.setattr(atomic.os, "fdopen", fdopen)
    with pytest.raises(FileError) as caught:
        write(path, GREY, loaded)
    monkeypatch.setattr(atomic.os, "fdopen", real)
    assert str(caught.value) == f"cannot write {path}: the disk is full."
    assert path.read_text() == "old"
    assert listing(tmp_path) == before
    write(path, GREY, loaded)
    assert path.read_bytes() != b"old"


def test_failure_halfway_through_a_library(loaded, tmp_path, monkeypatch):
    kind = FORMATS["zarr"]
    path = tmp_path / f"out{kind.endings[0]}"
    write(path, GREY, loaded)
    whole, before = read(path).values, listing(tmp_path)
    real = kind.write_path

    def fail(self, place, array, like):
        real(self, place, array, like)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(kind, "write_path", fail)
    with pytest.raises(FileError, match=r"the disk is full\.$"):
        write(path, GREY + 1, loaded)
    np.testing.assert_array_equal(read(path).values, whole)
    assert listing(tmp_path) == before


def test_zarr_is_moved_back_when_it_cannot_be_replaced(loaded, tmp_path, monkeypatch):
    path = tmp_path / "out.zarr"
    write(path, GREY, loaded)
    before, real = listing(tmp_path), os.replace

    def replace(source, target):
        if os.fspath(target) == os.fspath(path) and os.path.basename(source) != output.OLD:
            raise OSError(errno.EPERM, "no")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(output, "exchange", lambda new, target: False)  # a system that cannot in one step
    with pytest.raises(FileError, match=r"permission denied\.$"):
        write(path, GREY + 1, loaded)
    np.testing.assert_array_equal(read(path).values, GREY)
    assert listing(tmp_path) == before


def test_interruption_leaves_nothing_behind(loaded, tmp_path, monkeypatch):
    before = listing(tmp_path)

    def interrupt(self, sink, array, like):
        sink.write(b"half of it")
        raise KeyboardInterrupt

    monkeypatch.setattr(FORMATS["npy"], "write", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out.npy", GREY, loaded)
    assert listing(tmp_path) == before


def test_an_interrupted_store_goes_even_while_its_threads_write(loaded, tmp_path, monkeypatch):
    """SIGTERM ended as "cannot write out.zarr: Directory not empty", and left the half of it behind."""
    before, threads = listing(tmp_path), []

    def interrupt(self, path, array, like):
        def go_on():
            for k in range(60):
                with contextlib.suppress(OSError):
                    path.mkdir(parents=True, exist_ok=True)
                    (path / str(k)).write_bytes(b"x")
                time.sleep(0.005)

        threads.append(threading.Thread(target=go_on))
        threads[0].start()
        time.sleep(0.05)
        raise KeyboardInterrupt

    monkeypatch.setattr(FORMATS["zarr"], "write_path", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path / "out.zarr", GREY, loaded)
    threads[0].join()
    assert listing(tmp_path) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_devices_are_written_to_not_replaced(loaded):
    with pytest.raises(FileError, match=r"^cannot write /dev/full: the disk is full\.$"):
        write("/dev/full", GREY, loaded)
    write("/dev/null", GREY, loaded)
    assert os.path.exists("/dev/full")
    assert not os.path.isfile("/dev/null")


def test_a_closed_pipe_is_a_sentence(loaded, monkeypatch):
    class Closed(io.BytesIO):
        def write(self, data):
            raise BrokenPipeError(errno.EPIPE, "x")

    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=Closed()))
    with pytest.raises(FileError, match=r"^cannot write standard output: the reader of the stream has gone\.$"):
        write("-", GREY, loaded)


def test_links_and_permissions_are_kept(loaded, tmp_path):
    real, link = tmp_path / "real.npy", tmp_path / "link.npy"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write(link, GREY, loaded)
    assert link.is_symlink()
    np.testing.assert_array_equal(np.load(real), GREY)
    assert real.stat().st_mode & 0o777 == 0o640


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_unwritable_directory(loaded, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    with pytest.raises(FileError, match=r"permission denied\.$"):
        write(tmp_path / "locked" / "out.npy", GREY, loaded)
