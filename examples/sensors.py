"""A table of thermometers, off for whole days at a time: xarray in, xarray out.

Dimensions go by name, coordinates and attributes are kept, and the accessor makes it one line. A day without a single
reading of a thermometer is filled from what the others saw that day.
"""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from _example import folder, per_mode_means, quick, rms, save, score

import tensorfill.accessor  # noqa: F401  registers da.tensorfill
from tensorfill.data import masks, samples


def main():
    out = folder()
    truth = samples.sensors((8, 12, 12) if quick() else (15, 30, 24), seed=0, missing=0.0)
    mask = masks.random_fibres(truth.shape, missing=0.3, mode=2, seed=3)
    step = 24 // truth.shape[2]
    da = xr.DataArray(
        np.where(mask, truth, np.nan),
        coords={"day": np.arange(1, truth.shape[1] + 1), "hour": np.arange(0, 24, step)},
        dims=("sensor", "day", "hour"),
        attrs={"units": "deg C"},
    )

    done = da.tensorfill.complete()
    filled = done.completed  # a DataArray with the same coordinates

    print(done)
    hidden, means = ~mask, per_mode_means(truth, mask)
    score("error at the hidden readings, deg C", rms(filled, truth, hidden), rms(means, truth, hidden))

    figure, panels = plt.subplots(2, 1, figsize=(9, 4), sharex=True, layout="constrained")
    worst = np.argsort(mask.all(axis=2).sum(axis=1))[:2]  # the thermometers that were off the longest
    for axes, sensor in zip(panels, worst, strict=True):
        time = (da.day.values[:, None] + da.hour.values / 24).ravel()
        axes.plot(time, truth[sensor].ravel(), color="0.75", lw=3, label="the truth")
        axes.plot(time, filled[sensor].where(np.isnan(da[sensor])).values.ravel(), color="tab:red", label="filled in")
        axes.plot(time, da[sensor].values.ravel(), color="black", lw=1, label="known")
        axes.set(title=f"thermometer {sensor}", ylabel=da.attrs["units"])
    panels[-1].set_xlabel("day")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save(figure, out / "sensors.png")


if __name__ == "__main__":
    main()
