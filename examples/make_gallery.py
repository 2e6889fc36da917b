"""Run every example and make docs/gallery.md and its pictures from what they print and draw.

Run:  python examples/make_gallery.py [name ...]      (all examples by default; a name leaves the others as they are)
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
ORDER = ("photo", "video", "cube", "metro", "yesno", "ratings", "sensors", "posterior", "own_prior", "imputer")
WIDTH, LARGEST = 900, 150_000  # pixels, bytes

HEAD = """# Gallery

Each picture is made by a script in `examples/` of which the source is below it: `python examples/photo.py` writes
`out/photo.png`. The line in bold is what the script prints; all errors are at entries that the program did not see.
This page is made by `python examples/make_gallery.py`.
"""


def run(name: str, out: Path) -> str:
    """Run one example; the line with its score."""
    command = [sys.executable, str(HERE / f"{name}.py"), str(out)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return next(line for line in told.splitlines() if line.endswith("less"))


def shrink(source: Path, target: Path) -> None:
    """Make a picture small enough to be kept beside the text: narrower, then fewer colours."""
    with Image.open(source) as opened:
        picture = opened.convert("RGB")
    if picture.width > WIDTH:
        size = (WIDTH, round(picture.height * WIDTH / picture.width))
        picture = picture.resize(size, Image.Resampling.LANCZOS)
    for colours in (None, 256, 128, 64):
        small = picture if colours is None else picture.quantize(colours, dither=Image.Dither.NONE)
        small.save(target, optimize=True)
        if target.stat().st_size <= LARGEST:
            return
    msg = f"{target} has {target.stat().st_size} bytes; at most {LARGEST}. Draw a smaller figure."
    raise SystemExit(msg)


def section(name: str, line: str) -> str:
    """The part of the page about one example."""
    title, _, text = (ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or "").partition("\n")
    body = " ".join(text.split())
    return (
        f"\n## {title.rstrip('.')}\n\n{body}\n\n![{name}](gallery/{name}.png)\n\n**{line}**\n\n"
        f'??? example "examples/{name}.py"\n\n    ``` {{ .python }}\n    --8<-- "examples/{name}.py"\n    ```\n'
    )


def lines_now() -> dict[str, str]:
    """The scores that stand on the page."""
    page = DOCS / "gallery.md"
    text = page.read_text() if page.exists() else ""
    return dict(re.findall(r"\(gallery/(\w+)\.png\)\n\n\*\*(.*?)\*\*", text))


def page(lines: dict[str, str]) -> str:
    """docs/gallery.md, given the score of each example."""
    return HEAD + "".join(section(name, lines[name]) for name in ORDER if name in lines)


def main() -> None:
    wanted = sys.argv[1:] or ORDER
    (DOCS / "gallery").mkdir(parents=True, exist_ok=True)
    lines = lines_now()
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            lines[name] = run(name, Path(folder))
            shrink(Path(folder) / f"{name}.png", DOCS / "gallery" / f"{name}.png")
            print(f"{name}: {lines[name]}")
    (DOCS / "gallery.md").write_text(page(lines))


if __name__ == "__main__":
    main()
