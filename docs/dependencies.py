"""Write down what tensorfill is installed with: the versions that were tested, and everybody's licence.

Without an argument: constraints.txt, docs/dependencies.md and docs/sbom.cdx.json, of the packages that are installed.
With --lowest: print the lowest versions that pyproject.toml declares, for pip install -c.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
OWN = ("tensorfill", "tensorfill-benchmarks")
LOCKED, PAGE, SBOM = ROOT / "constraints.txt", ROOT / "docs/dependencies.md", ROOT / "docs/sbom.cdx.json"
HEAD = """# Dependencies and their licences

Packages that an installation brings, with the versions that were tested (Python 3.11, Linux) and the licences they
name. *always*: with `pip install tensorfill`; *with extras*: with `tensorfill[all,app]`. The same as a software bill of
materials (CycloneDX): [sbom.cdx.json](sbom.cdx.json). Made by `make lock`, which also writes `constraints.txt`, what
`make test` installs. `make lowest` runs tests with the lowest versions that are declared.

| package | version | licence | installed |
|---|---|---|---|
"""
LONG = 60  # characters; a longer licence is its text


def project(folder: Path = ROOT) -> dict:
    """The [project] table."""
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]


def declared(*extras: str) -> list[Requirement]:
    """What the package itself asks for, and what these extras of it ask for."""
    table = project()
    optional = table["optional-dependencies"]
    out = [Requirement(line) for line in table["dependencies"]]
    for extra in extras:
        out += [Requirement(line) for line in optional[extra]]
    return out


def closure(asked: list[Requirement]) -> dict[str, Distribution]:
    """{name: distribution} of everything that these need and that is installed, without the project's own."""
    found: dict[str, Distribution] = {}
    seen, rest = set(), list(asked)
    while rest:
        one = rest.pop()
        name, extras = canonicalize_name(one.name), frozenset(one.extras)
        if (name, extras) in seen:
            continue
        seen.add((name, extras))
        if name in OWN:
            folder = ROOT if name == OWN[0] else ROOT / "benchmarks"
            lists = project(folder).get("optional-dependencies", {})
            lines = [*project(folder)["dependencies"], *(line for extra in extras for line in lists.get(extra, ()))]
        else:
            try:
                found[name] = distribution(name)
            except PackageNotFoundError:
                continue
            lines = found[name].requires or []
        rest += [need for need in map(Requirement, lines) if _applies(need, extras)]
    return dict(sorted(found.items()))


def _applies(need: Requirement, extras: frozenset[str]) -> bool:
    return need.marker is None or any(need.marker.evaluate({"extra": extra}) for extra in (*extras, ""))


def licence(package: Distribution) -> str:
    """Its licence as its metadata name it: the expression, the field, or the classifiers."""
    told = package.metadata
    named = [c.split(" :: ")[-1] for c in told.get_all("Classifier", []) if c.startswith("License :: ")]
    for text in (told.get("License-Expression"), told.get("License"), ", ".join(named)):
        if text and text != "OSI Approved" and len(text) <= LONG and "\n" not in text:
            return text.strip()
    return ", ".join(named) or "see its files"


def lowest() -> list[str]:
    """name==version for the lower bound of everything that users may install."""
    extras = [name for name in project()["optional-dependencies"] if name not in ("all", "test", "docs", "notebooks")]
    bounds = {}
    for need in declared(*extras):
        low = re.search(r">=\s*([\w.]+)", str(need.specifier))
        if low and canonicalize_name(need.name) not in OWN:
            bounds[canonicalize_name(need.name)] = low[1]
    return [f"{name}=={version}" for name, version in sorted(bounds.items())]


def main() -> None:
    """Write the files, or print the lowest versions."""
    if "--lowest" in sys.argv[1:]:
        print("\n".join(lowest()))
        return
    tested = closure([Requirement("tensorfill[test]"), Requirement("tensorfill-benchmarks")])
    users = closure([Requirement("tensorfill[all,app]")])
    core = closure(declared())
    note = "# The versions that `make test` was last run with; made by docs/dependencies.py\n"
    LOCKED.write_text(note + "".join(f"{name}=={package.version}\n" for name, package in tested.items()))
    rows = [
        f"| {name} | {p.version} | {licence(p)} | {'always' if name in core else 'with extras'} |"
        for name, p in users.items()
    ]
    PAGE.write_text(HEAD + "\n".join(rows) + "\n")
    parts = [
        {
            "type": "library",
            "name": name,
            "version": p.version,
            "purl": f"pkg:pypi/{name}@{p.version}",
            "licenses": [{"license": {"name": licence(p)}}],
        }
        for name, p in users.items()
    ]
    own = {"type": "library", "name": OWN[0], "version": project()["version"]}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": own},
        "components": parts,
    }
    SBOM.write_text(json.dumps({**bill, "components": parts}, indent=1) + "\n")


if __name__ == "__main__":
    main()
