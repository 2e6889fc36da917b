"""Draws instead of one guess: a weather station's gap of five weeks, with little known about the others and with much.

Temperatures of 120 days at 25 stations (imputegap). With few entries known the draws are mostly the prior: anything of
about the right size. The rest of the table narrows them to the posterior, and the truth lies among them. Every draw is
a completed data set of its own.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, per_mode_means, quick, real, rms, save, score

import tensorfill as tfl

DAYS, SHOWN = 120, 3


def main():
    out = folder()
    T, rng = real("temperature")[:DAYS] / 10, np.random.default_rng(0)  # day x station, deg C
    gap = slice(50, 86)
    figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
    for axes, share, title in zip(
        panels, (0.08, 0.7), ("little known: mostly prior", "more known: posterior"), strict=True
    ):
        mask = rng.random(T.shape) < share
        mask[gap, SHOWN] = False
        given = np.where(mask, T, np.nan)
        steps = {"draws": 40, "burn": 40} if quick() else {"draws": 200, "burn": 200}
        done = tfl.complete(given, dims=("day", "station"), method="bayes", rank=6, smooth=["day"], **steps)
        low, high = done.interval
        axes.fill_between(range(DAYS), low[:, SHOWN], high[:, SHOWN], color="tab:blue", alpha=0.15, label="90 %", lw=0)
        for one in done.sample(6, seed=1):
            axes.plot(np.where(mask[:, SHOWN], np.nan, one[:, SHOWN]), color="tab:blue", alpha=0.35, lw=0.8)
        axes.plot(done.estimate[:, SHOWN], color="tab:blue", label="mean of the draws")
        axes.plot(np.where(mask[:, SHOWN], np.nan, T[:, SHOWN]), ".", color="tab:red", ms=4, label="truth, hidden")
        axes.plot(given[:, SHOWN], ".", color="black", ms=5, label="known")
        hidden = ~mask
        inside = np.mean(((low <= T) & (high >= T))[hidden])
        print(f"{share:.0%} known: {inside:.0%} of the hidden entries lie inside their interval of 90 %")
        axes.set(title=f"{title} ({share:.0%})", xlabel="day")
    panels[0].set_ylim(T.min() - 8, T.max() + 8)
    panels[1].legend(loc="upper right", fontsize=7, ncols=2)
    print(done)
    score("error at the hidden entries", rms(done.estimate, T, hidden), rms(per_mode_means(T, mask), T, hidden))
    save(figure, out / "posterior.png")


if __name__ == "__main__":
    main()
