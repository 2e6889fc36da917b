"""bench growth: its data, one point, slopes and the figure."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from tensorfill_benchmarks import growth, growth_data
from tensorfill_benchmarks.growth import Point, points, slope


def test_coordinates_are_different_and_all_over(rng):
    shape = (40, 30, 20)
    where = np.concatenate([growth_data.coordinates(3000, shape, a, a + 1000) for a in (0, 1000, 2000)])
    assert len(np.unique(where, axis=0)) == 3000
    assert (where < shape).all()
    for n, length in enumerate(shape):
        assert np.bincount(where[:, n], minlength=length).min() > 0


def test_a_point_is_measured_and_drawn(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")

    def here(point):  # without a process of its own, which would import everything again
        folder = tmp_path / f"{point.observations}"
        folder.mkdir()
        growth_data.write(folder, point.observations, point.shape)
        return growth._measure(point, str(folder))

    monkeypatch.setattr(growth, "measured", here)
    wanted = [Point("observations", n, 2, (50, 40, 6)) for n in (500, 2000)]
    told = []
    done = growth.run(tmp_path / "out", wanted, told.append)
    assert told == done
    assert all(p.sweep_seconds > 0 and p.gradient_seconds > 0 and p.peak_gb > 0 for p in done)
    with open(tmp_path / "out" / "growth.csv") as file:
        rows = list(csv.DictReader(file))
    assert [r["observations"] for r in rows] == ["500", "2000"]
    assert (tmp_path / "out" / "growth.png").stat().st_size > 10_000
    # what is measured is not measured again, and other axes join it
    more = [wanted[0], Point("rank", 500, 3, (50, 40, 6))]
    monkeypatch.setattr(growth, "measured", lambda p: replace(p, read_seconds=1, gradient_seconds=2, sweep_seconds=3))
    both = growth.run(tmp_path / "out", more, told.append)
    assert both[0] == done[0]
    assert told == [*done, both[1]]
    assert [p.key for p in growth.read(tmp_path / "out" / "growth.csv")] == [p.key for p in (*wanted, more[1])]
    assert growth.run(tmp_path / "out", more[:1], again=True)[0].sweep_seconds == 3


def test_traffic_by_the_formula():
    alone, two = (growth.traffic(Point("workers", 1000, 10, (70, 20, 5), w)) for w in (1, 2))
    assert alone == (0.0, 0.0)
    assert two[0] == pytest.approx(80e-6 * 25 * (1 + 1))
    assert two[1] == pytest.approx(80e-6 * (25 + 2 * (75 + 90)))


def test_slopes():
    some = [Point("observations", n, 2, (9, 9), sweep_seconds=3e-6 * n**1.1) for n in (10**5, 10**6, 10**7)]
    assert slope(some, "sweep_seconds") == pytest.approx(1.1)
    assert np.isnan(slope(some, "sweep_seconds", 10**7))


def test_points_stay_below_the_most():
    axes = ("observations", "rank", "workers")
    wanted = points(10**6, 8, axes, (1, 2))
    assert {p.axis for p in wanted} == set(axes)
    assert max(p.observations for p in wanted) == 10**6
