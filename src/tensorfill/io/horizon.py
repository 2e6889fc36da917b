"""Steps after the last one: the data with empty slices appended to a mode, and its labels continued."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.dates import format_like
from tensorfill.data.labels import axis_labels, tidy, with_positions
from tensorfill.data.observations import Observations
from tensorfill.data.sources import (
    ArraySource,
    CarriedSource,
    ConvertedSource,
    EncodedSource,
    FrameSource,
    MatrixSource,
    XarraySource,
)
from tensorfill.io.dataarrays import DatasetSource
from tensorfill.io.formats.base import Loaded

Array = NDArray[Any]

PLAIN = "npy"


def extend_data(obs: Observations, mode: int, count: int) -> Observations:
    """The same observations of a tensor with `count` more slices along `mode`, after the last."""
    shape = tuple(n + count * (k == mode) for k, n in enumerate(obs.shape))
    source = _extend(obs.source, mode, count, obs.dims[mode])
    made = replace(obs, shape=shape, source=source, positions=None)
    places, at = obs.positions, None if obs.positions is None else obs.positions[mode]
    if places is None or at is None:
        return replace(made, positions=places)
    if obs.dims[mode] in axis_labels(made):
        return with_positions(made)
    longer = np.append(at, at[-1] + np.arange(1.0, count + 1))  # positions count median steps
    return replace(made, positions=(*places[:mode], longer, *places[mode + 1 :]))


def extend_file(loaded: Loaded, mode: int, count: int) -> Loaded:
    """The same for what was read from a file: labels are continued. What else the file held (metadata of its format) is
    dropped, because it does not describe the new slices.
    """
    shape = tuple(n + count * (k == mode) for k, n in enumerate(loaded.shape))
    labels = loaded.labels
    if loaded.dims is not None and labels is not None and loaded.dims[mode] in labels:
        dim = loaded.dims[mode]
        labels = {**labels, dim: [*labels[dim], *_continue_texts(labels[dim], count, dim)]}
    extra: dict[str, Any] = {key: loaded.extra[key] for key in ("form", "floating") if key in loaded.extra}
    if loaded.values is None:
        return replace(loaded, format=PLAIN, shape=shape, labels=labels, extra=extra)
    values, mask = _pad(loaded.values, loaded.observed(), mode, count)
    return replace(loaded, format=PLAIN, shape=shape, values=values, mask=mask, labels=labels, extra=extra)


def _pad(array: Array, observed: Array, mode: int, count: int) -> tuple[Array, Array]:
    width = [(0, count * (k == mode)) for k in range(array.ndim)]
    return np.pad(np.ma.getdata(array), width), np.pad(observed, width)


def _extend(source: Any, mode: int, count: int, dim: str) -> Any:
    if source is None:
        return None
    if isinstance(source, ArraySource):
        array, observed = _pad(source.array, source.observed, mode, count)
        masked = isinstance(source.array, np.ma.MaskedArray)
        return replace(source, array=np.ma.MaskedArray(array, mask=~observed) if masked else array, observed=observed)
    if isinstance(source, XarraySource):
        return XarraySource(_extend_xarray(source.da, mode, count), _extend(source.inner, mode, count, dim))
    if isinstance(source, MatrixSource):
        axis = source.frame.index if mode == 0 else source.frame.columns
        frame = source.frame.take(_repeat_last(len(axis), count), axis=mode)
        frame = frame.set_axis(axis.append(next_labels(axis, count, dim)), axis=mode)
        return MatrixSource(frame, _extend(source.inner, mode, count, dim))
    if isinstance(source, FrameSource):
        labels = list(source.labels)
        index = _index(labels[mode])
        labels[mode] = index.append(next_labels(index, count, dim))
        return replace(source, labels=tuple(labels))
    if isinstance(source, CarriedSource | EncodedSource):
        return _extend_carried(source, mode, count, dim)
    if isinstance(source, ConvertedSource | DatasetSource):
        return replace(source, inner=_extend(source.inner, mode, count, dim))
    msg = f"horizon appends to arrays, xarray, pandas and polars; got {type(source).__name__}. Convert the data first."
    raise TypeError(msg)


def _repeat_last(length: int, count: int) -> Array:
    """Positions of all slices, and of the last once more for each new one: what is in these does not matter."""
    return np.append(np.arange(length), np.full(count, length - 1))


def _extend_carried(source: Any, mode: int, count: int, dim: str) -> Any:
    """A table with columns that are no numbers: only that of the labels, which go on, can be continued."""
    numbers = getattr(source, "places", range(source.frame.shape[1]))
    beside = [n for n in range(source.frame.shape[1]) if n not in numbers]
    labelled = [source.frame.columns[n] for n in beside] == [dim]
    if mode != 0 or not labelled:
        names = [str(source.frame.columns[n]) for n in beside] or ["categories or dates"]
        msg = f"horizon cannot continue the columns that are not numbers; got {', '.join(names)}. Make labels the "
        msg += f"index, frame.set_index({names[0]!r}), and leave other columns out."
        raise TypeError(msg)
    inner = _extend(source.inner, mode, count, dim)
    frame = source.frame.take(_repeat_last(len(source.frame), count)).reset_index(drop=True)
    frame.isetitem(beside[0], inner.frame.index)
    return replace(source, frame=frame, inner=inner)


def _extend_xarray(da: Any, mode: int, count: int) -> Any:
    """Values of the new slices do not matter: they are unknown."""
    dim = da.dims[mode]
    again = _repeat_last(da.sizes[dim], count)
    beside = [name for name, c in da.coords.items() if dim in c.dims and name != dim]  # not known for new steps
    out = da.drop_vars(beside).isel({dim: again})
    if dim not in da.indexes:
        return out
    index = da.indexes[dim]
    return out.assign_coords({dim: (dim, index.append(next_labels(index, count, str(dim))), da[dim].attrs)})


def _index(labels: Any) -> Any:
    import pandas as pd  # only where there are labels

    return pd.Index(labels)


def next_labels(index: Any, count: int, dim: str) -> Any:
    """The next labels of a pandas index, in its own type: by the calendar, or by even steps."""
    import pandas as pd

    if isinstance(index, pd.PeriodIndex):
        return pd.period_range(index[-1] + 1, periods=count, freq=index.freq, name=index.name)
    if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
        freq = _frequency(index)
        new = None if freq is None else pd.Index([index[-1] + freq * k for k in range(1, count + 1)])
    else:
        new = _next_numbers(index, count)
    if new is None:
        raise ValueError(_why_uneven(index, dim))
    return new.astype(index.dtype).rename(index.name)


def _frequency(index: Any) -> Any:
    """The offset by which dates or durations go on, None where it is not always the same one."""
    import pandas as pd

    if len(index) < 2 or index.hasnans or index[0] == index[1]:
        return None
    if len(index) == 2:
        for freq in ("MS", "ME") if isinstance(index, pd.DatetimeIndex) else ():
            months = pd.date_range(*index, freq=freq)
            if len(months) > 1 and months[0] == index[0] and months[-1] == index[1]:
                return (len(months) - 1) * months.freq
        return index[1] - index[0]
    with warnings.catch_warnings(action="ignore"):  # of pandas 3.1, that its next version will give the offset itself
        freq = index.freq or pd.infer_freq(index)
    return None if freq is None else pd.tseries.frequencies.to_offset(freq)


def _next_numbers(index: Any, count: int) -> Any:
    if len(index) < 2 or index.dtype.kind not in "iuf":
        return None
    import pandas as pd

    at = index.to_numpy()
    steps = np.diff(at)
    even = np.allclose(steps, steps[0], rtol=1e-6) if at.dtype.kind == "f" else (steps == steps[0]).all()
    return pd.Index(at[-1] + np.arange(1, count + 1) * steps[0]) if even and steps[0] else None


def _why_uneven(index: Any, dim: str) -> str:
    """The sentence for labels that cannot be continued; it names the first absent one if they would be even with it."""
    import pandas as pd

    to_offset = pd.tseries.frequencies.to_offset
    if isinstance(index, pd.MultiIndex):
        return f"horizon needs one label for each entry of {dim}; got several levels."
    if isinstance(index, pd.DatetimeIndex) and index.is_monotonic_increasing and len(index) > 3:
        half = len(index) // 2
        usual = to_offset(pd.Series(index[1:] - index[:-1]).mode()[0])
        usual = to_offset("D") if usual == to_offset("24h") and index.tz is None else usual
        for freq in (_frequency(index[:half]), _frequency(index[half:]), usual):
            full = None if freq is None else pd.date_range(index[0], index[-1], freq=freq)
            if full is not None and len(full) < 2 * len(index) and index.isin(full).all():
                absent = full.difference(index)
                more = "is" if len(absent) == 1 else f"and {len(absent) - 1:,} more are"
                missing = f"horizon needs even steps along {dim}; {absent[0]} {more} absent"
                return f"{missing}. Add empty rows, in pandas df.asfreq({to_offset(freq).freqstr!r})."
    return (
        f"horizon needs labels along {dim} that go on by even steps, dates or numbers; these end with "
        f"{index[-1]!s}. Number them, or leave them out."
    )


def _continue_texts(labels: Any, count: int, dim: str) -> list[Any]:
    """The next labels of a file, written as those before are."""
    new = next_labels(_index(tidy(labels)), count, dim).to_numpy()
    if not isinstance(labels[0], str):
        return new.tolist() if new.dtype.kind != "M" else list(new)
    if new.dtype.kind != "M":
        return [str(x) for x in new.tolist()]
    texts = format_like(labels, new)
    if texts is not None:
        return list(texts)
    days = bool((new == new.astype("M8[D]")).all())
    return [str(x) for x in np.datetime_as_string(new, unit="D" if days else "s")]
