"""Files that are well formed and odd: cells, types and headers that a format allows, as nobody combines them."""

from __future__ import annotations

import io
import json
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import tensorfill as tfl
from tensorfill.data.memory import limit_memory
from tensorfill.io.files import read

CELLS = ["1", "2.5", "-3", "0", "1e400", "1e-400", "NaN", "nan", "", " ", "NA", "inf", "-0", "007", "1,5", "1 000", "٣"]
CELLS += [
    "0x10",
    "1e5",
    "TRUE",
    "no",
    "2024-02-30",
    "2024-03-01",
    "08:61",
    '"a"',
    '"1\n2"',
    "=1+1",
    "@SUM(A1)",
    "é",
    "\x00",
]
CELLS += ["9" * 40, "-999", "#N/A", "None", "null", "1/2", "5%", "$3", "name", "−1", "\ufeff1", "1_0", "[1]", "{}"]
TYPES = [
    "<f8",
    ">f4",
    "<i8",
    "|u1",
    "<u8",
    "|b1",
    "<c16",
    "<f2",
    "|S3",
    "<U2",
    "<M8[s]",
    "<m8[D]",
    "|O",
    "<V4",
    "<f16",
    "[('a','<f8')]",
]


def pick(rng: np.random.Generator, among: list[Any]) -> Any:
    return among[int(rng.integers(len(among)))]


def table(rng: np.random.Generator) -> bytes:
    """A table as text: most rows as long as the first, some separators, some encodings."""
    rows, columns = int(rng.integers(0, 12)), int(rng.integers(1, 6))
    sep, end = pick(rng, [",", ";", "\t", "|", " "]), pick(rng, ["\n", "\r\n", "\r"])
    odd = CELLS if rng.random() < 0.7 else CELLS[:6]
    lines = [
        sep.join(pick(rng, odd if rng.random() < 0.3 else CELLS[:4]) for _ in range(columns + int(rng.random() < 0.03)))
        for _ in range(rows)
    ]
    if rng.random() < 0.7:
        lines.insert(0, sep.join(pick(rng, ["a", "b", "c", "a", "", "1", "value", "x y"]) for _ in range(columns)))
    return end.join(lines).encode(pick(rng, ["utf-8", "utf-8", "utf-16", "latin-1", "utf-8-sig"]), errors="replace")


def tree(rng: np.random.Generator, depth: int = 4) -> Any:
    """Anything that JSON can hold."""
    leaf = [None, 1, -2.5, 1e308, 10**40, True, "1", "NaN", "", float("nan"), float("inf")]
    if depth == 0 or rng.random() < 0.3:
        return pick(rng, leaf)
    count = int(rng.integers(0, 5))
    if rng.random() < 0.6:
        return [tree(rng, depth - 1) for _ in range(count)]
    return {
        pick(rng, ["data", "dims", "a", "b", "", "columns", "index", "values"]): tree(rng, depth - 1)
        for _ in range(count)
    }


def array(rng: np.random.Generator) -> bytes:
    """An .npy file whose header need not fit what follows."""
    shape = tuple(int(n) for n in rng.integers(0, 5, size=int(rng.integers(0, 5))))
    if rng.random() < 0.2:
        shape = (*shape, int(pick(rng, [-1, 2**31, 2**62, 10**30])))
    kind = pick(rng, TYPES)
    kind, order = kind if kind[0] == "[" else repr(kind), bool(rng.integers(2))
    head = f"{{'descr': {kind}, 'fortran_order': {order}, 'shape': {shape}, }}"
    text = head.encode() + b" " * (-(len(head) + 11) % 64) + b"\n"
    body = rng.bytes(int(rng.integers(0, 600)))
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + body


def arrays(rng: np.random.Generator) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name in {pick(rng, ["a.npy", "b.npy", "mask.npy", "../c.npy", "d.txt", "e/"]) for _ in range(3)}:
            file.writestr(name, array(rng))
    return out.getvalue()


def columns(rng: np.random.Generator) -> bytes:
    """A Parquet file with columns of any type that Arrow has."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = [
        pa.array([1.0, None, 3.0]),
        pa.array([1, 2, None], pa.int8()),
        pa.array(["a", None, "1"]).dictionary_encode(),
        pa.array([1.0, 2.0, None]).dictionary_encode(),
        pa.array([[1], None, []], pa.list_(pa.int64())),
        pa.array([{"a": 1}, None, {"a": 2}]),
        pa.array([1, 2, None], pa.duration("s")),
        pa.array([1, 2, None], pa.timestamp("us", tz="Europe/Paris")),
        pa.array([1, 2, None], pa.date32()),
        pa.array([True, None, False]),
        pa.nulls(3),
        pa.array([b"x", None, b""]),
        pa.array([1, 2, None], pa.int64()).cast(pa.decimal128(30, 3)),
        pa.array([1.0, float("nan"), float("inf")], pa.float32()),
        pa.array([1, 2**63, None], pa.uint64()),
    ]
    chosen = [pick(rng, made) for _ in range(int(rng.integers(1, 6)))]
    names = [pick(rng, ["a", "b", "c", "", "1", "ä"]) + str(n if rng.random() < 0.9 else 0) for n in range(len(chosen))]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(chosen, names=names), out)
    return out.getvalue()


def sheet(rng: np.random.Generator) -> bytes:
    """A workbook with cells of every type, merged ones among them."""
    import datetime

    from openpyxl import Workbook

    book = Workbook()
    page = book.active
    cells = [
        1,
        2.5,
        None,
        "1",
        "007",
        "=A1+1",
        True,
        datetime.datetime(2024, 3, 1),
        datetime.time(8),
        "x",
        "#N/A",
        1e300,
    ]
    for _ in range(int(rng.integers(0, 8))):
        page.append([pick(rng, cells if rng.random() < 0.4 else cells[:3]) for _ in range(int(rng.integers(1, 6)))])
    if rng.random() < 0.3:
        page.merge_cells("A1:B2")
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


MAKERS: dict[str, Callable[[np.random.Generator], bytes]] = {
    ".csv": table,
    ".tsv": table,
    ".json": lambda rng: json.dumps(tree(rng)).encode(),
    ".npy": array,
    ".npz": arrays,
    ".parquet": columns,
    ".xlsx": sheet,
}


class Cases:
    """Case k reads a file of the k-th format in turn, as a table or as a list of entries, and now and then fills it."""

    hang = 30.0
    budget = 64 * 2**20

    def __init__(self, seed: int) -> None:
        self.folder, self.seed = Path(tempfile.mkdtemp(prefix="attack-")), seed

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        ending = list(MAKERS)[k % len(MAKERS)]
        path = self.folder / f"odd{ending}"
        path.write_bytes(MAKERS[ending](rng))
        given = {"dims": ["a", "b"], "value": "c"} if rng.random() < 0.2 else {}
        return f"#{k} {ending} {path.read_bytes()[:60]!r}", lambda: self.use(path, given, fill=rng.random() < 0.1)

    def use(self, path: Path, given: dict[str, Any], *, fill: bool) -> None:
        obs = read(path, max_memory=self.budget, **given).observations()
        if fill and obs.size <= 10_000:
            with limit_memory(self.budget):
                np.asarray(tfl.complete(obs, method="halrtc", max_iter=2).estimate)
