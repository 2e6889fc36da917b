"""Makes the portfolio of `auto` (tensorfill/auto/portfolio.json) from trials on the tuned half of `bench choose`.

    python -m tensorfill_benchmarks.portfolio OUT

OUT/trials.csv comes first, a row per trial: every method that suits a cell, with a long budget; finished cells are not
run again. Then, for each structure of data, methods are put in order greedily: next comes the one that lowers the error
of the best so far the most, in the geometric mean over cells; those that neither do that nor had weight in an ensemble
are left out. The order of a structure is completed by that over all.
"""

from __future__ import annotations

import csv
import datetime
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from tensorfill.api import complete
from tensorfill.auto.portfolio import structure
from tensorfill.data.facts import compute_facts
from tensorfill.data.observations import Observations
from tensorfill_benchmarks import choose_sets as sets
from tensorfill_benchmarks.choose import incomplete, problem
from tensorfill_benchmarks.choose_data import NotHere, Places

COLUMNS = ("set", "gaps", "structure", "method", "label", "error", "seconds", "weight")
Row = dict[str, str]
GAIN = 2e-3  # of the error: what lowers it by less is not worth a place
WEIGHT = 0.02  # mean weight in ensembles from which on a method has a place
# Of clean pictures nothing else comes near on those of `bench table1` and `bench holes`, save on textures, where none
# has much less error than the means; of one series there is nothing to learn but from its neighbours and its period;
# slices never seen lie between others
KNOWN = {
    "picture": ["means", "field", "bayes"],
    "picture with holes": ["means", "continuation", "bayes"],
    "picture with noise": ["means", "bayes", "field", "low-rank"],
    "field with missing slices": [
        *("means", "interpolation", "exact", "bayes", "components", "smoother", "field", "kalman", "low-rank")
    ],
    "video": ["means", "field", "bayes"],
    "one series": ["means", "seasonal", "smoother", "interpolation", "bayes"],
}
# Shares of the error of the means below which these had no equal, in a short trial and at full length. A short one had
# 0.26 and 0.33 on house and astronaut, where no other comes near, 0.39 on a brick wall, of which bayes has 12 % less
# error; at full length 0.17 and 0.21 on astronaut with 95 and 90 % missing, 0.27 on that wall
DECISIVE = {"field": (0.35, 0.25), "continuation": (0.35, 0.25)}


def record(out: Path, places: Places, draws: Sequence[int] = (0, 1)) -> list[Row]:
    """Run what OUT/trials.csv does not have; return all of it."""
    path = out / "trials.csv"
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    done = {(r["set"], r["gaps"]) for r in rows}
    for spec, gaps in sets.choose(None, sets.TUNED):
        for draw in draws:
            label = gaps if draw == 0 else f"{gaps}#{draw}"
            if (spec.name, label) in done:
                continue
            try:
                rows += _cell(spec.name, gaps, draw, label, places)
            except NotHere:
                continue
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                writer.writeheader()
                writer.writerows(rows)
            print(spec.name, label, file=sys.stderr, flush=True)
    return rows


def _cell(name: str, gaps: str, draw: int, label: str, places: Places) -> list[Row]:
    T, mask = incomplete(*problem(name, gaps, draw, places))
    kind = structure(compute_facts(Observations.from_dense(T, mask)))
    done = complete(T, mask=mask, effort="best")
    return [
        {"set": name, "gaps": label, "structure": kind, "method": row.method, "label": row.name,
         "error": f"{row.error:.6g}", "seconds": f"{row.seconds:.3f}", "weight": f"{row.weight:.4f}"}
        for row in done.tried if np.isfinite(row.error)
    ]  # fmt: skip


def order(rows: Sequence[Row]) -> list[str]:
    """Methods, the most useful first; before all the means, which everything is compared with, and the one that ends a
    contest at once where data have no noise, as no recorded data are.
    """
    cells: dict[tuple[str, str], dict[str, float]] = {}
    weights: dict[str, list[float]] = {}
    for row in rows:
        cell = cells.setdefault((row["set"], row["gaps"]), {})
        cell[row["method"]] = min(cell.get(row["method"], np.inf), float(row["error"]))
        weights.setdefault(row["method"], []).append(float(row["weight"]))
    chosen = ["means", "exact"]
    left = sorted(set(weights) - set(chosen))
    while left:
        now = _regret(cells, chosen)
        name = min(left, key=lambda n: (_regret(cells, [*chosen, n]), n))
        if now - _regret(cells, [*chosen, name]) < GAIN:
            break
        chosen.append(name)
        left.remove(name)
    mean = {name: sum(weights[name]) / len(cells) for name in left}
    return chosen + sorted((n for n in left if mean[n] >= WEIGHT), key=lambda n: -mean[n])


def _regret(cells: Mapping[tuple[str, str], Mapping[str, float]], names: Sequence[str]) -> float:
    """Mean logarithm of the error of the best of these over the best of all."""
    logs = [
        np.log(max(min(cell.get(n, np.inf) for n in names), 1e-300) / max(min(cell.values()), 1e-300))
        for cell in cells.values()
    ]
    return float(np.mean(np.minimum(logs, np.log(100.0))))


def make(rows: Sequence[Row]) -> dict[str, object]:
    """What is stored in portfolio.json."""
    everywhere = order(rows)
    kinds = sorted({r["structure"] for r in rows})
    orders = {}
    for kind in kinds:
        own = order([r for r in rows if r["structure"] == kind])
        orders[kind] = own + [n for n in everywhere if n not in own]
    used = ", ".join(sorted({r["set"] for r in rows}))
    made = f"{datetime.date.today().isoformat()}, of {len(rows)} trials on {used}"
    return {"made": made, "decisive": DECISIVE, "order": {**KNOWN, **orders, "other": everywhere}}


def main() -> None:
    """Record, and write OUT/portfolio.json."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rows = record(out, Places(*(Path(p) for p in sys.argv[2:4])))
    (out / "portfolio.json").write_text(json.dumps(make(rows), indent=1) + "\n")


if __name__ == "__main__":
    main()
