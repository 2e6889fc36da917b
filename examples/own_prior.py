"""Gauges that stop at 8: a prior of your own, in one line.

Simulated. A reading of 8 means "8 or more". Taken at face value it flattens every peak; thrown away, its information is
lost. A loss of your own says what it means: at 8, any model value above costs nothing. Derivatives are derived and
checked.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, quick, rms, save, score

import tensorfill as tfl

TOP, NOISE = 8.0, 1.0


def loss(t, x):
    """-ln p(t | x): Gaussian below the top; at the top, a model value above it costs nothing."""
    return np.where(t < TOP, (x - t) ** 2, np.maximum(TOP - x, 0) ** 2) / (2 * NOISE**2)


def main():
    out = folder()
    rng = np.random.default_rng(1)
    hour, stations, days = np.arange(24.0), 8 if quick() else 20, 6 if quick() else 14
    rush = np.exp(-0.5 * ((hour[:, None] - [8, 17]) / [2.0, 3.0]) ** 2)
    truth = 12 * tfl.CP([rng.uniform(0.4, 1.4, (stations, 2)), rng.uniform(0.4, 1.4, (days, 2)), rush]).full()
    readings = np.minimum(truth + NOISE * rng.standard_normal(truth.shape), TOP)
    mask = rng.random(truth.shape) > (0.5 if quick() else 0.7)
    topped = mask & (readings >= TOP)

    settings = {"rank": 2, "max_iter": 12 if quick() else 60}  # two rush hours
    own = tfl.complete(readings, mask=mask, prior=tfl.Custom(loss), **settings)
    dropped = tfl.complete(readings, mask=mask & ~topped, prior=tfl.Normal(sigma=NOISE), **settings)
    plain = tfl.complete(readings, mask=mask, prior=tfl.Normal(sigma=NOISE), **settings)

    print(own)
    behind, dropping, plainly = (rms(done.estimate, truth, topped) for done in (own, dropped, plain))
    print(f"with the 8s dropped, the error behind them is {dropping:.3g}")
    score("error behind the readings of 8", behind, plainly, "8 at face value")

    station, day = divmod(int(truth.max(axis=2).argmax()), days)
    figure, axes = plt.subplots(figsize=(9, 3.6), layout="constrained")
    axes.plot(hour, truth[station, day], color="0.75", lw=4, label="the truth")
    for done, name, style in ((plain, "8 at face value", ":"), (dropped, "8s dropped", "--"), (own, "own prior", "-")):
        axes.plot(hour, done.estimate[station, day], style, label=name)
    seen = mask[station, day]
    axes.plot(hour[seen], readings[station, day, seen], "ko", label="readings")
    axes.axhline(TOP, color="0.8", lw=1)
    axes.set(title=f"a gauge that stops at 8 (station {station}, day {day})", xlabel="hour", ylabel="level")
    axes.legend(frameon=False)
    save(figure, out / "own_prior.png")


if __name__ == "__main__":
    main()
