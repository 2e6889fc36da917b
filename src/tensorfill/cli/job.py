"""`tensorfill complete`, step by step: check, read, fit, write, tell. Every failure is a UserError, one sentence."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tensorfill.api import complete, settings_of
from tensorfill.cli import blocks
from tensorfill.cli.checks import (
    check_effort,
    check_numbers,
    coordinates,
    mode_and_units,
    mode_and_weight,
    number_or_text,
    prior_of,
)
from tensorfill.cli.outputs import check_outputs
from tensorfill.cli.progress import Progress, planned
from tensorfill.data.atomic import overwritten
from tensorfill.data.checkpoint import CheckpointWarning
from tensorfill.data.files import FileWarning, Loaded, format_of, long_columns, read, read_list, read_mask, write
from tensorfill.data.fold import fold_of, suggestion
from tensorfill.data.formats.opening import choose_out
from tensorfill.data.formats.output import naming
from tensorfill.data.horizon import extended, extended_file
from tensorfill.data.memory import limited
from tensorfill.data.observations import DENSE_LIMIT, DataWarning, Observations
from tensorfill.data.sentinels import sentinels, warn_of_sentinels
from tensorfill.data.timeaxis import check_steps, time_modes
from tensorfill.methods import METHODS
from tensorfill.result.completion import Completion
from tensorfill.result.outputs import numbers, write_bars
from tensorfill.result.record import Status
from tensorfill.terminal import BAD_DATA, BAD_USAGE, INTERRUPTED, OK, UserError, as_user_error, noting

LEVEL = 0.9  # of --error-bars


@dataclass(frozen=True)
class Job:
    """What the user asked for; names as on the command line."""

    source: str
    out: str
    mask: str | None = None
    prior: str | None = None
    model: str | None = None
    rank: int | tuple[int, ...] | None = None
    smooth: tuple[str, ...] = ()
    method: str = "auto"
    effort: str = "normal"
    seed: int = 0
    report: str | None = None
    error_bars: str | None = None
    unrounded: bool = False
    missing_value: str | None = None
    dims: str | None = None
    value: str | None = None
    variable: str | None = None
    alpha_missing: bool = False
    format: str | None = None
    at: str | None = None
    fold: str | None = None
    time: str | None = None
    max_gap: int | None = None
    horizon: int | None = None
    max_memory: str | None = None
    scheduler: str | None = None
    checkpoint: str | None = None
    resume: bool = False
    max_iter: int | None = None
    seconds: float | None = None
    quiet: bool = False
    as_json: bool = False
    command: str = ""

    def run(self) -> int:
        """Do it; returns the exit code."""
        with ExitStack() as stack:
            with as_user_error(BAD_USAGE):  # not around the run: a reader that goes away is no mistake
                stack.enter_context(limited(self.max_memory))
            return self._run()

    def _run(self) -> int:
        with as_user_error(BAD_USAGE):
            settings = self.settings()
            fold: Any = None if self.fold is None else mode_and_units(self.fold)
        with as_user_error(BAD_DATA):
            large = blocks.is_large(self)
        if large:
            return blocks.run(self, settings)
        with as_user_error(BAD_DATA), noting(FileWarning, DataWarning) as notes:
            loaded = self.load()
            obs = loaded.observations()
            warn_of_sentinels(obs)
            if self.unrounded or self.max_gap is not None:  # what is left empty is NaN
                loaded = loaded.floating(loaded.dtype if loaded.dtype.kind == "f" else obs.values.dtype)
        with as_user_error(BAD_USAGE):
            for mode in settings.get("smooth", {}):
                obs.mode(mode)
            if self.prior is not None:
                settings["prior"] = prior_of(self.prior, obs)
            when, whole = self.when(obs, loaded), obs
            if self.horizon is not None:
                loaded = extended_file(loaded, when["time"][0], self.horizon)
                whole = extended(obs, when["time"][0], self.horizon)
            if fold is not None:
                fold = fold_of(whole, fold, loaded.labels or {})
        with as_user_error(BAD_DATA):
            indices = self.places(loaded)
            check_outputs(self, loaded, whole, indices)
            self.check_gaps(whole)
            with noting(DataWarning, CheckpointWarning) as warned:
                name = "standard input" if self.source == "-" else Path(self.source).name
                bars = None if self.error_bars is None else LEVEL
                expected = planned(self.method_name, settings, self.max_iter)
                done = self.fit(obs, name, expected, fold=fold, error_bars=bars, **settings, **when)
            self.write(done, loaded, indices)
            if self.error_bars is not None and done.bars is not None:
                write_bars(self.error_bars, done, loaded)
            helps = "" if self.fold is not None else suggestion(obs, loaded.labels or {})
            notes = [*loaded.notes, *notes, *warned, *self.notes(loaded), *([helps] if helps else [])]
            if self.report is not None:
                notes += self.write_report(done, loaded, notes)
        self.tell(done, notes)
        return INTERRUPTED if done.status is Status.INTERRUPTED else OK

    # --- before -------------------------------------------------------------------------------------------------

    @property
    def method_name(self) -> str:
        return f"auto-{self.effort}" if self.method == "auto" and self.effort != "normal" else self.method

    def settings(self) -> dict[str, Any]:
        """The settings of the method that were given; refuses what does not go together."""
        self._check_streams()
        outputs = {"-o": self.out, "--report": self.report, "--error-bars": self.error_bars}
        inputs = {"the input": self.source, "the mask": self.mask, "the list of --at": self.at}
        if clash := overwritten({**outputs, "--checkpoint": self.checkpoint}, inputs):
            raise UserError(clash, BAD_USAGE)
        check_effort(self.effort)
        if self.resume and self.checkpoint is None:
            msg = "--resume needs --checkpoint F, the file to go on from."
            raise UserError(msg, BAD_USAGE)
        for rank in self.rank if isinstance(self.rank, tuple) else (self.rank,):
            check_numbers(rank=rank)
        check_numbers(max_iter=self.max_iter, seed=self.seed, seconds=self.seconds)
        cls = METHODS[self.method_name]
        if self.effort != "normal" and self.method not in ("auto", f"auto-{self.effort}"):
            msg = f"--effort {self.effort} belongs to --method auto; got --method {self.method}."
            raise UserError(msg, BAD_USAGE)
        known = settings_of(cls)
        smooth = dict(mode_and_weight(text) for text in self.smooth)
        prior = None if self.prior is None else prior_of(self.prior)
        given = {"prior": prior, "model": self.model, "rank": self.rank, "smooth": smooth or None}
        settings = {k: v for k, v in given.items() if v is not None}
        for key in settings:
            if key not in known:
                able = ", ".join(n for n, c in METHODS.items() if key in settings_of(c))
                msg = f"--{key} means nothing for method {self.method_name}; it does for {able}."
                raise UserError(msg, BAD_USAGE)
        cls(**settings)
        return settings

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
        ins = [f for f in (self.source, self.mask, self.at) if f == "-"]
        if len(ins) > 1:
            msg = 'only one of IN, --mask and --at can be "-", standard input.'
            raise UserError(msg, BAD_USAGE)

    def load(self) -> Loaded:
        """The data, with what --mask leaves of them."""
        dims = None if self.dims is None else [d.strip() for d in self.dims.split(",")]
        loaded = read(
            self.source,
            dims=dims,
            value=self.value,
            variable=self.variable,
            missing_value=None if self.missing_value is None else number_or_text(self.missing_value),
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

    def when(self, obs: Observations, loaded: Loaded) -> dict[str, Any]:
        """What was asked about time, the modes by number: time, max_gap and horizon of `complete`."""
        asked = {"max_gap": self.max_gap, "horizon": self.horizon}
        given = {name: check_steps(f"--{name.replace('_', '-')}", n) for name, n in asked.items() if n is not None}
        if self.time is None and not given:
            return {}
        names = None if self.time is None else [d.strip() for d in self.time.split(",")]
        keys = None if names is None else [int(d) if d.isdigit() and d not in obs.dims else d for d in names]
        wanted = "--max-gap" if self.max_gap is not None else "--horizon"
        return {"time": time_modes(obs, keys, wanted, loaded.labels or {}), **given}

    @property
    def _format_is_for_input(self) -> bool:
        """--format is for the names that do not say it; where both do, it corrects that of the input."""
        return format_of(self.source) is None or format_of(self.out) is not None

    @property
    def out_format(self) -> str | None:
        return self.format if format_of(self.out) is None else None

    def places(self, loaded: Loaded) -> Any:
        """The coordinates (n, N) that --at names, or None for all entries."""
        if self.at is None:
            if loaded.size > DENSE_LIMIT:
                sentence = (
                    f"the completed tensor would hold {loaded.size:.2g} numbers, and {DENSE_LIMIT:.2g} is the limit; "
                    "name the entries you want with --at F."
                )
                raise UserError(sentence, BAD_DATA)
            return None
        listed = read_list(self.at, loaded)
        with naming(self.at, "read"):
            return coordinates(listed, loaded)

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

    def fit(self, data: Any, name: str, iterations: int | None, **settings: Any) -> Completion:
        """The completion of `data`, called `name` in the progress bar, which expects so many iterations."""
        with Progress(f"completing {name}", iterations, limit=self.seconds, show=not self.quiet) as progress:
            try:
                return complete(
                    data,
                    method=self.method,
                    effort=self.effort,
                    seed=self.seed,
                    callback=progress if progress.shown else None,
                    checkpoint=self.checkpoint,
                    resume=self.resume,
                    max_iter=self.max_iter,
                    seconds=self.seconds,
                    **settings,
                )
            except KeyboardInterrupt as error:
                sentence = "interrupted before there was anything to write."
                raise UserError(sentence, INTERRUPTED) from error

    # --- after --------------------------------------------------------------------------------------------------

    def write(self, done: Completion, loaded: Loaded, indices: Any) -> None:
        """Write the answer: all of it, or its values at the coordinates `indices` (n, N)."""
        if indices is None:
            completed = numbers(done) if self.unrounded else done.completed
            if done.unfilled is not None:
                completed = np.where(done.unfilled, np.nan, np.ma.getdata(completed))
            write(self.out, np.asarray(completed), loaded, format=self.out_format)
            return
        values = np.array(done.at(indices, known=True), dtype=np.float64)
        if done.unfilled is not None:
            values[done.unfilled[tuple(indices.T)]] = np.nan
        write(self.out, values, loaded, format=self.out_format, indices=indices)

    def notes(self, loaded: Loaded) -> list[str]:
        """What the user should know about the file that was written."""
        kind = choose_out(self.out, loaded, self.out_format)
        return [kind.note] if kind.note else []

    def write_report(self, done: Completion, loaded: Loaded, notes: Sequence[str]) -> list[str]:
        """Write it; returns what to tell where it cannot be drawn: the answer, which is written, is what was asked."""
        from tensorfill.show.report import write_report

        assert self.report is not None
        name = "standard input" if self.source == "-" else Path(self.source).name
        with naming(self.report, "write"):
            try:
                write_report(done, self.report, command=self.command, title=name, labels=loaded.labels, notes=notes)
            except (OSError, MemoryError):
                raise
            except Exception as error:  # whatever a drawing library meets in labels and numbers
                line = (str(error).strip().splitlines() or [type(error).__name__])[0]
                print(f"tensorfill: the report could not be drawn ({line}); the answer is written.", file=sys.stderr)
                return [f"the report could not be drawn ({line})"]
        return []

    def tell(self, done: Completion, notes: Sequence[str]) -> None:
        """The summary: for machines, for people on a terminal, or nothing."""
        if done.status is Status.INTERRUPTED:
            print(f"tensorfill: interrupted; the best so far is in {self._out_name}.", file=sys.stderr)
        if self.as_json:
            from tensorfill import __version__
            from tensorfill.show.summary import facts

            where = {"input": self.source, "output": self.out, "report": self.report, "error_bars": self.error_bars}
            print(json.dumps({**facts(done), **where, "notes": list(notes), "version": __version__}, indent=2))
        elif not self.quiet and self.out != "-" and sys.stdout.isatty():
            from tensorfill.cli.show import lines_about, summary

            lines = [*lines_about(done), *(("note", note) for note in notes), ("written", self._out_name)]
            more = {"error bars": self.error_bars, "report": self.report}
            lines += [(word, path) for word, path in more.items() if path is not None]
            summary(f"{self.source} → {self.out}", lines, good=done.status.ok)

    @property
    def _out_name(self) -> str:
        return "standard output" if self.out == "-" else self.out
