"""docs/paper.md says which equation is which line; every row is followed into the source, and every name back."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SRC = ROOT / "src" / "tensorfill"
PAGE = ROOT / "docs" / "paper.md"

# the paper's numbered equations, in the order of its text, with its labels
LABELS = {
    1: "low_rank", 2: "fixedrank", 3: "tstar", 4: "", 5: "", 6: "", 7: "", 8: "gcdtc", 9: "", 10: "", 11: "onestep",
    12: "ydef", 13: "", 14: "", 15: "", 16: "ycalc", 17: "acalc", 18: "scalc",
}  # fmt: skip
NAME = re.compile(r"Eq\. \d+(?: \(\w+\))?|Algorithm \d(?:, lines? \d+(?: to \d+)?)?|Section \d(?:\.\d)?")
PLACE = re.compile(r"`([\w/]+\.py)` · `([\w.]+)`")


def rows():
    """[(first cell, last cell)] of the table of equations."""
    text = PAGE.read_text()
    table = text[text.index("## From equation to code") : text.index("## The framework in one file")]
    lines = [re.split(r"(?<!\\)\|", line)[1:-1] for line in table.splitlines() if line.startswith("| ")]
    return [(cells[0].strip(), cells[-1].strip()) for cells in lines[1:]]


def source(file, symbol):
    """The text of a class, function or method, comments included."""
    text = (SRC / file).read_text()
    node = ast.parse(text)
    for part in symbol.split("."):
        found = [n for n in node.body if getattr(n, "name", None) == part]
        assert found, f"{file} has no {symbol}"
        node = found[0]
    return "\n".join(text.splitlines()[node.lineno - 1 : node.end_lineno])


@pytest.mark.parametrize(("names", "places"), rows(), ids=lambda text: text[:40])
def test_a_row_leads_to_its_formula(names, places):
    named, found = NAME.findall(names), PLACE.findall(places)
    assert named, "the first cell names an equation, an algorithm or a section"
    assert found, "the last cell says where: `file.py` · `name`"
    texts = [source(file, symbol) for file, symbol in found]
    for name in named:  # "Eq. 1" must not pass for "Eq. 14"
        assert any(re.search(rf"{re.escape(name)}(?!\d)", text) for text in texts), f"no code names {name}"
    for (file, symbol), text in zip(found, texts, strict=True):
        assert any(name in text for name in named), f"{file} · {symbol} names none of {named}"


def test_every_equation_has_a_row():
    numbers = [int(n) for names, _ in rows() for n in re.findall(r"Eq\. (\d+)", names)]
    assert sorted(set(numbers)) == list(LABELS)


@pytest.mark.parametrize("path", [PAGE, *sorted(SRC.rglob("*.py"))], ids=lambda p: str(p.relative_to(ROOT)))
def test_equations_are_named_in_one_way(path):
    text = path.read_text()
    known = {f"Eq. {n} ({label})" if label else f"Eq. {n}" for n, label in LABELS.items()}
    for found in re.finditer(r"Eqs?\b\.?[^|\n]{0,30}", text):
        name = re.match(r"Eq\. \d+(?: \(\w+\))?", found[0])
        assert name, f"an equation is named by number and label; got {found[0]!r}"
        assert name[0] in known, f"{name[0]!r} is none of {sorted(known)}"
    listed = {name for names, _ in rows() for name in NAME.findall(names)}
    named = set(re.findall(r"Eq\. \d+(?: \(\w+\))?", text))
    assert named <= listed, "code that names an equation is in the table"
