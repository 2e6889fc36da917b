"""bench mixed: what is hidden, how it is scored, and that what is there is not run again."""

import numpy as np
import pandas as pd
import pytest

from tensorfill_benchmarks import mixed, mixed_peers, mixed_tables


def table(rows=60):
    rng = np.random.default_rng(0)
    z = rng.normal(size=rows)
    return mixed_tables.tidy(
        pd.DataFrame({"x": z, "y": z + 0.1 * rng.normal(size=rows), "kind": np.where(z > 0, "a", "b")})
    )


@pytest.mark.parametrize("pattern", mixed_tables.PATTERNS)
def test_about_a_third_is_hidden_and_every_row_keeps_something(pattern):
    hidden = mixed_tables.hide(table(300), pattern, 0)
    assert 0.1 < hidden.mean() < 0.4
    assert not hidden.all(axis=1).any()


def test_scores_are_in_standard_deviations_and_shares():
    truth = table()
    hidden = np.ones(truth.shape, dtype=bool)
    assert mixed.score(truth, truth, hidden) == (0.0, 0.0)
    numbers, wrong = mixed.score(
        truth,
        mixed_peers.mean_and_mode(
            truth.where(pd.DataFrame(~hidden, columns=truth.columns) | (np.arange(60) < 30)[:, None]), 0
        ),
        hidden,
    )
    assert 0.3 < numbers < 1.5
    assert 0 < wrong < 1


def test_a_run_is_kept_and_not_repeated(tmp_path, monkeypatch):
    monkeypatch.setattr(mixed, "tables", lambda data: {"small": table()})
    rows = mixed.run(str(tmp_path), None, methods=["KNNImputer", "mean and mode"])
    assert len(rows) == 8
    monkeypatch.setitem(mixed.METHODS, "KNNImputer", None)
    again = mixed.run(str(tmp_path), None, methods=["KNNImputer", "mean and mode"])
    pd.testing.assert_frame_equal(rows, again)
    board = mixed.standings(rows)
    assert board["method"].iloc[0] == "KNNImputer"
    assert all(path.stat().st_size > 0 for path in mixed.write(str(tmp_path), rows))
