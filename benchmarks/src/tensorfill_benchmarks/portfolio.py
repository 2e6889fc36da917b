"""Makes the portfolio of `auto` (tensorfill/auto/portfolio.json) from trials on more than the tuned half of its sets.

    python -m tensorfill_benchmarks.portfolio OUT [IMAGES DATA]

OUT/trials.csv comes first, a row per trial: every method that suits a cell, whatever it costs, fitted to all that is
known and scored on what was hidden; finished cells are not run again. Then, for each structure of data, methods are put
in order greedily: next comes the one that lowers the error of the best so far the most, in the geometric mean over
cells, those of other structures counting a quarter: few structures have many sets. The odds are the mean weights that
methods have in the ensembles that fit the hidden entries best.
"""

from __future__ import annotations

import csv
import datetime
import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.auto.auto import Auto
from tensorfill.auto.contest import Contest, Trial
from tensorfill.auto.portfolio import structure
from tensorfill.auto.weights import Validation, fit_weights
from tensorfill.data.facts import compute_facts
from tensorfill.data.observations import Observations
from tensorfill.methods.base import Method, Run, Unsuited
from tensorfill_benchmarks import choose_sets as sets
from tensorfill_benchmarks.choose import incomplete, problem
from tensorfill_benchmarks.choose_data import NotHere, Places

COLUMNS = ("set", "gaps", "structure", "method", "label", "error", "seconds", "weight")
Row = dict[str, str]
ELSEWHERE = 0.25  # what a cell of another structure counts
NEEDLESS = -3.8  # odds below which a method that is nowhere the best is not worth its time
LEAST = 0.01  # added to mean weights, so that no method is ruled out for ever
FEW = 2  # cells in which a method ran, below which nothing is known of it
SECONDS = 1.0  # of a trial
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
# {structure: methods that it never needs}. In 28 cells of 14 tables of R and other packages, in neither half of `bench
# choose`, errors without these three had 0.993 +- 0.008 of those with them; they took an eighth of the time
NEEDLESS_ON = {"table": ("halrtc", "lrtc-tnn", "t-ctv")}
# Shares of the error of the means below which these had no equal, in a short trial and at full length. A short one had
# 0.26 and 0.33 on house and astronaut, where no other comes near, 0.39 on a brick wall, of which bayes has 12 % less
# error; at full length 0.17 and 0.21 on astronaut with 95 and 90 % missing, 0.27 on that wall
DECISIVE = {"field": (0.35, 0.25), "continuation": (0.35, 0.25)}


def record(out: Path, places: Places, draws: Sequence[int] = (0,)) -> list[Row]:
    """Run what OUT/trials.csv does not have; return all of it."""
    path = out / "trials.csv"
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    done = {(r["set"], r["gaps"]) for r in rows}
    for spec, gaps in sets.learned():
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
    """The best variant of every method, fitted to all that is known, and how it fills what was hidden."""
    data, hidden = problem(name, gaps, draw, places)
    T, mask = incomplete(data, hidden)
    obs = Observations.from_dense(T, mask)
    facts = compute_facts(obs)
    run = Run(seed=0, facts=facts)
    contest = Contest.on(obs, facts, Auto().resolve(obs), run)
    at = np.argwhere(hidden & data.known)
    truth, unit = (np.broadcast_to(a, data.shape)[tuple(at.T)].astype(float) for a in (data.values, data.spread()))
    best: dict[str, tuple[Trial, Any]] = {}
    for method in contest.given.competitors(contest.part_facts)[0]:
        trial = _best_variant(contest, method)
        if trial is not None:
            with suppress(Unsuited, np.linalg.LinAlgError):
                x = np.asarray(trial.method.fit(obs, run).answer.at(at), dtype=float)
                best[method.name] = trial, np.clip(x, data.low, data.high)
    P = np.stack([x for _, x in best.values()], axis=1)
    each = Validation(P, truth, 1 / unit**2, np.arange(len(at)), np.empty((len(at), 0)))
    weights = fit_weights(each).at(each.Z[:1])[0]
    return [
        {"set": name, "gaps": label, "structure": structure(facts), "method": method, "label": trial.method.label,
         "error": f"{np.sqrt(each.loss(x)):.6g}", "seconds": f"{trial.seconds:.3f}", "weight": f"{weight:.4f}"}
        for (method, (trial, x)), weight in zip(best.items(), weights, strict=True)
    ]  # fmt: skip


def _best_variant(contest: Contest, method: Method) -> Trial | None:
    """Of the first variants of a method, on all folds; None if it fails."""
    facts, trials = contest.part_facts, []
    search = method.variants(facts)
    variant = next(search, None)
    for _ in range(1 + max(1, method.initial_variants(facts))):
        if variant is None:
            break
        trial = contest.enter(Trial(method.name, variant, variant.shorter(facts, SECONDS)), len(contest.folds))
        if not trial.note:
            trials.append(trial)
            contest.trials.append(trial)  # by all of them entries are known that none can predict
        try:
            variant = search.send(np.inf if trial.note else contest.loss(trial))
        except StopIteration:
            break
    return min(trials, key=contest.loss, default=None)


def order(rows: Sequence[Row], kind: str | None = None) -> list[str]:
    """Methods for one structure of data, or for any, the most useful first; before all the means, which everything is
    compared with, and the one that ends a contest at once where data have no noise, as no recorded data are.
    """
    cells: dict[tuple[str, str], dict[str, float]] = {}
    counts: dict[tuple[str, str], float] = {}
    for row in rows:
        cell = row["set"], row["gaps"]
        cells.setdefault(cell, {})[row["method"]] = float(row["error"])
        counts[cell] = 1.0 if kind in (None, row["structure"]) else ELSEWHERE
    chosen, usual = ["means", "exact"], odds(rows)
    left = sorted({row["method"] for row in rows} - set(chosen))
    while left:
        regret = {n: round(_regret(cells, counts, [*chosen, n]), 3) for n in left}
        chosen.append(min(left, key=lambda n: (regret[n], -usual.get(n, -np.inf))))
        if regret[chosen[-1]] == 0 and usual.get(chosen[-1], -np.inf) < NEEDLESS:
            return chosen[:-1]
        left.remove(chosen[-1])
    return chosen


Cells = Mapping[tuple[str, str], Mapping[str, float]]


def _regret(cells: Cells, counts: Mapping[tuple[str, str], float], names: Sequence[str]) -> float:
    """Mean logarithm of the error of the best of these over the best of all."""
    logs = [
        np.log(max(min(errors.get(n, np.inf) for n in names), 1e-300) / max(min(errors.values()), 1e-300))
        for errors in cells.values()
    ]
    return float(np.average(np.minimum(logs, np.log(100.0)), weights=[counts[cell] for cell in cells]))


def odds(rows: Sequence[Row]) -> dict[str, float]:
    """Logarithms of the mean weights of methods in the best ensembles."""
    weights: dict[str, list[float]] = {}
    for row in rows:
        weights.setdefault(row["method"], []).append(float(row["weight"]))
    return {name: round(float(np.log(LEAST + np.mean(w))), 2) for name, w in weights.items() if len(w) >= FEW}


def make(rows: Sequence[Row]) -> dict[str, object]:
    """What is stored in portfolio.json."""
    kinds = sorted({r["structure"] for r in rows})
    orders = {k: [n for n in order(rows, k) if n not in NEEDLESS_ON.get(k, ())] for k in kinds}
    used = ", ".join(sorted({r["set"] for r in rows}))
    made = f"{datetime.date.today().isoformat()}, of {len(rows)} trials on {used}"
    return {"made": made, "decisive": DECISIVE, "odds": odds(rows), "order": {**orders, **KNOWN, "other": order(rows)}}


def main() -> None:
    """Record, and write OUT/portfolio.json."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    rows = record(out, Places(*(Path(p) for p in sys.argv[2:4])))
    (out / "portfolio.json").write_text(json.dumps(make(rows), indent=1) + "\n")


if __name__ == "__main__":
    main()
