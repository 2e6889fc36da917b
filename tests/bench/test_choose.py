"""The choice of `auto` on real data: sets, gaps, scores, the others, what is run again and what is not, refusals."""

import csv
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from tensorfill.result.record import Status
from tensorfill_benchmarks import (
    choose,
    choose_front,
    choose_gaps,
    choose_lines,
    choose_networks,
    choose_others,
    choose_report,
    choose_sets,
    choose_speed,
)
from tensorfill_benchmarks.choose_data import REPORTED, TUNED, DataSet, NotHere, Places, Spec, frame, package_file
from tensorfill_benchmarks.cli import app


def sensors(unknown=0.05):
    """20 days x 12 hours x 6 sensors, a few of them unknown for good."""
    rng = np.random.default_rng(1)
    values = np.add.outer(rng.normal(size=20), rng.normal(size=12))[..., None] + rng.normal(size=6)
    values[rng.random(values.shape) < unknown] = np.nan
    return DataSet(values, columns=(2,), time=(0, 1), fibres=(1,), plane=(0, 1))


def table():
    rng = np.random.default_rng(2)
    return DataSet(rng.normal(size=(60, 3)) @ rng.normal(size=(3, 8)) * 10.0 ** np.arange(8), units=1)


# --- gaps ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gaps", choose_gaps.KINDS)
def test_gaps_lie_on_known_entries_and_leave_something_of_every_slice(gaps):
    data = sensors()
    hidden = choose_gaps.hide(data, "mine", gaps)
    assert hidden.any()
    assert not (hidden & ~data.known).any()
    for mode in range(3):
        others = tuple(n for n in range(3) if n != mode)
        assert (data.known & ~hidden).any(axis=others).all()
    np.testing.assert_array_equal(hidden, choose_gaps.hide(data, "mine", gaps))
    assert (hidden != choose_gaps.hide(data, "mine", gaps, draw=1)).any()


def test_single_entries_have_the_share_of_their_name():
    for share in (20, 50, 80):
        hidden = choose_gaps.hide(sensors(0), "mine", f"single{share}")
        assert hidden.mean() == pytest.approx(share / 100, abs=0.04)


def test_windows_of_networks_are_put_together_again(monkeypatch):
    monkeypatch.setattr(choose_networks, "STEPS", 50)
    data = sensors(0)  # 240 steps, of which the last window takes some again
    T = np.where(choose_gaps.hide(data, "mine", "runs"), np.nan, data.values)
    seen = []

    def network(windows):
        seen.append(windows.shape)
        return np.zeros(windows.shape)  # the mean of each series

    out = choose_networks.fill(network, data, T)
    assert seen == [(5, 50, 6)]
    means = np.broadcast_to(np.nanmean(T, axis=(0, 1)), T.shape)
    np.testing.assert_allclose(out, np.where(np.isnan(T), means, T))
    assert choose_networks.fill(network, table(), table().values) == "no mode is time"


def test_runs_are_long_and_cross_midnight():
    data = sensors(0)
    flat = choose_gaps.flat_time(data, choose_gaps.hide(data, "mine", "runs"))
    assert flat.shape == (240, 6)
    for one in flat.T:
        edges = np.flatnonzero(np.diff(np.r_[0, one, 0]))
        inner = (edges[1::2] - edges[::2])[1:-1]  # at either end a run may be cut short
        assert inner.min() >= choose_gaps.SHORTEST
    assert (flat[11::12] & np.roll(flat, -1, axis=0)[11::12]).any()
    np.testing.assert_array_equal(
        choose_gaps.from_flat_time(data, choose_gaps.flat_time(data, data.values)), data.values
    )


def test_a_blackout_is_for_all_and_a_sensor_is_off_for_whole_days():
    data = sensors(0)
    flat = choose_gaps.flat_time(data, choose_gaps.hide(data, "mine", "blackout"))
    assert (flat.all(axis=1) | ~flat.any(axis=1)).all()
    days = choose_gaps.hide(data, "mine", "slices").mean(axis=1)
    assert set(np.unique(days)) == {0.0, 1.0}


def test_of_some_rows_half_the_columns_are_missing_together():
    hidden = choose_gaps.hide(table(), "mine", "slices")
    rows = hidden[hidden.any(axis=1)]
    assert (rows == rows[0]).all()
    assert rows[0].sum() == 4


def test_gaps_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match="Did you mean 'single20'"):
        choose_gaps.hide(table(), "mine", "single2")
    with pytest.raises(ValueError, match="mine has none"):
        choose_gaps.hide(table(), "mine", "runs")


# --- scores ----------------------------------------------------------------------------------------------------------


def test_errors_are_in_standard_deviations_of_the_column():
    values = np.array([[0.0, 0.0], [2.0, 2000.0]])  # spreads of 1 and 1000
    hidden = np.array([[True, True], [False, False]])
    off = np.array([[3.0, 4000.0], [99.0, 99.0]]) + values
    assert DataSet(values, units=1).error(off, hidden) == pytest.approx(np.sqrt((9 + 16) / 2))
    assert DataSet(values, units=1, high=2.0).error(off, hidden) == pytest.approx(np.sqrt((4 + 4e-6) / 2))


def test_of_yes_and_no_the_error_is_the_root_of_the_brier_score():
    data = DataSet(np.array([[0, 1], [1, 1]]), low=0, high=1, scaled=False)
    everywhere = np.ones((2, 2), dtype=bool)
    assert data.error(np.array([[-3.0, 0.5], [1.0, 1.0]]), everywhere) == pytest.approx(0.25)


# --- the others ------------------------------------------------------------------------------------------------------


def gapped(data, gaps="single20"):
    hidden = choose_gaps.hide(data, "mine", gaps)
    return np.where(hidden, np.nan, data.values), hidden


@pytest.mark.parametrize("name", choose_others.OTHERS)
def test_others_fill_every_gap_and_keep_what_is_known(name):
    data = sensors()
    T, _ = gapped(data)
    out = choose_others.OTHERS[name](data, T)
    assert np.isfinite(out).all()
    seen = np.isfinite(T)
    np.testing.assert_allclose(out[seen], T[seen])


def test_others_are_exact_where_they_should_be():
    t = np.arange(40.0)
    lines = DataSet(np.stack([t, 5 - 2 * t, 1e5 + 30 * t], axis=1), units=1, time=(0,))
    T, hidden = gapped(lines)
    T[[0, -1]] = lines.values[[0, -1]]  # beyond the ends a line is level
    np.testing.assert_allclose(choose_others.linear(lines, T), lines.values)
    added = sensors(0)
    T, hidden = gapped(added)
    assert added.error(choose_others.mode_means(added, T), hidden) < 1e-6
    plane = DataSet(np.add.outer(t, 3 * t), plane=(0, 1))
    T, _ = gapped(plane)
    T[[0, 0, -1, -1], [0, -1, 0, -1]] = plane.values[[0, 0, -1, -1], [0, -1, 0, -1]]
    np.testing.assert_allclose(choose_others.griddata(plane, T), plane.values)
    low_rank = table()
    T, hidden = gapped(low_rank)
    assert low_rank.error(choose_others.iterative(low_rank, T), hidden) < 0.3


def test_imputers_take_several_modes_as_columns():
    rng = np.random.default_rng(3)
    values = (rng.normal(size=(200, 2)) @ rng.normal(size=(2, 12))).reshape(200, 3, 4)
    wide, narrow = DataSet(values, columns=(1, 2), fibres=(2,)), DataSet(values, columns=(2,), fibres=(2,))
    T, hidden = gapped(wide, "slices")  # all four columns at once: only the wide table can tell
    assert wide.error(choose_others.knn(wide, T), hidden) < 0.6
    assert narrow.error(choose_others.knn(narrow, T), hidden) > 0.9


def test_others_say_why_not():
    data = table()
    T, _ = gapped(data)
    assert choose_others.linear(data, T) == "no mode is time"
    assert choose_others.griddata(data, T) == "no two modes are a plane"
    wide = DataSet(np.ones((2, 301)))
    assert "301 columns" in choose_others.iterative(wide, wide.values)
    tall = DataSet(np.ones((choose_others.MOST_ROWS + 1, 2)))
    assert "rows are too many" in choose_others.knn(tall, tall.values)


# --- sets ------------------------------------------------------------------------------------------------------------


def test_sets_are_split_by_name_half_and_half_over_the_kinds():
    names = [spec.name for spec in choose_sets.SETS]
    assert len(set(names)) == len(names)
    assert len(choose_sets.choose()) >= 48
    for kind in {spec.kind for spec in choose_sets.SETS}:
        halves = [spec.half for spec in choose_sets.SETS if spec.kind == kind]
        assert abs(halves.count(TUNED) - halves.count(REPORTED)) <= 2
        assert set(halves) == {TUNED, REPORTED}


@pytest.mark.parametrize("spec", [*choose_sets.SETS, *choose_sets.LEARNED], ids=lambda spec: spec.name)
def test_each_set_loads_and_its_gaps_can_be_drawn(spec):
    try:
        data = spec.load(Places())
    except NotHere as missing:
        pytest.skip(str(missing))
    assert 100 < data.values.size <= 2_000_000
    assert data.known.mean() > 0.5 or spec.kind == "ratings"
    known = data.values[data.known]
    assert known.min() >= data.low
    assert known.max() <= data.high
    for gaps in spec.gaps:
        hidden = choose_gaps.hide(data, spec.name, gaps)
        assert 0.05 < hidden.sum() / data.known.sum() < 0.85


def test_cells_are_asked_for_by_set_by_gaps_by_kind_and_by_half():
    wine = [(spec.name, gaps) for spec, gaps in choose_sets.choose(["wine", "wine/mix"])]
    assert wine == [("wine", "single20"), ("wine", "slices"), ("wine", "mix")]
    assert {spec.kind for spec, _ in choose_sets.choose(["series"])} == {"series"}
    assert {spec.half for spec, _ in choose_sets.choose(None, REPORTED)} == {REPORTED}
    with pytest.raises(ValueError, match="Did you mean 'wine'"):
        choose_sets.choose(["vine"])


def test_what_is_not_installed_is_a_sentence():
    with pytest.raises(NotHere, match="pip install --no-deps no_such_package"):
        frame("no_such_package", "a.csv")
    with pytest.raises(NotHere, match="has no file none"):
        package_file("numpy", "none.csv")
    with pytest.raises(NotHere, match="--images DIR"):
        choose_sets.load("house", Places())


# --- runs ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def bench(monkeypatch):
    """Two small sets and one that is not here, a fake registry, and an `auto` that knows no more than the mean."""
    calls = []

    def absent(_):
        raise NotHere("its package is not installed")

    specs = (
        Spec("days", TUNED, "sensors", ("runs", "single20"), lambda _: sensors()),
        Spec("tables", REPORTED, "table", ("single20",), lambda _: table()),
        Spec("gone", REPORTED, "table", ("single20",), absent),
    )
    monkeypatch.setattr(choose_sets, "SETS", specs)
    choose_sets.load.cache_clear()
    choose.problem.cache_clear()

    def fake(T, mask, seed):
        calls.append((T, mask, seed))
        estimate = np.full(T.shape, T[mask].mean() + seed)
        return SimpleNamespace(estimate=estimate, status=Status.CONVERGED)

    def alone(name, obs, seed):
        return None if name == "never" else np.full(obs.shape, 0.5)

    monkeypatch.setattr(choose, "complete", fake)
    monkeypatch.setattr(choose, "warm_up", lambda *_: None)
    monkeypatch.setattr(choose, "candidates", lambda: ["half", "never"])
    monkeypatch.setattr(choose, "alone", alone)
    yield calls
    choose_sets.load.cache_clear()
    choose.problem.cache_clear()


def lines(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_a_run_writes_a_row_per_cell_and_does_none_twice(bench, tmp_path, monkeypatch):
    report, left_out = choose.run(tmp_path, seeds=(0, 1))
    rows = lines(tmp_path / "choose.csv")
    assert report.failed == []
    assert left_out == ["gone: its package is not installed"]
    everyone = {"auto", "alone/half", "alone/never", *choose_others.OTHERS}
    assert {r["what"] for r in rows} == everyone
    assert len(rows) == 3 * (len(everyone) + 1)  # two seeds of auto
    assert len(bench) == 6
    never = next(r for r in rows if r["what"] == "alone/never")
    assert (never["error"], never["note"]) == ("", "cannot")
    assert (tmp_path / "choose.png").stat().st_size > 5000
    text = (tmp_path / "choose.md").read_text()
    assert "| days | tuned | runs |" in text
    assert (tmp_path / "choose_seconds.png").stat().st_size > 5000
    monkeypatch.setattr(choose_report, "draw", lambda lines, path: path)  # once is enough
    monkeypatch.setattr(choose_front, "draw", lambda lines, path: path)
    report, _ = choose.run(tmp_path, seeds=(0, 1, 2))
    assert (report.ran, len(bench)) == (3, 9)


def test_the_truth_is_never_shown_and_gaps_are_the_same_for_every_seed(bench, tmp_path):
    choose.run(tmp_path, ["days/runs"], seeds=(0, 1), only=["auto"])
    data, hidden = choose.problem("days", "runs", 0, Places())
    for T, mask, _ in bench:
        np.testing.assert_array_equal(mask, data.known & ~hidden)
        assert (T[~mask] == 0).all()
        np.testing.assert_array_equal(T[mask], data.values[mask])


def test_parts_and_draws(bench, tmp_path):
    choose.run(tmp_path, ["tables"], only=["others"], draws=(0, 1))
    rows = lines(tmp_path / "choose.csv")
    assert {r["gaps"] for r in rows} == {"single20", "single20#1"}
    assert {r["what"] for r in rows} == set(choose_others.OTHERS)
    assert bench == []
    assert not (tmp_path / "choose.png").exists()
    with pytest.raises(ValueError, match="--only must be among others, auto, candidates; got 'all'"):
        choose.run(tmp_path, only=["all"])
    with pytest.raises(ValueError, match="--half must be"):
        choose.run(tmp_path, half="both")


def test_an_answer_with_holes_is_a_failure(bench, tmp_path, monkeypatch):
    monkeypatch.setitem(choose_others.OTHERS, "knn", lambda data, T: T)
    report, _ = choose.run(tmp_path, ["tables"], only=["others"])
    assert len(report.failed) == 1
    assert "knn left gaps" in report.failed[0]


# --- what is said of them --------------------------------------------------------------------------------------------


def row(what, error, seed=0, name="a", half=TUNED, seconds=1.0):
    return {"set": name, "half": half, "gaps": "runs", "seed": str(seed), "what": what, "error": str(error),
            "seconds": str(seconds), "note": ""}  # fmt: skip


def test_ratios_by_hand():
    rows = [
        row("auto", 1.0),
        row("auto", 3.0, seed=1),
        row("linear", 4.0),
        row("alone/cp", 1.6),
        row("mode means", 8.0),
    ]
    rows += [row("auto", 2.0, name="b", half=REPORTED), row("linear", 1.0, name="b", half=REPORTED)]
    first, second = choose_lines.arrange(rows)
    assert (first.best, first.ratio) == ("alone/cp", pytest.approx(2 / 1.6))
    assert first.against(["linear", "griddata"]) == pytest.approx(0.5)
    assert first.against(["column means", "mode means"]) == pytest.approx(0.25)
    assert first.scatter == pytest.approx(np.std([1, 3], ddof=1) / 2)
    assert (second.ratio, second.scatter, second.against(["mode means"])) == (2.0, None, None)
    _, table = choose_report.summary([first, second])
    assert [line[0] for line in table] == [TUNED, REPORTED, "both"]
    both = table[2]
    assert both[2:5] == [f"{np.sqrt(1.25 * 2):.3f}", "2.000", "b / runs"]
    standings = {line[0]: line for line in choose_report.standings([first, second])[1]}
    assert standings["linear"][1:5] == ["2", f"{np.sqrt(4 / 1.6):.3f}", "2.500", "1"]


def test_who_is_best_for_the_time_is_on_the_front():
    rows = [row("auto", 1.0, seconds=4.0), row("linear", 2.0, seconds=0.0), row("knn", 3.0, seconds=0.1)]
    rows += [row("auto", 1.0, name="b", seconds=6.0), row("linear", 8.0, name="b"), row("knn", 1.5, name="b")]
    rows += [row("griddata", 0.5, name="c"), row("auto", 1.0, name="c", seconds=5.0), row("linear", 1.0, name="c")]
    everyone = choose_front.points(choose_lines.arrange(rows))
    assert [p.who for p in everyone] == ["knn", "linear", "auto"]  # griddata ran once in three
    assert [p.seconds for p in everyone] == [0.55, 1.0, 5.0]
    assert everyone[2].error == pytest.approx(2 ** (1 / 3))
    assert [p.who for p in choose_front.front(everyone)] == ["knn", "auto"]


def test_the_speed_tasks_have_the_sizes_they_name():
    T, mask = choose_speed.small_table(Places())
    assert T.shape == (12, 10)
    T, mask = choose_speed.counts(Places())
    assert T.shape == (30, 30, 1464)
    assert mask.sum() == pytest.approx(790_000, rel=0.01)
    assert (T[mask] == 0).mean() < 0.5


def test_speed_is_measured_task_by_task(tmp_path, monkeypatch):
    done = SimpleNamespace(estimate=None, status=Status.CONVERGED)
    monkeypatch.setattr(choose_speed, "complete", lambda T, mask: done)
    report, left_out = choose_speed.run(tmp_path, ["table"])
    assert (report.ran, report.failed, left_out) == (1, [], [])
    (row,) = lines(tmp_path / "choose-speed.csv")
    assert (row["what"], row["shape"], row["target"]) == ("table", "12 x 10", "<= 0.5")
    assert choose_speed.run(tmp_path, ["table"])[0].already == 1
    with pytest.raises(ValueError, match="--names must be among table, ratings, counts, picture"):
        choose_speed.run(tmp_path, ["tables"])


def test_the_command(tmp_path):
    done = CliRunner().invoke(app, ["choose", "-o", str(tmp_path), "--names", "linnerud", "--only", "others"])
    assert done.exit_code == 0, done.output
    assert "6 cells run" in done.output
    assert len(lines(tmp_path / "choose.csv")) == 6
    done = CliRunner().invoke(app, ["choose", "-o", str(tmp_path), "--names", "linerud"])
    assert done.exit_code == 2
    assert "Did you mean 'linnerud'" in done.output
    done = CliRunner().invoke(app, ["choose", "-o", str(tmp_path), "--names", "house", "--only", "others"])
    assert "house: house.png needs --images DIR." in done.output


@pytest.mark.parametrize("what", ["auto", "alone/means"])
def test_half_a_run_is_no_result(monkeypatch, what):
    data = DataSet(np.arange(48.0).reshape(8, 6))
    cut = SimpleNamespace(status=Status.INTERRUPTED, estimate=data.values)
    monkeypatch.setattr(choose, "warm_up", lambda *_: None)
    monkeypatch.setattr(choose, "complete", lambda *_, **__: cut)
    monkeypatch.setattr(choose.Auto, "fit", lambda *_: cut)
    with pytest.raises(KeyboardInterrupt):
        choose.fill(data, np.eye(8, 6, dtype=bool), what, 0)
