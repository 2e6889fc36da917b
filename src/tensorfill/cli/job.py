"""`tensorfill complete`, step by step: check, read, fit, write, tell. Every failure is a UserError, one sentence."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.api import check_seed, settings_of
from tensorfill.cli import blocks, mixed
from tensorfill.cli.checks import (
    check_effort,
    mode_and_weight,
    prior_of,
)
from tensorfill.cli.options import CompleteOptions
from tensorfill.cli.outputs import check_outputs, check_side_outputs, show_outcome, write_report
from tensorfill.cli.progress import Progress
from tensorfill.data.coordinates import check_inside
from tensorfill.data.memory import limit_memory
from tensorfill.data.observations import DENSE_LIMIT, DataWarning, Observations
from tensorfill.data.sentinels import sentinels, warn_of_sentinels
from tensorfill.io.atomic import find_overwritten
from tensorfill.io.checkpoint import CheckpointWarning
from tensorfill.io.files import (
    FileWarning,
    Loaded,
    format_of,
    long_columns,
    number_or_text,
    read,
    read_mask,
    write,
)
from tensorfill.io.formats.long import dim_names
from tensorfill.io.formats.opening import choose_output_format
from tensorfill.io.formats.output import file_errors
from tensorfill.io.timeplan import parse_fold, plan_time
from tensorfill.methods.base import METHODS, Run
from tensorfill.result.completion import Completion
from tensorfill.result.outputs import LEVEL, unrounded, write_bars
from tensorfill.result.record import Status
from tensorfill.terminal import BAD_DATA, BAD_USAGE, INTERRUPTED, OK, UserError, as_user_error, collect_warnings


@dataclass(frozen=True)
class Job(CompleteOptions):
    """What the user asked for."""

    command: str = ""

    def run(self) -> int:
        """Do it; returns the exit code."""
        with ExitStack() as stack:
            with as_user_error(BAD_USAGE):  # not around the run: a reader that goes away is no mistake
                stack.enter_context(limit_memory(self.max_memory))
            return self._run()

    def _run(self) -> int:
        with as_user_error(BAD_USAGE):
            settings = self.settings()
            fold: Any = None if self.fold is None else parse_fold(self.fold)
        with as_user_error(BAD_DATA):
            large = blocks.is_large(self)
        if large:
            return blocks.run(self, settings)
        with as_user_error(BAD_DATA):
            table = mixed.table_of(self)
        if table is not None:
            return mixed.run(self, table, settings)
        with as_user_error(BAD_DATA), collect_warnings(FileWarning, DataWarning) as notes:
            loaded = self.load()
            obs = loaded.observations()
            warn_of_sentinels(obs)
            if self.unrounded:
                loaded = loaded.floating(loaded.dtype if loaded.dtype.kind == "f" else obs.values.dtype)
        with as_user_error(BAD_USAGE), collect_warnings(DataWarning) as added:
            for mode in settings.get("smooth", {}):
                obs.mode(mode)
            if self.prior is not None:
                settings["prior"] = prior_of(self.prior, obs)
            plan = plan_time(loaded, obs, time=self.time, max_gap=self.max_gap, horizon=self.horizon, fold=fold)
            loaded = plan.output
        with as_user_error(BAD_DATA):
            listed = self.places(loaded)
            check_outputs(self, loaded, plan.obs)
            self.check_gaps(plan.obs)
            with collect_warnings(DataWarning, CheckpointWarning) as warned:
                name = "standard input" if self.source == "-" else Path(self.source).name
                bars = None if self.error_bars is None else LEVEL
                fill = self.fill_unseen or choose_output_format(self.out, loaded, self.out_format).whole
                done = self.fit(plan.given, name, error_bars=bars, fill_unseen=fill, **settings, **plan.settings)
            self.write(done, loaded, listed)
            self.save_run(done)
            if self.error_bars is not None and done.bars is not None:
                write_bars(self.error_bars, done, loaded)
            notes = [*loaded.notes, *notes, *added, *warned, *self.notes(loaded)]
            if self.report is not None:
                notes += write_report(self, done, loaded.labels, notes)
        show_outcome(self, done, notes)
        return INTERRUPTED if done.status is Status.INTERRUPTED else OK

    # --- before -------------------------------------------------------------------------------------------------

    @property
    def method_name(self) -> str:
        return f"auto-{self.effort}" if self.method == "auto" and self.effort != "normal" else self.method

    def settings(self) -> dict[str, Any]:
        """The settings of the method that were given; refuses what does not go together."""
        self._check_streams()
        self.check_overwriting()
        check_effort(self.effort)
        if self.resume and self.checkpoint is None:
            msg = "--resume needs --checkpoint F, the file to go on from."
            raise UserError(msg, BAD_USAGE)
        Run(check_seed(self.seed), max_iter=self.max_iter, seconds=self.seconds)
        cls = METHODS[self.method_name]
        if self.effort != "normal" and self.method not in ("auto", f"auto-{self.effort}"):
            msg = f"--effort {self.effort} belongs to --method auto; got --method {self.method}."
            raise UserError(msg, BAD_USAGE)
        known = settings_of(cls)
        smooth = dict(mode_and_weight(text) for text in self.smooth)
        prior = None if self.prior is None else prior_of(self.prior)
        given = {"prior": prior, "model": self.model, "rank": self.rank, "smooth": smooth or None}
        given["texture"] = self.texture
        settings = {k: v for k, v in given.items() if v is not None}
        for key in settings:
            if key not in known:
                able = ", ".join(n for n, c in METHODS.items() if key in settings_of(c))
                msg = f"--{key} means nothing for method {self.method_name}; it does for {able}."
                raise UserError(msg, BAD_USAGE)
        cls(**settings)
        return settings

    def check_overwriting(self, **more: str) -> None:
        """Refuse to write over what is read, or twice to one file; `more` are outputs that follow from others."""
        outputs = {
            "-o": self.out,
            "--report": self.report,
            "--error-bars": self.error_bars,
            "--save": self.save,
            **more,
        }
        inputs = {"the input": self.source, "the mask": self.mask, "the list of --at": self.at}
        if clash := find_overwritten({**outputs, "--checkpoint": self.checkpoint}, inputs):
            raise UserError(clash, BAD_USAGE)
        with as_user_error(BAD_DATA):
            check_side_outputs({"checkpoint": self.checkpoint, "saved run": self.save, "report": self.report})

    def _check_streams(self) -> None:
        if self.out == "-" and self.as_json:
            msg = "-o - and --json both write to standard output; choose one."
            raise UserError(msg, BAD_USAGE)
        if self.out == "-" and getattr(sys.stdout, "name", "") == os.devnull:  # what `main` puts for a closed one
            msg = "cannot write standard output: it is closed."
            raise UserError(msg, BAD_DATA)
        if self.horizon is not None and format_of(self.out) is None and self.format is None:
            msg = f"--horizon writes a new file, whose form {self.out!r} does not say: add --format, e.g. --format csv."
            raise UserError(msg, BAD_USAGE)
        if self.source == self.mask == "-":
            msg = 'only one of IN and --mask can be "-", standard input.'
            raise UserError(msg, BAD_USAGE)

    def load(self) -> Loaded:
        """The data, with what --mask leaves of them."""
        dims = None if self.dims is None else [d.strip() for d in self.dims.split(",")]
        loaded = read(
            self.source,
            dims=dims,
            value=self.value,
            variable=self.variable,
            missing_value=number_or_text(self.missing_value),
            alpha_missing=self.alpha_missing,
            format=self.format if self._format_is_for_input else None,
        )
        if self.mask is None:
            return loaded
        masked = loaded.with_mask(read_mask(self.mask, loaded.shape))
        if not masked.observed().any():
            msg = f"{self.mask} leaves no known entry of {self.source}."
            raise UserError(msg, BAD_DATA)
        return masked

    @property
    def _format_is_for_input(self) -> bool:
        """--format is for the names that do not say it; where both do, it corrects that of the input."""
        return format_of(self.source) is None or format_of(self.out) is not None

    @property
    def out_format(self) -> str | None:
        return self.format if format_of(self.out) is None else None

    def places(self, loaded: Loaded) -> Any:
        """(table, coordinates (n, N)) of the entries that --at names, or None for all entries."""
        if self.at is not None:
            blocks.check_list(self.at, self.out)
            table, where = blocks.read_list(self.at, dim_names(loaded), loaded.labels or {})
            check_inside(where, loaded.shape, "the list of --at")
            return table, where
        if loaded.size > DENSE_LIMIT:
            sentence = (
                f"the completed tensor would hold {loaded.size:.2g} numbers, and {DENSE_LIMIT:.2g} is the limit; "
                "name the entries you want with --at F."
            )
            raise UserError(sentence, BAD_DATA)
        return None

    def check_gaps(self, obs: Observations) -> None:
        """Refuse data without a gap: most likely the user has not said what marks missing entries."""
        if obs.nnz == obs.size:
            name = "standard input" if self.source == "-" else self.source
            msg = (
                f"{name} has no missing entry: nothing to fill. Mark what is missing by NaN, --mask F or "
                "--missing-value V."
            )
            msg += "".join(f" {found.question}" for found in sentinels(obs.values)[:1])
            guess = None if self.source == "-" or self.dims else long_columns(self.source)
            if guess is not None:
                msg += f" If each row is one entry: --dims {','.join(guess[0])} --value {guess[1]}."
            raise UserError(msg, BAD_DATA)

    # --- the fit ------------------------------------------------------------------------------------------------

    def fit(self, data: Any, name: str, **settings: Any) -> Completion:
        """The completion of `data`, called `name` in the progress line."""
        own = ("method", "effort", "seed", "checkpoint", "resume", "max_iter")
        with Progress(f"completing {name}", limit=self.seconds, show=not self.quiet) as progress:
            return progress.complete(data, **{key: getattr(self, key) for key in own}, **settings)

    # --- after --------------------------------------------------------------------------------------------------

    def write(self, done: Completion, loaded: Loaded, listed: Any) -> None:
        """Write the answer: all of it, or its values at the entries that are listed."""
        if listed is None:
            completed = unrounded(done) if self.unrounded else done.completed
            if done.unfilled is not None:
                completed = np.where(done.unfilled, np.nan, np.ma.getdata(completed))
            write(self.out, np.asarray(completed), loaded, format=self.out_format)
            return
        table, where = listed
        values = np.array(done.at(where, known=True), dtype=np.float64)
        if done.unfilled is not None:
            values[done.unfilled[tuple(where.T)]] = np.nan
        name = str(loaded.extra.get("name") or "value")
        blocks.write_table(table.assign(**{name: loaded.restore(values, where)}), self.out)

    def save_run(self, done: Completion) -> None:
        """Save the run itself, where that was asked for."""
        if self.save is not None:
            with file_errors(self.save, "write"):
                done.save(self.save)

    def notes(self, loaded: Loaded) -> list[str]:
        """What the user should know about the file that was written."""
        kind = choose_output_format(self.out, loaded, self.out_format)
        return [kind.note] if kind.note else []
