"""The page that table1.html is: self-contained, light and dark as the reader's system is."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Table 1: ours and the paper's</title>
<style>
:root {{ color-scheme: light dark; --ink: #1d2430; --soft: #667085; --line: #e3e7ee; --page: #ffffff; --band: #f6f8fb;
  --up: #1a9c5b; --down: #d64545; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --ink: #e6e9ef; --soft: #98a2b3; --line: #2b3240; --page: #14181f; --band: #1b212b;
    --up: #3ecf8e; --down: #ff7b72; }} }}
body {{ margin: 2rem auto; padding: 0 1.25rem; max-width: 110rem; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }}
h1 {{ font-size: 1.5rem; margin: 0 0 .25rem; }}
h2 {{ font-size: 1.05rem; margin: 2rem 0 .5rem; }}
p {{ margin: .25rem 0; color: var(--soft); max-width: 70rem; }}
.wide {{ overflow-x: auto; margin-top: 1.25rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; white-space: nowrap; }}
th, td {{ padding: .35rem .7rem; text-align: right; border-bottom: 1px solid var(--line); }}
th {{ font-weight: 600; }}
thead th {{ border-bottom: 2px solid var(--line); color: var(--soft); }}
tbody th[scope=row] {{ text-align: left; font-weight: 500; }}
th.rate {{ text-align: left; vertical-align: top; }}
tr.first > * {{ border-top: 2px solid var(--line); }}
tr.average > :not(.rate) {{ background: var(--band); }}
tr.average > th[scope=row] {{ font-weight: 600; }}
td small {{ display: block; font-size: .78rem; color: var(--soft); font-weight: 400; }}
td small i {{ font-style: normal; font-weight: 600; }}
td.up small i {{ color: var(--up); }}
td.down small i {{ color: var(--down); }}
td.up {{ background: color-mix(in srgb, var(--up) var(--s), var(--page)) !important; }}
td.down {{ background: color-mix(in srgb, var(--down) var(--s), var(--page)) !important; }}
td.none {{ color: var(--soft); }}
u {{ text-underline-offset: .2em; }}
sup {{ line-height: 0; }}
a {{ color: inherit; }}
ol {{ color: var(--soft); padding-left: 1.2rem; }}
</style>
</head>
<body>
<h1>Table 1: ours and the paper's</h1>
<p>{meaning}</p>
<p>{remarks}</p>
<div class="wide"><table>
<thead><tr><th></th><th></th>{heads}</tr></thead>
<tbody>
{body}
</tbody></table></div>
{notes}
<h2>Averages: SSIM, seconds</h2>
<div class="wide"><table>
<thead><tr><th></th>{heads}</tr></thead>
<tbody>
{aside}
</tbody></table></div>
</body>
</html>
"""
