"""Samples and masks: same seed, same data; shapes, types and shares as documented."""

import numpy as np
import pytest

from tensorfill.data import masks, samples

SAMPLES = {  # name: (dtype, shape of a small one)
    "video": (np.uint8, (5, 8, 9, 3)),
    "cube": (np.float64, (8, 9, 6)),
    "metro": (np.int64, (6, 9, 8)),
    "yesno": (np.bool_, (6, 9, 8)),
    "ratings": (np.int64, (6, 9, 4)),
    "sensors": (np.float64, (6, 9, 8)),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_samples(name):
    dtype, shape = SAMPLES[name]
    make = getattr(samples, name)

    def parts(found):
        return found if isinstance(found, tuple) else (found, None)

    (values, mask), (again, mask_again) = parts(make(shape, seed=1)), parts(make(shape, seed=1))
    assert values.dtype == dtype
    assert values.shape == shape
    np.testing.assert_array_equal(values, again)
    np.testing.assert_array_equal(mask, mask_again)
    assert not np.array_equal(values, parts(make(shape, seed=2))[0], equal_nan=dtype == np.float64)
    assert parts(make())[0].size < 100_000
    observed = ~np.isnan(values) if mask is None else mask
    assert observed.shape == shape
    assert observed.any()
    assert np.std(values[observed].astype(float)) > 0
    if name == "ratings":
        assert set(np.unique(values)) <= {1, 2, 3, 4, 5}
    if name in ("metro", "sensors"):  # whole days at a time
        assert not observed.all()
        assert (observed.all(axis=2) == observed.any(axis=2)).all()


def test_photograph():
    found = samples.photograph()
    assert found.shape == (600, 512, 3)
    assert found.dtype == np.uint8
    assert 20 < found.std() < 120


@pytest.mark.parametrize("missing", [0, 0.37, 0.9, 0.999999])
def test_random_entries(missing):
    mask = masks.random_entries((7, 8, 9), missing, seed=3)
    assert mask.dtype == bool
    assert np.count_nonzero(~mask) == min(round(missing * 504), 503)
    np.testing.assert_array_equal(mask, masks.random_entries((7, 8, 9), missing, seed=3))
    if missing:
        assert not np.array_equal(mask, masks.random_entries((7, 8, 9), missing, seed=4))


@pytest.mark.parametrize("mode", [0, 1, -1, (0, 2)])
def test_random_fibres(mode):
    mask = masks.random_fibres((7, 8, 9), 0.5, mode=mode)
    assert (mask.all(axis=mode) == mask.any(axis=mode)).all()
    count = mask.all(axis=mode).size
    assert np.count_nonzero(~mask.all(axis=mode)) == round(count / 2)


def test_random_blocks():
    mask = masks.random_blocks((40, 50, 3), 0.5, (8, 8, 3), seed=1)
    assert (mask.all(axis=2) == mask.any(axis=2)).all()
    assert abs(np.mean(~mask) - 0.5) <= 0.5 * 64 / 2000
    np.testing.assert_array_equal(mask, masks.random_blocks((40, 50, 3), 0.5, (8, 8, 3), seed=1))
    assert masks.random_blocks((4, 4), 0, (2, 2)).all()


def test_bad_masks():
    with pytest.raises(ValueError, match=r"missing must be a share from 0 .*; got 90\. For 90 % write 0\.9"):
        masks.random_entries((3, 3), 90)
    with pytest.raises(ValueError, match="mode must name at least one mode"):
        masks.random_fibres((3, 3), 0.5, mode=(0, 1))
    with pytest.raises(ValueError, match="block must have one length per mode"):
        masks.random_blocks((3, 3), 0.5, (4, 1))
