"""Films through PyAV (FFmpeg), in a process of its own: (F, H, W, 3), 8 bits. Written as H.264 in an .mp4."""

from __future__ import annotations

import io
from fractions import Fraction
from typing import IO, Any

import numpy as np

from tensorfill.data.memory import ask
from tensorfill.io.formats.base import FORMATS, Array, FileError, Format, Loaded, Request
from tensorfill.io.formats.isolated import read_isolated, task
from tensorfill.io.formats.pictures import load_picture, planes
from tensorfill.io.optional import attempt_import

MATROSKA = b"\x1a\x45\xdf\xa3"
QUALITY = "10"  # of x264, from 0 to 51: what is lost cannot be seen


@FORMATS.register("video")
class Video(Format):
    """Films: .mp4 and the like."""

    title = "a film"
    description = "video in RGB, sound left out; lossy, written as H.264; needs av"
    endings = (".mp4", ".m4v", ".mov", ".mkv", ".webm", ".avi")
    magic = (b"RIFF", MATROSKA)
    whole = True
    note = "H.264 is lossy: observed values change a little when it is written; use multi-page TIFF to keep them."

    @classmethod
    def begins(cls, head: bytes) -> bool:
        if head[4:8] == b"ftyp":
            return head[8:11] not in (b"hei", b"hev", b"mif")  # which are photographs
        film = head.startswith(MATROSKA) or (head.startswith(b"RIFF") and head[8:11] == b"AVI")
        return film or head[4:8] in (b"moov", b"mdat", b"wide", b"free")

    def read(self, request: Request) -> Loaded:
        attempt_import("av", "reading films", "video")
        found = read_isolated("video", request)
        video = len(found["frames"]) > 1
        values = found["frames"] if video else found["frames"][0]
        return load_picture(request, "video", values, None, video=video, extra={"rate": found["rate"]})

    def write(self, sink: IO[bytes], array: Array, like: Loaded) -> None:
        av = attempt_import("av", "writing films", "video")
        if array.dtype == np.uint16:
            msg = "a film holds 8 bits per sample and these values have 16; write .tif instead."
            raise FileError(msg)
        values, alpha, axes = planes(array, like, "a film", deep=False, video=True)
        if alpha is not None:
            msg = "a film holds no alpha channel; write .tif instead."
            raise FileError(msg)
        frames = values if "F" in axes else values[None]
        colour = frames if "C" in axes else np.repeat(frames[..., None], 3, axis=-1)
        rate = Fraction(like.extra.get("rate") or 10)
        height, width = frames.shape[1:3]
        # most players know colours at half the resolution only, which needs even sides
        even = width % 2 == height % 2 == 0
        out = io.BytesIO()
        with av.open(out, "w", format="mp4") as container:
            stream = container.add_stream("libx264", rate=rate, options={"crf": QUALITY, "preset": "medium"})
            stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p" if even else "yuv444p"
            for frame in colour:
                picture = av.VideoFrame.from_ndarray(np.ascontiguousarray(frame), format="rgb24")
                container.mux(stream.encode(picture))
            container.mux(stream.encode(None))
        sink.write(out.getbuffer())


@task("video", "av")
def frames_of(source: str | bytes) -> dict[str, Any]:
    """The frames (F, H, W, 3) of a film, by its path or its bytes, and how many there are in a second."""
    av = attempt_import("av", "reading films", "video")
    parts: list[Array] = []
    with av.open(io.BytesIO(source) if isinstance(source, bytes) else source) as container:
        for stream in container.streams.video[:1]:
            size = 3 * stream.width * stream.height
            ask(3 * size * max(stream.frames, 1), f"a film of {stream.frames or 'many'} frames")
            for frame in container.decode(stream):
                ask(2 * size * (len(parts) + 1), f"a film of more than {len(parts)} frames")
                parts.append(frame.to_ndarray(format="rgb24"))
                if parts[-1].shape != parts[0].shape:
                    msg = f"its frames must be of one size; got {parts[0].shape} and {parts[-1].shape}. "
                    msg += "Convert it first."
                    raise FileError(msg)
            if parts:
                return {"frames": np.stack(parts), "rate": str(stream.average_rate or 10)}
    msg = "it holds no pictures."
    raise FileError(msg)
