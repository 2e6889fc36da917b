"""What can be checked of the conventions: direction of imports, size, silence, exports, import time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tensorfill

SRC = Path(tensorfill.__file__).parent
FILES = sorted(SRC.rglob("*.py"))

# Every part of the package, from the top of the flow to its end, and what it may import: parts named before it.
PARTS: dict[str, set[str]] = {
    "_command": set(),  # Ctrl-C before there is anything else
    "registry": set(),
    "numerical": {"registry"},
    "data": {"registry", "numerical"},
    "kernels": {"registry"},
    "interelement": {"registry", "kernels"},  # how loops are compiled
    "models": {"registry", "data", "numerical", "kernels"},
    "problem": {"data", "numerical", "interelement", "models", "kernels"},
    "partitioned": {"data", "numerical", "models", "kernels", "problem"},
    "result": {"data", "numerical", "models", "problem"},
    "solvers": {"registry", "data", "numerical", "interelement", "models", "kernels", "problem", "result"}
    | {"partitioned"},
}
PARTS["methods"] = set(PARTS) - {"methods"}
PARTS["choose"] = set(PARTS)
PARTS["show"] = {"data", "numerical", "models", "problem", "result", "choose"}  # they only read a Completion
PARTS["api"] = {"registry", "data", "numerical", "result", "solvers", "methods", "choose"}
PARTS["__init__"] = set(PARTS) - {"show"}
CORE = set(PARTS)
EDGE = {
    "terminal": {"_command", "data"},
    "bench": CORE | {"terminal"},
    "app": CORE | {"terminal"},
    "cli": CORE | {"bench", "terminal", "app"},
    "sklearn": CORE - {"show"},
    "accessor": CORE - {"show"},
    "__main__": {"cli"},
}
# the one exception: a Completion loads `show` when it is asked to draw or describe itself
LAZY = {("result", "show")}
TYPING_ONLY = {("models", "problem"), ("data", "numerical")}  # names in annotations, never imported at run time


def imports(path):
    """(part of tensorfill imported, line, is it inside a function, is it for annotations) of every import in a file."""
    tree = ast.parse(path.read_text())
    package = ("tensorfill", *path.relative_to(SRC).parts[:-1])
    inside = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    typing = {
        id(n) for i in ast.walk(tree) if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.unparse(i.test)
        for n in ast.walk(i)
    }  # fmt: skip
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.ImportFrom):
            base = (".".join(package[: len(package) - node.level + 1]) + ".") if node.level else ""
            module = (base + (node.module or "")).rstrip(".")
            names = [f"{module}.{a.name}" for a in node.names] if module == "tensorfill" else [module]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name == "tensorfill":
                yield "__init__", node.lineno, id(node) in inside, id(node) in typing
            elif name.startswith("tensorfill."):
                other = name.split(".")[1]
                known = (SRC / other).is_dir() or (SRC / f"{other}.py").is_file()
                yield (other if known else "__init__"), node.lineno, id(node) in inside, id(node) in typing


def part(path):
    return path.relative_to(SRC).parts[0].removesuffix(".py")


def test_every_part_is_listed():
    assert {part(path) for path in FILES} <= set(PARTS) | set(EDGE)


def test_a_part_may_import_only_parts_listed_before_it():
    order = list(PARTS)
    for n, (name, may) in enumerate(PARTS.items()):
        assert may <= set(order[:n]), name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_go_one_way(path):
    own = part(path)
    allowed = {**PARTS, **EDGE}[own] | {own}
    for other, line, lazy, typing in imports(path):
        if (
            other in allowed
            or (own, other) in (LAZY if lazy or typing else ())
            or (typing and (own, other) in TYPING_ONLY)
        ):
            continue
        raise AssertionError(f"{path.name}:{line}: {own} must not import {other}")


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
    if part(path) not in EDGE:
        assert "print" not in calls
    legacy = {c for c in calls if c.startswith("np.random.")}
    own = ["np.random.default_rng", "np.random.SeedSequence"]
    own += ["np.random.RandomState"] if path.stem == "tables_tasks" else []  # masks were published with it; not global
    assert not {c for c in legacy if not c.startswith(tuple(own))}
    assert not calls & {"pickle.load", "eval", "exec", "locals", "globals"}


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
    assert len(tensorfill.INTERELEMENT) >= 8
    assert len(tensorfill.SOLVERS) == 8
