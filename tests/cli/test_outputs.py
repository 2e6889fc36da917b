"""What a run may write over, and what it must not."""

import os
import stat

import numpy as np
import pandas as pd
import pytest
from test_cli import run

import tensorfill as tfl
from tensorfill.io.atomic import find_overwritten, replace_file, special_file
from tensorfill.show.report import write_report
from tensorfill.solvers.loop import Stopping

QUICK = ("--method", "halrtc", "--max-iter", 2)
OPTIONS = {"--report": "r.html", "--error-bars": "e.npy", "--checkpoint": "c.npz"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    T = np.outer(rng.uniform(1, 2, 20), rng.uniform(1, 2, 15))
    mask = rng.random(T.shape) < 0.8
    np.save("in.npy", T)
    np.save("mask.npy", mask)
    return tmp_path


def files(folder):
    """Everything there, and what kind it is."""
    return {p.name: (p.read_bytes() if p.is_file() else stat.S_IFMT(p.lstat().st_mode)) for p in folder.iterdir()}


@pytest.mark.parametrize("option", ["-o", *OPTIONS])
@pytest.mark.parametrize("victim", ["in.npy", "./in.npy", "mask.npy", "link.npy", "hard.npy"])
def test_no_output_takes_the_place_of_an_input(folder, option, victim, capsys):
    os.symlink("in.npy", "link.npy")
    os.link("mask.npy", "hard.npy")
    before = files(folder)
    outs = ("-o", "out.npy", option, victim) if option != "-o" else ("-o", victim)
    assert run("complete", "in.npy", "--mask", "mask.npy", *outs, *QUICK) == 2
    assert files(folder) == before
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"{option} {victim} is" in said
    assert "which would be lost" in said


@pytest.mark.parametrize("resume", [False, True])
@pytest.mark.parametrize("name", ["diary.txt", "run.npz", "link"])
def test_no_checkpoint_takes_the_place_of_another_file(folder, name, resume, capsys):
    (folder / "diary.txt").write_text("Dear diary")
    np.savez("run.npz", digest=np.zeros(3), results=np.ones(4))
    os.symlink("diary.txt", "link")
    before = files(folder)
    flags = ("--resume",) if resume else ()
    assert run("complete", "in.npy", "--mask", "mask.npy", "-o", "o.npy", "--checkpoint", name, *flags, *QUICK) == 1
    assert capsys.readouterr().err.startswith(f"tensorfill: checkpoint {name} is a file that is not a checkpoint")
    T = np.where(np.load("mask.npy"), np.load("in.npy"), np.nan)
    with pytest.raises(ValueError, match=f"checkpoint {name} is a file that is not a checkpoint.*Name another"):
        tfl.complete(T, method="halrtc", checkpoint=name, resume=resume)
    with pytest.raises(ValueError, match="is not a checkpoint"):
        tfl.solve(tfl.Problem(tfl.Observations.from_dense(T), rank=2), checkpoint=name, resume=resume)
    assert files(folder) == before


def test_a_file_that_appears_in_the_checkpoints_place_stays(folder):
    T = np.where(np.load("mask.npy"), np.load("in.npy"), np.nan)

    def write(state, history):
        (folder / "c.npz").write_text("Dear diary")

    with pytest.warns(UserWarning, match="is not a checkpoint.*the run goes on without it"):
        tfl.complete(T, method="halrtc", max_iter=3, callback=write, checkpoint="c.npz")
    assert (folder / "c.npz").read_text() == "Dear diary"


@pytest.mark.parametrize("name", ["diary.txt", "other.npz", "link"])
def test_no_saved_run_and_no_report_takes_the_place_of_another_file(folder, name, capsys):
    """`done.save("table.csv")` replaced the table."""
    (folder / "diary.txt").write_text("Dear diary")
    np.savez("other.npz", results=np.ones(4))
    os.symlink("diary.txt", "link")
    before = files(folder)
    done = tfl.complete(np.load("in.npy"), mask=np.load("mask.npy"), method="halrtc", max_iter=2)
    for what, write in {"saved run": done.save, "report": done.report}.items():
        with pytest.raises(ValueError, match=f"{what} {name} is a file that is not a {what}.*Name another"):
            write(name)
    for option, what in {"--save": "saved run", "--report": "report"}.items():
        assert run("complete", "in.npy", "--mask", "mask.npy", "-o", "o.npy", option, name, *QUICK) == 1
        assert capsys.readouterr().err.startswith(f"tensorfill: {what} {name} is a file that is not a {what}")
    assert run("demo", "-o", name, "--max-iter", "1") == 1
    assert "picture" in capsys.readouterr().err
    assert files(folder) == before
    for _ in range(2):  # but its own
        done.save("run.npz")
        done.report("r.html")


def test_an_empty_file_and_a_former_checkpoint_may_become_a_checkpoint(folder):
    (folder / "c.npz").touch()
    T = np.where(np.load("mask.npy"), np.load("in.npy"), np.nan)
    for _ in range(2):
        tfl.complete(T, method="halrtc", max_iter=2, checkpoint="c.npz")
        assert len(np.load("c.npz")) > 1


def test_a_checkpoint_is_not_a_file_that_is_read(folder):
    pd.DataFrame({"rat": ["a", "a", "b"], "week": [1, 2, 1], "kg": [1.0, 2.0, 3.0]}).to_parquet("rat.parquet")
    tfl.complete(np.load("in.npy"), mask=np.load("mask.npy"), method="halrtc", max_iter=2, checkpoint="c.npz")
    before = files(folder)
    for data, place in {"rat.parquet": "rat.parquet", "c.npz": "./c.npz"}.items():
        with pytest.raises(ValueError, match=r"is a file that is not a checkpoint|is the input, which would be lost"):
            tfl.complete(data, dims=["rat", "week"], value="kg", checkpoint=place)
        with pytest.raises(ValueError, match=r"is a file that is not a checkpoint|is the input, which would be lost"):
            tfl.complete([data], dims=["rat", "week"], value="kg", checkpoint=place)
    assert files(folder) == before


@pytest.mark.parametrize("source", ["many/*.csv", "many"])
@pytest.mark.parametrize("option", ["-o", "--checkpoint"])
def test_no_output_takes_the_place_of_one_of_many_inputs(folder, source, option, capsys):
    table = pd.DataFrame({"rat": ["a", "a", "b"], "week": [1, 2, 1], "kg": [1.0, 2.0, 3.0]})
    (folder / "many").mkdir()
    for k in range(2):
        table.to_csv(f"many/{k}.csv", index=False)
    outs = ("-o", "o.npz", option, "many/1.csv") if option != "-o" else ("-o", "many/1.csv")
    assert run("complete", source, "--dims", "rat,week", "--value", "kg", *outs) == 2
    assert "the input, which would be lost" in capsys.readouterr().err
    pd.testing.assert_frame_equal(pd.read_csv("many/1.csv"), table)


def test_answers_beside_a_model_do_not_take_the_place_of_an_input(folder, capsys):
    pd.DataFrame({"rat": ["a", "a", "b"], "week": [1, 2, 1], "kg": [1.0, 2.0, 3.0]}).to_csv("m.at.csv", index=False)
    (folder / "list.csv").write_text("rat,week\nb,2\n")
    before = files(folder)
    words = ("--dims", "rat,week", "--value", "kg", "-o", "m.npz", "--at", "list.csv")
    assert run("complete", "m.at*.csv", *words) == 2
    assert "m.at.csv is among the input, which would be lost" in capsys.readouterr().err
    assert files(folder) == before


def test_a_store_does_not_take_the_place_of_a_folder_with_an_input_in_it(folder):
    (folder / "s.zarr").mkdir()
    (folder / "s.zarr" / "in.npy").write_bytes((folder / "in.npy").read_bytes())
    assert "holds the input" in find_overwritten({"-o": "s.zarr"}, {"the input": "s.zarr/in.npy"})


@pytest.mark.parametrize("one", ["-o", *OPTIONS])
@pytest.mark.parametrize("two", OPTIONS)
def test_no_two_outputs_are_one_file(folder, one, two, capsys):
    if one == two:
        return
    before = files(folder)
    outs = ("-o", "same.npy") if one == "-o" else ("-o", "out.npy", one, "same.npy")
    assert run("complete", "in.npy", "--mask", "mask.npy", *outs, two, "./same.npy", *QUICK) == 2
    assert files(folder) == before
    assert "name another file for one of them" in capsys.readouterr().err


@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("kind", ["fifo.npy", "folder.npy", "link to fifo.npy", "link to folder.npy"])
def test_what_is_no_file_is_not_replaced_by_one(folder, option, kind, capsys):
    os.mkfifo("fifo.npy")
    os.mkdir("folder.npy")
    os.symlink("fifo.npy", "link to fifo.npy")
    os.symlink("folder.npy", "link to folder.npy")
    before = files(folder)
    assert run("complete", "in.npy", "--mask", "mask.npy", "-o", "out.npy", option, kind, *QUICK) == 1
    assert files(folder) == before
    said = capsys.readouterr().err
    assert f"cannot write {kind}: it is a " in said


def test_the_library_does_not_replace_devices_either(folder):
    os.mkfifo("fifo")
    T = np.where(np.load("mask.npy"), np.load("in.npy"), np.nan)
    done = tfl.complete(T, method="halrtc", max_iter=2)
    problem = tfl.Problem(tfl.observe(T), rank=1)
    for write in (
        done.save,
        lambda path: write_report(done, path),
        lambda path: tfl.solve(problem, stopping=Stopping(max_iter=1), checkpoint=path),
    ):
        for place, word in (("fifo", "a pipe"), (".", "a directory")):
            with pytest.raises(OSError, match=f"it is {word}"):
                write(place)
    assert special_file("/dev/null") == "a device"
    assert special_file("in.npy") == special_file("nothing here") == ""
    assert stat.S_ISFIFO(os.stat("fifo").st_mode)
    assert sorted(os.listdir()) == ["fifo", "in.npy", "mask.npy"]


def test_a_link_goes_on_pointing_at_the_file_that_changes(folder):
    os.mkdir("deep")
    os.symlink("deep/real.txt", "link.txt")
    for text in (b"one", b"two"):
        with replace_file("link.txt") as file:
            file.write(text)
        assert os.path.islink("link.txt")
        with open("deep/real.txt", "rb") as file:
            assert file.read() == text
    assert os.listdir("deep") == ["real.txt"]


def test_a_device_can_be_written_to_on_purpose(folder):
    assert run("complete", "in.npy", "--mask", "mask.npy", "-o", "/dev/null", "--format", "npy", *QUICK) == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize("ending", [".nc", ".zarr"])
def test_names_that_a_format_has_no_room_for_are_refused_before_the_fit(folder, ending, monkeypatch, capsys):
    pytest.importorskip("h5netcdf")
    rows = [f"{i},{j},{i + j}" for i in range(6) for j in range(5) if (i + j) % 4]
    with open("t.csv", "w") as file:
        file.write("x,y,km/h\n" + "\n".join(rows) + "\n")
    monkeypatch.setattr("tensorfill.cli.progress.complete", lambda *a, **k: pytest.fail("it came to the fit"))
    assert run("complete", "t.csv", "--dims", "x,y", "--value", "km/h", "-o", f"out{ending}", *QUICK) == 1
    assert f"cannot write out{ending}: " in (said := capsys.readouterr().err)
    assert "no '/' in a name; got 'km/h'" in said
    assert sorted(os.listdir()) == ["in.npy", "mask.npy", "t.csv"]


def test_the_demonstration_keeps_to_it_too(folder, monkeypatch, capsys):
    monkeypatch.setattr("tensorfill.cli.progress.complete", lambda *a, **k: pytest.fail("it came to the fit"))
    assert run("demo", "-o", "a.png", "--report", "./a.png") == 2
    assert "name another file for one of them" in capsys.readouterr().err
    os.mkfifo("fifo.png")
    assert run("demo", "-o", "fifo.png") == 1
    assert "cannot write fifo.png: it is a pipe." in capsys.readouterr().err
