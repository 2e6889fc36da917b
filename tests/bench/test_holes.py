"""`bench holes`: the gaps, cells that are not run twice, and what is not installed."""

import numpy as np
import pytest

from tensorfill_benchmarks import holes
from tensorfill_benchmarks.holes import GAPS, csv_file, gap, run, table


@pytest.mark.parametrize("kind", GAPS)
def test_gaps_leave_most_of_a_picture(kind):
    missing = gap(kind, (256, 240, 3))
    assert missing.shape == (256, 240)
    assert 0.005 < missing.mean() < 0.2
    if kind.startswith("hole"):
        assert missing.sum() == int(kind.split()[1]) ** 2


def test_a_run_scores_what_is_there_and_names_what_is_not(tmp_path, monkeypatch):
    from PIL import Image

    T = np.add.outer(np.arange(40), 2 * np.arange(36)).astype(np.uint8)
    Image.fromarray(T).save(tmp_path / "ramp.png")

    def exact(X, missing):
        assert (X[missing] == 0).all()  # no method sees the truth
        return np.where(missing, T + 5.0, X)

    monkeypatch.setattr(
        holes, "METHODS", {"five off": (exact, "numpy", "numpy"), "away": (exact, "no_such_module", "thing")}
    )
    report, left_out = run(tmp_path, tmp_path / "out")
    assert (report.ran, report.failed) == (len(GAPS), [])
    assert left_out == ["away: it needs thing, which is not installed. pip install thing"]
    rows = csv_file(tmp_path / "out").rows()
    assert [float(r["psnr"]) for r in rows] == pytest.approx([20 * np.log10(255 / 5)] * len(GAPS), abs=1e-3)
    assert run(tmp_path, tmp_path / "out")[0].already == len(GAPS)
    head, body = table(rows)
    assert head == ["gap", "picture", "five off"]
    assert len(body) == 2 * len(GAPS)
    assert "| scratch | ramp | 34.15 /" in (tmp_path / "out" / "holes.md").read_text()
