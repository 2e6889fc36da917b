"""`bench tables`: masks, measures, cells that are not run twice, what is missing, the report."""

import importlib.util

import numpy as np
import pytest
from typer.testing import CliRunner

from tensorfill_benchmarks import tables, tables_report, tables_rubin, tables_tasks
from tensorfill_benchmarks.choose_data import DataSet, NotHere, Places
from tensorfill_benchmarks.cli import app
from tensorfill_benchmarks.tables_measures import MEASURES, Puzzle
from tensorfill_benchmarks.tables_others import OTHERS
from tensorfill_benchmarks.tables_tasks import TASKS, Task, metro_mask


def small(_=None, prior=None):
    rng = np.random.default_rng(0)
    values = np.add.outer(rng.normal(size=14), rng.normal(size=10)) + 0.1 * rng.normal(size=(14, 10)) + 3
    hidden = rng.random(values.shape) < 0.2
    return Puzzle(DataSet(values, low=0, high=9, time=(0,)), hidden, hidden, prior)


@pytest.fixture
def mine(monkeypatch):
    """Two tasks, and a posterior that takes a moment."""
    two = (
        Task("mine", "fold 0", ("RMSE", "MAE"), small, ("mode means", "linear"), {"X": (0.5, None)}, "linear"),
        Task("away", "20", ("RMSE",), lambda places: (_ for _ in ()).throw(NotHere("needs --data DIR.")), ()),
    )
    for module in (tables, tables_tasks, tables_report):
        monkeypatch.setattr(module, "TASKS", two)
    whole = tables.complete
    monkeypatch.setattr(tables, "complete", lambda obs, **kw: whole(obs, **({"draws": 4, "burn": 2, "rank": 1} | kw)))
    tables.puzzle.cache_clear()
    yield
    tables.puzzle.cache_clear()


@pytest.mark.parametrize(
    ("order", "kind", "percent"), [("A", "RM", 40), ("B", "RM", 70), ("A", "NM", 40), ("B", "BM", 30)]
)
def test_masks_are_those_that_were_published(order, kind, percent):
    mask = metro_mask(order, kind, percent)
    assert mask.shape == (80, 25, 108)
    assert mask.mean() == pytest.approx(1 - percent / 100, abs=0.04)
    np.random.seed(1000)  # noqa: NPY002 - as published
    if kind == "NM":
        expected = np.round(np.random.rand(80, 25)[:, :, None] + 0.5 - percent / 100) > 0  # noqa: NPY002
        assert np.array_equal(mask, np.broadcast_to(expected, mask.shape))
    elif kind == "BM":
        flat = mask.reshape(80, -1)
        assert (flat == flat[0]).all()
        assert (flat[0].reshape(-1, 6).std(axis=1) == 0).all()
    else:
        shape = (80, 25, 108) if order == "A" else (80, 108, 25)
        expected = np.round(np.random.rand(*shape) + 0.5 - percent / 100) > 0  # noqa: NPY002
        assert np.array_equal(mask, expected if order == "A" else expected.transpose(0, 2, 1))


def test_ranking_measures_by_hand():
    stars = np.array([[5.0, 1, 3, 0], [4, 4, 4, 4], [1, 2, 0, 0]])  # the second user likes all alike, and is left out
    known = stars > 0
    one = puzzle_of(stars, known)
    guess = np.array([2.0, 3.0, 1.0, 1, 1, 1, 1, 1.0, 2.0])  # of the first user: film 1, film 0, film 2
    discount = 1 / np.log2([2, 3, 4])
    first = np.array([1, 31, 7]) @ discount / (np.array([31, 7, 1]) @ discount)
    assert MEASURES["1 - NDCG@10"](one, guess) == pytest.approx(1 - (first + 1) / 2)
    assert np.isnan(MEASURES["1 - HR@10"](one, guess))  # nobody has more than ten
    long = np.ones((2, 12))
    long[:, 0] = 5
    two = puzzle_of(long, long > 0)
    down, up = -np.arange(12.0), np.arange(12.0)
    assert MEASURES["1 - HR@10"](two, np.concatenate([down, up])) == 0.5
    assert MEASURES["1 - HR@10"](two, np.concatenate([down, down])) == 0.0


def puzzle_of(values, hidden):
    return Puzzle(DataSet(values), hidden, hidden)


def test_measures():
    values = np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]])
    here = Puzzle(DataSet(values), values > -1, values > 0)
    x = here.truth + np.array([1.0, -1.0, 2.0, 0.0, 0.0])
    assert MEASURES["RMSE"](here, x) == pytest.approx(np.sqrt(6 / 5))
    assert MEASURES["MAE"](here, x) == pytest.approx(4 / 5)
    assert MEASURES["MAPE"](here, x) == pytest.approx((1 + 0.5 + 0.5) / 5)
    yes = Puzzle(DataSet(np.array([[1, 0, 1, 0]])), np.ones((1, 4), bool), np.ones((1, 4), bool))
    assert MEASURES["1 - AP"](yes, np.array([4.0, 3.0, 2.0, 1.0])) == pytest.approx(1 - (1 + 2 / 3) / 2)
    units = Puzzle(DataSet(values, units=1), values > -1, values > -1)
    off = units.truth + np.tile(values.std(axis=0), 2)
    assert MEASURES["RMSE"](units, off) == pytest.approx(1.0)


def test_nobody_is_shown_what_is_hidden():
    here = small()
    assert np.isnan(here.gapped[here.hidden]).all()
    assert not here.observations.mask[here.hidden].any()


@pytest.mark.parametrize("name", ["surprise", "myfm"])
def test_others_fill_what_is_scored(name):
    pytest.importorskip(name)
    here = small()
    x = OTHERS[name](here, 0)
    assert x.shape == here.truth.shape
    assert MEASURES["RMSE"](here, x) < here.data.values.std()


def test_cells_are_run_once_and_written_before_all_else(mine, tmp_path):
    report, left_out = tables.run(tmp_path, seeds=(0, 1), only=["others", "bayes"])
    assert report.ran == 3  # folds are repetitions: one seed
    assert not report.failed
    assert left_out == ["away: needs --data DIR."]
    rows = tables.csv_file(tmp_path).rows()
    assert [(r["what"], r["measure"]) for r in rows] == [
        (who, measure) for who in ("mode means", "linear", "bayes") for measure in ("RMSE", "MAE")
    ]
    again, _ = tables.run(tmp_path, seeds=(0, 1), only=["others", "bayes"])
    assert (again.ran, again.already) == (0, 3)
    text = (tmp_path / "tables.md").read_text()
    linear = next(float(r["value"]) for r in rows if (r["what"], r["measure"]) == ("linear", "RMSE"))
    assert f"*{linear / 2:.4g}*" in text  # stated as a ratio to linear
    assert (tmp_path / "tables.png").stat().st_size > 5000


def test_a_library_that_is_not_here_is_told_of(mine, tmp_path, monkeypatch):
    task = Task("mine", "fold 0", ("RMSE",), small, ("mode means", "myfm"))
    for module in (tables, tables_tasks, tables_report):
        monkeypatch.setattr(module, "TASKS", (task,))
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *a: None if name == "myfm" else real(name, *a))
    report, left_out = tables.run(tmp_path, only=["others"])
    assert report.ran == 1
    assert left_out == ["myfm: it is not installed: pip install ./benchmarks"]


def test_simulations_are_cells_too(tmp_path, monkeypatch):
    monkeypatch.setattr(tables_rubin, "SIMULATIONS", 3)
    report, _ = tables.run(tmp_path, ["rubin"], seeds=(0, 1))
    assert report.ran == 1
    (row,) = tables.csv_file(tmp_path).rows()
    assert row["measure"] == "missed"
    assert 0 <= float(row["value"]) <= 1
    assert "| 95 % |" in (tmp_path / "tables.md").read_text()


def test_through_the_command_line(mine, tmp_path):
    result = CliRunner().invoke(app, ["tables", "-o", str(tmp_path), "--only", "bayes", "--seeds", "3"])
    assert result.exit_code == 0, result.output
    assert "| fold 0 |" in result.output
    assert "left out  away: needs --data DIR." in result.output
    result = CliRunner().invoke(app, ["tables", "-o", str(tmp_path), "--names", "minn"])
    assert result.exit_code == 2
    assert "Did you mean 'mine'" in result.output


def test_every_task_has_a_name_of_its_own_and_known_measures():
    assert len({t.name for t in TASKS}) == len(TASKS)
    for task in TASKS:
        assert task.simulate is not None or set(task.measures) <= set(MEASURES)
        assert (task.make is None) is (task.simulate is not None)
        assert set(task.others) <= set(OTHERS)
        assert all(len(figures) == len(task.measures) for figures in task.published.values())
        assert task.over is None or task.over in task.others


def test_hangzhou_without_its_file_is_left_out():
    with pytest.raises(NotHere, match="--data DIR"):
        next(t for t in TASKS if t.data == "hangzhou").make(Places())
