"""Completion: the result of a run, whichever method made it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tensorfill.data.atomic import replacing
from tensorfill.data.convert import ArraySource, cast_like
from tensorfill.data.observations import Observations
from tensorfill.models.cp import CP
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.result.record import Bars, History, Row, Status

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[Any]


@dataclass(frozen=True, eq=False, repr=False)
class Completion:
    """A completed tensor, and how it came about.

    Attributes
    ----------
    observations : what was known
    method : the recipe that ran
    status : why it stopped; `status.sentence` says it in words
    history : objective and held-out error over the iterations
    settings : everything that made this result, JSON-able
    prior : the numerical prior (None for methods without one)
    factors : list of (I_n, R), or None for methods without factors
    """

    observations: Observations
    method: str
    status: Status
    history: History
    settings: Mapping[str, Any] = field(default_factory=dict)
    prior: NumericalPrior | None = None
    factors: list[Array] | None = None
    dense: Array | None = None  # the estimate itself, for methods that make it directly
    held_out: float = np.nan  # mean loss on observed entries that were set aside
    error: float = np.nan  # root mean square error on them, in the unit of the data
    bars: Bars | None = None  # error bars, where they were asked for
    took: float = np.nan  # seconds, with everything that was tried on the way

    @cached_property
    def estimate(self) -> Array:
        """The model's mean at every entry, observed or not: full shape, float."""
        if self.dense is not None:
            return self.dense
        self.observations._refuse_huge("the estimate")
        return self._mean(self.model.full())

    @cached_property
    def completed(self) -> Any:
        """The input with its gaps filled, in the input's own type; observed entries bit for bit."""
        obs = self.observations
        if obs.source is not None:
            return obs.source.fill(self.estimate)
        dtype = np.dtype(self.settings.get("dtype", obs.values.dtype))
        out = cast_like(self.estimate, dtype)
        out = np.array(out, copy=True) if out is self.estimate else out
        out.reshape(-1)[obs.flat] = obs.values.astype(dtype)
        return out

    def with_factors(self, factors: list[Array]) -> Completion:
        """The same run with other factors."""
        return replace(self, factors=factors)

    def with_estimate(self, X: Array) -> Completion:
        """The same run with its estimate refined to X, full shape; the factors stay those of the fit behind it."""
        return replace(self, dense=X)

    def at(self, indices: ArrayLike) -> Array:
        """The estimate at the coordinates (k, N), without forming the whole tensor: (k,)."""
        where = np.atleast_2d(np.asarray(indices))
        if self.dense is not None:
            return self.dense[tuple(where.T)]
        return self._mean(self.model.at(where))

    @property
    def interval(self) -> tuple[Array, Array]:
        """(low, high), full shape: where the truth lies at `bars.level` of the unknown entries. The known are known."""
        if self.bars is None:
            asked = "error_bars" in self.settings  # and the run ended before it came to them
            why = "it was stopped before they were made" if asked else "ask for them: complete(..., error_bars=0.9)"
            msg = f"this run has no error bars; {why}."
            raise AttributeError(msg)
        obs = self.observations
        middle = np.array(self.estimate, dtype=np.float64)
        middle.reshape(-1)[obs.flat] = obs.values
        low, high = middle - self.bars.half, middle + self.bars.half
        if self.prior is None:
            return low, high
        return self.prior.t_domain.clip(low), self.prior.t_domain.clip(high)

    @property
    def model(self) -> CP:
        """The low-rank model behind the estimate."""
        if self.factors is None:
            msg = f"method {self.method!r} has no factors; use done.estimate."
            raise AttributeError(msg)
        return CP(self.factors)

    @property
    def rank(self) -> int | None:
        return None if self.factors is None else self.factors[0].shape[1]

    @property
    def seconds(self) -> float:
        """How long the run took."""
        if np.isfinite(self.took):
            return self.took
        return float(self.history["seconds"][-1]) if len(self.history) else np.nan

    @property
    def iterations(self) -> int:
        return int(self.history["iteration"][-1]) if len(self.history) else 0

    @property
    def quality(self) -> str:
        """How good the fill is, judged on known entries that were set aside; empty where none were."""
        if not np.isfinite(self.error):
            return ""
        if "units" in self.settings:
            slices = self.settings["units"]["dim"]
            return f"typical error {self.error:.2g} of the spread of its slice of {slices}, on known entries set aside"
        spread = float(self.observations.values.astype(np.float64).std())
        bars = "" if self.bars is None else f"; {100 * self.bars.level:.4g}% within {self._typical_bar():.3g}"
        return f"typical error {self.error:.4g} on known entries set aside{bars}; the data spread by {spread:.4g}"

    def _typical_bar(self) -> float:
        """Median half width of the error bars where something was missing."""
        half = self.bars.half[~self.observations.mask] if self.bars is not None else np.empty(0)
        return float(np.median(half)) if half.size else 0.0

    def _mean(self, x: Array) -> Array:
        return x if self.prior is None else self.prior.mean(x)

    # --- other libraries ----------------------------------------------------------------------------------------

    def to_tensorly(self) -> Any:
        """The factors as a TensorLy CPTensor (weights all one)."""
        from tensorfill.data.optional import attempt_import

        cp = attempt_import("tensorly.cp_tensor", "exporting to TensorLy", "bench")
        return cp.CPTensor((np.ones(self.model.rank, dtype=self.model.factors[0].dtype), list(self.model.factors)))

    def to_pyttb(self) -> Any:
        """The factors as a pyttb ktensor (weights all one)."""
        from tensorfill.data.optional import attempt_import

        pyttb = attempt_import("pyttb", "exporting to pyttb", "bench")
        return pyttb.ktensor([np.asfortranarray(A, dtype=np.float64) for A in self.model.factors])

    # --- disk ---------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write to `path` (npz, no pickle), replacing what is there in one move."""
        obs = self.observations
        arrays: dict[str, Array] = {"indices": obs.indices, "values": obs.values}
        if obs.weights is not None:
            arrays["weights"] = obs.weights
        array = getattr(getattr(obs.source, "inner", obs.source), "array", None)
        if array is not None and array.dtype != obs.values.dtype:  # so that `completed` comes back in that type
            arrays["given"] = np.ma.getdata(array)[obs.mask]
        if self.dense is not None:
            arrays["dense"] = self.dense
        if self.bars is not None:
            arrays["bars"] = self.bars.half
        for n, A in enumerate(self.factors or []):
            arrays[f"A{n}"] = A
        arrays["history"] = np.array(
            [(r.iteration, r.seconds, r.value, r.held_out) for r in self.history], dtype=np.float64
        ).reshape(-1, 4)
        meta = {
            "format": 1,
            "shape": obs.shape,
            "dims": obs.dims,
            "method": self.method,
            "status": self.status.name,
            "settings": dict(self.settings),
            "prior": None if self.prior is None else {"name": self.prior.name, **self.prior.settings()},
            "held_out": self.held_out,
            "error": self.error,
            "took": self.took,
            "level": None if self.bars is None else self.bars.level,
            "modes": len(self.factors or []),
        }
        arrays["meta"] = np.frombuffer(json.dumps(meta, default=_plain).encode(), dtype=np.uint8)
        with replacing(path) as file:
            np.savez_compressed(file, **arrays)  # type: ignore[arg-type]

    @staticmethod
    def load(path: str | Path, *, prior: NumericalPrior | None = None) -> Completion:
        """Read back what `save` wrote. `prior` is needed only when it was a Custom one made from a function."""
        try:
            with open(path, "rb") as raw, np.load(raw, allow_pickle=False) as file:
                arrays = {k: file[k] for k in file.files}
        except (ValueError, EOFError, AttributeError, zipfile.BadZipFile) as error:
            msg = f"{path} must be a file written by Completion.save; it cannot be read ({error})."
            raise ValueError(msg) from error
        if "meta" not in arrays:
            msg = f"{path} must be a file written by Completion.save; it has no 'meta' entry."
            raise ValueError(msg)
        meta = json.loads(arrays["meta"].tobytes())
        obs = Observations(
            tuple(meta["shape"]),
            arrays["indices"],
            arrays["values"],
            arrays.get("weights"),
            tuple(meta["dims"]),
        )
        if "given" in arrays:
            array = np.zeros(obs.shape, dtype=arrays["given"].dtype)
            array[obs.mask] = arrays["given"]
            obs = replace(obs, source=ArraySource(array, obs.mask))
        return Completion(
            observations=obs,
            method=meta["method"],
            status=Status[meta["status"]],
            history=History(tuple(Row(int(r[0]), *map(float, r[1:])) for r in arrays["history"])),
            settings=meta["settings"],
            prior=prior if prior is not None else _prior_again(meta["prior"]),
            factors=[arrays[f"A{n}"] for n in range(meta["modes"])] or None,
            dense=arrays.get("dense"),
            held_out=float(meta["held_out"]),
            error=float(meta["error"]),
            took=float(meta.get("took", np.nan)),
            bars=Bars(float(meta["level"]), arrays["bars"]) if "bars" in arrays else None,
        )

    # --- pictures -----------------------------------------------------------------------------------------------

    def plot(
        self, *, truth: ArrayLike | None = None, count: int = 4, labels: Mapping[str, Sequence[Any]] | None = None
    ) -> Figure:
        """Known and completed side by side, as fits the data: picture, frames, lines, heat map, cuts."""
        from tensorfill.show.plots import plot

        return plot(self, truth=truth, count=count, labels=labels)

    def plot_history(self) -> Figure:
        """The objective and the held-out error over the iterations."""
        from tensorfill.show.plots import plot_history

        return plot_history(self)

    def plot_factors(
        self, components: int | Sequence[int] = 6, *, labels: Mapping[str, Sequence[Any]] | None = None
    ) -> Figure:
        """The strongest components (or those listed) along each mode."""
        from tensorfill.show.plots import plot_factors

        return plot_factors(self, components, labels=labels)

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        from tensorfill.show.card import html

        return html(self)

    # --- looks --------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        obs = self.observations
        size = " x ".join(f"{d} {n}" for d, n in zip(obs.dims, obs.shape, strict=True))
        lines = [
            f"Completion by {self.method}: {size}, {obs.nnz:,} of {obs.size:,} entries observed ({obs.share:.1%})",
            f"  status    {self.status.sentence}",
        ]
        if self.prior is not None:
            from tensorfill.show.summary import model_words

            lines.append(f"  model     {model_words(self)}")
        lines.append(f"  run       {self.iterations} iterations, {self.seconds:.2f} s")
        values = self.history["value"]
        values = values[np.isfinite(values)]
        if len(values):
            lines.append(f"  objective {values[0]:.6g} -> {values[-1]:.6g}")
        if self.quality:
            lines.append(f"  how good  {self.quality}")
        return "\n".join(lines)


def _prior_again(meta: Mapping[str, Any] | None) -> NumericalPrior | None:
    if meta is None:
        return None
    settings = {k: v for k, v in meta.items() if k != "name"}
    return PRIORS[meta["name"]](**settings)


def _plain(number: Any) -> Any:
    """NumPy's numbers and arrays, which a user may have given as settings, as JSON knows them."""
    if isinstance(number, np.generic | np.ndarray):
        return number.tolist()
    msg = f"settings must be numbers, text, lists and dictionaries to be saved; got {type(number).__name__}."
    raise TypeError(msg)


def describe(factors: Sequence[Array]) -> str:
    """Shapes of factors in words, for messages."""
    return ", ".join(str(A.shape) for A in factors)
