"""Tables in docs/*.md that say what the code says: between `<!-- tensorfill list X -->` and `<!-- end -->`.

`<!-- tensorfill help -->` is for every command with its options.

Run:  python docs/tables.py      (rewrites them; a test fails while they are out of date)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer.main

from tensorfill.cli.lists import What, rows
from tensorfill.cli.main import app

DOCS = Path(__file__).resolve().parent
TABLE = re.compile(r"(<!-- tensorfill (?:list (\w+)|help) -->\n).*?(<!-- end -->)", re.DOTALL)
ELSEWHERE = ("bench",)  # commands of other packages


def cell(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return re.sub(r"([|*_\\])", r"\\\1", text).replace("<", "&lt;")  # Python-Markdown leaves \< as it is


def table(what: str) -> str:
    """What `tensorfill list what` shows, in Markdown."""
    return markdown(*rows(What(what)))


def markdown(head: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """A table whose first column is code."""
    lines = [head, ["---"] * len(head)]
    lines += [(f"`{first}`", *map(cell, rest)) for first, *rest in body]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def commands() -> str:
    """Every command, what it does, and a table of its arguments and options, as `--help` shows them."""
    group: Any = typer.main.get_command(app)
    parts = []
    for name in [n for n in group.commands if n not in ELSEWHERE]:
        command = group.commands[name]
        context = command.context_class(command, info_name=name)
        body = [record for p in command.params if (record := p.get_help_record(context)) and record[1]]
        said = "\n\n".join(" ".join(p.split()) for p in (command.help or "").split("\n\n"))
        said = re.sub(r"(?<=Example: )(.+)|(?<!`)(--[\w-]+)(?!`)", lambda found: f"`{found[0]}`", said)
        table = markdown(("option", "meaning"), [(o.replace("|", " or "), " ".join(s.split())) for o, s in body])
        parts.append(f"## tensorfill {name}\n\n{said}\n\n{table}")
    return "\n".join(parts)


def updated(text: str) -> str:
    """A page with its tables as they should be."""
    return TABLE.sub(lambda found: f"{found[1]}\n{table(found[2]) if found[2] else commands()}\n{found[3]}", text)


def main() -> None:
    """Bring every page up to date."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text()
        if updated(text) != text:
            page.write_text(updated(text))
            print(f"updated {page.name}")


if __name__ == "__main__":
    main()
