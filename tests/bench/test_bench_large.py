"""`bench large`: the mosaic, its masks, and the cells of a small one."""

import numpy as np
from PIL import Image

import tensorfill as tfl
from tensorfill_benchmarks import large
from tensorfill_benchmarks.large import SCATTERED, SCRATCHED, mask_of, mosaic, run, table


def test_a_small_mosaic_is_scored(tmp_path, monkeypatch):
    y, x = np.mgrid[0:50, 0:40]
    for k in range(2):
        Image.fromarray(np.uint8(100 + 60 * np.sin((x + k * y) / 6))).save(tmp_path / f"{k}.png")
    monkeypatch.setattr(large, "CELL", 16)
    monkeypatch.setattr(large, "PART", 20)
    whole = mosaic([np.full((9, 7), 5, np.uint8), np.full((9, 7, 3), 9, np.uint8)])
    assert whole.shape == (48, 64, 3)
    assert (whole[0, 0, 0], whole[0, 20, 0]) == (5, 9)
    known = mask_of(SCRATCHED, (300, 200, 3))
    assert 0.005 < 1 - known.mean() < 0.05
    assert 0.75 < 1 - mask_of(SCATTERED, (60, 50, 3)).mean() < 0.85
    for name in ("complete", "_as_a_whole"):
        monkeypatch.setattr(large, name, lambda obs: tfl.complete(obs, method="halrtc", max_iter=5))
    report = run(tmp_path, tmp_path / "out")
    assert (report.ran, report.failed) == (5, [])
    head, body = table(large.csv_file(tmp_path / "out").rows())
    assert len(body) == 5
    assert all(len(line) == len(head) for line in body)
    assert float(body[1][3]) > 10
