"""TensorImputer: tensorfill as a scikit-learn transformer. Import it by name: `from tensorfill.sklearn import ...`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from tensorfill.api import complete
from tensorfill.data.facts import smooth_modes
from tensorfill.data.observations import DataWarning, Observations
from tensorfill.methods.defaults import default_smooth, prior_for
from tensorfill.numerical.base import NumericalPrior
from tensorfill.registry import check_setting
from tensorfill.result.intervals import ends
from tensorfill.result.rows import LowRankRows
from tensorfill.sklearn.tables import as_table, draw_gaps, feature_means, hide, is_nan, seed_of, text_sentence
from tensorfill.transforms.magnitude import power_of
from tensorfill.typing import Array

# what settings may be; checked in `fit`, as scikit-learn has it
KINDS = {
    "prior": "NumericalPrior | str | None",
    "rank": "int | None",
    "smooth": "Mapping[int | str, float] | float | None",
    "ridge": "float | None",
    "shape": "Sequence[int] | None",
    "effort": "str",
    "add_indicator": "bool",
    "keep_empty_features": "bool",
    "sample_posterior": "bool",
    "max_iter": "int | None",
    "held_out": "float",
}


class TensorImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Fill missing entries as `tensorfill.complete` does, or by one low-rank model of samples x a tensor per sample.

    Of a matrix, where no model is asked for (`prior`, `rank`, `smooth`, `ridge`, `shape`), `fit` completes the training
    data by a contest of methods, and `transform` fills rows, new or old, by what it found; see `Completion.extend`.

    Otherwise `fit` learns a low-rank model, and `transform` finds for each sample what lies nearest to its known
    entries among all that the model can be. Either way samples have no order, the answer for one does not depend on
    those beside it, and known entries come back unchanged.

    Parameters
    ----------
    prior : NumericalPrior or its name ("normal", "poisson", "bernoulli-logit", ...); None: chosen from the data
    rank : R; None: chosen by held-out entries
    smooth : {mode: rho}, quadratic variation along modes 1, 2, ...; one number for all of them; {} for none; None:
        modes along which neighbours are alike are found
    ridge : weight of the ridge on every factor; None: chosen
    shape : fold the features of a row into a tensor of this shape, e.g. (24, 7); None: X is used as it is
    effort : "quick", "normal" or "best": of the contest
    missing_values : what marks a missing entry: NaN, or a number
    add_indicator : append a column of 0 and 1 for each feature that had gaps in `fit`: 1 = was missing
    keep_empty_features : fill features without any value in `fit` with 0; by default they are left out of the output
    sample_posterior : fill with draws, as far off as the errors on held-out entries are, instead of means
    categorical_features : features that are categories: their numbers or names, or a mask; filled with the likeliest
        (or, with `sample_posterior`, a drawn) level
    max_iter : limit on the iterations of each fit
    held_out : share of known entries that `score` hides, 0 < held_out < 1
    random_state : seed of the fit and of `score`

    Attributes
    ----------
    completion_ : Completion, the fit to the training data, with factors, history, plots
    factors_ : factors of modes 1, 2, ..., [(I_n, R)]
    sample_shape_ : shape of one sample
    means_ : mean of each feature over the training samples, what `score` compares with; shape of one sample
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
        effort: str = "normal",
        missing_values: Any = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        sample_posterior: bool = False,
        categorical_features: Any = None,
        max_iter: int | None = None,
        held_out: float = 0.2,
        random_state: Any = 0,
    ) -> None:
        self.prior = prior
        self.rank = rank
        self.smooth = smooth
        self.ridge = ridge
        self.shape = shape
        self.effort = effort
        self.missing_values = missing_values
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.sample_posterior = sample_posterior
        self.categorical_features = categorical_features
        self.max_iter = max_iter
        self.held_out = held_out
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> TensorImputer:
        """Learn the factors from X (samples, features) or (samples, I_1, I_2, ...); NaN = missing. y is ignored."""
        for name, kind in KINDS.items():
            check_setting(name, getattr(self, name), kind)
        self._seed, self._power, self._rows = seed_of(self.random_state), 0, None
        if self.categorical_features is not None:
            validate_data(self, X, reset=True, skip_check_array=True)
            frame = as_table(X, self.categorical_features, self.missing_values, None)
            self._frame = frame.iloc[:0]
            self.sample_shape_: tuple[int, ...] = (frame.shape[1],)
            return self._hold_contest(frame)
        T, _ = self._tensor(X, fitting=True)
        self._power = power_of(Observations.from_dense(T))  # 0 but for extreme data, which are divided by 2 ** it
        T = np.ldexp(T, -self._power)
        self.means_ = feature_means(T)
        asked = (self.prior, self.rank, self.smooth, self.ridge, self.shape)
        if T.ndim == 2 and T.shape[1] > 1 and all(setting is None for setting in asked):
            return self._hold_contest(_numbers_table(T))
        self._look_for_gaps(np.isnan(T).reshape(len(T), -1), T.ndim == 2)
        for name in ("sample_posterior", "add_indicator"):
            if getattr(self, name) and (name == "sample_posterior" or T.ndim > 2):
                msg = (
                    f"{name} is for matrices completed by the contest; leave out prior, rank, smooth, ridge and shape."
                )
                raise ValueError(msg)
        obs = Observations.from_dense(T)
        prior = prior_for(obs, self.prior)
        obs.check_domain(prior.t_domain, type(prior).__name__)  # here its sentence counts samples as they came
        self.completion_ = complete(
            obs,
            seed=self._seed,
            max_iter=self.max_iter,
            prior=self.prior,
            rank=self.rank,
            ridge=self.ridge,
            smooth=_smooth_weights(obs, self.smooth, prior),
            # three samples are not three colours, for which total variation would take a mode of three
            tv=0.0 if len(T) == 3 else None,
            passes=0,  # only the low-rank model itself can be carried over to new samples
            candidates=("low-rank", "field"),
            fill_unseen=True,
        )
        self.factors_ = list(self.completion_.model.by_mode[1:])
        self.n_iter_ = max(1, self.completion_.iterations)
        self._rows = LowRankRows.of(self.completion_)
        return self

    def transform(self, X: Any) -> Array:
        """X with its missing entries filled, in the shape and float type of X."""
        check_is_fitted(self)
        if self.categorical_features is not None:
            validate_data(self, X, reset=False, skip_check_array=True)
            frame = as_table(X, self.categorical_features, self.missing_values, self._frame)
            filled = self._fill_table(frame, draw=self.sample_posterior)
            with suppress(TypeError, ValueError):  # of levels that are no numbers
                filled = filled.astype(np.float64)
            return self._output(filled, frame.isna().to_numpy())
        T, form = self._tensor(X, fitting=False)
        filled = np.ldexp(self._fill(np.ldexp(T, -self._power), draw=self.sample_posterior), self._power)
        return self._output(np.where(np.isnan(T), filled, T).reshape(form), np.isnan(T).reshape(len(T), -1))

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
        hidden = hide(T, self.held_out, self._seed)
        if not hidden.any():
            msg = "score needs samples with at least 2 known entries, one of them to hide; got none."
            raise ValueError(msg)
        truth = T[hidden].astype(np.float64)
        error = self._fill(np.where(hidden, np.nan, T))[hidden] - truth
        naive = np.broadcast_to(self.means_, T.shape)[hidden] - truth
        return 1.0 - float(error @ error) / max(float(naive @ naive), np.finfo(float).tiny)

    # --- parts ----------------------------------------------------------------------------------------------------

    def _fill(self, T: Array, *, draw: bool = False) -> Array:
        """T (k, ...) with NaN filled."""
        if self._rows is None:
            X = self._fill_table(_numbers_table(T), draw=draw).astype(np.float64)
        else:  # features that the model of rows does not know by their mean
            X = self._rows.fill(np.asarray(T, dtype=np.float64).reshape(len(T), -1)).reshape(T.shape)
            X = np.clip(X, *ends(self.completion_))
            X = np.where(np.isnan(X), np.where(self._empty.reshape(T.shape[1:]), 0.0, self.means_), X)
        return np.where(np.isnan(T), X, T).astype(T.dtype)

    def _fill_table(self, frame: Any, *, draw: bool) -> Array:
        """The rows of a table, filled by what the contest found; what cannot be learnt by what is usual."""
        done = self.completion_
        more = done.extend(frame)
        out = more.completed
        if draw:
            spread = dict(zip((c.name for c in done.columns), done.row_model.scale.tolist(), strict=True))
            out = draw_gaps(more, spread, np.random.default_rng(self._seed))
        parts = zip(out.items(), self._usual, strict=True)
        return np.stack([np.where(column.isna(), usual, column.astype(object)) for (_, column), usual in parts], axis=1)

    def _tensor(self, X: Any, *, fitting: bool) -> tuple[Array, tuple[int, ...]]:
        """X, checked, as (samples, *sample_shape_), and the shape it came in."""
        nan = is_nan(self.missing_values)
        checks: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan" if nan else True}
        try:
            array = check_array(X, allow_nd=True, estimator=self, **checks)
        except ValueError as error:
            raise ValueError(text_sentence(X) or str(error)) from error
        array = array if nan else np.where(array == self.missing_values, array.dtype.type(np.nan), array)
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

    # --- the contest ----------------------------------------------------------------------------------------------

    def _hold_contest(self, frame: Any) -> TensorImputer:
        """Complete the training data; what is told of data is told by scikit-learn's checks, or not at all."""
        self._look_for_gaps(frame.isna().to_numpy(), True)
        usual = [column.mode() if hasattr(column, "cat") else column.dropna() for _, column in frame.items()]
        self._usual = [0.0 if not len(m) else m.iloc[0] if hasattr(m, "cat") else m.mean() for m in usual]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            self.completion_ = complete(frame, effort=self.effort, seed=self._seed, max_iter=self.max_iter)
        self.n_iter_ = max(1, self.completion_.iterations)
        return self

    def _look_for_gaps(self, missing: Array, matrix: bool) -> None:
        """Which features have gaps, and which have no value at all, (features,)."""
        self._gappy = missing.any(axis=0)
        self._empty = missing.all(axis=0) & matrix

    @property
    def _left_out(self) -> Array:
        """Features that the output does not have, (features,)."""
        return np.asarray(self._empty & (not self.keep_empty_features))

    def _output(self, X: Array, missing: Array) -> Array:
        """The output: without empty features, with indicators, as was asked."""
        if X.ndim != 2:
            return X
        out = X[:, ~self._left_out] if self._left_out.any() else X
        return np.hstack([out, missing[:, self._gappy].astype(out.dtype)]) if self.add_indicator else out

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of the features of the output: those kept, then the indicators."""
        check_is_fitted(self)
        names = super().get_feature_names_out(input_features)
        more = [f"missingindicator_{name}" for name in names[self._gappy]] if self.add_indicator else []
        return np.array([*names[~self._left_out], *more], dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _numbers_table(T: Array) -> Any:
    return pd.DataFrame(T.astype(np.float64), columns=[f"x{n}" for n in range(T.shape[1])])


def _smooth_weights(
    obs: Observations, smooth: Mapping[int, float] | float | None, prior: NumericalPrior
) -> dict[int, float]:
    """{mode: rho} without the first mode, whose samples have no order."""
    if smooth is None:
        found = default_smooth(obs, prior, smooth_modes(obs))
        return {n: rho for n, rho in found.items() if n != 0}
    if not isinstance(smooth, Mapping):
        return {n: float(smooth) for n in range(1, obs.ndim)}
    given = {obs.mode(n): float(rho) for n, rho in smooth.items()}
    if given.get(0, 0.0) != 0:
        msg = (
            f"smooth must not name mode 0: its samples have no order; got {dict(smooth)}. "
            "Use tensorfill.complete, which may smooth along any mode."
        )
        raise ValueError(msg)
    return given
