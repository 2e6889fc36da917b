"""`python -m attack [--minutes 15] [--cases N] [--seed 0] [KIND ...]`: the attack, and a table of what came of it."""

from __future__ import annotations

import argparse
import signal
import sys

from attack.arena import Tally, run_cases

# share of the time: most for what has most cases
KINDS = {
    "files": 0.27,
    "parts": 0.08,
    "settings": 0.04,
    "calls": 0.18,
    "kills": 0.2,
    "disks": 0.06,
    "memory": 0.06,
    "threads": 0.05,
    "places": 0.06,
    "structure": 0.1,
    "properties": 0.1,
    "app": 0.05,
    "formulas": 0.03,
}


def table(tallies: list[Tally]) -> str:
    """Markdown."""
    lines = ["| kind | cases | answers | sentences | bad | seconds |", "|---|---|---|---|---|---|"]
    for t in tallies:
        lines.append(f"| {t.kind} | {t.cases} | {t.answers} | {t.sentences} | {len(t.bad)} | {t.seconds:.0f} |")
    return "\n".join(lines)


def main() -> int:
    """The exit code: 0 if nothing went bad."""
    parser = argparse.ArgumentParser(prog="attack", description=__doc__)
    parser.add_argument("kinds", nargs="*", default=list(KINDS), metavar="KIND")
    parser.add_argument("--minutes", type=float, default=14.0)
    parser.add_argument("--cases", type=int, default=10**9, help="at most so many of each kind")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # what came of it so far is told
    whole = sum(KINDS[kind] for kind in given.kinds)
    tallies = []
    for kind in given.kinds:
        seconds = 60 * given.minutes * KINDS[kind] / whole
        tallies.append(run_cases(f"attack.{kind}", seconds, given.seed, most=given.cases))
        for line in tallies[-1].bad:
            print(f"{kind}: {line}", file=sys.stderr, flush=True)
        if tallies[-1].stopped:
            break
    print(table(tallies))
    return 1 if any(t.bad for t in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
