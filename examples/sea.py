"""A sea under clouds: the land stays empty, the sea is filled.

Simulated temperatures of a sea, 48 months, with clouds that hide 40 % of it in patches and a coast. Cells without a
value at any time are land: they take no part and stay empty, and a warning says how many there are. A DataArray goes in
and comes out. Compared with the mean of each month of the year in each cell, a climatology.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from _example import folder, quick, rms, save, score
from scipy.ndimage import gaussian_filter

import tensorfill as tfl


def simulated(months, rng):
    """Temperatures (time, lat, lon) without clouds, and where land is."""
    lat, lon = np.linspace(20, 60, 24), np.linspace(0, 50, 30)
    warm = 28 - 0.4 * (lat - 20)[:, None] + 0.03 * lon
    season = np.sin(np.arange(months) * np.pi / 6)[:, None, None] * (2 + 0.08 * (lat - 20))[:, None]
    weather = gaussian_filter(rng.normal(size=(months, 24, 30)), (0.8, 3, 3))
    land = gaussian_filter(rng.normal(size=(24, 30)), 4) > 0.05
    values = warm + season + 1.2 * weather / weather.std()
    cube = xr.DataArray(
        values, {"time": pd.date_range("2020-01-01", periods=months, freq="MS"), "lat": lat, "lon": lon}, name="sst"
    )
    return cube, land


def main():
    out = folder()
    rng = np.random.default_rng(4)
    truth, land = simulated(24 if quick() else 48, rng)
    cloud = gaussian_filter(rng.normal(size=truth.shape), (0.5, 2, 2))
    cloud = cloud > np.quantile(cloud, 0.6)
    sst = truth.where(~cloud & ~land)

    warnings.simplefilter("ignore", tfl.DataWarning)  # it says how many cells have no value at any time
    done = tfl.complete(sst)
    filled = done.completed

    print(done)
    assert filled.isnull().all("time").equals(sst.isnull().all("time"))
    hidden = cloud & ~land & ~np.isnan(filled.to_numpy())
    usual = sst.groupby("time.month").mean()
    usual = usual.sel(month=sst["time.month"]).fillna(sst.mean("time")).to_numpy()
    errors = (rms(x, truth, hidden) for x in (filled, usual))
    score("error under the clouds, deg C", *errors, name="climatology")

    month = int(np.argmax(hidden.mean(axis=(1, 2))))
    figure, panels = plt.subplots(1, 3, figsize=(9, 2.9), layout="constrained", sharey=True)
    shown = (("seen", sst), ("filled", filled), ("the truth", truth.where(~land)))
    low, high = float(truth[month].min()), float(truth[month].max())
    for axes, (title, cube) in zip(panels, shown, strict=True):
        axes.set_facecolor("0.8")
        drawn = axes.pcolormesh(truth.lon, truth.lat, cube[month], vmin=low, vmax=high, cmap="RdYlBu_r")
        axes.set(title=title, xlabel="longitude")
    panels[0].set_ylabel("latitude")
    figure.colorbar(drawn, ax=panels, label="deg C")
    save(figure, out / "sea.png")


if __name__ == "__main__":
    main()
