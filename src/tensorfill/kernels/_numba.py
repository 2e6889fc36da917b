"""Compiled loops of the sampled layout. Imported on first use only: Numba is slow to import.

Design: all factors are stacked in one array F (I_1 + ... + I_N, R) and `first[n]` is where mode n begins, so one
compilation serves every order. Rows are addressed as F[k, r], never as a view F[k]: a view costs a reference
count, which is more than the work on a row at the usual ranks.
"""

from __future__ import annotations

import numpy as np

from tensorfill.kernels.base import Array
from tensorfill.kernels.compiled import compiled

# sums may be reordered (to use vector registers) and fused; NaN and infinity keep their meaning
FASTMATH = {"reassoc", "contract", "nsz"}
jit = compiled(nogil=True, fastmath=FASTMATH)
# called from compiled code alone: wrappers for Python and C would take as long to compile again
inner = compiled(nogil=True, fastmath=FASTMATH, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# called from compiled code by address
addressed = compiled(nogil=True, fastmath=FASTMATH, no_cpython_wrapper=True)


@jit
def predict(F: Array, first: Array, indices: Array, x: Array) -> None:
    """x_i = sum_r prod_n A_n[i_n, r] for the rows of `indices` (nnz, N); with `first` 0 they address F itself."""
    N, R = indices.shape[1], F.shape[1]
    row = np.empty(R, F.dtype)
    for i in range(len(indices)):
        a = first[0] + indices[i, 0]
        b = first[N - 1] + indices[i, N - 1]
        total = F.dtype.type(0)
        if N == 3:  # one loop without the row buffer: half the time
            c = first[1] + indices[i, 1]
            for r in range(R):
                total += F[a, r] * F[c, r] * F[b, r]
        elif N == 2:
            for r in range(R):
                total += F[a, r] * F[b, r]
        else:
            for r in range(R):
                row[r] = F[a, r]
            for n in range(1, N - 1):
                c = first[n] + indices[i, n]
                for r in range(R):
                    row[r] *= F[c, r]
            for r in range(R):
                total += row[r] * F[b, r]
        x[i] = total


@inner
def same_fibre(indices: Array, i: int, j: int) -> bool:
    """Do observations i and j differ in the last mode only?"""
    for n in range(indices.shape[1] - 2, -1, -1):  # noqa: SIM110  Numba has no all()
        if indices[i, n] != indices[j, n]:
            return False
    return True


@jit
def pullback(F: Array, first: Array, indices: Array, g: Array, G: Array) -> None:
    """Add to G, stacked like F, the gradient of all modes.

    Observations of one fibre (neighbours, as the order is lexicographic) share the product of all rows but the
    last mode's, and the sum s_r = sum_i g_i A_N[i_N, r] that every other mode's gradient contains.
    """
    N, R = indices.shape[1], F.shape[1]
    last = N - 1
    prefix = np.empty((last, R), F.dtype)  # prefix[n] = A_1 * ... * A_n, rows of the fibre
    s = np.empty(R, F.dtype)
    i = 0
    while i < len(indices):
        a = first[0] + indices[i, 0]
        for r in range(R):
            prefix[0, r] = F[a, r]
            s[r] = 0
        for n in range(1, last):
            k = first[n] + indices[i, n]
            for r in range(R):
                prefix[n, r] = prefix[n - 1, r] * F[k, r]
        j = i
        while j < len(indices) and (j == i or same_fibre(indices, i, j)):
            k = first[last] + indices[j, last]
            g_j = g[j]
            for r in range(R):  # two loops, as fewer arrays per loop need fewer overlap checks
                s[r] += g_j * F[k, r]
            for r in range(R):
                G[k, r] += g_j * prefix[last - 1, r]
            j += 1
        for n in range(last - 1, 0, -1):  # s gathers the rows of the modes after n on the way down
            k = first[n] + indices[i, n]
            for r in range(R):
                G[k, r] += s[r] * prefix[n - 1, r]
                s[r] *= F[k, r]
        for r in range(R):
            G[a, r] += s[r]
        i = j


@jit
def pullback_mode(F: Array, first: Array, indices: Array, g: Array, mode: int, G: Array) -> None:
    """Add to G (I_n, R) the gradient of one mode, Y B of Algorithm 2, line 8, over the observed entries alone."""
    N, R = indices.shape[1], F.shape[1]
    row = np.empty(R, F.dtype)
    for i in range(len(indices)):
        m, g_i = indices[i, mode], g[i]
        if N == 3:
            b = (mode + 1) % 3
            c = (mode + 2) % 3
            kb = first[b] + indices[i, b]
            kc = first[c] + indices[i, c]
            for r in range(R):
                G[m, r] += g_i * F[kb, r] * F[kc, r]
            continue
        for r in range(R):
            row[r] = g_i
        for n in range(N):
            if n != mode:
                k = first[n] + indices[i, n]
                for r in range(R):
                    row[r] *= F[k, r]
        for r in range(R):
            G[m, r] += row[r]


@inner
def departure(indices: Array, i: int) -> int:
    """The first mode in which observation i differs from the one before it; 0 for the first, N for a repeat."""
    if i == 0:
        return 0
    N = indices.shape[1]
    for n in range(N):
        if indices[i, n] != indices[i - 1, n]:
            return n
    return N
