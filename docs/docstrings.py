"""For the API page: docstrings here say `name : what it is` on one line, types being in the signature already.

The site's reader of NumPy docstrings takes what follows the colon for a type; this puts it on a line of its own.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

ENTRY = re.compile(r"^(\*{0,2}\w[\w*]*(?:, \*{0,2}\w+)*) : (.+)$")
HEADING = re.compile(r"^(Parameters|Attributes|Returns)\n-+$", re.MULTILINE)


class OneLineEntries(Extension):
    """Rewrite the docstring of every object before it is read."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None and HEADING.search(obj.docstring.value):
            lines = obj.docstring.value.split("\n")
            obj.docstring.value = "\n".join(ENTRY.sub(r"\1\n    \2", line) for line in lines)
