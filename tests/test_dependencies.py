"""The versions that are tested, the lowest ones, and the list of licences are of what pyproject.toml declares."""

import importlib.util
import json
import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("packaging")
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("dependencies", ROOT / "docs" / "dependencies.py")
dependencies = importlib.util.module_from_spec(spec)
spec.loader.exec_module(dependencies)

LOCKED = dict(line.split("==") for line in dependencies.LOCKED.read_text().splitlines() if "==" in line)
ROWS = [re.split(r" *\| *", line)[1:-1] for line in dependencies.PAGE.read_text().splitlines() if "| " in line][1:]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]


def asked(*lists):
    needs = [Requirement(line) for lines in lists for line in lines]
    return [need for need in needs if canonicalize_name(need.name) not in dependencies.OWN]


def test_what_is_declared_is_locked_within_its_bounds():
    """After a new dependency: make lock."""
    installed = [lines for name, lines in EXTRAS.items() if name != "torch"]
    for need in asked(PROJECT["dependencies"], *installed):
        assert need.specifier.contains(LOCKED[canonicalize_name(need.name)], prereleases=True), need


def test_the_page_and_the_bill_list_what_is_locked():
    listed = {name: version for name, version, *_ in ROWS}
    assert {name: LOCKED[name] for name in listed} == listed
    parts = json.loads(dependencies.SBOM.read_text())["components"]
    assert {part["name"]: part["version"] for part in parts} == listed
    always = {name for name, *_, when in ROWS if when == "always"}
    assert {canonicalize_name(need.name) for need in asked(PROJECT["dependencies"])} <= always
    assert all(licence and licence != "see its files" for _, _, licence, _ in ROWS)


def test_extras_name_extras_that_exist():
    """`all` once asked for one that was gone; pip only warns."""
    for lines in EXTRAS.values():
        for need in map(Requirement, lines):
            assert need.name != "tensorfill" or need.extras <= set(EXTRAS), need


def test_lowest_versions_are_the_lower_bounds():
    lowest = dict(line.split("==") for line in dependencies.lowest())
    for need in asked(PROJECT["dependencies"]):
        assert f">={lowest[canonicalize_name(need.name)]}" in str(need.specifier)
