"""What a newcomer meets first: completion in the editor, help, yes and no, a figure of quality."""

import dataclasses
import inspect
import pydoc
import re
import types
import warnings

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.api import EFFORTS, RUN
from tensorfill.methods.when import TimeOptions
from tensorfill.registry import Registry


def test_dir_shows_public_names_only():
    shown = dir(tfl)
    assert not [n for n in shown if isinstance(getattr(tfl, n), types.ModuleType)]
    assert not [n for n in shown if n.startswith("_") and n not in ("__version__", "__doc__")]
    bound = {n for n, v in vars(tfl).items() if not n.startswith("_") and not isinstance(v, types.ModuleType)}
    assert bound == set(tfl.__all__)
    things = [getattr(tfl, n) for n in tfl.__all__]
    assert all(callable(thing) or isinstance(thing, Registry) for thing in things)  # no constants, no settings


@pytest.mark.parametrize("name", [n for n in tfl.__all__ if inspect.isclass(getattr(tfl, n))])
def test_a_public_class_says_what_its_parts_are(name):
    cls = getattr(tfl, name)
    own = {n: v for n, v in inspect.getmembers(cls) if not n.startswith("_")}
    methods = [n for n, v in own.items() if inspect.isroutine(v) or isinstance(v, property)]
    assert [n for n in methods if not inspect.getdoc(own[n])] == []
    if name in ("Completion", "Observations", "Problem"):
        fields = [f.name for f in dataclasses.fields(cls)]
        assert [f for f in fields if not re.search(rf"^ *(\w+, )*{f}(, \w+)* : ", cls.__doc__, re.MULTILINE)] == []


def test_settings_people_use_are_keywords_with_types():
    keywords = inspect.signature(tfl.complete).parameters
    assert len(keywords) <= 17  # a signature that fits a screen; the others are options, in groups
    for name in ("prior", "rank", "smooth", "method", "effort", "error_bars", "seed", "dims", "value", "weights"):
        assert keywords[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert keywords[name].annotation != "Any"
    assert EFFORTS == ("quick", "normal", "best")


def test_help_fits_a_screen_and_links_on():
    text = pydoc.render_doc(tfl.complete, renderer=pydoc.plaintext)
    body = inspect.getdoc(tfl.complete)
    assert body.count("\n") < 34
    assert max(map(len, body.splitlines())) <= 120
    options = [f.name for f in dataclasses.fields(TimeOptions)] + [
        *RUN,
        "max_memory",
        "solver",
        "candidates",
        "held_out",
    ]
    for word in (*inspect.signature(tfl.complete).parameters, *options, "help(tfl.Completion)", "docs/"):
        assert word in text


@pytest.mark.parametrize("kind", ["bool", "float", "coo", "pandas"])
def test_yes_and_no_come_back_as_yes_and_no(kind):
    rng = np.random.default_rng(0)
    p = 1 / (1 + np.exp(-3 * np.outer(rng.normal(size=30), rng.normal(size=20))))
    T, known = (rng.random(p.shape) < p).astype(float), rng.random(p.shape) < 0.7
    given, mask = {
        "bool": lambda: (T.astype(bool), known),
        "float": lambda: (np.where(known, T, np.nan), None),
        "coo": lambda: (tfl.Observations.from_coo(np.argwhere(known), T[known], T.shape), None),
        "pandas": lambda: (pytest.importorskip("pandas").DataFrame(np.where(known, T, np.nan)), None),
    }[kind]()
    done = tfl.complete(given, mask, effort="quick")
    filled = np.asarray(done.completed)
    assert set(np.unique(filled)) == {0, 1}
    assert filled.dtype == (bool if kind == "bool" else float)
    np.testing.assert_array_equal(filled[known], T[known])
    inner = done.full[~known]
    assert ((inner >= 0) & (inner <= 1)).all()
    assert len(np.unique(inner)) > 50
    np.testing.assert_array_equal(filled[~known] == 1, inner > 0.5)


def test_constant_data_come_back_without_a_warning():
    T = np.where(np.random.default_rng(0).random((4, 5, 6)) < 0.2, np.nan, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        np.testing.assert_allclose(tfl.complete(T, candidates=["means"]).completed, 1.0, rtol=1e-6)


def test_packages_have_the_public_names_of_their_modules():
    from tensorfill.interelement import Ridge
    from tensorfill.numerical import Poisson
    from tensorfill.solvers import Newton

    assert (Ridge, Poisson, Newton) == (tfl.Ridge, tfl.Poisson, tfl.Newton)
    with pytest.raises(ImportError, match="cannot import name 'Poison'"):
        from tensorfill.numerical import Poison  # noqa: F401
