"""Demosaicing: a camera measures one colour at each pixel, and the other two are missing.

Behind the usual Bayer filter every second pixel is green, every fourth red, every fourth blue: two numbers in three are
gaps, in a regular pattern. The program needs nothing special for it: a mask, and one call. Compared with bilinear
interpolation of each colour, the textbook way.
"""

import numpy as np
from _example import folder, quick, rms, save, score
from PIL import Image
from scipy.ndimage import convolve

import tensorfill as tfl
from tensorfill.data import samples


def bayer(shape):
    """True = measured: red and green in even rows, green and blue in odd ones."""
    mask = np.zeros(shape, dtype=bool)
    mask[::2, ::2, 0] = True
    mask[::2, 1::2, 1] = mask[1::2, ::2, 1] = True
    mask[1::2, 1::2, 2] = True
    return mask


def bilinear(picture, mask):
    """Each colour as the mean of the nearest pixels that have it, nearer ones counting more."""
    weights = np.array([[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]])
    known = np.where(mask, picture, 0).astype(float)
    total, count = (
        np.stack([convolve(A[..., c], weights, mode="mirror") for c in range(3)], axis=-1)
        for A in (known, mask.astype(float))
    )
    return np.where(mask, picture, total / count)


def main():
    out = folder()
    size = (96, 112) if quick() else (171, 200)
    photo = np.array(Image.fromarray(samples.photograph()).resize(size, Image.Resampling.LANCZOS))
    mask = bayer(photo.shape)

    done = tfl.complete(photo, mask=mask)

    print(done)
    hidden, plain = ~mask, bilinear(photo, mask)
    score("error at the colours not measured, of 255", rms(done.completed, photo, hidden), rms(plain, photo, hidden),
          "bilinear")  # fmt: skip
    save(done.plot(truth=photo), out / "demosaic.png")


if __name__ == "__main__":
    main()
