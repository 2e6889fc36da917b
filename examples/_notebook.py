"""An example as a notebook: the same lines, in cells, with the figure shown instead of saved."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from pathlib import Path
from typing import Any


def notebook(script: Path) -> str:
    """The text of the notebook of an example: its docstring, its imports, its functions, then the body of `main`."""
    text = script.read_text()
    tree = ast.parse(text)
    title, _, body = (ast.get_docstring(tree) or "").partition("\n")
    functions = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    main = next(f for f in functions if f.name == "main")
    first = min(f.lineno for f in functions)
    lines = text.splitlines()
    opening = "\n".join(lines[tree.body[0].end_lineno : first - 1]).strip()
    opening = re.sub(r"^from _example import (.*)$", _without_files, opening, flags=re.MULTILINE)
    cells = [_markdown(f"# {title}\n\n{' '.join(body.split())}"), _code("%matplotlib inline\n" + opening)]
    cells += [_code("\n".join(lines[f.lineno - 1 : f.end_lineno])) for f in functions if f is not main]
    cells += [_code(cell) for cell in _body(main, lines)]
    for k, cell in enumerate(cells):
        cell["id"] = f"cell-{k}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    whole = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _without_files(found: re.Match[str]) -> str:
    """The import of what the examples share, without what names and writes files."""
    names = [n for n in found[1].split(", ") if n not in ("folder", "save")]
    return f"from _example import {', '.join(names)}" if names else ""


def _body(main: ast.FunctionDef, lines: list[str]) -> list[str]:
    """The lines of `main` as cells: parted at empty lines, but a figure that is begun is finished in its cell."""
    start, end = main.body[0].lineno - 1, main.end_lineno or main.lineno
    text = textwrap.dedent("\n".join(lines[start:end]))
    text = re.sub(r"^out = folder\(\)\n", "", text)
    text = re.sub(r"^save\((.*), out / \"\w+\.png\"\)$", _shown, text, flags=re.MULTILINE)
    parts = [part for part in text.split("\n\n") if part.strip()]
    for k, part in enumerate(parts):
        if "plt.subplots" in part:
            return [*parts[:k], "\n\n".join(parts[k:])]
    return parts


def _shown(found: re.Match[str]) -> str:
    """A figure of pyplot shows itself at the end of its cell; any other is named there."""
    return "" if found[1] == "figure" else found[1]


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "id": "", "metadata": {}, "source": text}


def _code(text: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "",
        "metadata": {},
        "outputs": [],
        "source": text.strip("\n"),
    }
