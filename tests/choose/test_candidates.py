"""Every candidate, on every kind of data it accepts: finite, the same by seed, blind to what is held out."""

from contextlib import suppress

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.choose.candidates import CANDIDATES
from tensorfill.choose.candidates.base import Unsuited, dense_table, from_table, refused, tables
from tensorfill.choose.candidates.columns import expectation_maximisation
from tensorfill.choose.candidates.interpolate import FIRM, along_lines, bend, wander
from tensorfill.choose.candidates.posterior import PosteriorMean, folded
from tensorfill.choose.candidates.rows import nearest_rows
from tensorfill.choose.candidates.season import repeating
from tensorfill.choose.candidates.together import Together, correlations, wander_together
from tensorfill.choose.given import Given
from tensorfill.data.facts import look
from tensorfill.methods.base import Run
from tensorfill.methods.bayes import Bayes
from tensorfill.result.answer import unpack


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


KINDS = ("table", "series", "rhythm", "counts", "yes/no", "field", "exact")
CASES = [(name, kind) for name in CANDIDATES for kind in KINDS]


def first_variant(name, kind):
    obs = tfl.observe(data(kind))
    facts = look(obs)
    if refused(CANDIDATES[name], facts, Given()) is not None:
        pytest.skip(f"{name} does not take {kind}")
    search = CANDIDATES[name].search(facts, Given())
    return obs, facts, next(search).shorter(facts, 0.05)


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_a_candidate_answers_everywhere_and_the_same_again(name, kind, tmp_path):
    obs, facts, candidate = first_variant(name, kind)
    try:
        fitted = candidate.fit(obs, facts, Run(3))
    except Unsuited as why:
        pytest.skip(f"{name} does not suit {kind}: {why}")
    where = np.argwhere(~obs.mask)
    full = fitted.answer.full()
    assert full.shape == obs.shape
    assert np.isfinite(full).all()
    np.testing.assert_allclose(fitted.answer.at(where), full[~obs.mask], rtol=1e-5, atol=1e-8 * np.abs(full).max())
    np.testing.assert_array_equal(candidate.fit(obs, facts, Run(3)).answer.at(where), fitted.answer.at(where))
    arrays, meta = fitted.answer.pack()
    again = unpack(arrays, {"kind": fitted.answer.kind, **meta})
    np.testing.assert_allclose(again.at(where), fitted.answer.at(where), rtol=1e-6)
    assert candidate.cost(facts) > 0
    assert candidate.label


@pytest.mark.parametrize("name", list(CANDIDATES))
@pytest.mark.parametrize("kind", KINDS)
def test_variants_have_names_of_their_own_and_end(name, kind):
    obs = tfl.observe(data(kind))
    facts = look(obs)
    if refused(CANDIDATES[name], facts, Given()) is not None:
        pytest.skip(f"{name} does not take {kind}")
    search = CANDIDATES[name].search(facts, Given())
    labels, candidate, loss = [], next(search), 1.0
    while True:
        labels.append(candidate.label)
        loss *= 0.99  # each better than the one before: the longest way
        try:
            candidate = search.send(loss)
        except StopIteration:
            break
    assert len(set(labels)) == len(labels) < 60


@pytest.mark.parametrize("name", list(CANDIDATES))
def test_a_candidate_says_what_it_assumes_and_why_it_cannot(name):
    cls = CANDIDATES[name]
    assert cls.assumes
    facts = look(tfl.observe(data("table")))
    assert refused(cls, facts, Given(candidates=("nobody",))) == "not among the candidates asked for"
    weighted = tfl.observe(data("table"), weights=np.full((30, 6), 2.0))
    assert (refused(cls, look(weighted), Given()) is not None) >= (not cls.weighs)


def test_tables_there_and_back():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(4, 5, 3))
    facts = look(tfl.observe(T))
    for columns in tables(facts):
        X = dense_table(T, columns)
        assert X.shape[1] == np.prod([T.shape[n] for n in columns])
        np.testing.assert_array_equal(from_table(X, T.shape, columns), T)


def test_lines_between_neighbours():
    X = np.array([[np.nan, 1.0, np.nan, np.nan, 4.0, np.nan], [np.nan] * 6])
    filled = along_lines(X, np.arange(6.0))
    np.testing.assert_allclose(filled[0], [1, 1, 2, 3, 4, 4])
    assert np.isnan(filled[1]).all()
    uneven = along_lines(X, np.array([0.0, 1.0, 3.0, 6.0, 7.0, 9.0]))
    np.testing.assert_allclose(uneven[0], [1, 1, 2, 3.5, 4, 4])


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


@pytest.mark.parametrize("name", ["smoother", "season"])
def test_nothing_inside_a_fit_is_chosen_by_what_it_knows_already(name):
    """A series alone: its means at the entries set aside inside the fit are these entries, if they are not left out."""
    t = np.arange(200.0)
    T = np.sin(t * np.pi / 6) + 0.3 * np.sin(t / 17)
    gaps = np.random.default_rng(0).random(200) < 0.3
    obs = tfl.observe(np.where(gaps, np.nan, T))
    facts = look(obs)
    found = list(CANDIDATES[name].search(facts, Given()))[-1].fit(obs, facts, Run()).answer.full()[:, 0]
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
    filled, _ = expectation_maximisation(np.where(gaps, np.nan, X), 1e-6)
    np.testing.assert_allclose(filled[gaps], X[gaps], atol=1e-3)


def test_nearest_rows_are_those_alike():
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(3, 8))
    which = rng.integers(3, size=60)
    X = kinds[which] + 0.01 * rng.normal(size=(60, 8))
    gaps = rng.random(X.shape) < 0.2
    filled = nearest_rows(np.where(gaps, np.nan, X), 5)
    np.testing.assert_allclose(filled[gaps], X[gaps], atol=0.05)


def test_folding_keeps_every_entry_in_its_place():
    T = np.arange(26.0).reshape(13, 2)
    obs = folded(tfl.observe(T), 0, 5)
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
    facts = look(obs)
    others = [next(CANDIDATES[name].search(facts, Given())) for name in ("interpolation", "smoother", "columns")]
    by_steps = Together(0, "mode0", steps=True)
    errors = [np.std((c.fit(obs, facts, Run(0)).answer.full() - X)[gaps]) for c in (by_steps, *others)]
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
    told = PosteriorMean(rank=rank, fold=(0, 12)).step_cost(look(obs))
    assert told == pytest.approx(PosteriorMean(rank=rank).step_cost(look(folded(obs, 0, 12))))


@pytest.mark.parametrize("name", ["columns", "rows"])
def test_a_row_of_which_nothing_is_known_is_told_by_the_means(name):
    """Hours x stations x (temperature, pressure): an hour's pressure that no station has is near other pressures."""
    rng = np.random.default_rng(0)
    T = np.array([15.0, 1013.0]) + rng.normal(size=(40, 1, 2)) * [3.0, 5.0] + 0.1 * rng.normal(size=(40, 3, 2))
    truth = T[20, :, 1].copy()
    T[rng.random(T.shape) < 0.1] = np.nan
    T[20, :, 1] = np.nan
    obs = tfl.observe(T)
    found = CANDIDATES[name](columns=(1,), dim="station").fit(obs, look(obs), Run(0)).answer.full()
    assert np.abs(found[20, :, 1] - truth).max() < 30


def test_the_posterior_is_first_tried_as_bayes_would_draw_it():
    """Of its rank and in its unit: of fewer components or in another unit it was up to a sixth worse on counts."""
    counts = np.random.default_rng(0).poisson(40.0, (8, 7, 6)).astype(float)
    counts[0, 0, 0] = np.nan
    first = next(PosteriorMean.search(look(tfl.observe(counts)), Given()))
    assert (first.rank, first.transform, first.draws) == (None, Bayes.transform, Bayes.draws)


def test_a_row_with_a_huge_number_does_not_throw_other_columns_off():
    """Columns of other units: what one of them says of another is limited by what that was seen to be."""
    rng = np.random.default_rng(0)
    T = np.column_stack([rng.normal(size=200) * 0.01, 1e4 * rng.lognormal(sigma=2, size=200), rng.normal(size=200)])
    T[0] = np.nan, 1e9, np.nan  # an outlier of the second column; the others of its row are missing
    obs = tfl.observe(T)
    facts = look(obs)
    assert facts.uneven == 1
    for name in ("columns", "classical"):
        for candidate in variants(name, facts):
            x = candidate.fit(obs, facts, Run(0)).answer.full()
            for n in (0, 2):
                low, high = np.nanmin(T[:, n]), np.nanmax(T[:, n])
                assert 2 * low - high <= x[0, n] <= 2 * high - low


def test_methods_of_one_unit_are_tried_with_slices_standardised_too():
    rng = np.random.default_rng(0)
    T = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 5)) * [1e-3, 1, 1e3, 1, 1]
    gaps = rng.random(T.shape) < 0.2
    obs = tfl.observe(np.where(gaps, np.nan, T))
    facts = look(obs)
    first, second = list(variants("classical", facts))[:2]
    assert (first.standardise, second.standardise) == (1, None)
    off = [np.abs(c.fit(obs, facts, Run(0)).answer.full() - T)[:, 0][gaps[:, 0]].mean() for c in (first, second)]
    assert off[0] < 0.1 * off[1]  # the narrow column is nothing beside the wide one


def variants(name, facts):
    """The variants that a family tries, whatever their loss."""
    search = CANDIDATES[name].search(facts, Given())
    candidate = next(search)
    with suppress(StopIteration):
        while True:
            yield candidate
            candidate = search.send(1.0)
