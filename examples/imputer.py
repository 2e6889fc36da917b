"""Handwritten digits with half of their pixels gone: TensorImputer in scikit-learn, its settings by GridSearchCV.

The imputer learns from one set of digits and fills another it has never seen. `score` hides known pixels, so that
rank and ridge can be searched without knowing the truth. Compared with the feature means and with KNNImputer.
"""

import matplotlib.pyplot as plt
import numpy as np
from _example import folder, quick, rms, save, score
from sklearn.datasets import load_digits
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.model_selection import GridSearchCV

from tensorfill.sklearn import TensorImputer


def main():
    out = folder()
    count, new = (120, 40) if quick() else (400, 200)
    digits = load_digits().data[: count + new]
    mask = np.random.default_rng(0).random(digits.shape) > 0.5
    given = np.where(mask, digits, np.nan)
    train, test, truth, hidden = given[:count], given[count:], digits[count:], ~mask[count:]

    grid = {"rank": [8] if quick() else [8, 16], "ridge": [0.3, 0.6]}
    search = GridSearchCV(TensorImputer(prior="normal", smooth={}, max_iter=5 if quick() else 30), grid, cv=2).fit(
        train
    )
    filled = {"tensorfill": search.best_estimator_.transform(test)}
    for name, other in (("feature means", SimpleImputer()), ("5 nearest", KNNImputer())):
        filled[name] = other.set_params(keep_empty_features=True).fit(train).transform(test)

    print(f"{search.best_params_}, held-out score {search.best_score_:.2f} (0 = feature means, 1 = perfect)")
    print(f"KNNImputer: {rms(filled['5 nearest'], truth, hidden):.3g}")
    means = rms(filled["feature means"], truth, hidden)
    score("error at the hidden pixels of new digits, of 16", rms(filled["tensorfill"], truth, hidden), means, "means")

    rows = {"known": test, **filled, "the truth": truth}
    figure, panels = plt.subplots(len(rows), 10, figsize=(9, 4.6), layout="constrained")
    for line, (name, pictures) in zip(panels, rows.items(), strict=True):
        for axes, picture in zip(line, pictures, strict=False):
            axes.imshow(picture.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
            axes.set(xticks=[], yticks=[], facecolor="#c3c8d2")
        line[0].set_ylabel(name, rotation=0, ha="right", va="center")
    save(figure, out / "imputer.png")


if __name__ == "__main__":
    main()
