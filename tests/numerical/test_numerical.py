from __future__ import annotations

import contextlib
import json
import pickle
import subprocess
import sys
import time
import tracemalloc
from dataclasses import dataclass

import numpy as np
import pytest

import tensorfill as tfl
from tensorfill.numerical.base import COUNTS, NONNEGATIVE, POSITIVE, PRIORS, UNIT, Interval, NumericalPrior
from tensorfill.numerical.binary import Bernoulli, BernoulliLogit, BernoulliOdds, Binomial
from tensorfill.numerical.check import check_numerical_prior, derivative
from tensorfill.numerical.continuous import Huber, Laplace, Normal, StudentT
from tensorfill.numerical.custom import Custom
from tensorfill.numerical.discrete import Geometric, NegativeBinomial, Poisson, PoissonLog
from tensorfill.numerical.expression import FUNCTIONS, compile_expression
from tensorfill.numerical.extend import Extended
from tensorfill.numerical.ordinal import Ordinal
from tensorfill.numerical.positive import BetaDivergence, Exponential, Gamma, LogNormal, Rayleigh
from tensorfill.numerical.proportion import Beta
from tensorfill.numerical.truncated import TruncatedNormal
from tensorfill.numerical.zeros import ZeroInflatedPoisson, ZeroTruncatedPoisson

VARIANTS = [
    Normal(0.05),
    Gamma(3.5),
    Gamma(0.7, floor=0.1),
    LogNormal(0.4),
    Laplace(7.0),
    Huber(0.3),
    Huber(8.0),
    StudentT(1.5, 0.2),
    StudentT(30.0, 5.0),
    BetaDivergence(-1.0),
    BetaDivergence(0.0),
    BetaDivergence(1.0),
    BetaDivergence(1.5),
    BetaDivergence(2.0),
    BetaDivergence(3.0),
    Poisson(floor=1.0),
    Poisson(floor=1e-8),
    Bernoulli(floor=0.05),
    BernoulliOdds(floor=0.2),
    Binomial(255),
    NegativeBinomial(2.5),
    NegativeBinomial(40.0),
    Geometric(floor=0.5),
    ZeroTruncatedPoisson(floor=0.5),
    ZeroInflatedPoisson(0.9),
    ZeroInflatedPoisson(0.01, floor=0.2),
    Beta(40.0),
    Beta(300.0),
    TruncatedNormal(0.0, 100.0, 5.0),
    TruncatedNormal(-1.0, 1.0, 2.0),
    TruncatedNormal(0.0, 5.0, 0.05),
    Ordinal((0.5,)),
    Ordinal((-2.0, -1.99, 0.1, 3.0), 1),
]
ALL = [cls() for _, cls in PRIORS.items()] + VARIANTS
INNER = {"unit": [0.2, 0.6], "half": [0.5, 3.0, 20.0], "real": [-1.5, 0.3, 2.0]}

every = pytest.mark.parametrize("prior", ALL, ids=repr)
extended = pytest.mark.parametrize("prior", [p for p in ALL if isinstance(p, Extended)], ids=repr)


def model_values(prior):
    domain = prior.x_domain
    return INNER["real" if not np.isfinite(domain.low) else "half" if domain.high == np.inf else "unit"]


# -- every registered prior ---------------------------------------------------------------------------------------


def test_names():
    assert set(PRIORS) == {
        *("normal", "gamma", "exponential", "rayleigh", "lognormal", "laplace", "huber", "student-t"),
        *("beta-divergence", "poisson", "poisson-log", "bernoulli", "bernoulli-odds", "bernoulli-logit"),
        *("binomial", "negative-binomial", "geometric", "zero-truncated-poisson", "zero-inflated-poisson"),
        *("beta", "truncated-normal", "ordinal"),
    }


@every
@pytest.mark.parametrize("seed", [0, 1])
def test_checker_passes(prior, seed):
    check_numerical_prior(prior, seed=seed)


@every
def test_no_floating_point_warnings(prior):
    # Warnings are errors here: nothing may overflow or be invalid, even far outside the domain.
    t = prior.sample(np.array(model_values(prior) * 8), np.random.default_rng(0))
    x = np.resize([0.0, 1e-300, -1e-12, 3.0, -3.0, 800.0, -800.0, 1e6, -1e6], t.shape)
    for dtype in (np.float32, np.float64):
        for result in (*prior.nll_and_grad(t.astype(dtype), x.astype(dtype)), prior.mean(x.astype(dtype))):
            assert np.isfinite(result).all()


@every
def test_docstring_has_the_fixed_shape(prior):
    doc = type(prior).__doc__
    places = [doc.find(f"    {word}: ") for word in ("Distribution", "Link", "Loss", "Domain", "Mean")]
    assert -1 not in places
    assert places == sorted(places)


@every
def test_samples_find_the_model_value_again(prior):
    """The loss of many samples is lower at the x that they were drawn with than where the mean is clearly another."""
    rng = np.random.default_rng(3)
    for x0 in model_values(prior):
        t = prior.sample(np.full(4000, x0), rng)
        mean = float(prior.mean(np.array([x0]))[0])
        shift = 6 * np.std(t) / 4000**0.5
        best = prior.nll(t, np.full_like(t, x0)).sum()
        for other in (mean - shift, mean + shift):
            assert prior.nll(t, np.full_like(t, prior.start(other))).sum() > best


@extended
def test_exact_formula_is_untouched_inside_the_floor(prior):
    low, high = prior._edges()
    x = np.linspace(low, min(high, low + 3), 50)
    t = np.resize(prior.sample(np.array(model_values(prior)), np.random.default_rng(0)), x.shape)
    np.testing.assert_array_equal(prior.nll(t, x), prior._nll(t, x))
    np.testing.assert_array_equal(prior.grad(t, x), prior._grad(t, x))


@extended
def test_continuation_is_once_differentiable_and_pulls_back(prior):
    floor = prior.floor
    low, high = prior._edges()
    t = prior.sample(np.array(model_values(prior) * 5), np.random.default_rng(1))
    for edge, inward in ((low, 1), (high, -1)):
        if not np.isfinite(edge):
            continue
        for kink in (edge, edge - inward * 2 * floor):
            here, there = np.full_like(t, kink - 1e-9 * floor), np.full_like(t, kink + 1e-9 * floor)
            for method in (prior.nll, prior.grad):
                np.testing.assert_allclose(method(t, here), method(t, there), rtol=1e-6, atol=1e-6)
        outside = np.full_like(t, edge - inward * 3 * floor)
        assert (inward * prior.grad(t, outside) < 0).all()


def test_poisson_zero_is_lowest_at_zero():
    for floor in (1e-3, 1.0):
        x = np.linspace(-4, 4, 8001)
        loss = Poisson(floor=floor).nll(np.zeros_like(x), x)
        assert abs(x[np.argmin(loss)]) < 1e-9


@every
def test_nan_stays_nan(prior):
    # The loop's guard must see it.
    t = prior.sample(np.array(model_values(prior)[:1] * 2), np.random.default_rng(0))
    x = np.array([np.nan, model_values(prior)[0]])
    value, slope = prior.nll_and_grad(t, x)
    assert np.isnan([value[0], slope[0]]).all()
    assert np.isfinite([value[1], slope[1]]).all()


@every
def test_starting_points_are_finite_for_all_equal_data(prior):
    ends = [e for e in (prior.t_domain.low, prior.t_domain.high) if np.isfinite(e)]
    for mean in [*ends, float(prior.mean(np.array(model_values(prior)))[0])]:
        x = prior.start(mean)
        assert isinstance(x, float)
        assert np.isfinite(x)
        assert prior.x_domain.includes(np.array(x))
        assert prior.mean(np.array([x]))[0] == pytest.approx(mean, abs=1e-3)


@every
def test_settings_make_it_again(prior):
    settings = json.loads(json.dumps(prior.settings()))
    assert PRIORS[prior.name](**settings) == prior
    assert hash(PRIORS[prior.name](**settings)) == hash(prior)


# -- defects seen elsewhere ---------------------------------------------------------------------------------------


def assert_slope(prior, t, x):
    t, x = np.array(t, dtype=float), np.array(x, dtype=float)
    expected, _ = derivative(lambda z: prior.nll(t, z), x, 0.05 * np.abs(x))
    np.testing.assert_allclose(prior.grad(t, x), expected, rtol=1e-8)


def test_negative_binomial_gradient_for_t_other_than_1():
    assert_slope(NegativeBinomial(3.0), [0, 1, 2, 9, 40], [2.0, 0.5, 3.0, 0.7, 5.0])


def test_huber_gradient_in_the_tail_for_delta_other_than_1():
    assert_slope(Huber(0.3), [5.0, -4.0, 2.0, 0.1], [2.0, 3.0, 2.1, 9.0])
    assert_slope(Huber(2.5), [9.0, -4.0, 3.0], [2.0, 3.0, 2.1])


@pytest.mark.parametrize(
    "name", ["gamma", "exponential", "rayleigh", "negative-binomial", "beta-divergence", "poisson"]
)
def test_zeros_are_accepted(name):
    prior = PRIORS[name]()
    zero = np.zeros(3)
    assert prior.t_domain.includes(zero).all()
    for x in (2.0, 1e-12, -1.0):
        assert np.isfinite(prior.nll_and_grad(zero, np.full(3, x))).all()


def test_lognormal_refuses_zero():
    assert not LogNormal().t_domain.includes(np.zeros(1)).any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("prior", [BernoulliLogit(), Binomial(4)], ids=repr)
def test_logit_at_800(prior, dtype):
    top = prior.t_domain.high
    x = np.array([800, 800, -800, -800], dtype=dtype)
    t = np.array([0, top, 0, top], dtype=dtype)
    value, slope = prior.nll_and_grad(t, x)
    np.testing.assert_allclose(value, [800 * top, 0, 0, 800 * top])
    np.testing.assert_allclose(slope, [top, 0, 0, -top])
    np.testing.assert_array_equal(prior.grad(t, x), slope)


def test_poisson_log_does_not_overflow():
    x = np.array([31.0, 100.0, 1000.0], dtype=np.float32)
    value, slope = PoissonLog().nll_and_grad(np.zeros(3, np.float32), x)
    assert np.isfinite(value).all()
    assert (np.diff(value) > 0).all()
    assert (slope > 0).all()


# -- families that must agree ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Exponential(), Gamma(1.0)),
        (Geometric(), NegativeBinomial(1.0)),
        (BernoulliLogit(), Binomial(1)),
        (BetaDivergence(1.0), Poisson()),
        (BetaDivergence(0.0), Gamma(1.0)),
        (BetaDivergence(2.0), Normal()),
        (BetaDivergence(1.0 + 1e-9), BetaDivergence(1.0)),
        (Huber(1e6), Normal()),
        (StudentT(1e9, 2.0), Normal(2.0)),
    ],
    ids=repr,
)
def test_special_cases_have_the_same_gradient(one, other):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.1, 5, 50)
    t = rng.uniform(0, 1, 50)
    np.testing.assert_allclose(one.grad(t, x), other.grad(t, x), rtol=1e-6, atol=1e-7)
    rise = one.nll(t, x) - one.nll(t, x + 1)
    np.testing.assert_allclose(rise, other.nll(t, x) - other.nll(t, x + 1), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("one", "other", "link"),
    [
        (Poisson(), PoissonLog(), np.exp),
        (Bernoulli(), BernoulliLogit(), lambda x: 1 / (1 + np.exp(-x))),
        (BernoulliOdds(), BernoulliLogit(), np.exp),
    ],
    ids=["poisson", "bernoulli", "odds"],
)
def test_links_give_the_same_loss(one, other, link):
    x = np.linspace(-3, 3, 40)
    t = np.resize([0.0, 1.0], 40)
    np.testing.assert_allclose(one.nll(t, link(x)), other.nll(t, x), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one.mean(link(x)), other.mean(x), rtol=1e-12)


# -- parameters ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Normal(0.0), "sigma must be a number > 0 for Normal; got 0.0"),
        (lambda: Gamma(k=-1), "k must be a number > 0 for Gamma; got -1"),
        (lambda: Poisson(floor=0), "floor must be a number > 0 for Poisson; got 0"),
        (lambda: Bernoulli(floor=0.5), "floor must be less than half of the range of x"),
        (lambda: Binomial(2.5), "n must be a whole number >= 1 for Binomial; got 2.5"),
        (lambda: BetaDivergence(float("nan")), "beta must be a finite number"),
        (lambda: StudentT(nu="a"), "nu must be a number > 0 for StudentT; got 'a'"),
    ],
)
def test_wrong_parameters_are_refused(make, sentence):
    with pytest.raises(ValueError, match=sentence):
        make()


def test_numpy_scalars_as_parameters_keep_float32():
    t, x = np.ones(3, np.float32), np.full(3, 2, np.float32)
    for prior in (Normal(np.float64(2)), NegativeBinomial(np.float64(2)), Binomial(np.int64(3)), Huber(np.float64(1))):
        assert prior.nll(t, x).dtype == np.float32
        assert prior.grad(t, x).dtype == np.float32
        json.dumps(prior.settings())


def test_parameters_are_positional_and_floor_is_not():
    assert NegativeBinomial(3.0).r == 3.0
    assert Gamma(2.0).k == 2.0
    with pytest.raises(TypeError):
        Poisson(1.0)


def test_optional_methods_are_declared():
    assert Poisson().has("split")
    assert Poisson().has("curv")
    assert not LogNormal().has("split")
    assert not Laplace().has("curv")
    assert Normal().has("sample")
    assert not NumericalPrior().has("sample")


def test_binomial_domain_depends_on_n():
    values = np.array([0.0, 7.0, 8.0])
    assert Binomial(7).t_domain.includes(values).tolist() == [True, True, False]


# -- the checker itself: each of these must be caught ----------------------------------------------------------------


@dataclass(frozen=True)
class WrongGrad(Poisson):
    def _grad(self, t, z):
        return 1 - 1.001 * t / z


@dataclass(frozen=True)
class WrongCurv(Normal):
    def curv(self, t, x):
        return np.full_like(x, 2.0)


@dataclass(frozen=True)
class WrongPair(Normal):
    def nll_and_grad(self, t, x):
        return self.nll(t, x), 2 * self.grad(t, x)


@dataclass(frozen=True)
class WrongDtype(Normal):
    def grad(self, t, x):
        return (x - t).astype(float)


@dataclass(frozen=True)
class WrongMemory(Normal):
    def mean(self, x):
        return x


@dataclass(frozen=True)
class Mutates(Normal):
    def nll(self, t, x):
        x -= t
        return x * x / 2


@dataclass(frozen=True)
class WrongSplit(Normal):
    def split(self, t, x):
        return x.copy(), t.copy()


@dataclass(frozen=True)
class WrongSum(Gamma):
    def _split(self, t, z):
        return 1 / z, t / z


@dataclass(frozen=True)
class Unbounded(NumericalPrior):
    def nll(self, t, x):
        return 1.0 * x

    def grad(self, t, x):
        return np.ones_like(x)

    def mean(self, x):
        return x.copy()

    def start(self, mean):
        return mean


@dataclass(frozen=True)
class Overflows(PoissonLog):
    def nll(self, t, x):
        return np.exp(x) - t * x


@dataclass(frozen=True)
class WrongMean(Gamma):
    def mean(self, x):
        return np.maximum(x, 0)

    def start(self, mean):
        return self._start(mean)


@dataclass(frozen=True)
class WrongStart(BernoulliLogit):
    def start(self, mean):
        return mean


@dataclass(frozen=True)
class WrongSample(Poisson):
    def sample(self, x, rng):
        return rng.poisson(1.1 * np.maximum(x, 0)).astype(x.dtype)


@dataclass(frozen=True)
class WrongQuantile(Normal):
    def quantile(self, x, q):
        return x + q - 0.5


@dataclass(frozen=True)
class SamplesOutside(Exponential):
    def sample(self, x, rng):
        return x * rng.normal(size=x.shape)


@dataclass(frozen=True)
class ForgetsSettings(Normal):
    def settings(self):
        return {}


@pytest.mark.parametrize(
    ("prior", "sentence"),
    [
        (WrongGrad(), r"grad is wrong at t = .*, x = .*: it answers .*, differences of nll give"),
        (WrongCurv(), "curv is wrong"),
        (WrongPair(), "nll_and_grad and grad differ"),
        (WrongDtype(), "grad must keep dtype and shape"),
        (WrongMemory(), "mean must answer in new memory"),
        (Mutates(), "must not be written to"),
        (WrongSplit(), "part of split must be >= 0"),
        (WrongSum(2.0), "positive - negative is"),
        (Unbounded(), "nll must be bounded below"),
        (Overflows(), r"nll must be finite for every x; it is inf at t = .*, x = "),
        (WrongMean(3.0), "the loss must be lowest where"),
        (WrongStart(), "start must invert mean"),
        (WrongSample(), "the average t must be"),
        (WrongQuantile(), r"quantile\(.*\) = .* of the samples below it"),
        (SamplesOutside(), "samples must be >= 0"),
        (ForgetsSettings(2.0), "settings must make the same prior again"),
    ],
    ids=lambda v: type(v).__name__ if isinstance(v, NumericalPrior) else "",
)
def test_checker_catches(prior, sentence):
    with pytest.raises(AssertionError, match=sentence):
        check_numerical_prior(prior)


# -- custom priors ------------------------------------------------------------------------------------------------

COUNT = {"t_domain": NONNEGATIVE, "x_domain": POSITIVE}


def poisson_loss(t, x):
    return x - t * np.log(x)


def poisson_slope(t, x):
    return 1 - t / x


def no_complex(t, x):
    return x - t * np.log(np.abs(x))  # abs loses the imaginary part: complex steps would be wrong


CUSTOM = [
    Custom("x - t*log(x)", **COUNT),
    Custom(poisson_loss, **COUNT),
    Custom(poisson_loss, poisson_slope, **COUNT),
    Custom(no_complex, **COUNT),
]


@pytest.mark.parametrize("prior", CUSTOM, ids=["text", "function", "with-grad", "differences"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_custom_equals_the_built_in(prior, dtype):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 30, 500).astype(dtype)
    t = rng.poisson(np.abs(x)).astype(dtype)
    inside = x >= 1e-3
    value, slope = prior.nll_and_grad(t, x)
    expected = Poisson().nll_and_grad(t, x)
    assert value.dtype == slope.dtype == dtype
    tight = 1e-5 if dtype == np.float32 else 1e-8
    np.testing.assert_allclose(value[inside], expected[0][inside], rtol=tight, atol=tight * 10)
    np.testing.assert_allclose(slope[inside], expected[1][inside], rtol=tight, atol=tight * 10)


@pytest.mark.parametrize(
    "settings",
    [
        {"nll": "exp(x) - t*x", "t_domain": (0, None), "x_domain": (None, 30), "mean": "exp(x)"},
        {"nll": "softplus(x) - t*x", "t_domain": (0, 1), "mean": "expit(x)"},
        {"nll": "abs(x - t)"},
        {"nll": "max(0.9*(t - x), 0.1*(x - t))"},
        {"nll": "2*log(x) + pi/4*(t/x)**2", **COUNT},
        {"nll": "sqrt(1 + (x - t)**2)"},
        {"nll": "4*log1p(exp(-abs(x)))  + 4*max(x, 0) - t*x", "t_domain": Interval(0, 4), "mean": "4*expit(x)"},
    ],
    ids=lambda s: s["nll"],
)
def test_custom_text_is_checked_saved_and_pickled(settings):
    prior = Custom(**settings)
    again = PRIORS["custom"](**json.loads(json.dumps(prior.settings())))
    assert again == prior
    assert pickle.loads(pickle.dumps(prior)) == prior
    rng = np.random.default_rng(0)
    t, x = rng.uniform(0, 1, 20), rng.uniform(0.1, 3, 20)
    np.testing.assert_array_equal(again.grad(t, x), prior.grad(t, x))


def test_custom_functions_pickle_but_cannot_be_saved():
    prior = Custom(poisson_loss, poisson_slope, **COUNT)
    assert pickle.loads(pickle.dumps(prior)) == prior
    with pytest.raises(ValueError, match="Python functions, which cannot be saved"):
        prior.settings()


def test_custom_priors_differ_when_their_losses_do():
    assert Custom("(x - t)**2") != Custom("(x - t)**2 / 2")
    assert Custom("(x - t)**2") == Custom("(x - t)**2")


def test_custom_with_another_mean_starts_there():
    prior = Custom("exp(x) - t*x", t_domain=(0, None), x_domain=(None, 30), mean="exp(x)")
    assert prior.start(5.0) == pytest.approx(np.log(5.0), rel=1e-9)


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda: Custom(poisson_loss, lambda t, x: 1 + t / x, **COUNT), ValueError, r"grad is wrong at t = .*, x = "),
        (lambda: Custom("x - t*log(x)"), ValueError, "nll must be finite for every x; .*say so in x_domain"),
        (lambda: Custom("exp(x) - t*x", t_domain=COUNTS), ValueError, "it is inf at t = 0, x = 800"),
        (lambda: Custom("exp(x) - t*x", x_domain=(-20, 20), t_domain=(0, None)), ValueError, "lowest where mean"),
        (lambda: Custom("x + 0*t"), ValueError, "bounded below"),
        (lambda: Custom("logg(x)"), ValueError, "got 'logg\\(x\\)' .*Did you mean 'log'"),
        (lambda: Custom("__import__('os').getcwd()"), ValueError, "A formula may contain"),
        (lambda: Custom("t.real + x"), ValueError, "A formula may contain"),
        (lambda: Custom("9**9**9**9 + (x - t)**2"), ValueError, "numbers up to 1e308"),
        (lambda: Custom("x -"), ValueError, "must be an expression in t and x"),
        (lambda: Custom("x - t", poisson_slope), TypeError, "differentiated for you"),
        (lambda: Custom(3), TypeError, "nll must be text such as"),
        (lambda: Custom(lambda t, x: np.sum(x)), ValueError, "must answer entry by entry"),
        (lambda: Custom("(x - t)**2", t_domain=(3, 1)), ValueError, "low < high"),
        (lambda: Custom("(x - t)**2", t_domain="all"), TypeError, "t_domain must be an Interval or a pair"),
    ],
)
def test_custom_refusals(make, error, sentence):
    with pytest.raises(error, match=sentence):
        make()


def test_importing_the_priors_loads_nothing_heavy():
    code = "import sys, tensorfill.numerical; print([m for m in ('scipy.stats', 'sympy', 'numba') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_unit_interval_of_bernoulli_is_open():
    assert not Bernoulli().x_domain.includes(np.array([0.0, 1.0])).any()
    assert UNIT.includes(np.array([0.0, 1.0])).all()


def test_rayleigh_mean_is_x():
    t = Rayleigh().sample(np.full(40_000, 3.0), np.random.default_rng(0))
    assert t.mean() == pytest.approx(3.0, rel=0.02)


HUGE = {
    "deeper than Python's parser": "(" * 300 + "x" + ")" * 300,
    "minus after minus": "-" * 3000 + "x",
    "long": "+".join(["(x-t)**2"] * 3000),
    "a number of many digits": "1" * 5000,
    "divided by zero": "x/0 - t",
    "no number": "log(0)*x",
    "not real": "sqrt(-1)*x",
    "no argument": "log()",
    "two arguments": "exp(x, t)",
    "null": "x\0",
}


@pytest.mark.parametrize("name", HUGE)
def test_formulas_that_cannot_be_are_one_short_sentence(name):
    with pytest.raises(ValueError, match=r"^A formula m") as caught:
        Custom(HUGE[name])
    assert len(str(caught.value)) < 400


FORMULAS = [
    "x - t*log(x)",
    "log1p(x) + exp(-x)*t",
    "sqrt(x + t)/(1 + x)",
    "sin(x)*cos(x*t) - -x",
    "tanh(x - t) + cosh(x/3) + atan(x*t)",
    "softplus(x - 2)*expit(t*x)",
    "x**3 - x**-2 + x**t + t**x + 2**x + (x + 1)**0.5 + x**1 + x**0",
    "abs(x - t)*max(x, 2, t) + min(x*x, t)",
    "pi*x/2 + 3e2/x - t/4",
    "exp(sin(exp(cos(x*t))))",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_and_its_derivative_are_those_of_differences(text):
    rng = np.random.default_rng(0)
    t, x, step = rng.uniform(0.5, 2, 40), rng.uniform(0.5, 2, 40), 1e-5
    plain = {name: getattr(np, name, None) for name in FUNCTIONS} | {"pi": np.pi, "t": t, "x": x}
    plain |= {"softplus": lambda u: np.logaddexp(0, u), "expit": lambda u: 1 / (1 + np.exp(-u)), "atan": np.arctan}
    plain |= {"min": lambda *a: np.minimum.reduce(a), "max": lambda *a: np.maximum.reduce(np.broadcast_arrays(*a))}
    value, slope = compile_expression(text)
    np.testing.assert_allclose(value(t, x), eval(text, plain), rtol=1e-12)
    expected = (value(t, x + step) - value(t, x - step)) / (2 * step)
    np.testing.assert_allclose(slope(t, x), expected, rtol=1e-6, atol=1e-7)
    assert slope(t.astype("f4"), x.astype("f4")).dtype == np.float32


BOMBS = [
    "x*tanh(exp(exp(exp(3.15))))",  # exact arithmetic took 38 s and 5 GB
    "x**2*cos(exp(exp(exp(3.15)))) + t",
    "x*atan(9**9**9**9)",
    "(x - t)**2 + exp(exp(exp(exp(9))))",
    "sin(" * 25 + "x*t" + ")" * 25,
    "*".join(f"(x+{k})" for k in range(280)),
    "*".join(f"sin(x+{k})" for k in range(180)),
    "**".join(["(x+t)"] * 99),
    "exp(x*" * 90 + "x" + ")" * 90,
    "(x-t)**999999999",
    "1e999*x",
]


@pytest.mark.parametrize("text", BOMBS)
def test_no_formula_takes_long(text):
    began = time.process_time()
    with contextlib.suppress(ValueError), np.errstate(all="ignore"):
        for function in compile_expression(text):
            function(np.ones(100), np.full(100, 1.5))
    assert time.process_time() - began < 1.0


def test_no_formula_takes_much_memory():
    """As many arrays as operations were held at once: 2 GB for 10^6 entries."""
    t, x = np.random.default_rng(0).uniform(0.5, 2, (2, 300, 1000))
    functions = compile_expression("+".join(f"x*1.{k:03}" for k in range(1, 240)) + "+t*log(x)")
    tracemalloc.start()
    try:
        answers = [function(t, x) for function in functions]
        assert tracemalloc.get_traced_memory()[1] < 12 * x.nbytes + 300 * 2**18
    finally:
        tracemalloc.stop()
    for whole, function in zip(answers, functions, strict=True):
        assert whole.shape == x.shape
        assert np.array_equal(whole[::7], [function(a, b) for a, b in zip(t[::7], x[::7], strict=True)])


def test_no_formula_in_a_saved_model_takes_long(tmp_path):
    T = np.outer(np.arange(1.0, 7), np.arange(1.0, 6))
    T[2, 3] = np.nan
    done = tfl.complete(T, prior=Custom("(x - t)**2"), method="auto", rank=1, smooth={}, max_iter=3)
    done.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        arrays = dict(file)
    meta = arrays["meta"].tobytes()
    assert b"(x - t)**2" in meta
    arrays["meta"] = np.frombuffer(meta.replace(b"(x - t)**2", b"(x - t)**2*tanh(exp(exp(exp(3.15))))"), np.uint8)
    np.savez(tmp_path / "b.npz", **arrays)
    began = time.process_time()
    with pytest.raises(ValueError, match="A formula must be real and finite"):
        tfl.Completion.load(tmp_path / "b.npz")
    assert time.process_time() - began < 1.0


def test_long_sums_are_not_deep():
    prior = Custom("+".join(f"(x - t)**2/{k}" for k in range(1, 60)), check=False)
    assert np.isclose(prior.nll(np.array([1.0]), np.array([3.0]))[0], 4 * sum(1 / k for k in range(1, 60)))
