"""Tensor-space priors: how the entries of X itself hang together, where X can be held whole.

Design: a prior on the full dense array X (I_1, ..., I_N), float32 or float64, by `value_and_grad(X)`. It is called
once per evaluation of the objective, so it must cost little beside the model. Values are Python floats, gradients have
the dtype of X.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tensorfill.interelement.base import nonnegative_number
from tensorfill.registry import Registry
from tensorfill.typing import Array

TENSORSPACE: Registry[TensorSpacePrior] = Registry("tensor-space prior")


class TensorSpacePrior:
    """A penalty on the whole tensor X; subclasses are frozen dataclasses and give `value_and_grad`."""

    name: ClassVar[str]
    modes: tuple[int, ...]  # the modes along which entries are neighbours

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:  # as for inter-element priors
            cls.name = cls.__name__

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError, with a sentence, if this prior cannot be used on X of this shape."""

    def value_and_grad(self, X: Array) -> tuple[float, Array]:
        """The penalty, and its derivative in X (shape and dtype of X)."""
        raise NotImplementedError

    def value(self, X: Array) -> float:
        """The penalty."""
        return self.value_and_grad(X)[0]

    def grad(self, X: Array) -> Array:
        """Its derivative in X."""
        return self.value_and_grad(X)[1]

    def settings(self) -> dict[str, Any]:
        """Name and parameters, JSON-able; `tensorspace_from_settings` makes the same prior of them."""
        return {"name": self.name, **dataclasses.asdict(self)}  # type: ignore[call-overload]  # of subclasses


def tensorspace_from_settings(settings: Mapping[str, Any]) -> TensorSpacePrior:
    """The prior whose `settings()` these are."""
    given = dict(settings)
    return TENSORSPACE[given.pop("name", "")](**given)


def opponent(weight_chroma: float = 2.0) -> Array:
    """The matrix (3, 3) from R, G, B to opponent colours: grey, R - B, R - 2G + B.

    The rows have length 1, weight_chroma, weight_chroma: with weight 1 it is a rotation, so equal noise in R, G and B
    stays equal in the three channels. Grey is then sqrt(3) times the mean of R, G and B. Edges of a picture show in its
    brightness first; a larger weight says that colours change less often than brightness (2 to 3 serve well).
    """
    chroma = nonnegative_number("opponent", "weight_chroma", weight_chroma)
    rows = np.array([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -2.0, 1.0]])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * np.array([[1.0], [chroma], [chroma]])


@TENSORSPACE.register("isotropic-tv")
@dataclass(frozen=True)
class IsotropicTV(TensorSpacePrior):
    """X is flat save for edges: weight * sum over pixels of sqrt(sum over modes of d_m^2 + corner^2) - corner.

    d_m is the forward difference along mode m, 0 at the far end. With a transform, the sum is over its channels.

    Parameters
    ----------
    weight
        Weight of the whole, >= 0.
    modes
        The two modes along which X is flat; the rows and columns of a picture by default.
    corner
        Size of the differences below which the penalty is quadratic, in units of X; > 0.
    transform
        Matrix (C', C) applied along `transform_mode` first, e.g. `opponent()`; None for none.
    transform_mode
        The mode of size C it applies to; the last one by default.
    """

    weight: float = 1.0
    modes: tuple[int, ...] = (0, 1)
    corner: float = 1.0
    transform: Any = None
    transform_mode: int | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "weight", nonnegative_number("IsotropicTV", "weight", self.weight))
        put(self, "corner", nonnegative_number("IsotropicTV", "corner", self.corner))
        if self.corner == 0.0:
            msg = "corner of IsotropicTV must be > 0 (the penalty has no gradient otherwise); got 0."
            raise ValueError(msg)
        put(self, "modes", tuple(int(m) for m in np.atleast_1d(self.modes)))
        if len(self.modes) != 2:
            msg = f"modes of IsotropicTV must name two modes; got {self.modes}."
            raise ValueError(msg)
        if self.transform is None:
            if self.transform_mode is not None:
                msg = f"transform_mode of IsotropicTV must go with a transform; got {self.transform_mode} without."
                raise ValueError(msg)
            return
        M = np.asarray(self.transform, dtype=np.float64)
        if M.ndim != 2 or M.size == 0 or not np.isfinite(M).all():
            msg = f"transform of IsotropicTV must be a finite matrix (C', C); got shape {M.shape}."
            raise ValueError(msg)
        put(self, "transform", tuple(map(tuple, M.tolist())))  # hashable, comparable, JSON-able
        put(self, "transform_mode", -1 if self.transform_mode is None else int(self.transform_mode))

    def check(self, shape: tuple[int, ...]) -> None:
        self._modes_in(shape)

    def value_and_grad(self, X: Array) -> tuple[float, Array]:
        """Both in one compiled pass over pictures (B, H, W, C)."""
        from tensorfill.interelement._tv_kernels import isotropic

        modes, t = self._modes_in(X.shape)
        rest = [m for m in range(X.ndim) if m not in modes and m != t]
        # Without a transform the other modes are so many channels; with one, so many pictures.
        order = [*modes, *rest] if t is None else [*rest, *modes, t]
        moved = np.ascontiguousarray(X.transpose(order))
        H, W = X.shape[modes[0]], X.shape[modes[1]]
        C = X.size // max(H * W, 1) if t is None else X.shape[t]
        pictures = moved.reshape(X.size // max(H * W * C, 1), H, W, C)
        G = np.empty_like(pictures)
        M = np.empty((0, 0), dtype=X.dtype) if self.transform is None else np.asarray(self.transform, dtype=X.dtype)
        corner, weight, back = X.dtype.type(self.corner), X.dtype.type(self.weight), np.ascontiguousarray(M.T)
        total = sum((isotropic(P, M, back, corner, weight, g) for P, g in zip(pictures, G, strict=True)), 0.0)
        return self.weight * total, np.ascontiguousarray(G.reshape(moved.shape).transpose(np.argsort(order)))

    def _modes_in(self, shape: tuple[int, ...]) -> tuple[tuple[int, ...], int | None]:
        """Modes and transform mode of an X of this shape, counted from 0, or a sentence."""
        N = len(shape)
        named = self.modes if self.transform_mode is None else (*self.modes, self.transform_mode)
        if any(not -N <= m < N for m in named):
            msg = f"modes of IsotropicTV must exist in X, which has {N}; got {named}."
            raise ValueError(msg)
        counted = tuple(m % N for m in named)
        if len(set(counted)) < len(counted):
            msg = f"modes and transform_mode of IsotropicTV must differ; got {counted} for X of shape {shape}."
            raise ValueError(msg)
        if self.transform_mode is None:
            return counted, None
        *modes, t = counted
        colours = len(self.transform[0])
        if shape[t] != colours:
            msg = f"mode {t} of X must have {colours} entries, the columns of IsotropicTV's transform; got {shape[t]}."
            raise ValueError(msg)
        return tuple(modes), t
