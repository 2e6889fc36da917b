"""The command line on data in blocks: a pattern of files in, a model and answers at chosen entries out."""

import numpy as np
import pytest

import tensorfill as tfl
import tensorfill.blocks.opening as opening
from tensorfill.cli import main as cli

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def parts(tmp_path, rng, monkeypatch):
    """Three files of ratings, which count as many; the truth."""
    A, B = rng.normal(size=(60, 2)), rng.normal(size=(40, 2))
    X = A @ B.T
    i, j = np.unravel_index(rng.choice(X.size, 1200, replace=False), X.shape)
    frame = pd.DataFrame({"user": [f"u{k}" for k in i], "item": j, "stars": X[i, j]})
    for k in range(3):
        frame[k::3].to_parquet(tmp_path / f"{k}.parquet")
    monkeypatch.setattr(opening.open_data, "__kwdefaults__", {**opening.open_data.__kwdefaults__, "large": 100})
    monkeypatch.chdir(tmp_path)
    return X


def run(*arguments):
    with pytest.raises(SystemExit) as error:
        cli.main(["complete", *arguments, "--dims", "user,item", "--value", "stars", "--quiet"])
    return error.value.code


def test_a_pattern_of_files_becomes_a_model_and_answers(parts, tmp_path):
    pd.DataFrame({"item": [3, 39], "user": ["u5", "u59"]}).to_parquet("wanted.parquet")
    assert run("[0-9].parquet", "-o", "model.npz", "--at", "wanted.parquet", "--rank", "2") == 0
    done = tfl.Completion.load("model.npz")
    assert done.rank == 2
    got = pd.read_parquet("model.at.parquet")
    assert list(got.columns) == ["user", "item", "stars"]
    np.testing.assert_allclose(got.stars, [parts[5, 3], parts[59, 39]], atol=0.3)
    np.testing.assert_array_equal(got.stars, done.at({"user": ["u5", "u59"], "item": [3, 39]}))
    given = pd.read_parquet("0.parquet")[:5]  # what is known comes back as it was given
    pd.concat([pd.DataFrame({"item": [3], "user": ["u5"]}), given]).to_csv("wanted.csv", index=False)
    assert run("[0-9].parquet", "-o", "out.csv", "--at", "wanted.csv", "--rank", "2") == 0
    assert pd.read_csv("out.csv").stars[0] == pytest.approx(got.stars[0])
    np.testing.assert_array_equal(pd.read_csv("out.csv").stars[1:], given.stars)
    assert not list(tmp_path.glob("*.at.*.tmp"))


def test_what_cannot_be_written_or_done_is_said_before_the_run(parts, capsys):
    for arguments, words in (
        (("-o", "out.png"), "-o must be a model, model.npz, or a table"),
        (("-o", "model.npz", "--at", "none.parquet"), "cannot read none.parquet"),
        (("-o", "model.npz", "--error-bars", "e.npy"), "--error-bars needs all of the data in memory"),
        (("-o", "model.npz", "--report", "r.html"), "--report needs all of the data in memory"),
    ):
        assert run("[0-9].parquet", *arguments) != 0
        assert words in capsys.readouterr().err
    assert run("photo.png", "-o", "out.png", "--scheduler", "tcp://nowhere:1") == 2
    assert "--scheduler is for tables" in capsys.readouterr().err
    assert run("none*.parquet", "-o", "out.npz") != 0
    assert "there is no such file" in capsys.readouterr().err


def test_a_fit_whose_answers_cannot_be_written_is_kept_as_a_model(parts, tmp_path, capsys):
    assert run("[0-9].parquet", "-o", "all.csv", "--rank", "2") != 0
    said = capsys.readouterr().err
    assert "name the entries you want with --at F" in said
    assert "The model itself is in all.npz" in said
    assert tfl.Completion.load("all.npz").rank == 2
    pd.DataFrame({"item": [3], "user": ["nobody"]}).to_csv("wanted.csv", index=False)
    (tmp_path / "out.npz").write_bytes(b"somebody's")
    assert run("[0-9].parquet", "-o", "out.csv", "--at", "wanted.csv", "--rank", "2") != 0
    assert "names user 'nobody', which the data do not have; leave it out.\n" in capsys.readouterr().err
    assert (tmp_path / "out.npz").read_bytes() == b"somebody's"


def test_a_folder_is_many_files_only_if_it_holds_tables(parts, tmp_path):
    from tensorfill.blocks.paths import in_pieces

    (tmp_path / "series.dcm").mkdir()
    (tmp_path / "series.dcm" / "1").touch()
    assert not in_pieces(str(tmp_path / "series.dcm"))
    assert in_pieces(str(tmp_path))
    assert run(".", "-o", "model.npz", "--rank", "2") == 0
