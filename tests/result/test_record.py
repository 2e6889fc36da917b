"""Error bars: where they end."""

import numpy as np
import pytest

from tensorfill.numerical.base import REAL, UNIT
from tensorfill.result.record import Bars, History, limits


@pytest.mark.parametrize(
    ("values", "domain", "ends"),
    [
        ([0.0, 3.0], None, (0.0, np.inf)),
        ([-1.0, 3.0], None, (-np.inf, np.inf)),
        ([-1.0, 0.0], None, (-np.inf, 0.0)),
        ([0.0, 0.0], None, (-np.inf, np.inf)),  # nothing but zeros says nothing of a side
        ([0.0, 1.0], None, (0.0, 1.0)),  # yes and no
        ([1.0, 5.0, 4.0, *[3.0] * 40], None, (1.0, 5.0)),  # stars
        ([0.2, 0.7], UNIT, (0.0, 1.0)),
        ([-2.0, 3.0], REAL, (-np.inf, np.inf)),
    ],
)
def test_limits_follow_the_data_and_the_prior(values, domain, ends):
    assert limits(np.array(values), domain) == ends


def test_bars_end_at_the_limits():
    middle, half = np.array([-0.5, 0.2, 3.0]), np.array([0.1, 1.0, 1.0])
    low, high = Bars(0.9, half).around(middle, (0.0, 3.5))
    assert low.tolist() == [-0.5, 0.0, 2.0]  # an estimate lies inside its interval, whatever it is
    assert high.tolist() == [0.0, 1.2, 3.5]
    low, high = Bars(0.9, half).around(middle)
    assert np.array_equal(low, middle - half)
    assert np.array_equal(high, middle + half)


@pytest.mark.parametrize("odd", ["loss", "", 0, None, [1]])
def test_a_column_that_is_none_is_a_sentence(odd):
    with pytest.raises(ValueError, match="must be one of iteration, seconds, value, held_out; got"):
        History()[odd]
