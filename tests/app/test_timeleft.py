"""The time left of a run, by clocks that the test sets."""

import pytest

pytest.importorskip("starlette", reason="the extra [app] is not installed")
from tensorfill.app.timeleft import TimeLeft


class Clocks:
    def __init__(self):
        self.now = self.cpu = 100.0

    def pass_time(self, seconds, busy=1.0):
        self.now, self.cpu = self.now + seconds * busy, self.cpu + seconds

    def time_left(self, planned, **options):
        return TimeLeft(planned, clock=lambda: self.now, processor=lambda: self.cpu, **options)


@pytest.mark.parametrize("busy", [0.6, 1.0, 4.0])
@pytest.mark.parametrize("final", [0.1, 0.6])  # seconds of the last fits, for each second of the contest
def test_a_contest_is_followed_by_the_share_of_its_budget(busy, final):
    clocks = Clocks()
    left = clocks.time_left(None)
    assert left.seconds() == (None, None)
    for k in range(1, 11):
        clocks.pass_time(1.0, busy)
        left.tried(k / 10)
        total, told = left.seconds()
        if 2 <= k <= 5:
            truth = (10 * (1 + final) - k) * busy
            assert truth / 1.5 < told < 1.5 * truth
    assert total == pytest.approx(13 * busy)
    assert told is None  # too near the end for a guess


@pytest.mark.parametrize("busy", [0.6, 1.0, 4.0])
def test_a_fit_takes_longer_where_others_use_the_computer(busy):
    clocks = Clocks()
    left = clocks.time_left(20.0)
    assert left.seconds() == (None, None)
    clocks.pass_time(8.0, busy)
    assert left.seconds() == (pytest.approx(20.0 * busy), pytest.approx(12.0 * busy))
    clocks.pass_time(6.0, busy)
    assert left.seconds() == (pytest.approx(20.0 * busy), None)


def test_of_several_runs_nothing_is_told():
    clocks = Clocks()
    left = clocks.time_left(None, runs=2)
    clocks.pass_time(5.0)
    left.tried(0.5)
    assert left.seconds() == (None, None)
