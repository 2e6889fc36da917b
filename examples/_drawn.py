"""Pictures in docs that a benchmark or a browser made: the command of each, and what it was made beside.

A benchmark takes minutes to hours, so `make gallery` leaves its picture alone. Once it was run and its picture and its
table were copied to docs, `python examples/make_gallery.py --drawn NAME` notes down that the two belong together, and
tests/test_gallery.py says when one of them has changed since.
"""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
DRAWN = DOCS / "gallery" / "drawn.json"
PAGE = ROOT / "src" / "tensorfill" / "app" / "assets"
# name of the picture: (the page of docs that shows it, the command that draws it)
COMMANDS = {
    "models": ("models", "tensorfill bench models"),
    "solvers": ("solvers", "tensorfill bench solvers"),
    "choose_seconds": ("choosing-a-method", "tensorfill bench choose"),
    "tables": ("tables", "tensorfill bench tables"),
    "app-paint": ("app", "make app-pictures"),
    "app-result": ("app", "make app-pictures"),
}
TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)


def shown(name: str) -> bytes:
    """What a picture shows: the table before it on its page; of the browser, what the page is made of."""
    if name.startswith("app-"):
        return b"".join((PAGE / f"app.{ending}").read_bytes() for ending in ("html", "css"))
    text = (DOCS / f"{COMMANDS[name][0]}.md").read_text()
    before = text[: text.index(f"({name}.png)")]
    return TABLE.findall(before)[-1].encode()


def state(name: str) -> dict[str, Any]:
    """Fingerprints of a picture and of what it shows, as they are now."""
    picture = (DOCS / f"{name}.png").read_bytes()
    return {key: hashlib.sha256(what).hexdigest()[:16] for key, what in (("picture", picture), ("shows", shown(name)))}


def read() -> dict[str, Any]:
    """What was noted down."""
    return json.loads(DRAWN.read_text()) if DRAWN.exists() else {}


def note(*names: str) -> None:
    """These pictures are of what they show."""
    DRAWN.write_text(json.dumps(dict(sorted((read() | {n: state(n) for n in names}).items())), indent=1) + "\n")
