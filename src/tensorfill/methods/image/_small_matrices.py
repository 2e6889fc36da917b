"""Compiled loops over small symmetric matrices, float32. Imports Numba: import this module inside functions only.

No BLAS: the matrices are small, and a threaded BLAS inside threads is slow. Numba cannot be told that the rows of one
array do not overlap, and then keeps short loops out of vector registers; so two lines of each algorithm say
themselves what a register holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import extending, types
from numba.core import cgutils
from numpy.typing import NDArray

from tensorfill.kernels._numba import inner

Array = NDArray[Any]

LANES = 8  # numbers in a vector register; systems that are solved side by side
TILE = 4  # rows of a Gram matrix that are made together, 2 LANES of their columns at a time
intrinsic: Any = extending.intrinsic
VECTOR = ir.VectorType(ir.FloatType(), LANES)
CONTRACT = ("contract",)  # a product and a sum may be one instruction


@inner
def padded(m: int) -> int:
    """Columns of a table of m columns, and of its Gram matrix: the rest stays 0."""
    return -(-m // (2 * LANES)) * 2 * LANES


def _vector(builder: Any, data: Any, at: Any) -> Any:
    """Where the LANES numbers from `at` on are."""
    return builder.bitcast(builder.gep(data, [at]), VECTOR.as_pointer())


def _data(context: Any, builder: Any, signature: Any, args: Any, k: int = 0) -> Any:
    return cgutils.create_struct_proxy(signature.args[k])(context, builder, args[k]).data


@intrinsic
def _tile(typing: Any, Y: Any, i: Any, j: Any, stride: Any, rows: Any, Q: Any) -> Any:
    """Q[i + a, j + b] = sum over s of Y[s, i + a] Y[s, j + b], for a < TILE and b < 2 LANES; both flat."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        Y, Q = (_data(context, builder, signature, args, k) for k in (0, 5))
        i, j, stride, rows = args[1:5]
        one = ir.Constant(ir.IntType(32), 0)
        all_lanes = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        undefined = ir.Constant(VECTOR, ir.Undefined)
        halves = [ir.Constant(ir.IntType(64), w * LANES) for w in range(2)]
        sums = [
            [cgutils.alloca_once_value(builder, ir.Constant(VECTOR, [0.0] * LANES)) for _ in halves]
            for _ in range(TILE)
        ]
        with cgutils.for_range(builder, rows) as loop:
            row = builder.mul(loop.index, stride)
            right = [builder.load(_vector(builder, Y, builder.add(builder.add(row, j), w)), align=4) for w in halves]
            for a in range(TILE):
                f = builder.load(builder.gep(Y, [builder.add(builder.add(row, i), ir.Constant(i.type, a))]))
                f = builder.shuffle_vector(builder.insert_element(undefined, f, one), undefined, all_lanes)
                for total, y in zip(sums[a], right, strict=True):
                    product = builder.fmul(f, y, flags=CONTRACT)
                    builder.store(builder.fadd(builder.load(total), product, flags=CONTRACT), total)
        for a in range(TILE):
            row = builder.mul(builder.add(i, ir.Constant(i.type, a)), stride)
            for total, w in zip(sums[a], halves, strict=True):
                to = _vector(builder, Q, builder.add(builder.add(row, j), w))
                builder.store(builder.load(total), to, align=4)
        return context.get_dummy_value()

    u64 = types.uint64
    return types.void(Y, u64, u64, u64, u64, Q), generate


def _subtraction(terms: int) -> Any:
    """Make F[to + k] -= sum over t < terms of F[left + t] F[right + t stride + k], k < count, each of LANES numbers."""

    @intrinsic
    def subtract(typing: Any, F: Any, to: Any, left: Any, right: Any, stride: Any, count: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            F = _data(context, builder, signature, args)
            to, left, right, stride, count = args[1:]
            size = ir.Constant(to.type, LANES)
            factors, lines = [], []
            for _ in range(terms):
                factors.append(builder.load(_vector(builder, F, left), align=4))
                lines.append(right)
                left, right = builder.add(left, size), builder.add(right, stride)
            with cgutils.for_range(builder, count) as loop:
                at = builder.mul(loop.index, size)
                target = _vector(builder, F, builder.add(to, at))
                x = builder.load(target, align=4)
                for factor, line in zip(factors, lines, strict=True):
                    y = builder.load(_vector(builder, F, builder.add(line, at)), align=4)
                    x = builder.fsub(x, builder.fmul(factor, y, flags=CONTRACT), flags=CONTRACT)
                builder.store(x, target, align=4)
            return context.get_dummy_value()

        u64 = types.uint64
        return types.void(F, u64, u64, u64, u64, u64), generate

    return subtract


@intrinsic
def _scale(typing: Any, F: Any, to: Any, stride: Any, line: Any, factor: Any, count: Any) -> Any:
    """F[to + k stride] = F[line + k] F[factor], k < count, each of LANES numbers."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        F = _data(context, builder, signature, args)
        to, stride, line, factor, count = args[1:]
        f = builder.load(_vector(builder, F, factor), align=4)
        with cgutils.for_range(builder, count) as loop:
            at = builder.add(line, builder.mul(loop.index, ir.Constant(to.type, LANES)))
            x = builder.fmul(f, builder.load(_vector(builder, F, at), align=4))
            builder.store(x, _vector(builder, F, builder.add(to, builder.mul(loop.index, stride))), align=4)
        return context.get_dummy_value()

    u64 = types.uint64
    return types.void(F, u64, u64, u64, u64, u64), generate


_subtract, _subtract_four = _subtraction(1), _subtraction(4)


@inner
def gram(Y: Array, Q: Array) -> None:
    """Q = Y' Y / rows, for Y (rows, m): both triangles; m from `padded`."""
    rows, m = Y.shape
    u64, scale = np.uint64, np.float32(1) / np.float32(rows)
    F, G, wide = Y.reshape(-1), Q.reshape(-1), u64(m)
    for i in range(0, m, TILE):
        for j in range(0, i + TILE, 2 * LANES):
            _tile(F, u64(i), u64(j), wide, u64(rows), G)
    for i in range(0, m, LANES):
        for j in range(0, i + 1, LANES):
            for a in range(LANES):
                here, there = u64(i + a) * wide + u64(j), u64(j) * wide + u64(i + a)
                for b in range(LANES if j < i else a + 1):
                    q = G[here + u64(b)] * scale
                    G[here + u64(b)] = q
                    G[there + u64(b) * wide] = q


@inner
def _load(Q: Array, o: Array, b: Array, noise: Array, counts: Array, rows: Array, n: int, F: Array) -> None:
    """The systems of LANES rows side by side: F[i, k, lane], k >= i, and b as column n; identity beyond their ends."""
    u64, zero = np.uint64, np.float32(0)
    G, wide, lanes, stride = Q.reshape(-1), u64(Q.shape[1]), u64(LANES), u64((n + 1) * LANES)
    for lane in range(LANES):
        r = rows[lane]
        size = counts[r]
        for i in range(n):
            here = u64(i) * stride + u64(lane)
            if i < size:
                q = u64(o[r, i]) * wide
                for k in range(i, size):
                    F[here + u64(k) * lanes] = G[q + u64(o[r, k])]
            for k in range(max(i, size), n):
                F[here + u64(k) * lanes] = zero
            F[here + u64(i) * lanes] += noise[r, i] if i < size else np.float32(1)
            F[here + u64(n) * lanes] = b[r, i] if i < size else zero


@inner
def solve(Q: Array, o: Array, b: Array, noise: Array, counts: Array, rows: Array, least: Any, F: Array) -> None:
    """b[r] = (Q[o[r], o[r]] + diag(noise[r]))^-1 b[r] over the first counts[r], for LANES rows r: elimination, four
    pivots at a time. F is work space; the scaled columns come to lie below its diagonal. noise >= least > 0.
    """
    u64, f32 = np.uint64, np.float32
    n = 0
    for lane in range(LANES):
        n = max(n, counts[rows[lane]])
    _load(Q, o, b, noise, counts, rows, n, F)
    lanes, stride = u64(LANES), u64((n + 1) * LANES)
    for j in range(0, n, 4):
        top = min(j + 4, n)
        for p in range(j, top):
            P, at = u64(p) * stride, u64(p) * lanes
            for lane in range(LANES):  # no pivot is below the noise, save by rounding
                F[P + at + u64(lane)] = f32(1) / max(F[P + at + u64(lane)], least)
            _scale(F, P + stride + at, stride, P + at + lanes, P + at, u64(n - p - 1))
            for i in range(p + 1, top):
                here, away = u64(i) * stride, u64(i) * lanes
                _subtract(F, here + away, here + at, P + away, stride, u64(n + 1 - i))
        J = u64(j) * stride
        for i in range(j + 4, n):
            here, away = u64(i) * stride, u64(i) * lanes
            _subtract_four(F, here + away, here + u64(j) * lanes, J + away, stride, u64(n + 1 - i))
    for k in range(n - 1, -1, -1):
        at, pivot = u64(k) * stride + u64(n) * lanes, u64(k) * (stride + lanes)
        for lane in range(LANES):
            F[at + u64(lane)] *= F[pivot + u64(lane)]
            if k < counts[rows[lane]]:
                b[rows[lane], k] = F[at + u64(lane)]
        for i in range(k):
            here = u64(i) * stride
            _subtract(F, here + u64(n) * lanes, here + u64(k) * lanes, at, stride, u64(1))


@inner
def combine(Q: Array, o: Array, b: Array, n: int, z: Array, row: int) -> None:
    """z[row] = sum over the first n of b[row, i] Q[o[row, i]]; four at once."""
    fours, m = n // 4 * 4, Q.shape[0]
    for t in range(m):
        z[row, t] = 0
    for i in range(0, fours, 4):
        f0, f1, f2, f3 = b[row, i], b[row, i + 1], b[row, i + 2], b[row, i + 3]
        o0, o1, o2, o3 = o[row, i], o[row, i + 1], o[row, i + 2], o[row, i + 3]
        for t in range(m):
            z[row, t] += f0 * Q[o0, t] + f1 * Q[o1, t] + f2 * Q[o2, t] + f3 * Q[o3, t]
    for i in range(fours, n):
        f0, o0 = b[row, i], o[row, i]
        for t in range(m):
            z[row, t] += f0 * Q[o0, t]
