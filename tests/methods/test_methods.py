"""Every registered method: exact on what is observed, blind to what is masked, deterministic, honest."""

import time

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.methods import METHODS
from tensorfill.methods.arrays import ArrayMethod, Dense
from tensorfill.solvers.base import OutOfTime, State, check_time, deadline
from tensorfill.solvers.loop import Stopping
from tensorfill.solvers.loop import run as run_loop

ALL = list(METHODS)
FEW = 8  # iterations: these tests are about contracts, not accuracy
AT_ONCE = {"means", "knn", "gaussian", "trees", "interpolation", "smoother", "kalman", "seasonal"}  # no iterations
NOT_FOR_PICTURES = {"means", "knn", "gaussian", "trees"}  # channels are columns to them, and pixels rows in no order
NOISY = "rounded numbers have noise, which `exact` says and others bear"
UNROUNDED = [pytest.param(n, marks=pytest.mark.skip(NOISY)) if n == "exact" else n for n in ALL]


def picture(shape=(16, 14, 3), seed=0):
    """A smooth low-rank picture and a mask with half of its voxels."""
    rng = np.random.default_rng(seed)
    grids = np.meshgrid(*[np.linspace(0, 1, n) for n in shape], indexing="ij")
    T = 120 + 60 * np.sin(3 * grids[0] + grids[-1]) * np.cos(2 * grids[1]) + 30 * grids[0]
    return np.clip(np.rint(T), 0, 255).astype(np.uint8), rng.random(shape) < 0.5


def settings(name, ndim=3):
    """Small ranks for the small pictures of this file, and what cannot be seen in them."""
    known = METHODS[name].__dataclass_fields__
    own = {"seasonal": {"period": 5}, "components": {"rank": 2, "modes": (0, 1), "smooth": (0, 1)}}
    own["field"] = {"smooth": {0: 1.0, 1: 1.0}} if ndim > 3 else {}
    return {**({"rank": 8} if "rank" in known else {}), **own.get(name, {})}


@pytest.mark.parametrize("name", UNROUNDED)
def test_observed_entries_bit_for_bit_and_placeholders_do_not_matter(name):
    T, mask = picture()
    kw = {"method": name, "mask": mask, "max_iter": FEW, "seed": 1, **settings(name)}
    plain = tfl.complete(T.astype(float), **kw)
    assert np.array_equal(plain.completed[mask], T[mask])
    assert np.isfinite(plain.completed).all()
    for placeholder in (np.nan, 1e30):
        other = tfl.complete(np.where(mask, T.astype(float), placeholder), **kw)
        assert np.array_equal(other.estimate, plain.estimate)
    again = tfl.complete(T.astype(float), **kw)
    assert np.array_equal(again.estimate, plain.estimate)


@pytest.mark.parametrize("name", UNROUNDED)
def test_integers_in_integers_out(name):
    T, mask = picture()
    done = tfl.complete(T, mask=mask, method=name, max_iter=FEW, **settings(name))
    assert done.completed.dtype == np.uint8
    assert done.method == name
    assert done.status.sentence
    assert (len(done.history) >= 1) == (name not in AT_ONCE)


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("shape", [(20, 16), (12, 10, 8), (8, 7, 6, 3)])
def test_any_order_or_a_sentence(name, shape):
    T, mask = picture(shape)
    own = settings(name, len(shape))
    why = METHODS[name](**own).refuses(tfl.Observations.from_dense(T, mask))
    if why is not None or (name == "exact" and len(shape) > 2):  # a matrix of rank 8 is exact for any numbers
        with pytest.raises(ValueError, match=f"method '{name}' cannot complete this tensor"):
            tfl.complete(T, mask=mask, method=name, **own)
        return
    done = tfl.complete(T, mask=mask, method=name, max_iter=FEW, **own)
    assert done.completed.shape == shape
    assert np.isfinite(done.estimate).all()


@pytest.mark.parametrize("name", UNROUNDED)
def test_better_than_the_mean_on_an_easy_picture(name):
    T, mask = picture((24, 20, 3))
    done = tfl.complete(T, mask=mask, method=name, **{"max_iter": 200, **settings(name)})
    error = (done.estimate - T)[~mask]
    assert np.sqrt(np.mean(error**2)) < (0.75 if name in NOT_FOR_PICTURES else 0.5) * T[~mask].std()


@pytest.mark.parametrize("name", [n for n in UNROUNDED if n not in ("kalman", "knn")])  # slow on so many series
@pytest.mark.parametrize("share", [0.05, 0.01])
def test_nothing_returns_the_zero_filled_picture(name, share):
    """At 95 and 99 % missing, with as many observed voxels per row as a picture of 256 x 256 has."""
    T, _ = picture((96, 80, 3))
    mask = np.random.default_rng(3).random(T.shape) < share * 256 / 88
    done = tfl.complete(T, mask=mask, method=name, max_iter=60, **settings(name))
    error = np.sqrt(np.mean((done.estimate - T)[~mask] ** 2))
    assert error < 0.6 * np.sqrt(np.mean(T[~mask].astype(float) ** 2))


@pytest.mark.parametrize("name", ALL)
def test_methods_say_what_they_are(name):
    cls = METHODS[name]
    for fact in (cls.reference, cls.assumes, cls.use_when):
        assert 5 < len(fact) < 200
        assert "\n" not in fact


@pytest.mark.parametrize("name", [n for n in ALL if not n.startswith("auto") and n != "exact"])
def test_resumed_runs_end_with_the_same_bits(name, tmp_path):
    T, mask = picture()
    kw = {"method": name, "mask": mask, "max_iter": 6, **settings(name)}
    whole = tfl.complete(T, **kw)
    path = tmp_path / "run.npz"
    tfl.complete(T, checkpoint=path, callback=lambda s, h: len(h) > 3, **kw)
    again = tfl.complete(T, checkpoint=path, resume=True, **kw)
    assert np.array_equal(whole.estimate, again.estimate)


@pytest.mark.parametrize("name", [n for n, cls in tfl.METHODS.items() if issubclass(cls, ArrayMethod)])
def test_long_steps_end_with_the_time(name):
    """falrtc took 10.5 s where 6 were allowed: a step was never left."""
    method = tfl.METHODS[name]()
    rng = np.random.default_rng(0)
    data = Dense(rng.uniform(1, 2, (9, 8, 5)), rng.random((9, 8, 5)) < 0.6)
    state = method.start(data, rng)
    with deadline(time.monotonic() - 1.0), pytest.raises(OutOfTime):
        method.step(data, state, rng)


def test_a_step_that_is_left_changes_nothing(clock):
    class Slow:
        def init(self, rng):
            return State({"x": rng.random(2)}, {"k": 0}, 1.0)

        def step(self, state, rng):
            x = rng.random(2)
            for _ in range(500 if state.numbers["k"] == 2 else 1):
                clock.sleep(0.02)
                check_time()
            return State({"x": x}, {"k": state.numbers["k"] + 1}, 1.0)

        def score(self, state):
            return np.nan

        def done(self, state, previous):
            return None

    began = clock.now
    rng = np.random.default_rng(0)
    outcome = run_loop(Slow(), stopping=Stopping(tol=0.0, seconds=0.3), rng=rng)
    assert clock.now - began < 0.9  # ten seconds, if it were not left
    assert outcome.status is tfl.Status.TIME
    assert outcome.state.numbers["k"] == 2
    again = np.random.default_rng(0)
    again.random(6)
    assert rng.bit_generator.state == again.bit_generator.state
