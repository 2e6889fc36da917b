"""Steps after the last one: the data with empty slices appended to a mode, and its labels continued."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from tensorfill.data.dates import format_like
from tensorfill.data.labels import axis_labels, plain_labels, with_positions
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.data.sources import (
    ArraySource,
    ConvertedSource,
    EncodedSource,
    FrameSource,
    MatrixSource,
    XarraySource,
)
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.io.dataarrays import DatasetSource
from tensorfill.io.formats.base import Loaded
from tensorfill.io.formats.steps import all_steps, frequency, step_note
from tensorfill.io.formats.tables import with_slices
from tensorfill.typing import Array

PLAIN = "npy"
Data = TypeVar("Data", Observations, Loaded)  # observations, or the file that they are read from


def add_steps(data: Data, mode: int, count: int) -> Data:
    """The same data with `count` more slices along `mode`, after the last: labels are continued. What else a file held
    (metadata of its format, but for tables of text) is dropped, because it does not describe the new slices.
    """
    labels = _labels(data, mode)
    if labels is not None:
        dims = data.dims or ()
        labels = labels.append(next_labels(labels, count, dims[mode]))
    return _rearrange(data, mode, np.append(np.arange(data.shape[mode]), np.full(count, -1)), labels)


def add_absent_steps(data: Data, mode: int) -> Data:
    """The same with an empty slice for each step of time that has no label: 5 o'clock between 4 and 6 o'clock."""
    labels = _labels(data, mode)
    found = None if labels is None else _steps_of_labels(labels)
    if found is None or data.dims is None:
        return data
    full, take = found
    absent = full[take < 0]
    more = "" if len(absent) == 1 else f" and {len(absent) - 1:,} more"
    told = f"{data.dims[mode]}: the step {absent[0]!s}{more} had no row; empty ones were added, and are filled."
    warnings.warn(told, DataWarning, stacklevel=find_stacklevel())
    return _rearrange(data, mode, take, full)


def _labels(data: Observations | Loaded, mode: int) -> Any:
    """The labels along a mode as an index of pandas; None where there are none."""
    known = axis_labels(data) if isinstance(data, Observations) else data.labels or {}
    labels = None if data.dims is None else known.get(data.dims[mode])
    return None if labels is None else _index(labels)


def _rearrange(data: Data, mode: int, take: Array, labels: Any) -> Data:
    """The same data with other slices along `mode`: `take` (k,) names the old one of each, -1: new."""
    if isinstance(data, Loaded):
        return _rearrange_file(data, mode, take, None if labels is None else list(labels))
    return _rearrange_observations(data, mode, take, labels)


def _rearrange_observations(obs: Observations, mode: int, take: Array, labels: Any) -> Observations:
    shape = tuple(len(take) if k == mode else n for k, n in enumerate(obs.shape))
    indices = obs.indices.copy()
    indices[:, mode] = np.flatnonzero(take >= 0)[indices[:, mode]]
    source = _rearrange_source(obs.source, mode, take, labels, obs.dims[mode])
    made = replace(obs, shape=shape, indices=indices, source=source, positions=None)
    places, at = obs.positions, None if obs.positions is None else obs.positions[mode]
    if obs.dims[mode] in axis_labels(made):
        return with_positions(made)
    if places is None or at is None:
        return replace(made, positions=places)
    longer = np.append(at, at[-1] + np.arange(1.0, len(take) - len(at) + 1))  # positions count median steps
    return replace(made, positions=(*places[:mode], longer, *places[mode + 1 :]))


def _rearrange_file(loaded: Loaded, mode: int, take: Array, labels: list[Any] | None) -> Loaded:
    shape = tuple(len(take) if k == mode else n for k, n in enumerate(loaded.shape))
    extra: dict[str, Any] = {key: loaded.extra[key] for key in ("form", "floating") if key in loaded.extra}
    rows = with_slices(loaded, mode, take, labels)
    made = replace(loaded, shape=shape, extra=extra if rows is None else rows)
    made = made if rows is not None else replace(made, format=PLAIN)
    if labels is not None and loaded.dims is not None:
        dim = loaded.dims[mode]
        notes = tuple(note for note in loaded.notes if note != step_note(dim, (loaded.labels or {})[dim]))
        made = replace(made, labels={**(loaded.labels or {}), dim: labels}, notes=notes)
    if loaded.values is not None:
        values, mask = _take(loaded.values, loaded.observed(), mode, take)
        return replace(made, values=values, mask=mask)
    assert loaded.indices is not None
    indices = loaded.indices.copy()
    indices[:, mode] = np.flatnonzero(take >= 0)[indices[:, mode]]
    return replace(made, indices=indices)


def _take(array: Array, observed: Array, mode: int, take: Array) -> tuple[Array, Array]:
    """Slices and what is observed of them; what is in new ones does not matter."""
    new = np.expand_dims(take < 0, tuple(k for k in range(array.ndim) if k != mode))
    return np.ma.getdata(array).take(take, axis=mode), observed.take(take, axis=mode) & ~new


def _rearrange_source(source: Any, mode: int, take: Array, labels: Any, dim: str) -> Any:
    if source is None:
        return None
    if isinstance(source, ArraySource):
        array, observed = _take(source.array, source.observed, mode, take)
        masked = isinstance(source.array, np.ma.MaskedArray)
        return replace(source, array=np.ma.MaskedArray(array, mask=~observed) if masked else array, observed=observed)
    if isinstance(source, XarraySource):
        da, name = source.da, source.da.dims[mode]
        beside = [key for key, c in da.coords.items() if name in c.dims and key != name]  # not known for new steps
        out = da.drop_vars(beside).isel({name: take})
        if labels is not None:
            out = out.assign_coords({name: (name, labels, da[name].attrs)})
        return XarraySource(out, _rearrange_source(source.inner, mode, take, labels, dim))
    if isinstance(source, MatrixSource):
        frame = source.frame.take(take, axis=mode).set_axis(labels, axis=mode)
        return MatrixSource(frame, _rearrange_source(source.inner, mode, take, labels, dim))
    if isinstance(source, FrameSource):
        codes = source.codes.copy()
        codes[:, mode] = np.flatnonzero(take >= 0)[codes[:, mode]]
        every = (*source.labels[:mode], labels, *source.labels[mode + 1 :])
        return replace(source, labels=every, codes=codes)
    if isinstance(source, EncodedSource):
        return _rearrange_table(source, mode, take, labels, dim)
    if isinstance(source, ConvertedSource | DatasetSource):
        return replace(source, inner=_rearrange_source(source.inner, mode, take, labels, dim))
    msg = f"horizon appends to arrays, xarray, pandas and polars; got {type(source).__name__}. Convert the data first."
    raise TypeError(msg)


def _rearrange_table(source: Any, mode: int, take: Array, labels: Any, dim: str) -> Any:
    """A table with columns that are no numbers: only that of the labels, which go on, can be continued."""
    beside = [c.place for c in source.encoder.columns if c.kind != "number"]
    labelled = [source.frame.columns[n] for n in beside] == [dim]
    if mode != 0 or not labelled:
        names = [str(source.frame.columns[n]) for n in beside]
        msg = f"horizon cannot continue the columns that are not numbers; got {', '.join(names)}. Make labels the "
        msg += f"index, frame.set_index({names[0]!r}), and leave other columns out."
        raise TypeError(msg)
    inner = _rearrange_source(source.inner, mode, take, labels, dim)
    frame = source.frame.take(take).reset_index(drop=True)
    frame.isetitem(beside[0], inner.frame.index)
    return replace(source, frame=frame, inner=inner)


def _index(labels: Any) -> Any:
    import pandas as pd  # only where there are labels

    return pd.Index(labels)


def _steps_of_labels(index: Any) -> tuple[Any, Array] | None:
    """`all_steps`, also of dates in text, which go on as text."""
    if index.inferred_type != "string" or (read := plain_labels(index)).dtype.kind != "M":
        return all_steps(index)
    if (found := all_steps(_index(read))) is None:
        return None
    full, take = found
    texts = index.to_numpy(dtype=object)[take]
    texts[take < 0] = _write_like(index, full[take < 0])
    return _index(texts).astype(index.dtype).rename(index.name), take


def next_labels(index: Any, count: int, dim: str) -> Any:
    """The next labels of a pandas index, in its own type: by the calendar, or by even steps; texts as those before."""
    import pandas as pd

    if index.inferred_type == "string" and (read := plain_labels(index)).dtype.kind in "Miuf":
        return _write_like(index, next_labels(_index(read), count, dim))
    if isinstance(index, pd.PeriodIndex):
        return pd.period_range(index[-1] + 1, periods=count, freq=index.freq, name=index.name)
    if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
        freq = frequency(index)
        new = None if freq is None else pd.Index([index[-1] + freq * k for k in range(1, count + 1)])
    else:
        new = _next_numbers(index, count)
    if new is None:
        need = f"labels along {dim} that go on by even steps, dates or numbers; these end with {index[-1]!s}."
        if isinstance(index, pd.MultiIndex):
            need = f"one label for each entry of {dim}; got several levels."
        msg = f"horizon needs {need} Number them, or leave them out."
        raise ValueError(msg)
    return new.astype(index.dtype).rename(index.name)


def _next_numbers(index: Any, count: int) -> Any:
    if len(index) < 2 or index.dtype.kind not in "iuf":
        return None
    import pandas as pd

    at = index.to_numpy()
    steps = np.diff(at)
    even = np.allclose(steps, steps[0], rtol=1e-6) if at.dtype.kind == "f" else (steps == steps[0]).all()
    return pd.Index(at[-1] + np.arange(1, count + 1) * steps[0]) if even and steps[0] else None


def _write_like(labels: Any, new: Any) -> Any:
    """Dates and numbers as texts, written as those before them are."""
    moments = new.to_numpy()
    if moments.dtype.kind == "M":
        days = bool((moments == moments.astype("M8[D]")).all())
        texts = format_like(list(labels), moments) or np.datetime_as_string(moments, unit="D" if days else "s").tolist()
    else:
        texts = [str(x) for x in moments.tolist()]
    return _index(texts).astype(labels.dtype).rename(labels.name)
