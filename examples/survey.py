"""A survey in which four in ten did not state their income: multiple imputation and a pooled regression.

American National Election Study 1996 (statsmodels), 944 people. Of those who lean to one party more keep their income
and their view of a candidate to themselves, so that people with complete answers are no fair sample. Twenty completed
tables, a regression on each, pooled by Rubin's rules. Compared with leaving out everybody who misses an answer; errors
of the coefficients against the regression on all answers, in its standard errors.
"""

import matplotlib.pyplot as plt
import numpy as np
import statsmodels.api as sm
from _example import folder, quick, save, score

import tensorfill as tfl

ON = ["selfLR", "ClinLR", "age", "educ", "income"]


def regression(table):
    """Coefficients of party (0 to 6) on the answers, and their standard errors."""
    fit = sm.OLS(table["PID"].astype(float), sm.add_constant(table[ON].astype(float))).fit()
    return fit.params[ON], fit.bse[ON]


def main():
    out = folder()
    answers = sm.datasets.anes96.load_pandas().data[["PID", *ON, "DoleLR", "TVnews", "vote"]]
    rng = np.random.default_rng(0)
    silent = 0.1 + 0.1 * answers["PID"]  # the further right, the more often
    holey = answers.copy()
    for column in ("income", "ClinLR"):
        holey.loc[rng.random(len(answers)) < silent, column] = np.nan

    done = tfl.complete(holey, method="bayes", rank=4, smooth=[])
    sets = done.sample(5 if quick() else 20, seed=1)

    fits = [regression(one) for one in sets]
    pooled = sum(b for b, _ in fits) / len(fits)
    within, between = sum(se**2 for _, se in fits) / len(fits), np.var([b for b, _ in fits], axis=0, ddof=1)
    error = np.sqrt(within + (1 + 1 / len(fits)) * between)

    print(done)
    (truth, exact), (alone, wide) = regression(answers), regression(holey.dropna())
    off, naive = (np.sqrt(np.mean(((b - truth) / exact) ** 2)) for b in (pooled, alone))
    score("error of the coefficients, in standard errors", off, naive, "complete rows")

    figure, axes = plt.subplots(figsize=(9, 3.2), layout="constrained")
    place, kinds = (
        np.arange(len(ON)),
        (("all answers", truth, exact, "0.6"), ("complete rows", alone, wide, "tab:orange")),
    )
    for k, (name, b, se, colour) in enumerate((*kinds, ("tensorfill, pooled", pooled, error, "tab:blue"))):
        where = place + 0.2 * (k - 1)
        axes.errorbar(where, b / exact, 1.96 * se / exact, fmt="o", color=colour, capsize=3, label=name)
    axes.axhline(0, color="0.8", zorder=0)
    axes.set(ylabel="coefficient / standard error", title="What goes with leaning to the right? 95 % intervals")
    axes.set_xticks(place, ON)
    figure.legend(loc="outside lower center", ncols=3, frameon=False)
    save(figure, out / "survey.png")


if __name__ == "__main__":
    main()
