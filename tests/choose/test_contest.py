"""The contest: fair, honest about its error, the same by seed; the blend; the leaderboard."""

from dataclasses import replace

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.choose import answer, blend, weights
from tensorfill.choose import contest as contest_module
from tensorfill.choose.auto import ALWAYS
from tensorfill.choose.candidates import CANDIDATES
from tensorfill.choose.candidates.base import Late
from tensorfill.choose.candidates.posterior import TRIAL
from tensorfill.choose.contest import Contest, ends, standard_error
from tensorfill.choose.folds import loss_weights
from tensorfill.choose.given import Given
from tensorfill.choose.rounds import hold
from tensorfill.data.facts import look
from tensorfill.data.gaps import GAPS
from tensorfill.methods.base import Run
from tensorfill.result.answer import Filled


def series(seed=0, shape=(80, 6), missing=0.4):
    rng = np.random.default_rng(seed)
    T = np.cumsum(rng.normal(size=(shape[0], 2)), axis=0) @ rng.normal(size=(2, shape[1]))
    T = T + 0.1 * rng.normal(size=shape)
    return T, np.where(rng.random(shape) < missing, np.nan, T)


def held(T, seed=0, **given):
    obs = tfl.observe(T)
    contest = Contest.on(obs, look(obs), Given(**given), Run(seed))
    hold(contest, (cls for _, cls in CANDIDATES.items()), always=ALWAYS)
    return contest


def judged(contest, entries):
    """What weights of these entries are fitted to."""
    here = contest.judges
    P = np.stack([e.predictions[here] for e in entries], axis=1)
    return weights.Held(P, contest.truth[here], contest.weight[here])


@pytest.fixture(scope="module")
def contest():
    return held(series()[1])


def test_folds_are_disjoint_and_judges_are_some(contest):
    for fold in contest.folds:
        assert fold.kept.nnz + fold.aside.nnz == contest.obs.nnz
        assert not np.isin(fold.kept.flat, fold.aside.flat).any()
    assert 0 < contest.judges.sum() < len(contest.judges)


def test_the_error_reported_never_saw_the_choice(contest):
    """Spoiling the entries that only report changes neither ranking nor weights."""
    before = blend.decide(contest)
    order = [e.candidate.label for e in contest.ranking()]
    truth = contest.truth.copy()
    contest.truth = np.where(contest.judges, truth, 1e6)
    try:
        after = blend.decide(contest)
        assert [e.candidate.label for e in contest.ranking()] == order
        np.testing.assert_array_equal(after.weights, before.weights)
    finally:
        contest.truth = truth


def test_weights_are_convex_and_the_blend_is_no_worse(contest):
    decision = blend.decide(contest)
    assert (decision.weights >= 0).all()
    np.testing.assert_allclose(decision.weights.sum(axis=-1), 1.0)
    best = contest.ranking()[0]
    x = decision.predict(contest)
    assert contest.losses(x)[contest.judges].mean() <= 1.001 * contest.loss(best)


def test_two_halves_of_the_truth_are_blended():
    rng = np.random.default_rng(0)
    t = rng.normal(size=600)
    P = np.column_stack([t + rng.normal(size=600), t + rng.normal(size=600), rng.normal(size=600)])
    held = weights.Held(P, t, np.ones(600))
    w = weights.convex(held, np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(w.sum(), 1.0)
    assert abs(w[0] - w[1]) < 0.15
    assert w[2] < 0.3
    assert weights.crossfitted(held, np.array([1.0, 1.0, 0.0])) < 0.7


def test_few_entries_hardly_move_weights_from_even_ones_and_many_do():
    rng = np.random.default_rng(0)
    for count, low, high in ((40, 0.4, 0.7), (20_000, 0.78, 0.9)):  # by their variances 0.82 would be best
        t = rng.normal(size=count)
        P = np.column_stack([t + 0.47 * rng.normal(size=count), t + rng.normal(size=count)])
        assert low < weights.convex(weights.Held(P, t, np.ones(count)), np.ones(2))[0] < high


def test_slices_get_weights_of_their_own_where_candidates_serve_different_ones():
    """Two candidates, each right about half of the columns."""
    rng = np.random.default_rng(0)
    T = rng.normal(size=(300, 4))
    T[rng.random(T.shape) < 0.2] = np.nan
    contest = held(T, candidates=("means",))
    column = np.concatenate([f.aside.indices[:, 1] for f in contest.folds])
    noise = rng.normal(size=(2, len(column)))
    off = [np.where((column < 2) == first, 0.1, 1.0) * n for first, n in zip((True, False), noise, strict=True)]
    entries = [replace(contest.ranking()[0], parts=(contest.truth + x,)) for x in off]
    decision = blend.blended(contest, entries)
    assert decision.mode == 1
    assert decision.weights.shape == (len(GAPS), 4, 2)
    np.testing.assert_allclose(decision.weights.sum(axis=-1), 1.0)
    assert (decision.weights[0, :2, 0] > 0.6).all()
    assert (decision.weights[0, 2:, 1] > 0.6).all()
    alike = [replace(e, parts=(contest.truth + 0.3 * n,)) for e, n in zip(entries, noise, strict=True)]
    assert blend.blended(contest, alike).mode is None  # nothing to gain, so all slices share their weights

    answers = [Filled(np.full(T.shape, float(k))) for k in range(2)]
    made = answer._blend(contest, decision, answers)
    indices = np.argwhere(np.isfinite(T))
    np.testing.assert_allclose(made.full()[tuple(indices.T)], made.at(indices))
    np.testing.assert_allclose(made.at(indices), decision.weights[0, indices[:, 1], 1])
    assert decision.weight_of(entries[0], contest) + decision.weight_of(entries[1], contest) == pytest.approx(1.0)


def test_entries_of_one_gap_are_one_piece_of_evidence():
    rng = np.random.default_rng(0)
    gaps = np.repeat(np.arange(30), 20)
    means = [np.repeat(rng.normal(size=30), 20).mean() for _ in range(4000)]
    told = [standard_error(np.repeat(rng.normal(size=30), 20), gaps) for _ in range(200)]
    assert np.mean(told) == pytest.approx(np.std(means), rel=0.05)


def test_better_by_more_than_chance():
    contest = held(series(1)[1], candidates=("means",))
    rng = np.random.default_rng(0)
    near, far = (contest.truth + s * rng.normal(size=len(contest.truth)) for s in (0.1, 0.3))
    assert contest.beats(near, far)
    assert not contest.beats(far, near)
    assert not contest.beats(near, near)
    wild = far.copy()
    wild[np.flatnonzero(contest.judges)[0]] = 1e9  # one huge loss blurs the mean, not how often the other is nearer
    assert contest.beats(near, wild)


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
    assert done.settings["candidate"]
    assert "posterior" in str(names)
    assert done.facts.observed == done.observations.nnz
    assert "known" in str(done.facts)


def test_effort_is_how_much_is_tried(monkeypatch):
    monkeypatch.setitem(contest_module.BUDGET, "best", 0.4)
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
    facts = look(obs)
    assert facts.uneven == 1
    w = loss_weights(obs, obs, facts)
    per_column = [w[obs.indices[:, 1] == j].mean() * T[:, j].var() for j in range(3)]
    assert max(per_column) / min(per_column) < 4


def test_nothing_leaves_what_the_data_can_be():
    rng = np.random.default_rng(0)
    counts = tfl.observe(rng.poisson(0.5, (20, 20)).astype(float))
    assert ends(look(counts))[0] == 0.0
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

    def killed(self, entry, fold):
        fitted.append(entry.candidate.label)
        if len(fitted) > 3 and (at == "first round" or entry.parts):
            raise SystemExit
        return fit(self, entry, fold)

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


def test_what_adds_nothing_to_the_leader_is_known(contest):
    rng = np.random.default_rng(0)
    truth = contest.truth
    noise = rng.standard_normal((3, len(truth))) * truth.std()
    leader = truth + 0.1 * noise[0]
    assert contest.adds_nothing(leader, leader)  # the same again
    assert contest.adds_nothing(truth + 0.15 * noise[0] + 0.01 * noise[1], leader)  # the same errors, only larger
    assert not contest.adds_nothing(truth + 0.12 * noise[2], leader)  # worse, but its errors are its own
    assert not contest.adds_nothing(truth + 0.05 * noise[0], leader)  # better


def test_entries_that_all_miss_by_far_count_less(contest):
    entries = contest.ranking()[:4]
    plain = contest.weight
    least = np.min([contest.losses(e.predictions) for e in entries], axis=0)
    far = least > least[contest.judges].mean()
    assert far.any()
    with contest.softened(entries):
        np.testing.assert_array_equal(contest.weight[~far], plain[~far])
        np.testing.assert_allclose((least * contest.weight / plain)[far], least[contest.judges].mean())
    assert contest.weight is plain


def test_what_one_alone_gets_right_counts_in_full(contest):
    k = np.flatnonzero(contest.judges)[0]
    off = contest.truth + 0.1 * np.arange(len(contest.truth))
    off[k] = contest.truth[k] + 1e3
    most = replace(contest.ranking()[0], parts=(off,))
    right = replace(most, parts=(np.where(np.arange(len(off)) == k, contest.truth, off),))
    plain = contest.weight[k]
    with contest.softened([most, most, most]):
        assert contest.weight[k] < 0.1 * plain
    with contest.softened([most, most, right]):
        assert contest.weight[k] == plain


def test_an_answer_hardly_better_than_something_simple_is_drawn_to_it(contest):
    line = next(e for e in contest.ranking() if e.candidate.name == "interpolation")
    x = line.predictions + 1e-3 * np.random.default_rng(0).normal(size=len(contest.truth))
    near = replace(contest.ranking()[0], parts=(x,))
    far = replace(contest.ranking()[0], parts=(contest.truth + 0.1 * (line.predictions - contest.truth),))
    drawn = blend._safe(contest, blend.single(near))
    np.testing.assert_allclose(drawn.weights, np.tile([1 - blend.SAFE, blend.SAFE], (len(GAPS), 1, 1)))
    assert drawn.entries[1] is line
    assert blend._safe(contest, blend.single(far)).entries == (far,)
    again = blend._safe(contest, blend.single(line))
    np.testing.assert_allclose(again.weights, 1.0)


def test_few_go_on_to_all_folds_and_the_means_are_among_them(contest):
    assert contest.opening < len(contest.folds)
    whole = [e.candidate.name for e in contest.entries if contest.whole(e)]
    assert "means" in whole
    dropped = [e for e in contest.entries if e.parts and not contest.whole(e)]
    assert dropped
    assert all(e.note and len(e.parts) == contest.opening for e in dropped)


def test_the_best_of_a_light_family_goes_on_whatever_the_opening_folds_say(monkeypatch):
    monkeypatch.setattr(Contest, "adds_nothing", lambda *_: True)
    monkeypatch.setitem(contest_module.BUDGET, "normal", 1.0)
    contest = held(series(2, (300, 6))[1], candidates=("means", "interpolation", "smoother", "together"))
    whole = [e.candidate.label for e in contest.entries if contest.whole(e)]
    assert "smoother along mode0" in whole  # it neither leads nor costs next to nothing
    assert len([label for label in whole if label.startswith("together")]) == 1  # of two variants


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


def clock(monkeypatch):
    """A clock that stands still until it is moved: [now]."""
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize("limit", [30.0, 10.0])
def test_parts_of_a_blend_share_what_is_left_of_the_time(limit, contest, monkeypatch):
    entries = tuple(e for e in contest.ranking() if e.fitted is not None)[:3]
    now, asked = clock(monkeypatch), []

    class Slow:
        label = "slow"

        def fit(self, obs, facts, run):
            asked.append(run.seconds)
            now[0] += 8.0
            return entries[0].fitted

    slow = tuple(replace(e, candidate=Slow()) for e in entries)
    decision = blend.Decision(slow, np.full((len(GAPS), 1, 3), 1 / 3))
    done = answer.from_contest(contest, decision, Run(0, seconds=limit), "auto")
    assert asked == pytest.approx([10.0, 11.0, 14.0] if limit == 30 else [10 / 3, 1.0])
    assert (done.status is tfl.Status.TIME) == (limit == 10)
    assert np.isfinite(done.full).all()


@pytest.mark.parametrize("name", ["rows", "columns", "smoother"])
def test_what_has_no_loop_of_a_solver_looks_at_the_clock_too(name, monkeypatch):
    obs = tfl.observe(series()[1])
    facts = look(obs)
    now = clock(monkeypatch)
    candidate = next(CANDIDATES[name].search(facts, Given()))
    assert candidate.fit(obs, facts, Run(0, seconds=5.0)).status.ok
    run = Run(0, seconds=5.0)
    monkeypatch.setattr(np, "isnan", lambda x, isnan=np.isnan: (now.__setitem__(0, now[0] + 6.0), isnan(x))[1])
    with pytest.raises(Late):
        candidate.fit(obs, facts, run)


def test_a_fit_that_is_late_is_one_that_was_not_made(contest, monkeypatch):
    def late(self, obs, facts, run):
        raise Late

    entry = contest.ranking()[0]
    monkeypatch.setattr(type(entry.candidate), "fit", late)
    assert contest._fit(entry, contest.folds[0]).note == "it was cut short"
    decision = blend.single(entry)
    assert answer.from_contest(contest, decision, Run(0, seconds=9.0), "auto").status is tfl.Status.TIME


def test_a_second_round_cut_short_is_judged_by_the_first():
    """Ctrl-C in the second of three folds: what ran on two of them counts by the opening one, like all others."""
    obs = tfl.observe(series()[1])
    contest = Contest.on(obs, look(obs), Given(), Run(0))
    contest.opening = 1
    parts = [np.zeros(fold.aside.nnz) for fold in contest.folds]
    names = ["means", "interpolation"]
    for name, count in zip(names, (2, 1), strict=True):
        one = CANDIDATES[name]()
        contest.entries.append(contest_module.Entry(one, one, tuple(parts[:count]), note="it was cut short"))
    contest.narrow()
    assert len(answer.leaderboard(contest, None)) == 2
    assert all(contest.whole(e) for e in contest.entries)


def test_a_leader_tried_with_few_draws_is_tried_with_more(monkeypatch):
    """By one short chain the mean of several has too small a part in a blend."""
    rng = np.random.default_rng(0)
    T = np.einsum("ir,jr,kr->ijk", *(rng.normal(size=(n, 3)) for n in (20, 18, 16))) + rng.normal(size=(20, 18, 16))
    T[rng.random(T.shape) < 0.1] = np.nan
    monkeypatch.setitem(contest_module.BUDGET, "normal", 0.1)
    contest = held(T, candidates=("posterior",))
    assert len(contest.folds) == 1
    longest = max(contest.entries, key=lambda e: e.trial.draws)
    assert min(e.trial.draws for e in contest.entries) >= TRIAL
    assert longest.trial.draws > 2 * max(e.trial.draws for e in contest.entries if e is not longest)


def test_of_costly_means_of_draws_one_is_blended(contest, monkeypatch):
    """Of large data, two posteriors would share the time in which one is drawn from long enough."""
    posterior = next(e for e in contest.entries if e.candidate.name == "posterior")
    other = replace(posterior, candidate=replace(posterior.candidate, rank=10))
    rest = [e for e in contest.ranking() if e.candidate.name != "posterior"][:2]
    ranking = [rest[0], posterior, other, rest[1]]
    monkeypatch.setattr(contest, "ranking", lambda: ranking)
    for times, expected in ((2.0, ranking), (0.5, [rest[0], posterior, rest[1]])):
        monkeypatch.setattr(contest, "budget", times * other.candidate.cost(contest.facts))
        assert blend.partners(contest) == expected


def test_a_part_that_takes_longer_than_the_trials_must_save_clearly(contest, monkeypatch):
    truth, even = contest.truth, np.array([1.0, 0.0])
    noise = np.random.default_rng(0).normal(size=(2, len(truth))) * truth.std()
    first = contest.ranking()[0]

    def two(size):
        """The best, and another that is off by `size`; what they predict."""
        entries = [replace(first, parts=(truth + s * n,)) for s, n in zip((0.1, size), noise, strict=True)]
        return entries, judged(contest, entries)

    def saved(held):
        """The share of the loss that the second one saves."""
        return weights.crossfitted(held.of([0]), even[:1]) / weights.crossfitted(held, even) - 1

    sizes = np.linspace(0.1, 0.6, 51)
    size = next(s for s in sizes if 1.5 * blend.TRIFLE < saved(two(s)[1]) < 0.8 * blend.CLEARLY)
    entries, P = two(size)
    monkeypatch.setattr(type(first.candidate), "cost", lambda *_: 1.0)
    for budget, kept in ((2.0, [0, 1]), (0.5, [0])):
        monkeypatch.setattr(contest, "budget", budget)
        assert blend.worth_their_fit(contest, entries, P, even) == kept


def test_the_best_alone_stays_in_the_blend_however_dear(contest):
    """Its trial was shorter than its last fit will be; what others make up for here they do not there."""
    truth = contest.truth
    cheap = next(e for e in contest.ranking() if e.candidate.name != "posterior")
    dear = next(e for e in contest.entries if e.candidate.name == "posterior")
    entries = [replace(e, parts=(truth + 0.1,)) for e in (dear, cheap)]
    assert blend.worth_their_fit(contest, entries, judged(contest, entries), np.ones(2))[0] == 0


def test_of_two_alike_that_cost_the_same_the_better_one_stays(contest, monkeypatch):
    rng = np.random.default_rng(0)
    truth = contest.truth
    first = truth + 0.1 * truth.std() * rng.normal(size=len(truth))
    best, other = (replace(contest.ranking()[0], parts=(first + s,)) for s in (0.0, 1e-6))
    monkeypatch.setattr(type(best.candidate), "cost", lambda *_: 1.0)
    assert blend.worth_their_fit(contest, [best, other], judged(contest, [best, other]), np.ones(2)) == [0]
