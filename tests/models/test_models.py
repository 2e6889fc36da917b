"""Every registered model: the slow truth in both layouts, derivatives, starts, recovery, resuming, its file."""

import json

import numpy as np
import pytest
import reference_kernels as reference
from prior_examples import tensorspace_examples
from problems import check_gradient

import tensorfill as tfl
from tensorfill.kernels import dense, sampled, tubal
from tensorfill.kernels.choose import make_layout
from tensorfill.models import MODELS
from tensorfill.models.base import unpack
from tensorfill.models.init import INITS
from tensorfill.solvers.base import SOLVERS

ALL = list(MODELS)
LAYOUTS = ("dense", "sampled")
SHAPES = [(5, 4), (4, 3, 5), (3, 2, 2, 3)]
every_model = pytest.mark.parametrize("name", ALL)
both = pytest.mark.parametrize("layout", LAYOUTS)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def some_rank(name, shape):
    """An uneven rank, in full."""
    N = len(shape)
    uneven = {"tucker": (2, 3, 1, 2, 2)[:N], "tt": (2, 3, 2, 2)[: N - 1], "tr": (2, 3, 1, 2, 2)[:N]}
    return MODELS[name].check_rank(shape, uneven.get(name, 2))


def random_model(name, shape, rank=None, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    cls = MODELS[name]
    rank = some_rank(name, shape) if rank is None else cls.check_rank(shape, rank)
    return cls.of(shape, rank, [rng.normal(size=s).astype(dtype) for s in cls.shapes(shape, rank)])


def some_indices(shape, share=0.6, seed=1):
    return np.argwhere(np.random.default_rng(seed).random(shape) < share).astype(np.int32)


def problem_of(name, shape=(5, 4, 3), prior="normal", **others):
    model = random_model(name, shape, seed=3)
    X = model.full()
    T = X if prior == "normal" else np.random.default_rng(0).poisson(np.exp(0.3 * X / X.std())).astype(float)
    where = np.random.default_rng(4).random(shape) < 0.7
    for n, length in enumerate(shape):
        where[tuple(np.arange(length) if m == n else 0 for m in range(len(shape)))] = True  # no slice is empty
    obs = tfl.Observations.from_dense(T, where)
    given = {"rank": model.rank, "model": name, "prior": prior, "quiet": True, "dtype": np.float64}
    return tfl.Problem(obs, **given | others), model.parameters


# --- what an instance is ----------------------------------------------------------------------------------------------


@every_model
@every_shape
def test_the_tensor_is_the_slow_truth(name, shape):
    model = random_model(name, shape)
    X = reference.FULL[name](shape, model.rank, model.parameters)
    np.testing.assert_allclose(model.full(), X, atol=1e-12)
    where = some_indices(shape)[::-1]
    np.testing.assert_allclose(model.at(where), X[tuple(where.T)], atol=1e-12)
    assert model.shape == shape


@every_model
@every_shape
def test_parameters_there_and_back(name, shape):
    model = random_model(name, shape)
    shapes = MODELS[name].shapes(shape, model.rank)
    assert [A.shape for A in model.parameters] == shapes
    assert [len(A) for A in model.by_mode] == list(shape[: MODELS[name].modes(len(shape))])
    again = model.with_parameters(model.parameters)
    assert all(np.array_equal(A, B) for A, B in zip(model.parameters, again.parameters, strict=True))
    arrays, meta = model.pack()
    read = unpack(arrays, json.loads(json.dumps(meta)))
    np.testing.assert_array_equal(read.full(), model.full())
    assert read.rank == model.rank
    columns, strengths = model.components()
    assert [len(C) for C in columns] == [len(A) for A in model.by_mode]
    assert strengths.shape == (len(columns), max(C.shape[1] for C in columns))
    assert MODELS[name].ranks_are


@every_model
def test_free_numbers_are_the_rank_of_the_derivative(name):
    """As many directions as X can move in."""
    shape = (5, 4, 6)
    model = random_model(name, shape, rank={"tucker": (2, 3, 2), "tt": (2, 3), "tr": (2, 2, 2)}.get(name, 2))
    columns = []
    for p, P in enumerate(model.parameters):
        for e in np.ndindex(*P.shape):
            step = [np.zeros_like(Q) if q == p else Q for q, Q in enumerate(model.parameters)]
            step[p][e] = 1.0
            columns.append(model.with_parameters(step).full().ravel())
    moves = np.linalg.matrix_rank(np.array(columns), tol=1e-9)
    assert abs(MODELS[name].free(shape, model.rank) - moves) <= 1  # of a ring a common factor is counted twice


@pytest.mark.parametrize(
    ("name", "rank", "full"),
    [("cp", 3, 3), ("tucker", 4, (4, 4, 3)), ("tt", 9, (5, 3)), ("tr", 2, (2, 2, 2)), ("tubal", 2, 2)],
)
def test_one_number_stands_for_all_ranks(name, rank, full):
    assert MODELS[name].check_rank((5, 4, 3), rank) == full


@every_model
@pytest.mark.parametrize("bad", [0, 2.5, "3", None, True, (1, 2, 3, 4, 5), (0, 1, 1), ("a", "b", "c")])
def test_a_bad_rank_gets_a_sentence(name, bad):
    with pytest.raises(ValueError, match=r"rank .*must be .*whole number >= 1.*; got"):
        MODELS[name].check_rank((5, 4, 3), bad)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tfl.Tucker(np.ones((2, 2)), [np.ones((3, 2)), np.ones((4, 3))]),
        lambda: tfl.TT([np.ones((1, 3, 2)), np.ones((3, 4, 1))]),
        lambda: tfl.TT([np.ones((2, 3, 2)), np.ones((2, 4, 2))]),
        lambda: tfl.TR([np.ones((2, 3, 2)), np.ones((2, 4, 3))]),
        lambda: tfl.Tubal(np.ones((2, 3, 4)), np.ones((2, 2, 4))),
    ],
)
def test_parts_that_do_not_fit_get_a_sentence(make):
    with pytest.raises(ValueError, match="; got"):
        make()


# --- layouts ----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=[np.float32, np.float64], ids=["whole", "cut"])
def dtype(request, monkeypatch):
    """Once in one piece, in float32, once in pieces far smaller than the data, in float64."""
    if request.param == np.float64:
        monkeypatch.setattr(dense, "SLAB_ENTRIES", 7)
        monkeypatch.setattr(sampled, "BLOCK", 11)
        monkeypatch.setattr(tubal, "FIBRE_ENTRIES", 5)
    return request.param


@every_model
@both
@every_shape
def test_both_layouts_are_the_slow_truth(name, layout, shape, dtype):
    model = random_model(name, shape, dtype=dtype)
    cls, P, where = MODELS[name], model.parameters, some_indices(shape)
    where = np.repeat(where, 1 + (np.arange(len(where)) % 5 == 0), axis=0)  # some twice
    g = np.random.default_rng(2).normal(size=len(where)).astype(dtype)
    made = make_layout(where, cls.contraction(shape, model.rank), layout)
    X = reference.FULL[name](shape, model.rank, P)
    Y = np.zeros(shape)
    np.add.at(Y, tuple(where.T), g)
    close = {"rtol": 2e-4, "atol": 2e-4} if dtype == np.float32 else {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(made.predict(P), X[tuple(where.T)], **close)
    value, fused = made.value_and_pullback(lambda a, b, x: (float(x.sum()), g[a:b]), P)
    assert value == pytest.approx(X[tuple(where.T)].sum(), rel=1e-3, abs=1e-3)
    together = reference.pullback_all(made, g, P)
    for p in range(len(P)):
        truth = reference.pullback_of(name, shape, model.rank, P, Y, p)
        for G in (fused[p], together[p], made.pullback(g, P, p)):
            assert G.dtype == dtype
            np.testing.assert_allclose(G, truth, **close)
    if layout == "dense":
        for G, H in zip(made.pullback_full(Y, P), together, strict=True):
            np.testing.assert_allclose(G, H, **close)


@every_model
@both
def test_threads_and_strides_change_nothing(name, layout):
    shape = (9, 8, 7)
    model, where = random_model(name, shape), some_indices(shape)
    g = np.random.default_rng(2).normal(size=len(where))
    made = make_layout(where, MODELS[name].contraction(shape, model.rank), layout)
    before = reference.pullback_all(made, g, model.parameters)
    if layout == "sampled":
        made.threads = 3
    after = reference.pullback_all(made, g, [np.asfortranarray(A) for A in model.parameters])
    for G, H in zip(before, after, strict=True):
        np.testing.assert_allclose(G, H, atol=1e-11)
    with pytest.raises(ValueError, match="factors must have shapes"):
        made.predict([A[:-1] for A in model.parameters])


@every_model
def test_the_cost_model_prefers_what_is_sparse_sampled_and_what_is_full_dense(name):
    cls = MODELS[name]
    for shape, nnz, want in (((2000, 2000, 20), 50_000, "sampled"), ((60, 60, 20), 70_000, "dense")):
        where = np.unique(np.random.default_rng(0).integers(0, np.prod(shape), nnz))
        where = np.stack(np.unravel_index(where, shape), axis=1)
        contraction = cls.contraction(shape, cls.check_rank(shape, 3))
        assert make_layout(where, contraction).name == want


# --- behind a Problem -------------------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize(("layout", "prior"), [("dense", "poisson"), ("sampled", "normal")])
def test_gradient_by_finite_differences(name, layout, prior):
    others = dict.fromkeys(MODELS[name].others(), tfl.Ridge(0.2))
    problem, factors = problem_of(
        name, prior=prior, layout=layout, interelement={0: tfl.QuadraticVariation(0.5), 1: tfl.Ridge(0.3)} | others
    )
    check_gradient(problem, factors)


@every_model
def test_gradient_with_a_tensor_space_prior(name):
    example, shape = next((e, s) for e, s in tensorspace_examples("isotropic-tv") if hasattr(e, "value_and_grad"))
    check_gradient(*problem_of(name, shape=shape, tensorspace=example))


@every_model
@pytest.mark.parametrize("init", INITS)
def test_every_start_is_near_the_data(name, init):
    for prior in ("normal", "poisson"):
        problem, _ = problem_of(name, shape=(6, 5, 4), prior=prior)
        start = tfl.initial_factors(problem, init, np.random.default_rng(0))
        assert [A.shape for A in start] == problem.parameter_shapes
        x = problem.model_of(start).full()
        assert np.isfinite(x).all()
        if init in ("scaled", "constant", "means"):
            t = problem.t
            assert abs(x.mean() - t.mean()) < 0.6 * max(t.std(), abs(t.mean()))


@every_model
def test_means_start_at_the_means(name):
    """Of CP the sum of main effects for reals; of every model their product for counts."""
    rng = np.random.default_rng(0)
    a, b, c = (rng.normal(size=n) for n in (6, 5, 4))
    T = 3 + a[:, None, None] + b[:, None] + c
    for data, prior in [(T, "normal")] * (name == "cp") + [(np.exp(0.2 * T), "poisson")]:
        rank = MODELS[name].check_rank(T.shape, 3)
        problem = tfl.Problem(tfl.Observations.from_dense(data), rank=rank, model=name, prior=prior, quiet=True)
        start = tfl.initial_factors(problem, "means", rng, noise=0.0)
        np.testing.assert_allclose(problem.model_of(start).full(), data, rtol=0.12, atol=0.12)


@every_model
@pytest.mark.parametrize("solver", list(SOLVERS))
def test_every_solver_goes_down_or_says_why_not(name, solver):
    problem, _ = problem_of(name, prior="poisson", interelement={0: tfl.Ridge(0.1)})
    made = SOLVERS[solver]()
    if made.refused(problem) is not None:
        assert name != "cp"
        with pytest.raises(ValueError, match=r"These would: .*lbfgsb"):
            tfl.solve(problem, made)
        return
    limit = tfl.Stopping(max_iter=2 if solver == "lbfgsb" else 12)
    done = tfl.solve(problem, made, init="scaled", stopping=limit)
    values = done.history["value"]
    assert values[-1] < values[0]
    if made.monotone:
        assert (np.diff(values) <= 0).all()


@pytest.mark.parametrize("solver", ["lbfgsb", "adam", "onestep", "multiplicative"])
def test_the_gradient_solvers_take_every_model(solver):
    for name in ALL:
        assert SOLVERS[solver]().refused(problem_of(name, prior="poisson")[0]) is None


@every_model
def test_an_exact_truth_is_recovered(name):
    shape, seed = (11, 10, 9), 0
    rank = {"cp": 3, "tucker": (2, 3, 2), "tt": (2, 3), "tr": (2, 2, 2), "tubal": 1}.get(name, 2)
    X = random_model(name, shape, rank, seed).full()
    mask = np.random.default_rng(seed).random(shape) < 0.5
    problem = tfl.Problem(tfl.Observations.from_dense(X, mask), rank=rank, model=name, quiet=True)
    done = tfl.solve(problem, init="constant", starts=3, stopping=tfl.Stopping(max_iter=20), seed=seed)
    assert np.abs(done.estimate - X).max() < 1e-4 * X.std()


@every_model
def test_what_lies_under_the_mask_does_not_change_a_bit(name):
    rng = np.random.default_rng(5)
    T, mask = rng.poisson(6.0, (7, 6, 3)).astype(float), rng.random((7, 6, 3)) < 0.6
    results = []
    for placeholder in (0.0, 1e30, np.nan):
        obs = tfl.Observations.from_dense(np.where(mask, T, placeholder), mask)
        ridge = dict.fromkeys((0, 1, *MODELS[name].others()), tfl.Ridge(0.1))
        problem = tfl.Problem(obs, rank=2, model=name, prior="poisson", interelement=ridge, quiet=True)
        results.append(tfl.solve(problem, "adam", seed=2, held_out=0.2, stopping=tfl.Stopping(max_iter=5)))
    for other in results[1:]:
        assert np.array_equal(results[0].estimate, other.estimate)


@every_model
def test_a_run_resumes_to_the_bit(name, tmp_path):
    problem, _ = problem_of(name)
    whole = tfl.solve(problem, tfl.Adam(steps=12), stopping=tfl.Stopping(max_iter=12))
    file = tmp_path / "run"
    tfl.solve(problem, tfl.Adam(steps=12), stopping=tfl.Stopping(max_iter=5), checkpoint=file)
    rest = tfl.solve(problem, tfl.Adam(steps=12), stopping=tfl.Stopping(max_iter=12), checkpoint=file, resume=True)
    assert all(np.array_equal(A, B) for A, B in zip(whole.model.parameters, rest.model.parameters, strict=True))
    other, _ = problem_of("cp" if name != "cp" else "tucker")
    with pytest.raises(ValueError, match="another run"):
        tfl.solve(other, tfl.Adam(steps=12), checkpoint=file, resume=True)


@every_model
def test_save_and_load(name, tmp_path):
    problem, _ = problem_of(name)
    done = tfl.solve(problem, "adam", stopping=tfl.Stopping(max_iter=3))
    done.save(tmp_path / "run.npz")
    again = tfl.Completion.load(tmp_path / "run.npz")
    assert np.array_equal(again.estimate, done.estimate)
    assert type(again.model) is MODELS[name]
    assert again.rank == done.rank
    again.plot_factors()
    assert name in repr(again) or name == "cp"


def test_priors_go_where_there_is_a_parameter():
    obs = tfl.Observations.from_dense(np.ones((4, 5, 3)))
    with pytest.raises(ValueError, match=r"a tubal model has parameters for mode0, mode1 alone; got .* for mode2"):
        tfl.Problem(obs, rank=1, model="tubal", interelement={2: tfl.Ridge(1.0)})
    with pytest.raises(ValueError, match="must not tie neighbours"):
        tfl.Problem(obs, rank=2, model="tucker", interelement={"core": tfl.QuadraticVariation(1.0)})
    with pytest.raises(ValueError, match="Did you mean 'tucker'"):
        tfl.Problem(obs, rank=2, model="tuker")
