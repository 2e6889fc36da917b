"""`bench solvers` on small tables: the file, the figure, and what is read from it."""

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

from tensorfill_benchmarks import solvers
from tensorfill_benchmarks.cli import app


def test_csv_first_then_the_figure_and_nothing_twice(tmp_path):
    asked = ["solvers", "-o", str(tmp_path), "--quick", "--seeds", "0", "--solvers", "lbfgsb,newton"]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "times faster" in done.output
    with open(tmp_path / "solvers.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == solvers.COLUMNS
    ran = {(r["table"], r["solver"]) for r in rows}
    assert ran == {(t, s) for t in solvers.KINDS for s in ("lbfgsb", "newton")}
    for table, name in ran:
        curve = solvers.curve(rows, table, "0", name)
        assert (np.diff(curve[:, 0]) > 0).all()
        assert (np.diff(curve[:, 1]) <= 0).all()
    assert (tmp_path / "solvers.png").stat().st_size > 10_000
    again = CliRunner().invoke(app, asked)
    assert "0 cells run" in again.output


def test_time_to_the_loss_that_both_reach():
    one = np.array([[0.0, 0, 10.0], [1.0, 0, 5.0], [2.0, 0, 0.0]])
    other = np.array([[0.0, 0, 10.0], [4.0, 0, 2.0], [8.0, 0, 1.0]])
    # both reach 1, all but a hundredth of the way from 10: 1.09
    first, second = solvers.time_to_same(one, other)
    assert first == pytest.approx(1 + (5 - 1.09) / 5)
    assert second == pytest.approx(4 + 4 * (2 - 1.09) / 1)


def test_rows_of_even_tables_hold_as_many_entries():
    most = {}
    for kind in ("normal", "normal-even"):
        table = solvers.draw_table(kind, 0, small=True)
        most[kind] = np.bincount(table.problem.observations.indices[:, 0]).max()
    assert most["normal-even"] < 0.6 * most["normal"]


def test_a_table_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"--tables must be of normal, .*-even; got 'normul'"):
        solvers.run(tmp_path, ["normul"])
