"""Draw docs/architecture.svg: the folders of the package and who imports whom, read from the source.

Run:  python docs/architecture.py      (a test fails while the drawing has other arrows than the source has imports)

An arrow that follows from others (a -> b -> c) is left out. Dashed: imported inside functions only.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parent
SOURCE = DOCS.parent / "src" / "tensorfill"
DRAWING = DOCS / "architecture.svg"
BASE = ("methods/base", {"base", "checks"})  # what a method is; transforms wrap it, and other methods build on both
LEFT_OUT = {"__init__", "__main__", "_command"}  # gather the others, or come before them
LAZY = {("result", "show")}  # a Completion that draws itself
WIDTH, HEIGHT, BOX, TALL = 600, 60, 112, 32

Edge = tuple[str, str]


def part(parts: tuple[str, ...]) -> str:
    """The box that a module is in, by the parts of its name after `tensorfill`."""
    if parts[:1] == ("methods",) and len(parts) == 2 and parts[1] in BASE[1]:
        return BASE[0]
    return parts[0] if parts else "__init__"


def imports(path: Path) -> Iterator[tuple[str, bool]]:
    """(box, inside a function?) of everything of the package that a file imports, but not for annotations alone."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    blocks = [n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test)]
    typing = {id(n) for block in blocks for n in ast.walk(block)}
    late = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
    for node in ast.walk(tree):
        if id(node) in typing:
            continue
        names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{a.name}" for a in node.names] if node.module == "tensorfill" else [node.module]
        for name in names:
            if name.startswith("tensorfill."):
                yield part(tuple(name.split(".")[1:])), id(node) in late


def edges() -> dict[Edge, bool]:
    """{(who, whom): only inside functions?} between boxes."""
    found: dict[Edge, bool] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        here = path.relative_to(SOURCE).with_suffix("").parts
        who = part(tuple(p for p in here if p != "__init__"))
        for whom, late in imports(path):
            if who != whom and not {who, whom} & LEFT_OUT:
                found[who, whom] = found.get((who, whom), True) and late
    boxes = {p.stem for p in SOURCE.iterdir()} | {BASE[0]}
    return {edge: late for edge, late in found.items() if set(edge) <= boxes}


def reduced(found: dict[Edge, bool]) -> dict[Edge, bool]:
    """Without the arrows that follow from others."""
    below: dict[str, set[str]] = {}
    for who, whom in found:
        if (who, whom) not in LAZY:
            below.setdefault(who, set()).add(whom)

    def reach(box: str) -> set[str]:
        return {box}.union(*(reach(b) for b in below.get(box, ())))

    return {
        (who, whom): late
        for (who, whom), late in found.items()
        if (who, whom) in LAZY or not any(whom in reach(other) for other in below[who] - {whom})
    }


def rows(found: dict[Edge, bool]) -> list[list[str]]:
    """The boxes row by row, from those that import nothing; in a row, each near those that it imports."""
    below: dict[str, list[str]] = {box: [] for edge in sorted(found) for box in edge}
    for who, whom in sorted(found):
        if (who, whom) not in LAZY:
            below[who].append(whom)

    def height(box: str) -> int:
        return 1 + max(map(height, below[box]), default=-1)

    out: list[list[str]] = [[] for _ in range(1 + max(map(height, below)))]
    for box in below:
        out[height(box)].append(box)
    place: dict[str, float] = {}
    for row in out:
        row.sort(key=lambda box: (sum(place[b] for b in below[box]) / max(len(below[box]), 1), box))
        place |= {box: (k + 1) / (len(row) + 1) for k, box in enumerate(row)}
    return out


def svg(found: dict[Edge, bool]) -> str:
    """The drawing."""
    lines = rows(found)
    tall = HEIGHT * len(lines)
    at = {
        box: (WIDTH * (k + 1) / (len(row) + 1), tall - HEIGHT * (n + 0.5))
        for n, row in enumerate(lines)
        for k, box in enumerate(row)
    }
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {tall}" role="img" '
        'font-family="system-ui, sans-serif" font-size="14">',
        "<title>The folders of tensorfill; an arrow goes from who imports to what is imported</title>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0 8 4 0 8z" fill="#7a86c8"/></marker></defs>',
        f'<rect width="{WIDTH}" height="{tall}" rx="8" fill="#fff"/>',
    ]
    for (who, whom), late in sorted(found.items()):
        (x, y), (u, v) = at[who], at[whom]
        up = v < y  # the one arrow that goes back
        y, v = (y - TALL / 2, v + TALL / 2) if up else (y + TALL / 2, v - TALL / 2)
        middle = (y + v) / 2
        dash = ' stroke-dasharray="4 4"' if late else ""
        out.append(
            f'<path data-who="{who}" data-whom="{whom}" d="M{x:.0f} {y:.0f}C{x:.0f} {middle:.0f} {u:.0f} {middle:.0f} '
            f'{u:.0f} {v:.0f}" fill="none" stroke="#7a86c8"{dash} marker-end="url(#tip)"/>'
        )
    for box, (x, y) in at.items():
        out.append(
            f'<rect x="{x - BOX / 2:.0f}" y="{y - TALL / 2:.0f}" width="{BOX}" height="{TALL}" rx="6" fill="#eef0fb" '
            f'stroke="#3f51b5"/><text x="{x:.0f}" y="{y + 5:.0f}" text-anchor="middle" fill="#1a237e">{box}</text>'
        )
    return "\n".join([*out, "</svg>", ""])


def drawn(text: str) -> set[Edge]:
    """The arrows of a drawing."""
    return set(re.findall(r'data-who="([^"]+)" data-whom="([^"]+)"', text))


if __name__ == "__main__":
    DRAWING.write_text(svg(reduced(edges())), encoding="utf-8")
    print(f"wrote {DRAWING.name}")
