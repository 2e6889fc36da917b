"""Steps after the last one: the data with empty slices appended to a mode, and its labels continued."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.dates import written_like
from tensorfill.data.formats.base import Loaded
from tensorfill.data.labels import tidy
from tensorfill.data.observations import Observations
from tensorfill.data.sources import (
    ArraySource,
    CarriedSource,
    FrameSource,
    LineSource,
    MatrixSource,
    SeriesSource,
    XarraySource,
)

Array = NDArray[Any]

PLAIN = "npy"


def extended(obs: Observations, mode: int, count: int) -> Observations:
    """The same observations of a tensor with `count` more slices along `mode`, after the last."""
    shape = tuple(n + count * (k == mode) for k, n in enumerate(obs.shape))
    places = obs.positions
    if places is not None and places[mode] is not None:
        places = tuple(
            _continued(at, count, obs.dims[k]) if k == mode and at is not None else at for k, at in enumerate(places)
        )
    return replace(obs, shape=shape, source=_extended(obs.source, mode, count, obs.dims[mode]), positions=places)


def extended_file(loaded: Loaded, mode: int, count: int) -> Loaded:
    """The same for what was read from a file: labels are continued. What else the file held (metadata of its format) is
    dropped, because it does not describe the new slices.
    """
    shape = tuple(n + count * (k == mode) for k, n in enumerate(loaded.shape))
    labels = loaded.labels
    if loaded.dims is not None and labels is not None and loaded.dims[mode] in labels:
        dim = loaded.dims[mode]
        labels = {**labels, dim: [*labels[dim], *_continued_texts(labels[dim], count, dim)]}
    extra: dict[str, Any] = {key: loaded.extra[key] for key in ("form", "floating") if key in loaded.extra}
    if loaded.values is None:
        return replace(loaded, format=PLAIN, shape=shape, labels=labels, extra=extra)
    values, mask = _padded(loaded.values, loaded.observed(), mode, count)
    return replace(loaded, format=PLAIN, shape=shape, values=values, mask=mask, labels=labels, extra=extra)


def _padded(array: Array, observed: Array, mode: int, count: int) -> tuple[Array, Array]:
    width = [(0, count * (k == mode)) for k in range(array.ndim)]
    return np.pad(np.ma.getdata(array), width), np.pad(observed, width)


def _extended(source: Any, mode: int, count: int, dim: str) -> Any:
    if source is None:
        return None
    if isinstance(source, ArraySource):
        array, observed = _padded(source.array, source.observed, mode, count)
        masked = isinstance(source.array, np.ma.MaskedArray)
        return replace(source, array=np.ma.MaskedArray(array, mask=~observed) if masked else array, observed=observed)
    if isinstance(source, XarraySource):
        return XarraySource(_extended_xarray(source.da, mode, count), _extended(source.inner, mode, count, dim))
    if isinstance(source, MatrixSource):
        axis = source.frame.index if mode == 0 else source.frame.columns
        again = np.append(np.arange(len(axis)), np.full(count, len(axis) - 1))
        frame = source.frame.iloc[again] if mode == 0 else source.frame.iloc[:, again]
        new = axis.append(_continued_index(axis, count, dim))
        frame = frame.set_axis(new, axis=mode)
        return MatrixSource(frame, _extended(source.inner, mode, count, dim))
    if isinstance(source, FrameSource):
        labels = list(source.labels)
        labels[mode] = np.append(labels[mode], _continued(labels[mode], count, dim, only_new=True))
        return replace(source, labels=tuple(labels))
    if isinstance(source, SeriesSource | LineSource):
        return replace(source, inner=_extended(source.inner, mode, count, dim))
    if isinstance(source, CarriedSource):
        beside = [str(c) for n, c in enumerate(source.frame.columns) if n not in source.places]
        msg = f"horizon cannot continue the columns that are not numbers; got {', '.join(beside)}. Make labels the "
        msg += f"index, frame.set_index({beside[0]!r}), and leave other columns out."
        raise TypeError(msg)
    msg = f"horizon appends to arrays, xarray and pandas; got {type(source).__name__}. Convert the data to one of them."
    raise TypeError(msg)


def _extended_xarray(da: Any, mode: int, count: int) -> Any:
    """Values of the new slices do not matter: they are unknown."""
    dim = da.dims[mode]
    again = np.append(np.arange(da.sizes[dim]), np.full(count, da.sizes[dim] - 1))
    beside = [name for name, c in da.coords.items() if dim in c.dims and name != dim]  # not known for new steps
    out = da.drop_vars(beside).isel({dim: again})
    if dim not in da.indexes:
        return out
    index = da.indexes[dim]
    return out.assign_coords({dim: (dim, index.append(_continued_index(index, count, str(dim))), da[dim].attrs)})


def _continued_index(index: Any, count: int, dim: str) -> Any:
    """The next labels of a pandas index, in its own type."""
    import pandas as pd

    if isinstance(index, pd.PeriodIndex):
        return pd.period_range(index[-1] + 1, periods=count, freq=index.freq, name=index.name)
    if isinstance(index, pd.MultiIndex):
        msg = f"horizon needs one label for each entry of {dim}; got several levels."
        raise TypeError(msg)
    zone = getattr(index, "tz", None)
    plain = index.tz_convert("UTC").tz_localize(None) if zone is not None else index
    new = pd.Index(_continued(plain.to_numpy(), count, dim, only_new=True), name=index.name)
    return new if zone is None else new.tz_localize("UTC").tz_convert(zone)


def _continued_texts(labels: Any, count: int, dim: str) -> list[Any]:
    """The next labels of a file, written as those before are."""
    at = tidy(labels)
    new = _continued(at, count, dim, only_new=True)
    if not isinstance(labels[0], str):
        return new.tolist() if new.dtype.kind != "M" else list(new)
    if new.dtype.kind != "M":
        return [str(x) for x in new.tolist()]
    texts = written_like(labels, new)
    if texts is not None:
        return list(texts)
    days = bool((new == new.astype("M8[D]")).all())
    return [str(x) for x in np.datetime_as_string(new, unit="D" if days else "s")]


def _continued(labels: Array, count: int, dim: str, *, only_new: bool = False) -> Array:
    """The labels (k,) continued by even steps or calendar months: (k + count,), or only the `count` new ones."""
    at = np.asarray(labels)
    new = _next(at, count)
    if new is None:
        msg = (
            f"horizon needs labels along {dim} that go on by even steps, dates or numbers; these end with "
            f"{at[-1]!s}. Number them, or leave them out."
        )
        raise ValueError(msg)
    return new if only_new else np.append(at, new)


def _next(at: Array, count: int) -> Array | None:
    """The next `count` labels, (count,), in the type of those before; None if these do not follow even steps."""
    ahead = np.arange(1, count + 1)
    if len(at) < 2 or at.dtype.kind not in "Miuf":
        return None
    if at.dtype.kind != "M":
        steps = np.diff(at)
        even = (
            bool(np.allclose(steps, steps[0], rtol=1e-6)) if at.dtype.kind == "f" else bool((steps == steps[0]).all())
        )
        return (at[-1] + ahead * steps[0]).astype(at.dtype) if even and steps[0] else None
    if np.isnat(at).any():
        return None
    for late in (np.timedelta64(0, "D"), np.timedelta64(1, "D")):  # firsts of a month, or its last days
        months = (at + late).astype("M8[M]")
        steps = np.diff(months)
        if (months == at + late).all() and (steps == steps[0]).all() and steps[0]:
            return ((months[-1] + ahead * steps[0]).astype("M8[D]") - late).astype(at.dtype)
    steps = np.diff(at)
    return at[-1] + ahead * steps[0] if (steps == steps[0]).all() and steps[0] else None
