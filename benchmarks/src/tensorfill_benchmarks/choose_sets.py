"""The sets of `bench choose` by name, with their half and their kinds of gaps.

The halves are fixed: of each kind of data about half is `tuned`, the other `reported`. No set changes sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

from tensorfill.registry import did_you_mean
from tensorfill_benchmarks import choose_pictures as pictures
from tensorfill_benchmarks import choose_tables as tables
from tensorfill_benchmarks.choose_data import REPORTED, TUNED, DataSet, Places, Spec

Load = Callable[[Places], DataSet]


def _plain(maker: Callable[..., DataSet], *given: object) -> Load:
    """A loader that needs no folder."""
    return lambda _: maker(*given)


def _sets(half: str, kind: str, *rows: tuple[str, str, Load]) -> list[Spec]:
    return [Spec(name, half, kind, tuple(gaps.split()), load) for name, gaps, load in rows]


SETS: tuple[Spec, ...] = (
    *_sets(
        TUNED,
        "table",
        ("wine", "single20 slices", _plain(tables.learn, "wine")),
        ("midwest", "single20", tables.midwest),
        ("state-crime", "single20", tables.state_crime),
    ),
    *_sets(
        REPORTED,
        "table",
        ("breast-cancer", "single50 slices", _plain(tables.learn, "breast_cancer")),
        ("penguins", "single20", tables.penguins),
        ("star98", "single20 mix", tables.star98),
        ("linnerud", "single20", tables.linnerud),
    ),
    *_sets(
        TUNED,
        "series",
        ("employment", "runs single50", tables.employment),
        ("meat", "runs", tables.meat),
        ("stocks", "runs blackout", tables.stocks),
        ("co2", "runs", tables.co2),
    ),
    *_sets(
        REPORTED,
        "series",
        ("economics", "runs mix", tables.economics),
        ("macrodata", "runs single50", tables.macrodata),
        ("grunfeld", "single20 slices", tables.grunfeld),
        ("fertility", "runs", tables.fertility),
        ("elnino", "runs single50", tables.elnino),
    ),
    *_sets(
        TUNED,
        "sensors",
        ("traffic", "slices single80", tables.traffic),
        ("climate", "mix", tables.climate),
        ("meteo", "runs", tables.meteo),
        ("airports", "slices runs", tables.airports),
    ),
    *_sets(
        REPORTED,
        "sensors",
        ("electricity", "slices runs", tables.electricity),
        ("temperature", "runs single50", tables.temperature),
        ("etth", "runs single50", tables.transformer),
        ("chlorine", "blackout slices", tables.chlorine),
        ("guangzhou", "single80 mix", tables.guangzhou),
        ("two-cities", "runs", tables.two_cities),
    ),
    *_sets(
        TUNED,
        "counts",
        ("housing", "runs slices", tables.housing),
        ("digits", "single50", tables.digits),
    ),
    *_sets(
        REPORTED,
        "counts",
        ("flights", "single50 slices", tables.flights),
        ("metro", "slices single50", tables.metro),
    ),
    *_sets(TUNED, "ratings", ("ml-dense", "single20", _plain(tables.movies, 200))),
    *_sets(REPORTED, "ratings", ("ml-100k", "single20", _plain(tables.movies, None))),
    *_sets(TUNED, "yes or no", ("nations", "single20", _plain(tables.relations, "nations", 14))),
    *_sets(REPORTED, "yes or no", ("kinships", "single50", _plain(tables.relations, "kinships", 60))),
    *_sets(
        TUNED,
        "spectra",
        ("indian-pines", "single80", pictures.indian_pines),
        ("serology", "single20 slices", pictures.serology),
    ),
    *_sets(
        REPORTED,
        "spectra",
        ("kinetic", "single80 slices", pictures.kinetic),
        ("cytokines", "single50", pictures.cytokines),
    ),
    *_sets(TUNED, "field", ("geyser", "single80", pictures.geyser)),
    *_sets(REPORTED, "field", ("seals", "single50", pictures.seals)),
    *_sets(
        TUNED,
        "photograph",
        ("astronaut", "single80", _plain(pictures.photograph, "astronaut", (0, 96), 2)),
        ("house", "single80", pictures.given_picture("house")),
        ("brick-wall", "single80", _plain(pictures.facade, "brick", (100, 60), 1)),
        ("grass", "single50", _plain(pictures.photograph, "grass", (0, 0), 1)),
    ),
    *_sets(
        REPORTED,
        "photograph",
        ("coffee", "single80", _plain(pictures.photograph, "coffee", (60, 180), 2)),
        ("chelsea", "single50 slices", _plain(pictures.photograph, "chelsea", (20, 100), 2)),
        ("tree", "single80", pictures.given_picture("tree")),
        ("gravel-wall", "single80", _plain(pictures.facade, "gravel", (40, 200), 2)),
        ("window-wall", "single80", _plain(pictures.facade, "rocket", (180, 290), 3)),
    ),
)


# What the portfolio of `auto` is learned from beside the tuned half
LEARNED: tuple[Spec, ...] = (
    *_sets(
        TUNED,
        "table",
        ("diabetes", "single20 single50", _plain(tables.learn, "diabetes")),
        ("mpg", "single20", tables.numbers("plotnine", "data", "mpg.csv")),
        ("mtcars", "single20", tables.numbers("plotnine", "data", "mtcars.csv")),
        ("diamonds", "single20 slices", tables.numbers("plotnine", "data", "diamonds.csv")),
        ("fair", "single20", tables.numbers("statsmodels", "datasets", "fair", "fair.csv")),
        ("randhie", "single20", tables.numbers("statsmodels", "datasets", "randhie", "randhie.csv")),
        ("anes96", "single20 slices", tables.numbers("statsmodels", "datasets", "anes96", "anes96.csv", sep="\t")),
        ("ccard", "single20", tables.numbers("statsmodels", "datasets", "ccard", "ccard.csv")),
        ("cpunish", "single20", tables.numbers("statsmodels", "datasets", "cpunish", "cpunish.csv")),
    ),
    *_sets(
        TUNED,
        "series",
        ("interest", "runs", tables.interest),
        ("weather", "runs single20", tables.weather),
    ),
    *_sets(
        TUNED,
        "simulated",
        ("sim-table", "single20", _plain(tables.simulated, "table")),
        ("sim-cp", "single50", _plain(tables.simulated, "cp")),
        ("sim-tucker", "single50", _plain(tables.simulated, "tucker")),
        ("sim-outliers", "single20", _plain(tables.simulated, "outliers")),
    ),
)


def learned() -> list[tuple[Spec, str]]:
    """(set, kind of gaps) of the cells that the portfolio is learned from: the tuned half, and more."""
    return [*choose(None, TUNED), *((spec, gaps) for spec in LEARNED for gaps in spec.gaps)]


def choose(names: Sequence[str] | None = None, half: str | None = None) -> list[tuple[Spec, str]]:
    """(set, kind of gaps) of the cells asked for; a name is a set (`wine`), one cell of it (`wine/slices`), or a kind.

    A kind of gaps that the set does not have by default may be named too (`wine/mix`).
    """
    cells: list[tuple[Spec, str]] = []
    for name in [spec.name for spec in SETS] if names is None else names:
        first, _, gaps = name.partition("/")
        found = [spec for spec in SETS if first in (spec.name, spec.kind)]
        if not found:
            options = list(dict.fromkeys([*(s.name for s in SETS), *(s.kind for s in SETS)]))
            msg = f"--names must be among {', '.join(options)}; got {first!r}.{did_you_mean(first, options)}"
            raise ValueError(msg)
        cells += [(spec, g) for spec in found for g in ([gaps] if gaps else spec.gaps)]
    return [c for c in dict.fromkeys(cells) if half is None or c[0].half == half]


@cache
def load(name: str, places: Places) -> DataSet:
    """A set by name; all of them stay in memory, they are small."""
    return next(spec for spec in (*SETS, *LEARNED) if spec.name == name).load(places)
