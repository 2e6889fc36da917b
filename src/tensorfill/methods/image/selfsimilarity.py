"""Self-similarity: small patches of a picture have look-alikes nearby, and a group of look-alikes is nearly low-rank.

Design: not a penalty with a gradient but a filter. The penalty is the sum over groups of sum_i log s_i, where s_i are
the singular values of a group's matrix (patches x pixels, less their mean). Majorised by a quadratic at X, it is
minimised given the observed entries, all others being unknown: one small linear system per place in a patch. Channels
are coupled by the covariance that X itself shows.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tensorfill.methods.image import _patches

Array = NDArray[Any]

# Rows of reference patches per task: fixed, so that the answer does not depend on the number of threads; few, so that
# all threads have as much to do: 8 leave one of two idle for an eighth of the time on 256 x 256, for no less work.
SLAB = 3
MIX = 0.5  # share of the separable covariance in that of a group
MOST = 64  # data used at one place of a patch: the work grows with its cube


@dataclass(frozen=True)
class SelfSimilarity:
    """Groups of similar patches of X are low-rank.

    Parameters
    ----------
    patch
        Side of the square patches, in pixels.
    stride
        Distance between the reference patches, at most `patch`.
    group
        Patches in a group, the reference included.
    radius
        How far from the reference its look-alikes are sought, in pixels.
    modes
        The two modes that are positions: rows and columns of a picture. All other modes (colours, bands, frames) are
        channels, which the patches hold together.
    frames
        The mode that is time, of a video: patches are those of one frame, and have look-alikes in others.
    reach
        In how many frames before and after.
    far
        At how many places beyond the radius where the picture repeats itself look-alikes are sought, too.
    near
        Where only some pixels are wanted: serve the reference patches that hold one, and not those all around of which
        a look-alike does. Around scratches a third of the time, for .1 dB.
    """

    name: ClassVar[str] = "self-similarity"

    patch: int = 6
    stride: int = 4
    group: int = 48
    radius: int = 12
    modes: tuple[int, int] = (0, 1)
    near: bool = False
    frames: int | None = None
    reach: int = 2
    far: int = 0

    @property
    def margin(self) -> int:
        """How far from a wanted pixel, in pixels, others can influence its answer."""
        reach = self.radius + self.patch  # from a reference patch to its look-alikes, and to where these end
        return reach + (self.patch if self.near else reach)

    def __post_init__(self) -> None:
        for what, least in (("patch", 2), ("stride", 1), ("group", 2), ("radius", 1), ("reach", 0), ("far", 0)):
            got = getattr(self, what)
            if not isinstance(got, int | np.integer) or got < least:
                msg = f"{what} of SelfSimilarity must be a whole number >= {least}; got {got!r}."
                raise ValueError(msg)
        if self.stride > self.patch:
            msg = (
                f"stride of SelfSimilarity must be <= patch, or pixels are left out; got {self.stride} > {self.patch}."
            )
            raise ValueError(msg)
        if len(self.modes) != 2:
            msg = f"modes of SelfSimilarity must name two modes that are positions; got {self.modes}."
            raise ValueError(msg)

    def settings(self) -> dict[str, Any]:
        """Name and parameters, JSON-able."""
        return {"name": self.name, **dataclasses.asdict(self)}

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise ValueError, with a sentence, if X of this shape has no patches."""
        N = len(shape)
        named = self.modes if self.frames is None else (*self.modes, self.frames)
        if N < 2 or any(not -N <= m < N for m in named) or len({m % N for m in named}) < len(named):
            msg = (
                f"SelfSimilarity needs two different modes that are positions, and frames along another; "
                f"got modes {self.modes}, frames {self.frames}, shape {shape}."
            )
            raise ValueError(msg)
        for m in self.modes:
            if shape[m] < self.patch:
                msg = (
                    f"mode {m % N} of X must have at least {self.patch} positions, the side of a patch; got {shape[m]}."
                    f" Use a smaller patch, or leave SelfSimilarity out where modes are not positions."
                )
                raise ValueError(msg)

    def match(
        self, X: Array, *, shift: tuple[int, int] = (0, 0), wanted: Array | None = None, threads: int = 1
    ) -> Array:
        """Groups of similar patches, (rows, columns, K), int32: reuse them in `denoise` while X changes little. `shift`
        moves the grid of reference patches down and across, in pixels; patches out of reach of all that is `wanted`
        stay alone.
        """
        from tensorfill.methods.image._selfsimilarity_kernels import match

        self.check(X.shape)
        picture, _ = self._picture(X)
        guide = _patches.guide_of(picture)
        W, H = guide.shape[2], X.shape[self.modes[0]]  # of one frame
        ys, xs = (_patches.grid(length, self.patch, self.stride, s) for length, s in zip((H, W), shift, strict=True))
        ys = (np.arange(0, guide.shape[1], H)[:, None] + ys).reshape(-1)
        # a corner sees the fewest candidates
        K = min(self.group, (min(self.radius, H - self.patch) + 1) * (min(self.radius, W - self.patch) + 1))
        out = np.empty((len(ys), len(xs), K), np.int32)

        pixels = None if wanted is None or self.frames is not None else self._pixels(wanted)
        reach = 0 if self.frames is None else self.reach
        window = np.array([[-self.radius, self.radius, -self.radius, self.radius]])
        everywhere = self.frames is None and (pixels is None or pixels.mean() > 0.5)
        further = _patches.repeats(guide, self.radius, self.far, self.patch) if self.far and everywhere else window[:0]

        def task(a: int) -> None:
            rows, mine = ys[a : a + SLAB], out[a : a + SLAB]
            near, left, right = self._reach(pixels, rows, xs, W)
            if not near.all():
                mine[:] = (rows[:, None] * W + xs)[..., None]
            if near.any():  # only the columns around them, with all that their patches are compared with
                found = np.empty((len(rows), int(near.sum()), K), np.int32)
                part = guide if right - left == W else np.ascontiguousarray(guide[:, :, left:right])
                places = np.concatenate([window, further]) if near.all() else window
                match(part, rows, xs[near] - left, self.patch, places, H, reach, found)
                v, u = np.divmod(found, right - left)
                mine[:, near] = v * W + u + left

        for _ in _each(task, range(0, len(ys), SLAB), threads):
            pass
        return out

    def _reach(self, pixels: Array | None, rows: Array, xs: Array, W: int) -> tuple[Array, int, int]:
        """Which columns of reference patches in these rows may have a mate with a wanted pixel, (len(xs),), and from
        where to where these patches are compared with others.
        """
        if pixels is None:
            return np.ones(len(xs), dtype=bool), 0, W
        away = 0 if self.near else self.radius
        band = pixels[max(0, int(rows[0]) - away) : int(rows[-1]) + away + self.patch].any(axis=0)
        so_far = np.r_[0, np.cumsum(band)]
        near = so_far[np.minimum(xs + away + self.patch, W)] > so_far[np.maximum(xs - away, 0)]
        low, high = np.maximum(xs - self.radius, 0), np.minimum(xs + self.radius + self.patch, W)
        return near, int(low[near].min(initial=W)), int(high[near].max(initial=0))

    def _channels(self, ndim: int) -> list[int]:
        """Modes that are neither positions nor time."""
        taken = {m % ndim for m in self.modes} | (set() if self.frames is None else {self.frames % ndim})
        return [n for n in range(ndim) if n not in taken]

    def _picture(self, X: Array) -> tuple[Array, Callable[[Array], Array]]:
        """X as (H, W, C), frames one below the other, and the way back. The shortest mode of channels comes last:
        colours stay side by side.
        """
        first = [] if self.frames is None else [self.frames % X.ndim]
        positions = [m % X.ndim for m in self.modes]
        order = first + positions + sorted(self._channels(X.ndim), key=lambda n: -X.shape[n])
        moved = X.transpose(order)

        def back(picture: Array) -> Array:
            return np.ascontiguousarray(picture.reshape(moved.shape).transpose(np.argsort(order)))

        channels = int(np.prod([X.shape[n] for n in self._channels(X.ndim)]))
        return moved.reshape(-1, X.shape[positions[1]], channels), back

    def _pixels(self, wanted: Array) -> Any:
        """Where some channel is wanted, (H, W)."""
        return self._picture(np.asarray(wanted, dtype=bool))[0].any(axis=2)

    def denoise(
        self,
        X: Array,
        sigma: float,
        *,
        observed: Array,
        noise: float | Array = 0.0,
        groups: Array | None = None,
        wanted: Array | None = None,
        mix: float = MIX,
        turned: bool = False,
        threads: int = 1,
    ) -> Array:
        """What the observed entries and the look-alikes say of all entries; a new array of X's shape.

        Parameters
        ----------
        X : finite array: the data where they are observed; elsewhere it serves only to find and describe look-alikes
        sigma : how far X is from the truth there, in units of X; > 0
        observed : where there are data, of X's shape
        noise : standard deviation of the data themselves, one number or one per entry
        groups : from `match`; found on X if not given
        wanted : where the answer is needed, of X's shape, everywhere by default: elsewhere X may come back as it is. A
            hole in a large picture takes little time then, and the answer there is the same bits (but see `near`)
        mix : share of the separable covariance (patches x channels) in that of a group; the rest is as
            sampled. The better X is known, the less is needed
        turned : each patch is a draw of a Gaussian over its places, and not each place one of a
            Gaussian over the patches. Better where patches hold many data
        threads : same bits for any number
        """
        X = np.asarray(X)
        self.check(X.shape)
        _check_finite(X)
        sigma = _positive(sigma)
        groups = self.match(X, wanted=wanted, threads=threads) if groups is None else groups
        pixels = None if wanted is None else self._pixels(wanted)
        level = float(X.mean(dtype=np.float64))
        _, back = self._picture(X)

        def blocks(A: Array, dtype: Any = np.float32) -> list[Array]:
            return _patches.in_blocks(
                self._picture(A)[0].astype(dtype), _patches.shortest(X.shape, self._channels(X.ndim))
            )

        variance = np.broadcast_to(np.square(np.asarray(noise, dtype=np.float64) / sigma), X.shape)
        parts = blocks((X - level) / sigma), blocks(np.asarray(observed), bool), blocks(variance)
        out = np.concatenate(
            [self._filter(part, groups, pixels, mix, turned, threads) for part in zip(*parts, strict=True)], axis=2
        )
        dtype = X.dtype if X.dtype.kind == "f" else np.dtype(np.float64)
        return back(out.astype(np.float64) * sigma + level).astype(dtype)

    def _filter(
        self, part: tuple[Array, ...], groups: Array, pixels: Array | None, mix: float, turned: bool, threads: int
    ) -> Array:
        """One block of channels: X, mask, noise, each (H, W, C), in units of sigma; X where not wanted."""
        from tensorfill.methods.image._selfsimilarity_kernels import condition

        X, given = part[0], part[1:]
        H, W, C = X.shape
        channels = _patches.channel_covariance(X)
        most = int(self.patch**2 * C if turned else min(MOST, groups.shape[2] * C))

        touched = None if pixels is None else _patches.touched(pixels, self.patch)
        wanted = np.ones((H, W), dtype=bool) if pixels is None else np.ascontiguousarray(pixels)

        def task(a: int) -> tuple[int, Array, Array]:
            low, high = int(groups[a : a + SLAB].min()), int(groups[a : a + SLAB].max())
            first, last = low // W, high // W + self.patch
            num, den = np.zeros((last - first, W, C), np.float32), np.zeros((last - first, W), np.float32)
            sums, mates = (first, num, den), groups[a : a + SLAB]
            if touched is not None:  # groups without a wanted pixel give nothing to one
                mates = mates[touched[mates[..., :1] if self.near else mates].any(axis=2)][None]
            condition(X, given, mates, self.patch, channels, np.float32(mix), turned, most, wanted, sums)
            return sums

        num, den = np.zeros((H, W, C)), np.zeros((H, W))
        for first, n, d in _each(task, range(0, len(groups), SLAB), threads):
            num[first : first + len(n)] += n
            den[first : first + len(d)] += d
        den = den[..., None]
        return np.where(den > 0, num / np.where(den > 0, den, 1), X)


def _check_finite(X: Array) -> None:
    if not np.isfinite(X).all():
        at = tuple(int(i) for i in np.argwhere(~np.isfinite(X))[0])
        msg = f"X must be finite for SelfSimilarity; got {X[at]} at index {at}. Fill it first."
        raise ValueError(msg)


def _positive(sigma: float) -> float:
    if not (np.isfinite(sigma) and sigma > 0):
        msg = f"sigma of SelfSimilarity.denoise must be a finite number > 0; got {sigma!r}."
        raise ValueError(msg)
    return float(sigma)


def _each(task: Callable[[int], Any], items: range, threads: int) -> Iterator[Any]:
    """Task of every item, in order; over threads if asked for (the kernels release the interpreter lock)."""
    if threads <= 1 or len(items) < 2:
        yield from map(task, items)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(task, items)
