"""Pictures with holes, scratches or text: what arrives at the border goes on inside, then look-alikes sharpen it.

Nothing is fitted to what is known: all work is done around the gaps, so it grows with them and not with the picture.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill.data.facts import Facts
from tensorfill.data.observations import DENSE_LIMIT, Observations
from tensorfill.methods.base import METHODS, Method, Run, Variants
from tensorfill.methods.checks import check_whole
from tensorfill.methods.image.field import MOST_PASSES, is_clean
from tensorfill.methods.image.large import many_pixels
from tensorfill.methods.image.non_local import RADIUS, Refinement, available_threads, default_denoiser, default_sigmas
from tensorfill.methods.image.patchmatch import check_texture, fill_texture
from tensorfill.methods.image.pyramid import coarse_to_fine
from tensorfill.methods.image.selfsimilarity import SelfSimilarity
from tensorfill.methods.image.validate_holes import Evidence, validate_holes
from tensorfill.methods.image.validate_scratches import validate_scratches
from tensorfill.methods.image.windows import InWindows
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.record import History, Status
from tensorfill.solvers.base import OutOfTime, State
from tensorfill.solvers.loop import Callback, Stopping

Array = NDArray[Any]

# Inside a hole X is as far from the truth as where this share of a picture is observed at random, whatever is known
# around it: +.3 dB on holes of 50 pixels in astronaut, coffee and motorcycle over the share that is known.
AS_IF = 0.15
# In a large picture gaps are few and far between: smaller windows than for scattered ones, and more of them in a step.
WINDOW, SEVERAL = 256, 24
# By effort. 10 instead of 6 are -.2, -.1, +.3, -.2, -.1, +.5 dB on scratches over six crops of 192 x 192 (scikit-image
# and scikit-learn): more effort has nothing to spend here.
PASSES = {"quick": 2, "normal": 6, "best": 6}
# Passes over a large one, unless told otherwise: two thirds of the time of 6, for .03 dB (see `validate_scratches`).
FEWER = 4


@METHODS.register("continuation")
@dataclass(frozen=True)
class Continuation(Method):
    """A picture continued into its gaps, and passes of self-similarity around them.

    Parameters
    ----------
    passes : of self-similarity; None: as `effort` has it
    effort : "quick", "normal" or "best"
    noise : standard deviation of the noise; None: as the data have it
    texture : "smooth", which has the least error, or "sharp": holes filled with texture from elsewhere in the picture
    """

    reference = "this package"
    assumes = "gaps are holes in a picture; edges go on inside them, and small patches have look-alikes nearby"
    use_when = "photographs with scratches, text, or things to be removed"
    competes = True
    fills_unseen = True
    takes = frozenset({"passes", "texture"})

    passes: int | None = None
    effort: str = "normal"
    noise: float | None = None
    texture: str = "smooth"

    def __post_init__(self) -> None:
        check_texture(self.texture)
        check_whole(self, 0, "passes", most=MOST_PASSES)

    def refuses(self, obs: Observations) -> str | None:
        if obs.ndim in (2, 3):
            return None
        return f"a picture is rows x columns (x channels), and this has {obs.ndim} modes"

    def suits(self, facts: Facts) -> str | None:
        if facts.size > DENSE_LIMIT // 4:
            return "the tensor is too large to hold every entry several times"
        return None if facts.depth > 0 else "the gaps are no holes in a picture"

    def whole(self, facts: Facts, noise: float = 0.0) -> Continuation:
        """Return the variant with all passes for data of which the noise is known."""
        usual = PASSES[self.effort]
        if self.effort != "quick" and many_pixels(facts.shape):
            usual = FEWER
        return replace(self, passes=usual if self.passes is None else self.passes, noise=noise)

    def variants(self, facts: Facts) -> Variants:
        yield self.whole(facts, 0.0 if is_clean(facts) else facts.noise)

    def shorter(self, facts: Facts, seconds: float) -> Method:
        return replace(self, passes=0)  # they would only make it better

    @property
    def label(self) -> str:
        passes = f", {self.passes} passes of self-similarity" if self.passes else ""
        return self.name + passes + (", sharp texture" if self.texture == "sharp" else "")

    def cost(self, facts: Facts) -> float:
        gaps = facts.size - facts.observed
        return 0.01 + 1e-7 * facts.size + gaps * (1e-4 + 5e-5 * (self.passes or 0))

    def fit(self, obs: Observations, run: Run) -> Completion:
        facts = run.facts_of(obs)
        if self.passes is None or self.noise is None:
            return self.whole(facts, facts.noise if np.isfinite(facts.noise) else 0.0).fit(obs, run)
        if self.texture == "sharp":
            return self._sharpen(replace(self, texture="smooth").fit(obs, run), run)
        X = obs.dense(0.0, np.float64).reshape(*obs.shape[:2], -1)
        mask = obs.mask.reshape(X.shape)
        known: NDArray[np.bool_] = np.asarray(mask.all(axis=2))  # of a pixel known in part the rest is continued, too
        if not known.any():
            X[~mask] = obs.values.mean()
            return self.completion(obs, run, Filled(X.reshape(obs.shape)))
        settings = {"candidate": self.label, "passes": 0}
        limit = self.passes if run.max_iter is None else min(self.passes, run.max_iter)
        threads, began = available_threads(), time.monotonic()
        X, told, ended = self._begun(X, mask, known, facts, limit, run)
        if ended is not None:
            return self.completion(obs, run, Filled(X.reshape(obs.shape)), status=ended, settings=settings)
        settings["smooth"] = told.shares
        if told.only is not None:  # nothing of the passes would remain
            return self.completion(obs, run, Filled(X.reshape(obs.shape)), settings=settings, error=told.error)
        if limit == 0 or known.all() or min(obs.shape[:2]) < SelfSimilarity.patch:
            with suppress(OutOfTime), run.rest(began).in_time():
                X = np.where(mask, X, told.softened(X, known, threads))
            return self.completion(obs, run, Filled(X.reshape(obs.shape)), settings=settings, error=told.error)
        box = around(~known, RADIUS + SelfSimilarity.patch)
        near = many_pixels(X[box].shape)
        passes = self._around(X[box], mask[box], near=near, threads=threads)
        procedure = InWindows.of(passes, WINDOW, SEVERAL) if near else passes
        steps = procedure.steps if isinstance(procedure, InWindows) else 1
        fingerprint = f"continuation {obs.shape} {obs.nnz} {float(X.sum())!r} {passes.sigmas}"
        stopping = Stopping(max_iter=limit * steps, tol=0.0, seconds=run.rest(began).seconds)
        own = replace(run, callback=_seen_whole(run.callback, X, box, obs.shape))
        outcome = own.drive(procedure, stopping, np.random.default_rng(run.seed), fingerprint)
        X[box] = np.where(known[box][..., None], X[box], outcome.state.arrays["X"])
        settings["passes"] = int(outcome.state.numbers["k"])
        with suppress(OutOfTime), run.rest(began).in_time():
            X = np.where(mask, X, told.softened(X, known, threads))
        return self.completion(
            obs,
            run,
            Filled(X.reshape(obs.shape)),
            status=outcome.status,
            history=outcome.history,
            settings=settings,
            error=told.error,
        )

    def _begun(
        self, X: Array, mask: Array, known: NDArray[np.bool_], facts: Facts, limit: int, run: Run
    ) -> tuple[Array, Evidence, Status | None]:
        """X continued into its gaps, and what gaps elsewhere tell, for which there is half of the time. Where there is
        no time to go on inside each gap: from coarse to fine, and why.
        """
        threads, told = available_threads(), Evidence()
        half = run if run.seconds is None else replace(run, seconds=run.seconds / 2)
        try:
            with run.in_time():
                with suppress(OutOfTime), half.in_time():
                    told = self._told(X, known, facts, limit if run.seconds is None else 0)  # reads what is known only
                return np.where(mask, X, told.begun(X, known, threads)), told, None
        except KeyboardInterrupt:
            ended = Status.INTERRUPTED
        except OutOfTime:
            ended = Status.TIME
        return coarse_to_fine(X, mask), told, ended

    def _sharpen(self, done: Completion, run: Run) -> Completion:
        """Fill the holes of a smooth answer with texture."""
        obs, form = done.observations, (*done.observations.shape[:2], -1)
        mask = obs.mask.reshape(form)
        known: NDArray[np.bool_] = np.asarray(mask.all(axis=2))
        X = np.where(mask, obs.dense(0.0, np.float64).reshape(form), done.full.reshape(form))
        sharp = fill_texture(X, known, np.random.default_rng(run.seed)) if known.any() and not known.all() else X
        settings = {**done.settings, "candidate": self.label, "texture": self.texture}
        # the error that was told is of the smooth answer
        done = replace(done.with_estimate(np.where(mask, X, sharp).reshape(obs.shape)), settings=settings)
        return replace(done, error=float("nan"))

    def _told(self, X: Array, known: NDArray[np.bool_], facts: Facts, limit: int) -> Evidence:
        """What gaps of the same form elsewhere tell: holes cut anew, thin ones moved and filled with so many passes."""
        if facts.depth > SelfSimilarity.patch:
            return validate_holes(X, known)
        if known.all() or min(known.shape) < SelfSimilarity.patch:
            return Evidence()

        near = many_pixels(known.shape)  # as the picture itself is served

        def passed(C: Array, kept: NDArray[np.bool_]) -> Array:
            passes = self._around(C, np.broadcast_to(kept[..., None], C.shape), near=near, threads=1)
            state = passes.init(np.random.default_rng(0))
            for _ in range(limit):
                state = passes.step(state, np.random.default_rng(0))
            return state.arrays["X"]

        return validate_scratches(X, known, passed if limit else None, available_threads())

    def _around(self, X: Array, mask: NDArray[np.bool_], *, near: bool, threads: int) -> Refinement:
        """The passes over a window of the picture that holds the gaps."""
        t, passes = X[mask], self.passes or 0
        return Refinement(
            t,
            mask,
            X,
            replace(default_denoiser(AS_IF), near=near),
            default_sigmas(t, passes, share=AS_IF),
            noise=self.noise or 0.0,
            turned=passes // 2,
            threads=threads,
        )


def _seen_whole(
    callback: Callback | None, X: Array, box: tuple[slice, slice], shape: tuple[int, ...]
) -> Callback | None:
    """A callback that is shown the picture X with a window of it as it is by now, instead of the window."""
    if callback is None:
        return None

    def seen(state: State, history: History) -> bool | None:
        whole = X.copy()
        whole[box] = state.arrays["X"]
        return callback(replace(state, arrays={**state.arrays, "X": whole.reshape(shape)}), history)

    return seen


def around(gaps: NDArray[np.bool_], margin: int) -> tuple[slice, slice]:
    """Rows and columns of the smallest window that holds all gaps and a margin."""
    ends = [np.flatnonzero(gaps.any(axis=1 - n))[[0, -1]] for n in range(2)]
    rows, columns = (slice(max(0, int(a) - margin), int(b) + margin + 1) for a, b in ends)
    return rows, columns
