"""Whole sweeps of the Gibbs sampler, compiled: no line of Python runs between two draws of a burst.

Design: a chain draws every random number from its own stream, in one order, so that the number of threads and the
length of a burst change nothing. One compilation serves every order of tensor and every likelihood. The larger
functions are called by address: Numba would else compile each once more within every function that calls it,
which takes four times as long, and those that are never called, too.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types

from tensorfill.kernels import _gibbs, _numba
from tensorfill.kernels._augment import Data, Hyper
from tensorfill.kernels._chain import MODES, Chain, Places, Slopes, Structure
from tensorfill.kernels._draws import draw_mode, draw_precisions, draw_ring, draw_sizes, draw_slopes, no_ring, no_slopes
from tensorfill.kernels._numba import FASTMATH
from tensorfill.kernels.base import Array
from tensorfill.kernels.compiled import compiled


class Record(NamedTuple):
    """What sweeps leave: trace (sweeps, P), the values at `probes` (P, N); at (sweeps,), the place in `kept` (m, sum of
    I_n, C), `means` (m, I, C) of the last mode's rows and `parameters` (m, P) for a draw that is kept, -1 for another.
    """

    probes: Array
    trace: Array
    at: Array
    kept: Array
    means: Array
    parameters: Array


Double1, Double2, Double3 = types.float64[::1], types.float64[:, ::1], types.float64[:, :, ::1]
Single2, Single3, Int1, Int2, Int3 = (
    types.float32[:, ::1],
    types.float32[:, :, ::1],
    types.int32[::1],
    types.int32[:, ::1],
    types.int32[:, :, ::1],
)
Long1, Long2, Bool1, Bool2 = types.int64[::1], types.int64[:, ::1], types.boolean[::1], types.boolean[:, ::1]
Spread1 = types.Array(types.float64, 1, "A")  # not next to each other in memory
Stream = numba.typeof(np.random.default_rng(0))


def _bundle(cls: Any, *fields: Any) -> Any:
    """The type of a named tuple."""
    return types.NamedTuple(fields, cls) if len(set(fields)) > 1 else types.NamedUniTuple(fields[0], len(fields), cls)


def _function(result: Any, *arguments: Any) -> Any:
    """The type of a function called by address."""
    return types.FunctionType(result(*arguments))


DATA = _bundle(Data, Double1, Double1, *[types.float64] * 3, Double1, Double1, Long1)
HYPER = _bundle(Hyper, *[types.float64] * len(Hyper._fields))
PLACES = _bundle(Places, Int2, Int3, Int2, Long1)
STRUCTURE = _bundle(Structure, types.Array(numba.from_dtype(MODES), 1, "C"), Long2, Bool2, Bool1, Double1, Double2)
CHAIN = _bundle(Chain, *[Double2] * 4, *[Double1] * 3, Double2)
SLOPES = _bundle(Slopes, Double2, Double2, Double3, Double2)
RECORD = _bundle(Record, Int2, Double2, Long1, Single3, Single3, Double2)
AUGMENT = _function(types.float64, DATA, HYPER, Double1, Double1, Spread1, Spread1, Stream)
PREDICT = _function(types.void, Double2, Long1, Int2, Double1)
SYSTEMS = _function(types.void, Double2, Double2, Int2, Int1, Long1, Spread1, Spread1, Double3, Double2)
TIED = _function(types.void, Double3, Double2, *[Double1] * 3, *[Double2] * 3)
RING = _function(types.void, TIED, Double2, types.int64, Double3, Double2, *[Double1] * 3, *[Double2] * 3, Stream)
ROWS = (SYSTEMS, TIED, RING)
WHERE = (STRUCTURE, PLACES, CHAIN, types.int64)
MODE = _function(types.void, *ROWS, *WHERE, Spread1, Spread1, Single3, types.int64, Double2, Double1, Stream)
PRECISIONS = _function(types.void, STRUCTURE, HYPER, CHAIN, types.int64, Stream)
FEATURES = _function(types.void, STRUCTURE, SLOPES, HYPER, CHAIN, types.int64, Stream)
SIZES = _function(types.void, TIED, STRUCTURE, HYPER, CHAIN, types.int64, Double2, Double1, Stream)


@compiled(
    types.float64(
        *(AUGMENT, PREDICT, MODE, *ROWS, PRECISIONS, FEATURES, SIZES),
        *(STRUCTURE, SLOPES, PLACES, DATA, HYPER, CHAIN, RECORD, Stream),
    ),
    nogil=True,
    fastmath=FASTMATH,
    no_cfunc_wrapper=True,
)
def _sweep(
    augment: Any,
    predict: Any,
    draw_mode: Any,
    systems: Any,
    tied: Any,
    ring: Any,
    draw_precisions: Any,
    draw_slopes: Any,
    draw_sizes: Any,
    structure: Structure,
    slopes: Slopes,
    places: Places,
    data: Data,
    hyper: Hyper,
    chain: Chain,
    record: Record,
    rng: np.random.Generator,
) -> float:
    both, x = np.empty((len(places.rows), 2)), np.empty(len(places.rows))
    z, w = both[:, 0], both[:, 1]  # next to each other: rows read both at scattered places
    F, N, loss, stacked = chain.F, len(structure.modes), 0.0, np.zeros(len(structure.modes), np.int64)
    Q, q = np.empty((F.shape[1], F.shape[1])), np.empty(F.shape[1])
    for s in range(len(record.at)):
        predict(F, stacked, places.rows, x)
        loss = augment(data, hyper, x, chain.numbers, z, w, rng)
        j = record.at[s]
        for k in range(N):
            n = structure.modes[k].turn
            keep = j if k == N - 1 and len(record.means) > 0 else -1
            draw_mode(systems, tied, ring, structure, places, chain, n, z, w, record.means, keep, Q, q, rng)
            draw_precisions(structure, hyper, chain, n, rng)
            if structure.modes[n].features > 0:
                draw_slopes(structure, slopes, hyper, chain, n, rng)
            if len(chain.size) > 0 and k == N - 2:
                draw_sizes(tied, structure, hyper, chain, n, Q, q, rng)
        predict(F, stacked, record.probes, record.trace[s])
        if j >= 0:
            for i in range(record.parameters.shape[1]):  # one by one: an assignment of all takes a second to compile
                record.parameters[j, i] = chain.numbers[1 + i]
            for i in range(len(F)):
                for c in range(F.shape[1]):
                    record.kept[j, i, c] = F[i, c]
    return loss


def sweep_burst(
    augment: Any,
    structure: Structure,
    slopes: Slopes,
    places: Places,
    data: Data,
    hyper: Hyper,
    chain: Chain,
    record: Record,
    rng: np.random.Generator,
) -> float:
    """Sweep len(record.at) times; returns minus log likelihood before the last sweep. `augment` is of `_augment`."""
    rows = (_gibbs.systems, _gibbs.draw_chain, draw_ring if structure.modes["ring"].any() else no_ring)
    regress = draw_slopes if structure.modes["features"].any() else no_slopes
    calls = (augment, _numba.predict, draw_mode, *rows, draw_precisions, regress, draw_sizes)
    return float(_sweep(*calls, structure, slopes, places, data, hyper, chain, record, rng))
