"""One file to go on from, and nothing left behind by runs that were killed."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.io import atomic
from tensorfill.io.atomic import exchange, remove_leftovers, replace_file, temporary_prefix
from tensorfill.io.checkpoint import Checkpoint
from tensorfill.io.formats import output
from tensorfill.io.formats.output import replace_path

rng = np.random.default_rng(0)
TABLE = np.outer(rng.uniform(1, 2, 20), rng.uniform(1, 2, 12)) + rng.normal(0, 0.1, (20, 12))
TABLE[rng.random(TABLE.shape) < 0.3] = np.nan
y, x = np.mgrid[0:16, 0:16] / 16
PICTURE = np.rint(127 + 100 * np.sin(9 * x) * np.cos(7 * y))[..., None] * np.array([1.0, 0.5, 0.25])
PICTURE[rng.random(PICTURE.shape) < 0.4] = np.nan

CASES = {
    "method": (TABLE, {"method": "halrtc", "error_bars": 0.8}),
    "contest": (TABLE, {"candidates": ["means", "low-rank"]}),
    "field with passes": (PICTURE, {"smooth": {0: 1.0, 1: 1.0}, "passes": 2, "solver": tfl.Adam(steps=20), "rank": 4}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_run_leaves_one_file_and_goes_on_from_it(case, tmp_path):
    data, settings = CASES[case]
    place = tmp_path / "c.npz"
    done = tfl.complete(data, checkpoint=place, **settings)
    assert os.listdir(tmp_path) == ["c.npz"]
    again = tfl.complete(data, checkpoint=place, resume=True, **settings)
    assert np.array_equal(done.completed, again.completed)
    assert os.listdir(tmp_path) == ["c.npz"]
    with pytest.raises(ValueError, match=r"c\.npz belongs to another run"):
        tfl.complete(data, checkpoint=place, resume=True, **{**settings, "seed": 9})


def test_sections_share_the_file_and_stay_apart(tmp_path):
    place = Checkpoint.at(tmp_path / "c.npz")
    place.keep({"a": np.arange(3)})
    place.part("x").keep({"a": np.arange(4)})
    place.part("x").part("y").keep({"b": np.arange(5)})
    again = Checkpoint.at(tmp_path / "c.npz", resume=True)
    assert again.find()["a"].tolist() == [0, 1, 2]
    assert again.part("x").find()["a"].tolist() == [0, 1, 2, 3]
    assert list(again.part("x").part("y").find()) == ["b"]
    assert again.part("y").find() is None
    assert Checkpoint.at(tmp_path / "c.npz").find() is None  # a run that does not resume begins anew
    assert Checkpoint.at(again) is again
    with pytest.raises(ValueError, match="checkpoint must not be empty"):
        Checkpoint.at("")


def dead():
    """The number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_what_killed_runs_left_is_swept_and_what_living_ones_need_is_not(tmp_path):
    target, gone = tmp_path / "out.npy", dead()
    stale = tmp_path / f"{temporary_prefix(target)}{gone}-abc.part"
    stale.write_bytes(b"half")
    folder = tmp_path / f"{temporary_prefix(target)}{gone}-def.part"
    (folder / "inside").mkdir(parents=True)
    stay = [
        f"{temporary_prefix(target)}{os.getppid()}-abc.part",
        ".out.npy.otherhost-1-abc.part",
        f"{temporary_prefix(target)}x.part",
        "a.part",
    ]
    stay += [f"{temporary_prefix(tmp_path / 'other.npy')}{gone}-abc.part"]
    for name in stay:
        (tmp_path / name).write_bytes(b"")
    with replace_file(target) as file:
        file.write(b"whole")
    assert sorted(os.listdir(tmp_path)) == sorted([*stay, "out.npy"])


def test_a_run_that_is_killed_while_writing_leaves_nothing_after_the_next(tmp_path):
    code = (
        "import os, signal\nfrom tensorfill.io.atomic import replace_file\n"
        "with replace_file('out.npy') as file:\n    file.write(b'half')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    (tmp_path / "out.npy").write_bytes(b"old")
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert len(os.listdir(tmp_path)) == 2
    assert (tmp_path / "out.npy").read_bytes() == b"old"
    remove_leftovers(tmp_path / "out.npy")
    assert os.listdir(tmp_path) == ["out.npy"]


@pytest.mark.parametrize("way", ["in one step", "in two"])
def test_a_directory_takes_the_place_of_another(tmp_path, monkeypatch, way):
    if way == "in two":
        monkeypatch.setattr(output, "exchange", lambda one, two: False)
    store = tmp_path / "a.zarr"
    for text in ("one", "two"):
        with replace_path(store, store=True) as new:
            new.mkdir()
            (new / ".zgroup").write_text(text)
        assert (store / ".zgroup").read_text() == text
        assert os.listdir(tmp_path) == ["a.zarr"]


def test_a_directory_moved_aside_by_a_run_that_was_killed_comes_back(tmp_path):
    store = tmp_path / "a.zarr"
    old = tmp_path / f"{temporary_prefix(store)}{dead()}-abc.part" / atomic.OLD
    old.mkdir(parents=True)
    (old / ".zgroup").write_text("old")
    remove_leftovers(store)
    assert (store / ".zgroup").read_text() == "old"
    assert os.listdir(tmp_path) == ["a.zarr"]


@pytest.mark.skipif(sys.platform != "linux", reason="one step is Linux's")
def test_two_directories_change_places_in_one_step(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "was").write_text(name)
    assert exchange(tmp_path / "a", tmp_path / "b")
    assert (tmp_path / "a" / "was").read_text() == "b"
    assert not exchange(tmp_path / "a", Path(tmp_path / "nothing"))
