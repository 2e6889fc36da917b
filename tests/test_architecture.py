"""What can be checked of the conventions: direction of imports, size, silence, exports, import time."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tensorfill
import tensorfill_benchmarks

SRC = Path(tensorfill.__file__).parent
BENCHMARKS = Path(tensorfill_benchmarks.__file__).parent
FILES = sorted(SRC.rglob("*.py")) + sorted(BENCHMARKS.rglob("*.py"))

# Every part of the package, from the top of the flow to its end, and what it may import: parts named before it.
PARTS: dict[str, set[str]] = {
    "_command": set(),  # Ctrl-C before there is anything else
    "typing": set(),  # names in annotations, for all
    "registry": set(),
    "numerical": {"registry"},
    "data": {"registry", "numerical"},
    "io.base": set(),
    "io.formats": {"registry", "data", "io.base"},
    "io": {"registry", "data", "io.base", "io.formats"},
    "blocks": {"registry", "data", "io", "io.base", "io.formats"},
    "kernels": {"registry"},
    "interelement": {"registry", "kernels"},  # how loops are compiled
    "models": {"registry", "data", "numerical", "kernels"},
    "problem": {"data", "numerical", "interelement", "models", "kernels"},
    "partitioned": {"data", "blocks", "numerical", "models", "kernels", "problem"},
    "result": {"data", "io", "io.base", "io.formats", "blocks", "numerical", "models", "problem"},
}
FIT = {"data", "numerical", "interelement", "models", "problem", "result"}  # what a fit is made of
PARTS["solvers"] = FIT | {"registry", "io", "blocks", "kernels", "partitioned"}
PARTS["solvers.gibbs"] = {"data", "numerical", "models", "kernels", "result", "solvers"}
PARTS["methods.base"] = {"registry", "data", "io", "blocks", "result", "solvers"}  # what a method is
PARTS["transforms"] = {"data", "blocks", "result", "methods.base"}
PARTS["methods.shared"] = {"data", "numerical", "models", "result", "solvers", "transforms", "methods.base"}
METHOD = FIT | {"kernels", "solvers", "transforms", "methods.base", "methods.shared"}
PARTS["methods.classical"] = METHOD - {"interelement", "problem", "transforms"}
PARTS["methods.lowrank"] = METHOD - {"kernels"} | {"blocks", "partitioned"}
PARTS["methods.tabular"] = METHOD - {"kernels", "solvers"} | {"blocks"}
PARTS["methods.image"] = METHOD
PARTS["methods"] = METHOD | {"registry", "solvers.gibbs", "methods.classical"}
PARTS["auto"] = METHOD | {"registry", "io", "blocks", "partitioned", "methods"}
PARTS["auto"] |= {"methods.lowrank", "methods.tabular", "methods.image"}
PARTS["show"] = {"data", "io.base", "numerical", "models", "problem", "result"}  # they only read a Completion
PARTS["api"] = {"registry", "data", "io", "io.base", "blocks", "numerical", "result", "transforms", "auto"}
PARTS["api"] |= {"methods.base", "methods.shared"}
PARTS["__init__"] = set(PARTS) - {"show"}
CORE = set(PARTS)
EDGE = {
    "terminal": {"_command", "data", "io", "io.base", "io.formats"},
    "app": CORE | {"terminal"},
    "cli": CORE | {"terminal", "app"},
    "sklearn": CORE - {"show"},
    "accessor": CORE - {"show"},
    "__main__": {"cli"},
    "tensorfill_benchmarks": CORE | {"terminal"},  # a package of its own
}
# parts that are some files of a folder; all other parts are folders, or files by themselves
SOME = {
    "io.base": {"atomic", "optional"},
    "methods.base": {"base", "checks"},
    "methods.shared": {"arrays", "defaults", "when"},
}
# the one exception: a Completion loads `show` when it is asked to draw or describe itself
LAZY = {("result", "show")}
TYPING_ONLY = {("models", "problem"), ("data", "numerical")}  # names in annotations, never imported at run time


def module_name(path):
    """The dotted name of a file's module."""
    root = SRC.parent if SRC in path.parents else BENCHMARKS.parent
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}


def part(name):
    """The part that a module belongs to: some files, the innermost folder that is one, or itself."""
    package, _, rest = name.partition(".")
    if package == BENCHMARKS.name or not rest:
        return package if package == BENCHMARKS.name else "__init__"
    folder, _, last = rest.rpartition(".")
    for some, names in SOME.items():
        if folder == some.rpartition(".")[0] and last in names:
            return some
    while rest not in PARTS and rest not in EDGE and "." in rest:
        rest = rest.rpartition(".")[0]
    return rest


def imports(path):
    """(module imported, line, is it inside a function, is it for annotations) of every import of our own in a file."""
    tree = ast.parse(path.read_text())
    name = module_name(path)
    package = name.split(".") if path.stem == "__init__" else name.split(".")[:-1]
    functions = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    blocks = [i for i in ast.walk(tree) if isinstance(i, ast.If) and "TYPE_CHECKING" in ast.unparse(i.test)]
    typing = {id(n) for block in blocks for n in ast.walk(block)}
    for node in ast.walk(tree):
        found = []
        if isinstance(node, ast.Import):
            found = [a.name for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            full = [f"{module}.{a.name}" for a in node.names]
            found = [name if name in MODULES else module for name in full]
        for other in found:
            if other in MODULES and other != name:
                yield other, node.lineno, id(node) in functions, id(node) in typing


def test_few_numbers_decide_by_size():
    """Those that stand before the evidence of a contest are in one file."""
    tree = ast.parse((SRC / "auto" / "limits.py").read_text())
    assert len([node for node in tree.body if isinstance(node, ast.Assign)]) <= 10


def module_graph():
    """{module: the modules that it imports}, also inside functions, but not those for annotations alone."""
    return {name: {m for m, _, _, typing in imports(path) if not typing} for name, path in MODULES.items()}


def cycles(graph):
    """The sets of more than one module that all import one another, directly or by way of others."""
    reach = {name: set(others) for name, others in graph.items()}
    for middle in graph:  # Warshall
        for others in reach.values():
            if middle in others:
                others |= reach[middle]
    found = {frozenset(b for b in others if a in reach[b]) for a, others in reach.items() if a in others}
    return sorted((set(f) for f in found), key=sorted)


def inside(path):
    """The path of a file from the folder that holds its package."""
    return path.relative_to((SRC if SRC in path.parents else BENCHMARKS).parent)


def label(path):
    return str(inside(path).as_posix()).removeprefix("tensorfill/")


def test_every_part_is_listed():
    assert {part(name) for name in MODULES} == set(PARTS) | set(EDGE)


def test_a_part_may_import_only_parts_listed_before_it():
    order = list(PARTS)
    for n, (name, may) in enumerate(PARTS.items()):
        assert may <= set(order[:n]), name


@pytest.mark.parametrize("path", FILES, ids=label)
def test_imports_go_one_way(path):
    own = part(module_name(path))
    allowed = {**PARTS, **EDGE}[own] | {own, "typing"}
    for module, line, lazy, typing in imports(path):
        other = part(module)
        if (
            other in allowed
            or (own, other) in (LAZY if lazy or typing else ())
            or (typing and (own, other) in TYPING_ONLY)
        ):
            continue
        raise AssertionError(f"{path.name}:{line}: {own} must not import {other}")


def test_every_folder_is_a_part_of_its_own():
    folders = {".".join(path.parent.relative_to(SRC).parts) for path in FILES if SRC in path.parents}
    assert folders - {""} <= set(PARTS) | set(EDGE)


def test_no_part_may_import_everything_before_it():
    for n, name in enumerate(PARTS):
        assert len(PARTS[name]) < n or n < 2 or name == "numerical", name


def test_cycles_are_found():
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set(), "e": {"f"}, "f": {"e", "a"}}
    assert cycles(graph) == [{"a", "b", "c"}, {"e", "f"}]


def test_no_modules_import_one_another():
    assert cycles(module_graph()) == []


@pytest.mark.parametrize("path", FILES, ids=label)
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert text.count("\n") <= 350
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno - node.lineno < 60, node.name


@pytest.mark.parametrize("path", FILES, ids=label)
def test_the_core_is_silent_and_has_no_global_randomness(path):
    tree = ast.parse(path.read_text())
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    if part(module_name(path)) not in EDGE:
        assert "print" not in calls
    legacy = {c for c in calls if c.startswith("np.random.")}
    own = ["np.random.default_rng", "np.random.SeedSequence"]
    own += ["np.random.RandomState"] if path.stem == "tables_tasks" else []  # masks were published with it; not global
    assert not {c for c in legacy if not c.startswith(tuple(own))}
    own_pipe = {"pickle.load"} if path.stem == "isolated" else set()  # of a process that this one started
    assert not calls & {"pickle.load", "eval", "exec", "locals", "globals"} - own_pipe


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
    assert len(tensorfill.SOLVERS) == 6
