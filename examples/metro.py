"""Passenger counts, whole days of a station missing: a prior for counts, and what it buys.

Counts scatter more where they are large. The Poisson prior knows; it is chosen by itself when all numbers are whole
and none is negative. The picture shows three days that nobody counted.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, limits, per_mode_means, quick, rms, save, score

import tensorfill as tfl
from tensorfill.data import samples


def main():
    out = folder()
    counts, mask = samples.metro((12, 10, 16) if quick() else (20, 21, 24), seed=0)

    done = tfl.complete(counts, mask=mask, dims=("station", "day", "hour"), **limits())

    print(done)
    hidden, means = ~mask, per_mode_means(counts, mask)
    score("error at the hidden counts", rms(done.estimate, counts, hidden), rms(means, counts, hidden))

    lost = np.argwhere(hidden.all(axis=2))
    busy = lost[np.argsort(-counts.sum(axis=2)[tuple(lost.T)])][:3]
    figure, panels = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
    for axes, (station, day) in zip(panels, busy, strict=True):
        hour = np.arange(counts.shape[2])
        axes.bar(hour, counts[station, day], color="0.85", label="the truth, hidden")
        axes.plot(hour, means[station, day], color="tab:orange", ls="--", label="per-mode means")
        axes.plot(hour, done.estimate[station, day], color="tab:blue", lw=2, label="tensorfill")
        axes.set(title=f"station {station}, day {day}", xlabel="hour")
    panels[0].set_ylabel("passengers")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save(figure, out / "metro.png")


if __name__ == "__main__":
    main()
