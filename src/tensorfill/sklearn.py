"""TensorImputer: tensorfill as a scikit-learn transformer. Import it by name: `from tensorfill.sklearn import ...`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.api import complete
from tensorfill.choose.defaults import default_prior, default_smooth, prior_for
from tensorfill.choose.magnitude import power_of
from tensorfill.choose.newrows import Rows
from tensorfill.data.facts import smooth_modes, unit_mode
from tensorfill.data.observations import Observations
from tensorfill.data.optional import attempt_import
from tensorfill.data.units import Units
from tensorfill.numerical.base import NumericalPrior
from tensorfill.registry import check_setting

attempt_import("sklearn.base", "TensorImputer", "sklearn")

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin  # noqa: E402
from sklearn.utils.validation import check_array, check_is_fitted, check_random_state, validate_data  # noqa: E402

Array = NDArray[Any]
# what settings may be; checked in `fit`, as scikit-learn has it
KINDS = {
    "prior": "NumericalPrior | str | None",
    "rank": "int | None",
    "smooth": "Mapping[int | str, float] | float | None",
    "ridge": "float | None",
    "shape": "Sequence[int] | None",
    "max_iter": "int | None",
    "held_out": "float",
}


class TensorImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill missing entries by a low-rank model of samples x features, or of samples x a tensor per sample.

    Samples are the first mode and have no order. `fit` learns the factors of the other modes; `transform` keeps these
    as they are and finds for each sample, new or old, its own row of the first factor under the same prior and
    penalties. So the answer for a sample does not depend on the samples beside it. Known entries come back unchanged.

    Columns may have units of their own: where `prior` is not given or is "normal", each real-valued column of a matrix
    is centred, and scaled if they spread very differently, for the fit; the answer is in its unit again. Counts of one
    kind and yes/no columns are taken as they are, and so are samples of more than one mode.

    Parameters
    ----------
    prior : NumericalPrior or its name ("normal", "poisson", "bernoulli-logit", ...); None: chosen from the data
    rank : R; None: chosen by held-out entries
    smooth : {mode: rho}, quadratic variation along modes 1, 2, ...; one number for all of them; {} for none; None:
        modes along which neighbours are alike are found
    ridge : weight of the ridge on every factor; None: chosen
    shape : fold the features of a row into a tensor of this shape, e.g. (24, 7); None: X is used as it is
    max_iter : limit on the iterations of each fit
    held_out : share of known entries that `score` hides, 0 < held_out < 1
    random_state : seed of the fit and of `score`

    Attributes
    ----------
    completion_ : Completion, the fit to the training data (centred and scaled), with factors, history, plots
    factors_ : factors of modes 1, 2, ..., [(I_n, R)]
    sample_shape_ : shape of one sample
    means_ : mean of each feature over the training samples, what `score` compares with; shape of one sample
    center_, scale_ : what was subtracted from each feature and by what it was divided; shape of one sample
    n_iter_ : iterations of the fit, at least 1
    n_features_in_ : number of features of a sample

    Examples
    --------
    >>> import numpy as np
    >>> from tensorfill.sklearn import TensorImputer
    >>> X = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, 3.0, 4.0])
    >>> X[2, 3] = np.nan
    >>> float(TensorImputer(rank=1, prior="normal").fit_transform(X)[2, 3].round(1))
    12.0
    """

    def __init__(
        self,
        prior: NumericalPrior | str | None = None,
        rank: int | None = None,
        smooth: Mapping[int, float] | float | None = None,
        ridge: float | None = None,
        shape: Sequence[int] | None = None,
        max_iter: int | None = None,
        held_out: float = 0.2,
        random_state: Any = 0,
    ) -> None:
        self.prior = prior
        self.rank = rank
        self.smooth = smooth
        self.ridge = ridge
        self.shape = shape
        self.max_iter = max_iter
        self.held_out = held_out
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> TensorImputer:
        """Learn the factors from X (samples, features) or (samples, I_1, I_2, ...); NaN = missing. y is ignored."""
        for name, kind in KINDS.items():
            check_setting(name, getattr(self, name), kind)
        T, _ = self._tensor(X, fitting=True)
        self._power = power_of(Observations.from_dense(T))  # 0 but for extreme data, which are divided by 2 ** it
        T = np.ldexp(T, -self._power)
        self.means_ = _means(T)
        prior = self._choose_units(T)
        T = (T - self.center_) / self.scale_
        obs = Observations.from_dense(T)
        self._seed = _seed(self.random_state)
        self.completion_ = complete(
            obs,
            seed=self._seed,
            max_iter=self.max_iter,
            prior=prior,
            rank=self.rank,
            ridge=self.ridge,
            smooth=self._smooth(obs, prior),
            # three samples are not three colours, for which total variation would take a mode of three
            tv=0.0 if len(T) == 3 else None,
            passes=0,  # only the low-rank model itself can be carried over to new samples
            candidates=("low-rank", "field"),
        )
        self.factors_ = list(self.completion_.model.by_mode[1:])
        self.n_iter_ = max(1, self.completion_.iterations)
        self._rows = Rows(self.completion_)
        return self

    def transform(self, X: Any) -> Array:
        """X with its missing entries filled, in the shape and float type of X."""
        check_is_fitted(self)
        T, form = self._tensor(X, fitting=False)
        filled = np.ldexp(self._fill(np.ldexp(T, -self._power)), self._power)
        return np.where(np.isnan(T), filled, T).reshape(form)

    def score(self, X: Any, y: Any = None) -> float:
        """How well hidden entries of X are found, relative to the feature means of the training data.

        A share `held_out` of the known entries of each sample is hidden (at least one of two or more; always the same
        ones for the same X and `random_state`) and filled from the rest.

        Returns
        -------
        1 - (sum of squared errors) / (the same for the feature means): 1 is perfect, 0 no better than the means
        """
        check_is_fitted(self)
        T = np.ldexp(self._tensor(X, fitting=False)[0], -self._power)
        hidden = _hide(T, self.held_out, self._seed)
        if not hidden.any():
            msg = "score needs samples with at least 2 known entries, one of them to hide; got none."
            raise ValueError(msg)
        truth = T[hidden].astype(np.float64)
        error = self._fill(np.where(hidden, np.nan, T))[hidden] - truth
        naive = np.broadcast_to(self.means_, T.shape)[hidden] - truth
        return 1.0 - float(error @ error) / max(float(naive @ naive), np.finfo(float).tiny)

    # --- parts ----------------------------------------------------------------------------------------------------

    def _fill(self, T: Array) -> Array:
        """T (k, ...) with NaN filled; samples without gaps cost nothing."""
        missing = np.isnan(T)
        if not missing.all():
            # before samples without gaps are left out, so that errors name samples by their numbers in T
            self._rows.check((T - self.center_) / self.scale_)
        gaps = missing.reshape(len(T), -1).any(axis=1)
        out = np.array(T)
        if gaps.any():
            Z = (T[gaps] - self.center_) / self.scale_
            estimate = self._rows.estimate(self._rows.fit(Z), Z)
            out[missing] = (estimate * self.scale_ + self.center_)[missing[gaps]]
        return out

    def _tensor(self, X: Any, *, fitting: bool) -> tuple[Array, tuple[int, ...]]:
        """X, checked, as (samples, *sample_shape_), and the shape it came in."""
        checks: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
        array = check_array(X, allow_nd=True, estimator=self, **checks)
        features = tuple(array.shape[1:])
        if array.ndim == 2:  # names and number of the features, which N-way data do not have
            validate_data(self, X, reset=fitting, skip_check_array=True)
        elif fitting:
            self.n_features_in_ = math.prod(features)
        if fitting:
            self.sample_shape_ = features if self.shape is None else tuple(int(n) for n in self.shape)
        want = self.sample_shape_
        if features not in (want, (math.prod(want),)):
            msg = f"each sample must have shape {want}, or {math.prod(want)} features; got {features}."
            raise ValueError(msg)
        return array.reshape(len(array), *want), array.shape

    def _choose_units(self, T: Array) -> NumericalPrior | str | None:
        """Set center_ and scale_ from the training data (samples, ...); returns the prior for the data so scaled."""
        self.center_, self.scale_ = np.zeros(T.shape[1:], T.dtype), np.ones(T.shape[1:], T.dtype)
        obs = Observations.from_dense(T)
        if T.ndim != 2:
            prior = prior_for(obs, self.prior)
            if not prior.location:
                return self.prior
            self.center_ += Units.of_all(obs, scaled=False).level[0]
            return prior.name if self.prior is None else self.prior
        if not (self.prior is None or self.prior == "normal"):
            return self.prior
        own = unit_mode(obs) == 1
        chosen = default_prior(obs).name if self.prior is None else self.prior
        if not own and chosen not in ("gamma", "normal"):
            return None
        self.center_ = self.means_.astype(T.dtype)
        if own:  # columns of one unit differ too, and then the wide ones matter more
            self.scale_ = Units.of_slices(obs, 1).scale.astype(T.dtype)
        return "normal"

    def _smooth(self, obs: Observations, prior: NumericalPrior | str | None) -> dict[int, float]:
        """{mode: rho} without the first mode, whose samples have no order."""
        if self.smooth is None:
            found = default_smooth(obs, prior_for(obs, prior), smooth_modes(obs))
            return {n: rho for n, rho in found.items() if n != 0}
        if not isinstance(self.smooth, Mapping):
            return {n: float(self.smooth) for n in range(1, obs.ndim)}
        given = {obs.mode(n): float(rho) for n, rho in self.smooth.items()}
        if given.get(0, 0.0) != 0:
            msg = (
                f"smooth must not name mode 0: its samples have no order; got {dict(self.smooth)}. "
                "Use tensorfill.complete, which may smooth along any mode."
            )
            raise ValueError(msg)
        return given

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _seed(random_state: Any) -> int:
    """A whole number from what scikit-learn allows; None stands for 0, so that the same call gives the same answer."""
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _means(T: Array) -> Array:
    """Mean of each feature over the samples, the overall mean where a feature was never seen; shape of a sample."""
    known = ~np.isnan(T)
    count = known.sum(axis=0)
    total = np.where(known, T, 0.0).sum(axis=0, dtype=np.float64)
    return np.where(count > 0, total / np.maximum(count, 1), total.sum() / max(int(count.sum()), 1))


def _hide(T: Array, share: float, seed: int) -> NDArray[np.bool_]:
    """Known entries to hide in each sample, True = hide; one at least stays and, of two or more, one at least goes."""
    if not 0 < share < 1:
        msg = f"held_out must be between 0 and 1; got {share}."
        raise ValueError(msg)
    rng = np.random.default_rng(seed)
    flat = T.reshape(len(T), -1)
    hidden = np.zeros(flat.shape, dtype=bool)
    for i, row in enumerate(flat):
        known = np.flatnonzero(~np.isnan(row))
        if len(known) >= 2:
            count = min(max(1, round(share * len(known))), len(known) - 1)
            hidden[i, rng.choice(known, size=count, replace=False)] = True
    return hidden.reshape(T.shape)
