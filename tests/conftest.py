"""Shared by all tests: small problems, and where the optional test pictures are."""

import os

# before NumPy: two test workers on two cores; BLAS threads on top of that only get in each other's way
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

SHARED = Path(__file__).resolve().parents[2] / "shared"


class Clock:
    """A clock that only a test moves: whatever else the machine does takes no time."""

    now = 1000.0

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    """What `time.monotonic` tells from here on."""
    clock = Clock()
    monkeypatch.setattr("time.monotonic", lambda: clock.now)
    return clock


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def low_rank(shape, rank, rng, low=0.2, high=1.0):
    """A random CP tensor with factors uniform in (low, high)."""
    from tensorfill.models.cp import CP

    return CP([rng.uniform(low, high, (n, rank)) for n in shape]).full()
