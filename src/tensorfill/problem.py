"""Problem: what is minimised, Eq. 8 (gcdtc) of the paper plus an optional tensor-space term.

value = sum_i w_i nll(t_i, x_i)   L1, the plain sum over observed entries (not the mean)
      + sum_n L2_n(A_n)           inter-element priors
      + L3(X)                     tensor-space prior
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tensorfill.data.labels import slice_name
from tensorfill.data.observations import DataWarning as DataWarning
from tensorfill.data.observations import Observations
from tensorfill.data.sliceprior import prior_per_slice
from tensorfill.data.stacklevel import find_stacklevel
from tensorfill.interelement.base import InterElementPrior
from tensorfill.interelement.tensorspace import TensorSpacePrior
from tensorfill.kernels.base import Layout
from tensorfill.kernels.choose import make_layout
from tensorfill.models import CP, MODELS, Model
from tensorfill.numerical.base import PRIORS, NumericalPrior
from tensorfill.typing import Array

if TYPE_CHECKING:
    from tensorfill.kernels.dense import DenseLayout


@dataclass(frozen=True, eq=False)
class Problem:
    """Observations + rank + priors.

    Parameters
    ----------
    observations : what is known
    rank : R; of other models than CP see `tensorfill list models`
    prior : numerical prior, an object or its name; or {label of a slice: prior} for all slices of one mode
    interelement : {mode number or dimension name: InterElementPrior}; for a parameter without a mode its name, "core"
    tensorspace : prior on the whole X (dense layout only), or None
    layout : "auto", "dense" or "sampled"
    dtype : working precision; by default that of the observed values
    quiet : no warnings about the data: for problems made from one that has warned already
    model : the low-rank form of X, its name

    "Factors" are the parameters of the model, a list of matrices: of CP one (I_n, R) for each mode, see `models.base`.
    """

    observations: Observations
    rank: Any
    prior: NumericalPrior = "normal"  # type: ignore[assignment]  # a name is turned into its object
    interelement: Mapping[Any, InterElementPrior] = field(default_factory=dict)
    tensorspace: TensorSpacePrior | None = None
    layout: str = "auto"
    dtype: Any = None
    quiet: bool = False
    model: str = "cp"

    def __post_init__(self) -> None:
        obs = self.observations
        rank = MODELS[self.model].check_rank(obs.shape, self.rank)
        prior = prior_per_slice(obs, self.prior) if isinstance(self.prior, Mapping) else PRIORS.make(self.prior)
        if not isinstance(prior, NumericalPrior):
            msg = f"prior must be a NumericalPrior or one of {', '.join(PRIORS)}; got {type(prior).__name__}."
            raise TypeError(msg)
        prior.check(obs.shape)
        for part, chosen in prior.at(obs.indices).groups((obs.nnz,)):
            (obs if part is prior else obs.subset(chosen)).check_domain(part.t_domain, type(part).__name__)
        modes: dict[int, InterElementPrior] = {}
        for key, penalty in self.interelement.items():
            if not isinstance(penalty, InterElementPrior):
                msg = f"interelement[{key!r}] must be an InterElementPrior; got {type(penalty).__name__}."
                raise TypeError(msg)
            n = self._parameter(key, penalty)
            modes[n] = modes[n] + penalty if n in modes else penalty
        if self.tensorspace is not None:
            self.tensorspace.check(obs.shape)
            if self.layout == "sampled":
                msg = 'layout must be "dense" or "auto" with a tensor-space prior (it sees every entry); got "sampled".'
                raise ValueError(msg)
        dtype = np.dtype(self.dtype or obs.values.dtype)
        if dtype not in (np.dtype(np.float32), np.dtype(np.float64)):
            msg = f"dtype must be float32 or float64; got {dtype}."
            raise ValueError(msg)
        checked = {"prior": prior, "interelement": modes, "dtype": dtype, "rank": rank}
        for name, made in checked.items():
            object.__setattr__(self, name, made)
        if not self.quiet:
            for line in diagnose(obs, rank, modes, self.form):
                warnings.warn(line, DataWarning, stacklevel=find_stacklevel())

    def _parameter(self, key: Any, penalty: InterElementPrior) -> int:
        """Position in the list of factors of the one that an inter-element prior is for. `key` is a mode (number or
        dimension name) or, for a parameter that belongs to no mode, its name or position.
        """
        obs, others = self.observations, self.form.others()
        known = {name: obs.ndim + k for k, name in enumerate(others)}
        numbers = known | {n: n for n in known.values()}
        if key in numbers:  # a number where this problem was made from another, whose keys were translated already
            n = numbers[key]
            if penalty.couples(self.form.shapes(obs.shape, self.form.check_rank(obs.shape, self.rank))[n][0]):
                msg = (
                    f"interelement[{key!r}] must not tie neighbours together, because the rows of the {key} have no "
                    f"order; got {penalty}. Use Ridge."
                )
                raise ValueError(msg)
            return n
        n = obs.mode(key)
        if n >= self.form.modes(obs.ndim):
            own = ", ".join(obs.dims[: self.form.modes(obs.ndim)])
            msg = f"a {self.model} model has parameters for {own} alone; got an inter-element prior for {obs.dims[n]}. "
            msg += 'Leave that prior out, or use model="cp".'
            raise ValueError(msg)
        return n

    @property
    def form(self) -> type[Model]:
        """The class of the model."""
        return MODELS[self.model]

    # --- the objective ------------------------------------------------------------------------------------------

    def value(self, factors: Sequence[Array]) -> float:
        """The objective; inf where a constraint is broken."""
        if self.tensorspace is None:
            return self.value_given(self.kernel.predict(factors), factors)
        X = self._dense.full(factors)
        return self.value_given(X.reshape(-1)[self.observations.flat], factors) + self.tensorspace.value(X)

    def value_given(self, x: Array, factors: Sequence[Array]) -> float:
        """The objective save its tensor-space prior, given the model values x (nnz,) at the observed entries."""
        return self.data_value(x) + self._l2(factors)  # Eq. 8 (gcdtc)

    def _l2(self, factors: Sequence[Array]) -> float:
        """The sum of the inter-element priors."""
        return sum(p.value(factors[n]) for n, p in self.modes)  # Eq. 7

    def value_and_grad(self, factors: Sequence[Array]) -> tuple[float, list[Array]]:
        """The objective, and its gradient in every factor [(I_n, R)]; non-smooth priors add to the value alone."""
        factors = self.check_factors(factors)
        if self.tensorspace is None:
            total, grads = self.kernel.value_and_pullback(self.entrywise, factors)
        else:
            total, Y = self._dense_gradient(factors)
            grads = self._dense.pullback_full(Y, factors)
        return total + self._l2(factors), self._add_smooth(grads, factors)

    def _add_smooth(self, grads: list[Array], factors: Sequence[Array]) -> list[Array]:
        """`grads` [(I_n, R)], to which the gradients of the smooth inter-element priors were added in place."""
        for n, p in self.modes:
            if p.smooth is not None:
                grads[n] += p.smooth.grad(factors[n])
        return grads

    def stochastic(
        self, factors: Sequence[Array], batch: int, step: int, rng: np.random.Generator
    ) -> tuple[float, list[Array]]:
        """An unbiased estimate of `value_and_grad` from about `batch` observations, others at every step."""
        chosen = rng.choice(self.observations.nnz, size=batch, replace=False)
        part = self.on(self.observations.subset(np.sort(chosen)))
        scale = self.observations.nnz / batch
        layout = part._layout("sampled")
        total, grads = layout.value_and_pullback(part.entrywise, factors)
        for G in grads:
            G *= G.dtype.type(scale)
        return scale * total + self._l2(factors), self._add_smooth(grads, factors)

    def _dense_gradient(self, factors: Sequence[Array]) -> tuple[float, Array]:
        """L1 + L3 and their derivative in every entry of X, full shape."""
        X = self._dense.full(factors)
        flat = self.observations.flat
        total, g = self.entrywise(0, len(flat), X.reshape(-1)[flat])
        assert self.tensorspace is not None
        extra, Y = self.tensorspace.value_and_grad(X)
        Y.reshape(-1)[flat] += g  # coordinates are unique, so += is safe
        return total + extra, Y

    def entrywise(self, start: int, stop: int, x: Array) -> tuple[float, Array]:
        """(sum of w nll, w grad (stop - start,)) of the observations start:stop, given their model values x, of the
        same shape: Y of Eq. 12 (ydef).
        """
        nll, g = self.prior_of(slice(start, stop)).nll_and_grad(self.t[start:stop], x)
        if self.w is not None:
            nll, g = nll * self.w[start:stop], g * self.w[start:stop]
        return float(nll.sum(dtype=np.float64)), g

    def data_value(self, x: Array) -> float:
        """L1 alone, given the model values x (nnz,) at the observed entries: Eq. 2 (fixedrank), Eq. 5, Eq. 6."""
        nll = self.prior_of().nll(self.t, x)
        return float((nll if self.w is None else nll * self.w).sum(dtype=np.float64))

    def slopes(self, x: Array) -> Array:
        """w grad (nnz,) at every observation, given the model values x (nnz,): Y of Eq. 12 (ydef) without the loss."""
        g = self.prior_of().grad(self.t, x)
        return g if self.w is None else g * self.w

    # --- parts --------------------------------------------------------------------------------------------------

    def prior_of(self, part: slice = slice(None)) -> NumericalPrior:
        """The numerical prior of these observations, in their order."""
        return self.prior.at(self.observations.indices[part])

    @property
    def modes(self) -> list[tuple[int, InterElementPrior]]:
        """(mode, inter-element prior), in order of mode."""
        return sorted(self.interelement.items())

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the tensor, (I_1, ..., I_N)."""
        return self.observations.shape

    def bounds(self, mode: int) -> tuple[float, float]:
        """Interval that every entry of factor `mode` must stay in."""
        p = self.interelement.get(mode)
        return p.bounds if p is not None else (-np.inf, np.inf)

    @cached_property
    def t(self) -> Array:
        """Observed values in working precision, (nnz,)."""
        return self.observations.values.astype(self.dtype, copy=False)

    @cached_property
    def w(self) -> Array | None:
        """Weights in working precision, (nnz,), or None."""
        weights = self.observations.weights
        return None if weights is None else weights.astype(self.dtype, copy=False)

    @cached_property
    def kernel(self) -> Layout:
        """The layout in use."""
        layout = "dense" if self.tensorspace is not None else self.layout
        return self._layout(layout)

    @property
    def _dense(self) -> DenseLayout:
        """The layout in use, which is the dense one where there is a tensor-space prior."""
        return cast("DenseLayout", self.kernel)

    def _layout(self, name: str) -> Layout:
        """A layout for these observations: "dense", "sampled", or "auto" for the one estimated to be faster."""
        return make_layout(self.observations.indices, self.form.contraction(self.shape, self.rank), name)

    @cached_property
    def parameter_shapes(self) -> list[tuple[int, int]]:
        """Shape of every parameter of the model; of CP [(I_n, R)]."""
        return self.form.shapes(self.shape, self.rank)

    def check_factors(self, factors: Sequence[Array]) -> list[Array]:
        """Factors in working precision; refuse wrong shapes."""
        want = self.parameter_shapes
        if [np.shape(A) for A in factors] != want:
            msg = f"factors must have shapes {want}; got {[np.shape(A) for A in factors]}."
            raise ValueError(msg)
        return [np.ascontiguousarray(A, dtype=self.dtype) for A in factors]

    def model_of(self, factors: Sequence[Array]) -> Model:
        """The model with these parameters."""
        return self.form.of(self.shape, self.rank, factors)

    def at(self, factors: Sequence[Array], indices: Array) -> Array:
        """Model values (k,) at the coordinates `indices` (k, N)."""
        return self.model_of(factors).at(indices)

    def on(self, observations: Observations) -> Problem:
        """The same problem for other observations of the same tensor (a held-out split), without new warnings."""
        return replace(self, observations=observations, quiet=True)

    def learned(self, factors: Sequence[Array]) -> Problem:
        """The same problem with the free parameters of its numerical prior estimated at these factors."""
        x = self.kernel.predict(self.check_factors(factors)).astype(np.float64)
        obs = self.observations
        prior = self.prior.fitted_at(obs.indices, obs.values.astype(np.float64), x, obs.weights)
        return replace(self, prior=prior, quiet=True)

    def fingerprint(self) -> str:
        """A hash of the data and the settings, to tell whether a checkpoint belongs to this problem."""
        prior = self.prior.settings() if self.prior.savable else self.prior
        modes = [(n, p.settings()) for n, p in self.modes]
        words = (self.model, self.rank, self.prior.name, prior, modes, self.tensorspace, str(self.dtype), self.layout)
        with np.printoptions(threshold=sys.maxsize):  # arrays among the settings in full, not "..."
            digest = hashlib.sha256(f"{self.observations.digest()} {words!r}".encode())
        return digest.hexdigest()[:16]


def diagnose(obs: Observations, rank: Any, modes: Mapping[Any, InterElementPrior], form: type[Model] = CP) -> list[str]:
    """Warnings about too few observations, as sentences: slices without any, and fewer than there are parameters."""
    out = []
    tied = {n for n, p in modes.items() if n < obs.ndim and p.couples(obs.shape[n])}
    empty = [(n, i) for n, i in obs.empty_slices() if n not in tied]
    if empty:
        n, i = empty[0]
        first = slice_name(obs, n, i)
        which = f"{len(empty)} slices have no observed entry, the first being {first}"
        which, them = (which, "them") if len(empty) > 1 else (f"{first} has no observed entry", "it")
        out.append(
            f"{which}: expect no more than an average there. Leave {them} out; or, if neighbours are alike, add "
            f"smoothness along {obs.dims[n]}."
        )
    parameters = form.free(obs.shape, rank)
    if parameters > obs.nnz and not modes:
        out.append(
            f"rank {rank} has about {parameters:,} free numbers but only {obs.nnz:,} entries are observed and nothing "
            "ties them together; lower the rank or add an inter-element prior such as Ridge."
        )
    return out
