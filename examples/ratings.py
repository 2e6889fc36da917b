"""Ratings from 1 to 5 (user, item, context), 85 % missing: coordinates in, and the prior that fits the scale.

Five stars are four steps up from one star: a binomial number of 4 trials. As counts or as real numbers the same
ratings are predicted less well. Only the known ratings are stored; `done.at` looks up single entries.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, limits, per_mode_means, quick, save, score

import tensorfill as tfl
from tensorfill.data import samples


def main():
    out = folder()
    stars, mask = samples.ratings((40, 30, 4) if quick() else (80, 50, 4), seed=0, missing=0.8 if quick() else 0.85)
    known, hidden = np.argwhere(mask), np.argwhere(~mask)
    truth = stars[~mask]

    def error(prior):
        obs = tfl.Observations.from_coo(known, stars[mask] - 1, stars.shape, dims=("user", "item", "context"))
        done = tfl.complete(obs, prior=prior, **limits())
        return float(np.sqrt(np.mean((1 + done.at(hidden) - truth) ** 2))), done

    errors = {"per-mode means": float(np.sqrt(np.mean((per_mode_means(stars, mask)[~mask] - truth) ** 2)))}
    for name, prior in (("poisson", "poisson"), ("normal", "normal"), ("binomial(4)", tfl.Binomial(4))):
        errors[name], done = error(prior)
    print(done)
    score("error at the hidden ratings, stars", errors["binomial(4)"], errors["per-mode means"])

    guess = 1 + done.at(hidden)
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    left.barh(list(errors), list(errors.values()), color=["0.8", "0.7", "0.6", "tab:blue"])
    left.bar_label(left.containers[0], fmt="%.2f", padding=3)
    left.set(title="error at the hidden ratings (stars)", xlim=(0, 1.15 * max(errors.values())))
    left.invert_yaxis()
    right.violinplot([guess[truth == s] for s in range(1, 6)], range(1, 6), showmedians=True, widths=0.8)
    right.plot([1, 5], [1, 5], color="0.7", ls="--")
    right.set(title="binomial(4)", xlabel="true rating, hidden", ylabel="estimate")
    save(figure, out / "ratings.png")


if __name__ == "__main__":
    main()
