"""Tables in many files: a damaged part, a part that is another table, odd columns and patterns, kills. Each is read
value for value or refused in a sentence, and no temporary store outlives its run."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tensorfill as tfl
from attack.arena import Wrong, in_child
from attack.calls import ODD, check
from attack.damage import mutant
from tensorfill.blocks import Partitions
from tensorfill.blocks.disk import PREFIX
from tensorfill.blocks.opening import open_data

KINDS = (".parquet", ".csv", ".tns", ".npy")
DIMS = ["user", "item"]
FEW = 20  # rows from which on they count as many, in every other case
DAMAGED, ANOTHER, ARGUMENTS, KILLED = 0.4, 0.35, 0.2, 0.05  # shares of the cases


def frame(rng: np.random.Generator, part: int, rows: int = 15) -> pd.DataFrame:
    """One part: 15 of 8 x 6 entries of its own users."""
    flat = rng.choice(48, rows, replace=False)
    users = [f"u{part}{i}" for i in flat // 6]
    return pd.DataFrame({"user": users, "item": flat % 6, "stars": rng.integers(1, 6, rows) / 2.0, "w": 1.0 + flat})


def another(rng: np.random.Generator) -> tuple[str, Any]:
    """The part 1 as it should not be: (what is wrong, table)."""
    good = frame(rng, 1)
    odd: dict[str, Any] = {
        "text values": good.assign(stars=[f"{x} stars" for x in good.stars]),
        "numbers as text": good.assign(stars=good.stars.astype(str)),
        "text infinity": good.assign(stars="inf"),
        "no column": good.drop(columns="stars"),
        "renamed": good.rename(columns={"user": "who"}),
        "no row": good[:0],
        "infinite": good.assign(stars=np.inf),
        "missing": good.assign(stars=np.nan),
        "half missing": good.assign(stars=good.stars.where(good.stars > 1)),
        "null labels": good.assign(user=None),
        "NaN labels": good.assign(item=np.nan),
        "whole labels": good.assign(user=np.arange(len(good))),
        "true labels": good.assign(item=good.item > 2)[:2],
        "dates as labels": good.assign(user=pd.date_range("2024-01-01", periods=len(good))),
        "lists as labels": good.assign(user=[[1, k] for k in range(len(good))]),
        "dictionaries as labels": good.assign(user=[{"a": k} for k in range(len(good))]),
        "categories": good.assign(user=good.user.astype("category")),
        "bytes as labels": good.assign(user=[f"{k}".encode() for k in range(len(good))]),
        "large whole numbers": good.assign(stars=np.arange(len(good)) + 2**53),
        "larger whole numbers": good.assign(stars=np.arange(len(good), dtype=np.uint64) + np.uint64(2**63)),
        "large numbers": good.assign(stars=1e300),
        "whole numbers": good.assign(stars=np.arange(len(good))),
        "truth values": good.assign(stars=good.stars > 1),
        "dates as values": good.assign(stars=pd.date_range("2024-01-01", periods=len(good))),
        "durations as values": good.assign(stars=pd.to_timedelta(np.arange(len(good)), unit="s")),
        "decimals": good.assign(stars=[Decimal("0.1")] * len(good)),
        "long decimals": good.assign(stars=[Decimal("12345678901234567890.125")] * len(good)),
        "lists as values": good.assign(stars=[[1.0]] * len(good)),
        "twice": pd.concat([good, good[:1]]),
        "weights below zero": good.assign(w=-1.0),
        "no weights": good.assign(w=None),
        "shuffled columns": good[["w", "stars", "item", "user"]],
        "one row": good[:1],
        "long text": good.assign(user=[c * 70_000 for c in "abcdefghijklmno"]),
        "strange text": good.assign(user=[f"\0\n\ud7ff$x^{k}" for k in range(len(good))]),
    }
    name = list(odd)[int(rng.integers(len(odd)))]
    return name, odd[name]


class Cases:
    """Case k is one set of three files and what is done to it."""

    hang = 60.0  # seconds: a kill is a case of two runs

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.folder = Path(tempfile.mkdtemp(prefix="attack-"))
        self.stores = self.folder / "stores"
        self.stores.mkdir()
        tempfile.tempdir = str(self.stores)
        parts = [frame(np.random.default_rng(9), k, 40) for k in range(3)]
        self.write(".parquet", parts)
        for large in (FEW, 10**6):  # compiles what is compiled on first use
            open_data.__kwdefaults__["large"] = large  # type: ignore[index]
            self.complete(".parquet", {})

    def write(self, kind: str, parts: list[Any]) -> None:
        for old in self.folder.glob("part-*"):
            old.unlink()
        for k, part in enumerate(parts):
            path = self.folder / f"part-{k}{kind}"
            if kind == ".parquet":
                part.to_parquet(path, index=False)
            elif kind == ".csv":
                part.to_csv(path, index=False)
            elif kind == ".npy":
                np.save(path, part if isinstance(part, np.ndarray) else part[["item", "stars"]].to_numpy())
            else:
                lines = [
                    f"{8 * k + n + 1} {i + 1} {v}" for n, (i, v) in enumerate(zip(part.item, part.stars, strict=True))
                ]
                path.write_text("\n".join(lines) + "\n")

    def make(self, k: int) -> tuple[str, Callable[[], object]]:
        rng = np.random.default_rng([self.seed, k])
        open_data.__kwdefaults__["large"] = FEW if k % 2 else 10**6  # type: ignore[index]
        what = rng.choice(4, p=(DAMAGED, ANOTHER, ARGUMENTS, KILLED))
        kind = KINDS[k % len(KINDS)] if what == 0 else KINDS[k % 2]
        parts = [frame(rng, n) for n in range(3)]
        weights = {"weights": "w"} if kind in KINDS[:2] and rng.random() < 0.3 else {}
        if what == 0:
            return f"#{k} damaged {kind}", lambda: self.damage(kind, parts, rng, weights)
        if what == 1:
            name, parts[1] = another(rng)
            if rng.random() < 0.2:
                return f"#{k} {name} in memory", lambda: self.at_once(parts, weights)
            return f"#{k} {name} {kind}", lambda: self.replace(kind, parts, weights)
        if what == 2:
            given = {
                str(n): ODD[int(rng.integers(len(ODD)))] for n in rng.choice(["dims", "value", "weights", "data"], 2)
            }
            return f"#{k} {given!r} {kind}", lambda: self.arguments(kind, parts, given)
        return f"#{k} kill at {(after := float(rng.random())):.3f}", lambda: self.kill(after)

    # --- what is done -----------------------------------------------------------------------------------------------

    def damage(self, kind: str, parts: list[Any], rng: np.random.Generator, more: dict[str, Any]) -> None:
        self.write(kind, parts)
        victim = self.folder / f"part-1{kind}"
        victim.write_bytes(mutant(victim.read_bytes(), rng))
        self.complete(kind, more)

    def replace(self, kind: str, parts: list[Any], more: dict[str, Any]) -> None:
        """Read or refused; what is read is what the tables hold."""
        self.write(kind, parts)
        self.look(kind, parts, more)
        self.complete(kind, more)

    def at_once(self, parts: list[Any], more: dict[str, Any]) -> None:
        """The same as one table in memory."""
        whole = pd.concat(parts, ignore_index=True)
        done = tfl.complete(whole, dims=DIMS, value="stars", max_iter=3, seconds=2.0, **more)
        check(done, None)

    def arguments(self, kind: str, parts: list[Any], given: dict[str, Any]) -> None:
        self.write(kind, parts)
        data = given.pop("data", str(self.folder / f"*{kind}"))
        if isinstance(data, int):  # a descriptor
            return
        tfl.complete(data, max_iter=2, seconds=2.0, **({"dims": DIMS, "value": "stars"} | given))

    def kill(self, after: float) -> None:
        """What a killed run left in the place for stores is gone when the next one ends."""
        self.write(".parquet", [frame(np.random.default_rng(9), k, 40) for k in range(3)])
        open_data.__kwdefaults__["large"] = FEW  # type: ignore[index]
        said = self.folder / "said"
        in_child(lambda: self.complete(".parquet", {}), said, after=0.6 * after)
        self.complete(".parquet", {})
        self.clean()

    # --- what must be so --------------------------------------------------------------------------------------------

    def given(self, kind: str, more: dict[str, Any]) -> dict[str, Any]:
        return {"dims": DIMS, "value": "stars", **more} if kind in KINDS[:2] else {}

    def complete(self, kind: str, more: dict[str, Any]) -> None:
        try:
            self.answered(str(self.folder / f"*{kind}"), self.given(kind, more))
        finally:
            self.clean()

    def answered(self, pattern: str, given: dict[str, Any]) -> None:
        """Complete it; what the answer keeps in a store goes with it."""
        done = tfl.complete(pattern, max_iter=3, seconds=2.0, **given)
        if done.observations.source is not None:
            check(done, None)
        elif not np.isfinite(done.at(done.observations.indices[:5])).all():
            raise Wrong("an answer that is not finite")

    def clean(self) -> None:
        if left := [name for name in os.listdir(self.stores) if name.startswith(PREFIX)]:
            raise Wrong(f"left behind: {', '.join(left)}")

    def look(self, kind: str, parts: list[Any], more: dict[str, Any]) -> None:
        got = open_data(str(self.folder / f"*{kind}"), **self.given(kind, more))
        assert got is not None
        if isinstance(got, Partitions):
            held = 0 if got.held is None else len(got.held.values)
            values = np.concatenate([got.sample.values, got.held.values if held else []])
            got.close()
        else:
            values = np.asarray(got.values)
        expected = [exact(x) for p in parts for x in p.stars if not pd.isna(x)]
        if sorted(expected) != sorted(map(exact, values)):
            raise Wrong("values changed on their way in")


def exact(value: Any) -> Decimal:
    """A number as it is; one that was written with a point as the float nearest to it."""
    if isinstance(value, Decimal | str):
        value = float(value)
    return Decimal(np.asarray(value).item() + 0)
