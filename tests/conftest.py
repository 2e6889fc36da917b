"""Shared by all tests: small problems, and where the optional test pictures are."""

import os

# before NumPy: two test workers on two cores; BLAS threads on top of that only get in each other's way
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest

from tensorfill.choose import contest
from tensorfill.choose.contest import BUDGET

mpl.use("Agg")
# what must hold with little time holds with more: contests in tests try few variants, and the suite stays short
BUDGET["normal"] = BUDGET["quick"] = 0.08
contest.FEW_FAMILIES = 1.0  # nor do those with a rank or a prior given get four times as much

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture
def rng():
    return np.random.default_rng(20)


def low_rank(shape, rank, rng, low=0.2, high=1.0):
    """A random CP tensor with factors uniform in (low, high)."""
    from tensorfill.models.cp import CP

    return CP([rng.uniform(low, high, (n, rank)) for n in shape]).full()
