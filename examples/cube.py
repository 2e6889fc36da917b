"""A hyperspectral cube with dead detector lines: NaN marks what is missing, whatever its pattern.

Fields in Indiana in 50 bands (Indian Pines, from tensorly). A push-broom scanner loses whole columns of single bands,
and here half of what is left. Along a dead line no neighbour in the same column is known; those beside it and the
other bands are.
"""

import numpy as np
from _example import folder, per_mode_means, quick, real, rms, save, score

import tensorfill as tfl
from tensorfill.data import masks


def main():
    out = folder()
    cube = real("indian-pines").astype(float)  # 48 x 48 pixels x 50 bands
    cube = cube[:20, :20, ::4] if quick() else cube
    mask = masks.random_fibres(cube.shape, missing=0.4, mode=0, seed=1)  # whole lines: a column of one band
    mask &= masks.random_entries(cube.shape, missing=0.5, seed=2)  # and half of the rest, spoilt
    given = np.where(mask, cube, np.nan)

    done = tfl.complete(given, dims=("row", "column", "band"))

    print(done)
    hidden = ~mask
    means = per_mode_means(cube, mask)
    score("error at the hidden radiances", rms(done.completed, cube, hidden), rms(means, cube, hidden))
    save(done.plot(truth=cube), out / "cube.png")


if __name__ == "__main__":
    main()
