"""Damaged files of every format, saved completions and checkpoints: each is read, or refused in a sentence."""

from __future__ import annotations

import io
import json
import re
import shutil
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import tensorfill as tfl
from tensorfill.data.files import FORMATS, Loaded, read, write

ALARMING = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x00\x00\x00\x80", b"\0\0\0\0")
ODD = [None, -1, 0, 1e308, "", "x", [], {}, [1, [2]], {"a": None}, True, float("nan"), 2**70, "FINISHED", "NONFINITE"]
WORDS = (
    b"nan",
    b"-1",
    b"1e999",
    b"99999999999999999999",
    b"4294967296",
    b"",
    b'"',
    b",",
    b"\n",
    b"\0",
    b"\xff",
    b"inf",
)


def _arrays() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "picture": rng.integers(0, 255, (9, 8, 3), dtype=np.uint8),
        "table": np.round(rng.normal(size=(7, 5)), 3),
        "cube": rng.integers(0, 99, (5, 4, 3)).astype(np.float32),
    }


def seeds(folder: Path) -> dict[str, Path]:
    """One good file or more of every kind, {name: path}."""
    out = {}
    for name, kind in FORMATS.items():
        for what, array in _arrays().items():
            path = folder / f"{what}-{name}{kind.endings[0]}"
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    write(path, array, Loaded("npy", array.shape, array.dtype, values=array), format=name)
            except Exception:  # a format that has no room for such an array
                shutil.rmtree(path, ignore_errors=True)
                path.unlink(missing_ok=True)
                continue
            out[f"{name}, {what}"] = path
    T = _arrays()["table"].copy()
    T[::2, ::2] = np.nan
    done = tfl.complete(T, method="halrtc", max_iter=3, checkpoint=folder / "run.checkpoint")
    done.save(folder / "run.completion")
    return {**out, "checkpoint": folder / "run.checkpoint", "completion": folder / "run.completion"}


def mutant(data: bytes, rng: np.random.Generator) -> bytes:
    """The same with some damage."""
    some = bytearray(data)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(some) + 1))
        end = min(len(some), at + int(rng.integers(1, 40)))
        match int(rng.integers(8)):
            case 0:
                if at < len(some):
                    some[at] ^= 1 << int(rng.integers(8))
            case 1:
                some[at : at + 1] = rng.bytes(1)
            case 2:
                del some[at:]
            case 3:
                del some[at:end]
            case 4:
                some[at:at] = some[at:end]
            case 5:
                some[at : at + 4] = ALARMING[int(rng.integers(len(ALARMING)))]
            case 6:
                some[at:at] = WORDS[int(rng.integers(len(WORDS)))]
            case _:
                some[at:end] = rng.bytes(end - at)
    return bytes(some)


def edited(data: bytes, rng: np.random.Generator) -> bytes:
    """An .npz that is whole, but something in it is not what it should be."""
    with np.load(io.BytesIO(data)) as file:
        arrays = {k: file[k] for k in file.files}
    name = list(arrays)[int(rng.integers(len(arrays)))]
    a = arrays[name]
    if name.endswith("meta") and rng.random() < 0.9:
        text = a.tobytes().decode()
        if rng.random() < 0.5:  # a value, by another
            meta = json.loads(text)
            meta[list(meta)[int(rng.integers(len(meta)))]] = ODD[int(rng.integers(len(ODD)))]
            text = json.dumps(meta)
        else:  # a word or a number anywhere
            words = re.split(r"(\W)", text)
            words[int(rng.integers(len(words)))] = str(ODD[int(rng.integers(len(ODD)))])
            text = "".join(words)
        arrays[name] = np.frombuffer(text.encode(), dtype=np.uint8)
    elif rng.random() < 0.3:
        del arrays[name]
    else:
        ways = [
            a[..., :-1] if a.ndim else a,
            a.astype(str),
            a.ravel(),
            np.zeros(0),
            a[None],
            np.float64(np.nan) * np.ones(a.shape),
        ]
        arrays[name] = [*ways, np.full(a.shape, -7), np.full(a.shape, 2**40), a[:1] if a.ndim else a][
            int(rng.integers(9))
        ]
    out = io.BytesIO()
    np.savez(out, **arrays)
    return out.getvalue()


class Cases:
    """Case k damages the k-th seed file in turn."""

    def __init__(self, seed: int) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="attack-"))
        self.seed, self.seeds = seed, seeds(self.folder)
        self.names = list(self.seeds)
        T = _arrays()["table"].copy()
        T[::2, ::2] = np.nan
        self.table = T

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        own = k % 8 == 0  # an eighth of the cases are for the two kinds that are edited, not only damaged
        name = ("checkpoint", "completion")[k // 8 % 2] if own else self.names[k % len(self.names)]
        good = self.seeds[name]
        bad = self.folder / f"bad-{good.name}"
        if good.is_dir():  # Zarr: one of its files
            shutil.rmtree(bad, ignore_errors=True)
            shutil.copytree(good, bad)
            files = sorted(p for p in bad.rglob("*") if p.is_file())
            victim = files[int(rng.integers(len(files)))]
            victim.write_bytes(mutant(victim.read_bytes(), rng))
        elif name in ("checkpoint", "completion") and rng.random() < 0.7:
            bad.write_bytes(edited(good.read_bytes(), rng))
        else:
            bad.write_bytes(mutant(good.read_bytes(), rng))
        return f"{name} #{k}", lambda: self.use(name, bad)

    def use(self, name: str, path: Path) -> None:
        if name == "completion":
            done = tfl.Completion.load(path)
            np.asarray(done.completed)
            str(done)
        elif name == "checkpoint":
            tfl.complete(self.table, method="halrtc", max_iter=3, checkpoint=path, resume=True)
        else:
            read(path).observations()
