"""Tables in docs/*.md that say what the code says: between `<!-- tensorfill list X -->` and `<!-- end -->`.

Run:  python docs/tables.py      (rewrites them; a test fails while they are out of date)
"""

from __future__ import annotations

import re
from pathlib import Path

from tensorfill.cli.lists import What, rows

DOCS = Path(__file__).resolve().parent
TABLE = re.compile(r"(<!-- tensorfill list (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def cell(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return re.sub(r"([|*_<\\])", r"\\\1", text)


def table(what: str) -> str:
    """What `tensorfill list what` shows, in Markdown."""
    head, body = rows(What(what))
    lines = [head, ["---"] * len(head)]
    lines += [(f"`{first}`", *map(cell, rest)) for first, *rest in body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def updated(text: str) -> str:
    """A page with its tables as they should be."""
    return TABLE.sub(lambda found: f"{found[1]}\n{table(found[2])}\n{found[3]}", text)


def main() -> None:
    """Bring every page up to date."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text()
        if updated(text) != text:
            page.write_text(updated(text))
            print(f"updated {page.name}")


if __name__ == "__main__":
    main()
