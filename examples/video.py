"""A video of which 17 numbers in 20 are gone: a tensor of four modes, the same call.

Names for the modes make the answer easier to read: frames are drawn as frames. Time is smooth too, so a disc is
filled in from where it was and where it will be.
"""

from _example import folder, per_mode_means, quick, rms, save, score

import tensorfill as tfl
from tensorfill.data import masks, samples


def main():
    out = folder()
    video = samples.video((8, 24, 32, 3) if quick() else (16, 48, 64, 3), seed=4)
    mask = masks.random_entries(video.shape, missing=0.85, seed=0)

    done = tfl.complete(video, mask=mask, dims=("frame", "row", "column", "channel"))

    print(done)
    hidden = ~mask
    means = per_mode_means(video, mask)
    score("error at the hidden numbers, of 255", rms(done.completed, video, hidden), rms(means, video, hidden))
    save(done.plot(truth=video), out / "video.png")


if __name__ == "__main__":
    main()
