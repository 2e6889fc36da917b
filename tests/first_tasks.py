"""The files of docs/ten-tasks.md: what a user has before the first call, and what the answer should be."""

import numpy as np
import pandas as pd
from PIL import Image

from tensorfill.data import samples


def photograph(folder, rng):
    """photo.png and mask.png, black over a scratch; the photograph without it."""
    photo = samples.photograph()[100:180, 180:260]
    mask = np.full(photo.shape[:2], 255, np.uint8)
    mask[40:43, 10:70] = 0
    Image.fromarray(np.where(mask[..., None] > 0, photo, 255).astype(np.uint8)).save(folder / "photo.png")
    Image.fromarray(mask).save(folder / "mask.png")
    return photo, mask > 0


def people(folder, rng):
    """people.csv: numbers and categories that hang together, a tenth of the cells blank; the whole table."""
    z = rng.normal(size=150)
    table = pd.DataFrame(
        {
            "height": np.round(170 + 10 * z + rng.normal(size=150), 1),
            "weight": np.round(70 + 9 * z + rng.normal(size=150), 1),
            "size": np.select([z < -0.5, z > 0.5], ["S", "L"], "M"),
        }
    )
    table.mask(rng.random(table.shape) < 0.1).to_csv(folder / "people.csv", index=False)
    return table


def sensors(folder, rng):
    """sensors.csv: three sensors for two weeks, one off for a day, all off for half a day; the whole table."""
    hours = pd.date_range("2024-03-01", periods=24 * 14, freq="h", name="time")
    sun = np.sin((hours.hour.to_numpy() - 6) * np.pi / 12)
    table = pd.DataFrame({"north": 12 + 6 * sun, "south": 15 + 8 * sun, "roof": 20 + 12 * sun}, index=hours)
    table += rng.normal(0, 0.4, table.shape)
    gaps = table.copy()
    gaps.loc["2024-03-05", "roof"] = gaps.loc["2024-03-09 06:00":"2024-03-09 17:00"] = np.nan
    gaps.to_csv(folder / "sensors.csv")
    return table


def sea(folder, rng):
    """sst.nc: months x latitude x longitude with clouds and land; the sea without clouds."""
    import xarray as xr

    months = pd.date_range("2020-01-01", periods=24, freq="MS")
    lat, lon = np.linspace(-60, 60, 8), np.linspace(0, 330, 10)
    season = np.sign(lat)[:, None] * (4 * np.sin(np.arange(24) * np.pi / 6))[:, None, None]
    warm = 15 + 12 * np.cos(np.radians(lat))[:, None] + season + rng.normal(0, 0.2, (24, 8, 10))
    land = (lat[:, None] > 0) & (lon > 200)
    truth = xr.DataArray(
        np.where(land, np.nan, warm), {"time": months, "lat": lat, "lon": lon}, name="sst", attrs={"units": "degC"}
    )
    truth.where(rng.random(truth.shape) > 0.3).to_netcdf(folder / "sst.nc")
    return truth


def load(folder, rng):
    """load.csv: two weeks of hours; three weeks, the last of which is to come."""
    hours = pd.date_range("2024-03-01", periods=24 * 15, freq="h", name="time")
    day = 50 + 20 * np.sin((hours.hour.to_numpy() - 6) * np.pi / 12)
    table = pd.DataFrame({"town": day, "harbour": 0.7 * day}, index=hours) + rng.normal(0, 1, (len(hours), 2))
    table.iloc[: 24 * 14].round(2).to_csv(folder / "load.csv")
    return table


def ratings(folder, rng):
    """ratings.csv: user, film, stars; all stars."""
    users, films = [f"user {n}" for n in range(50)], [f"film {n}" for n in range(30)]
    taste = rng.normal(size=(50, 2)) @ rng.normal(size=(2, 30)) + 0.3 * rng.normal(size=(50, 30))
    stars = pd.DataFrame(np.clip(np.rint(3 + taste), 1, 5), users, films)
    known = stars.where(rng.random(stars.shape) < 0.5).rename_axis("user").reset_index()
    long = known.melt("user", var_name="film", value_name="stars").dropna().astype({"stars": int})
    long.to_csv(folder / "ratings.csv", index=False)
    return stars


def survey(folder, rng):
    """survey.csv: income rises by 40 for each year of age; half of the old have not answered. That slope."""
    age = rng.uniform(20, 70, 200)
    years = np.clip(16 - 0.05 * age + rng.normal(0, 2, 200), 8, 22)
    income = 800 + 40 * age + 30 * years + rng.normal(0, 150, 200)
    table = pd.DataFrame({"age": age.round(1), "years": years.round(1), "income": income.round()})
    table.loc[(rng.random(200) < 0.5) & (age > 50), "income"] = np.nan
    table.to_csv(folder / "survey.csv", index=False)
    return 40 - 0.05 * 30


def stations(folder, rng):
    """stations.xlsx: -999 where a gauge was broken; the whole table."""
    height = np.linspace(200, 2000, 30)
    table = pd.DataFrame(
        {
            "station": [f"S{n:02}" for n in range(30)],
            "january": 5 - 0.006 * height + rng.normal(0, 0.3, 30),
            "april": 12 - 0.006 * height + rng.normal(0, 0.3, 30),
            "july": 22 - 0.006 * height + rng.normal(0, 0.3, 30),
        }
    ).round(1)
    gaps = table.copy()
    for k, name in enumerate(("january", "april", "july")):
        gaps.loc[[3 + k, 11 + k, 20 + k], name] = -999
    gaps.to_excel(folder / "stations.xlsx", index=False)
    return table


def film(folder, rng):
    """film.npy: 20 frames of a moving stripe, three of them dropped (black); all frames."""
    frame, row, column = np.ogrid[:20, :24, :24]
    whole = 120 + 80 * np.sin((row + column) / 4 + frame / 3) + rng.normal(0, 1, (20, 24, 24))
    whole = np.clip(whole, 1, 255).astype(np.uint8)
    gaps = whole.copy()
    gaps[[5, 11, 12]] = 0
    np.save(folder / "film.npy", gaps)
    return whole
