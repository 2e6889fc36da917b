"""Wrong settings get a sentence, whatever they are given to; right ones are taken in any of their forms."""

import dataclasses
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.methods.base import Run
from tensorfill.solvers.loop import Stopping

OWNERS = {**dict(tfl.METHODS.items()), **{f"solver {k}": v for k, v in tfl.SOLVERS.items()}}
OWNERS |= {f"prior {k}": v for k, v in tfl.PRIORS.items()} | {f"smooth {k}": v for k, v in tfl.INTERELEMENT.items()}
OWNERS |= {"run": Run, "stop": Stopping}
NUMBERS = [float("nan"), 1j, True, -1, 0.5, np.array([1.0, 2.0]), [[1.0]]]
BAD = ["a", "", b"x", object(), [], ["a"], {}, {"a": "b"}, None, *NUMBERS]
del OWNERS["smooth graph-laplacian"]  # no graph without its edges
GRID = [(owner, f.name) for owner, cls in OWNERS.items() for f in dataclasses.fields(cls) if f.init]


@pytest.mark.parametrize(("owner", "name"), GRID, ids=lambda x: x)
def test_wrong_settings_get_a_sentence(owner, name):
    for bad in BAD:
        try:
            OWNERS[owner](**{name: bad})
        except (TypeError, ValueError) as error:
            assert name.removesuffix("s") in str(error), (bad, error)  # noqa: PT017
            assert " must " in str(error) or "checkpoint" in str(error), (bad, error)  # noqa: PT017


def test_numbers_whose_squares_are_none():
    for sigma in (1e-200, 1e200):
        with pytest.raises(ValueError, match=r"sigma must be from 1e-150 to 1e\+150, so that its square is a number,"):
            tfl.Normal(sigma=sigma)
    assert tfl.Normal(sigma=1e-120).grad(np.ones(1), np.zeros(1))[0] == pytest.approx(-1e240)
    for huge in (lambda: tfl.Normal(sigma=10**400), lambda: tfl.Ridge(10**400)):
        with pytest.raises(ValueError, match="must be a"):
            huge()


@pytest.mark.parametrize(
    ("name", "bad"),
    [("prior", []), ("rank", "a"), ("smooth", "a"), ("smooth", np.ones((1, 1))), ("ridge", {}), ("max_iter", 2.5)],
)
def test_the_imputer_says_what_is_wrong(name, bad):
    imputer = pytest.importorskip("tensorfill.sklearn").TensorImputer(**{name: bad})
    with pytest.raises(TypeError, match=f"{name} must be "):
        imputer.fit(np.ones((4, 3)))


T = np.outer(np.arange(1.0, 7.0), np.arange(1.0, 6.0))
T[1, 2] = np.nan


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"seconds": "a"}, r"seconds must be a number or None; got 'a'\."),
        ({"method": "spc-qv", "rho": 2**70}, r"rho of method 'spc-qv' must be >= 0, .* at most 1e\+12; got"),
        ({"method": "spc-tv", "rho": set()}, r"rho of method 'spc-tv' must be >= 0, .* got set"),
        ({"method": "stdc", "kappa": 1e308}, r"kappa of method 'stdc' must be at most 1e\+150; got 1e\+308\."),
        ({"method": "bayes", "rank": 2**70}, r"rank must be at most 10,000; got 1180591620717"),
        ({"solver": range(3)}, r"solver must be a Solver, text or None; got range\(0, 3\)\."),  # it has a .step
        ({"seconds": float("nan")}, r"seconds must be a number or None; got nan\."),
        ({"max_iter": 2.5}, r"max_iter must be a whole number or None; got 2\.5\."),
        ({"max_iter": True}, r"max_iter must be a whole number or None; got True\."),
        ({"callback": 3}, r"callback must be a function or None; got 3\."),
        ({"checkpoint": 3}, r"checkpoint must be text, a path or None; got 3\."),
        ({"resume": "yes"}, r"resume must be True or False; got 'yes'\."),
        ({"method": "halrtc", "alpha": 0.5}, r"alpha must be a list of numbers or None; got 0\.5\."),
        ({"method": "halrtc", "alpha": "auto"}, r"alpha must be a list of numbers or None; got 'auto'\."),
        ({"method": "t-ctv", "directions": 1}, r"directions must be a list of whole numbers; got 1\."),
        ({"method": "sptc", "rank": "many"}, r"rank must be a whole number; got 'many'\."),
        ({"method": "sptc", "prior": 3}, r"prior must be a NumericalPrior or text; got 3\."),
        ({"error_bars": "a"}, r"error_bars must be a number or None; got 'a'\."),
        ({"dims": 3}, r"dims must be 2 different names; got 3\."),
        ({"method": 3}, r"method must be one of auto"),
        ({"method": np.arange(3)}, r"method must be one of auto"),
        ({"effort": np.arange(3)}, r"effort must be one of quick"),
        ({"checkpoint": "a\0b"}, r"checkpoint must not be empty, nor hold a zero byte"),
        ({"seed": "a"}, r"seed must be a whole number >= 0; got 'a'\."),
    ],
    ids=str,
)
def test_complete_says_what_is_wrong(settings, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        tfl.complete(T, **settings)


def test_whole_numbers_that_numpy_has_no_type_for_are_numbers():
    assert np.isfinite(tfl.complete(T, method="lrtv-pds", delta=2**70, max_iter=3).completed).all()


def test_a_memory_beyond_all_measure_is_refused():
    with pytest.raises(ValueError, match="memory must be from 1 to 1000; got 1180591620717411303424"):
        tfl.SOLVERS["lbfgsb"](memory=2**70)


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda: tfl.SOLVERS["adam"](beta2=2**70),
            r"beta2 must be in \[0, 1\), the share of the past .* got 118",
        ),
        (lambda: tfl.PRIORS["lognormal"](sigma=100.0), "sigma must be at most 37, .* for LogNormal; got 100"),
        (
            lambda: tfl.METHODS["fbcp-mp"](mixing=1e308),
            r"mixing of method 'fbcp-mp' must be at most 1e\+06; got",
        ),
        (lambda: tfl.METHODS["bayes"](rank=2**70), "rank must be at most 10,000; got 118"),
        (lambda: tfl.METHODS["bayes"](draws=10**9), "draws must be at most 10,000,000; got 1000000000"),
    ],
)
def test_numbers_beyond_all_measure_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_small_integers_of_numpy_do_not_wrap_round():
    assert tfl.METHODS["bayes"](rank=np.int8(100)).rank * 100 == 10_000
    assert tfl.SOLVERS["lbfgsb"](memory=np.int8(3)).memory * 100 == 300
    assert np.isfinite(tfl.complete(T, method="lrtc-tnn", theta=1e308, max_iter=2).completed).all()


def test_right_settings_are_taken_in_any_form(tmp_path):
    for settings in (
        {"seconds": 5, "max_iter": np.int64(2)},
        {"seconds": np.float32(5), "max_iter": 2, "checkpoint": Path(tmp_path / "c.npz")},
        {"max_iter": 2, "alpha": [0.5, 0.5]},
        {"max_iter": 2, "alpha": np.array([0.5, 0.5]), "rho": Fraction(1, 100)},
        {"max_iter": 2, "alpha": (1, 1), "seconds": None},
    ):
        assert np.isfinite(tfl.complete(T, method="halrtc", **settings).completed).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"starts": "a"}, "starts must be a whole number; got 'a'"),
        ({"held_out": "a"}, "held_out must be a number; got 'a'"),
        ({"stopping": 3}, "stopping must be a Stopping or None; got 3"),
        ({"solver": 3}, "solver must be a Solver or one of lbfgsb"),
        ({"init": 5}, "init must be"),
        ({"seed": "a"}, "seed must be a whole number"),
    ],
)
def test_solve_says_what_is_wrong(change, sentence):
    with pytest.raises((TypeError, ValueError), match=sentence):
        tfl.solve(tfl.Problem(tfl.observe(T), rank=1), **change)


def test_numbers_too_large_and_shapes_that_are_none():
    with pytest.raises(ValueError, match="rank must leave factors of fewer than"):
        tfl.Problem(tfl.observe(T), rank=2**70)
    with pytest.raises(TypeError, match="shape must be a list of whole numbers"):
        tfl.Observations.from_coo([[0, 1], [1, 0]], [1.0, 2.0], 3)
    with pytest.raises(ValueError, match="rho of method 'spc-tv' must be >= 0"):
        tfl.complete(T, method="spc-tv", rho=-(2**70))


def test_names_of_files_and_rows_of_one_length(tmp_path):
    done = tfl.complete(T, method="halrtc", max_iter=1)
    for odd in (3.5, None, {}, np.int8(3), b"x", "a\0b", ""):
        for use in (done.save, tfl.Completion.load):
            with pytest.raises((TypeError, ValueError), match="the name of a file must"):
                use(odd)
    with pytest.raises(ValueError, match="with rows of one length"):
        tfl.complete([[1.0, 2.0], [3.0]])


@pytest.mark.parametrize("rank", ["lbfgsb", [3, 3]])
def test_a_rank_that_is_none_is_refused_with_a_sentence_also_for_counts(rank):
    T = np.random.default_rng(0).poisson(5.0, (8, 7)).astype(float)
    T[0, 0] = np.nan
    with pytest.raises(ValueError, match="rank must be a whole number >= 1; got"):
        tfl.complete(T, method="low-rank", rank=rank, max_iter=3)
