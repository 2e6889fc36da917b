"""complete: the one verb."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from tensorfill.completion import Completion
from tensorfill.data.convert import observe
from tensorfill.errorbars import complete_with_bars
from tensorfill.methods.base import METHODS, Run
from tensorfill.registry import did_you_mean
from tensorfill.solvers.loop import Callback

EFFORTS = ("normal", "best")


def complete(
    data: Any,
    mask: ArrayLike | None = None,
    *,
    method: str = "auto",
    effort: str = "normal",
    weights: ArrayLike | None = None,
    dims: Sequence[str] | None = None,
    seed: int = 0,
    callback: Callback | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    max_iter: int | None = None,
    seconds: float | None = None,
    error_bars: float | None = None,
    **settings: Any,
) -> Completion:
    """Fill the missing entries of `data`.

    Parameters
    ----------
    data : array with NaN for missing, numpy.ma, xarray DataArray, pandas table, or Observations
    mask : True = observed, of the data's shape or of its first modes
    method : "auto", or a name from `tensorfill list methods`
    effort : "normal", or "best" to take a few times as long for pictures and video
    weights : how much each entry counts, > 0
    dims : names of the modes
    seed : everything random follows from it
    callback : called as callback(state, history) after every iteration; True stops the run
    checkpoint, resume : save the run there as it goes; go on from there
    max_iter, seconds : limits
    error_bars : 0.9 for intervals that hold nine of ten unknown entries, in `.interval`; takes a second run
    **settings : of the method: prior="poisson", rank=20, smooth={"hour": 1.0}, ...; a misspelt one is refused

    Returns
    -------
    Completion : `.completed` is the answer in the type of `data`; see also `.estimate`, `.factors`, `.status`
    """
    if effort not in EFFORTS:
        msg = f"effort must be one of {', '.join(EFFORTS)}; got {effort!r}."
        raise ValueError(msg)
    name = "auto-best" if method == "auto" and effort == "best" else method
    if effort == "best" and name != "auto-best":
        msg = f'effort="best" belongs to method="auto"; got method={method!r}.'
        raise ValueError(msg)
    obs = observe(data, mask, weights=weights, dims=dims)
    cls = METHODS[name]
    known = [f for f in getattr(cls, "__dataclass_fields__", {})]
    for key in settings:
        if key not in known:
            msg = (
                f"settings of method {name!r} must be among {', '.join(known)}; got {key!r}.{did_you_mean(key, known)}"
            )
            raise TypeError(msg)
    run = Run(seed, callback, checkpoint, resume, max_iter, seconds)
    recipe = cls(**settings)
    return recipe.complete(obs, run) if error_bars is None else complete_with_bars(obs, recipe, run, error_bars)
