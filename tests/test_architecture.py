"""What can be checked of the conventions: direction of imports, size, silence, exports, import time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tensorfill

SRC = Path(tensorfill.__file__).parent
FILES = sorted(SRC.rglob("*.py"))

# a package may import from those named here (and from itself); anything else is the wrong direction
LAYERS = {
    "registry": set(),
    "record": set(),
    "numerical": {"registry"},
    "interelement": {"registry"},
    "kernels": {"registry"},
    "data": {"registry", "numerical"},
    "models": {"problem", "data", "numerical"},  # for annotations alone
    "problem": {"data", "interelement", "kernels", "models", "numerical"},
    "solvers": {"registry", "record", "problem", "data", "models", "completion", "numerical"},
}
EDGES = {"cli", "_cli", "bench", "plots", "report", "card", "__main__", "sklearn", "accessor"}


def imports(path):
    """(top-level part of tensorfill imported, line) for every import in a file."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tensorfill."):
            yield node.module.split(".")[1], node.lineno
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.startswith("tensorfill."):
                    yield alias.name.split(".")[1], node.lineno


def part(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_go_one_way(path):
    own = part(path)
    for other, line in imports(path):
        if own in LAYERS:
            assert other in LAYERS[own] | {own}, f"line {line}: {own} must not import {other}"
        if own not in EDGES and own != "__init__":
            assert other not in EDGES - {"plots", "card"}, f"line {line}: the core must not import {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert text.count("\n") <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 80, node.name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_the_core_is_silent_and_has_no_global_randomness(path):
    tree = ast.parse(path.read_text())
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    if part(path) not in EDGES:
        assert "print" not in calls
    legacy = {c for c in calls if c.startswith("np.random.")}
    assert not {c for c in legacy if not c.startswith(("np.random.default_rng", "np.random.SeedSequence"))}
    assert "pickle.load" not in calls
    assert "eval" not in calls


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


def test_import_is_light():
    """Heavy and optional libraries are imported where they are used, not when tensorfill is."""
    heavy = (
        "numba",
        "matplotlib",
        "pandas",
        "xarray",
        "sklearn",
        "sympy",
        "typer",
        "rich",
        "scipy.optimize",
        "scipy.stats",
    )
    loaded = run(f"import sys, tensorfill; print([m for m in {heavy!r} if m in sys.modules])")
    assert loaded.strip() == "[]"


def test_every_public_name_exists_and_registries_are_full():
    for name in (
        "complete",
        "Observations",
        "Problem",
        "Completion",
        "Poisson",
        "QuadraticVariation",
        "OneStep",
        "solve",
    ):
        assert hasattr(tensorfill, name)
    assert len(tensorfill.PRIORS) >= 17
    assert len(tensorfill.INTERELEMENT) >= 7
    assert len(tensorfill.SOLVERS) == 5
