"""Fit, checkpoint, kill, resume, save, load, transform in any order: the same bits, and one file."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import tensorfill as tfl
from tensorfill.solvers import loop

pytest.importorskip("sklearn")
rng = np.random.default_rng(0)
T = np.outer(rng.uniform(1, 2, 9), rng.uniform(1, 2, 7)) + rng.normal(0, 0.05, (9, 7))
T[rng.random(T.shape) < 0.3] = np.nan
STEPS = 12
METHODS = {
    "halrtc": {},
    "sptc": {"prior": "normal", "rank": 2},
    "bayes": {"rank": 2, "draws": 8, "burn": 4},
    "fbcp": {},
}


class Killed(BaseException):
    """Ends a run as nothing inside it can catch: what is on disk is all that is left."""


class Life(RuleBasedStateMachine):
    """One run, however often it is killed and taken up again."""

    @initialize(method=st.sampled_from(sorted(METHODS)), seed=st.integers(0, 3))
    def begin(self, method, seed):
        self.folder = Path(tempfile.mkdtemp())
        self.given = {"method": method, "seed": seed, "max_iter": STEPS, **METHODS[method]}
        self.whole = tfl.complete(T, **self.given)
        self.done = None
        self.often = loop.run.__kwdefaults__["checkpoint_seconds"]
        loop.run.__kwdefaults__["checkpoint_seconds"] = 0.0

    def run_to_the_end(self, **more):
        self.done = tfl.complete(T, checkpoint=self.folder / "c.npz", **{**self.given, **more})

    @rule()
    def fit(self):
        self.run_to_the_end()

    @rule(after=st.integers(0, STEPS), resume=st.booleans())
    def kill(self, after, resume):
        def kills(state, history):
            if history.rows[-1].iteration >= after:
                raise Killed

        try:
            self.run_to_the_end(callback=kills, resume=resume)
        except Killed:
            self.done = None

    @rule(limit=st.integers(0, STEPS))
    def stop_early(self, limit):
        tfl.complete(T, checkpoint=self.folder / "c.npz", **{**self.given, "max_iter": limit})
        self.done = None

    @rule()
    def resume(self):
        self.run_to_the_end(resume=True)

    @precondition(lambda self: self.done is not None)
    @rule()
    def save_and_load(self):
        self.done.save(self.folder / "run.npz")
        self.done = tfl.Completion.load(self.folder / "run.npz")

    @rule()
    def transform(self):
        from tensorfill.sklearn import TensorImputer

        imputer = TensorImputer(rank=1, max_iter=3).fit(T)
        filled = imputer.transform(T)
        assert np.array_equal(filled[~np.isnan(T)], T[~np.isnan(T)])
        assert np.isfinite(filled).all()

    @invariant()
    def same_bits(self):
        if getattr(self, "done", None) is not None:
            assert np.array_equal(self.done.completed, self.whole.completed)

    @invariant()
    def one_file(self):
        if hasattr(self, "folder"):
            assert set(os.listdir(self.folder)) <= {"c.npz", "run.npz"}

    def teardown(self):
        if hasattr(self, "folder"):
            loop.run.__kwdefaults__["checkpoint_seconds"] = self.often
            shutil.rmtree(self.folder)


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=4, stateful_step_count=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
