"""The work of a worker process on its file: read it, mask it, fill the gaps, draw the result, write it."""

from __future__ import annotations

import dataclasses
import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.api import complete, make_method
from tensorfill.app import describe
from tensorfill.app.formats import list_formats, table_formats
from tensorfill.app.openfile import OpenFile, paintable
from tensorfill.app.options import Options, bars_name, command, in_page_words, python, stem
from tensorfill.app.progress import Progress, save_picture
from tensorfill.auto.contest import BUDGET, usual_budget
from tensorfill.data.observations import DENSE_LIMIT, DataWarning
from tensorfill.io.files import (
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
from tensorfill.io.mixed import MixedTable
from tensorfill.io.timeplan import TimePlan, plan_time
from tensorfill.numerical.base import make_prior
from tensorfill.result.answer import Filled
from tensorfill.result.completion import Completion
from tensorfill.result.outputs import LEVEL, write_bars
from tensorfill.result.record import History, Status
from tensorfill.show.leaderboard import leaderboard
from tensorfill.show.report import write_report
from tensorfill.show.summary import quality
from tensorfill.show.view import value_range
from tensorfill.terminal import BAD_DATA, UserError, collect_warnings


class Workspace:
    """One file at a time: read it, mask it, fill it, write the answer."""

    def __init__(self, send: Callable[..., None]) -> None:
        self.send = send
        self.path = self.folder = Path()
        self.variables: list[str] = []  # to choose from, where the file has several
        self.file: OpenFile | None = None
        self.options = Options()
        self.notes: list[str] = []
        self.plan: TimePlan | None = None
        self.table: MixedTable | None = None  # what is filled, where it is more than numbers
        self.done: Completion | None = None

    def warm_up(self) -> None:
        """Import now what the first run would wait for."""
        for name in ("numba", "matplotlib.figure", "scipy.ndimage"):
            importlib.import_module(name)
        list_formats(np.zeros((2, 2)), Loaded("npy", (2, 2), np.dtype(float), values=np.zeros((2, 2))), "npy")

    @property
    def name(self) -> str:
        return self.path.name

    def plain(self, sentence: str) -> str:
        """The sentence without the folder in which the server keeps the file, in words of the page."""
        return in_page_words(sentence.replace(f"{self.path.parent}{os.sep}", ""))

    # --- reading ------------------------------------------------------------------------------------------------

    def open(self, path: str, folder: str, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Read the file and describe it; without options, guess the columns of a long table."""
        self.path, self.folder = Path(path), Path(folder)
        tempfile.tempdir = folder  # what is tried out is removed with the file, also where this process is killed
        options = Options.of(given or {})
        with collect_warnings(FileWarning, DataWarning) as notes:
            loaded, options = self._read_guessing() if given is None else (read(path, **options.reading), options)
        return self._use(options, loaded, loaded, [*loaded.notes, *notes])

    def _read_guessing(self) -> tuple[Loaded, Options]:
        """Read a table as a matrix; in long form where it is none, or where only that form has absent entries."""
        try:
            matrix = read(self.path)
        except FileError:
            matrix = None
        if matrix is None or _is_full(matrix):
            with suppress(FileError):
                if columns := long_columns(self.path):
                    options = Options(dims=columns[0], value=columns[1])
                    table = read(self.path, **options.reading)
                    if matrix is None or not _is_full(table):
                        return table, options
        return read(self.path) if matrix is None else matrix, Options()  # says again what is wrong

    def hints(self, error: UserError) -> dict[str, Any]:
        """What helps to read a file that could not be: the names of its columns, or of its variables."""
        if self.file is not None or not self.name:
            return {}
        if isinstance(error.__cause__, FileError) and error.__cause__.variables:
            self.variables = error.__cause__.variables
            return {"variables": self.variables}
        try:
            names = list(columns_of(self.path))
        except FileError:
            return {}
        return {"columns": names} if len(names) > 2 else {}

    def mask(self, path: str | None = None, name: str | None = None, painted: bool = False) -> dict[str, Any]:
        """Use a mask, or none."""
        file = self._open()
        loaded = file.whole
        if path is None:
            return self._use(file.options, loaded, loaded, [*loaded.notes])
        with collect_warnings(FileWarning) as notes:
            loaded = loaded.with_mask(read_mask(path, loaded.shape))
        if not loaded.observed().any():
            msg = f"the mask leaves no known entry of {self.name}: white must mean known, black missing."
            raise UserError(msg, BAD_DATA)
        name = f"{stem(self.name)}-mask{Path(path).suffix}" if painted else name
        return self._use(file.options, file.whole, loaded, [*loaded.notes, *notes], Path(path), name)

    def mask_colour(self, colour: int) -> dict[str, Any]:
        """Take the pixels of this colour as missing."""
        path = self.folder / f"colour-{colour}.png"
        away = describe.distance(self._open().whole, colour)
        save_picture(np.where(away == 0, 0, 255).astype(np.uint8), path)  # black = missing
        return self.mask(str(path), painted=True)

    def _open(self) -> OpenFile:
        if self.file is None:
            msg = "no file is open here yet; open one first."
            raise UserError(msg, BAD_DATA)
        return self.file

    def _use(
        self,
        options: Options,
        whole: Loaded,
        loaded: Loaded,
        notes: list[str],
        mask_file: Path | None = None,
        mask_name: str | None = None,
    ) -> dict[str, Any]:
        """Take these data from now on, and describe them."""
        plain = mask_file is None and set(options.reading) <= {"missing_value"}
        table = MixedTable.find(str(self.path), options.missing_value) if plain else None
        file = OpenFile(options, whole, loaded, mask_file, mask_name, table)
        with collect_warnings(DataWarning) as more:
            described = describe.describe_file(file, self.name)
        if paintable(loaded):
            rgb = describe.draw_photograph(loaded, value_range(file.sample))
        else:
            rgb = describe.draw_heat_map(file.obs if table is None else describe.in_own_scales(table))
        save_picture(rgb, self.folder / described["given"])
        self.file, self.options, self.done, self.notes = file, options, None, []
        if table is None:  # of one with text it is said when it is filled
            self._note([*notes, *more])
        return {**described, "variables": self.variables, "notes": self.notes, "mask": mask_name}

    # --- the fit ------------------------------------------------------------------------------------------------

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Check that there is something to fill, and that the options make sense."""
        file = self._open()
        options = file.options.with_fit(given)
        prior = None if options.prior is None else make_prior(options.prior)
        settings = {"prior": prior, "rank": options.rank}
        make_method(options.method, options.effort, {k: v for k, v in settings.items() if v is not None})
        table = None if options.about_time else file.table
        file = file if table is file.table else dataclasses.replace(file, table=None)  # time is a matter of numbers
        with collect_warnings(DataWarning) as more:
            plan = plan_time(file.loaded, file.obs, **options.about_time)
        obs = plan.obs
        if obs.nnz == obs.size:
            do = "Paint over what is to be replaced" if paintable(file.whole) else "Say which value means missing"
            msg = f"{self.name} has no missing entry: nothing to fill. {do}, or choose a mask."
            raise UserError(msg, BAD_DATA)
        if obs.size > DENSE_LIMIT:
            msg = f"{self.name} has {obs.size:.2g} entries, too many for a page; use the command line with --at."
            raise UserError(msg, BAD_DATA)
        self.options, self.plan, self.table, self.done = options, plan, table, None
        self._note(more)
        rough = BUDGET.get(options.effort, 1.0) * usual_budget(file.facts.observed)
        return {"expected": round(max(1.0, rough), 1)}  # the pace of the bar before there is evidence

    def _note(self, notes: list[str]) -> None:
        self.notes = list(dict.fromkeys([*self.notes, *notes]))

    def fit(self) -> None:
        """Do the run; a stop leaves the best so far."""
        assert self.plan is not None
        contests = 2 if self.options.error_bars else 1
        progress = Progress(self.send, self.plan.obs, self.folder, contests)
        with collect_warnings(DataWarning) as more:
            settings = self.options.fitting | self.plan.settings
            data = self.plan.given if self.table is None else self.table.frame
            self.done = complete(data, callback=progress, **settings)
        self._note(more)

    def fit_means(self) -> None:
        """Fill with the means, which takes no time: the run was stopped before there was any model."""
        if self.done is None:
            assert self.plan is not None
            obs = self.plan.obs
            self.done = Completion(obs, "means", Status.INTERRUPTED, History(), Filled(describe.slice_means(obs)))

    # --- the answer ---------------------------------------------------------------------------------------------

    def _finish(self) -> tuple[Completion, Loaded]:
        """The answer, and the form in which it is written."""
        if self.done is None or self.plan is None:
            msg = "there is no answer yet; fill the gaps first."
            raise UserError(msg, BAD_DATA)
        output = self.plan.output
        return self.done, output if self.table is None else dataclasses.replace(output, labels=None)

    def _commands(self, out: str) -> tuple[str, str]:
        """The command and the lines of Python that give the same answer."""
        given: Any = self.options, self.name, out, self._open().mask_name, self.table is not None
        return command(*given), python(*given)

    def summary(self) -> dict[str, Any]:
        """What the page shows first of the answer."""
        done, output = self._finish()
        file = self._open()
        formats = (
            list_formats(np.asarray(done), output, file.loaded.format)
            if self.table is None
            else table_formats(self.name)
        )
        out = f"{stem(self.name)}-filled{formats[0]['ending']}"
        if self.table is not None:
            gaps = (self.table.frame.isna() & done.completed.notna()).to_numpy()
        else:
            gaps = ~done.observations.mask & (True if done.unfilled is None else ~done.unfilled)
            gaps[:, [n for n, c in enumerate(done.columns) if c.keeps_gaps]] = False
        if (ahead := self.options.horizon) and self.plan is not None:
            mode = self.plan.settings["time"][0]
            gaps = gaps.take(range(gaps.shape[mode] - ahead), axis=mode)
        photo = paintable(output)
        in_shell, in_python = self._commands(out)
        settled = set(file.loaded.notes) - set(output.notes)  # by a forecast, which adds steps that had no row
        return {
            "sentence": done.status.sentence,
            "stopped": done.status is Status.INTERRUPTED,
            "good": done.status.ok,
            "quality": quality(done),
            "filled": int(gaps.reshape(*gaps.shape[:2], -1).any(axis=2).sum() if photo else gaps.sum()),
            "unit": "pixel" if photo else "gap",
            "ahead": ahead,
            "formats": formats,
            "command": in_shell,
            "python": in_python,
            "mask": file.mask_name,
            "bars": done.bars is not None,
            "leaders": [list(row) for row in leaderboard(done)][:3],
            "notes": [in_page_words(note) for note in self.notes if note not in settled],
        }

    def details(self) -> dict[str, Any]:
        """Draw and explain the result: a piece of HTML."""
        return {"html": describe.details(*self._finish(), self.table)}

    def write(self, what: str, folder: str) -> dict[str, Any]:
        """Write a file to download."""
        if what == "mask":
            file = self._open()
            if file.mask_file is None or file.mask_name is None:
                msg = "there is no mask to download; paint or choose one first."
                raise UserError(msg, BAD_DATA)
            return {"path": str(file.mask_file), "name": file.mask_name}
        path = Path(folder) / self._download_name(what)
        done, output = self._finish()
        if what == "report":
            how, _ = self._commands(f"{stem(self.name)}-filled")
            write_report(done, path, command=how, title=self.name, labels=output.labels, notes=self.notes)
        elif what == "error-bars":
            if done.bars is None:
                msg = f'this run has no error bars; tick "Error bars" ({LEVEL:.0%} intervals) and run again.'
                raise UserError(msg, BAD_DATA)
            if self.table is not None:
                self.table.write_bars(str(path), done)
            else:
                write_bars(str(path), done, output)
        elif self.table is not None:
            self.table.write(str(path), done.completed)
        else:
            write(path, np.asarray(done), output, format=what)
        if path.is_dir():  # Zarr: a directory, which a browser can have only as an archive
            path = Path(shutil.make_archive(str(path), "zip", folder, path.name))
        return {"path": str(path), "name": path.name}

    def _download_name(self, what: str) -> str:
        if what == "report":
            return f"{stem(self.name)}-report.html"
        if what == "error-bars":
            return bars_name(self.name, self.table is not None)
        return f"{stem(self.name)}-filled{FORMATS[what].endings[0]}"


def _is_full(loaded: Loaded) -> bool:
    """Is every entry known?"""
    return int(loaded.observed().sum()) == loaded.size
