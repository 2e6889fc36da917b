"""The temperature of two cities, off for whole days at a time: xarray in, xarray out.

Normal temperatures of San Francisco and Seattle by the hour (vega_datasets). Dimensions go by name, coordinates and
attributes are kept, and the accessor makes it one line. A day without a reading is filled from the other city and the
days around.
"""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from _example import folder, per_mode_means, quick, real, rms, save, score

import tensorfill.accessor  # noqa: F401  registers da.tensorfill
from tensorfill.data import masks


def main():
    out = folder()
    truth = (real("two-cities")[: 14 if quick() else 60] - 32) / 1.8  # day x hour x city, deg C
    mask = masks.random_fibres(truth.shape, missing=0.3, mode=1, seed=3)
    da = xr.DataArray(
        np.where(mask, truth, np.nan),
        coords={"day": np.arange(len(truth)), "hour": np.arange(24), "city": ["San Francisco", "Seattle"]},
        dims=("day", "hour", "city"),
        attrs={"units": "deg C"},
    )

    done = da.tensorfill.complete()
    filled = done.completed  # a DataArray with the same coordinates

    print(done)
    hidden, means = ~mask, per_mode_means(truth, mask)
    score("error at the hidden readings, deg C", rms(filled, truth, hidden), rms(means, truth, hidden))

    figure, panels = plt.subplots(2, 1, figsize=(9, 4), sharex=True, layout="constrained")
    for k, axes in enumerate(panels):
        city, time = filled.city.values[k], np.arange(truth[..., 0].size) / 24
        axes.plot(time, truth[..., k].ravel(), color="0.75", lw=3, label="the truth")
        gap = filled.sel(city=city).where(np.isnan(da.sel(city=city)))
        axes.plot(time, gap.values.ravel(), color="tab:red", label="filled in")
        axes.plot(time, da.sel(city=city).values.ravel(), color="black", lw=1, label="known")
        axes.set(title=city, ylabel=da.attrs["units"], xlim=(0, 30))
    panels[-1].set_xlabel("day")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save(figure, out / "sensors.png")


if __name__ == "__main__":
    main()
