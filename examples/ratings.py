"""Ratings of films from 1 to 5 stars: coordinates in, single entries out.

The 200 people and films of MovieLens 100k with the most ratings (recbole). Half of the pairs were never rated, and of
the ratings every fifth is hidden here. Only the known ones are stored; `done.at` looks up single entries.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, limits, per_mode_means, quick, real, save, score

import tensorfill as tfl


def main():
    out = folder()
    stars = real("ml-dense")[:60, :60] if quick() else real("ml-dense")  # person x film, NaN where not rated
    known = np.isfinite(stars) & (np.random.default_rng(0).random(stars.shape) < 0.8)
    hidden = np.isfinite(stars) & ~known
    truth = stars[hidden]

    obs = tfl.Observations.from_coo(np.argwhere(known), stars[known], stars.shape, dims=("person", "film"))
    done = tfl.complete(obs, **limits())

    print(done)
    guess, means = done.at(np.argwhere(hidden)), per_mode_means(stars, known)[hidden]
    ours, theirs = (float(np.sqrt(np.mean((x - truth) ** 2))) for x in (guess, means))
    score("error at the hidden ratings, stars", ours, theirs)

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", width_ratios=(1, 1.4))
    left.imshow(np.where(known, stars, np.nan), cmap="YlGnBu", interpolation="nearest", aspect="auto")
    left.set(title=f"known: {known.mean():.0%} of all pairs", xlabel="film", ylabel="person")
    right.violinplot([guess[truth == s] for s in range(1, 6)], range(1, 6), showmedians=True, widths=0.8)
    right.plot([1, 5], [1, 5], color="0.7", ls="--")
    right.set(title=f"hidden ratings: off by {ours:.2f} stars", xlabel="true rating, hidden", ylabel="estimate")
    save(figure, out / "ratings.png")


if __name__ == "__main__":
    main()
