"""Plots, the card and what is said about a result: each shows what it claims to show."""

import dataclasses
import itertools
import re

import numpy as np
import pytest
from conftest import low_rank
from matplotlib.figure import Figure

import tensorfill as tfl
from tensorfill.data import samples
from tensorfill.data.masks import random_entries, random_fibres
from tensorfill.result.answer import Filled
from tensorfill.show import card, plots, summary, view

RNG = np.random.default_rng(3)


def series():
    time = np.linspace(0, 6, 60)
    values = np.stack([np.sin(time) + k for k in range(3)])
    values[1, 20:30] = np.nan
    return values


def photo():
    return samples.photograph()[100:420:10, 150:400:10]


def made(kind):
    """A small completion of each kind, and the truth."""
    if kind == "picture":
        truth = photo()
        return tfl.complete(truth, random_entries(truth.shape, 0.5), max_iter=30, rank=8), truth
    if kind == "video":
        truth = samples.video((5, 12, 14, 3))
        return tfl.complete(
            truth, random_entries(truth.shape, 0.5), max_iter=5, dims=("frame", "row", "column", "channel")
        ), truth
    if kind == "matrix":
        truth = low_rank((30, 20), 2, RNG)
        return tfl.complete(truth, RNG.random(truth.shape) < 0.7, max_iter=20, dims=("gene", "sample")), truth
    if kind == "lines":
        return tfl.complete(series(), max_iter=20, dims=("site", "hour")), np.nan_to_num(series())
    truth, mask = samples.metro((7, 6, 12))
    return tfl.complete(truth, mask, rank=2, max_iter=20, dims=("station", "day", "hour")), truth


KINDS = ("picture", "video", "matrix", "lines", "slices")


@pytest.fixture(scope="module")
def results():
    return {kind: made(kind) for kind in KINDS}


def images(figure):
    return [image.get_array() for axes in figure.axes for image in axes.get_images()]


def text_of(figure):
    from matplotlib.text import Text

    return {t.get_text() for t in figure.findobj(Text)}


def without_objective(done):
    """The same result as a method reports it that has neither factors nor an objective."""
    from dataclasses import replace

    rows = tuple(replace(row, value=np.nan, held_out=np.nan) for row in done.history)
    answer = Filled(done.estimate)
    return replace(done, history=tfl.History(rows), answer=answer, tried=(), method="other", held_out=np.nan)


# --- plot ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [False, True])
def test_plot_draws_what_fits_the_data(kind, known, results, tmp_path):
    done, truth = results[kind]
    assert view.kind(done) == kind
    figure = done.plot(truth=truth if known else None)
    assert isinstance(figure, Figure)
    assert ("the truth" in " ".join(text_of(figure))) == known
    figure.savefig(tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 3000


def test_no_global_figure_is_made(results):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    results["matrix"][0].plot()
    assert plt.get_fignums() == before


def test_a_figure_shows_itself_in_a_notebook(results):
    assert results["lines"][0].plot()._repr_png_().startswith(b"\x89PNG")


def test_a_picture_is_shown_as_it_is(results):
    done, truth = results["picture"]
    known, completed, filled = images(done.plot())
    mask = done.observations.mask
    np.testing.assert_array_equal(known, np.where(mask, truth, 0))
    np.testing.assert_array_equal(completed, done.completed)
    np.testing.assert_allclose(filled, (~mask).mean(axis=2))
    np.testing.assert_array_equal(images(done.plot(truth=truth))[2], truth)


def test_whole_missing_pixels_are_grey_not_black():
    truth = photo()
    mask = random_fibres(truth.shape, 0.3)
    done = tfl.complete(truth, mask, max_iter=2, rank=4)
    known = images(done.plot())[0]
    assert (known[~mask[..., 0]] == 128).all()
    np.testing.assert_array_equal(known[mask], truth[mask])


def test_a_matrix_is_shown_as_it_is(results):
    done, truth = results["matrix"]
    known, completed, filled = images(done.plot())[:3]
    mask = done.observations.mask
    np.testing.assert_array_equal(known.mask, ~mask)
    np.testing.assert_allclose(known[mask], truth[mask])
    np.testing.assert_allclose(completed, done.completed)
    np.testing.assert_array_equal(filled, ~mask)
    assert {"gene", "sample"} <= text_of(done.plot())


def test_cuts_are_the_slices_they_say(results):
    done, _ = results["slices"]
    figure = done.plot(count=2, labels={"day": ["Mo", "Tu", "We", "Th", "Fr", "Sa"]})
    shown = images(figure)
    assert {"day Tu", "day Th"} <= text_of(figure) or {"day Tu", "day Fr"} <= text_of(figure)
    days = [i for i, day in enumerate(["Mo", "Tu", "We", "Th", "Fr", "Sa"]) if f"day {day}" in text_of(figure)]
    completed = np.asarray(done.completed)
    np.testing.assert_array_equal(shown[2], completed[:, days[0]])
    np.testing.assert_array_equal(shown[3], completed[:, days[1]])
    np.testing.assert_array_equal(np.ma.getmaskarray(shown[0]), ~done.observations.mask[:, days[0]])


def test_titles_of_cuts_do_not_run_into_each_other():
    """Two fixed modes stood in one line: `time 2020-01-08, variable qtime 2020-01-23, variable q`."""
    T = np.random.default_rng(0).normal(size=(60, 6, 7, 3))
    T[0, 0, 0, 0] = np.nan
    done = tfl.complete(T, method="means", dims=("observation time", "latitude", "longitude", "variable"))
    figure = done.plot()
    figure.draw_without_rendering()
    boxes = [axes.title.get_window_extent() for axes in figure.axes if axes.get_title()]
    assert len(boxes) > 1
    assert all(one.x1 <= two.x0 for one, two in itertools.pairwise(boxes))


def scales(figure):
    return [image.get_clim() for axes in figure.axes for image in axes.get_images()]


def busy(sizes):
    """Counts of stations, day by hour, each of its own size; quickly completed."""
    T = RNG.poisson(np.multiply.outer(sizes, np.multiply.outer(1 + RNG.random(20), 1 + RNG.random(24)))).astype(float)
    T[RNG.random(T.shape) < 0.2] = np.nan
    dims = ("station", "day", "hour")
    return tfl.complete(T, method="sptc", prior=tfl.Poisson(), rank=1, max_iter=3, dims=dims)


def test_the_colours_are_for_what_is_shown():
    shown = busy([10, 11, 5000, 12, 9])  # stations 1 and 3 of 5
    limits = scales(shown.plot(count=2))
    assert len(limits) == 4
    assert len(set(limits)) == 1
    assert limits[0][1] < 80
    assert limits[0] == view.colour_range(view.sheets(shown, 2))


def test_slices_of_other_sizes_have_scales_of_their_own():
    known_a, known_b, full_a, full_b = scales(busy([0, 10, 0, 1000, 0]).plot(count=2))
    assert known_a == full_a
    assert known_b == full_b
    assert full_a[1] < 80 < 1000 < full_b[1]


def sheet_of(values):
    values = np.asarray(values, dtype=float)
    where = tuple(np.arange(n) for n in values.shape)
    return view.Sheet("", ("a", "b"), where, where, {}, values, values)


def test_colours_leave_outliers_out_but_not_the_ends_of_a_scale():
    noise = RNG.normal(size=(40, 40))
    noise[3, 5] = 1000
    assert view.colour_range([sheet_of(noise)])[1] < 5
    assert view.colour_range([sheet_of(RNG.choice([2, 3, 4, 5], (40, 40)) * 1.0)]) == (2, 5)
    assert view.colour_range([sheet_of(np.full((4, 4), 7.0))]) == (6.5, 7.5)
    few = np.zeros((40, 40))
    few[0, :3] = 9
    assert view.colour_range([sheet_of(few)]) == (0, 9)  # almost all alike: all of them


def test_few_long_series_are_drawn_whole():
    hours = np.arange(3000)
    T = np.stack([np.sin(2 * np.pi * hours / 24) + 2 + k for k in range(3)])
    T[0, 100:140] = np.nan
    done = tfl.complete(T, method="sptc", prior="normal", rank=1, max_iter=2)
    assert len(done.plot().axes[0].get_lines()[0].get_ydata()) == 3000  # every 8th would be another wave
    assert {rgb.shape[0] for _, rgb in card.thumbnails(done)} == {3}


def test_lines_mark_what_was_filled(results):
    done, _ = results["lines"]
    axes = done.plot().axes[1]
    filled, known = (line.get_ydata() for line in axes.get_lines())
    np.testing.assert_array_equal(np.isnan(known), np.isnan(series()[1]))
    np.testing.assert_allclose(filled, np.asarray(done.completed)[1])


@pytest.mark.filterwarnings("ignore::tensorfill.DataWarning")
def test_a_tensor_too_large_to_be_dense_is_still_shown():
    where = np.stack([RNG.integers(0, 5000, 300) for _ in range(4)], axis=1)
    obs = tfl.Observations.from_coo(where, RNG.integers(1, 9, 300), (5000,) * 4, duplicates="mean")
    done = tfl.complete(obs, rank=2, max_iter=1, starts=1)
    sheet = view.sheets(done, 2)[0]
    assert sheet.given.shape == (view.LONGEST_CUT, view.LONGEST_CUT)
    assert len(sheet.coordinates) == view.LONGEST_CUT**2
    assert isinstance(done.plot(count=1), Figure)
    assert "known" in done._repr_html_()
    with pytest.raises(MemoryError):
        done.completed


def test_thinned_cuts_keep_their_places():
    truth = np.add.outer(np.arange(3000.0), np.arange(20.0)) + 1
    done = tfl.complete(truth, RNG.random(truth.shape) < 0.9, max_iter=1)
    (sheet,) = view.sheets(done)
    rows, columns = sheet.index
    assert len(rows) == view.LONGEST_CUT
    np.testing.assert_array_equal(sheet.coordinates[: len(columns), 0], rows[0])
    seen = sheet.observed
    np.testing.assert_allclose(sheet.given[seen], truth[np.ix_(rows, columns)][seen])
    np.testing.assert_array_equal(seen, done.observations.mask[np.ix_(rows, columns)])


@pytest.mark.parametrize(
    ("shape", "dtype", "dims", "expected"),
    [
        ((20, 20, 3), "u1", None, "HWC"),
        ((20, 20, 3), "f8", None, "HWC"),
        ((20, 20, 4), "u1", None, None),
        ((20, 20), "u1", None, "HW"),
        ((20, 20), "f8", None, None),
        ((20, 20), "u1", ("row", "column"), "HW"),
        ((5, 20, 20), "u1", ("frame", "row", "column"), "FHW"),
        ((20, 20, 1), "f8", ("row", "column", "channel"), "HWC"),
        ((20, 20, 5), "f8", ("row", "column", "channel"), None),
    ],
)
def test_what_counts_as_a_picture(shape, dtype, dims, expected):
    ramp = np.linspace(1, 200, 20)
    values = np.broadcast_to(
        np.add.outer(ramp / 2, ramp / 2)[..., None] if shape[-1] < 20 else np.add.outer(ramp / 2, ramp / 2), shape
    )
    assert view.picture_axes(tfl.observe(values.astype(dtype), dims=dims)) == expected


def test_noise_is_no_picture():
    obs = tfl.observe(RNG.integers(0, 256, (20, 20, 3)).astype(np.uint8))
    assert view.picture_axes(obs) is None


# --- history and factors ------------------------------------------------------------------------------------------


def test_lines_show_their_error_bars():
    done = tfl.complete(series(), error_bars=0.9, dims=("site", "hour"))
    strict = dataclasses.replace(done, bars=dataclasses.replace(done.bars, level=0.995)).plot()
    assert strict.axes[0].get_legend().get_texts()[0].get_text() == "99.5 % interval"
    figure = done.plot()
    assert figure.axes[0].get_legend().get_texts()[0].get_text() == "90 % interval"
    (band,) = figure.axes[1].collections
    edges = band.get_paths()[0].vertices
    low, high = done.interval
    assert edges[:, 1].min() == pytest.approx(low[1].min())
    assert edges[:, 1].max() == pytest.approx(high[1].max())


def test_history_shows_both_curves(results):
    done, _ = results["slices"]
    axes = done.plot_history().axes
    assert len(axes) == 2
    np.testing.assert_allclose(axes[1].get_lines()[0].get_ydata(), done.history["held_out"])
    best = axes[1].get_lines()[1].get_xdata()
    assert best == done.history["iteration"][np.argmin(done.history["held_out"])]
    done = tfl.complete(photo(), random_entries(photo().shape, 0.5), method="field", max_iter=30)
    (axes,) = done.plot_history().axes
    assert "held-out" not in axes.get_title()
    y = axes.get_lines()[0].get_ydata()
    values = done.history["value"]
    values = values[np.isfinite(values)]  # passes of self-similarity have no objective
    np.testing.assert_allclose(y, (values - values.min())[values > values.min()])


def test_history_without_an_objective_says_so(results):
    figure = without_objective(results["picture"][0]).plot_history()
    assert any("reports no objective" in text for text in text_of(figure))


def test_factors_are_scaled_and_sorted(results):
    done, _ = results["picture"]
    shown, strength, chosen = plots.strongest(done, 3)
    assert strength[0] == 1
    assert (np.diff(strength) <= 0).all()
    for A, part in zip(done.factors, shown, strict=True):
        np.testing.assert_allclose(part.max(axis=0), 1)
        np.testing.assert_allclose(np.abs(np.corrcoef(A[:, chosen[0]], part[:, 0])[0, 1]), 1, atol=1e-5)
    figure = done.plot_factors(3, labels={"mode2": ["red", "green", "blue"]})
    assert len(figure.axes) == 3
    assert {"mode0", "mode1", "mode2", "red", "green", "blue"} <= text_of(figure)


def test_components_may_be_chosen(results):
    done, _ = results["picture"]
    figure = done.plot_factors([2, 0])
    assert [len(axes.get_lines()) for axes in figure.axes] == [3, 3, 3]  # two, and the line at zero
    assert {t for t in text_of(figure) if t.startswith(("2:", "0:"))}
    for bad in (0, [], [0, 99]):
        with pytest.raises(ValueError, match="components must be"):
            done.plot_factors(bad)
    with pytest.raises(AttributeError, match="has no factors"):
        without_objective(done).plot_factors()


def test_count_must_make_sense(results):
    with pytest.raises(ValueError, match=r"count must be >= 1; got 0\."):
        results["slices"][0].plot(count=0)


# --- words and numbers --------------------------------------------------------------------------------------------


def test_psnr():
    truth, none = np.full((4, 4), 100.0), np.zeros((4, 4), dtype=bool)
    half = none.copy()
    half[:2] = True
    assert view.psnr(truth, truth, none) == np.inf
    assert view.psnr(truth - 255, truth * 0 + 255, none) == pytest.approx(0)  # clipped to 0: as wrong as can be
    assert view.psnr(truth + 25.5, truth, none) == pytest.approx(20)
    assert view.psnr(truth + 25.5, truth, half) == pytest.approx(20 + 10 * np.log10(2))


def test_facts_are_json(results):
    import json

    for done, _ in results.values():
        facts = json.loads(json.dumps(summary.facts(done), allow_nan=False))
        assert facts["observed"] + facts["filled"] == done.observations.size
        assert facts["rank"] == done.rank
    assert summary.facts(without_objective(done))["prior"] is None


def test_quality_is_what_it_says(results):
    done, _ = results["matrix"]
    off, spread = summary.misfit(done)
    mask = done.observations.mask
    assert off == pytest.approx(np.sqrt(np.mean((done.estimate - done.completed)[mask] ** 2)))
    assert spread == pytest.approx(np.std(done.completed[mask]))
    assert f"{done.error:.3g}" in summary.quality(done)
    near, _ = results["picture"]  # the matrix has no noise, and its known entries are met exactly
    off, _ = summary.misfit(near)
    assert f"{off:.3g}" in summary.quality(dataclasses.replace(near, error=np.nan))


def test_error_against_the_truth(results):
    done, truth = results["picture"]
    assert summary.error_against(done, truth) == (
        "PSNR in dB",
        view.psnr(done.estimate, truth, done.observations.mask),
    )
    done, truth = results["matrix"]
    name, value = summary.error_against(done, truth)
    assert name == "RMSE of filled entries"
    assert 0 < value < truth.std()
    with pytest.raises(ValueError, match="truth must have the shape"):
        summary.error_against(done, truth[:2])


def test_the_widest_intervals_are_those_of_the_completion():
    T = series()
    done = tfl.complete(T, method="bayes", rank=2, draws=20, burn=10, chains=1)
    where, low, high, mean = summary.widest_intervals(done, count=5)
    assert not done.observations.mask[tuple(where.T)].any()
    assert (np.diff(high - low) <= 0).all()
    ends = done.bounds
    np.testing.assert_array_equal((low, high), [end[tuple(where.T)] for end in ends])
    assert ((low <= mean) & (mean <= high)).all()
    assert (high - low)[0] == (ends[1] - ends[0]).max()


def test_without_intervals_none_is_the_widest(results):
    assert summary.widest_intervals(results["slices"][0]) is None


# --- the card -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_card(kind, results):
    done, _ = results[kind]
    page = done._repr_html_()
    assert done.status.sentence in page
    pictures = re.findall(r'src="([^"]*)"', page)
    assert len(pictures) == 2
    assert all(address.startswith("data:image/png;base64,") for address in pictures)
    assert "http" not in page
    for tag in ("div", "table", "figure", "tr", "td", "figcaption"):
        assert page.count(f"<{tag} ") + page.count(f"<{tag}>") == page.count(f"</{tag}>")
    assert len(page) < 400_000


def test_card_escapes_names():
    done = tfl.complete(series(), max_iter=2, dims=("<b>site</b>", "hour"))
    assert "<b>site" not in done._repr_html_()
    assert "&lt;b&gt;site" in done._repr_html_()
