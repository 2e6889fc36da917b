"""`bench sptc-study` on a picture of 12 x 14: the file, the table, what is not run again, and the variants."""

import csv

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import tensorfill as tfl
from tensorfill.solvers.stepsize import SLACK
from tensorfill_benchmarks import sptc_study as study
from tensorfill_benchmarks.cli import app
from tensorfill_benchmarks.sptc_steps import Steps


@pytest.fixture
def folder(tmp_path, monkeypatch):
    y, x = np.mgrid[:12, :14] / 6
    grey = 120 + 60 * np.sin(x + 2 * y)
    place = tmp_path / "pictures"
    place.mkdir()
    Image.fromarray(np.rint(np.stack([grey, 0.8 * grey, 1.2 * grey], axis=2)).astype(np.uint8)).save(
        place / "house.png"
    )
    monkeypatch.setattr(study, "RANK", 4)
    monkeypatch.setattr(study, "MARKS", frozenset({2, 5}))
    monkeypatch.setattr(study, "SHOWN", (2, 5))
    return place


def test_file_table_and_nothing_twice(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(study, "VARIANTS", study.VARIANTS[::6])
    asked = ["sptc-study", "--images", str(folder), "-o", str(tmp_path / "out"), "--names", "house"]
    asked += ["--rates", "60", "--seeds", "0", "--iterations", "5"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    with open(tmp_path / "out" / "sptc_study.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == study.COLUMNS
    assert {(r["factor"], r["level"]) for r in rows} == {(v.factor, v.level) for v in study.VARIANTS}
    assert {r["iteration"] for r in rows} == {"2", "5"}
    assert "| house 60 % | from print, 2 | from print, 5 |" in (tmp_path / "out" / "sptc_study.md").read_text()
    again = CliRunner().invoke(app, asked)
    assert "0 cells run, 3 were there already" in again.output


def test_distances_are_those_to_print():
    def row(image, iteration, psnr, printed):
        words = {
            "factor": "none",
            "level": "absolute normal start",
            "image": image,
            "missing_percent": "60",
            "seed": "0",
        }
        return {**words, "iteration": str(iteration), "psnr": str(psnr), "paper_psnr": printed}

    rows = [row("house", 500, 33.0, "33.8896"), row("house", 1000, 34.0, "33.8896"), row("tree", 500, 29.0, "28.4723")]
    head, lines = study.summary(rows)
    assert head == ["varied", "to", "house 60 %", "tree 60 %", "from print, 500", "from print, 1000"]
    assert lines[0] == ["none", "absolute normal start", "34.00", "29.00", "0.71", "–"]  # tree has not got to 1000
    assert lines[1] == ["print", "", "33.89", "28.47", "", ""]


def test_what_cannot_be_varied_is_named(folder, tmp_path):
    with pytest.raises(ValueError, match="--only must be among none, epsilon, start, alpha, rho, order; got 'rhoo'"):
        study.run(folder, tmp_path, ["house"], only=["rhoo"])


def test_unchanged_steps_are_those_of_sptc(folder, rng):
    truth = np.asarray(Image.open(folder / "house.png")).astype(float)
    problem = tfl.Problem(tfl.Observations.from_dense(truth, mask=rng.random(truth.shape) < 0.5), 4, "poisson")
    start = study.Variant().start(truth.shape, 3)
    given = {"init": start, "stopping": tfl.Stopping(max_iter=4), "seed": 3}
    ours = tfl.solve(problem, tfl.OneStep(epsilon=tfl.METHODS["sptc"]().epsilon, project=True), **given).factors
    for A, B in zip(ours, tfl.solve(problem, Steps(), **given).factors, strict=True):
        np.testing.assert_array_equal(A, B)


@pytest.mark.parametrize("rule", ["grown", "each"])
def test_rises_are_taken_back(folder, rng, rule):
    truth = np.asarray(Image.open(folder / "house.png")).astype(float)
    problem = tfl.Problem(tfl.Observations.from_dense(truth, mask=rng.random(truth.shape) < 0.5), 4, "poisson")
    start = study.Variant().start(truth.shape, 0)
    done = tfl.solve(problem, Steps(rule=rule), init=start, stopping=tfl.Stopping(max_iter=60, tol=0.0))
    values = done.history["value"]
    assert np.diff(values).max() <= 3 * SLACK * (values[0] - values.min())  # in each of three modes
    assert values[-1] < values[0]


def test_order_and_all_at_once(folder, rng):
    truth = np.asarray(Image.open(folder / "house.png")).astype(float)
    problem = tfl.Problem(tfl.Observations.from_dense(truth, mask=rng.random(truth.shape) < 0.5), 4, "poisson")
    start = [A.astype(problem.dtype) for A in study.Variant().start(truth.shape, 0)]
    last = Steps(modes=(2, 1, 0)).sweep(problem, start, 1e-4)
    once = Steps(order="together").sweep(problem, start, 1e-4)
    usual = Steps().sweep(problem, start, 1e-4)
    np.testing.assert_array_equal(once[0], usual[0])  # the first mode sees the start in both
    np.testing.assert_array_equal(last[2], once[2])  # and so does the third, where it is the first
    assert not np.array_equal(once[2], usual[2])
