"""A photograph with four numbers in five gone: one call, nothing to set.

The red, green and blue of a pixel are lost independently, so the picture is a tensor row x column x channel and every
channel helps the others. Compared with linear interpolation of each channel between the pixels that are left.
"""

import numpy as np
from _example import folder, quick, rms, save, score
from PIL import Image
from scipy.interpolate import griddata

import tensorfill as tfl
from tensorfill.data import masks, samples


def interpolated(picture, mask):
    """Each channel by linear interpolation; by the nearest known pixel outside all triangles."""
    out = np.empty(picture.shape)
    everywhere = np.argwhere(np.ones(picture.shape[:2], dtype=bool))
    for c in range(picture.shape[2]):
        where, values = np.argwhere(mask[..., c]), picture[..., c][mask[..., c]]
        linear, nearest = (griddata(where, values, everywhere, how) for how in ("linear", "nearest"))
        out[..., c] = np.where(np.isnan(linear), nearest, linear).reshape(picture.shape[:2])
    return out


def main():
    out = folder()
    size = (64, 75) if quick() else (171, 200)
    photo = np.array(Image.fromarray(samples.photograph()).resize(size, Image.Resampling.LANCZOS))
    mask = masks.random_entries(photo.shape, missing=0.8, seed=0)  # True = known

    done = tfl.complete(photo, mask=mask)

    print(done)
    hidden = ~mask
    linear = interpolated(photo, mask)
    score(
        "error at the hidden numbers, of 255", rms(done.completed, photo, hidden), rms(linear, photo, hidden), "linear"
    )
    save(done.plot(truth=photo), out / "photo.png")


if __name__ == "__main__":
    main()
