"""Labels are text: no formula hides in them, and none fails the run that was paid for."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

import tensorfill as tfl
from tensorfill.show.report import write_report

ODD = ["$$", "$x^$", "$a_$ and $b$", "price in $", r"\$ \frac{", "温度", "<b>&amp;", "a\nb", "%s {0}"]


def of_kind(kind, name, rng):
    """A result whose dimensions and labels are all called `name`, or begin so."""
    shape = {"matrix": (12, 11), "lines": (3, 40), "slices": (9, 8, 6)}[kind]
    T = tfl.CP([rng.uniform(1, 2, (size, 2)) for size in shape]).full()
    T[rng.random(shape) < 0.3] = np.nan
    dims = [name, f"{name} {name}", f"x{name}"][: len(shape)]
    labels = {d: [f"{name}{i}" for i in range(size)] for d, size in zip(dims, shape, strict=True)}
    problem = tfl.Problem(tfl.Observations.from_dense(T, dims=dims), rank=2, quiet=True)
    return tfl.solve(problem, stopping=tfl.Stopping(max_iter=3)), labels


@pytest.mark.parametrize(("kind", "name"), [*(("matrix", n) for n in ODD), ("lines", "$x^$"), ("slices", "$x^$")])
def test_any_label_can_be_drawn(kind, name, tmp_path, rng):
    done, labels = of_kind(kind, name, rng)
    write_report(done, tmp_path / "r.html", labels=labels, title=name, command=name, notes=[name])
    text = (tmp_path / "r.html").read_text()
    assert "Before" in text
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        for figure in (done.plot(labels=labels), done.plot_factors(labels=labels)):  # a history has no labels
            figure.savefig(tmp_path / "p.png", dpi=40)  # outside of what the package set up
    if name == "price in $":
        assert name in text


def test_a_table_with_such_names_is_completed_and_drawn(rng):
    frame = pd.DataFrame(np.outer(np.arange(1.0, 8.0), np.arange(1.0, 6.0)), columns=["$$", "$x^$", "a", "b", "c"])
    frame.iloc[2, 3] = np.nan
    done = tfl.complete(frame.rename_axis("$y_$"), method="halrtc", max_iter=3)
    done.plot().savefig(io.BytesIO(), format="png", dpi=40)
    assert done._repr_html_()
