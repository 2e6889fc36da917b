"""Files that lie: bombs are refused by what they claim, nothing outside a file is read, and a file that brings down the
library that reads it is one sentence.
"""

import gzip
import io
import json
import os
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

import tensorfill as tfl
from tensorfill.data.memory import BudgetError, ask, budget, free, limit_memory, read_bounded, size_of
from tensorfill.io.files import FileError, columns_of, read
from tensorfill.io.formats import isolated
from tensorfill.methods import METHODS

ZEROS = np.zeros((300, 100, 100))  # 24 MB
LIMIT = "9MB"


def png8(path):
    Image.new("RGB", (2000, 2000)).save(path)


def npz(path):
    np.savez_compressed(path, values=ZEROS)


def npy(path):
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**6)})
    path.write_bytes(head.getvalue() + bytes(64))


def packed(line):
    def make(path):
        with gzip.open(path, "wb", compresslevel=1) as file:
            file.write(line * 300_000)

    return make


def index(path):
    path.write_text("1 1 1 1.5\n2 2 300000000 2.5\n")


def tiff(path):
    Image.new("F", (2000, 1500)).save(path, compression="tiff_adobe_deflate")


def parquet(path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": np.zeros(500_000), "b": np.zeros(500_000)}), path)


def feather(path):
    pa, own = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    own.write_feather(pa.table({"a": np.zeros(500_000), "b": np.zeros(500_000)}), path, compression="zstd")


def hdf5(path):
    with pytest.importorskip("h5py").File(path, "w") as file:
        file.create_dataset("x", shape=(4000, 4000), chunks=(1000, 1000), compression="gzip", dtype="f8")


def netcdf(path):
    hdf5(path)


def mat(path):
    from scipy.io import savemat

    savemat(path, {"x": ZEROS}, do_compression=True)


def xlsx(path):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", "<a/>")
        archive.writestr("xl/worksheets/sheet1.xml", b" " * 3_000_000)


def categories(path):
    """One long text in every row, once in the file."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": pa.array(["x" * 100_000] * 200), "b": np.zeros(200)}), path)


def text(path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": pa.array(["x" * 1_000_000] * 20), "b": np.zeros(20)})
    pq.write_table(table, path, compression="gzip", use_dictionary=False)


def arrow(path):
    pa, own = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.feather")
    labels = pa.DictionaryArray.from_arrays(pa.array(np.zeros(200, np.int32)), pa.array(["x" * 100_000]))
    own.write_feather(pa.table({"a": labels, "b": np.zeros(200)}), path, compression="zstd")


BOMBS = {
    "categories.parquet": categories,
    "text.parquet": text,
    "categories.feather": arrow,
    "png8.png": png8,
    "a.npz": npz,
    "a.tns.gz": packed(b"1 1 1\n"),
    "a.csv.gz": packed(b"1,1,1\n"),
    "a.json.gz": packed(b"[1,1],\n"),
    "index.tns": index,
    "a.tif": tiff,
    "a.parquet": parquet,
    "a.feather": feather,
    "a.h5": hdf5,
    "a.nc": netcdf,
    "a.mat": mat,
    "a.xlsx": xlsx,
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused_before_memory_is_taken(name, tmp_path):
    path = tmp_path / name
    BOMBS[name](path)
    assert path.stat().st_size < 2_000_000
    tracemalloc.start()
    try:
        with pytest.raises((FileError, BudgetError)) as caught, limit_memory(LIMIT):
            read(path).observations()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert "and 9 MB may be taken, the limit that was set; allow more with --max-memory" in str(caught.value)
    assert peak < 25e6


def test_a_chunk_that_unpacks_to_more_than_it_should(tmp_path):
    """What it unpacks to is known only once it is, so that is done where memory is limited."""
    pytest.importorskip("zarr")
    array = tmp_path / "a.zarr" / "x"
    array.mkdir(parents=True)
    (array.parent / ".zgroup").write_text('{"zarr_format": 2}')
    notes = {"zarr_format": 2, "shape": [10, 10], "chunks": [10, 10], "dtype": "<f8", "fill_value": 0.0, "order": "C"}
    (array / ".zarray").write_text(json.dumps({**notes, "compressor": {"id": "zlib", "level": 1}, "filters": None}))
    (array / ".zattrs").write_text('{"_ARRAY_DIMENSIONS": ["a", "b"]}')
    deflate, zeros = zlib.compressobj(1), bytes(2**20)
    (array / "0.0").write_bytes(b"".join(deflate.compress(zeros) for _ in range(600)) + deflate.flush())
    with pytest.raises(FileError, match="there is not enough memory for it"), limit_memory(LIMIT):
        read(array.parent)


def test_columns_of_a_bomb(tmp_path):
    packed(b"1,1,1\n" * 10)(tmp_path / "a.csv.gz")
    with pytest.raises((FileError, BudgetError), match="unpacked it would take"), limit_memory(LIMIT):
        columns_of(tmp_path / "a.csv.gz")


def test_a_header_that_claims_more_than_the_file_holds(tmp_path):
    npy(tmp_path / "a.npy")
    with pytest.raises(FileError, match=r"cannot hold the array of shape \(1000000, 1000000\) that it claims\.$"):
        read(tmp_path / "a.npy")


def test_the_default_is_a_share_of_what_is_free():
    assert 0 < budget() <= 0.5 * free() * 1.05
    with pytest.raises(BudgetError, match="50% of what is free"):
        ask(1e15, "a wish")
    with pytest.raises(BudgetError, match="limit that was set"), limit_memory("1kB"):
        read_bounded(io.BytesIO(bytes(5000)), "it")
    assert (size_of("1.5GB"), size_of("2 GiB"), size_of(7)) == (1_500_000_000, 2**31, 7)
    for wrong in ("much", "-1GB", 0, True, None):
        with pytest.raises(ValueError, match="max_memory must be a size"):
            size_of(wrong)


def test_methods_ask_before_they_begin():
    T = np.where(np.random.default_rng(0).random((60, 60, 40)) < 0.5, 1.0, np.nan)
    with pytest.raises(MemoryError, match=r"method 'lrtv-pds' on 144,000 entries, .* would take about 38.9 MB"):
        tfl.complete(T, method="lrtv-pds", max_memory="30MB")
    huge = tfl.Observations((2**10, 2**9, 2**9), np.array([[0, 0, 0], [1, 1, 1]]), np.array([1.0, 2.0]))
    assert METHODS["lrtv-pds"]().memory(huge) > 70e9  # 74 GB were taken once
    with pytest.raises(MemoryError, match="may be taken"):
        tfl.complete(huge, method="fbcp-mp", max_memory="100GB")


def test_memory_that_runs_out_in_a_method_is_a_sentence(monkeypatch):
    def fit(*given):
        raise MemoryError("Unable to allocate 17.5 GiB")

    monkeypatch.setattr(METHODS["means"], "fit", fit)
    with pytest.raises(
        BudgetError, match=r"not enough memory for method 'means' on 6 entries \(Unable to allocate 17.5"
    ):
        tfl.complete(np.array([[1.0, 2.0, 4.0], [3.0, np.nan, 5.0]]), method="means")


@pytest.mark.parametrize("name", [n for n, cls in METHODS.items() if hasattr(cls, "room") and not n.startswith("spc")])
def test_what_a_method_asks_for_is_what_it_takes(name):
    """Within a factor: an estimate, but no guess."""
    rng = np.random.default_rng(0)
    T = np.where(rng.random((40, 36, 30)) < 0.5, np.einsum("i,j,k", *(rng.random(n) for n in (40, 36, 30))), np.nan)
    obs = tfl.Observations.from_dense(T)
    tracemalloc.start()
    done = tfl.complete(obs, method=name, max_iter=1)
    assert done.completed.shape == T.shape
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.35 * peak < METHODS[name]().memory(obs) < 4 * peak


# --- nothing outside the file -------------------------------------------------------------------------------------


def outside(path, how):
    h5py = pytest.importorskip("h5py")
    secret = path.parent / "secret.h5"
    with h5py.File(secret, "w") as file:
        file["x"] = np.ones((3, 4))
    with h5py.File(path, "w") as file:
        if how == "link":
            file["x"] = h5py.ExternalLink(str(secret), "x")
        elif how == "deep link":
            file.create_group("a/b")["x"] = h5py.ExternalLink(str(secret), "x")
        elif how == "storage":
            file.create_dataset("x", (3, 4), "f8", external=[(str(secret), 0, 96)])
        else:
            layout = h5py.VirtualLayout((3, 4), "f8")
            layout[:] = h5py.VirtualSource(str(secret), "x", (3, 4))
            file.create_virtual_dataset("x", layout)


@pytest.mark.parametrize("how", ["link", "deep link", "storage", "virtual"])
@pytest.mark.parametrize("ending", [".h5", ".nc"])
def test_hdf5_reaches_into_no_other_file(how, ending, tmp_path):
    outside(tmp_path / f"a{ending}", how)
    with pytest.raises(FileError, match=r"secret\.h5, another file, and those are not followed"):
        read(tmp_path / f"a{ending}")


# --- a library that breaks down -----------------------------------------------------------------------------------


BAD = {
    "breaks": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
    "hangs": "import time; time.sleep(99)",
    "eats": "import numpy; numpy.ones(10**9).sum()",
}


@pytest.fixture
def helper(monkeypatch):
    """A helper of its own whose tasks misbehave."""

    def start(name):
        real = isolated.subprocess.Popen
        bad = f"worker.TASKS['mat'] = worker.Task(lambda source: exec({BAD[name]!r}), ()); "
        bad += "worker._warm = lambda task: None; "

        def popen(command, **settings):
            code = command[-1].replace(
                "import serve; serve()", f"import serve; worker = sys.modules[serve.__module__]; {bad}serve()"
            )
            return real([*command[:-1], code], **settings)

        monkeypatch.setattr(isolated.subprocess, "Popen", popen)
        monkeypatch.setattr(isolated, "_current", [])
        monkeypatch.setattr(isolated, "SECONDS", 0.2 if name == "hangs" else 8.0)

    yield start
    for own in isolated._current:
        own.close()


def test_a_helper_that_was_stopped_is_asked_no_more(monkeypatch):
    """It takes a moment to die, and the next file was said to be damaged."""

    class Dying:
        pid, stdin, stdout = 2**22 + 1, None, None  # nobody's

        def __init__(self, *command, **settings):
            pass

        def poll(self):
            return None

        wait = poll

    monkeypatch.setattr(isolated.subprocess, "Popen", Dying)
    monkeypatch.setattr(isolated, "_current", [])
    first = isolated._helper()
    assert isolated._helper() is first
    first.stop()
    assert isolated._helper() is not first
    isolated._current.clear()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("breaks", r"the library that reads it broke down \(signal 11\)"),
        ("hangs", "the library that reads it did not come to an end in 1 seconds"),
        ("eats", "there is not enough memory for it"),
    ],
)
def test_a_file_that_brings_down_its_library_is_a_sentence(name, sentence, helper, tmp_path):
    helper(name)
    mat(tmp_path / "a.mat")
    with pytest.raises(FileError, match=sentence), limit_memory("200MB"):
        read(tmp_path / "a.mat")
    if name == "breaks":
        with pytest.raises(FileError, match=sentence), limit_memory("200MB"):  # and the next one, too
            read(tmp_path / "a.mat")


def test_labels_that_point_outside_their_categories(tmp_path):
    """Arrow reads whatever lies there, and the process is gone."""
    pa = pytest.importorskip("pyarrow")
    codes = pa.array([0, 1, -(2**24), 1], pa.int32())
    labels = pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b"]), safe=False)
    feather = pytest.importorskip("pyarrow.feather")
    table = pa.table({"site": labels, "hour": [0, 1, 0, 1], "v": [1.0, 2.0, 3.0, 4.0]})
    feather.write_feather(table, tmp_path / "a.feather", compression="uncompressed")
    with pytest.raises(FileError, match=r"cannot read .*a\.feather: it is damaged: Column 0: .* out of bounds"):
        read(tmp_path / "a.feather", dims=["site", "hour"])


@pytest.mark.parametrize("what", ["completion", "checkpoint"])
def test_saved_runs_are_no_bombs_either(what, tmp_path):
    arrays = {"meta": ZEROS} if what == "completion" else {"digest": ZEROS[:1], "|meta": ZEROS}
    np.savez_compressed(tmp_path / "a.npz", **arrays)
    T = np.where(np.random.default_rng(0).random((9, 8)) < 0.7, 1.5, np.nan)
    again = {
        "completion": lambda: tfl.Completion.load(tmp_path / "a.npz"),
        "checkpoint": lambda: tfl.complete(T, method="halrtc", checkpoint=tmp_path / "a.npz", resume=True),
    }[what]
    with pytest.raises((ValueError, BudgetError), match="and 9 MB may be taken"), limit_memory(LIMIT):
        again()
