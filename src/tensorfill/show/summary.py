"""A Completion in words and plain numbers: what the command line, the card and the report say about it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorfill.data.sources import cast_like
from tensorfill.data.units import spread_of
from tensorfill.models.base import MODELS
from tensorfill.result.answer import Refolded, draws_of
from tensorfill.result.record import limits
from tensorfill.show import view
from tensorfill.show.convergence import convergence

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion

Array = NDArray[Any]

ENOUGH = 200_000  # entries for a mean
FITS = ("low rank", "exact low rank", "field")  # candidates that are one low-rank model, beside those named like one
INTERVAL = 0.9  # share of entries that intervals of the report hold


def _some(done: Completion, most: int = ENOUGH) -> tuple[Array, Array]:
    """(coordinates, values) of the observations, or of `most` of them, evenly picked."""
    obs = done.observations
    pick = slice(None) if obs.nnz <= most else np.linspace(0, obs.nnz - 1, most).astype(np.intp)
    return obs.indices[pick], obs.values[pick].astype(np.float64)


def misfit(done: Completion) -> tuple[float, float]:
    """(root mean square of estimate - value, standard deviation of the values), at the observed entries."""
    where, t = _some(done)
    error = np.asarray(done.at(where), dtype=np.float64) - t
    largest = float(np.abs(error).max(initial=0.0)) or 1.0
    return float(np.sqrt(np.mean((error / largest) ** 2)) * largest), spread_of(t)


def size_words(done: Completion) -> str:
    """`row 200 x column 160 x channel 3`."""
    obs = done.observations
    return " x ".join(f"{d} {n}" for d, n in zip(obs.dims, obs.shape, strict=True))


def printed(done: Completion) -> str:
    """What `print(done)` shows: a line each for status, model, run, objective, draws and quality."""
    obs = done.observations
    lines = [
        f"Completion by {done.method}: {size_words(done)}, {obs.nnz:,} of {obs.size:,} entries observed "
        f"({obs.share:.1%})",
        f"  status    {done.status.sentence}",
    ]
    if words := model_words(done):
        lines.append(f"  model     {words}")
    lines.append(f"  run       {done.iterations} iterations, {done.seconds:.2f} s")
    values = done.history["value"]
    values = values[np.isfinite(values)]
    if len(values):
        lines.append(f"  objective {values[0]:.6g} -> {values[-1]:.6g}")
    if (draws := convergence(done)) is not None:
        lines += [f"  draws     {draws.words}", *([f"            {draws.doubt}"] if draws.doubt else [])]
    if done.quality:
        lines.append(f"  how good  {done.quality}")
    lines += [f"            {error:.4g} {kind}" for kind, error in done.by_gap.items()]
    return "\n".join(lines)


def model_words(done: Completion) -> str:
    """`poisson, rank 60`; `normal (sigma 10.8), rank 1`; the parts of a blend; empty for methods without a prior."""
    words = _model_words(done)
    if not isinstance(done.answer, Refolded):
        return words
    dim, size = done.observations.dims[done.answer.mode], " x ".join(map(str, done.answer.codes.max(axis=0) + 1))
    return f"{words}{'; ' if words else ''}{dim} folded into {size}"


def answered_by(done: Completion) -> str:
    """What made the answer, of those that `auto` tried: a name, or the parts of a blend; else an empty text."""
    parts = [row for row in done.tried if row.weight >= 0.005]
    if not parts:
        return str(done.settings.get("candidate", ""))
    return " + ".join(f"{row.weight:.0%} {row.name}" if len(parts) > 1 else row.name for row in parts)


def is_fit(done: Completion) -> bool:
    """Is the answer one low-rank fit, of which prior and rank say more than the name of a candidate?"""
    name = answered_by(done)
    blended = sum(row.weight >= 0.005 for row in done.tried) > 1
    return done.prior is not None and not blended and (not name or name.startswith((*FITS, *MODELS)))


def _model_words(done: Completion) -> str:
    name = answered_by(done)
    if not is_fit(done):
        return name
    assert done.prior is not None
    given = done.prior.settings() if done.prior.savable else {}  # else a loss of the user's own, made of functions
    given = {k: v for k, v in given.items() if k != "floor"}  # how it goes on outside its domain is of no interest here
    settings = ", ".join(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in given.items())
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
        return "PSNR in dB", view.psnr(done.full, given, observed, view.value_range(done)[1])
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
        f"The model is within {off:.3g} (root mean square) of the known entries, which spread by {spread:.3g}; "
        "expect filled entries to be further off."
    )


def leaderboard(done: Completion) -> list[tuple[str, str, str, str]]:
    """(candidate, held-out error, seconds, part in the answer) of every line of `done.tried`; notes instead of errors
    for those that did not take part.
    """
    rows = []
    for row in done.tried:
        error = f"{row.error:.4g} ± {row.standard_error:.2g}" if np.isfinite(row.error) else row.note
        seconds = f"{row.seconds:.2f}" if row.seconds else ""
        rows.append((row.name, error, seconds, f"{row.weight:.0%}" if row.weight else ""))
    return rows


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
        "filled": obs.size - obs.nnz,
        "iterations": done.iterations,
        "seconds": _number(done.seconds),
        "objective": _number(values[-1]) if len(values) else None,
        "rhat": None if (draws := convergence(done)) is None else _number(draws.rhat),
        "effective_draws": None if draws is None else _number(draws.ess),
        "doubt": "" if draws is None else draws.doubt,
        "held_out": _number(done.held_out),
        "held_out_rmse": _number(done.error),
        "held_out_rmse_by_gap": _plain(dict(done.by_gap)),
        "tried": [_plain(dataclasses.asdict(row)) for row in done.tried],
        "facts": None if done.facts is None else _plain(done.facts.settings()),
        "rmse_observed": _number(off),
        "sd_observed": _number(spread),
        "settings": _plain(dict(done.settings)),
    }


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


# --- where the model is least sure --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Spread:
    """How far single entries may be off: by the error bars of the run, by its draws, or else by its prior.

    Attributes
    ----------
    measured : from error bars?
    drawn : from a posterior?
    coverage : share of the known entries that lie in their own interval of 90 %; for error bars, their level
    where, low, high, mean : the filled entries with the widest intervals, widest first: (k, N), (k,), (k,), (k,)
    looked_at : how many filled entries were compared
    """

    measured: bool
    drawn: bool
    coverage: float
    where: Array
    low: Array
    high: Array
    mean: Array
    looked_at: int


def interval(done: Completion, where: Array) -> tuple[Array, Array]:
    """The error bars, or else the central 90 % of the posterior or of the prior, at the coordinates (k, N):
    (low, high), around the estimate and inside what the data's type can hold; not below 0 where no datum is.
    """
    ends = limits(done.observations.values, None if done.prior is None else done.prior.t_domain)
    dtype = view.source_dtype(done.observations)
    if dtype is not None and dtype.kind in "iu":
        ends = (max(ends[0], float(np.iinfo(dtype).min)), min(ends[1], float(np.iinfo(dtype).max)))
    if done.bars is not None:
        low, high = (end[tuple(np.asarray(where).T)] for end in done.bounds)
    elif (draws := draws_of(done.answer)) is not None:
        low, high = draws.quantile_at(where, ((1 - INTERVAL) / 2, (1 + INTERVAL) / 2))
    else:
        assert done.prior is not None
        x = np.asarray(done.model.at(where), dtype=np.float64)
        # where the estimate was refined after the fit, the model's own mean is elsewhere
        shift = 0.0 if not done.refined else np.asarray(done.at(where), dtype=np.float64) - done.prior.mean(x)
        low, high = (done.prior.quantile(x, q) + shift for q in ((1 - INTERVAL) / 2, (1 + INTERVAL) / 2))
    return np.clip(low, *ends).astype(np.float64), np.clip(high, *ends).astype(np.float64)


def spread(done: Completion, count: int = 8, most: int = 50_000) -> Spread | str:
    """Where single entries scatter most; or a sentence saying why that is not known."""
    where = _filled(done, most)
    if not len(where):
        return "Nothing was missing."
    if done.bars is None and (why := _no_spread(done)):
        return why
    low, high = interval(done, where)
    width = high - low
    widest = np.argsort(-width, kind="stable")[:count]
    return Spread(
        measured=done.bars is not None,
        drawn=done.bars is None and draws_of(done.answer) is not None,
        coverage=_coverage(done, most) if done.bars is None else done.bars.level,
        where=where[widest],
        low=low[widest],
        high=high[widest],
        mean=np.asarray(cast_like(done.at(where[widest]), view.data_dtype(done.observations)), dtype=np.float64),
        looked_at=len(where),
    )


def _no_spread(done: Completion) -> str:
    """Why a run without error bars says nothing about the spread; empty if it does."""
    if draws_of(done.answer) is not None:
        return ""
    if done.prior is None or done.factors is None:
        return f"Method {done.method} gives numbers without a distribution, so nothing is said about their spread."
    if done.prior.location:  # its scale is that of the data, not of what the model leaves
        return "Ask for error bars (error_bars=0.9) to see how far off single entries may be, and which most."
    if not done.prior.has("quantile"):
        return f"The prior {done.prior.name} has no quantiles, so nothing is said about the spread."
    return ""


def _coverage(done: Completion, most: int) -> float:
    """Share of the known entries inside their own interval."""
    known, t = _some(done, most)
    low, high = interval(done, known)
    return float(np.mean((t >= low) & (t <= high)))


def _filled(done: Completion, most: int) -> Array:
    """Coordinates of missing entries, (k, N): all, or about `most` drawn at random."""
    obs = done.observations
    if obs.size <= 8 * most:
        where = np.argwhere(~obs.mask)
        return where if len(where) <= most else where[np.linspace(0, len(where) - 1, most).astype(np.intp)]
    rng = np.random.default_rng(0)
    drawn = np.stack([rng.integers(n, size=most) for n in obs.shape], axis=1)
    from tensorfill.data.formats.base import match_rows

    return drawn[match_rows(obs.indices, drawn, obs.shape) < 0]
