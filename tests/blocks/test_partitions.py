"""Observations in blocks: the same problem in every home, however it is cut; files in pieces; nothing left behind."""

import os
import subprocess
import sys

import numpy as np
import pytest
from problems import make_problem

import tensorfill as tfl
from tensorfill.blocks import Sample
from tensorfill.blocks.base import cut_rows, hash_indices
from tensorfill.blocks.dense_subset import dense_subset
from tensorfill.blocks.disk import PREFIX, Store, sweep
from tensorfill.blocks.draw import Draw
from tensorfill.blocks.filling import fill
from tensorfill.blocks.memory import in_memory
from tensorfill.blocks.opening import open_data
from tensorfill.blocks.paths import files_of
from tensorfill.blocks.pieces import Columns, Piece, pieces_of
from tensorfill.data.memory import limit_memory
from tensorfill.interelement.quadratic import penalties
from tensorfill.io.atomic import HOST
from tensorfill.io.formats import FileError
from tensorfill.partitioned import Partitioned
from tensorfill.solvers import blockrows
from tensorfill.solvers.newton import Newton, sweeps_of

SHAPE = (17, 9, 5)
NONE = Draw(held=0.0)


def some(rng, count=300, shape=SHAPE, weighted=False):
    flat = rng.choice(int(np.prod(shape)), count, replace=False)
    where = np.stack(np.unravel_index(flat, shape), axis=1)
    weights = rng.uniform(0.5, 2, count) if weighted else None
    return tfl.Observations.from_coo(where, rng.poisson(3.0, count).astype(float), shape, weights=weights)


def as_pieces(obs, rng, count=4):
    """The observations in any order, in pieces."""
    order = rng.permutation(len(obs.values))
    for part in np.array_split(order, count):
        weights = None if obs.weights is None else obs.weights[part]
        yield Piece([(None, column) for column in obs.indices[part].T], obs.values[part].astype(float), weights)


def homes(obs, rng, size, draw=NONE):
    yield in_memory(obs, draw, size_of_block=size)
    yield fill(as_pieces(obs, rng), obs.dims, shape=obs.shape).partitions(draw, size_of_block=size)


@pytest.mark.parametrize("size", [10, 90, 10**6])
@pytest.mark.parametrize("prior", ["poisson", "normal", "bernoulli-logit"])
def test_value_and_gradient_are_the_same_in_every_home_and_number_of_blocks(prior, size, rng):
    problem, factors = make_problem(prior, shape=(9, 17, 5), weighted=prior == "normal")
    value, grads = problem.value_and_grad(factors)
    for parts in homes(problem.observations, rng, size):
        blocks = Partitioned.on_blocks(parts, problem.rank, prior=problem.prior, dtype=np.float64, quiet=True)
        again, ours = blocks.value_and_grad(factors)
        assert again == pytest.approx(value, rel=1e-12)
        assert blocks.value(factors) == pytest.approx(value, rel=1e-12)
        for G, H in zip(grads, ours, strict=True):
            np.testing.assert_allclose(H, G, rtol=1e-10, atol=1e-10 * np.abs(G).max())
        parts.close()


@pytest.mark.parametrize("prior", ["normal", "poisson"])
def test_newton_takes_the_same_steps_in_every_home(prior, rng):
    obs = some(rng, weighted=True)
    settings = dict(prior=prior, dtype=np.float64, interelement=penalties(3, {2: 1.0}, 0.1), quiet=True)
    start = [rng.uniform(0.5, 1.5, (n, 3)) for n in SHAPE]

    def three_steps(problem):
        solver = Newton()
        state = solver.init(problem, start, rng)
        for _ in range(3):
            state = solver.step(problem, state, rng)
        return state

    whole = three_steps(tfl.Problem(obs, 3, **settings))
    for size in (40, 10**6):
        for parts in homes(obs, rng, size):
            state = three_steps(Partitioned.on_blocks(parts, 3, **settings))
            assert state.value == pytest.approx(whole.value, rel=1e-10)
            for A, B in zip(state.factors, whole.factors, strict=True):
                np.testing.assert_allclose(A, B, rtol=1e-8, atol=1e-10)
            parts.close()


@pytest.mark.parametrize("prior", ["normal", "poisson"])
def test_steps_towards_rows_are_the_same_in_every_home(prior, rng, monkeypatch):
    monkeypatch.setattr(blockrows, "STEPS_FROM", 5)
    obs = some(rng, weighted=True)
    settings = dict(prior=prior, dtype=np.float64, interelement=penalties(3, {2: 1.0}, 0.1), quiet=True)
    start, states = [rng.uniform(0.5, 1.5, (n, 5)) for n in SHAPE], []
    for size in (40, 10**6):
        for parts in homes(obs, rng, size):
            problem, solver = Partitioned.on_blocks(parts, 5, **settings), Newton()
            states.append(solver.init(problem, start, rng))
            for _ in range(3):
                before, states[-1] = states[-1], solver.step(problem, states[-1], rng)
                assert states[-1].value < before.value
            parts.close()
    for state in states[1:]:
        assert state.value == pytest.approx(states[0].value, rel=1e-10)
        for A, B in zip(state.factors, states[0].factors, strict=True):
            np.testing.assert_allclose(A, B, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_steps_towards_rows_end_where_their_minimum_is(ridge, rng, monkeypatch):
    """And none of them raises a row's objective; rows of no observation and of fewer than columns are among them."""
    counts = rng.normal(2.0, 1.0, (40, 9, 7))
    known = rng.random(counts.shape) < np.linspace(0, 0.6, 40)[:, None, None]
    known[0] = False
    parts = in_memory(tfl.observe(np.where(known, counts, np.nan)), Draw(0, 0))
    problem = Partitioned.on_blocks(parts, 12, prior="normal", interelement=penalties(3, {}, ridge), quiet=True)
    start, answers = [rng.normal(size=(n, 12)) for n in counts.shape], []
    monkeypatch.setattr(blockrows, "STEPS_FROM", 13)
    exact = sweeps_of(problem)._solve(problem, start, None, 0, damped=False)
    monkeypatch.setattr(blockrows, "STEPS_FROM", 1)
    values = [problem.value(start)]
    for steps in (1, 3, 200):
        monkeypatch.setattr(blockrows, "STEPS", steps)
        answers.append(sweeps_of(problem)._solve(problem, start, None, 0, damped=False))
        values.append(problem.value([answers[-1], *start[1:]]))
    assert values == sorted(values, reverse=True)
    assert values[-1] == pytest.approx(problem.value([exact, *start[1:]]), rel=1e-6)
    np.testing.assert_allclose(answers[0][0], 0 if ridge else start[0][0], atol=1e-15)
    if ridge:
        np.testing.assert_allclose(answers[-1], exact, rtol=1e-5, atol=1e-6)


def test_tied_and_careful_steps_in_blocks_never_raise_the_objective(rng):
    from tensorfill.solvers.newton import sweeps_of

    obs = some(rng)
    parts = in_memory(obs, NONE, size_of_block=40)
    problem = Partitioned.on_blocks(parts, 4, prior="poisson", interelement=penalties(3, {2: 5.0}, 0.1), quiet=True)
    factors = [rng.uniform(0.01, 3.0, (n, 4)) for n in SHAPE]
    before = problem.value(factors)
    for _ in range(3):
        factors = sweeps_of(problem).careful(problem, factors)
        after = problem.value(factors)
        assert after <= before
        before = after


def test_what_is_set_aside_follows_from_coordinates_and_seed_alone(rng):
    obs = some(rng)
    memory, disk = homes(obs, rng, 50, Draw(seed=3, held=0.2))
    assert 30 < len(memory.held.values) < 90
    assert memory.nnz + len(memory.held.values) == obs.nnz == memory.sample.nnz
    np.testing.assert_array_equal(memory.held.indices, disk.held.indices)
    np.testing.assert_array_equal(memory.sample.indices, disk.sample.indices)
    assert memory.digest == disk.digest
    other = in_memory(obs, Draw(seed=4, held=0.2))
    assert len(other.held.values) != len(memory.held.values) or (other.held.indices != memory.held.indices).any()
    changed = tfl.Observations(obs.shape, obs.indices, obs.values + 1)
    assert in_memory(changed, NONE).digest != memory.digest
    disk.close()


def test_a_label_is_not_called_empty_because_its_only_row_was_set_aside(rng):
    obs = some(rng)
    counts = tuple(np.array([0, *[3] * (n - 1)]) for n in SHAPE)
    labels = {obs.dims[1]: np.array([f"item {k}" for k in range(SHAPE[1])])}
    whole = Sample(SHAPE, obs.indices, obs.values, dims=obs.dims, whole=300, counts=counts, labels=labels)
    assert whole.empty_slices() == [(0, 0), (2, 0)]


def test_lots_are_even_and_differ_with_the_seed():
    where = np.stack(np.meshgrid(np.arange(300), np.arange(200), indexing="ij"), axis=-1).reshape(-1, 2)
    share = (hash_indices(where, 1) < np.uint64(2**63)).mean()
    assert 0.48 < share < 0.52
    both = (hash_indices(where, 1) < np.uint64(2**63)) & (hash_indices(where, 2) < np.uint64(2**63))
    assert 0.23 < both.mean() < 0.27


def test_blocks_say_how_large_they_are(rng):
    """Or a scheduler would move them about, and let memory run over."""
    obs = some(rng)
    parts = in_memory(obs, NONE)
    _, sizes = parts.gather(lambda block, shared, own: (None, sys.getsizeof(block)), None, 0)
    assert sum(sizes) > obs.indices.nbytes + obs.values.nbytes
    problem = Partitioned.on_blocks(parts, 4, prior="poisson", quiet=True)
    factors = [np.ones((n, 4)) for n in SHAPE]
    assert sys.getsizeof(problem.evaluation(factors, 0)) > 8 * 4 * (9 + 5)


def test_rows_are_never_cut():
    edges = cut_rows(np.array([5, 0, 100, 1, 1, 1, 90]), 50)
    assert edges[0] == 0
    assert edges[-1] == 7
    assert len(edges) > 2


def test_values_that_a_prior_cannot_produce_are_named_in_whichever_block(rng):
    obs = some(rng)
    values = obs.values.copy()
    values[200] = -2.0
    bad = tfl.Observations(obs.shape, obs.indices, values)
    parts = in_memory(bad, Draw(held=0.0, sample=0.05), size_of_block=40)
    with pytest.raises(ValueError, match=r"must be >= 0 for Poisson; got -2"):
        Partitioned.on_blocks(parts, 2, prior="poisson")


def test_a_corner_has_about_as_many_observations_as_asked_for(rng):
    shape = (300, 200, 10)
    where = np.unique(np.stack([rng.integers(n, size=20000) for n in shape], axis=1), axis=0)
    obs = tfl.Observations.from_coo(where, np.ones(len(where)), shape)
    small, rows = dense_subset(in_memory(obs, NONE, size_of_block=3000), size=4000)
    assert 2000 <= len(small.values) <= 8000
    assert small.shape[2] == 10  # a short mode is kept whole
    assert abs(small.shape[0] - small.shape[1]) <= 1
    assert [len(r) for r in rows] == list(small.shape)


# --- files ----------------------------------------------------------------------------------------------------------


def table(rng, count=400):
    pd = pytest.importorskip("pandas")
    users = rng.integers(20, size=count)
    frame = pd.DataFrame({"user": [f"u{i}" for i in users], "week": rng.integers(1, 13, count)})
    frame["stars"] = rng.integers(1, 6, count).astype(float)
    return frame.drop_duplicates(["user", "week"]).reset_index(drop=True)


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_in_pieces_are_the_table_they_hold(ending, tmp_path, rng):
    frame = table(rng)
    for k, part in enumerate((frame[:100], frame[100:])):
        target = tmp_path / f"{k}.{ending}"
        part.to_parquet(target) if ending == "parquet" else part.to_csv(target, index=False)
    pattern = str(tmp_path / f"*.{ending}")
    got = open_data(pattern, dims=["user", "week"], value="stars")
    assert isinstance(got, tfl.Observations)
    assert got.nnz == len(frame)
    parts = open_data(pattern, dims=["user", "week"], value="stars", large=10, draw=NONE)
    assert parts.shape == got.shape
    assert list(parts.sample.labels["week"]) == sorted(set(frame.week))  # numbers in their order
    assert parts.digest == in_memory(got, NONE).digest
    parts.close()


def test_other_files_in_pieces(tmp_path, rng):
    T = np.where(rng.random((6, 5)) < 0.6, rng.integers(1, 9, (6, 5)), np.nan)
    lines = [f"{i + 1} {j + 1} {T[i, j]:g}" for i, j in np.argwhere(~np.isnan(T))]
    (tmp_path / "a.tns").write_text("# a comment\n" + "\n".join(lines) + "\n")
    got = open_data(str(tmp_path / "a.tns"))
    np.testing.assert_array_equal(got.indices, np.argwhere(~np.isnan(T)))
    np.testing.assert_array_equal(got.values, T[~np.isnan(T)])


def test_bad_files_get_a_sentence(tmp_path, rng):
    frame = table(rng)
    frame.to_parquet(tmp_path / "a.parquet")
    pattern = str(tmp_path / "*.parquet")
    with pytest.raises(FileError, match=r"has no column 'star'; its columns are user, week, stars"):
        open_data(pattern, dims=["user", "week"], value="star")
    with pytest.raises(ValueError, match="must be named"):
        open_data(pattern)
    with pytest.raises(FileError, match="there is no such file"):
        files_of(str(tmp_path / "b*.parquet"))
    frame.loc[3, "user"] = None
    frame.to_parquet(tmp_path / "b.parquet")
    with pytest.raises(FileError, match="must have a label in column 'user'; 1 have none"):
        list(pieces_of(str(tmp_path / "b.parquet"), Columns(("user", "week"), "stars")))
    twice = table(rng)[:1]
    twice.to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"the entry \(user=.*, week=.*\) appears more than once"):
        open_data(
            [str(tmp_path / "c.parquet")] * 2 + [str(tmp_path / "a.parquet")],
            dims=["user", "week"],
            value="stars",
            large=10,
        )
    with pytest.raises(ValueError, match="finite"):
        fill([Piece([(None, np.array([0])), (None, np.array([0]))], np.array([np.inf]))])


def test_stores_go_away_at_the_end_and_those_of_the_dead_at_the_next_start(tmp_path):
    store = Store(str(tmp_path))
    path = store.path
    assert path.exists()
    del store
    assert not path.exists()
    gone = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, text=True)
    dead = tmp_path / f"{PREFIX}{gone.stdout.strip()}-x"
    mine = tmp_path / f"{PREFIX}{os.getpid()}-y"
    dead.mkdir()
    mine.mkdir()
    sweep(str(tmp_path))
    assert not dead.exists()
    assert mine.exists()
    elsewhere = tmp_path / dead.name.replace(HOST, "0" * len(HOST))  # of another machine that shares the folder
    elsewhere.mkdir()
    sweep(str(tmp_path))
    assert elsewhere.exists()


def test_a_part_that_is_another_table_is_named(tmp_path, rng):
    frame = table(rng)
    frame.to_parquet(tmp_path / "a.parquet")
    read = dict(dims=["user", "week"], value="stars")
    pattern, second = str(tmp_path / "*.parquet"), tmp_path / "b.parquet"
    for change, word in (
        ({"week": frame.week.astype(str)}, r"b.parquet: its column 'week' holds '\d+' where files before have \d+"),
        ({"week": [[k] for k in frame.week]}, "b.parquet: its column 'week' holds list.*cannot be labels"),
        ({"stars": "five"}, "b.parquet: its column 'stars' holds large_string, not numbers .*'five'"),
    ):
        frame.assign(**change).to_parquet(second)
        with pytest.raises(FileError, match=word):
            open_data(pattern, **read)
    second.unlink()
    (tmp_path / "c.tns").write_text("1 1 3\n")
    with pytest.raises(ValueError, match="must be tables, or all be arrays"):
        open_data([str(tmp_path / "a.parquet"), str(tmp_path / "c.tns")], **read)
    (tmp_path / "d.csv").write_text("user,week,stars,stars\na,1,2,3\n")
    with pytest.raises(FileError, match="more than one column 'stars'"):
        open_data(str(tmp_path / "d.csv"), **read)


@pytest.mark.parametrize("ending", ["parquet", "csv", "tns"])
def test_whole_numbers_that_would_change_are_refused(ending, tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"i": [1, 2, 2], "j": [1, 1, 2], "v": [3, 2**53 + 1, 5]})
    path = tmp_path / f"a.{ending}"
    if ending == "parquet":
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, header=ending == "csv", sep="," if ending == "csv" else " ")
    named = dict(dims=["i", "j"], value="v") if ending in ("parquet", "csv") else {}
    with pytest.raises(FileError, match=r"cannot read .*: .*hole numbers .*2\^53"):
        open_data(str(path), **named)
    if ending == "csv":  # some whole, some with a point, some with a blank: numbers all the same
        path.write_text("i,j,v\n1,1,3\n2,1,2.5\n2,2, 18014398509481984\n1,2,\n")
        assert list(open_data(str(path), **named).values) == [3, 2.5, 2.0**54]


def test_indices_beyond_what_fits_are_refused_before_memory_is_taken(tmp_path):
    (tmp_path / "a.tns").write_text("1 1 2\n4294967298 1 3\n")
    with pytest.raises(ValueError, match="up to 2,147,483,647 long; got an index of 4,294,967,297"):
        open_data(str(tmp_path / "a.tns"))
    (tmp_path / "a.tns").write_text("1 1 2\n2000000000 1 3\n")
    with limit_memory("1GB"), pytest.raises(MemoryError, match="2,000,000,000 x 1 would take about 128 GB"):
        open_data(str(tmp_path / "a.tns"))


def test_no_store_outlives_a_refusal(tmp_path, monkeypatch, rng):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "stores"))
    (tmp_path / "stores").mkdir()
    frame = table(rng)
    frame.to_parquet(tmp_path / "a.parquet")
    twice = [str(tmp_path / "a.parquet")] * 2
    for large in (10, 10**6):
        with pytest.raises(ValueError, match=r"the entry \(user=.*, week=.*\) appears more than once") as kept:
            open_data(twice, dims=["user", "week"], value="stars", large=large)
        assert list((tmp_path / "stores").iterdir()) == []
        del kept  # until here the error, and with it every frame, was at hand
    monkeypatch.setitem(open_data.__kwdefaults__, "large", 10)
    with pytest.raises(ValueError, match="no candidate can make use"):
        tfl.complete(twice[0], dims=["user", "week"], value="stars", candidates=["knn"])
    assert list((tmp_path / "stores").iterdir()) == []


def test_settings_are_refused_before_anything_is_read():
    for wrong, word in (({"held_out": 7.0}, "held_out"), ({"solver": 3.5}, "solver"), ({"solver": "newtn"}, "newton")):
        with pytest.raises((ValueError, TypeError), match=word):
            tfl.complete("no-such-*.parquet", dims=["a", "b"], value="c", **wrong)
    for wrong, word in (({"dims": 3}, "dims"), ({"dims": [["a"], "b"]}, "dims"), ({"value": []}, "value")):
        with pytest.raises((ValueError, TypeError), match=f"{word} "):
            tfl.complete("no-such-*.parquet", **{"dims": ["a", "b"], "value": "c", **wrong})


# --- complete -------------------------------------------------------------------------------------------------------


@pytest.fixture
def ratings(tmp_path, rng, monkeypatch):
    """Files of 6,000 ratings, which count as many; (pattern, truth, frame)."""
    import tensorfill.blocks.opening as opening

    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    shape, count = (150, 80), 6000
    A, B = rng.normal(size=(shape[0], 2)), rng.normal(size=(shape[1], 2))
    X = 3 + A @ B.T
    flat = rng.choice(X.size, count, replace=False)
    i, j = np.unravel_index(flat, shape)
    frame = pd.DataFrame({"user": [f"u{k:03d}" for k in i], "item": j, "stars": X[i, j] + 0.1 * rng.normal(size=count)})
    frame[: count // 2].to_parquet(tmp_path / "a.parquet")
    frame[count // 2 :].to_parquet(tmp_path / "b.parquet")
    monkeypatch.setattr(opening.open_data, "__kwdefaults__", {**opening.open_data.__kwdefaults__, "large": 1000})
    return str(tmp_path / "*.parquet"), X, frame


def test_complete_on_files_larger_than_everything_can_be_tried_on(ratings, tmp_path):
    pattern, X, frame = ratings
    done = tfl.complete(pattern, dims=["user", "item"], value="stars")
    assert isinstance(done.observations, Sample)
    assert done.observations.nnz == len(frame)
    assert done.error < 0.2
    tried = {row.method: row for row in done.tried}
    assert tried["bayes"].note == "it needs all observations in memory"
    assert np.isfinite(tried["means"].error)
    assert sum(row.weight for row in done.tried) == pytest.approx(1)
    users = list(done.observations.labels["user"])
    wanted = {"user": ["u007", "u149"], "item": [3, 79]}
    got = done.at(wanted)
    np.testing.assert_allclose(got, [X[7, 3], X[149, 79]], atol=0.5)
    best = done.top(3, mode="item")
    row = users.index("u007")
    assert set(best.labels[row]) & set(np.argsort(-X[7])[:3])
    i, stars = np.array([users.index(u) for u in frame.user]), frame.stars.to_numpy()
    full = done.completed  # a small tensor: what is known comes back, set aside or not, bit for bit
    np.testing.assert_array_equal(full[i, frame.item], stars)
    seen = np.zeros(X.shape, dtype=bool)
    seen[i, frame.item] = True
    np.testing.assert_array_equal(full[~seen], done.estimate[~seen])
    np.testing.assert_array_equal(done.at(frame[["user", "item"]], known=True), stars)
    assert not seen[np.arange(len(users))[:, None], best.indices].any()
    everywhere = done.top(3, mode="item", new=False, at=[7, 7, 0])
    np.testing.assert_array_equal(everywhere.indices[0], everywhere.indices[1])
    np.testing.assert_array_equal(everywhere.indices[0], np.argsort(-done.estimate[7])[:3])
    np.testing.assert_array_equal(done.top(3, mode="item", at=[7, 7, 0]).indices, best.indices[[7, 7, 0]])
    done.save(tmp_path / "model.npz")
    again = tfl.Completion.load(tmp_path / "model.npz")
    for gone in (lambda: again.completed, lambda: again.at(wanted, known=True), lambda: again.top(3, "item", new=True)):
        with pytest.raises(MemoryError, match="are with the run alone, not with a copy of it or in a file"):
            gone()
    np.testing.assert_array_equal(again.top(3, mode="item").indices[7], everywhere.indices[0])
    np.testing.assert_array_equal(again.at(wanted), got)
    assert again.observations.nnz == len(frame)
    with pytest.raises(ValueError, match="got 'nobody', which the data do not have"):
        again.at({"user": ["nobody"], "item": [3]})


@pytest.mark.parametrize("power", [1e300, 1e-300])
def test_files_of_numbers_of_any_magnitude(ratings, tmp_path, power):
    pattern, X, frame = ratings
    for file in tmp_path.glob("*.parquet"):
        file.unlink()
    frame.assign(stars=frame.stars * power).to_parquet(tmp_path / "c.parquet")
    done = tfl.complete(pattern, dims=["user", "item"], value="stars", rank=2)
    assert done.error / power < 0.2
    np.testing.assert_allclose(done.at({"user": ["u007"], "item": [3]}) / power, X[7, 3], atol=0.5)


def test_a_run_on_files_goes_on_from_its_checkpoint(ratings, tmp_path):
    pattern, _, _ = ratings
    settings = dict(dims=["user", "item"], value="stars", rank=2)
    whole = tfl.complete(pattern, **settings)
    place = tmp_path / "run.ckpt"
    short = tfl.complete(pattern, **settings, checkpoint=place, max_iter=1)
    assert short.status is tfl.Status.ITERATIONS
    rest = tfl.complete(pattern, **settings, checkpoint=place, resume=True)
    np.testing.assert_array_equal(rest.factors[0], whole.factors[0])
    assert rest.iterations == whole.iterations


@pytest.mark.parametrize(("model", "rank"), [("tucker", (2, 2)), ("tt", (2,))])
def test_other_models_on_files(ratings, model, rank):
    pattern, _, _ = ratings
    done = tfl.complete(pattern, dims=["user", "item"], value="stars", model=model, rank=rank, max_iter=3)
    assert done.model.name == model
    assert done.error < 0.5


def test_a_solver_that_was_given_fits_the_blocks(ratings):
    pattern, _, _ = ratings
    solver = tfl.Adam(steps=150, rate=0.05)
    done = tfl.complete(pattern, dims=["user", "item"], value="stars", rank=2, solver=solver)
    assert done.settings["solver"] == "adam"
    assert done.error < 0.4


@pytest.mark.parametrize("solver", ["onestep", "admm", tfl.Adam(batch=100)])
def test_solvers_that_need_all_observations_in_memory_say_so(ratings, solver):
    """They fitted the sample alone, or met an IndexError."""
    with pytest.raises(ValueError, match=r"cannot solve this problem: .*blocks.* These would: .*lbfgsb"):
        tfl.complete(ratings[0], dims=["user", "item"], value="stars", rank=2, method="low-rank", solver=solver)


def test_what_blocks_cannot_do_is_said(ratings):
    pattern, _, _ = ratings
    settings = dict(dims=["user", "item"], value="stars")
    with pytest.raises(ValueError, match="method 'bayes' needs all observations in memory"):
        tfl.complete(pattern, **settings, method="bayes")
    with pytest.raises(ValueError, match="error_bars needs all observations in memory"):
        tfl.complete(pattern, **settings, error_bars=0.9)
    with pytest.raises(ValueError, match=r"no candidate can .*knn: it needs all observations in memory"):
        tfl.complete(pattern, **settings, candidates=["knn"])


def test_few_rows_of_files_are_completed_as_a_table(tmp_path, rng):
    frame = table(rng)
    frame.to_parquet(tmp_path / "a.parquet")
    done = tfl.complete(str(tmp_path / "a.parquet"), dims=["user", "week"], value="stars", method="halrtc", max_iter=2)
    assert list(done.completed.columns) == ["user", "week", "stars"]
    assert len(done.completed) == frame.user.nunique() * frame.week.nunique()
    again = tfl.complete(frame, dims=["user", "week"], value="stars", method="halrtc", max_iter=2)
    assert len(again.completed) == len(done.completed)


def test_top_leaves_out_what_is_known(rng):
    X = rng.random((6, 9))
    T = X.copy()
    T[:, ::2] = np.nan
    done = tfl.complete(T, method="halrtc", max_iter=3)
    best = done.top(9, mode=1)
    assert best.labels is None
    full = done.full
    for i in range(6):
        there = best.indices[i][best.indices[i] >= 0]
        assert set(there) == {0, 2, 4, 6, 8}
        assert (np.diff(full[i, there]) <= 0).all()
    assert (done.top(2, mode=1, new=False).values >= done.top(2, mode=1).values).all()
    with pytest.raises(ValueError, match="k must be"):
        done.top(0, mode=1)
    for odd in (None, [], 1j, "x", True):
        with pytest.raises((ValueError, TypeError), match=r"mode must be|dimension must be"):
            done.top(2, mode=odd)
    with pytest.raises(TypeError, match="new must be True, False or None"):
        done.top(2, mode=1, new=[1, 2])
    with pytest.raises(ValueError, match="at must be whole numbers"):
        done.top(2, mode=1, at="x")
    with pytest.raises(ValueError, match="at must lie inside"):
        done.top(2, mode=1, at=[99])
    cube = tfl.complete(np.where(rng.random((3, 3, 3)) < 0.3, np.nan, 1.0), method="halrtc", max_iter=2)
    with pytest.raises(ValueError, match="give their coordinates along"):
        cube.top(2, mode=1)


def test_long_tables_of_pandas_need_labels_of_one_kind(rng):
    pd = pytest.importorskip("pandas")
    frame = table(rng)
    read = dict(dims=["user", "week"], value="stars")
    frame["user"] = [pd.Timestamp("2024-01-01"), *frame.user[1:]]
    with pytest.raises(TypeError, match=r"labels in column 'user' must be of one kind .* got Timestamp, str"):
        tfl.complete(frame, **read)
    frame["user"] = [None, *frame.user[1:]]
    with pytest.raises(ValueError, match="every row must have a label in column 'user'; 1 have none"):
        tfl.complete(frame, **read)


def test_ctrl_c_while_trying_keeps_what_the_corner_says(ratings):
    pattern, X, _ = ratings

    class Stop:
        heard = 0

        def __call__(self, state, history):
            pass

        def tried(self, name, error, share):
            self.heard += np.isfinite(error)
            if self.heard == 2:
                raise KeyboardInterrupt

    done = tfl.complete(pattern, dims=["user", "item"], value="stars", callback=Stop())
    assert done.status is tfl.Status.INTERRUPTED
    assert done.error < 0.7 * X.std()


def test_a_time_limit_is_for_the_trials_too(ratings):
    pattern, _, _ = ratings
    done = tfl.complete(pattern, dims=["user", "item"], value="stars", seconds=1e-3)
    assert sum(np.isfinite(row.error) for row in done.tried) <= 1  # there is no time for another
    assert np.isfinite(done.error)
