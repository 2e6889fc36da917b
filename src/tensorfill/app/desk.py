"""What a child does with its file: look at it, take a mask, fill the gaps, draw the result, write it."""

from __future__ import annotations

import dataclasses
import importlib
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.api import complete
from tensorfill.app import describe
from tensorfill.app.choice import LEVEL, Choice, command, python, stem
from tensorfill.app.watch import Watch, expected_seconds, save_picture
from tensorfill.data.facts import Facts, look
from tensorfill.data.files import (
    FORMATS,
    FileError,
    FileWarning,
    Loaded,
    columns_of,
    long_columns,
    read,
    read_mask,
    write,
)
from tensorfill.data.formats.output import can_write
from tensorfill.data.observations import DENSE_LIMIT, DataWarning, Observations
from tensorfill.result.completion import Completion
from tensorfill.result.outputs import write_bars
from tensorfill.result.record import Status
from tensorfill.show.summary import leaderboard, quality
from tensorfill.terminal import BAD_DATA, UserError, noting

FIRST = {"picture": ("png", "tiff", "jpeg", "npy"), "table": ("csv", "parquet", "npy"), "array": ("npy", "csv", "mat")}
TRIAL = 20_000  # entries up to which every format is tried before it is offered; beyond, only those that refuse most


class Desk:
    """One file at a time; what was read, what was chosen, what came out."""

    def __init__(self, send: Callable[..., None]) -> None:
        self.send = send
        self.path = Path()
        self.name = ""
        self.choice = Choice()
        self.whole: Loaded | None = None  # as read
        self.loaded: Loaded | None = None  # with what the mask leaves of it
        self.obs: Observations | None = None
        self.facts: Facts | None = None
        self.mask_file: Path | None = None
        self.mask_name: str | None = None
        self.notes: list[str] = []
        self.done: Completion | None = None

    def warm_up(self) -> None:
        """Import now what the first run would wait for."""
        for name in ("numba", "matplotlib.figure", "tensorfill.show.report"):
            importlib.import_module(name)

    def plain(self, sentence: str) -> str:
        """A sentence without the folder in which the server keeps the file: the user knows its name."""
        return sentence.replace(f"{self.path.parent}{os.sep}", "")

    # --- reading ------------------------------------------------------------------------------------------------

    def look(self, path: str, name: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Read the file; what it is."""
        self.path, self.name, self.done = Path(path), name, None
        self.mask_file = self.mask_name = self.whole = None
        self.choice = Choice.of(given or {})
        with noting(FileWarning, DataWarning) as notes:
            try:
                loaded = read(path, **self.choice.reading)
            except FileError:
                if given is not None or not self._guess_columns():
                    raise
                loaded = read(path, **self.choice.reading)
            else:
                if given is None and _is_full(loaded) and self._guess_columns():  # a matrix without a gap?
                    loaded = self._sparser(loaded)
        self.whole = loaded
        self.notes = [*loaded.notes, *notes]
        return self._seen(loaded)

    def _guess_columns(self) -> bool:
        """Choose the columns of a table with one row for each entry, where they can be seen."""
        guess = long_columns(self.path)
        if guess is not None:
            self.choice = dataclasses.replace(self.choice, dims=guess[0], value=guess[1])
        return guess is not None

    def _sparser(self, matrix: Loaded) -> Loaded:
        """The table read by the columns that were guessed, if entries are absent then; else the matrix as it is."""
        try:
            table = read(self.path, **self.choice.reading)
        except FileError:
            table = matrix
        if table is matrix or _is_full(table):
            self.choice = dataclasses.replace(self.choice, dims=None, value=None)
            return matrix
        return table

    def hints(self) -> dict[str, Any]:
        """What helps to read a file that could not be: the names of its columns."""
        if self.whole is not None or not self.name:
            return {}
        try:
            names = list(columns_of(self.path))
        except FileError:
            return {}
        return {"columns": names} if len(names) > 2 else {}

    def mask(self, path: str | None = None, name: str | None = None, painted: bool = False) -> dict[str, Any]:
        """Take what the mask leaves of the data; without one, all of them."""
        loaded, notes = self._read(), []
        if path is not None:
            with noting(FileWarning) as notes:
                loaded = loaded.with_mask(read_mask(path, loaded.shape))
            if not loaded.observed().any():
                msg = f"the mask leaves no known entry of {self.name}: white must mean known, black missing."
                raise UserError(msg, BAD_DATA)
        self.mask_file = None if path is None else Path(path)
        ending = "" if path is None else Path(path).suffix
        self.mask_name = None if path is None else f"{stem(self.name)}-mask{ending}" if painted else name
        self.notes = [*loaded.notes, *notes]
        return self._seen(loaded)

    def hole(self, colour: int) -> dict[str, Any]:
        """Take the pixels of this colour for missing."""
        path = self.path.parent / "mask.png"
        describe.write_hole_mask(self._read(), colour, path)
        return self.mask(str(path), painted=True)

    def _read(self) -> Loaded:
        if self.whole is None:
            msg = "there is no file here yet; open one first."
            raise UserError(msg, BAD_DATA)
        return self.whole

    def _seen(self, loaded: Loaded) -> dict[str, Any]:
        """Look closer at what is known, and say what it is."""
        with noting(DataWarning) as notes:
            self.loaded, self.obs = loaded, loaded.observations()
        self.notes += [note for note in notes if note not in self.notes]
        self.facts, self.done = look(self.obs), None
        save_picture(describe.drawn(self.obs, loaded), self.path.parent / "given.png")
        seen = describe.described(self.name, loaded, self.obs, self.facts, self.choice)
        return {**seen, "notes": self.notes, "mask": self.mask_name}

    # --- the fit ------------------------------------------------------------------------------------------------

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Is there something to fill, and does what was chosen make sense?"""
        self._read()
        assert self.obs is not None
        assert self.facts is not None
        self.choice = self.choice.with_fit(given)
        if self.obs.nnz == self.obs.size:
            paint = describe.paintable(self._read())
            do = "Paint over what is to be replaced, or give" if paint else "Say which value means missing, or give"
            msg = f"{self.name} has no missing entry: nothing to fill. {do} a mask."
            raise UserError(msg, BAD_DATA)
        if self.obs.size > DENSE_LIMIT:
            msg = f"{self.name} has {self.obs.size:.2g} entries, too many for a page; use the command line with --at."
            raise UserError(msg, BAD_DATA)
        seconds = expected_seconds(self.obs, self.facts, self.choice.effort, error_bars=self.choice.error_bars)
        return {"expected": round(seconds, 1)}

    def fit(self) -> None:
        """The run; a stop leaves its best so far."""
        assert self.obs is not None
        assert self.facts is not None
        self.done = None
        seconds = expected_seconds(self.obs, self.facts, self.choice.effort, error_bars=self.choice.error_bars)
        watch = Watch(self.send, self.obs, self.path.parent, seconds)
        with noting(DataWarning) as notes:
            self.done = complete(self.obs, callback=watch, **self.choice.fitting)
        self.notes += [note for note in notes if note not in self.notes]

    def fit_in_a_hurry(self) -> None:
        """It was stopped before there was any model: the means, in no time."""
        if self.done is None:
            assert self.obs is not None
            quick = complete(self.obs, effort="quick", candidates=["means"])
            self.done = dataclasses.replace(quick, status=Status.INTERRUPTED)

    # --- the answer ---------------------------------------------------------------------------------------------

    def _finished(self) -> tuple[Completion, Loaded]:
        assert self.done is not None
        assert self.loaded is not None
        return self.done, self.loaded

    def told(self) -> dict[str, Any]:
        """What the page shows first."""
        done, loaded = self._finished()
        out = f"{stem(self.name)}-filled{FORMATS[loaded.format].endings[0]}"
        gaps, photo = ~done.observations.mask, describe.paintable(loaded)
        return {
            "sentence": done.status.sentence,
            "stopped": done.status is Status.INTERRUPTED,
            "good": done.status.ok,
            "quality": quality(done),
            "filled": int(gaps.reshape(*gaps.shape[:2], -1).any(axis=2).sum() if photo else gaps.sum()),
            "unit": "pixel" if photo else "gap",
            "formats": [_format(loaded.format)],
            "command": command(self.choice, self.name, out, self.mask_name),
            "python": python(self.choice, self.name, out, self.mask_name),
            "mask": self.mask_name,
            "bars": done.bars is not None,
            "leaders": [list(row) for row in leaderboard(done) if row[2]][:3],
            "notes": self.notes,
        }

    def formats(self) -> dict[str, Any]:
        """The formats that can hold the answer, its own first, then those that fit its kind."""
        done, loaded = self._finished()
        own = loaded.format
        first = [own, *FIRST["picture" if loaded.extra.get("axes") else "table" if loaded.labels else "array"]]
        order = [name for name in dict.fromkeys([*first, *FORMATS]) if name in FORMATS]
        small = done.observations.size <= TRIAL
        tried = [name for name in order if name != own and (small or FORMATS[name].whole or FORMATS[name].store)]
        unfit = {name for name in tried if not can_write(FORMATS[name](), np.asarray(done.completed), loaded)}
        return {"formats": [_format(name) for name in order if name not in unfit]}

    def details(self, folder: str) -> dict[str, Any]:
        """The result drawn and explained: a piece of HTML in a file."""
        done, loaded = self._finished()
        path = Path(folder) / "details.html"
        path.write_text(describe.details(done, loaded), "utf-8")
        return {"path": str(path)}

    def write(self, what: str, folder: str) -> dict[str, Any]:
        """A file to download."""
        room = Path(folder)
        if what == "mask":
            if self.mask_file is None:
                msg = "there is no mask to download; paint or give one first."
                raise UserError(msg, BAD_DATA)
            return {"path": str(self.mask_file), "name": self.mask_name}
        done, loaded = self._finished()
        if what == "report":
            from tensorfill.show.report import write_report

            name = f"{stem(self.name)}-report.html"
            how = command(self.choice, self.name, f"{stem(self.name)}-filled", self.mask_name)
            write_report(done, room / name, command=how, title=self.name, labels=loaded.labels, notes=self.notes)
        elif what == "error-bars":
            if done.bars is None:
                msg = f"this run has no error bars; ask for them ({LEVEL:.0%} of the unknown entries) and run again."
                raise UserError(msg, BAD_DATA)
            name = f"{stem(self.name)}-error-bars.npy"
            write_bars(str(room / name), done, loaded)
        else:
            kind = FORMATS[what]
            name = f"{stem(self.name)}-filled{kind.endings[0]}"
            write(room / name, np.asarray(done.completed), loaded, format=kind.name)
            if (room / name).is_dir():  # Zarr: a directory, which a browser can have only as an archive
                shutil.make_archive(str(room / name), "zip", room, name)
                shutil.rmtree(room / name)
                name += ".zip"
        return {"path": str(room / name), "name": name}


def _is_full(loaded: Loaded) -> bool:
    """Is every entry known?"""
    return int(loaded.observed().sum()) == loaded.size


def _format(name: str) -> dict[str, str]:
    kind = FORMATS[name]
    return {"name": name, "ending": kind.endings[0], "title": kind.title}
