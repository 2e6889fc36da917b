"""Models from the front door: complete(model=...), the command line, error bars, report, plots; growing ranks."""

import numpy as np
import pytest
from typer.testing import CliRunner

import tensorfill as tfl
from tensorfill.auto.settings import AutoSettings
from tensorfill.cli.main import app
from tensorfill.data.facts import compute_facts
from tensorfill.methods.base import METHODS, Run
from tensorfill.methods.lowrank.grow import PER_NUMBER, ladder
from tensorfill.methods.lowrank.models import OtherModel
from tensorfill.models import MODELS
from tensorfill.show.report import write_report

FORMS = [name for name, cls in METHODS.items() if issubclass(cls, OtherModel)]
RANK = {"cp": 2, "tucker": (2, 3, 2), "tt": (2, 3), "tr": (2, 2, 2), "tubal": 1}


def exact(name, shape, seed=0):
    """(X, mask) of an exactly low-rank tensor."""
    rng = np.random.default_rng(seed)
    cls = MODELS[name]
    rank = RANK.get(name, 2)
    X = cls.of(shape, rank, [rng.normal(size=s) for s in cls.shapes(shape, rank)]).full()
    return X / X.std(), rng.random(shape) < 0.6


@pytest.mark.parametrize("name", list(MODELS))
def test_complete_with_a_model(name):
    X, mask = exact(name, (7, 6, 5))
    done = tfl.complete(X, mask, model=name, rank=RANK.get(name, 2), max_iter=8, held_out=0)
    assert type(done.model) is MODELS[name]
    assert done.rank == MODELS[name].check_rank(X.shape, RANK.get(name, 2))
    assert np.array_equal(done.completed[mask], X[mask])


def test_error_bars_and_report_of_a_model(tmp_path):
    X, mask = exact("tt", (8, 7, 6))
    done = tfl.complete(X, mask, model="tt", rank=(2, 3), max_iter=8, held_out=0, error_bars=0.8)
    low, high = done.interval
    assert (high[~mask] > low[~mask]).all()
    write_report(done, tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text()
    assert "tt of rank 2, 3" in page
    assert "Along each mode the model moves in a few directions" in page


def test_a_model_without_a_rank_and_with_other_settings():
    X, mask = exact("tucker", (8, 7, 6))
    T = np.random.default_rng(0).poisson(np.exp(X))
    done = tfl.complete(T, mask, model="tucker", prior="poisson", smooth={0: 0.1}, max_iter=6)
    assert done.model.name == "tucker"
    assert done.prior.name == "poisson"
    done = tfl.complete(T, mask, model="tubal", held_out=0, max_iter=5)
    assert done.model.name == "tubal"


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"model": "tuker"}, "Did you mean 'tucker'"),
        ({"rank": (2, 2, 2)}, r'one whole number; got \(2, 2, 2\). Name another: model="tucker"'),
        ({"model": "tucker", "rank": (2, 2)}, "3 of them, one for each mode; got"),
        ({"model": "tt", "tv": 1.0}, "tv is for fields|no candidate can make use"),
        ({"model": "tucker", "method": "halrtc"}, "settings of method 'halrtc'"),
    ],
)
def test_what_cannot_be_gets_a_sentence(settings, sentence):
    with pytest.raises((ValueError, TypeError), match=sentence):
        tfl.complete(np.arange(60.0).reshape(5, 4, 3) % 7, np.random.default_rng(0).random((5, 4, 3)) < 0.8, **settings)


@pytest.mark.parametrize("form", FORMS)
def test_ranks_grow_to_the_truth(form):
    X, mask = exact(form, (11, 10, 6), seed=1)
    obs = tfl.Observations.from_dense(X, mask)
    fitted = METHODS[form](as_given=True).fit(obs, Run(0))
    assert np.sqrt(np.mean((fitted.answer.full() - X)[~mask] ** 2)) < 0.02
    assert fitted.model.name == form
    assert np.max(fitted.settings["rank"]) <= 6


@pytest.mark.parametrize("form", FORMS)
def test_the_ladder_bears_what_was_observed(form):
    ranks = ladder((12, 10, 8), 400, form)
    assert all(PER_NUMBER * MODELS[form].free((12, 10, 8), rank) <= 400 for rank in ranks[1:])
    assert len(set(ranks)) == len(ranks) >= 1
    assert len(ladder((12, 10, 8), 400, form, coarse=True)) <= len(ranks)


def test_a_matrix_has_one_form_and_a_rank_alone_is_of_cp():
    table = compute_facts(tfl.observe(np.random.default_rng(0).normal(size=(9, 8))))
    refused = {form: AutoSettings().competitors(table)[1].get(form) for form in FORMS}
    assert set(refused.values()) == {"low-rank matrices have but one form"}
    assert "of CP" in AutoSettings(rank=3).competitors(table)[1]["tt"]
    assert [m.name for m in AutoSettings(model="tt").competitors(table)[0]] == ["tt"]


def test_the_command_line(tmp_path):
    X, mask = exact("tucker", (8, 7, 6))
    np.save(tmp_path / "a.npy", np.where(mask, X, np.nan))
    arguments = ["complete", str(tmp_path / "a.npy"), "-o", str(tmp_path / "b.npy"), "--model", "tucker", "--json"]
    done = CliRunner().invoke(app, [*arguments, "--rank", "2,3,2", "--max-iter", "5"])
    assert done.exit_code == 0, done.output
    assert '"model": "tucker"' in done.output
    assert np.isfinite(np.load(tmp_path / "b.npy")).all()
    for bad, sentence in (("2,x", "must be a whole number"), ("2,0,1", "or several of them; got (2, 0, 1)")):
        done = CliRunner().invoke(app, [*arguments, "--rank", bad])
        assert done.exit_code == 2
        assert sentence in done.output
    listed = CliRunner().invoke(app, ["list", "models"]).output
    assert all(name in listed for name in MODELS)


def test_bench_models_measures_and_tells(tmp_path, monkeypatch):
    from tensorfill_benchmarks import models

    X, _ = exact("tucker", (8, 7, 6))
    monkeypatch.setattr(models, "DATA", {"small": ("exact", lambda places: X)})
    monkeypatch.setattr(models, "HEIGHTS", (1, 3))
    report, left_out = models.run(tmp_path, rates=(30.0,))
    assert (report.ran, report.failed, left_out) == (len(MODELS), [], [])
    assert models.run(tmp_path, rates=(30.0,))[0].already == len(MODELS)
    files = models.write(tmp_path)
    assert [file.name for file in files] == ["models.csv", "models.md", "models.png"]
    head, (line,) = models.table(models.csv_file(tmp_path).rows())
    assert head == ["data", "missing", *MODELS]
    assert line[head.index("tucker")].endswith("(3 x 3 x 3)")
    assert any("**" in cell for cell in line)
