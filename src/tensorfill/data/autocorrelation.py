"""How alike entries are along a mode: near ones, far ones, and those a period apart."""

from __future__ import annotations

import numpy as np

from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.typing import Array

ENOUGH_PAIRS = 30  # neighbouring pairs before a ratio of their differences is believed
SURE_PAIRS = 200  # pairs of direct neighbours that settle how grainy a field is
MOST_PAIRS = 200_000  # more add nothing to a mean
FIBRES = 64  # fibres, those observed best, in which a period, or a smooth one, is sought
STRETCH = 2**17  # steps of them, where a mode is longer: those observed best
DOUBT = 4.0  # over the root of the entries of a fibre: by what share its roughness, and the least of many, may be off
SHORTEST_PERIOD = 3  # steps: a period of two cannot be distinguished from noise
LIKELIER = 1.2  # a longer period must be this many times as strong: multiples of a period are as strong as it is
NEAR = 2  # steps around the lag that stands out within which the best one is looked for
LONGEST_PERIOD = 1000  # steps: longer ones are not looked for
SURELY = 4.0  # times what the autocorrelation of independent numbers is off by: one in 200 of them seems to repeat
BRIDGED = 3  # steps between two known entries whose difference is shared out among them
WEAKEST = 0.1  # autocorrelation that is worth folding for: below, a period explains a hundredth of the variance


def roughness(obs: Observations, mode: int) -> tuple[float, int]:
    """How much near entries along a mode differ, relative to far ones: (ratio, near pairs seen). 1 = no more alike.

    Mean squared difference of observed pairs in one fibre (all other indices equal) up to three steps apart (further if
    there are too few), over the same for pairs at a third to two thirds of the mode's length.
    """
    length = obs.shape[mode]
    near, pairs = mean_square_difference(obs, (mode,), (1, 2, 3))
    if pairs < ENOUGH_PAIRS:  # few entries observed: look further, as long as it is still near
        near, pairs = mean_square_difference(obs, (mode,), tuple(range(1, max(3, length // 6) + 1)))
    lags = tuple(sorted({length // 3, length // 2, 2 * length // 3} - {0}))
    far, enough = mean_square_difference(obs, (mode,), lags)
    return (near / far if pairs and enough and far > 0 else 1.0), pairs


def smoothest(obs: Observations, mode: int) -> float:
    """The least roughness of a single fibre along a mode, of those observed best, by as much above its estimate as that
    may be off. A table may have one smooth column among rough ones, or one whose numbers are small beside theirs.
    """
    X, M = _best_fibres(obs, mode)
    length, known = len(X), M.sum(axis=0)
    near, pairs = _fibre_differences(X, M, (1, 2, 3))
    far, enough = _fibre_differences(X, M, tuple(sorted({length // 3, length // 2, 2 * length // 3} - {0})))
    seen = (np.minimum(pairs, enough) >= ENOUGH_PAIRS) & (far > 0)
    if not seen.any():
        return 1.0
    return float(np.min(near[seen] / far[seen] * (1 + DOUBT / np.sqrt(known[seen]))))


def _fibre_differences(X: Array, M: Array, lags: tuple[int, ...]) -> tuple[Array, Array]:
    """(mean squared difference of observed pairs so far apart, how many pairs) in each column of X: (fibres,) each."""
    total, pairs = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for lag in lags:
        both = M[lag:] * M[:-lag]
        total += (both * (X[lag:] - X[:-lag]) ** 2).sum(axis=0)
        pairs += both.sum(axis=0)
    return total / np.maximum(pairs, 1.0), pairs


def mean_square_difference(obs: Observations, modes: tuple[int, ...], lags: tuple[int, ...]) -> tuple[float, int]:
    """Over observed pairs that differ by one of `lags` along one of `modes` and in nothing else: (mean, pairs)."""
    keys, values = obs.flat, obs.values
    pick = slice(None) if len(keys) <= MOST_PAIRS else np.linspace(0, len(keys) - 1, MOST_PAIRS).astype(np.intp)
    total, pairs = 0.0, 0
    for mode in modes:
        stride = int(np.prod(obs.shape[mode + 1 :], dtype=np.int64))
        for lag in lags:
            inside = obs.indices[pick, mode] + lag < obs.shape[mode]
            wanted = keys[pick][inside] + lag * stride
            at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = keys[at] == wanted
            difference = values[at[found]].astype(np.float64) - values[pick][inside][found]
            total += float(difference @ difference)
            pairs += int(found.sum())
    return total / max(pairs, 1), pairs


def noise_level(obs: Observations, modes: tuple[int, ...]) -> tuple[float, float]:
    """How much of the difference between neighbours is noise: (ratio, standard deviation of the noise).

    The ratio is the mean squared difference of direct neighbours over that of entries three or four steps apart along
    `modes`: in a picture differences grow with the distance, in noise they do not. NaN with too few pairs to tell. The
    noise is found where a straight line through both reaches distance zero.
    """
    near: tuple[int, ...] = (1,)
    far: tuple[int, ...] = (3, 4)
    if mean_square_difference(obs, modes, near)[1] < SURE_PAIRS:  # few observed: look further
        near, far = (1, 2, 3), tuple(range(6, 13))
    (a, pairs), (b, _) = mean_square_difference(obs, modes, near), mean_square_difference(obs, modes, far)
    if pairs < ENOUGH_PAIRS or b <= 0:
        return np.nan, 0.0
    step = float(np.mean(near) / (np.mean(far) - np.mean(near)))
    return a / b, float(np.sqrt(max(a - step * (b - a), 0.0) / 2))


def period(obs: Observations, mode: int) -> int | None:
    """After how many steps along a mode the data repeat (24 hours, 7 days, 12 months); None if they do not.

    Autocorrelation of the differences of neighbours, so that slow changes of level do not count, over the fibres that
    are observed best; gaps of more than a step or two are left out of every product. The first lag of 3 or more that
    stands out among its neighbours, does so again at twice its length, and is the largest such.
    """
    length = obs.shape[mode]
    if length < 12 or obs.size > DENSE_LIMIT:
        return None
    X, M = _best_fibres(obs, mode)
    correlation = _autocorrelation(X, M)
    longest = min(len(correlation) // 3, LONGEST_PERIOD)
    best, strength = None, 0.0
    for lag in range(SHORTEST_PERIOD, longest + 1):
        here, twice = correlation[lag], correlation[2 * lag]
        around = correlation[[lag - 1, lag + 1]]
        if correlation[1:lag].min() >= 0:  # changes over a period sum to zero, so that it falls below before it returns
            continue
        if here >= around.max() and min(here, twice) > LIKELIER * strength:  # a multiple is no better
            best, strength = lag, float(min(here, twice))
    # of independent numbers the autocorrelation is off by about 1 / sqrt(how many there are)
    if best is None or strength <= max(SURELY / np.sqrt(max(M.sum(), 1.0)), WEAKEST):
        return None
    return _refine_lag(correlation, best)


def _refine_lag(correlation: Array, lag: int) -> int:
    """The lag, one near it, or a fraction of it: the one whose multiples have the highest mean autocorrelation. Noise
    moves a wide peak by a step (23 for 24), or makes twice the period stand out. Of a fraction it is the multiples that
    are none of the lag that tell: halves of a year may be alike, and years more so.
    """
    lag = _best_lag_near(correlation, lag)
    for parts in range(lag // SHORTEST_PERIOD, 1, -1):
        shorter = _best_lag_near(correlation, round(lag / parts))
        if LIKELIER * _mean_at_multiples(correlation, shorter, lag) >= _mean_at_multiples(correlation, lag):
            return shorter
    return lag


def _best_lag_near(correlation: Array, lag: int) -> int:
    """The lag within NEAR steps of this one whose multiples have the highest mean autocorrelation."""
    near = [k for k in range(lag - NEAR, lag + NEAR + 1) if k >= SHORTEST_PERIOD]
    return max(near, key=lambda k: (_mean_at_multiples(correlation, k), k == lag))


def _mean_at_multiples(correlation: Array, lag: int, longer: int = 0) -> float:
    """The mean over multiples of a lag, as far as there are pairs enough, but for those that are multiples of a longer
    one, too.
    """
    turns = np.arange(1, max(2 * len(correlation) // 3 // lag, 1) + 1)
    own = turns[turns % round(longer / lag) > 0] if longer > 1.5 * lag else turns
    return float(correlation[lag * own].mean())


def _best_fibres(obs: Observations, mode: int) -> tuple[Array, Array]:
    """(values, observed) of the up to FIBRES fibres along a mode that have most of them: (steps, fibres) each."""
    rest = [n for n in range(obs.ndim) if n != mode]
    others = tuple(obs.shape[n] for n in rest)
    if obs.size // obs.shape[mode] > obs.nnz:  # most fibres are empty: count those that are not
        fibre = np.ravel_multi_index(tuple(obs.indices[:, n] for n in rest), others)
        fibres, count = np.unique(fibre, return_counts=True)
    else:
        count = np.count_nonzero(obs.mask, axis=mode).ravel()
        fibres = np.arange(len(count))
    chosen = np.argsort(-count, kind="stable")[: min(FIBRES, np.count_nonzero(count))]
    where = [i[None, :] for i in np.unravel_index(fibres[chosen], others)]
    first = STRETCH * int(np.argmax(np.bincount(obs.indices[:, mode] // STRETCH)))
    where.insert(mode, np.arange(first, min(first + STRETCH, obs.shape[mode]))[:, None])
    wanted = np.ravel_multi_index(tuple(where), obs.shape)
    at = np.minimum(np.searchsorted(obs.flat, wanted), obs.nnz - 1)
    M = (obs.flat[at] == wanted).astype(np.float64)
    return np.where(M, obs.values[at], 0).astype(np.float64), M


def _neighbour_differences(X: Array, M: Array) -> tuple[Array, Array]:
    """(differences of neighbours in each column, which of them are known), (I_n - 1, fibres) each.

    Across a short gap each step has its share of the difference. Of a series of which half is missing only a quarter
    of the neighbours are both known, and a sixteenth of their pairs: too few to see a period by.
    """
    length, at = len(X), np.arange(len(X))[:, None]
    before = np.maximum.accumulate(np.where(M > 0, at, -length), axis=0)[:-1]
    after = np.minimum.accumulate(np.where(M > 0, at, 2 * length)[::-1], axis=0)[::-1][1:]
    apart = after - before
    both = apart <= BRIDGED
    first, last = np.where(both, before, 0), np.where(both, after, 0)
    D = (np.take_along_axis(X, last, 0) - np.take_along_axis(X, first, 0)) / apart
    return D, both.astype(np.float64)


def _autocorrelation(X: Array, M: Array) -> Array:
    """Of the differences of neighbours in each column, standardised, long gaps left out: (lags,)."""
    D, both = _neighbour_differences(X, M)
    level = (D * both).sum(axis=0) / np.maximum(both.sum(axis=0), 1.0)
    D = (D - level) * both
    size = np.sqrt((D**2).sum(axis=0) / np.maximum(both.sum(axis=0), 1.0))
    D = np.divide(D, size, out=np.zeros_like(D), where=size > 0)
    length = len(D)
    padded = 2 * length
    power = (np.abs(np.fft.rfft(D, padded, axis=0)) ** 2).sum(axis=1)
    pairs = (np.abs(np.fft.rfft(both, padded, axis=0)) ** 2).sum(axis=1)
    products, counts = np.fft.irfft(power)[:length], np.fft.irfft(pairs)[:length]
    return np.where(counts > 0.5, products / np.maximum(counts, 0.5), 0.0)
