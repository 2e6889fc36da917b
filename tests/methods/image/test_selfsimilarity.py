"""The self-similarity filter, and the refinement of a completion by it."""

import numpy as np
import pytest

from tensorfill.methods.image.non_local import Refinement, default_sigmas
from tensorfill.methods.image.selfsimilarity import SelfSimilarity
from tensorfill.result.record import Status
from tensorfill.solvers.loop import Stopping, run

SMALL = SelfSimilarity(patch=4, stride=3, group=16, radius=6)


def texture(H=40, W=36, channels=(3,)):
    """A repetitive picture, 0..200, with channels that differ in gain and level."""
    y, x = np.mgrid[:H, :W]
    base = 60.0 * (np.sin(2 * np.pi * x / 8) * np.cos(2 * np.pi * y / 10) > 0) + 3.0 * y
    gain = 0.5 + 0.5 * np.random.default_rng(7).random(channels)
    return base.reshape(H, W, *[1] * len(channels)) * gain + 10.0 * gain


def holes(shape, rate=0.6, seed=0):
    return np.random.default_rng(seed).random(shape) >= rate


def flat_start(T, M):
    """Every missing entry at the mean of the data."""
    return np.where(M, T, T[M].mean())


def refine(values, M, start, *, passes=12, noise=0.0, turned=2, threads=1, callback=None):
    """All passes over a start, in the loop: its outcome."""
    t = values[M]
    sigmas = default_sigmas(t, passes, share=float(M.mean()))
    refinement = Refinement(t, M, start, SMALL, sigmas, noise=noise, turned=turned, threads=threads)
    stopping = Stopping(max_iter=passes, tol=0.0)
    return run(refinement, stopping=stopping, rng=np.random.default_rng(0), callback=callback)


def refined(*given, **settings):
    return refine(*given, **settings).state.arrays["X"]


def rms(X, T, where=...):
    return float(np.sqrt(np.mean((X - T)[where] ** 2)))


@pytest.mark.parametrize("channels", [(), (3,), (7,), (3, 4)])
def test_data_fill_the_rest(channels):
    T = texture(channels=channels)
    M = holes(T.shape, 0.5)
    X0 = flat_start(T, M)
    X = refined(T, M, X0)
    assert X.shape == T.shape
    assert np.array_equal(X[M], T[M])
    assert rms(X, T, ~M) < 0.5 * rms(X0, T, ~M)


def test_a_constant_stays():
    X = np.full((20, 20, 3), 37.3)
    Z = SMALL.denoise(X, 5.0, observed=holes(X.shape))
    np.testing.assert_allclose(Z, X, rtol=1e-6)


def test_same_bits_for_any_number_of_threads():
    T = texture(90, 30)
    M = holes(T.shape)
    one, two, again = (SMALL.denoise(T, 8.0, observed=M, threads=n) for n in (1, 2, 2))
    assert np.array_equal(one, two)
    assert np.array_equal(two, again)


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**-8, 257.0, 1e6])
def test_units_do_not_matter(scale):
    T = texture()
    M = holes(T.shape)
    noisy = T + 5.0 * np.random.default_rng(1).standard_normal(T.shape)
    Z = SMALL.denoise(noisy, 5.0, observed=M)
    np.testing.assert_allclose(SMALL.denoise(noisy * scale, 5.0 * scale, observed=M) / scale, Z, atol=0.02)


def test_a_shift_does_not_matter():
    T = texture()
    M = holes(T.shape)
    Z = SMALL.denoise(T, 5.0, observed=M)
    np.testing.assert_allclose(SMALL.denoise(T + 4096.0, 5.0, observed=M) - 4096.0, Z, atol=0.02)


def test_refinement_does_not_see_the_units():
    T = texture()
    M = holes(T.shape)
    X0 = flat_start(T, M)
    X = refined(T, M, X0)
    np.testing.assert_allclose(refined(T / 256, M, X0 / 256) * 256, X, atol=0.05)


@pytest.mark.parametrize("placeholder", [0.0, np.nan, 1e30])
def test_placeholders_change_no_bit(placeholder):
    T = texture()
    M = holes(T.shape)
    X0 = flat_start(T, M)
    want = refined(T, M, X0)
    values, start = np.where(M, T, placeholder), np.where(M, placeholder, X0)
    assert np.array_equal(refined(values, M, start), want)


def test_nothing_given_is_changed():
    T = texture()
    M = holes(T.shape)
    X0 = flat_start(T, M)
    before = T.copy(), M.copy(), X0.copy()
    refined(T, M, X0)
    for now, then in zip((T, M, X0), before, strict=True):
        assert np.array_equal(now, then)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_is_kept(dtype):
    X = texture().astype(dtype)
    assert SMALL.denoise(X, 3.0, observed=holes(X.shape)).dtype == dtype


def test_whole_numbers_become_reals():
    X = texture().astype(np.uint8)
    np.testing.assert_allclose(
        SMALL.denoise(X, 3.0, observed=holes(X.shape)), SMALL.denoise(X.astype(float), 3.0, observed=holes(X.shape))
    )


def test_modes_may_be_anywhere():
    T = texture(channels=(3,))
    M = holes(T.shape)
    moved = SelfSimilarity(patch=4, stride=3, group=16, radius=6, modes=(1, 2))
    Z = moved.denoise(np.moveaxis(T, 2, 0), 5.0, observed=np.moveaxis(M, 2, 0))
    assert np.array_equal(np.moveaxis(Z, 0, 2), SMALL.denoise(T, 5.0, observed=M))


def test_groups_hold_the_reference_first_and_stay_in_the_window():
    T = texture() + np.random.default_rng(0).standard_normal((40, 36, 3))
    groups = SMALL.match(T)
    y, x = np.divmod(groups, T.shape[1])
    assert groups.shape == (13, 12, 16)
    assert (y[..., 0] == np.append(np.arange(0, 36, 3), 36)[:, None]).all()
    assert abs(y - y[..., :1]).max() <= SMALL.radius
    assert abs(x - x[..., :1]).max() <= SMALL.radius
    for a in (0, 6, 12):  # nothing outside the group is nearer than its last
        at = groups[a, 5]
        patches = np.lib.stride_tricks.sliding_window_view(T, (4, 4), axis=(0, 1))
        v, u = np.mgrid[: patches.shape[0], : patches.shape[1]]
        near = (abs(v - y[a, 5, 0]) <= SMALL.radius) & (abs(u - x[a, 5, 0]) <= SMALL.radius)
        d = np.square(patches - patches[y[a, 5, 0], x[a, 5, 0]]).sum(axis=(2, 3, 4))
        best = np.sort(d[near])[:16]
        np.testing.assert_allclose(np.sort(d[np.divmod(at, 36)]), best, rtol=1e-4, atol=1e-6)


def test_trusted_data_are_followed_and_noisy_data_are_not():
    T = texture()
    rng = np.random.default_rng(3)
    M = holes(T.shape, 0.3)
    noisy = T + 12.0 * rng.standard_normal(T.shape)
    trusting = SMALL.denoise(noisy, 2.0, observed=M)
    careful = SMALL.denoise(noisy, 2.0, observed=M, noise=12.0)
    assert rms(careful, T) < rms(trusting, T)
    assert rms(trusting, noisy, M) < rms(careful, noisy, M)


def test_noise_that_is_known_is_not_followed():
    T = texture()
    M = holes(T.shape, 0.4)
    t = np.where(M, np.random.default_rng(0).poisson(T), 0).astype(float)
    X0 = flat_start(t, M)
    X = refined(t, M, X0, noise=np.sqrt(np.maximum(t, 1.0)))
    assert rms(X, T, ~M) < 0.95 * rms(refined(t, M, X0), T, ~M)


def test_both_ways_are_better_than_one():
    T = texture()
    M = holes(T.shape)
    X0 = flat_start(T, M)
    assert rms(refined(T, M, X0, turned=6), T, ~M) < rms(refined(T, M, X0, turned=0), T, ~M)


@pytest.mark.parametrize("turned", [False, True])
def test_a_row_of_the_table_is_the_mean_given_the_data(turned):
    """Against the textbook formula, on the one group of a picture of one patch."""
    from tensorfill.methods.image import _selfsimilarity_kernels as kernels

    rng = np.random.default_rng(0)
    X = rng.standard_normal((8, 9, 2)).astype(np.float32)
    M = holes(X.shape, 0.5)
    one = SelfSimilarity(patch=4, stride=4, group=6, radius=5)
    groups = one.match(X)[1:2, 1:2]
    patches = np.stack([X[v : v + 4, u : u + 4] for v, u in zip(*np.divmod(groups[0, 0], 9), strict=True)])
    seen = np.stack([M[v : v + 4, u : u + 4] for v, u in zip(*np.divmod(groups[0, 0], 9), strict=True)])
    mean = patches.mean(axis=0, keepdims=True)
    Y, D, S = ((a.reshape(6, 16, 2)) for a in (patches - mean, patches - mean, seen))
    rows, columns = (6, 16) if turned else (16, 6)
    turn = (0, 2, 1) if turned else (1, 2, 0)  # row, channel, column
    Y, D, S = (a.transpose(turn).reshape(rows, -1).astype(float) for a in (Y, D, S))
    Q = Y.T @ Y / rows
    B = Q.reshape(2, columns, 2, columns)
    V, G = np.einsum("akbk->ab", B) / columns, np.einsum("akah->kh", B) / 2
    R = 0.7 * V / (np.trace(V) / 2) + 0.3 * np.eye(2)
    prior = 0.6 * Q + 0.4 * np.kron(R, G) + kernels.LEVEL * np.kron(R, np.ones((columns, columns)))
    want = np.empty((rows, 2 * columns))
    for i in range(rows):
        o = S[i] > 0
        want[i] = prior[:, o] @ np.linalg.solve(prior[np.ix_(o, o)] + kernels.DATA * np.eye(o.sum()), D[i, o])
    back = (0, 2, 1) if turned else (2, 0, 1)
    want = want.reshape(rows, 2, columns).transpose(back).reshape(6, 4, 4, 2) + mean
    num, den = np.zeros(X.shape), np.zeros(X.shape[:2])
    for k, (v, u) in enumerate(zip(*np.divmod(groups[0, 0], 9), strict=True)):
        num[v : v + 4, u : u + 4] += want[k]
        den[v : v + 4, u : u + 4] += 1
    got = np.zeros(X.shape, np.float32), np.zeros(X.shape[:2], np.float32)
    given = (M, np.zeros_like(X))
    kernels.condition(
        X, given, groups, 4, np.eye(2, dtype="f4"), np.float32(0.4), turned, 64, np.ones(X.shape[:2], bool), (0, *got)
    )
    at = den > 0
    np.testing.assert_allclose(
        (got[0] / np.maximum(got[1], 1e-9)[..., None])[at], (num / np.maximum(den, 1)[..., None])[at], atol=2e-4
    )


def test_same_refinement_for_any_number_of_threads():
    T = texture(90, 30)
    M = holes(T.shape)
    one, two = (refined(T, M, flat_start(T, M), passes=4, threads=n) for n in (1, 2))
    assert np.array_equal(one, two)


def test_callback_sees_each_pass_and_stops():
    T = texture()
    M = holes(T.shape)
    seen = []
    outcome = refine(T, M, flat_start(T, M), callback=lambda state, history: seen.append(state) or len(seen) == 3)
    assert [s.numbers["k"] for s in seen] == [0, 1, 2]
    assert outcome.status is Status.CALLBACK
    assert outcome.state is seen[-1]


@pytest.mark.parametrize("shift", [0, 1, 2, 5])
def test_a_shifted_grid_leaves_no_pixel_out(shift):
    T = texture()
    groups = SMALL.match(T, shift=(shift, 2 * shift))
    y, x = np.divmod(groups[..., 0], T.shape[1])
    covered = np.zeros(T.shape[:2], bool)
    for v, u in zip(y.ravel(), x.ravel(), strict=True):
        covered[v : v + 4, u : u + 4] = True
    assert covered.all()
    assert np.isfinite(SMALL.denoise(T, 5.0, observed=holes(T.shape), groups=groups)).all()


@pytest.mark.parametrize("share", [1.0, 0.4, 0.05, 0.001])
def test_sigmas_fall_and_follow_the_range(share):
    values = np.random.default_rng(0).uniform(0.0, 255.0, 1000)
    sigmas = default_sigmas(values, share=share)
    assert (np.diff(sigmas) < 0).all()
    assert sigmas[0] >= default_sigmas(values, share=1.0)[0]
    np.testing.assert_allclose(default_sigmas(values * 3 + 5, share=share), np.multiply(sigmas, 3))


def test_settings_make_the_same_prior():
    given = SMALL.settings()
    assert given.pop("name") == SelfSimilarity.name
    assert SelfSimilarity(**given) == SMALL


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"patch": 1}, "patch .* >= 2; got 1"),
        ({"patch": 5.5}, "patch .* whole number"),
        ({"stride": 9}, "stride .* <= patch"),
        ({"group": 1}, "group .* >= 2"),
        ({"modes": (0,)}, "two modes that are positions"),
    ],
)
def test_settings_are_checked(settings, words):
    with pytest.raises(ValueError, match=words):
        SelfSimilarity(**settings)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((30,), "two different modes that are positions"),
        ((30, 3, 30), r"mode 1 of X must have at least 4 positions, .* got 3\. Use a smaller patch"),
    ],
)
def test_what_is_no_picture_is_refused(shape, words):
    with pytest.raises(ValueError, match=words):
        SMALL.denoise(np.zeros(shape), 1.0, observed=np.ones(shape, bool))


def test_what_cannot_be_filtered_is_refused():
    X = texture()
    with pytest.raises(ValueError, match=r"sigma .* > 0; got 0"):
        SMALL.denoise(X, 0.0, observed=holes(X.shape))
    X[3, 4, 1] = np.nan
    with pytest.raises(ValueError, match=r"X must be finite .* at index \(3, 4, 1\)"):
        SMALL.denoise(X, 1.0, observed=holes(X.shape))


@pytest.mark.parametrize("shape", [(60, 70, 3), (40, 90), (5, 50, 44, 3)])
def test_what_is_not_wanted_costs_nothing_and_changes_nothing(shape):
    """Holes in a large picture: the same bits in them, from the few groups that reach them."""
    rng = np.random.default_rng(0)
    modes = (1, 2) if len(shape) == 4 else (0, 1)
    X = rng.normal(0, 1, shape).cumsum(axis=modes[0]).cumsum(axis=modes[1])
    hidden = np.zeros(shape, dtype=bool)
    hidden[(slice(None),) * modes[0] + (slice(20, 26), slice(8, 15))] = True
    hidden[(slice(None),) * modes[0] + (slice(0, 3), slice(-4, None))] = True
    filters = SelfSimilarity(stride=4, group=12, radius=9, modes=modes)
    options = {"observed": ~hidden}
    for shift in ((0, 0), (2, 1)):
        whole = filters.denoise(X, 0.5, groups=filters.match(X, shift=shift), **options)
        groups = filters.match(X, shift=shift, wanted=hidden)
        part = filters.denoise(X, 0.5, groups=groups, wanted=hidden, **options, threads=2)
        np.testing.assert_array_equal(part[hidden], whole[hidden])
        assert np.isfinite(part).all()
    middle = shape[modes[1]] // 2
    far = (slice(None),) * modes[0] + (slice(-2, None), slice(middle, middle + 2))
    np.testing.assert_allclose(part[far], X[far], rtol=1e-5, atol=1e-5)


def moving(F=5, H=24, W=26):
    """A texture that moves by two pixels a frame: (F, H, W, 3)."""
    wide = texture(H, W + 2 * F) + 25.0 * np.random.default_rng(2).random((H, W + 2 * F, 1))
    return np.stack([wide[:, 2 * f : 2 * f + W] for f in range(F)])


VIDEO = SelfSimilarity(patch=4, stride=3, group=16, radius=6, modes=(1, 2), frames=0)


def test_look_alikes_of_a_frame_lie_in_those_around_it():
    T = moving()
    frame, y = np.divmod(VIDEO.match(T) // T.shape[2], T.shape[1])
    own = frame[..., :1]
    assert abs(frame - own).max() == VIDEO.reach
    assert (frame != own).any(axis=2).mean() > 0.9
    assert (y + VIDEO.patch <= T.shape[1]).all()  # no patch reaches into the next frame
    alone = VIDEO.match(T[2:3])
    still = SelfSimilarity(patch=4, stride=3, group=16, radius=6).match(T[2])
    np.testing.assert_array_equal(alone, still)


def test_a_video_is_better_followed_than_stacked():
    T = moving()
    M = holes(T.shape)
    X = np.where(M, T, T + 10.0 * np.random.default_rng(3).standard_normal(T.shape))
    stacked = SelfSimilarity(patch=4, stride=3, group=16, radius=6, modes=(1, 2))
    off, than = (rms(d.denoise(X, 8.0, observed=M), T, ~M) for d in (VIDEO, stacked))
    assert off < 0.8 * than


def test_frames_may_lie_along_any_mode():
    T = moving(3)
    M = holes(T.shape)
    Z = VIDEO.denoise(T, 5.0, observed=M, threads=2)
    last = SelfSimilarity(patch=4, stride=3, group=16, radius=6, modes=(0, 1), frames=-1)
    moved = last.denoise(np.moveaxis(T, 0, 3), 5.0, observed=np.moveaxis(M, 0, 3))
    np.testing.assert_array_equal(np.moveaxis(moved, 3, 0), Z)
    with pytest.raises(ValueError, match="frames 1"):
        SelfSimilarity(modes=(1, 2), frames=1).check(T.shape)


def wall(period=14, times=4):
    """One piece of noise again and again, each a little different."""
    rng = np.random.default_rng(4)
    piece = np.tile(100.0 * rng.random((period, period, 1)), (times, times, 1))
    return piece + rng.standard_normal(piece.shape)


def test_look_alikes_beyond_the_radius_where_a_picture_repeats_itself():
    T = wall()
    near = SelfSimilarity(patch=4, stride=3, group=6, radius=5)
    far = SelfSimilarity(patch=4, stride=3, group=6, radius=5, far=4)
    groups = far.match(T)
    y, x = np.divmod(groups, T.shape[1])
    away = np.maximum(abs(y - y[..., :1]), abs(x - x[..., :1]))[..., 1:]
    assert np.median(away) == 14  # one period
    M = holes(T.shape, 0.5)
    X = np.where(M, T, T + 15.0 * np.random.default_rng(5).standard_normal(T.shape))
    assert rms(far.denoise(X, 10.0, observed=M), T, ~M) < 0.85 * rms(near.denoise(X, 10.0, observed=M), T, ~M)


def test_a_picture_without_repeats_is_the_same_with_or_without():
    T = 100.0 * np.random.default_rng(6).random((40, 36, 3))
    far = SelfSimilarity(patch=4, stride=3, group=16, radius=6, far=8)
    np.testing.assert_array_equal(far.match(T), SMALL.match(T))
    flat = np.full((20, 20), 3.0)
    np.testing.assert_array_equal(far.match(flat), SMALL.match(flat))
