"""Neural networks for series in `bench choose`: those of PyPOTS, where it is installed.

Design: all series together are cut into windows, as the examples of PyPOTS do, and standardised one by one. What the
examples set is set as they do, all else is left as it is.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill_benchmarks.choose_data import DataSet, optional
from tensorfill_benchmarks.choose_gaps import flat_time, from_flat_time

Array = NDArray[Any]
Network = Callable[[Array], Array]  # windows (k, steps, series) with NaN in the gaps -> the same, filled

STEPS = 48  # of a window
SETTINGS: dict[str, dict[str, Any]] = {
    "SAITS": {"n_layers": 2, "d_model": 256, "n_heads": 4, "d_k": 64, "d_v": 64, "d_ffn": 128, "dropout": 0.1},
    "BRITS": {"rnn_hidden_size": 128},
}


def installed() -> list[str]:
    """The names of the networks that can be run here."""
    return [name.lower() for name in SETTINGS] if importlib.util.find_spec("pypots") else []


def load(name: str) -> Callable[[DataSet, Array], Array | str]:
    """What fills a set by the network of that name; its library is loaded now, which is not to be timed."""
    title = name.upper()
    made = getattr(optional("pypots.imputation"), title)
    seeded = optional("pypots.utils.random").set_random_seed

    def network(windows: Array) -> Array:
        seeded(0)
        _, steps, series = windows.shape
        model = made(n_steps=steps, n_features=series, verbose=False, device="cpu", **SETTINGS[title])
        model.fit({"X": windows})
        return np.asarray(model.impute({"X": windows}))

    return partial(fill, network)


def fill(network: Network, data: DataSet, T: Array) -> Array | str:
    """Windows of 48 steps, filled by the network and put together again; a sentence where no mode is time."""
    if not data.time:
        return "no mode is time"
    U = flat_time(data, T)
    seen = ~np.isnan(U)
    count = np.maximum(seen.sum(axis=0), 1)
    mean = np.where(seen, U, 0).sum(axis=0) / count
    spread = np.sqrt(np.where(seen, (U - mean) ** 2, 0).sum(axis=0) / count)
    spread[spread == 0] = 1
    steps = min(STEPS, len(U))
    starts = [*range(0, len(U) - steps, steps), len(U) - steps]
    windows = np.stack([((U - mean) / spread)[k : k + steps] for k in starts]).astype(np.float32)
    out = np.empty_like(U)
    for start, window in zip(starts, network(windows), strict=True):
        out[start : start + steps] = window * spread + mean
    return from_flat_time(data, np.where(seen, U, out))
