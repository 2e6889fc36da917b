"""What is released: a wheel and a source archive that install and run, and one version everywhere."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import tensorfill

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ASSETS = {"tensorfill/app/assets/app.html", "tensorfill/app/assets/app.js", "tensorfill/show/assets/report.css"}


def test_one_version_everywhere():
    assert PROJECT["version"] == tensorfill.__version__
    assert f"\nversion: {tensorfill.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.search(
        r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    )
    assert newest is not None
    assert newest[1] == tensorfill.__version__


def test_what_the_package_says_about_itself():
    pythons = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if "Python :: 3." in c}
    assert pythons == {"3.11", "3.12", "3.13", "3.14"}
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(PROJECT["urls"])
    tested = (ROOT / ".github/workflows/test.yml").read_text()
    assert all(f'"{python}"' in tested for python in pythons)
    assert all(system in tested for system in ("ubuntu", "macos", "windows"))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(wheel, source archive), built from a copy of the files under version control, with what is installed here."""
    if tuple(map(int, version("setuptools").split(".")[:2])) < (77, 0):
        pytest.skip("building needs setuptools 77 or newer, and this test fetches nothing")
    room = tmp_path_factory.mktemp("release")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a clone: which files belong to the project is not known")
    for name in filter(None, listed.stdout.decode().split("\0")):
        wanted = name.startswith("src/") or "/" not in name
        if wanted and (ROOT / name).is_file():
            (room / name).parent.mkdir(parents=True, exist_ok=True)
            (room / name).write_bytes((ROOT / name).read_bytes())
    code = "from setuptools import build_meta as b; print(b.build_sdist('dist')); print(b.build_wheel('dist'))"
    subprocess.run([sys.executable, "-c", code], cwd=room, check=True, capture_output=True)
    return next((room / "dist").glob("*.whl")), next((room / "dist").glob("*.tar.gz"))


def test_the_wheel_holds_all_and_nothing_else(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    assert names >= ASSETS | {"tensorfill/py.typed"}
    assert {name.split("/")[0].split("-")[0] for name in names} == {"tensorfill"}
    sources = {f"tensorfill/{p.relative_to(ROOT / 'src/tensorfill').as_posix()}" for p in (ROOT / "src").rglob("*.py")}
    assert sources <= names
    with tarfile.open(built[1]) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert inside >= {f"src/{name}" for name in ASSETS} | {"pyproject.toml", "README.md", "LICENSE"}


def test_the_wheel_installs_and_runs(built, tmp_path):
    """Into a folder of its own, with the libraries that are here: nothing is fetched."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile"]
    subprocess.run([*pip, "--target", str(tmp_path / "lib"), str(built[0])], check=True, capture_output=True)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path / 'lib')!r}); import tensorfill as t, numpy as np;"
        "assert 'lib' in t.__file__; T = np.outer(np.arange(1., 9), np.arange(1., 7)); T[2, 3] = np.nan;"
        "print(t.__version__, round(float(t.complete(T, method='halrtc').completed[2, 3])))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert done.stdout.split()[0] == tensorfill.__version__


def test_the_conda_recipe_is_of_this_version_and_asks_for_the_same_libraries():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / "packaging" / "conda" / "recipe.yaml").read_text())
    assert recipe["context"]["version"] == PROJECT["version"]
    asked = {line.replace(" ", "").replace("matplotlib-base", "matplotlib") for line in recipe["requirements"]["run"]}
    assert asked == {*PROJECT["dependencies"], f"python{PROJECT['requires-python']}"}
    (entry,) = recipe["build"]["python"]["entry_points"]
    name, _, target = entry.partition(" = ")
    assert PROJECT["scripts"] == {name: target}
    assert recipe["about"]["license"] == PROJECT["license"]


def test_the_docker_file_copies_what_there_is():
    text = (ROOT / "Dockerfile").read_text()
    copied = {word for line in re.findall(r"^COPY (.*) \S+$", text, re.MULTILINE) for word in line.split()}
    assert copied == {"pyproject.toml", "README.md", "LICENSE", "constraints.txt", "src"}
    assert all((ROOT / name).exists() for name in copied)
    let_in = set(re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE))
    assert let_in == copied
    (extras,) = re.findall(r"'\.\[(.*)\]'", text)
    assert set(extras.split(",")) <= set(PROJECT["optional-dependencies"])
