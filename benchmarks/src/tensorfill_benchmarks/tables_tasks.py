"""The tasks of `bench tables`: which entries of which table are hidden, how answers are scored, what others published.

Hangzhou's masks are those of the transdim project (after `numpy.random.seed(1000)`), which states the figures beside
them. Those of ML-100k are Surprise's and myFM's own, those of ETT TSI-Bench's: a ratio to linear interpolation, for
windows there are cut and standardised otherwise than here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tensorfill_benchmarks import choose_tables as sets
from tensorfill_benchmarks.choose_data import DataSet, Places, given, optional
from tensorfill_benchmarks.choose_gaps import hide
from tensorfill_benchmarks.tables_measures import Mask, Puzzle
from tensorfill_benchmarks.tables_rubin import missed

Published = Mapping[str, tuple[float | None, ...]]

SEED = 1000  # of the masks of Hangzhou, as published
OFF = 6  # windows of an hour: all stations are off together
FOLDS = 5
COUNTS = (30, 30, 1464)
OBSERVED = 474_000
DISPERSION, SPREAD, RANK = 3.0, 0.6, 10  # of the simulated counts: variance mean + mean^2 / 3, Gamma(.6) factors


@dataclass(frozen=True)
class Task:
    """One line of the table.

    Attributes
    ----------
    data, case : its name in two parts
    measures : names of MEASURES; the first decides
    others : who else fills it, names of `tables_others.OTHERS`
    published : {who: a figure per measure, None where none is stated}
    make : the puzzle; None where the task is a simulation
    simulate : (seed) -> the one measure of `bayes`, over tables of its own
    over : published figures are ratios to the error of this one of the others; None: in the unit of the measure
    """

    data: str
    case: str
    measures: tuple[str, ...]
    make: Callable[[Places], Puzzle] | None
    others: tuple[str, ...] = ()
    published: Published = field(default_factory=dict)
    over: str | None = None
    simulate: Callable[[int], float] | None = None

    @property
    def name(self) -> str:
        return f"{self.data}/{self.case}"


# --- Hangzhou --------------------------------------------------------------------------------------------------------


def metro_mask(order: str, kind: str, percent: int) -> Mask:
    """True = observed, (80 stations, 25 days, 108 windows); B: drawn for the tensor as 80 x 108 x 25."""
    draw, rate = np.random.RandomState(SEED), percent / 100
    shape = (80, 25, 108)
    if kind == "RM":
        uniform = draw.rand(*shape) if order == "A" else draw.rand(80, 108, 25).transpose(0, 2, 1)
    elif kind == "NM":
        uniform = draw.rand(80, 25)[:, :, None]
    else:
        uniform = np.repeat(draw.rand(25 * 108 // OFF), OFF).reshape(1, 25, 108)
    return np.broadcast_to(np.round(uniform + 0.5 - rate) > 0, shape)


def metro(order: str, kind: str, percent: int) -> Callable[[Places], Puzzle]:
    """Passengers; entries that are 0 are not scored."""

    def make(places: Places) -> Puzzle:
        from scipy.io import loadmat

        counts = loadmat(str(given(places.data, "--data", "hangzhou.mat")))["tensor"].astype(np.int64)
        hidden = ~metro_mask(order, kind, percent)
        data = DataSet(counts, columns=(0,), time=(1, 2), fibres=(2,), low=0)
        return Puzzle(data, hidden, hidden & (counts != 0))

    return make


METRO: dict[str, Published] = {
    "A RM 40": {"BGCP": (33.68, 0.198), "BATF": (44.88, 0.199), "HaLRTC": (31.81, 0.190), "BTMF": (30.03, 0.240)},
    "A RM 60": {"BGCP": (37.73, 0.202), "BATF": (38.83, 0.205), "HaLRTC": (36.19, 0.201), "BTMF": (35.25, 0.252)},
    "A NM 40": {"BGCP": (76.11, 0.214), "BATF": (40.49, 0.212), "HaLRTC": (53.15, 0.215), "TRMF": (37.86, 0.260)},
    "B RM 30": {"LATC": (24.97, 0.191), "LRTC-TNN": (24.95, 0.186)},
    "B RM 70": {"LATC": (28.25, 0.203), "LRTC-TNN": (29.55, 0.202)},
    "B RM 90": {"LATC": (34.44, 0.243), "LRTC-TNN": (38.05, 0.230)},
    "B NM 30": {"LATC": (47.38, 0.199), "LRTC-TNN": (47.60, 0.194)},
    "B NM 70": {"LATC": (47.30, 0.243), "LRTC-TNN": (41.83, 0.226)},
    "B BM 30": {"LATC": (28.64, 0.219), "LRTC-TNN": (29.28, 0.214)},
}


def _metro_task(case: str) -> Task:
    order, kind, percent = case.split()
    return Task(
        "hangzhou", case, ("RMSE", "MAPE"), metro(order, kind, int(percent)), ("mode means", "linear"), METRO[case]
    )


# --- ratings, sensors, yes or no, mixed columns, counts --------------------------------------------------------------


def ratings(fold: int) -> Callable[[Places], Puzzle]:
    """ML-100k without one of five folds."""

    def make(_: Places) -> Puzzle:
        data = sets.movies(None)
        known = np.argwhere(data.known)
        part = np.random.default_rng(0).permutation(len(known)) % FOLDS == fold
        hidden = np.zeros(data.shape, dtype=bool)
        hidden[tuple(known[part].T)] = True
        return Puzzle(data, hidden, hidden)

    return make


def transformer(percent: int) -> Callable[[Places], Puzzle]:
    """ETTh, 724 days x 24 hours x 7 columns, entries hidden at random."""

    def make(_: Places) -> Puzzle:
        values = sets.gap_file("z_etth", 724 * 24).reshape(724, 24, 7)
        hidden = np.random.default_rng(0).random(values.shape) < percent / 100
        return Puzzle(DataSet(values, columns=(2,), units=2, time=(0, 1), fibres=(1,)), hidden, hidden)

    return make


def of_set(load: Callable[[Places], DataSet], name: str, gaps: str) -> Callable[[Places], Puzzle]:
    """A set of `bench choose` with its gaps."""

    def make(places: Places) -> Puzzle:
        data = load(places)
        hidden = hide(data, name, gaps)
        return Puzzle(data, hidden, hidden)

    return make


def relations(name: str, most: int) -> Callable[[Places], Puzzle]:
    """Yes or no, a fifth hidden."""

    def make(_: Places) -> Puzzle:
        data = sets.relations(name, most)
        hidden = hide(data, name, "single20")
        return Puzzle(data, hidden, hidden, "bernoulli-logit")

    return make


def mixed(name: str) -> Callable[[Places], Puzzle]:
    """Measurements and a class as columns of yes or no, a fifth hidden; of a class all columns together."""

    def make(_: Places) -> Puzzle:
        both = getattr(optional("sklearn.datasets"), f"load_{name}")()
        kinds = np.unique(both.target)
        classes = (both.target[:, None] == kinds) if len(kinds) < 10 else both.target[:, None]
        data = sets.table(np.hstack([both.data, classes]))
        drawn = np.random.default_rng(0).random((len(both.data), both.data.shape[1] + 1)) < 0.2
        hidden = np.hstack([drawn[:, :-1], np.repeat(drawn[:, -1:], classes.shape[1], axis=1)])
        return Puzzle(data, hidden, hidden)

    return make


def simulated_counts(_: Places) -> Puzzle:
    """Low counts of mean 5, overdispersed, a third of 30 x 30 x 1464 observed; a tenth of the rest is scored."""
    rng = np.random.default_rng(0)
    factors = [rng.gamma(SPREAD, 1.0, (n, RANK)) for n in COUNTS]
    mean = np.einsum("ir,jr,kr->ijk", *factors)
    mean *= 5 / mean.mean()
    values = rng.poisson(mean * rng.gamma(DISPERSION, 1 / DISPERSION, COUNTS))
    hidden = rng.random(COUNTS) >= OBSERVED / mean.size
    return Puzzle(DataSet(values, columns=(0, 1), low=0), hidden, hidden & (rng.random(COUNTS) < 0.1))


RATED = ("RMSE", "MAE", "1 - NDCG@10", "1 - HR@10")
RATINGS: Published = {
    who: (error, None, None, None) for who, error in (("myFM", 0.894), ("SVD++", 0.919), ("Surprise SVD", 0.934))
}
SENSORS = ("linear", "mode means", "iterative")
TABLES = ("column means", "knn", "iterative")

TASKS: tuple[Task, ...] = (
    *(_metro_task(case) for case in METRO),
    *(
        Task("ml-100k", f"fold {k}", RATED, ratings(k), ("mode means", "surprise", "myfm"), RATINGS)
        for k in range(FOLDS)
    ),
    Task("ett", "10", ("MAE", "RMSE"), transformer(10), SENSORS, {"SAITS": (0.731, None)}, "linear"),
    Task("ett", "50", ("MAE", "RMSE"), transformer(50), SENSORS, {"SAITS": (0.835, None)}, "linear"),
    Task("electricity", "days", ("RMSE", "MAE"), of_set(sets.electricity, "electricity", "slices"), SENSORS),
    Task("electricity", "runs", ("RMSE", "MAE"), of_set(sets.electricity, "electricity", "runs"), SENSORS),
    Task("temperature", "runs", ("RMSE", "MAE"), of_set(sets.temperature, "temperature", "runs"), SENSORS),
    Task("nations", "20", ("RMSE", "1 - AP"), relations("nations", 14), ("mode means",)),
    Task("kinships", "20", ("RMSE", "1 - AP"), relations("kinships", 104), ("mode means",)),
    Task("umls", "20", ("RMSE", "1 - AP"), relations("umls", 60), ("mode means",)),
    Task("iris", "20", ("RMSE", "MAE"), mixed("iris"), TABLES),
    Task("wine", "20", ("RMSE", "MAE"), mixed("wine"), TABLES),
    Task("breast-cancer", "20", ("RMSE", "MAE"), mixed("breast_cancer"), TABLES),
    Task("diabetes", "20", ("RMSE", "MAE"), mixed("diabetes"), TABLES),
    Task("counts", "simulated", ("RMSE", "MAE"), simulated_counts, ("mode means",)),
    Task("rubin", "95 %", ("missed",), None, simulate=missed),
)
