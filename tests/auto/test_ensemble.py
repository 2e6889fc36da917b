"""Ensemble weights: a posterior of a softmax, by what is known around an entry; members, means, slices never seen."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import approx_fprime

import tensorfill as tfl
from tensorfill.auto import answer, ensemble, weights
from tensorfill.auto.contest import Contest
from tensorfill.auto.context import Context
from tensorfill.auto.portfolio import Portfolio, structure
from tensorfill.auto.rounds import run_contest
from tensorfill.auto.settings import AutoSettings
from tensorfill.auto.weights import Validation, Weights, crossfit, fit_weights
from tensorfill.data import samples
from tensorfill.data.facts import compute_facts
from tensorfill.methods.base import METHODS, Run
from tensorfill.result.answer import Filled


def rms(x):
    return float(np.sqrt(np.mean(np.square(x))))


def validation(P, t, Z=None, gaps=None):
    k = len(t)
    return Validation(P, t, np.ones(k), np.arange(k) if gaps is None else gaps, np.zeros((k, 0)) if Z is None else Z)


def test_the_weights_are_where_the_slope_vanishes():
    """Of the objective in the docstring of the module, written down once more, by finite differences."""
    rng = np.random.default_rng(0)
    t, Z = rng.normal(size=60), rng.normal(size=(60, 2))
    P = np.column_stack([t + s * rng.normal(size=60) for s in (0.3, 0.5, 1.0)])
    found = fit_weights(validation(P, t, Z))

    def objective(v):
        theta = v.reshape(3, 3)
        e = np.exp(theta[0] + Z @ theta[1:])
        x = (P * e / e.sum(axis=1, keepdims=True)).sum(axis=1)
        size = min(((p - t) ** 2).mean() for p in P.T)
        return ((x - t) ** 2).sum() / (2 * size) + (theta**2).sum() / (2 * weights.TAU**2)

    at = np.vstack([found.b, found.C]).ravel()
    assert np.abs(approx_fprime(at, objective, 1e-6)).max() < 5e-3
    assert objective(at) < objective(np.zeros(9))


def test_two_halves_of_the_truth_are_averaged_and_noise_is_left_out():
    rng = np.random.default_rng(0)
    t = rng.normal(size=600)
    P = np.column_stack([t + rng.normal(size=600), t + rng.normal(size=600), 5 * rng.normal(size=600)])
    w = fit_weights(validation(P, t)).at(np.zeros((1, 0)))[0]
    assert w.sum() == pytest.approx(1.0)
    assert abs(w[0] - w[1]) < 0.15
    assert w[2] < 0.1
    assert np.mean((crossfit(validation(P, t)) - t) ** 2) < 0.7


def test_few_entries_hardly_move_weights_from_even_ones_and_many_do():
    rng = np.random.default_rng(0)
    for count, low, high in ((8, 0.45, 0.8), (20_000, 0.78, 0.9)):  # by their variances 0.82 would be best
        t = rng.normal(size=count)
        P = np.column_stack([t + 0.47 * rng.normal(size=count), t + rng.normal(size=count)])
        assert low < fit_weights(validation(P, t)).at(np.zeros((1, 0)))[0, 0] < high


def test_entries_of_one_long_gap_count_as_one():
    rng = np.random.default_rng(0)
    t = rng.normal(size=400)
    P = np.column_stack([t + 0.3 * rng.normal(size=400), t + rng.normal(size=400)])
    alone, together = (
        fit_weights(validation(P, t, gaps=np.arange(400) // size)).at(np.zeros((1, 0)))[0, 0] for size in (1, 200)
    )
    assert 0.5 < together < alone - 0.1


def sensors(seed=0):
    """(truth, hidden): three sensors, hourly; gaps in one of them, gaps in all, single ones."""
    rng = np.random.default_rng(seed)
    X = np.cumsum(rng.normal(size=(600, 1)), axis=0) * [1.0, 1.2, 0.8] + [0, 3, -2] + 0.1 * rng.normal(size=(600, 3))
    hidden = rng.random(X.shape) < 0.05
    for k, start in enumerate((100, 250, 350)):
        hidden[start : start + 30, k] = True
    hidden[450:465] = True
    return X, hidden


def test_weights_depend_on_whether_other_columns_are_known():
    """Of a gap in one sensor the others tell; of a gap in all of them only time does."""
    X, hidden = sensors()
    obs = tfl.observe(np.where(hidden, np.nan, X))
    context = Context.of(compute_facts(obs), obs.shape)
    alone, together = context.at(obs, np.array([[110, 0], [455, 0]]))
    assert (alone != together).any()
    rng, Z = np.random.default_rng(0), context.design(context.at(obs, np.argwhere(hidden)))
    t, lonely = rng.normal(size=len(Z)), hidden.all(axis=1)[np.nonzero(hidden)[0]]
    off = np.where(lonely, [[2.0], [0.3]], [[0.1], [1.0]]) * rng.normal(size=(2, len(t)))
    found = fit_weights(validation((t + off).T, t, Z)).at(Z)
    assert found[lonely, 0].mean() < 0.4
    assert found[~lonely, 0].mean() > 0.8


def test_the_case_of_three_sensors():
    X, hidden = sensors()

    def off(seed=0, **given):
        return rms((tfl.complete(np.where(hidden, np.nan, X), seed=seed, **given).estimate - X)[hidden])

    best = min(off(method="gaussian"), off(method="interpolation"))
    assert np.mean([off(seed) for seed in range(3)]) < 1.2 * best


def held(T, **given):
    obs = tfl.observe(T)
    contest = Contest.on(obs, compute_facts(obs), AutoSettings(**given), Run(0))
    run_contest(contest)
    return contest


def test_columns_get_weights_of_their_own_where_members_serve_different_ones():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(300, 4)) + rng.normal(size=(300, 1))
    T[rng.random(T.shape) < 0.2] = np.nan
    contest = held(T, candidates=("means", "gaussian"))
    column = contest.slices(1)
    noise = rng.normal(size=(2, len(column)))
    off = [np.where((column < 2) == first, 0.1, 1.0) * n for first, n in zip((True, False), noise, strict=True)]
    first, second = contest.ranking()[0], next(e for e in contest.ranking() if e.family == "means")
    trials = [replace(e, parts=(contest.truth + x,), note="") for e, x in zip((first, second), off, strict=True)]
    contest.folds, contest.trials = contest.folds[:1], trials
    decision = ensemble.decide(contest)
    W = decision.at(contest.features, contest.unseen)
    own = decision.trials.index(trials[0])
    assert W[column < 2, own].mean() > 0.8
    assert W[column >= 2, own].mean() < 0.2
    made = answer._blend(contest, decision, [Filled(np.full(T.shape, float(k))) for k in range(2)])
    indices = np.argwhere(np.isfinite(T))
    np.testing.assert_allclose(made.full()[tuple(indices.T)], made.at(indices))


def test_a_picture_that_a_field_clearly_fills_best_is_averaged_with_nothing():
    T = samples.photograph()[100:164, 200:264].astype(float)
    T[np.random.default_rng(0).random(T.shape) < 0.2] = np.nan
    contest = held(T)
    assert contest.decided
    names = [e.family for e in contest.ranking()]
    assert names[0] == "field"
    assert "means" in names
    noise = np.random.default_rng(1).normal(size=(len(contest.trials), len(contest.truth)))
    contest.trials = [replace(e, parts=(contest.truth + n,)) for e, n in zip(contest.trials, noise, strict=True)]
    assert len(ensemble.decide(contest).trials) == 1
    contest.decided = False
    assert len(ensemble.decide(contest).trials) == 2


@pytest.mark.parametrize(("size", "answers"), [(0.99, {"gaussian"}), (0.3, {"means"})])
def test_the_usual_method_answers_unless_others_are_surely_better(size, answers):
    rng = np.random.default_rng(0)
    T = rng.normal(size=(200, 4)) + rng.normal(size=(200, 1))
    T[rng.random(T.shape) < 0.2] = np.nan
    contest = held(T, candidates=("means", "gaussian"))
    off, other = rng.normal(size=(2, len(contest.truth)))
    found = {e.family: e for e in contest.trials if not e.note}
    errors = {"gaussian": off, "means": size * off + 0.1 * other}
    contest.folds = contest.folds[:1]
    contest.trials = [replace(found[name], parts=(contest.truth + x,)) for name, x in errors.items()]
    assert "means" in {e.family for e in ensemble.decide(contest).trials}
    contest.usual = "gaussian"
    assert {e.family for e in ensemble.decide(contest).trials} == answers
    contest.gaps = np.arange(len(off)) % 2  # two large holes say little, however many pixels they have
    assert {e.family for e in ensemble.decide(contest).trials} == {"gaussian"}


@pytest.mark.parametrize("features", [0, 2])
def test_one_gap_alone_tells_nothing_about_weights(features):
    t, P, Z = np.zeros(5), np.arange(15.0).reshape(5, 3), np.ones((5, features))
    np.testing.assert_allclose(crossfit(validation(P, t, Z, np.zeros(5, dtype=int))), P.mean(axis=1))


def test_noise_without_any_pattern_is_filled_with_means():
    T = np.random.default_rng(0).normal(size=(40, 6))
    known = np.random.default_rng(1).random(T.shape) < 0.7
    done = tfl.complete(np.where(known, T, np.nan))
    assert np.std(done.estimate[~known]) < 0.5


def test_a_member_of_weight_minus_infinity_has_none():
    found = Weights(np.array([0.0, -np.inf]), np.zeros((0, 2))).at(np.zeros((3, 0)))
    np.testing.assert_array_equal(found, [[1.0, 0.0]] * 3)


def test_the_portfolio_names_methods_that_compete():
    portfolio = Portfolio.load()
    competing = {name for name, cls in METHODS.items() if cls.competes}
    assert all(set(names) <= competing for names in portfolio.order.values())
    assert portfolio.made
    facts = compute_facts(tfl.observe(np.random.default_rng(0).normal(size=(30, 5))))
    assert structure(facts) == "table"
    assert portfolio.sort([METHODS["knn"](), METHODS["means"]()], facts)[0].name == "means"
    assert not portfolio.needs(METHODS["tr"](), facts)


def test_a_method_never_recorded_starts_with_an_average_weight():
    portfolio = Portfolio.load()
    assert "seasonal" not in portfolio.odds
    unknown, worst = portfolio.prior(["seasonal"])[0], min(portfolio.odds.values())
    assert worst < unknown < max(portfolio.odds.values())
