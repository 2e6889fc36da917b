"""A Completion in words and plain numbers: what the command line, the card and the report say about it."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorfill.data.casting import cast_like
from tensorfill.data.labels import as_datetimes, axis_labels
from tensorfill.data.sources import encoded_source
from tensorfill.data.units import spread_of
from tensorfill.models.base import MODELS
from tensorfill.result.answer import draws_of
from tensorfill.result.record import ColumnError
from tensorfill.result.transformed import Refolded
from tensorfill.show import view
from tensorfill.show.convergence import convergence
from tensorfill.show.leaderboard import answered_by, members, why

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion

Array = NDArray[Any]

ENOUGH = 200_000  # entries for a mean
FITS = ("low rank", "exact low rank", "field")  # candidates that are one low-rank model, beside those named like one


def misfit(done: Completion) -> tuple[float, float]:
    """(root mean square of estimate - value, standard deviation of the values), at the observed entries."""
    obs = done.observations
    pick = slice(None) if obs.nnz <= ENOUGH else np.linspace(0, obs.nnz - 1, ENOUGH).astype(np.intp)
    t = obs.values[pick].astype(np.float64)
    error = np.asarray(done.at(obs.indices[pick]), dtype=np.float64) - t
    error = error[~np.isnan(error)]  # identifiers have no estimate
    largest = float(np.abs(error).max(initial=0.0)) or 1.0
    return float(np.sqrt(np.mean((error / largest) ** 2)) * largest), spread_of(t)


def size_words(done: Completion) -> str:
    """`row 200 x column 160 x channel 3`."""
    shape, _, _ = entries(done)
    return " x ".join(f"{d} {n}" for d, n in zip(done.observations.dims, shape, strict=True))


def entries(done: Completion) -> tuple[tuple[int, ...], int, int]:
    """(shape, entries known, entries filled in): of a table with categories its cells, not the numbers that stand for
    them; land, gaps that stay open and those of identifiers and empty columns are not filled in.
    """
    obs = done.observations
    left = 0 if done.unfilled is None else int((done.unfilled & ~obs.mask).sum())
    left += sum(obs.shape[0] - int(obs.counts[1][n]) for n, c in enumerate(done.columns) if c.keeps_gaps)
    source = encoded_source(obs.source)
    if source is not None and len(source.frame) == obs.shape[0]:
        cells = source.frame.iloc[:, sorted({c.place for c in source.encoder.used})].notna().to_numpy()
        return cells.shape, int(cells.sum()), int((~cells).sum()) - left
    return obs.shape, obs.nnz, obs.size - obs.nnz - left


def known_words(done: Completion) -> str:
    """`1,408 of 1,600 entries (88.0%)`."""
    shape, known, _ = entries(done)
    size = math.prod(shape)
    return f"{known:,} of {size:,} entries ({known / size:.1%})"


def printed(done: Completion) -> str:
    """What `print(done)` shows."""
    rows = [row for row in lines_about(done, done.quality) if row[0] not in ("data", "known", "method")]
    return "\n".join(
        [
            f"{heading(done)} by {done.method}: {size_words(done)}, {known_words(done)} known",
            *(f"  {word:<9} {text}" for word, text in rows),
        ]
    )


def lines_about(done: Completion, good: str) -> list[tuple[str, str]]:
    """What to say about a run: (word, text), `good` being what is said of how good it is."""
    draws, ends = convergence(done), objective(done)
    if done.tried:  # how the fit of one among many went is of interest where its draws are the intervals
        draws, ends = None if draws is None or draws.ok or done.bars is not None else draws, None
    lines = [
        ("status", done.status.sentence),
        ("data", size_words(done)),
        ("known", f"{known_words(done)}; {entries(done)[2]:,} filled in"),
        ("method", done.method),
        ("model", model_words(done)),
        ("why", why(done)),
        ("run", run_words(done)),
        ("objective", f"{ends[0]:.6g} -> {ends[1]:.6g}" if ends else ""),
        ("draws", "" if draws is None else draws.words),
        ("", "" if draws is None else draws.doubt),
        ("how good", good),
        ("", gap_words(done) if done.by_gap else ""),
        *(("", column) for column in column_lines(done)),
    ]
    return [(word, text) for word, text in lines if text]


def heading(done: Completion) -> str:
    """`Completed table`, picture, video, series, cube or tensor."""
    obs, kind = done.observations, view.kind(done)
    if kind not in ("picture", "video"):
        labels = axis_labels(obs)
        dated = any(d in labels and as_datetimes(labels[d]) is not None for d in obs.dims)
        kind = {1: "series", 2: "series" if dated else "table", 3: "cube"}.get(obs.ndim, "tensor")
    return f"Completed {kind}"


def run_words(done: Completion) -> str:
    """`2.53 s`, of one fit also its iterations: those of a member say nothing about an ensemble."""
    steps = 0 if _blended(done) else done.iterations
    return f"{done.seconds:.2f} s" + (f", {steps} iterations" if steps else "")


def objective(done: Completion) -> tuple[float, float] | None:
    """(first, last) value of the objective, of one fit."""
    values = done.history["value"] if len(done.history) else np.array([])
    values = values[np.isfinite(values)]
    return (float(values[0]), float(values[-1])) if len(values) and not _blended(done) else None


def _blended(done: Completion) -> bool:
    return len(members(done)) > 1


def gap_words(done: Completion) -> str:
    """`error by place: next to a known entry 0.72, 2 or 3 steps from one 0.29`."""
    return "error by place: " + ", ".join(f"{kind} {error:.3g}" for kind, error in done.by_gap.items())


def column_lines(done: Completion, most: int = 12) -> list[str]:
    """How good each column is, the first `most` of them; the levels of a category together."""
    if done.error_units is None:
        return []
    source, spread = encoded_source(done.observations.source), dict(_spreads(done))
    table = (
        {} if source is None else {n: str(source.frame.columns[c.place]) for c in source.encoder.used for n in c.names}
    )
    columns: dict[str, list[ColumnError]] = {}
    for c in done.by_column:
        if c.entries:
            columns.setdefault(table.get(c.name, c.name), []).append(c)
    lines = [str(_together(name, parts, [spread.get(c.name, 1.0) for c in parts])) for name, parts in columns.items()]
    return [*lines[:most], *([f"and {len(lines) - most} more columns"] if len(lines) > most else [])]


def _spreads(done: Completion) -> Iterator[tuple[str, float]]:
    """(name, standard deviation) of every column."""
    if done.error_units is not None and len(done.columns) == len(done.error_units.scale):
        yield from zip((c.name for c in done.columns), done.error_units.scale.tolist(), strict=True)


def _together(name: str, parts: Sequence[ColumnError], spreads: Sequence[float]) -> ColumnError:
    """The error of columns of numbers that stand for one of the table, by the standard deviation of all of them."""
    weights = [c.entries * spread**2 for c, spread in zip(parts, spreads, strict=True)]
    error, means = (
        math.sqrt(np.average([getattr(c, which) ** 2 for c in parts], weights=weights)) for which in ("error", "means")
    )
    return ColumnError(name, error, means, sum(c.entries for c in parts))


def model_words(done: Completion) -> str:
    """`poisson, rank 60`; `normal (sigma 10.8), rank 1`; the parts of a blend; empty for methods without a prior."""
    words = _model_words(done)
    if not isinstance(done.answer, Refolded) or done.answer.codes.shape[1] == 1:  # else slices in another order
        return words
    dim, size = done.observations.dims[done.answer.mode], " x ".join(map(str, done.answer.codes.max(axis=0) + 1))
    return f"{words}{'; ' if words else ''}{dim} folded into {size}"


def is_fit(done: Completion) -> bool:
    """Is the answer one low-rank fit, of which prior and rank say more than the name of a candidate?"""
    name = answered_by(done)
    return done.prior is not None and len(members(done)) < 2 and (not name or name.startswith((*FITS, *MODELS)))


def _model_words(done: Completion) -> str:
    name = answered_by(done)
    if not is_fit(done):
        return name
    assert done.prior is not None
    given = done.prior.settings() if done.prior.savable else {}  # else a loss of the user's own, made of functions
    given = {k: v for k, v in given.items() if k != "floor"}  # how it goes on outside its domain is of no interest here
    settings = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in given.items())
    if not done.prior.uniform:
        settings = ", ".join(dict.fromkeys(part["name"] for part in given.get("priors", ())))
    words = done.prior.name + (f" ({settings})" if settings else "") + rank_words(done)
    return f"{name}: {words}" if name.startswith("field") else words


def rank_words(done: Completion) -> str:
    """`, rank 60`; `, tucker of rank 8, 8, 3`; empty where there is no model."""
    if done.rank is None:
        return ""
    rank = ", ".join(map(str, done.rank)) if isinstance(done.rank, tuple) else str(done.rank)
    return f", rank {rank}" if done.model.name == "cp" else f", {done.model.name} of rank {rank}"


def error_against(done: Completion, truth: ArrayLike) -> tuple[str, float]:
    """How far the answer is from the truth: ("PSNR in dB", ...) for pictures, else ("RMSE of filled entries", ...)."""
    given = view.truth_of(done, truth)
    observed = done.observations.mask
    if view.picture_axes(done.observations) is not None:
        return "PSNR in dB", view.psnr(done.full, given, observed, view.value_range(done.observations)[1])
    error = (done.full - given.astype(np.float64))[~observed]
    return "RMSE of filled entries", float(np.sqrt(np.mean(error**2))) if error.size else 0.0


def quality(done: Completion) -> str:
    """What can honestly be said about how good it is, in a sentence or two."""
    if done.quality:
        return f"{done.quality[0].upper()}{done.quality[1:]}."
    off, spread = misfit(done)
    if off <= 1e-6 * max(spread, 1e-300):
        return "Every known entry is met exactly; ask for error bars to see how far off the filled ones may be."
    return (
        f"The model is within {off:.3g} (root mean square) of the known entries (standard deviation "
        f"{spread:.3g}); expect filled entries to be further off."
    )


def facts(done: Completion) -> dict[str, Any]:
    """The numbers of a run, JSON-able; None where a number is not known."""
    obs, history = done.observations, done.history
    values = history["value"] if len(history) else np.array([])
    values = values[np.isfinite(values)]
    off, spread = misfit(done)
    return {
        "status": str(done.status),
        "ok": done.status.ok,
        "sentence": done.status.sentence,
        "quality": quality(done),
        "method": done.method,
        "prior": None if done.prior is None else _plain(done.prior.described()),
        "model": None if done.rank is None else done.model.name,
        "rank": _plain(done.rank),
        "shape": list(obs.shape),
        "dims": list(obs.dims),
        "observed": obs.nnz,
        "filled": entries(done)[2],
        "iterations": done.iterations,
        "seconds": _number(done.seconds),
        "objective": _number(values[-1]) if len(values) else None,
        "rhat": None if (draws := convergence(done)) is None else _number(draws.rhat),
        "effective_draws": None if draws is None else _number(draws.ess),
        "doubt": "" if draws is None else draws.doubt,
        "held_out": _number(done.held_out),
        "held_out_rmse": _number(done.error),
        "held_out_rmse_by_gap": _plain(dict(done.by_gap)),
        "columns": [_plain({**dataclasses.asdict(c), **_error_of(done, c.name)}) for c in done.columns],
        "tried": [_plain(dataclasses.asdict(row)) for row in done.tried],
        "facts": None if done.facts is None else _plain(done.facts.settings()),
        "rmse_observed": _number(off),
        "sd_observed": _number(spread),
        "settings": _plain(dict(done.settings)),
    }


def _error_of(done: Completion, name: str) -> dict[str, float]:
    """The errors of one column in standard deviations, where they are known."""
    return next(({"sd_error": c.error, "sd_error_of_mean": c.means} for c in done.by_column if c.name == name), {})


def _number(value: Any) -> float | None:
    return float(value) if np.isfinite(value) else None


def _plain(value: Any) -> Any:
    """What JSON can hold; anything else as text."""
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, bool | str | int) or value is None:
        return value
    if isinstance(value, float | np.number):
        return _number(value)
    return str(value)


def widest_intervals(done: Completion, count: int = 8) -> tuple[Array, Array, Array, Array] | None:
    """(coordinates (k, N), low, high, estimate (k,) each) of the filled entries with the widest intervals, the widest
    first; None for a run without intervals, and where nothing was missing.
    """
    if (done.bars is None and draws_of(done.answer) is None) or done.observations.mask.all():
        return None
    low, high = done.bounds
    width = np.where(done.observations.mask | np.isnan(high - low), -1.0, high - low)
    flat = np.argsort(-width, axis=None, kind="stable")[:count]
    where = np.stack(np.unravel_index(flat[width.flat[flat] >= 0], width.shape), axis=1)
    at = tuple(where.T)
    mean = cast_like(done.at(where), view.data_dtype(done.observations)).astype(np.float64)
    return where, low[at], high[at], mean
