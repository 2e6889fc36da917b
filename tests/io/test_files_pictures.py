"""Pictures and videos: depths, alpha, palettes, timing. References are made with Pillow, tifffile or by hand."""

import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageCms, ImageOps

import tensorfill as tfl
from tensorfill.io.files import FileError, read, read_mask, write

RNG = np.random.default_rng(3)


def bytes8(*shape):
    return RNG.integers(0, 256, shape, dtype=np.uint8)


def words16(*shape):
    return RNG.integers(0, 65536, shape, dtype=np.uint16)


def image(mode, pixels):
    height, width = pixels.shape[:2]
    if mode == "1":
        return Image.fromarray(pixels > 127)
    return Image.frombytes(mode, (width, height), pixels.tobytes()) if pixels.ndim > 2 else Image.fromarray(pixels)


MODES = {  # mode: (pixels, shape of the values, formats)
    "1": (bytes8(6, 9), (6, 9), ("png", "tiff")),
    "L": (bytes8(6, 9), (6, 9), ("png", "tiff")),
    "LA": (bytes8(6, 9, 2), (6, 9), ("png", "tiff")),
    "RGB": (bytes8(6, 9, 3), (6, 9, 3), ("png", "tiff")),
    "RGBA": (bytes8(6, 9, 4), (6, 9, 3), ("png", "tiff")),
    "I;16": (words16(6, 9), (6, 9), ("png", "tiff")),
    "I": (RNG.integers(-9, 9, (6, 9), dtype=np.int32), (6, 9), ("tiff",)),
    "F": (RNG.standard_normal((6, 9), dtype=np.float32), (6, 9), ("tiff",)),
}


@pytest.mark.parametrize(("mode", "format"), [(m, f) for m, (_, _, formats) in MODES.items() for f in formats])
def test_every_mode_comes_back_as_it_was(mode, format, tmp_path):
    """The first pixel is filled in; all others, alpha included, keep every bit, and the mode stays."""
    pixels, shape, _ = MODES[mode]
    path, out = tmp_path / f"a.{format}", tmp_path / f"b.{format}"
    original = image(mode, pixels)
    original.save(path)
    loaded = read(path)
    assert loaded.shape == shape
    assert loaded.dims == ("row", "column", "channel")[: len(shape)]
    completed = loaded.values.astype(np.float64)
    completed[0, 0] = 0.7
    write(out, completed, loaded)
    with Image.open(out) as found:
        assert found.mode == mode
        got = np.array(found)
    expected = np.array(original)
    first = 0.7 if mode == "F" else 1
    if mode in ("LA", "RGBA"):
        expected[0, 0, :-1] = first
    else:
        expected[0, 0] = first
    np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("ending", ["jpg", "tif"])
def test_cmyk_is_not_taken_for_colours_and_alpha(ending, tmp_path):
    image("CMYK", bytes8(6, 9, 4)).save(tmp_path / f"a.{ending}")
    with pytest.raises(FileError, match="it has colour mode CMYK; convert it to grey or RGB first"):
        read(tmp_path / f"a.{ending}")


def test_palette_is_expanded_and_its_transparency_kept(tmp_path):
    index = RNG.integers(0, 5, (6, 9), dtype=np.uint8)
    palette = bytes8(256, 3)
    picture = Image.fromarray(index)
    picture.putpalette(palette.tobytes())
    picture.save(tmp_path / "a.png")
    loaded = read(tmp_path / "a.png")
    np.testing.assert_array_equal(loaded.values, palette[index])
    assert loaded.extra["alpha"] is None
    picture.save(tmp_path / "b.png", transparency=2)
    loaded = read(tmp_path / "b.png")
    np.testing.assert_array_equal(loaded.values, palette[index])
    np.testing.assert_array_equal(loaded.extra["alpha"], np.where(index == 2, 0, 255))


def test_transparent_pixels_are_missing_only_when_asked(tmp_path):
    pixels = bytes8(6, 9, 4)
    pixels[..., 3] = RNG.choice([0, 9, 255], (6, 9))
    image("RGBA", pixels).save(tmp_path / "a.png")
    assert read(tmp_path / "a.png").mask is None
    mask = read(tmp_path / "a.png", alpha_missing=True).mask
    np.testing.assert_array_equal(mask, np.repeat(pixels[..., 3:] > 0, 3, axis=2))


@pytest.mark.parametrize("ending", ["png", "webp", "tif"])
def test_what_was_transparent_can_be_seen_once_it_is_filled(ending, tmp_path):
    pixels = bytes8(6, 9, 4)
    pixels[..., 3] = RNG.choice([0, 9, 255], (6, 9))
    image("RGBA", pixels).save(tmp_path / f"a.{ending}", **({"lossless": True} if ending == "webp" else {}))
    loaded = read(tmp_path / f"a.{ending}", alpha_missing=True)
    write(tmp_path / f"b.{ending}", loaded.values, loaded)
    with Image.open(tmp_path / f"b.{ending}") as found:
        np.testing.assert_array_equal(np.array(found)[..., 3], np.where(pixels[..., 3] == 0, 255, pixels[..., 3]))
    kept = read(tmp_path / f"a.{ending}")
    write(tmp_path / f"c.{ending}", kept.values, kept)
    with Image.open(tmp_path / f"c.{ending}") as found:
        np.testing.assert_array_equal(np.array(found)[..., 3], pixels[..., 3])


@pytest.mark.parametrize("ending", ["png", "webp", "jpg"])
@pytest.mark.parametrize("way", range(1, 9))
def test_a_photograph_is_upright_and_stays_as_it_was_stored(way, ending, tmp_path):
    """Pillow itself says which way up it is; what is written is stored and turned as before."""
    smooth = np.add.outer(np.arange(16.0), 3 * np.arange(24.0))[..., None] + np.array([0, 40, 90])
    stored, exif = Image.fromarray(smooth.astype(np.uint8)), Image.Exif()
    exif[274] = way
    stored.save(tmp_path / f"a.{ending}", exif=exif, **({"lossless": True} if ending == "webp" else {}))
    with Image.open(tmp_path / f"a.{ending}") as found:
        upright = np.array(ImageOps.exif_transpose(found))
    loaded = read(tmp_path / f"a.{ending}")
    np.testing.assert_array_equal(loaded.values, upright)
    completed = loaded.values.astype(float)
    completed[0, 0] = 7
    write(tmp_path / f"b.{ending}", completed, loaded)
    with Image.open(tmp_path / f"b.{ending}") as found:
        assert found.size == stored.size
        assert found.getexif()[274] == way
        np.testing.assert_allclose(
            np.array(ImageOps.exif_transpose(found)), np.rint(completed), atol=30 * (ending == "jpg")
        )
    write(tmp_path / "c.tif", completed, loaded)  # which keeps no EXIF
    with Image.open(tmp_path / "c.tif") as found:
        np.testing.assert_array_equal(np.array(found), completed)


def test_an_upright_mask_fits_and_one_on_its_side_is_told(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(bytes8(16, 24, 3)).save(tmp_path / "a.jpg", exif=exif)
    loaded = read(tmp_path / "a.jpg")
    assert loaded.shape == (24, 16, 3)
    Image.fromarray(np.full((24, 16), 255, np.uint8)).save(tmp_path / "m.png")
    assert read_mask(tmp_path / "m.png", loaded.shape).all()
    Image.fromarray(np.full((16, 24), 255, np.uint8)).save(tmp_path / "side.png")
    with pytest.raises(FileError, match="lie on its side: turn it by 90 degrees"):
        read_mask(tmp_path / "side.png", loaded.shape)


@pytest.mark.parametrize("ending", ["webp", "bmp", "jp2", "heic"])
def test_a_damaged_photograph_is_a_sentence(ending, tmp_path):
    whole = tmp_path / f"a.{ending}"
    if ending == "heic":
        pytest.importorskip("pillow_heif").from_pillow(Image.fromarray(bytes8(64, 64, 3))).save(whole)
    else:
        Image.fromarray(bytes8(16, 24, 3)).save(whole)
    (tmp_path / f"b.{ending}").write_bytes(whole.read_bytes()[:60])
    with pytest.raises(FileError, match=r"cannot read .*b\."):
        read(tmp_path / f"b.{ending}")


def test_photographs_and_masks_by_their_names_in_python(tmp_path):
    smooth = np.add.outer(np.arange(24.0), 2 * np.arange(20.0))[..., None] + np.array([0, 40, 90])
    mask = np.full((24, 20), 255, np.uint8)
    mask[8:12, 5:9] = 0
    Image.fromarray(smooth.astype(np.uint8)).save(tmp_path / "photo.png")
    Image.fromarray(mask).save(tmp_path / "mask.png")
    done = tfl.complete(str(tmp_path / "photo.png"), mask=tmp_path / "mask.png", method="halrtc", max_iter=20)
    assert done.completed.dtype == np.uint8
    np.testing.assert_array_equal(done.completed[mask > 0], smooth[mask > 0])
    assert done.observations.nnz == 3 * np.count_nonzero(mask)
    same = tfl.complete(smooth.astype(np.uint8), mask=str(tmp_path / "mask.png"), method="halrtc", max_iter=20)
    np.testing.assert_array_equal(same.completed, done.completed)
    again = tfl.complete(tmp_path / "photo.png", mask=mask > 0, method="halrtc", max_iter=20)
    np.testing.assert_array_equal(again.completed, done.completed)
    with pytest.raises(FileError, match="there is no such file"):
        tfl.complete("nowhere.png")
    with pytest.raises(ValueError, match="weights must be left out for a file"):
        tfl.complete(tmp_path / "photo.png", weights=np.ones(smooth.shape))


def test_a_matrix_in_a_table_by_its_name_gives_a_table(tmp_path):
    (tmp_path / "a.csv").write_text("day,x,y\n2024-01-01,1.5,2\n2024-01-02,,4\n2024-01-03,3.5,\n2024-01-04,2.5,3\n")
    out = tfl.complete(tmp_path / "a.csv", method="halrtc", max_iter=5).completed
    assert list(out.columns) == ["x", "y"]
    assert [str(day.date()) for day in out.index] == [f"2024-01-0{k}" for k in (1, 2, 3, 4)]
    assert out.notna().all(axis=None)
    assert out.loc["2024-01-03", "x"] == 3.5
    longer = tfl.complete(tmp_path / "a.csv", method="bayes", rank=1, draws=4, burn=2, horizon=1).completed
    assert str(longer.index[-1].date()) == "2024-01-05"  # its dates are dates


def test_colour_profile_and_resolution_are_kept(tmp_path):
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()
    for ending in ("png", "jpg", "tif"):
        path, out = tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"
        image("RGB", bytes8(6, 9, 3)).save(path, icc_profile=profile, dpi=(300, 300))
        loaded = read(path)
        write(out, loaded.values, loaded)
        with Image.open(out) as found:
            assert found.info["icc_profile"] == profile
            assert round(float(found.info["dpi"][0])) == 300


# --- 16-bit PNG ---------------------------------------------------------------------------------------------------


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


@pytest.mark.parametrize(("colour", "channels", "more"), [(0, 1, chunk(b"tRNS", b"\0\1")), (2, 3, b""), (6, 4, b"")])
def test_colours_of_16_bits_are_refused_in_png(colour, channels, more, tmp_path):
    """Pillow reads the upper 8 bits alone, and does not say so."""
    lines = b"".join(b"\0" + words16(9, channels).tobytes() for _ in range(6))
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 9, 6, 16, colour, 0, 0, 0))
    body = head + more + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    (tmp_path / "a.png").write_bytes(b"\x89PNG\r\n\x1a\n" + body)
    with pytest.raises(FileError, match="have 16 bits, of which 8 would be lost; save it as TIFF"):
        read(tmp_path / "a.png")
    np.save(tmp_path / "a.npy", words16(6, 9, 3))
    loaded = read(tmp_path / "a.npy")
    with pytest.raises(FileError, match="16 bits per sample in grey pictures only"):
        write(tmp_path / "b.png", loaded.values, loaded)


# --- videos -------------------------------------------------------------------------------------------------------


TIFFS = {  # arrays that Pillow would change, cannot read, or cannot write
    "16-bit colour": (words16(6, 9, 3), {"photometric": "rgb"}),
    "16-bit colour and alpha": (words16(6, 9, 4), {"photometric": "rgb", "extrasamples": ["unassalpha"]}),
    "16-bit colour video": (words16(4, 6, 9, 3), {"photometric": "rgb"}),
    "float colour": (RNG.random((6, 9, 3), dtype=np.float32), {"photometric": "rgb"}),
    "float64": (RNG.random((6, 9)), {}),
    "signed": (RNG.integers(-9, 9, (6, 9), dtype=np.int16), {}),
    "32 bits": (RNG.integers(0, 2**32, (6, 9), dtype=np.uint32), {}),
    "white is zero": (words16(6, 9), {"photometric": "miniswhite"}),
    "bands": (words16(11, 6, 9), {"photometric": "minisblack", "planarconfig": "separate"}),
}


@pytest.mark.parametrize("case", TIFFS)
def test_tiff_beyond_pillow(case, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    array, options = TIFFS[case]
    tifffile.imwrite(tmp_path / "a.tif", array, **options)
    loaded = read(tmp_path / "a.tif")
    alpha = "alpha" in case
    np.testing.assert_array_equal(loaded.values, array[..., :3] if alpha else array)
    completed = loaded.values.astype(np.float64)
    completed[0, 0] = 1
    write(tmp_path / "b.tif", completed, loaded)
    expected = array.copy()
    expected[(0, 0, slice(0, 3)) if alpha else (0, 0)] = 1
    with tifffile.TiffFile(tmp_path / "a.tif") as before, tifffile.TiffFile(tmp_path / "b.tif") as after:
        np.testing.assert_array_equal(after.asarray(), expected)
        assert after.asarray().dtype == array.dtype
        assert after.pages[0].photometric == before.pages[0].photometric
        assert after.pages[0].extrasamples == before.pages[0].extrasamples


def test_tiff_beyond_pillow_without_tifffile(tmp_path, monkeypatch):
    tifffile = pytest.importorskip("tifffile")
    tifffile.imwrite(tmp_path / "a.tif", words16(6, 9, 3), photometric="rgb")
    monkeypatch.setitem(__import__("sys").modules, "tifffile", None)
    sentence = (
        r"\(16-bit colour, many bands, 64 bits\) needs tifffile; install it with: pip install 'tensorfill\[tiff\]'$"
    )
    with pytest.raises(FileError, match=sentence):
        read(tmp_path / "a.tif")


def test_tiff_compression_is_kept(tmp_path):
    for compression in ("tiff_lzw", "tiff_adobe_deflate", "packbits"):
        image("RGB", bytes8(6, 9, 3)).save(tmp_path / "a.tif", compression=compression)
        loaded = read(tmp_path / "a.tif")
        write(tmp_path / "b.tif", loaded.values, loaded)
        with Image.open(tmp_path / "b.tif") as found:
            assert found.info["compression"] == compression


# --- a number that means missing ----------------------------------------------------------------------------------

BANDS = RNG.uniform(1, 9, (6, 9, 3)).astype(np.float32)
GONE = RNG.random(BANDS.shape) < 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int32])
@pytest.mark.parametrize("photometric", ["rgb", "minisblack"])
def test_a_number_that_means_missing_does_so_in_each_band_by_itself(dtype, photometric, tmp_path):
    """It once did only in pixels that had it in all bands, and the others were written out as data."""
    import tifffile

    values = np.where(GONE, -9999, np.rint(BANDS)).astype(dtype)
    extra = {"planarconfig": "contig"} if photometric == "minisblack" else {}
    tifffile.imwrite(tmp_path / "a.tif", values, photometric=photometric, **extra)
    loaded = read(tmp_path / "a.tif", missing_value=-9999)
    np.testing.assert_array_equal(loaded.observed(), ~GONE)
    write(tmp_path / "b.tif", np.where(GONE, 5.0, values), loaded)
    assert not (tifffile.imread(tmp_path / "b.tif") == -9999).any()


def test_bands_of_whole_numbers_that_are_no_colours_are_marked_one_by_one(tmp_path):
    import tifffile

    for bands in (2, 5):
        values = np.repeat(words16(6, 9, 1) | 1, bands, axis=2)
        values[0, 0, 1] = 0
        tifffile.imwrite(tmp_path / "a.tif", values, photometric="minisblack", planarconfig="contig")
        np.testing.assert_array_equal(read(tmp_path / "a.tif", missing_value=0).observed(), values != 0)


@pytest.mark.parametrize("ending", ["png", "tif"])
def test_colours_that_have_the_missing_number_in_some_channels_are_kept_and_told(ending, tmp_path):
    values = np.full((6, 9, 3), 7, dtype=np.uint8)
    values[0, 0], values[1, 1, 2] = 0, 0
    Image.fromarray(values).save(tmp_path / f"a.{ending}")
    loaded = read(tmp_path / f"a.{ending}", missing_value=0)
    assert np.count_nonzero(~loaded.observed()) == 3
    assert any("1 entries that have it in some are kept" in note for note in loaded.notes)
