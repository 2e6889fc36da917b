"""The paper's experiments, on pictures of 24 x 28: scores, files, what is run again and what is not, refusals."""

import csv
import json
import math
import time

import numpy as np
import pytest
from conftest import SHARED
from PIL import Image
from typer.testing import CliRunner

from tensorfill.io.files import FileError, read
from tensorfill.result.record import Status
from tensorfill_benchmarks import (
    ablation,
    cells,
    figures,
    layout,
    metrics,
    paper,
    pictures,
    strips,
    table1,
    whole,
    whole_page,
)
from tensorfill_benchmarks.cli import app

SHORT = {"sptc": {"rank": 4, "max_iter": 3}, "auto": {"rank": 4, "max_iter": 3}}


def scene(height=24, width=28, channels=3):
    y, x = np.mgrid[:height, :width] / 20
    grey = 120 + 60 * np.sin(3 * x + 2 * y) + 40 * np.cos(4 * y)
    planes = [np.clip(s * grey, 0, 255) for s in (1.0, 0.8, 1.2)[:channels]]
    return np.rint(planes[0] if channels == 1 else np.stack(planes, axis=2)).astype(np.uint8)


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "pictures"
    place.mkdir()
    Image.fromarray(scene()).save(place / "house.png")
    Image.fromarray(scene(30, 24, 1)).save(place / "Mine.png")
    return place


@pytest.fixture
def calls(monkeypatch):
    """Which cells were really completed: (method, seed) of every call on the clock."""
    seen = []

    def counted(T, **given):
        if given.get("max_iter") != 2:  # the warm-up
            seen.append((given["method"], given["seed"]))
        return complete(T, **given)

    complete = table1.complete
    monkeypatch.setattr(table1, "complete", counted)
    return seen


def run_table(folder, out, **given):
    usual = {"rates": (60, 90), "methods": ("auto", "sptc"), "seeds": (0,), "settings": SHORT}
    return table1.run(folder, out=out, **(usual | given))


def lines(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


# --- scores -----------------------------------------------------------------------------------------------------------


def test_psnr_by_hand():
    truth = np.array([[0, 100], [200, 255]], dtype=np.uint8)
    mask = np.array([[True, False], [False, False]])
    estimate = np.array([[77.0, 103.0], [200.0, 300.0]])  # an error of 3 in one of four voxels; 77 pasted, 300 clipped
    assert metrics.psnr(estimate, truth, mask) == pytest.approx(10 * math.log10(255**2 / (9 / 4)))
    deep = truth.astype(np.uint16)
    error = (9 + 45**2) / 4  # 300 is no longer clipped
    assert metrics.psnr(estimate, deep, mask) == pytest.approx(10 * math.log10(65535**2 / error))
    assert metrics.psnr(truth, truth, mask) == math.inf


def test_peak_of_other_types_must_be_given():
    truth = np.zeros((4, 4))
    with pytest.raises(ValueError, match="peak must be given for pictures of type float64"):
        metrics.psnr(truth, truth, truth > 0)
    assert metrics.psnr(truth + 0.1, truth, truth > 0, peak=1.0) == pytest.approx(20.0)


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_ssim_agrees_with_scikit_image(channels, dtype, rng):
    similarity = pytest.importorskip("skimage.metrics").structural_similarity
    truth = scene(channels=channels).astype(dtype) * dtype(257 if dtype is np.uint16 else 1)
    peak = float(np.iinfo(dtype).max)
    noisy = np.clip(truth + 0.1 * peak * rng.standard_normal(truth.shape), 0, peak)
    nothing = np.zeros(truth.shape, dtype=bool)
    theirs = similarity(
        noisy,
        truth.astype(float),
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        data_range=peak,
        channel_axis=None if channels == 1 else 2,
    )
    assert metrics.ssim(noisy, truth, nothing) == pytest.approx(theirs, abs=1e-7)
    assert metrics.ssim(noisy, truth, ~nothing) == pytest.approx(1.0)  # all pasted


def test_ssim_of_a_picture_smaller_than_its_window():
    truth = scene(6, 6)
    nothing = np.zeros(truth.shape, dtype=bool)
    assert metrics.ssim(truth, truth, nothing) == pytest.approx(1.0)
    assert 0 < metrics.ssim(truth * 0.5, truth, nothing) < 1


# --- the printed table ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "averages"),  # as printed in the paper's Average rows: a check of the transcription
    [
        ("falrtc", (29.2325, 26.8407, 24.0771, 20.6354, 18.2112, 4.5212)),
        ("spc-qv", (29.6776, 28.5525, 27.2765, 25.3576, 23.6753, 19.1173)),
        ("sptc", (32.1790, None, 28.8877, 26.4142, 24.3332, 20.0927)),
    ],
)
def test_printed_averages(method, averages):
    for rate, printed in zip(paper.RATES, averages, strict=True):
        if printed is not None:
            cells = [paper.printed(method, image, rate) for image in paper.IMAGES]
            assert np.mean(cells) == pytest.approx(printed, abs=1e-4)


def test_the_table_is_whole():
    assert set(paper.TABLE1) == set(paper.RATES)
    for rows in paper.TABLE1.values():
        assert tuple(rows) == paper.IMAGES
        assert all(len(numbers) == len(paper.METHODS) for numbers in rows.values())


@pytest.mark.skipif(not (SHARED / "paper" / "table1.csv").exists(), reason="needs the paper's table as data")
def test_the_table_is_the_papers():
    rows = lines(SHARED / "paper" / "table1.csv")
    assert len(rows) == 360
    for row in rows:
        value = paper.printed(row["method"], row["image"], float(row["missing_percent"]))
        assert value == pytest.approx(float(row["psnr"]), abs=5e-5)


def test_what_stands_beside_a_method():
    assert paper.printed("sptc", "house", 60) == 33.8896
    assert paper.printed("auto", "house", 60) is None
    assert paper.beside("auto", "house", 60) == paper.beside("auto-best", "house", 60) == 33.8896
    assert paper.beside("silrtc", "house", 60) is None
    assert paper.beside("sptc", "mine", 60) is None
    assert paper.beside("sptc", "house", 60.5) is None


def test_the_doubtful_cells():
    doubted = {
        (m, i, r) for m in paper.METHODS for i in paper.IMAGES for r in paper.RATES if paper.doubt(m, i, r) is not None
    }
    assert doubted == {("sptc", "lenna", 70), ("sptc", "house", 95)}
    assert "30.597" in paper.doubt("auto", "lenna", 70)
    others = sum(paper.printed("sptc", i, 70) for i in paper.IMAGES if i != "lenna")
    assert 6 * 30.6924 - others == pytest.approx(30.597, abs=5e-4)


# --- pictures ---------------------------------------------------------------------------------------------------------


def test_pictures_of_all_kinds(tmp_path):
    Image.fromarray(scene()).save(tmp_path / "Colour.PNG")
    Image.fromarray(scene(channels=1)).save(tmp_path / "grey.jpg")
    Image.fromarray(scene(channels=1).astype(np.uint16) * 257).save(tmp_path / "deep.png")
    (tmp_path / "notes.txt").write_text("not a picture")
    found = pictures.choose(tmp_path)
    assert [p.name for p in found] == ["colour", "deep", "grey"]
    assert [p.truth.shape for p in found] == [(24, 28, 3), (24, 28), (24, 28)]
    assert found[1].truth.dtype == np.uint16
    assert [p.name for p in pictures.choose(tmp_path, ["grey", "Colour"])] == ["grey", "colour"]


def test_two_files_of_one_name_are_told_apart(folder):
    Image.fromarray(scene()).save(folder / "house.jpg")
    assert list(pictures.find(folder)) == ["house.jpg", "house.png", "mine"]
    with pytest.raises(FileError, match=r"no picture named 'house'; it holds house.jpg, house.png, mine"):
        pictures.choose(folder, ["house"])


def test_pictures_that_cannot_be(folder, tmp_path):
    with pytest.raises(FileError, match="must be a folder of pictures"):
        pictures.find(tmp_path / "absent")
    with pytest.raises(FileError, match=r"holds no picture named 'huose'.*Did you mean 'house'"):
        pictures.choose(folder, ["huose"])
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(FileError, match="holds no picture; it must hold some ending in"):
        pictures.find(empty)
    Image.fromarray(scene().astype(np.uint8)).convert("CMYK").save(empty / "print.jpg")
    with pytest.raises(FileError, match="it has colour mode CMYK; convert it to grey or RGB first"):
        pictures.choose(empty)


def test_masks_are_those_of_the_table(folder):
    (house,) = pictures.choose(folder, ["house"])
    assert (house.mask(90, 3) == (np.random.default_rng(3).random((24, 28, 3)) >= 0.9)).all()
    mask = house.mask(60, 0)
    holes = house.incomplete(mask)
    assert (holes[mask] == house.truth[mask]).all()
    assert not holes[~mask].any()
    assert holes.dtype == np.uint8


# --- table 1 ----------------------------------------------------------------------------------------------------------


def test_table_columns_and_files(folder, tmp_path):
    report = run_table(folder, tmp_path / "new" / "out")
    assert (report.ran, report.already, report.failed, report.exit_code) == (8, 0, [], 0)
    text = (tmp_path / "new" / "out" / "table1.csv").read_text()
    assert text.splitlines()[0] == "method,image,missing_percent,seed,psnr,ssim,seconds,paper_psnr"
    rows = lines(tmp_path / "new" / "out" / "table1.csv")
    assert {(r["method"], r["image"], r["missing_percent"], r["seed"]) for r in rows} == {
        (m, i, r, "0") for m in ("auto", "sptc") for i in ("house", "mine") for r in ("60", "90")
    }
    assert all(0 < float(r["psnr"]) < 60 and -1 < float(r["ssim"]) <= 1 and float(r["seconds"]) > 0 for r in rows)
    assert {r["paper_psnr"] for r in rows if r["image"] == "mine"} == {""}
    assert {r["paper_psnr"] for r in rows if r["image"] == "house"} == {"33.8896", "27.3018"}
    assert {p.name for p in (tmp_path / "new" / "out").iterdir()} >= {"table1.md", "table1.html", "pictures.json"}


def test_the_authors_steps_are_a_column(folder, tmp_path, monkeypatch):
    seen = []

    def spied(T, **given):
        seen.append(given)
        return complete(T, **{**given, "rank": 4, "max_iter": 3})

    complete = table1.complete
    monkeypatch.setattr(table1, "complete", spied)
    monkeypatch.setattr(table1, "warm_up", lambda *given: None)
    run_table(folder, tmp_path, names=["house"], rates=[60], methods=["sptc-together"], settings={})
    assert [(g["method"], g["order"], g["max_iter"]) for g in seen] == [("sptc", "together", 4000)]
    (row,) = lines(tmp_path / "table1.csv")
    assert (row["method"], row["paper_psnr"]) == ("sptc-together", "33.8896")
    assert set(table1.columns(None)) == {*paper.METHODS, "auto", "sptc-together"}


def test_the_score_is_that_of_the_estimate(folder, tmp_path):
    run_table(folder, tmp_path, names=["house"], rates=(60,), methods=("sptc",))
    truth = scene()
    mask = np.random.default_rng(0).random(truth.shape) >= 0.6
    done = table1.complete(np.where(mask, truth, 0).astype(np.uint8), mask=mask, method="sptc", seed=0, **SHORT["sptc"])
    error = np.where(mask, 0, np.clip(done.estimate, 0, 255) - truth)
    (row,) = lines(tmp_path / "table1.csv")
    assert float(row["psnr"]) == pytest.approx(10 * np.log10(255**2 / np.mean(error**2)), abs=1e-4)


def test_a_finished_cell_is_not_run_again(folder, tmp_path, calls):
    run_table(folder, tmp_path)
    assert len(calls) == 8
    before = (tmp_path / "table1.csv").read_bytes()
    report = run_table(folder, tmp_path)
    assert (report.ran, report.already, len(calls)) == (0, 8, 8)
    assert (tmp_path / "table1.csv").read_bytes() == before


def test_exactly_the_deleted_cell_is_run(folder, tmp_path, calls):
    run_table(folder, tmp_path)
    text = (tmp_path / "table1.csv").read_text().splitlines()
    gone = next(line for line in text if line.startswith("sptc,mine,90"))
    (tmp_path / "table1.csv").write_text("\n".join(line for line in text if line != gone) + "\n")
    calls.clear()
    report = run_table(folder, tmp_path)
    assert (report.ran, report.already, calls) == (1, 7, [("sptc", 0)])
    new = next(line for line in (tmp_path / "table1.csv").read_text().splitlines() if line.startswith("sptc,mine,90"))
    assert new.split(",")[4:6] == gone.split(",")[4:6]  # the same bits, whatever the seconds


def test_other_methods_and_seeds_accumulate(folder, tmp_path, calls):
    run_table(folder, tmp_path, methods=("sptc",))
    run_table(folder, tmp_path, methods=("auto",), seeds=(1,), rates=(60,))
    assert len(lines(tmp_path / "table1.csv")) == 4 + 2
    assert len(calls) == 6
    page = (tmp_path / "table1.md").read_text()
    assert "| missing | picture | SPTC | auto |" in page
    assert "Seeds 0, 1." in page


def test_again_runs_what_is_finished(folder, tmp_path, calls):
    run_table(folder, tmp_path, names=["house"])
    run_table(folder, tmp_path, names=["house"], again=True, methods=("sptc",))
    assert len(calls) == 4 + 2
    assert len(lines(tmp_path / "table1.csv")) == 4


def test_rows_are_on_disk_before_the_next_cell(folder, tmp_path):
    seen = []

    def watch(now):
        path = tmp_path / "table1.csv"
        seen.append((now.done, now.total, len(lines(path)) if path.exists() else 0))

    run_table(folder, tmp_path, progress=watch, names=["house"])
    assert seen == [(k, 4, k) for k in range(5)]


def test_a_failing_cell_stops_no_other(folder, tmp_path, monkeypatch):
    complete = table1.complete

    def sometimes(T, **given):
        if given["method"] == "sptc" and T.ndim == 2:
            msg = "no pictures in grey today."
            raise ValueError(msg)
        return complete(T, **given)

    monkeypatch.setattr(table1, "complete", sometimes)
    report = run_table(folder, tmp_path, rates=(60,))
    assert (report.ran, report.exit_code) == (3, 1)
    assert report.failed == ["sptc · mine 60 %: no pictures in grey today."]
    assert "FAILED, sptc · mine 60 %: ValueError: no pictures in grey today." in (tmp_path / "table1.log").read_text()
    assert len(lines(tmp_path / "table1.csv")) == 3
    monkeypatch.setattr(table1, "complete", complete)
    again = run_table(folder, tmp_path, rates=(60,))
    assert (again.ran, again.already, again.exit_code) == (1, 3, 0)


def test_compilation_is_not_on_the_clock(folder, tmp_path, monkeypatch):
    complete = table1.complete
    monkeypatch.setattr(table1, "_warm", set())

    def slow_at_first(T, **given):
        if given["max_iter"] == 2:
            time.sleep(0.5)
        return complete(T, **given)

    monkeypatch.setattr(table1, "complete", slow_at_first)
    start = time.perf_counter()
    run_table(folder, tmp_path, names=["house"], rates=(60,), methods=("sptc",))
    (row,) = lines(tmp_path / "table1.csv")
    assert float(row["seconds"]) < time.perf_counter() - start - 0.5


def test_half_a_run_is_no_result(folder, tmp_path, monkeypatch):
    """Ctrl-C makes a method return its best so far: that must not pass for a finished cell."""
    complete = table1.complete

    def interrupted(T, **given):
        done = complete(T, **given)
        if given["method"] == "sptc":
            object.__setattr__(done, "status", Status.INTERRUPTED)
        return done

    monkeypatch.setattr(table1, "complete", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_table(folder, tmp_path, names=["house"])
    assert {r["method"] for r in lines(tmp_path / "table1.csv")} == {"auto"}
    assert (tmp_path / "table1.html").exists()


def test_another_picture_of_the_same_name_is_refused(folder, tmp_path):
    run_table(folder, tmp_path, names=["house"], methods=("sptc",))
    assert json.loads((tmp_path / "pictures.json").read_text())["house"]["as_in_paper"] is False
    Image.fromarray(255 - scene()).save(folder / "house.png")
    with pytest.raises(FileError, match="has results for another picture named 'house'"):
        run_table(folder, tmp_path, names=["house"], methods=("sptc",))


def test_a_csv_of_something_else_is_refused(folder, tmp_path):
    (tmp_path / "table1.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileError, match=r"must have the columns method,image,.* got a,b"):
        run_table(folder, tmp_path)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"methods": ["atuo"]}, "method must be one of .*got 'atuo'. Did you mean 'auto'"),
        ({"rates": (0.6,)}, "rates must be percentages from 1 .* got 0.6. For 60 % write 60"),
        ({"rates": (100,)}, "rates must be percentages"),
        ({"seeds": (-1,)}, "seeds must be whole numbers >= 0; got -1"),
    ],
)
def test_table_refusals(folder, tmp_path, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        run_table(folder, tmp_path / "out", **given)
    assert not (tmp_path / "out" / "table1.csv").exists()


@pytest.mark.skipif(not (SHARED / "data" / "sipi").exists(), reason="needs the paper's pictures")
def test_the_papers_pictures_are_known_by_their_contents():
    for picture in pictures.choose(SHARED / "data" / "sipi"):
        assert paper.is_the_picture(picture.name, float(np.mean(picture.truth.astype(float) ** 2)))
    assert not paper.is_the_picture("house", 100.0)
    assert paper.is_the_picture("mine", 100.0)


# --- the looks of the table -------------------------------------------------------------------------------------------


def made_up(**scores):
    """Rows of table1.csv: {method: {(image, rate, seed): psnr}}."""
    return [
        {
            "method": m.replace("_", "-"),
            "image": i,
            "missing_percent": str(r),
            "seed": str(s),
            "psnr": str(v),
            "ssim": "0.9",
            "seconds": "2",
        }
        for m, entries in scores.items()
        for (i, r, s), v in entries.items()
    ]


def test_cells_of_the_table():
    rows = made_up(
        sptc={("house", 60, 0): 33.0, ("house", 60, 1): 34.0, ("lenna", 70, 0): 31.0},
        auto={("house", 60, 0): 35.0, ("house", 60, 1): 35.5, ("lenna", 70, 0): 33.0},
        spc_qv={("house", 60, 0): 30.0},
    )
    table = layout.arrange(rows)
    assert table.methods == ("spc-qv", "sptc", "auto")
    text = layout.markdown(table)
    assert "| 60 % | House | 30.00 (30.33, ▼0.33) | <u>33.50</u> (33.89, ▼0.39) | **35.25** (33.89, ▲1.36) |" in text
    assert (
        "| 70 % | Lenna | – | <u>31.00</u> (32.17<sup>1</sup>, ▼1.17) | **33.00** (32.17<sup>1</sup>, ▲0.83) |" in text
    )
    assert "1. The paper prints the same figure for lenna at 60 % and at 70 %." in text
    page = layout.html(table)
    assert page.count("<sup><a href=") == 4  # two cells, and the averages they are in
    assert '<td class="up"' in page
    assert '<td class="down"' in page
    assert "<b>35.25</b>" in page
    assert "<u>33.50</u>" in page
    assert "seed 0: 33.00, seed 1: 34.00" in page
    assert "http" not in page  # self-contained
    assert "prefers-color-scheme: dark" in page


def test_averages_only_over_what_all_pictures_have():
    rows = made_up(
        sptc={("house", 60, 0): 30.0, ("tree", 60, 0): 20.0},
        auto={("house", 60, 0): 40.0},
    )
    table = layout.arrange(rows)
    average = next(line for line in table.lines if line.image is None)
    assert average.entries["sptc"].psnr == 25.0
    assert average.entries["sptc"].printed == pytest.approx((33.8896 + 28.4723) / 2)
    assert "auto" not in average.entries
    assert layout.averages(table)[1] == [["60 %", "25.00 (31.18)", "–"]]


def test_where_ours_are_below_any_column_they_are_marked():
    rows = made_up(
        sptc={("house", 60, 0): 33.0, ("tree", 60, 0): 28.0},
        sptc_together={("house", 60, 0): 36.0, ("tree", 60, 0): 28.3},
        auto={("house", 60, 0): 35.0, ("tree", 60, 0): 28.4},
    )
    table = layout.arrange(rows)
    assert table.methods == ("sptc", "sptc-together", "auto")
    entries = {line.image: line.entries for line in table.lines}
    assert entries["house"]["auto"].below == ("SPTC, authors' steps here",)
    assert entries["tree"]["auto"].below == ("SPTC as printed",)  # 28.4723
    assert entries["house"]["sptc"].below == ()
    said = (
        "auto is below another column, marked ▽, in 2 of 2 cells: house 60 % (SPTC, authors' steps here); "
        "tree 60 % (SPTC as printed)."
    )
    assert said in layout.markdown(table)
    assert "<u>35.00</u>▽ (33.89, ▲1.11)" in layout.markdown(table)
    assert layout.html(table).count("</u>▽") == 1


def test_names_are_not_markup():
    page = layout.html(layout.arrange(made_up(sptc={("<script>", 60, 0): 30.0})))
    assert "<script>" not in page.lower()


def test_time_left_knows_slow_methods_and_large_pictures(tmp_path):
    file = cells.CellFile(tmp_path / "a.csv", ("key",), ("key",))

    def cell(group, size):
        return cells.Cell(file, ("x",), "", list, group, size)

    pace = cells.Pace()
    assert pace.left([cell("slow", 1.0)]) is None
    pace.learn(cell("slow", 1.0), 10.0)
    pace.learn(cell("fast", 4.0), 4.0)
    assert pace.left([cell("slow", 3.0)]) == pytest.approx(30.0)
    assert pace.left([cell("fast", 3.0), cell("slow", 1.0)]) == pytest.approx(13.0)
    assert pace.left([cell("unknown", 5.0)]) == pytest.approx(14.0)


# --- figures ----------------------------------------------------------------------------------------------------------


def test_figures_leave_their_files(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(strips, "RANKS", (300, 50))
    report, drawn = figures.run(folder, tmp_path, quick=True, seconds=0.05)
    assert report.failed == []
    assert [p.name for p in drawn] == ["fig2.png", "fig3a.png", "fig3b.png", "fig4.png"]
    for path in drawn:
        with Image.open(path) as made:
            assert min(made.size) > 100
    assert {r["setting"] for r in lines(tmp_path / "fig2.csv")} == {"auto", "sptc"}
    assert [r["setting"] for r in lines(tmp_path / "fig3.csv")] == [
        "rho 10,10,0",
        "rho 0,0,0",
        "rho 1000,1000,0",
        "R 300",
        "R 50",
    ]
    assert len(lines(tmp_path / "fig4.csv")) == 6
    again, redrawn = figures.run(folder, tmp_path, ["fig3"], quick=True, seconds=0.05)
    assert (again.ran, again.already) == (0, 5)
    assert set(redrawn) < set(drawn)


def test_a_strip_without_its_picture_is_run_again(folder, tmp_path):
    given = {"only": ["fig2"], "methods": ["sptc"], "quick": True, "names": ["mine"]}
    figures.run(folder, tmp_path, **given)
    (made,) = (tmp_path / "fig2-6").iterdir()
    kept = read(made).values
    (mine,) = pictures.choose(folder, ["mine"])
    mask = mine.mask(60, 0)
    assert (kept[mask] == mine.truth[mask]).all()
    assert (kept[~mask] != mine.truth[~mask]).any()
    made.unlink()
    report, _ = figures.run(folder, tmp_path, **given)
    assert report.ran == 1
    assert (read(made).values == kept).all()


def test_quick_rows_never_pass_for_full_ones(folder, tmp_path):
    full = strips.figure2(pictures.choose(folder), ["sptc"], tmp_path, strips.Effort(), 0)
    figures.run(folder, tmp_path, only=["fig2"], methods=["sptc"], quick=True)
    done = full.cells[0].file.done()
    assert done
    assert not done & {cell.key for cell in full.cells}


def test_rows_of_figure_2(folder):
    def named(*names):
        return [pictures.Picture(name, scene(), None) for name in names]

    assert [(p.name, r) for p, r in strips.figure2_rows(named(*paper.IMAGES, "mine"))] == [
        ("house", 60),
        ("airplane", 70),
        ("barbara", 80),
        ("jellybeans", 90),
        ("tree", 95),
        ("lenna", 99),
    ]
    assert [(p.name, r) for p, r in strips.figure2_rows(named("a", "b"))] == [("a", 60), ("b", 70)]


def test_figure_4_shows_the_collapse(folder, tmp_path):
    figures.run(folder, tmp_path, only=["fig4"], quick=True)
    scores = {(r["order"], float(r["alpha"])): float(r["psnr"]) for r in lines(tmp_path / "fig4.csv")}
    for order in ("sequential", "together"):
        of = [score for (own, _), score in sorted(scores.items()) if own == order]
        assert len(of) == 3
        assert of[-1] < of[1]  # thirty times the paper's alpha is worse than the paper's
    assert len(set(scores.values())) == 6


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"only": ["fig5"]}, "--only must be among fig2, fig3, fig4; got 'fig5'"),
        ({"methods": ["sptcc"]}, "Did you mean 'sptc'"),
        ({"seconds": 0.0}, "seconds must be > 0"),
    ],
)
def test_figure_refusals(folder, tmp_path, given, sentence):
    with pytest.raises(ValueError, match=sentence):
        figures.run(folder, tmp_path, **given)


# --- ablation ---------------------------------------------------------------------------------------------------------


def test_every_part_that_is_taken_away_is_there():
    assert {v.name for v in ablation.VARIANTS} == {v.name for v in ablation.variants()}


def test_ablation(folder, tmp_path):
    report, tables = ablation.run(folder, tmp_path, ["house"], (60,), limit=4)
    assert report.failed == []
    assert [t.head for t in tables] == [("variant", "house 60 %", "mean", "change")] * 2
    assert tables[0].rows[0][0] == "sptc: Poisson"
    names = [r[0] for r in tables[1].rows]
    assert names[0] == "auto"
    assert {"without total variation on X", "without quadratic variation", "without ridge"} <= set(names)
    assert tables[1].rows[0][-1] == ""
    for table in tables:
        assert ablation.markdown(table) in (tmp_path / "ablation.md").read_text()
    again, _ = ablation.run(folder, tmp_path, ["house"], (60,), limit=4)
    assert again.ran == 0


def test_ablation_changes_are_against_the_whole(tmp_path):
    def row(variant, image, psnr):
        return {
            "study": "ours",
            "variant": variant,
            "image": image,
            "missing_percent": "60",
            "seed": "0",
            "budget": "b",
            "psnr": str(psnr),
        }

    rows = [row("auto", "a", 30.0), row("auto", "b", 20.0), row("without ridge", "a", 29.0)]
    table = ablation.arrange(rows, "ours", "b")
    assert table.rows == (("auto", "30.00", "20.00", "25.00", ""), ("without ridge", "29.00", "–", "29.00", "-1.00"))


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture
def observed(folder):
    """Incomplete versions of house with 255 for what is missing, and of Mine, whose original lies beside them."""
    place = folder.parent / "observed"
    (folder.parent / "original").mkdir()
    place.mkdir()
    rng = np.random.default_rng(3)
    own = scene(30, 24, 1) // 2
    Image.fromarray(own).save(folder.parent / "original" / "mine.tiff", format="PNG")  # as the authors' lenna is
    for name, truth in (("house", scene()), ("mine", own)):
        missing = (rng.random(truth.shape) < 0.6) | (truth == 255)
        Image.fromarray(np.where(missing, 255, truth).astype(np.uint8)).save(place / f"{name}60.tiff")
    return place


def test_observed_pictures_are_scored_as_they_are(folder, observed, tmp_path, monkeypatch):
    seen = {}

    def spied(T, **given):
        seen.setdefault(T.shape, given["mask"])  # the warm-up has other shapes, or 16 x 16
        return complete(T, **given)

    complete = table1.complete
    monkeypatch.setattr(table1, "complete", spied)
    monkeypatch.setattr(table1, "warm_up", lambda *given: None)
    out = tmp_path / "out"
    report = run_table(folder, out, names=["house", "mine"], rates=[60], seeds=[0], observed=observed)
    assert report.failed == []
    for name, shape in (("house", (24, 28, 3)), ("mine", (30, 24))):
        incomplete = np.asarray(Image.open(observed / f"{name}60.tiff"))
        np.testing.assert_array_equal(seen[shape], incomplete != 255)
    with pytest.raises(FileError, match="gaps of another kind"):
        run_table(folder, out, names=["house"], rates=[60], seeds=[0])


def test_figures_are_of_the_observed_pictures(folder, observed, tmp_path):
    figures.run(folder, tmp_path, ["fig2"], ["sptc"], names=["house"], observed=observed, quick=True)
    (made,) = (tmp_path / "fig2-6").iterdir()
    kept, seen = read(made).values, np.asarray(Image.open(observed / "house60.tiff")) != 255
    assert (kept[seen] == scene()[seen]).all()
    assert (kept[~seen] != scene()[~seen]).mean() > 0.5


def test_observed_pictures_that_do_not_fit_get_a_sentence(folder, observed, tmp_path):
    (picture,) = pictures.choose(folder, ["house"], observed)
    with pytest.raises(FileError, match=r"--observed must hold house70\.tiff"):
        picture.mask(70, 0)
    other = np.asarray(Image.open(observed / "house60.tiff")) // 3
    Image.fromarray(other).save(observed / "house60.tiff")
    with pytest.raises(FileError, match=r"house60\.tiff must be house of --images with 255 for what is missing"):
        picture.mask(60, 0)
    with pytest.raises(FileError, match="--observed must be a folder"):
        pictures.choose(folder, ["house"], tmp_path / "nowhere")


def bench(*words):
    return CliRunner().invoke(app, [*map(str, words)])


def test_command_table1(folder, tmp_path):
    given = ("table1", "--images", folder, "--names", "house", "--rates", "60", "-o", tmp_path)
    done = bench(*given, "--methods", "halrtc", "--seeds", "0,1")
    assert done.exit_code == 0, done.output
    assert "| 60 % |" in done.output
    assert "2 cells run. Written: " in done.output
    assert len(lines(tmp_path / "table1.csv")) == 2
    assert "0 cells run, 2 were there already" in bench(*given, "--methods", "halrtc", "--seeds", "0,1").output


def test_command_says_when_a_cell_failed(folder, tmp_path, monkeypatch):
    def broken(*given, **others):
        msg = "not today."
        raise ValueError(msg)

    monkeypatch.setattr(table1, "complete", broken)
    done = bench("table1", "--images", folder, "--names", "house", "--rates", "60", "--methods", "sptc", "-o", tmp_path)
    assert done.exit_code == 1
    assert "FAILED  sptc · house 60 %: not today." in done.output


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("table1", "--methods", "atuo"), "Did you mean 'auto'"),
        (("table1", "--names", "nobody"), "holds no picture named 'nobody'"),
        (("table1", "--rates", "x"), "--rates must be numbers separated by commas"),
        (("table1", "--seeds", ""), "--seeds must be numbers separated by commas"),
        (("figures", "--only", "fig1"), "--only must be among"),
        (("ablation", "--rates", "0.6"), "For 60 % write 60"),
    ],
)
def test_command_refusals(folder, tmp_path, words, sentence):
    done = bench(*words, "--images", folder, "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert sentence in " ".join(done.output.replace("│", " ").split())


def test_command_figures_and_ablation(folder, tmp_path):
    given = ("--images", folder, "--names", "house", "-o", tmp_path, "--quick")
    done = bench("figures", *given, "--only", "fig4")
    assert done.exit_code == 0, done.output
    assert "fig4.png" in done.output
    done = bench("ablation", *given, "--rates", "60")
    assert done.exit_code == 0, done.output
    assert "| without ridge |" in done.output


# --- all of the paper -------------------------------------------------------------------------------------------------


def test_all_of_the_paper(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(ablation, "VARIANTS", ablation.VARIANTS[:3])
    monkeypatch.setattr(strips, "RANKS", (300, 50))
    given = {"names": ["house"], "rates": (60,), "methods": ["sptc", "auto"], "seeds_of_ours": (0, 1), "quick": True}
    report, page = whole.run(folder, tmp_path, seconds=0.2, **given)
    assert report.failed == []
    text = page.read_text()
    assert page == tmp_path / "quick" / "paper.html"
    assert text.count("data:image/png;base64,") == 4
    assert "Not run yet" not in text
    assert "33.89" in text  # print, beside ours
    assert "no figure here is a result" in text
    seeds = [(r["method"], r["seed"]) for r in lines(tmp_path / "quick" / "table1" / "table1.csv")]
    assert seeds == [("sptc", "0"), ("auto", "0"), ("auto", "1")]
    second, _ = whole.run(folder, tmp_path, seconds=0.2, **given)
    assert (second.ran, second.already) == (0, report.ran)


def test_how_far_from_print():
    rows = made_up(
        sptc={("house", 60, 0): 33.6896, ("tree", 60, 0): 28.6723, ("house", 99, 0): 10.0},
        halrtc={("house", 60, 0): 30.0234, ("house", 99, 0): 14.6574},
    )
    head, table = whole_page.distances(layout.arrange(rows))
    assert head[:5] == ["method", "cells", "mean difference", "mean distance", "within 0.3 dB"]
    assert table == [
        ["HaLRTC", "1", "+0.00", "0.00", "1 of 1", "+0.00, house 60 %", "completed"],
        ["HaLRTC", "1", "+10.00", "10.00", "0 of 1", "+10.00, house 99 %", "left empty"],
        ["SPTC", "3", "-3.41", "3.55", "2 of 3", "-10.24, house 99 %", "completed"],
    ]


def test_where_alpha_collapses():
    def row(alpha, status="iterations"):
        return {"alpha": str(alpha), "status": status}

    assert whole_page.collapse([row(1e-4), row(3e-4), row(5e-4, "collapsed"), row(9e-4)]) == (3e-4, 5e-4)
    assert whole_page.collapse([row(1e-4)]) == (1e-4, None)
    assert whole_page.collapse([row(1e-4, "nonfinite")]) == (None, 1e-4)
