"""Every method that competes, on every kind of data it accepts: finite, the same by seed, blind to what is held out."""

import tracemalloc
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.auto.settings import AutoSettings
from tensorfill.data.facts import compute_facts
from tensorfill.data.unfolding import refold_modes, unfold_modes, unfoldings
from tensorfill.methods.base import METHODS, Run
from tensorfill.methods.bayes import Bayes
from tensorfill.methods.check_method import check_method
from tensorfill.methods.tabular import knn
from tensorfill.methods.tabular.interpolation import Interpolation, along_lines, along_splines
from tensorfill.methods.tabular.kalman import Kalman, correlations, wander_together
from tensorfill.methods.tabular.knn import nearest_rows
from tensorfill.methods.tabular.seasonal import repeating
from tensorfill.methods.tabular.smoother import FIRM, bend, wander
from tensorfill.models.normal import Normal
from tensorfill.result.answer import Filled
from tensorfill.transforms import Folded


def data(kind):
    """(array with NaN) of a kind: table, series, a daily rhythm, counts, yes/no, field, or a tensor without noise."""
    rng = np.random.default_rng(5)
    if kind == "table":
        T = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 6)) * np.array([1, 10, 100, 1, 2, 3.0]) + 5
    elif kind == "series":
        T = np.cumsum(rng.normal(size=(60, 4)), axis=0)
    elif kind == "rhythm":
        T = np.sin(np.arange(96)[:, None] * np.pi / 6 + rng.uniform(0, 6, 3)) + 0.1 * rng.normal(size=(96, 3))
    elif kind == "counts":
        T = rng.poisson(8 * rng.gamma(2, 0.5, (9, 1, 1)) * rng.gamma(2, 0.5, (1, 8, 1)) * np.ones((1, 1, 6))).astype(
            float
        )
    elif kind == "yes/no":
        T = (rng.normal(size=(14, 1)) + rng.normal(size=(1, 12)) > 0).astype(float)
    elif kind == "exact":
        T = np.einsum("ir,jr,kr->ijk", *(rng.normal(size=(n, 2)) for n in (9, 8, 7)))
    else:
        y, x = np.mgrid[0:1:26j, 0:1:24j]
        T = np.sin(6 * x + 3 * y) + 0.05 * rng.normal(size=x.shape)
    T[rng.random(T.shape) < 0.3] = np.nan
    return T


COMPETING = [name for name, cls in METHODS.items() if cls.competes]
KINDS = ("table", "series", "rhythm", "counts", "yes/no", "field", "exact")
CASES = [(name, kind) for name in COMPETING for kind in KINDS]


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_method_keeps_to_its_contract_or_says_why_not(name, kind):
    obs = tfl.observe(data(kind))
    facts, method = compute_facts(obs), METHODS[name]()
    if method.suits(facts) is not None:
        check_method(method, obs)
        return
    first = next(method.variants(facts)).shorter(facts, 0.05)
    check_method(first, obs)


class Broken(tfl.METHODS["means"]):
    """Breaks one promise."""

    def fit(self, obs, run):
        done = super().fit(obs, run)
        X = np.asarray(done.answer.full()) + np.random.default_rng().normal()
        return replace(done, answer=Filled(X))


def test_the_checker_of_methods_finds_what_is_broken():
    tfl.check_method(METHODS["means"]())
    with pytest.raises(AssertionError, match="Broken: it gave two answers to the same seed"):
        tfl.check_method(Broken())


@pytest.mark.parametrize("name", COMPETING)
def test_a_candidate_says_what_it_assumes_and_why_it_cannot(name):
    assert METHODS[name].assumes
    other = "knn" if name == "means" else "means"
    refused = AutoSettings(candidates=(other,)).competitors(compute_facts(tfl.observe(data("table"))))[1]
    assert refused[name] == "not among the candidates asked for"
    weighted = tfl.observe(data("table"), weights=np.full((30, 6), 2.0))
    assert (name in AutoSettings().competitors(compute_facts(weighted))[1]) >= (not METHODS[name].uses_weights)


def test_tables_there_and_back():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(4, 5, 3))
    for columns in unfoldings(T.shape):
        X = unfold_modes(T, columns)
        assert X.shape[1] == np.prod([T.shape[n] for n in columns])
        np.testing.assert_array_equal(refold_modes(X, T.shape, columns), T)


def test_lines_between_neighbours():
    X = np.array([[np.nan, 1.0, np.nan, np.nan, 4.0, np.nan], [np.nan] * 6])
    filled = along_lines(X, np.arange(6.0))
    np.testing.assert_allclose(filled[0], [1, 1, 2, 3, 4, 4])
    assert np.isnan(filled[1]).all()
    uneven = along_lines(X, np.array([0.0, 1.0, 3.0, 6.0, 7.0, 9.0]))
    np.testing.assert_allclose(uneven[0], [1, 1, 2, 3.5, 4, 4])


def test_splines_through_known_entries():
    where = np.array([0.0, 1.0, 2.0, 4.0, 5.0, 7.0, 8.0])
    X = np.stack([where**3 - where, where**2, where, where])
    gaps = X.copy()
    gaps[:2, 3], gaps[2, [0, 6]], gaps[3, 1:5] = np.nan, np.nan, np.nan
    filled = along_splines(gaps, where)
    np.testing.assert_allclose(filled[:2], X[:2])  # no lines would do
    np.testing.assert_allclose(filled[2], [1, 1, 2, 4, 5, 7, 7])
    np.testing.assert_allclose(filled[3], where)


def test_an_unknown_kind_of_interpolation_is_a_sentence():
    with pytest.raises(ValueError, match=r"kind of method 'interpolation' must be one of linear, cubic; got"):
        Interpolation(kind="quintic")


def steps(x, apart, back):
    return (np.diff(x) ** 2 / apart).sum() + back * (x**2).sum()


def changes_of_slope(x, apart, tension):
    bends = np.diff(np.diff(x) / apart) ** 2 / ((apart[1:] + apart[:-1]) / 2)
    return bends.sum() + tension * (np.diff(x) ** 2 / apart).sum() + FIRM * (x**2).sum()


@pytest.mark.parametrize(("smooth", "penalty"), [(wander, steps), (bend, changes_of_slope)])
def test_the_smoother_solves_its_equations(smooth, penalty):
    rng = np.random.default_rng(0)
    T, known = rng.normal(size=(3, 9)), rng.random((3, 9)) < 0.6
    T = np.where(known, T, 0.0)
    apart, weights = rng.uniform(0.3, 5.0, 8), np.array([0.05, 0.5, 0.01])
    X = smooth(T, known, 0.7, weights, apart)

    def value(x, k):
        return ((x - T[k])[known[k]] ** 2).sum() / 0.7 + penalty(x, apart, weights[k])

    for k in range(3):  # a minimum: no step in any direction is better, and the slope vanishes
        for j in range(9):
            e = np.zeros(9)
            e[j] = 1e-5
            assert abs(value(X[k] + e, k) - value(X[k] - e, k)) / 2e-5 < 1e-6


@pytest.mark.parametrize("name", ["smoother", "seasonal"])
def test_nothing_inside_a_fit_is_chosen_by_what_it_knows_already(name):
    """A series alone: its means at the entries set aside inside the fit are these entries, if they are not left out."""
    t = np.arange(200.0)
    T = np.sin(t * np.pi / 6) + 0.3 * np.sin(t / 17)
    gaps = np.random.default_rng(0).random(200) < 0.3
    obs = tfl.observe(np.where(gaps, np.nan, T))
    facts = compute_facts(obs)
    found = list(METHODS[name]().variants(facts))[-1].fit(obs, Run()).answer.full()[:, 0]
    lines = np.interp(t, t[~gaps], T[~gaps])
    assert np.abs(found - T)[gaps].max() < 0.5 * np.abs(lines - T)[gaps].max()


def test_a_profile_over_the_period_fills_whole_periods():
    t, rng = np.arange(240), np.random.default_rng(0)
    T = np.stack([np.cos(t * np.pi / 12) + 0.01 * t, 5 * np.sin(t * np.pi / 12) - 3])
    known = np.ones(T.shape, dtype=bool)
    known[0, 100:124] = known[1, 30:60] = False
    noisy = np.where(known, T + 0.05 * rng.normal(size=T.shape), 0.0)
    profile = repeating(noisy, known, t % 24)
    off = (profile - T)[~known]
    assert np.abs(off[:24]).mean() < 0.3  # the slow rise is left to the smoother
    assert np.abs(off[24:]).max() < 0.15
    constant = repeating(np.where(known, rng.normal(size=T.shape), 0.0), known, t % 24)
    assert np.ptp(constant, axis=1).max() < 1.0  # chance is no profile: the means of ten numbers spread by more


def test_regression_finds_a_linear_relation():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(400, 2))
    X = np.column_stack([Z, Z @ [0.6, -0.8]])
    gaps = np.zeros(X.shape, dtype=bool)
    gaps[::4, 2] = True
    holes = np.where(gaps, np.nan, X)
    filled = Normal.standard(3).fit(holes, 1e-6).fill(holes)
    np.testing.assert_allclose(filled[gaps], X[gaps], atol=1e-3)


def test_nearest_rows_are_those_alike():
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(3, 8))
    which = rng.integers(3, size=60)
    X = kinds[which] + 0.01 * rng.normal(size=(60, 8))
    gaps = rng.random(X.shape) < 0.2
    filled = nearest_rows(np.where(gaps, np.nan, X), 5)
    np.testing.assert_allclose(filled[gaps], X[gaps], atol=0.05)


def test_many_rows_are_compared_by_blocks(monkeypatch):
    """50,000 rows took 19 GB for each of five matrices."""
    rng = np.random.default_rng(0)
    X = np.where(rng.random((1500, 4)) < 0.2, np.nan, rng.normal(size=(1500, 4)))
    whole = nearest_rows(X, 5)
    monkeypatch.setattr(knn, "BLOCK", 2**15, raising=False)
    tracemalloc.start()
    try:
        np.testing.assert_allclose(nearest_rows(X, 5), whole, rtol=1e-9)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_folding_keeps_every_entry_in_its_place():
    T = np.arange(26.0).reshape(13, 2)
    obs, _ = Folded(Bayes(), 0, 5).apply(tfl.observe(T))
    assert obs.shape == (3, 5, 2)
    for (week, day, j), t in zip(obs.indices, obs.values, strict=True):
        assert t == T[5 * week + day, j]


def test_series_that_wander_together_are_the_conditional_mean():
    """Against the dense system of all covariances, at uneven positions."""
    rng = np.random.default_rng(0)
    mixed = rng.normal(size=(3, 3))
    C = mixed @ mixed.T + np.eye(3)
    apart = rng.uniform(0.5, 2, 8)
    where = np.r_[0, np.cumsum(apart)]
    Z = rng.normal(size=(9, 3))
    Z[rng.random(Z.shape) < 0.3] = np.nan
    known = ~np.isnan(Z).ravel()
    noise, memory = np.array([0.1, 0.001]), np.array([0.9, 0.7])
    for found, n, m in zip(wander_together(Z, C, noise, memory, apart), noise, memory, strict=True):
        cov = np.kron(m ** np.abs(where[:, None] - where), C)
        solved = np.linalg.solve(cov[np.ix_(known, known)] + n * np.eye(known.sum()), Z.ravel()[known])
        np.testing.assert_allclose(found.ravel(), cov[:, known] @ solved, atol=1e-10)


def test_series_that_move_together_tell_of_one_another_across_a_long_gap():
    """Steps of one series are nearly those of another: neither interpolation nor the level knows that."""
    rng = np.random.default_rng(3)
    X = np.cumsum(rng.normal(size=(150, 1)) + 0.3 * rng.normal(size=(150, 4)), axis=0)
    gaps = np.zeros(X.shape, dtype=bool)
    for k, start in enumerate((20, 55, 85, 120)):
        gaps[start : start + 20, k] = True
    obs = tfl.Observations.from_dense(np.where(gaps, 0.0, X), ~gaps)
    facts = compute_facts(obs)
    others = [next(METHODS[name]().variants(facts)) for name in ("interpolation", "smoother", "gaussian")]
    by_steps = Kalman(0, steps=True)
    errors = [np.std((c.fit(obs, Run(0)).answer.full() - X)[gaps]) for c in (by_steps, *others)]
    assert errors[0] < 0.8 * min(errors[1:]), errors


def test_series_of_which_no_two_neighbours_are_known_have_no_steps():
    Z = np.random.default_rng(0).normal(size=(20, 3))
    Z[::2] = np.nan
    np.testing.assert_array_equal(correlations(Z, True), correlations(Z, False))


@pytest.mark.parametrize("rank", [10, 40])
def test_what_is_folded_costs_what_folded_data_cost(rank):
    T = np.random.default_rng(0).normal(size=(480, 7))
    T[::9] = np.nan
    obs = tfl.observe(T)
    fold, facts = Folded(Bayes(rank=rank), 0, 12), compute_facts(obs)
    assert fold.cost(facts) == pytest.approx(Bayes(rank=rank).cost(compute_facts(fold.apply(obs)[0])))


@pytest.mark.parametrize("name", ["gaussian", "knn"])
def test_a_row_of_which_nothing_is_known_is_told_by_the_means(name):
    """Hours x stations x (temperature, pressure): an hour's pressure that no station has is near other pressures."""
    rng = np.random.default_rng(0)
    T = np.array([15.0, 1013.0]) + rng.normal(size=(40, 1, 2)) * [3.0, 5.0] + 0.1 * rng.normal(size=(40, 3, 2))
    truth = T[20, :, 1].copy()
    T[rng.random(T.shape) < 0.1] = np.nan
    T[20, :, 1] = np.nan
    obs = tfl.observe(T)
    found = METHODS[name](columns=(1,)).fit(obs, Run(0)).answer.full()
    assert np.abs(found[20, :, 1] - truth).max() < 30


def test_the_posterior_is_first_tried_as_bayes_would_draw_it():
    """Of its rank and in its unit: of fewer components or in another unit it was up to a sixth worse on counts."""
    counts = np.random.default_rng(0).poisson(40.0, (8, 7, 6)).astype(float)
    counts[0, 0, 0] = np.nan
    first = next(Bayes().variants(compute_facts(tfl.observe(counts))))
    assert (first.rank, first.transform, first.draws) == (None, Bayes.transform, Bayes.draws)


def test_a_row_with_a_huge_number_does_not_throw_other_columns_off():
    """Columns of other units: what one of them says of another is limited by what that was seen to be."""
    rng = np.random.default_rng(0)
    T = np.column_stack([rng.normal(size=200) * 0.01, 1e4 * rng.lognormal(sigma=2, size=200), rng.normal(size=200)])
    T[0] = np.nan, 1e9, np.nan  # an outlier of the second column; the others of its row are missing
    obs = tfl.observe(T)
    facts = compute_facts(obs)
    assert facts.uneven == 1
    for name in ("gaussian", "halrtc"):
        for candidate in variants(name, facts):
            x = candidate.fit(obs, Run(0)).answer.full()
            for n in (0, 2):
                low, high = np.nanmin(T[:, n]), np.nanmax(T[:, n])
                assert 2 * low - high <= x[0, n] <= 2 * high - low


def test_methods_of_one_unit_are_tried_with_slices_standardised_too():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) * [1e-3, 1, 1e3, 1, 1]
    gaps = rng.random(T.shape) < 0.2
    obs = tfl.observe(np.where(gaps, np.nan, T))
    facts = compute_facts(obs)
    first, second = variants("halrtc", facts)
    assert "slices standardised" in first.label
    assert "slices standardised" not in second.label
    off = [np.abs(c.fit(obs, Run(0)).answer.full() - T)[:, 0][gaps[:, 0]].mean() for c in (first, second)]
    assert off[0] < 0.1 * off[1]  # the narrow column is nothing beside the wide one


def variants(name, facts):
    """The variants that a family tries, whatever their loss."""
    search = METHODS[name]().variants(facts)
    candidate = next(search)
    with suppress(StopIteration):
        while True:
            yield candidate
            candidate = search.send(1.0)


def test_trees_do_not_lean_on_what_is_missing_with_a_column():
    """Levels of one category explain each other, and are missing together."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, size=120)
    kind = np.abs(x).astype(int)
    X = np.hstack([x[:, None], rng.normal(size=(120, 1)), kind[:, None] == np.arange(3)])
    hidden = rng.random(120) < 0.3
    X[np.ix_(hidden, [2, 3, 4])] = np.nan
    filled = tfl.complete(X, method="trees").completed
    assert np.mean(filled[hidden, 2:].argmax(axis=1) == kind[hidden]) > 0.95  # 0.81 if they do


def test_what_repeats_and_grows_is_filled_from_a_period_before_and_after():
    """Quarters whose swing grows: no profile that stays the same fits, and neighbours say little."""
    steps, rng = np.arange(108), np.random.default_rng(0)
    series = np.exp(steps / 40) * (2 + np.cos(np.pi * steps / 2)) + rng.normal(0, 0.05, 108)
    hidden = np.zeros(108, dtype=bool)
    hidden[[*range(20, 26), *range(50, 59), *range(80, 86)]] = True
    done = tfl.complete(np.where(hidden, np.nan, series), candidates=["means", "interpolation", "seasonal"])
    error = np.sqrt(np.mean((done.estimate - series)[hidden] ** 2))
    assert error < 0.1 * series.std()
    assert "folded by 4" in done.settings["candidate"]


def test_bayes_begins_with_a_single_series_folded():
    series = np.sin(np.arange(120) * np.pi / 6) + np.random.default_rng(0).normal(0, 0.1, 120)
    facts = compute_facts(tfl.observe(np.where(np.arange(120) % 7 == 0, np.nan, series)))
    assert next(Bayes().variants(facts)).label.endswith("folded by 12")


def test_bayes_tries_columns_as_given_only_where_their_sizes_may_be_compared():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) + rng.normal(0, 0.3, (60, 5))
    for size, first in ((10.0, 2), (1e4, 1)):
        facts = compute_facts(tfl.observe(T * [1, 1, size, 1, 1] + [9, 0, 9 * size, 0, 9]))
        assert facts.uneven == 1
        assert Bayes().initial_variants(facts) == first
        assert len([v for v in unsent(Bayes().variants(facts)) if v.label == "bayes"]) == first - 1


def unsent(variants):
    """All variants, if none is better than the first."""
    out = [next(variants)]
    with suppress(StopIteration):
        while True:
            out.append(variants.send(float(len(out))))
    return out
