"""Large pictures: windows meet without a seam, nobody sees how many threads there were, and a run can be stopped."""

import time

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.auto import sample
from tensorfill.data.facts import compute_facts
from tensorfill.methods.image import diffusion, large, windows
from tensorfill.methods.image.continuation import Continuation
from tensorfill.methods.image.diffusion import continued
from tensorfill.methods.image.non_local import Refinement
from tensorfill.methods.image.pyramid import coarse_to_fine
from tensorfill.methods.image.selfsimilarity import SelfSimilarity
from tensorfill.methods.image.windows import InWindows
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Row, Status


def scene(H=104, W=110):
    """Waves, an edge and a little texture in three colours, 8 bit."""
    y, x = np.mgrid[0:H, 0:W]
    wave = np.sin((x + 0.3 * y) / 9.0) + 0.5 * np.tanh((x - 0.7 * y - 20) / 2.0) + 0.15 * np.sin(x * y / 50.0)
    return np.rint(128 + 50 * wave[..., None] * np.array([1.0, 0.8, -0.6])).astype(np.uint8)


def scattered(shape, missing=0.7, seed=0):
    return np.random.default_rng(seed).random(shape) >= missing


@pytest.fixture
def small_is_large(monkeypatch):
    """Pictures of 100 x 100 count as large, and are cut into windows of 48; nothing is tried first."""
    monkeypatch.setattr(large, "LARGE", 10_000)
    monkeypatch.setattr(large, "SPARE", 1.0)
    monkeypatch.setattr(large, "SIDE", 40)
    monkeypatch.setattr(sample, "SIDE", 48)  # of the window that the contest is held on, which is no large one
    monkeypatch.setattr(large, "TILE", 64)
    monkeypatch.setattr(windows.InWindows.of.__func__, "__defaults__", (48, 2))


def run_all(procedure):
    state = procedure.init(np.random.default_rng(0))
    while procedure.done(state, None) is None:
        state = procedure.step(state, np.random.default_rng(0))
    return state.arrays["X"]


def test_a_rough_fill_keeps_what_is_known_and_reads_nothing_else():
    T, M = scene(45, 61).astype(float), scattered((45, 61, 3))
    X = coarse_to_fine(T, M)
    np.testing.assert_array_equal(X[M], T[M])
    np.testing.assert_array_equal(X, coarse_to_fine(np.where(M, T, 1e30), M))
    assert np.sqrt(np.mean((X - T)[~M] ** 2)) < 0.4 * T.std()
    moved = coarse_to_fine(np.moveaxis(T, 2, 0), np.moveaxis(M, 2, 0), (1, 2))
    np.testing.assert_array_equal(np.moveaxis(moved, 0, 2), X)
    np.testing.assert_allclose(coarse_to_fine(np.full((9, 12), 7.0), scattered((9, 12))), 7.0)
    nowhere = M & np.array([True, True, False])  # a channel without an entry
    np.testing.assert_allclose(coarse_to_fine(T, nowhere)[..., 2], T[nowhere].mean())


def test_windows_meet_without_a_seam():
    """Each pass gives the cores what a pass over the whole would, but for the covariance of colours, a local one."""
    T = scene(100, 90)[..., :1].astype(float)
    M = scattered(T.shape)
    d = SelfSimilarity(patch=5, stride=4, group=12, radius=8)
    whole = Refinement(T[M], M, coarse_to_fine(T, M), d, [8.0, 4.0])
    parts = InWindows.of(whole, 32)
    assert len(parts.windows) == 9
    groups = d.match(parts.init(None).arrays["X"])
    want = whole.passed(parts.init(None).arrays["X"], 0, groups, wanted=~M)
    state = parts.init(None)
    while state.numbers["k"] == 0:
        state = parts.step(state, None)
    np.testing.assert_allclose(state.arrays["X"], want, atol=2e-3)
    np.testing.assert_array_equal(state.arrays["X"][M], T[M])


def test_a_large_picture_is_as_good_and_its_seams_no_worse(small_is_large, monkeypatch):
    monkeypatch.setattr(large, "SPARE", 0.0)
    T = scene()
    M = scattered(T.shape)
    done = tfl.complete(T, mask=M, passes=2, rank=12)
    assert done.settings["tiles"] == 0
    assert done.settings["passes"] == 2
    X = np.asarray(done.estimate, dtype=float)
    np.testing.assert_array_equal(done.completed[M], T[M])
    off = np.where(M, 0.0, X - T) ** 2
    assert np.sqrt(off[~M].mean()) == pytest.approx(done.error, rel=0.5)
    seams = np.zeros(T.shape, dtype=bool)
    for w in windows.windows(T.shape, (0, 1), 48, 0):
        for m in (0, 1):
            edge = [slice(None)] * 3
            edge[m] = slice(max(0, w.core[m].start - 2), w.core[m].start + 2)
            seams[tuple(edge)] = w.core[m].start > 0 or seams[tuple(edge)]
    assert off[seams & ~M].mean() < 1.3 * off[~seams & ~M].mean()
    monkeypatch.setattr(large, "LARGE", 10**9)
    whole = np.asarray(tfl.complete(T, mask=M, passes=2, rank=12).estimate, dtype=float)
    assert off[~M].mean() < 1.2 * np.mean((whole - T)[~M] ** 2)


def test_the_error_told_is_that_of_the_whole_picture(small_is_large, monkeypatch):
    """And not of the windows that are tried first: here nothing but the middle of each quarter is smooth."""
    monkeypatch.setattr(large, "SPARE", 0.0)
    y, x = np.mgrid[0:160, 0:160]
    rough = np.maximum(np.abs(x % 80 - 40), np.abs(y % 80 - 40)) > 22
    T = np.rint(128 + 20 * np.sin((x + y) / 30.0) + rough * 60 * np.sin(x * y / 400.0)).astype(np.uint8)[..., None]
    M = scattered(T.shape)

    def roughly(obs, recipe, run, method):
        X = coarse_to_fine(obs.dense(0.0), obs.mask)
        return Completion(obs, method, Status.FINISHED, History((Row(0, 0.0, np.nan),)), Filled(X), {"passes": 1})

    monkeypatch.setattr(large, "complete_field", roughly)
    monkeypatch.setattr(large, "refine", lambda done, *given, **more: done)
    done = tfl.complete(T, mask=M, passes=1)
    off = np.asarray(done.estimate, dtype=float) - T
    assert np.sqrt(np.mean(off[~M] ** 2)) == pytest.approx(done.error, rel=0.15)


def test_windows_are_tried_where_there_is_something_to_gain():
    assert large._drawn([0.0, 1.0, 0.0, 3.0]) == [(1, 1), (3, 3)]
    assert large._drawn([0.0] * 8) == [(0, 1), (2, 1), (4, 1), (6, 1)]
    assert large._drawn([]) == []


def test_the_answer_does_not_depend_on_threads_and_placeholders(small_is_large, monkeypatch):
    T = scene()
    M = scattered(T.shape, 0.9)  # few are observed: tiles are fitted
    answers = []
    for threads, under in ((1, 0), (2, 255)):
        monkeypatch.setenv("NUMBA_NUM_THREADS", str(threads))
        done = tfl.complete(np.where(M, T, np.uint8(under)), mask=M, passes=1, rank=8)
        answers.append(done.estimate)
        assert done.settings["tiles"] == 4
    np.testing.assert_array_equal(*answers)


def test_a_large_run_stops_within_a_pass_and_resumes(small_is_large, monkeypatch, tmp_path):
    T = scene()
    M = scattered(T.shape)
    want = tfl.complete(T, mask=M, passes=2)

    def stop(state, history):
        return state.numbers.get("window", 0) == 2 and state.numbers["k"] == 1

    cut = tfl.complete(T, mask=M, passes=2, callback=stop, checkpoint=tmp_path / "run.npz")
    assert cut.status is Status.CALLBACK
    assert cut.settings["passes"] == 1
    assert np.isfinite(cut.estimate).all()
    done = tfl.complete(T, mask=M, passes=2, checkpoint=tmp_path / "run.npz", resume=True)
    np.testing.assert_array_equal(done.estimate, want.estimate)
    monkeypatch.setattr(large, "SPARE", 0.0)
    at_once = tfl.complete(T, mask=M, passes=2, callback=lambda state, history: True)  # while windows are tried
    assert at_once.status is Status.CALLBACK
    np.testing.assert_array_equal(at_once.completed[M], T[M])


def test_a_time_limit_counts_what_comes_before_the_passes(small_is_large, monkeypatch):
    T = scene()
    M = scattered(T.shape)
    monkeypatch.setattr(large, "_tried", lambda *given: time.sleep(0.3) or (np.nan, None))
    left = []

    def passes(done, recipe, run, **given):
        left.append(run.seconds)
        return done

    monkeypatch.setattr(large, "refine", passes)
    tfl.complete(T, mask=M, passes=2, seconds=60.0)
    assert 0 < left[0] <= 59.7
    tfl.complete(T, mask=M, passes=2)
    assert left[1] is None


def test_scratches_in_a_large_picture(small_is_large, monkeypatch):
    T = scene()
    y, x = np.mgrid[0 : T.shape[0], 0 : T.shape[1]]
    known = (np.abs(x - y - 10) > 1) & (np.abs(x + y - 160) > 2)
    at_once = continued(T, known)
    monkeypatch.setattr(diffusion, "LARGEST", 1000)
    monkeypatch.setattr(diffusion, "CELL", 40)
    assert np.sqrt(np.mean((continued(T, known) - at_once)[~known] ** 2)) < 0.3
    done = tfl.complete(T, mask=known, passes=2)
    assert done.settings["candidate"].startswith("continuation")
    assert (
        Continuation().whole(done.facts).passes < Continuation().whole(compute_facts(tfl.observe(T[:64, :64]))).passes
    )
    np.testing.assert_array_equal(continued(T, known, "stiff", threads=2), continued(T, known, "stiff"))
    off = np.asarray(done.estimate, dtype=float) - T
    assert np.sqrt(np.mean(off[~known] ** 2)) < 6
    assert np.isfinite(done.error)
    np.testing.assert_array_equal(done.completed[known], T[known])


def test_a_large_picture_needs_less_memory_than_a_table():
    picture = np.random.default_rng(0).integers(0, 255, (1024, 512), dtype=np.uint8)
    memory = tfl.METHODS["auto"]().memory
    assert memory(tfl.observe(picture)) < 0.5 * memory(tfl.observe(picture.astype(float)))
