"""A hyperspectral cube with dead detector lines: NaN marks what is missing, whatever its pattern.

A push-broom scanner loses whole columns of single bands, and here half of what is left. Along a dead line no neighbour
in the same column is known; the columns beside it and the other bands are.
"""

import numpy as np
from _example import folder, per_mode_means, quick, rms, save, score

import tensorfill as tfl
from tensorfill.data import masks, samples


def main():
    out = folder()
    cube = samples.cube((20, 20, 16) if quick() else (48, 48, 32), seed=3)
    mask = masks.random_fibres(cube.shape, missing=0.4, mode=0, seed=1)  # whole lines: a column of one band
    mask &= masks.random_entries(cube.shape, missing=0.5, seed=2)  # and half of the rest, spoilt

    given = np.where(mask, cube, np.nan)
    done = tfl.complete(given, dims=("row", "column", "band"))

    print(done)
    hidden = ~mask
    means = per_mode_means(cube, mask)
    score("error at the hidden reflectances", rms(done.completed, cube, hidden), rms(means, cube, hidden))
    save(done.plot(truth=cube), out / "cube.png")


if __name__ == "__main__":
    main()
