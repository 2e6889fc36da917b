"""What the loop remembers, on disk, without pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tensorfill.io.checkpoint import Checkpoint
from tensorfill.result.record import Row, Status
from tensorfill.solvers.base import State


@dataclass(frozen=True)
class Memory:
    """Everything the loop needs to go on from here."""

    state: State
    rows: tuple[Row, ...]
    best: State | None = None
    best_score: float = np.nan
    best_iteration: int = 0
    seconds: float = 0.0
    status: Status | None = None
    drawn: Any = None  # state of the random numbers after this iteration

    @property
    def iteration(self) -> int:
        return self.rows[-1].iteration

    def advance(self, state: State, row: Row) -> Memory:
        """One iteration further; the best state is kept when held-out entries are scored."""
        memory = replace(self, state=state, rows=(*self.rows, row))
        if row.held_out < self.best_score:
            memory = replace(memory, best=state, best_score=row.held_out, best_iteration=row.iteration)
        elif self.best is None:
            memory = replace(memory, best_iteration=row.iteration)
        return memory

    def steady_enough(self, tol: float, steady: int) -> Status | None:
        """Converged, once the relative change of the objective has been small `steady` times in a row."""
        if len(self.rows) < steady + 1:
            return None
        last = np.array([row.value for row in self.rows[-steady - 1 :]])
        small = np.abs(np.diff(last)) <= tol * np.maximum(np.abs(last[1:]), np.finfo(float).tiny)
        return Status.CONVERGED if tol > 0 and small.all() else None


def save(place: Checkpoint, memory: Memory, fingerprint: str, rng: np.random.Generator) -> float:
    """Write the run there, replacing what was; returns the seconds it took."""
    arrays = {f"state/{k}": v for k, v in memory.state.arrays.items()}
    best = memory.best
    if best is not None and best is not memory.state:
        arrays |= {f"best/{k}": v for k, v in best.arrays.items()}
    arrays["rows"] = np.array([(r.iteration, r.seconds, r.value, r.held_out) for r in memory.rows], dtype=np.float64)
    meta = {
        "fingerprint": fingerprint,
        "numbers": dict(memory.state.numbers),
        "value": memory.state.value,
        "best": None if best is None else ("state" if best is memory.state else "best"),
        "best_numbers": {} if best is None else dict(best.numbers),
        "best_value": None if best is None else best.value,
        "best_score": memory.best_score,
        "best_iteration": memory.best_iteration,
        "seconds": memory.seconds,
        "status": None if memory.status is None else memory.status.name,
        "rng": rng.bit_generator.state,
    }
    arrays["meta"] = np.frombuffer(json.dumps(meta).encode(), dtype=np.uint8)
    return place.keep(arrays)


def load(place: Checkpoint, fingerprint: str, rng: np.random.Generator) -> Memory | None:
    """Read a run back, None if there is none; `rng` is set to where it was. Any damage is one sentence."""
    arrays = place.find()
    if arrays is None:
        return None
    try:
        meta: dict[str, Any] = json.loads(arrays["meta"].tobytes())
        memory = _memory(arrays, meta) if meta["fingerprint"] == fingerprint else None
        if memory is not None:
            rng.bit_generator.state = meta["rng"]
    except Exception as error:  # numbers that do not go together meet them in any way at all
        raise place.damaged(error) from error
    if memory is None:
        msg = f"checkpoint {place} belongs to another run (other data or settings); delete it or name another file."
        raise ValueError(msg)
    return replace(memory, drawn=rng.bit_generator.state)


def _memory(arrays: Mapping[str, Any], meta: dict[str, Any]) -> Memory:
    """What `save` was given, but for the random numbers."""
    state = State(_part(arrays, "state"), meta["numbers"], float(meta["value"]))
    best = None
    if meta["best"] is not None:
        own = State(_part(arrays, "best"), meta["best_numbers"], float(meta["best_value"]))
        best = state if meta["best"] == "state" else own
    return Memory(
        state=state,
        rows=tuple(Row(int(r[0]), *map(float, r[1:])) for r in arrays["rows"]),
        best=best,
        best_score=float(meta["best_score"]),
        best_iteration=int(meta["best_iteration"]),
        seconds=float(meta["seconds"]),
        status=None if meta["status"] is None else Status[meta["status"]],
    )


def _part(arrays: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {k.split("/", 1)[1]: v for k, v in arrays.items() if k.startswith(name + "/")}
