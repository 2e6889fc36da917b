"""For the API page: docstrings here say `name : what it is` on one line, types being in the signature already.

The site's reader of NumPy docstrings takes what follows the colon for a type, and gives names that share a line the
type of the first; this gives each name an entry of its own, with its text below.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

ENTRY = re.compile(r"^(\*{0,2}\w[\w*]*(?:, \*{0,2}\w+)*) : (.+)$")
HEADING = re.compile(r"^((?:Other )?Parameters|Attributes|Returns)\n-+$", re.MULTILINE)


class OneLineEntries(Extension):
    """Rewrite the docstring of every object before it is read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None and HEADING.search(obj.docstring.value):
            obj.docstring.value = one_by_one(obj.docstring.value)


def one_by_one(text: str) -> str:
    """The docstring with an entry for every name."""
    out, entry = [], []  # the lines so far, and those of the entry that is being read, without its names
    names = [""]
    for line in [*text.split("\n"), ""]:
        if entry and line.startswith("    "):
            entry.append(line)
            continue
        out += [part for name in names if entry for part in (name, *entry)]
        found = ENTRY.match(line)
        names, entry = (found[1].split(", "), [f"    {found[2]}"]) if found else ([""], [])
        out += [] if found else [line]
    return "\n".join(out[:-1])
