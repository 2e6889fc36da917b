"""Answers yes or no (person, question, week), four in ten missing: the estimate is a probability.

`done.completed` holds yes or no; `done.estimate` says how likely a yes is. The picture checks that: of the hidden
answers to which 70 % was given, about 70 % should be yes.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, limits, per_mode_means, quick, save, score

import tensorfill as tfl
from tensorfill.data import samples


def log_loss(probability, answers):
    """Mean of -ln p(what was answered)."""
    p = np.clip(probability, 0.02, 0.98)
    return float(-np.mean(np.where(answers, np.log(p), np.log(1 - p))))


def main():
    out = folder()
    answers, mask = samples.yesno((25, 20, 8) if quick() else (60, 40, 12), seed=1, missing=0.4)

    done = tfl.complete(answers, mask=mask, dims=("person", "question", "week"), **limits())

    print(done)
    hidden = ~mask
    p, truth, means = done.estimate[hidden], answers[hidden], per_mode_means(answers, mask)[hidden]
    right, naive = np.mean((p > 0.5) == truth), np.mean((means > 0.5) == truth)
    print(f"right among the hidden answers: {right:.0%} (tensorfill), {naive:.0%} (per-mode means)")
    score("log loss of the hidden answers", log_loss(p, truth), log_loss(means, truth))

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    image = left.imshow(done.estimate[:, :, 0].T, cmap="PuOr", vmin=0, vmax=1, aspect="auto")
    left.set(title="probability of a yes, week 0", xlabel="person", ylabel="question")
    figure.colorbar(image, ax=left)
    edges = np.linspace(0, 1, 9)
    bins = np.clip(np.digitize(p, edges) - 1, 0, 7)
    filled = [k for k in range(8) if np.sum(bins == k) >= 10]
    right.plot([0, 1], [0, 1], color="0.7", ls="--")
    right.plot(
        [p[bins == k].mean() for k in filled], [truth[bins == k].mean() for k in filled], "o-", color="tab:purple"
    )
    right.set(title="is 70 % really 70 %?", xlabel="probability given", ylabel="share of yes among the hidden")
    save(figure, out / "yesno.png")


if __name__ == "__main__":
    main()
