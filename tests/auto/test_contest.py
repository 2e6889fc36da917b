"""The contest: fair, honest about its error, the same by seed; the blend; the leaderboard."""

import re
from dataclasses import replace

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.auto import answer, ensemble, weights
from tensorfill.auto import contest as contest_module
from tensorfill.auto.contest import Contest, ends, standard_error
from tensorfill.auto.folds import loss_weights, make_folds
from tensorfill.auto.rounds import run_contest
from tensorfill.auto.settings import AutoSettings
from tensorfill.data.facts import compute_facts
from tensorfill.methods.base import METHODS, OutOfTime, Run
from tensorfill.methods.bayes import TRIAL


def series(seed=0, shape=(80, 6), missing=0.4):
    rng = np.random.default_rng(seed)
    T = np.cumsum(rng.normal(size=(shape[0], 2)), axis=0) @ rng.normal(size=(2, shape[1]))
    T = T + 0.1 * rng.normal(size=shape)
    return T, np.where(rng.random(shape) < missing, np.nan, T)


def held(T, seed=0, **given):
    obs = tfl.observe(T)
    contest = Contest.on(obs, compute_facts(obs), AutoSettings(**given), Run(seed))
    run_contest(contest)
    return contest


@pytest.fixture(scope="module")
def contest():
    return held(series()[1])


def test_folds_are_disjoint_and_judges_are_some(contest):
    for fold in contest.folds:
        assert fold.training.nnz + fold.validation.nnz == contest.obs.nnz
        assert not np.isin(fold.training.flat, fold.validation.flat).any()
    assert 0 < contest.selection.sum() < len(contest.selection)


def test_the_error_reported_never_saw_the_choice(contest):
    """Spoiling the entries that only report changes neither ranking nor weights."""
    before = ensemble.decide(contest)
    order = [e.method.label for e in contest.ranking()]
    truth = contest.truth.copy()
    contest.truth = np.where(contest.selection, truth, 1e6)
    try:
        after = ensemble.decide(contest)
        assert [e.method.label for e in contest.ranking()] == order
        np.testing.assert_array_equal(after.weights.b, before.weights.b)
        np.testing.assert_array_equal(after.weights.C, before.weights.C)
    finally:
        contest.truth = truth


def test_weights_are_convex_and_the_blend_is_no_worse(contest):
    decision = ensemble.decide(contest)
    W = decision.at(contest.features, contest.unseen)
    assert (W >= 0).all()
    np.testing.assert_allclose(W.sum(axis=-1), 1.0)
    best = contest.ranking()[0]
    x = decision.predict(contest)
    assert contest.losses(x)[contest.selection].mean() <= 1.02 * contest.loss(best)  # drawn to even weights


def test_entries_of_one_gap_are_one_piece_of_evidence():
    rng = np.random.default_rng(0)
    gaps = np.repeat(np.arange(30), 20)
    means = [np.repeat(rng.normal(size=30), 20).mean() for _ in range(4000)]
    told = [standard_error(np.repeat(rng.normal(size=30), 20), gaps) for _ in range(200)]
    assert np.mean(told) == pytest.approx(np.std(means), rel=0.05)


def test_the_same_seed_tries_the_same_and_answers_the_same():
    T = series(2)[1]
    a, b = tfl.complete(T, seed=4), tfl.complete(T, seed=4)
    assert [(r.name, r.weight, r.note) for r in a.tried] == [(r.name, r.weight, r.note) for r in b.tried]
    np.testing.assert_array_equal(a.estimate, b.estimate)


def test_the_leaderboard_says_everything():
    done = tfl.complete(series(3)[1])
    names = [row.name for row in done.tried]
    assert len(names) == len(set(names))
    assert sum(row.weight for row in done.tried) == pytest.approx(1.0, abs=1e-6)
    took_part = [row for row in done.tried if np.isfinite(row.error)]
    assert len(took_part) >= 4
    assert all(row.note for row in done.tried if not np.isfinite(row.error))
    early = [row for row in done.tried if row.note.startswith("dropped early")]
    assert early
    assert all(re.search(r"; leader [\d.e-]+$", row.note) for row in early)
    assert done.settings["candidate"]
    assert "bayes" in str(names)
    assert done.facts.observed == done.observations.nnz
    assert "known" in str(done.facts)


def test_effort_is_how_much_is_tried(monkeypatch):
    T = series(4)[1]
    counts = {
        e: sum(np.isfinite(r.error) for r in tfl.complete(T, effort=e).tried) for e in ("quick", "normal", "best")
    }
    assert counts["quick"] <= counts["normal"] <= counts["best"]
    assert counts["quick"] < counts["best"]


def test_what_is_given_restricts_the_list():
    T = series(5)[1]
    assert {r.name.split(",")[0].split(" ")[0] for r in tfl.complete(T, candidates=["means"]).tried if r.weight} == {
        "means"
    }
    done = tfl.complete(T, rank=2)
    assert done.rank == 2
    assert done.factors[0].shape == (80, 2)
    with pytest.raises(ValueError, match="candidate must be one of"):
        tfl.complete(T, candidates=["nobody"])


def test_units_of_the_loss_are_fair_to_small_columns():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(60, 3)) * [1.0, 1.0, 1000.0]
    obs = tfl.observe(T)
    facts = compute_facts(obs)
    assert facts.uneven == 1
    w = loss_weights(obs, obs, facts)
    per_column = [w[obs.indices[:, 1] == j].mean() * T[:, j].var() for j in range(3)]
    assert max(per_column) / min(per_column) < 4


def test_nothing_leaves_what_the_data_can_be():
    rng = np.random.default_rng(0)
    counts = tfl.observe(rng.poisson(0.5, (20, 20)).astype(float))
    assert ends(compute_facts(counts))[0] == 0.0
    yes = (rng.random((20, 20)) < 0.1).astype(float)
    yes[rng.random(yes.shape) < 0.3] = np.nan
    done = tfl.complete(yes)
    assert done.estimate.min() >= 0.0
    assert done.estimate.max() <= 1.0


@pytest.mark.parametrize("at", ["first round", "second round"])
def test_a_contest_goes_on_where_it_was_killed(at, tmp_path, monkeypatch):
    T = series(6)[1]
    file = tmp_path / "run.npz"
    fitted, fit = [], Contest._fit
    monkeypatch.setattr(Contest, "_fit", lambda self, entry, fold: fitted.append("") or fit(self, entry, fold))
    whole = tfl.complete(T, seed=1)
    all_fits = len(fitted)
    fitted.clear()

    def killed(self, trial, fold):
        fitted.append(trial.method.label)
        if len(fitted) > 3 and (at == "first round" or trial.parts):
            raise SystemExit
        return fit(self, trial, fold)

    monkeypatch.setattr(Contest, "_fit", killed)
    with pytest.raises(SystemExit):
        tfl.complete(T, seed=1, checkpoint=file)
    before = len(fitted)
    monkeypatch.setattr(Contest, "_fit", lambda self, entry, fold: fitted.append("") or fit(self, entry, fold))
    again = tfl.complete(T, seed=1, checkpoint=file, resume=True)
    np.testing.assert_array_equal(again.estimate, whole.estimate)
    assert len(fitted) - before == all_fits - (before - 1)  # what was tried before is not tried again
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    with pytest.raises(ValueError, match="belongs to another run"):
        tfl.complete(T + 1, seed=1, checkpoint=file, resume=True)
    file.write_bytes(b"")
    with pytest.raises(ValueError, match="cannot be read"):
        tfl.complete(T, seed=1, checkpoint=file, resume=True)


def test_few_go_on_to_all_folds_and_the_means_are_among_them(contest):
    assert contest.opening < len(contest.folds)
    whole = [e.family for e in contest.trials if contest.whole(e)]
    assert "means" in whole
    dropped = [e for e in contest.trials if e.parts and not contest.whole(e)]
    assert dropped
    assert all(e.note and len(e.parts) == contest.opening for e in dropped)


def test_data_without_a_gap_come_back_at_once():
    T = series(7)[0]
    with pytest.warns(tfl.DataWarning, match="nothing is missing"):
        done = tfl.complete(T)
    np.testing.assert_array_equal(done.completed, T)
    assert done.status is tfl.Status.NOTHING_MISSING
    assert done.status.ok
    assert done.seconds < 1.0


def test_a_level_far_from_zero_costs_nothing_with_a_rank_given():
    rng = np.random.default_rng(0)
    y, x = np.mgrid[0:1:30j, 0:1:30j]
    T = 290.0 + np.sin(3 * x) * np.cos(2 * y)
    known = rng.random(T.shape) < 0.5
    done = tfl.complete(np.where(known, T, np.nan), rank=3)
    assert np.sqrt(np.mean((done.estimate - T)[~known] ** 2)) < 0.05


def test_smoothness_given_in_any_unit_is_never_worse_than_the_means():
    rng = np.random.default_rng(0)
    levels = np.geomspace(100, 150_000, 22)
    T = levels * (1 + 0.1 * np.cumsum(rng.normal(size=(120, 22)), axis=0) / 5)
    known = rng.random(T.shape) < 0.6
    done = tfl.complete(np.where(known, T, np.nan), prior="normal", smooth={0: 10.0})
    error = ((done.estimate - T) / T.std(axis=0))[~known]
    assert np.sqrt(np.mean(error**2)) < 1.1


@pytest.mark.parametrize("limit", [30.0, 10.0])
def test_parts_of_a_blend_share_what_is_left_of_the_time(limit, contest, clock):
    entries = tuple(e for e in contest.ranking() if e.fitted is not None)[:3]
    asked = []

    class Slow:
        label = "slow"

        def fit(self, obs, run):
            asked.append(run.seconds)
            clock.sleep(8.0)
            return entries[0].fitted

    slow = tuple(replace(e, method=Slow()) for e in entries)
    decision = ensemble.Decision(slow, weights.Weights(np.zeros(3), np.zeros((0, 3))))
    done = answer.from_contest(contest, decision, Run(0, seconds=limit), "auto")
    assert asked == pytest.approx([10.0, 11.0, 14.0] if limit == 30 else [10 / 3, 1.0])
    assert (done.status is tfl.Status.TIME) == (limit == 10)
    assert np.isfinite(done.full).all()


@pytest.mark.parametrize("name", ["knn", "gaussian", "smoother"])
def test_what_has_no_loop_of_a_solver_looks_at_the_clock_too(name, monkeypatch, clock):
    obs = tfl.observe(series()[1])
    facts = compute_facts(obs)
    candidate = next(METHODS[name]().variants(facts))
    assert candidate.fit(obs, Run(0, seconds=5.0)).status.ok
    run = Run(0, seconds=5.0)
    monkeypatch.setattr(np, "isnan", lambda x, isnan=np.isnan: (clock.sleep(6.0), isnan(x))[1])
    with pytest.raises(OutOfTime):
        candidate.fit(obs, run)


def test_a_fit_that_is_late_is_one_that_was_not_made(contest, monkeypatch):
    def late(self, obs, run):
        raise OutOfTime

    entry = contest.ranking()[0]
    monkeypatch.setattr(type(entry.method), "fit", late)
    assert contest._fit(entry, contest.folds[0]).note == "it was cut short"
    decision = ensemble.single(entry)
    done = answer.from_contest(contest, decision, Run(0, seconds=9.0), "auto")
    assert done.status is tfl.Status.TIME
    known = contest.obs.mask  # also what was held out of the fold whose fit is the answer now
    np.testing.assert_array_equal(done.completed[known], contest.obs.dense()[known])


def test_a_second_round_cut_short_is_judged_by_the_first():
    """Ctrl-C in the second of three folds: what ran on two of them counts by the opening one, like all others."""
    obs = tfl.observe(series()[1])
    contest = Contest.on(obs, compute_facts(obs), AutoSettings(), Run(0))
    contest.opening = 1
    parts = [np.zeros(fold.validation.nnz) for fold in contest.folds]
    names = ["means", "interpolation"]
    for name, count in zip(names, (2, 1), strict=True):
        one = METHODS[name]()
        contest.trials.append(contest_module.Trial(name, one, one, tuple(parts[:count]), note="it was cut short"))
    contest.narrow()
    assert len(answer.leaderboard(contest, None)) == 2
    assert all(contest.whole(e) for e in contest.trials)


def test_a_leader_tried_with_few_draws_is_tried_with_more(monkeypatch):
    """By one short chain the mean of several has too small a part in an ensemble."""
    rng = np.random.default_rng(0)
    T = np.einsum("ir,jr,kr->ijk", *(rng.normal(size=(n, 3)) for n in (20, 18, 16))) + rng.normal(size=(20, 18, 16))
    T[rng.random(T.shape) < 0.1] = np.nan
    monkeypatch.setitem(contest_module.BUDGET, "normal", 0.5)
    contest = held(T, candidates=("bayes",))
    assert len(contest.folds) == 1
    draws = sorted(e.shorter.settings()["draws"] for e in contest.trials)
    assert draws[0] >= TRIAL
    assert draws[-1] > 2 * draws[-2]


def test_more_effort_compares_on_more_splits():
    T = np.random.default_rng(0).normal(size=(200, 5))
    obs = tfl.observe(np.where(np.random.default_rng(1).random(T.shape) < 0.1, np.nan, T))
    facts = compute_facts(obs)
    normal, best = (make_folds(obs, facts, None, 0, effort) for effort in ("normal", "best"))
    assert len(normal) < len(best)
    assert all(a.validation.digest() == b.validation.digest() for a, b in zip(normal, best, strict=False))
