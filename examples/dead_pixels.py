"""Dead pixels and dead lines of a camera: what the sensor does not measure is a gap, not a black pixel.

One pixel in fifty is dead, and so are three columns and a row. Only what is missing changes: every pixel that was
measured comes back bit for bit. Compared with the median of the measured neighbours, which cameras use.
"""

import numpy as np
from _example import folder, quick, rms, save, score
from PIL import Image

import tensorfill as tfl
from tensorfill.data import samples


def broken(shape, seed=0):
    """True = measured, (H, W)."""
    rng = np.random.default_rng(seed)
    alive = rng.random(shape) >= 0.02
    alive[:, rng.choice(shape[1], size=3, replace=False)] = False
    alive[rng.integers(shape[0])] = False
    return alive


def median(picture, alive):
    """Each dead pixel as the median of the measured ones among the 24 around it."""
    H, W = alive.shape
    known = np.pad(np.where(alive[..., None], picture, np.nan), ((2, 2), (2, 2), (0, 0)), constant_values=np.nan)
    around = np.stack([known[i : i + H, j : j + W] for i in range(5) for j in range(5)])
    return np.where(alive[..., None], picture, np.nanmedian(around, axis=0))


def main():
    out = folder()
    size = (64, 75) if quick() else (171, 200)
    photo = np.array(Image.fromarray(samples.photograph()).resize(size, Image.Resampling.LANCZOS))
    alive = broken(photo.shape[:2])

    done = tfl.complete(photo, mask=alive)

    print(done)
    dead = ~alive
    assert (done.completed[alive] == photo[alive]).all()
    plain = median(photo, alive)
    score("error at the dead pixels, of 255", rms(done.completed, photo, dead), rms(plain, photo, dead), "median")
    save(done.plot(truth=photo), out / "dead_pixels.png")


if __name__ == "__main__":
    main()
