"""Models: the low-rank form of X.

Design: a model is a frozen object of parameter arrays, every one a matrix. Parameter n belongs to mode n and has a row
for each of its indices, so that inter-element priors find it; parameters after those (Tucker's core) belong to no mode,
and a mode may have none (the tubes of a tubal model). So solvers see a list of matrices, whichever model it is. The
class knows what follows from shape and rank alone, an instance holds numbers. `@MODELS.register("its-name")` puts it
behind `Problem`, `complete(model=...)`, the save format, and into the test grids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from tensorfill.kernels.contraction import Contraction
from tensorfill.registry import Registry
from tensorfill.typing import Array

Rank = int | tuple[int, ...]

MODELS: Registry[Model] = Registry("model")

BLOCK = 1 << 20  # numbers formed at a time by `at`
LARGEST = 2**40  # numbers in all factors: far more than any memory holds


class Model(ABC):
    """A low-rank tensor: what all models have."""

    name: ClassVar[str]
    ranks_are: ClassVar[str]  # what `rank` is for this model, in words

    # --- what follows from shape and rank -----------------------------------------------------------------------

    @classmethod
    @abstractmethod
    def check_rank(cls, shape: Sequence[int], rank: Any) -> Rank:
        """The rank in full, as `Model.rank` gives it; a sentence for one that cannot be."""

    @classmethod
    @abstractmethod
    def shapes(cls, shape: Sequence[int], rank: Any) -> list[tuple[int, int]]:
        """Shape of every parameter."""

    @classmethod
    def beyond(cls, shape: Sequence[int], rank: Any) -> bool:
        """Is one of the ranks larger than any tensor of this shape needs?"""
        return False

    @classmethod
    def modes(cls, ndim: int) -> int:
        """How many modes have a parameter of their own: the first of `ndim`."""
        return ndim

    @classmethod
    def others(cls) -> tuple[str, ...]:
        """Names of the parameters that belong to no mode."""
        return ()

    @classmethod
    @abstractmethod
    def contraction(cls, shape: Sequence[int], rank: Any) -> Contraction:
        """How the layouts compute it."""

    @classmethod
    @abstractmethod
    def terms(cls, shape: Sequence[int], rank: Any) -> int:
        """How many products of one entry per parameter are summed in an entry of X."""

    @classmethod
    @abstractmethod
    def of(cls, shape: Sequence[int], rank: Any, parameters: Sequence[Array]) -> Self:
        """The model with these parameters."""

    @classmethod
    def free(cls, shape: Sequence[int], rank: Any) -> int:
        """About how many free numbers it has."""
        return sum(rows * columns for rows, columns in cls.shapes(shape, rank))

    # --- starts ---------------------------------------------------------------------------------------------------

    @classmethod
    def noise(cls, shape: Sequence[int], rank: Any, relative: float, unit: float, rng: Any) -> list[Array]:
        """Parameters that make a small X: noise of size `relative` to a typical entry, `unit`."""
        return [relative * unit * rng.standard_normal(s) for s in cls.shapes(shape, rank)]

    @classmethod  # noqa: B027  most need nothing
    def aim(cls, parameters: list[Array], directions: Callable[[int, int], Array], unit: float) -> None:
        """Turn such parameters, in place, to where the data vary most: directions(mode, count) -> (I_n, count). Most
        models find it by themselves.
        """

    @classmethod
    @abstractmethod
    def put_product(cls, shape: Sequence[int], rank: Any, parameters: list[Array], lines: Sequence[Array]) -> None:
        """Make the first component, in place, the outer product of `lines` [(I_n,)]."""

    # --- numbers --------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def shape(self) -> tuple[int, ...]: ...

    @property
    @abstractmethod
    def rank(self) -> Rank: ...

    @property
    @abstractmethod
    def parameters(self) -> list[Array]:
        """All of them, as matrices; see `shapes`."""

    @property
    def by_mode(self) -> list[Array]:
        """Those that belong to a mode, (I_n, columns)."""
        return self.parameters[: self.modes(len(self.shape))]

    @abstractmethod
    def at(self, indices: Array) -> Array:
        """Entries at coordinates (k, N), without forming the whole tensor: (k,)."""

    def full(self) -> Array:
        """The whole tensor."""
        from tensorfill.kernels.dense import DenseLayout

        nowhere = np.empty((0, len(self.shape)), dtype=np.int32)
        return DenseLayout(nowhere, self.contraction(self.shape, self.rank)).full(self.parameters)

    def with_parameters(self, parameters: Sequence[Array]) -> Self:
        """The same model with other numbers."""
        return self.of(self.shape, self.rank, parameters)

    def pack(self) -> tuple[dict[str, Array], dict[str, Any]]:
        """Arrays, and a JSON-able rest."""
        rank = list(self.rank) if isinstance(self.rank, tuple) else self.rank
        meta = {"model": self.name, "shape": list(self.shape), "rank": rank}
        return {f"A{n}": A for n, A in enumerate(self.parameters)}, meta

    def components(self) -> tuple[list[Array], Array]:
        """(columns (I_n, K_n) of each mode that has a parameter, their strengths (modes, K)): the principal directions
        of each parameter, strongest first. For display only.
        """
        return principal([np.asarray(A, dtype=np.float64) for A in self.by_mode])

    def __repr__(self) -> str:
        return f"{type(self).__name__} of shape {self.shape}, rank {self.rank}"


def unpack(arrays: Mapping[str, Array], meta: Mapping[str, Any]) -> Model:
    """The model that was packed."""
    rank = tuple(meta["rank"]) if isinstance(meta["rank"], list) else meta["rank"]
    cls = MODELS[meta["model"]]
    count = len(cls.shapes(meta["shape"], rank))
    return cls.of(tuple(meta["shape"]), rank, [arrays[f"A{n}"] for n in range(count)])


def principal(matrices: Sequence[Array]) -> tuple[list[Array], Array]:
    """(left singular vectors of each, their values with zeros at the end (matrices, K))."""
    found = [np.linalg.svd(A, full_matrices=False)[:2] for A in matrices]
    most = max(len(s) for _, s in found)
    return [U for U, _ in found], np.array([np.pad(s, (0, most - len(s))) for _, s in found])


def check_one_rank(rank: Any, rows: int) -> int:
    """The rank of a model that has one, whose factors have so many rows; a sentence for anything else."""
    if not (isinstance(rank, int | np.integer) and not isinstance(rank, bool) and rank >= 1):
        msg = f"rank must be a whole number >= 1; got {rank!r}."
        raise ValueError(msg)
    return check_size(int(rank), rows)


def in_blocks(indices: Array, width: int, dtype: Any, values: Any) -> Array:
    """values(part) for parts of the coordinates (k, N), so that few arrays of `width` numbers are formed at a time."""
    step = max(1, BLOCK // max(width, 1))
    out = np.empty(len(indices), dtype=dtype)
    for i in range(0, len(indices), step):
        out[i : i + step] = values(indices[i : i + step])
    return out


def check_size(rank: int, rows: int) -> int:
    """The rank, unless factors of so many rows would be larger than any memory."""
    if rank * rows >= LARGEST:
        msg = f"rank must leave factors of fewer than {LARGEST:.2g} numbers; got {rank}."
        raise ValueError(msg)
    return rank


def whole_numbers(rank: Any, counts: tuple[int, ...], words: str) -> tuple[int, ...]:
    """The ranks as a tuple of as many as `counts` allows; a sentence for anything else."""
    given = (rank,) if isinstance(rank, int | np.integer) and not isinstance(rank, bool) else rank
    fits = isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and len(given) in (1, *counts)
    if not fits or not all(isinstance(r, int | np.integer) and not isinstance(r, bool) and r >= 1 for r in given):
        msg = f"rank must be a whole number >= 1, or {words}; got {rank!r}."
        raise ValueError(msg)
    return tuple(check_size(int(r), 1) for r in given)
