"""What nations do to each other, yes or no, four in ten answers missing: the estimate is a probability.

14 nations, 55 kinds of relation such as embassies, exports, accusations (Nations, from pykeen). `done.completed` holds
yes or no; `done.estimate` says how likely a yes is. The picture checks that: of the hidden answers to which 70 % was
given, about 70 % should be yes.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, limits, per_mode_means, quick, real, save, score

import tensorfill as tfl
from tensorfill.data import masks


def log_loss(probability, answers):
    """Mean of -ln p(what was answered)."""
    p = np.clip(probability, 0.02, 0.98)
    return float(-np.mean(np.where(answers, np.log(p), np.log(1 - p))))


def main():
    out = folder()
    answers = real("nations")[..., ::4] if quick() else real("nations")  # nation x nation x relation
    mask = masks.random_entries(answers.shape, missing=0.4, seed=1)

    done = tfl.complete(answers, mask=mask, dims=("from", "to", "relation"), **limits())

    print(done)
    hidden = ~mask
    p, truth, means = done.estimate[hidden], answers[hidden], per_mode_means(answers, mask)[hidden]
    right, naive = np.mean((p > 0.5) == truth), np.mean((means > 0.5) == truth)
    print(f"right among the hidden answers: {right:.0%} (tensorfill), {naive:.0%} (per-mode means)")
    score("log loss of the hidden answers", log_loss(p, truth), log_loss(means, truth))

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    most = int(np.argmin(np.abs(answers.mean(axis=(0, 1)) - 0.5)))  # the relation that says most
    image = left.imshow(done.estimate[:, :, most], cmap="PuOr", vmin=0, vmax=1, aspect="auto")
    left.set(title=f"probability of a yes, relation {most}", xlabel="to nation", ylabel="from nation")
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
