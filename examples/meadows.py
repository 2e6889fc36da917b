"""Butterflies on meadows that were not all visited every year: counts, and a fair index.

Simulated counts of 24 species on 30 meadows in 15 years, overdispersed as such counts are, with many zeros. A third of
the visits did not happen, and poor meadows were left out more often in late years: the plain mean of the visits made
would say that butterflies thrive. With the gaps filled, every year has the same meadows. Compared with filling by the
mean of each species on each meadow over the years: single counts are no nearer than that here, but their sum is.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, limits, quick, rms, save, score

import tensorfill as tfl


def simulated(shape, rng):
    """Counts (meadow, year, species), and which visits were made, (meadow, year)."""
    meadows, years, species = shape
    rich, common = rng.normal(0, 0.8, meadows), rng.normal(0.8, 1, species)
    taste = 0.5 * rng.normal(size=(meadows, 2)) @ rng.normal(size=(2, species))
    trend = rng.normal(-0.05, 0.05, species) * np.arange(years)[:, None] + 0.25 * rng.normal(size=(years, 1))
    mean = np.exp(rich[:, None, None] + taste[:, None] + common + trend)
    counts = rng.negative_binomial(4, 4 / (4 + mean))
    skip = 0.1 + 0.5 * (rich < 0)[:, None] * np.linspace(0, 1, years) + 0.15 * (rng.random((meadows, years)) < 0.5)
    return counts, rng.random((meadows, years)) > skip


def main():
    out = folder()
    counts, visited = simulated((15, 10, 10) if quick() else (30, 15, 24), np.random.default_rng(5))
    mask = np.repeat(visited[:, :, None], counts.shape[2], axis=2)

    done = tfl.complete(counts, mask=mask, dims=("meadow", "year", "species"), **limits())

    print(done)
    usual = np.where(mask, counts, np.nan)
    usual = np.broadcast_to(np.nanmean(usual, axis=1, keepdims=True), counts.shape)
    single = f"{rms(done.estimate, counts, ~mask):.3g}, by the mean of the years {rms(usual, counts, ~mask):.3g}"
    print(f"error at single counts of visits not made: {single}")

    def index(values):
        return np.nanmean(values, axis=(0, 2)) * counts.shape[2]

    filled, other = (np.where(mask, counts, x) for x in (done.estimate, usual))
    errors = (np.sqrt(np.mean((index(x) - index(counts)) ** 2)) for x in (filled, other))
    score("error of butterflies per visit", *errors, name="mean of the years")

    year = 2010 + np.arange(counts.shape[1])
    per_meadow = [np.where(mask, counts, np.nan), filled, counts]
    looks = (("visits made", "tab:orange", "--"), ("tensorfill", "tab:blue", "-"), ("the truth", "0.7", "-"))
    figure, axes = plt.subplots(figsize=(9, 3), layout="constrained")
    for values, (name, colour, dash) in list(zip(per_meadow, looks, strict=True))[::-1]:
        width = 5 if name == "the truth" else 2
        axes.plot(year, index(values), color=colour, ls=dash, lw=width, label=name)
    axes.set(ylabel="butterflies per visit", xlabel="year", ylim=(0, None))
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    save(figure, out / "meadows.png")


if __name__ == "__main__":
    main()
