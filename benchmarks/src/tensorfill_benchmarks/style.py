"""The look of what benches write: tables in Markdown, and self-contained pages, light and dark as the system is."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

CSS = """\
:root { color-scheme: light dark; --ink: #1d2430; --soft: #667085; --line: #e3e7ee; --page: #ffffff; --band: #f6f8fb;
  --up: #1a9c5b; --down: #d64545; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ef; --soft: #98a2b3; --line: #2b3240; --page: #14181f; --band: #1b212b;
    --up: #3ecf8e; --down: #ff7b72; } }
body { margin: 2rem auto; padding: 0 1.25rem; max-width: 110rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; margin: 0 0 .25rem; }
h2 { font-size: 1.2rem; margin: 2.5rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p { margin: .25rem 0; color: var(--soft); max-width: 70rem; }
.wide { overflow-x: auto; margin: 1rem 0 1.25rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }
th, td { padding: .35rem .7rem; text-align: right; border-bottom: 1px solid var(--line); }
th { font-weight: 600; }
thead th { white-space: normal; border-bottom: 2px solid var(--line); color: var(--soft); }
thead th:first-child, tbody th[scope=row] { text-align: left; }
tbody th[scope=row] { font-weight: 500; }
th.rate { text-align: left; vertical-align: top; }
tr.first > * { border-top: 2px solid var(--line); }
tr.average > :not(.rate) { background: var(--band); }
tr.average > th[scope=row] { font-weight: 600; }
td small { display: block; font-size: .78rem; color: var(--soft); font-weight: 400; }
td small i { font-style: normal; font-weight: 600; }
td.up small i { color: var(--up); }
td.down small i { color: var(--down); }
td.up { background: color-mix(in srgb, var(--up) var(--s), var(--page)) !important; }
td.down { background: color-mix(in srgb, var(--down) var(--s), var(--page)) !important; }
td.none { color: var(--soft); }
u { text-underline-offset: .2em; }
sup { line-height: 0; }
a { color: inherit; }
ol { color: var(--soft); padding-left: 1.2rem; }
figure { margin: 1rem 0; }
figure img { max-width: 100%; height: auto; background: #ffffff; }
"""


def page(title: str, body: str) -> str:
    """A whole page around `body`, which is markup."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{CSS}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A plain table of text; the first column names its row."""
    heads = "".join(f"<th scope=col>{escape(cell)}</th>" for cell in head)
    body = "\n".join(
        f"<tr><th scope=row>{escape(row[0])}</th>{''.join(f'<td>{escape(cell)}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    return f'<div class="wide"><table>\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>'


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))
