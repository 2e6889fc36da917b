"""Compiled loops where nothing can be kept on disk."""

import gc
import subprocess
import sys

import numba
import numpy as np

from tensorfill.kernels.compiled import compiled, watch_compilation

MODULES = (
    "tensorfill.kernels._numba",
    "tensorfill.interelement._tv_kernels",
    "tensorfill.methods.image._selfsimilarity_kernels",
    "tensorfill.methods.classical._spc_kernels",
)

# Numba asks these in turn for a directory it can write to. None has one in a read-only installation with a home that
# cannot be written to; tests may run as root, who can write anywhere.
NOWHERE = """
import os, sys
os.environ.pop("NUMBA_CACHE_DIR", None)
os.environ["HOME"] = "/nonexistent"
from numba.core import caching
for name in ("CompileResultCacheImpl", "CodeLibraryCacheImpl"):
    for locator in getattr(caching, name)._locator_classes:
        locator.from_function = classmethod(lambda cls, *given: None)
"""


def run(code):
    return subprocess.run([sys.executable, "-c", NOWHERE + code], capture_output=True, text=True, check=False)


def test_numba_refuses_where_there_is_no_place():
    """Otherwise the tests below show nothing."""
    done = run("import numba\nnumba.njit(cache=True)(lambda x: x)")
    assert "cannot cache function" in done.stderr


def test_kernels_load_without_a_place_to_keep_them():
    done = run("\n".join(f"import {module}" for module in MODULES))
    assert done.returncode == 0, done.stderr


def test_a_kernel_runs_without_a_place_to_keep_it():
    code = """
import numpy as np
from tensorfill.interelement.nonsmooth import TotalVariation
print(TotalVariation(1.0).prox(np.array([[0.0], [6.0]]), 2.0).ravel().tolist())
"""
    done = run(code)
    assert done.stdout.strip() == "[2.0, 4.0]", done.stderr


def test_options_reach_the_compiler():
    @compiled(error_model="numpy")
    def divide(a, b):
        return a / b

    with np.errstate(divide="ignore"):
        assert divide(1.0, 0.0) == np.inf


def test_compilation_is_told_and_garbage_is_collected_again():
    news, collecting = [], []

    @numba.njit  # not kept on disk: it is compiled in every run
    def add(a, b):
        return a + b

    with watch_compilation(lambda: news.append(gc.isenabled())):
        assert add(1, 2) == 3
        collecting.append(gc.isenabled())
        before = len(news)
        assert add(2, 3) == 5
    assert before == len(news) >= 1
    assert not any(news)
    assert collecting == [True]
    add(1.0, 2.0)
    assert len(news) == before
