"""A Completion on disk: npz, no pickle, replaced in one move."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorfill.blocks import Sample
from tensorfill.data.columns import ColumnFacts
from tensorfill.data.facts import Facts
from tensorfill.data.memory import BudgetError
from tensorfill.data.observations import Observations
from tensorfill.data.sources import (
    ArraySource,
    LineSource,
    SavedSource,
    encoded_source,
    first_column,
    root,
)
from tensorfill.data.units import Units
from tensorfill.io.atomic import check_own_file, check_path, check_replaceable, replace_file
from tensorfill.io.encoding import TableEncoder
from tensorfill.io.formats.arrays import read_archive
from tensorfill.numerical.base import NumericalPrior
from tensorfill.result.packing import PriorNeeded, unpack
from tensorfill.result.record import Bars, ColumnError, History, Leaderboard, LeaderboardRow, Row, Status
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.result.completion import Completion


FORMAT = 4  # of the files; raised when what is in them changes


def save(done: Completion, path: str | Path) -> None:
    """Write `done` to `path`."""
    check_replaceable(path)
    check_own_file(path, "saved run")
    obs = done.observations
    arrays: dict[str, Array] = {"indices": obs.indices, "values": obs.values}
    if obs.weights is not None:
        arrays["weights"] = obs.weights
    array = getattr(root(obs.source), "array", None)
    if array is not None and array.dtype != obs.values.dtype:  # so that `completed` comes back in that type
        arrays["given"] = np.ma.getdata(array)[obs.mask]
    if done.bars is not None:
        arrays["bars"] = done.bars.half
    if done.unfilled is not None:
        arrays["unfilled"] = done.unfilled
    arrays |= {f"positions/{n}": at for n, at in enumerate(obs.positions or ()) if at is not None}
    if isinstance(obs, Sample):
        arrays |= {f"counts/{n}": count for n, count in enumerate(obs.counts)}
        arrays |= {f"labels/{d}": _pack_labels(axis) for d, axis in obs.labels.items()}
    own, answer = done.answer.pack()
    arrays |= {f"answer/{name}": array for name, array in own.items()}
    rows = [(r.iteration, r.seconds, r.value, r.held_out) for r in done.history]
    arrays["history"] = np.array(rows, dtype=np.float64).reshape(-1, 4)
    meta = {
        "format": FORMAT,
        "shape": obs.shape,
        "dims": obs.dims,
        "line": isinstance(obs.source, LineSource),
        "whole": obs.nnz if isinstance(obs, Sample) else None,
        "method": done.method,
        "status": done.status.name,
        "settings": dict(done.settings),
        "answer": {"kind": done.answer.kind, **answer},
        "facts": None if done.facts is None else done.facts.settings(),
        "tried": [dataclasses.asdict(row) for row in done.tried],
        "held_out": done.held_out,
        "error": done.error,
        "by_gap": dict(done.by_gap),
        "error_units": None if done.error_units is None else done.error_units.settings(),
        "columns": [dataclasses.asdict(column) for column in done.columns],
        "by_column": [dataclasses.asdict(column) for column in done.by_column],
        "table": _table(obs.source),
        "took": done.took,
        "level": None if done.bars is None else done.bars.level,
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta, default=_plain).encode(), dtype=np.uint8)
    with replace_file(path) as file:
        np.savez_compressed(file, **arrays)  # type: ignore[arg-type]  # taken for its option allow_pickle


def load(kind: type[Completion], path: str | Path, prior: NumericalPrior | None) -> Completion:
    """Read back what `save` wrote as a `kind`; any damage is one sentence."""
    check_path(path)
    with open(path, "rb") as raw:  # a file that is not there, or may not be read, says so itself
        try:
            arrays, _ = read_archive(raw)
            meta = json.loads(arrays["meta"].tobytes())
            if meta.get("format") != FORMAT:
                msg = f"it is of format {meta.get('format')}, and this version reads {FORMAT}"
                raise ValueError(msg)
            done = kind(**_fields(arrays, meta, prior))
            _try_out(done)
        except (PriorNeeded, BudgetError):
            raise
        except Exception as error:  # a damaged file meets the libraries that read it in any way at all
            line = (str(error).strip().splitlines() or [type(error).__name__])[0]
            msg = f"{path} must be a file written by Completion.save; it cannot be read ({line})."
            raise ValueError(msg) from error
    return done


def _fields(arrays: dict[str, Array], meta: dict[str, Any], prior: NumericalPrior | None) -> dict[str, Any]:
    """Return what a Completion is made of."""
    own = {name.split("/", 1)[1]: array for name, array in arrays.items() if name.startswith("answer/")}
    units = meta["error_units"]
    return dict(
        observations=_observations(arrays, meta),
        method=str(meta["method"]),
        by_column=tuple(ColumnError(**column) for column in meta["by_column"]),
        columns=tuple(ColumnFacts(**column) for column in meta["columns"]),
        status=Status[meta["status"]],
        history=History(tuple(Row(int(r[0]), *map(float, r[1:])) for r in arrays["history"])),
        answer=unpack(own, meta["answer"], prior),
        settings=meta["settings"],
        facts=None if meta["facts"] is None else Facts.from_settings(meta["facts"]),
        tried=Leaderboard(LeaderboardRow(**row) for row in meta["tried"]),
        held_out=float(meta["held_out"]),
        error=float(meta["error"]),
        by_gap=meta["by_gap"],
        error_units=None if units is None else Units.from_settings(units),
        bars=Bars(float(meta["level"]), arrays["bars"]) if "bars" in arrays else None,
        took=float(meta["took"]),
        unfilled=arrays.get("unfilled"),
    )


def _try_out(done: Completion) -> None:
    """Use it once, so that a file whose parts do not fit together is refused when it is read, not when it is used."""
    obs = done.observations
    corners = np.array([np.zeros(obs.ndim, dtype=np.intp), np.array(obs.shape) - 1])
    left = [n for n, c in enumerate(done.columns) if not c.is_data]  # columns that are no data have no estimate
    corners = corners[~np.isin(corners[:, -1], left)] if left else corners
    if not np.isfinite(done.at(corners)).all():
        msg = "its answer is not finite"
        raise ValueError(msg)
    if done.bars is not None and done.bars.half.shape != obs.shape:
        msg = f"its error bars have shape {done.bars.half.shape}, its data {obs.shape}"
        raise ValueError(msg)
    if done.unfilled is not None and (done.unfilled.shape != obs.shape or done.unfilled.dtype != bool):
        msg = f"what it leaves unfilled has shape {done.unfilled.shape}, its data {obs.shape}"
        raise ValueError(msg)
    str(done)


def _observations(arrays: dict[str, Array], meta: dict[str, Any]) -> Observations:
    weights, dims, shape = arrays.get("weights"), tuple(meta["dims"]), tuple(map(int, meta["shape"]))
    indices, values = arrays["indices"], arrays["values"]
    fits = indices.shape == (*values.shape, len(shape)) and indices.dtype.kind in "iu" and values.dtype.kind == "f"
    if (
        not fits
        or (indices < 0).any()
        or (indices >= shape).any()
        or (weights is not None and weights.shape != values.shape)
    ):
        msg = f"its coordinates are not those of a tensor of shape {shape}"
        raise ValueError(msg)
    places = tuple(arrays.get(f"positions/{n}") for n in range(len(shape)))
    positions = places if any(at is not None for at in places) else None
    for at, length in zip(places, shape, strict=True):
        if at is not None and (at.shape != (length,) or at.dtype.kind != "f" or not np.isfinite(at).all()):
            msg = f"its positions are not {length} numbers"
            raise ValueError(msg)
    if meta["whole"] is not None:
        counts = tuple(arrays[f"counts/{n}"] for n in range(len(shape)))
        labels = {d: _unpack_labels(arrays[f"labels/{d}"]) for d in dims if f"labels/{d}" in arrays}
        return Sample(shape, indices, values, weights, dims, None, positions, int(meta["whole"]), counts, labels)
    obs = Observations(shape, indices, values, weights, dims, positions=positions)
    if meta["table"] is not None:
        from pandas import DataFrame

        table = meta["table"]
        source = ArraySource(obs.dense(fill=0.0), obs.mask)
        frame = DataFrame(columns=table["columns"])
        return replace(obs, source=SavedSource(frame, TableEncoder.from_settings(table["encoder"]), source))
    if "given" not in arrays and not meta["line"]:
        return obs
    given = arrays.get("given", obs.values)
    array = np.zeros(obs.shape, dtype=given.dtype)
    array[obs.mask] = given
    source = ArraySource(array, obs.mask)
    return replace(obs, source=LineSource(source, first_column) if meta["line"] else source)


def _table(source: Any) -> dict[str, Any] | None:
    """How the columns of a table became numbers, so that new rows can be added; None where they are numbers."""
    source = encoded_source(source)
    if source is None:
        return None
    return {"columns": [str(c) for c in source.frame.columns], "encoder": source.encoder.settings()}


def _pack_labels(labels: Array) -> Array:
    """Labels as an array that needs no pickle: numbers and moments as they are, all else as JSON."""
    if labels.dtype.kind in "iufM":
        return labels
    return np.frombuffer(json.dumps([x if isinstance(x, str) else str(x) for x in labels]).encode(), dtype=np.uint8)


def _unpack_labels(array: Array) -> Array:
    if array.dtype != np.uint8:
        return array
    labels = json.loads(array.tobytes())
    out = np.empty(len(labels), dtype=object)
    out[:] = labels
    return out


def _plain(number: Any) -> Any:
    """NumPy's numbers and arrays, which a user may have given as settings, as JSON knows them."""
    if isinstance(number, np.generic | np.ndarray):
        return number.tolist()
    msg = f"settings must be numbers, text, lists and dictionaries to be saved; got {type(number).__name__}."
    raise TypeError(msg)
