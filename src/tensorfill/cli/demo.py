"""`tensorfill demo`: a photograph with most of its numbers taken away, and what came out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tensorfill.api import check_seed
from tensorfill.cli.checks import check_effort
from tensorfill.cli.options import DemoOptions
from tensorfill.cli.outputs import check_side_outputs
from tensorfill.cli.progress import Progress
from tensorfill.data.masks import random_entries
from tensorfill.data.samples import photograph
from tensorfill.io.atomic import find_overwritten, replace_file
from tensorfill.io.formats.output import file_errors
from tensorfill.io.observe import observe
from tensorfill.methods.base import Run
from tensorfill.result.completion import Completion
from tensorfill.result.record import Status
from tensorfill.show.view import psnr
from tensorfill.terminal import BAD_DATA, BAD_USAGE, INTERRUPTED, OK, UserError, as_user_error


@dataclass(frozen=True)
class Demo(DemoOptions):
    """What the user asked for."""

    command: str = "tensorfill demo"

    def run(self) -> int:
        """Do it; returns the exit code."""
        with as_user_error(BAD_USAGE):
            Run(check_seed(self.seed), max_iter=self.max_iter, seconds=self.seconds)
        if not 0 <= self.missing < 100:
            msg = f"--missing must be a percentage from 0 up to, but not including, 100; got {self.missing:g}."
            raise UserError(msg, BAD_USAGE)
        check_effort(self.effort)
        if clash := find_overwritten({"-o": self.out, "--report": self.report}, {}):
            raise UserError(clash, BAD_USAGE)
        truth = photograph()
        mask = random_entries(truth.shape, self.missing / 100, self.seed)
        with as_user_error(BAD_DATA):
            for path in filter(None, (self.out, self.report)):
                with file_errors(path, "write"):
                    Path(path).parent.mkdir(parents=True, exist_ok=True)
            check_side_outputs({"picture": self.out, "report": self.report})
            obs = observe(truth, mask, dims=("row", "column", "channel"))
            with Progress("completing a photograph", limit=self.seconds, show=not self.quiet) as progress:
                done = progress.complete(obs, effort=self.effort, seed=self.seed, max_iter=self.max_iter)
            ratio = psnr(done.estimate, truth, mask)
            with file_errors(self.out, "write"), replace_file(self.out) as file:
                done.plot(truth=truth).savefig(file, format="png", dpi=160, bbox_inches="tight", pad_inches=0.08)
            if self.report is not None:
                from tensorfill.show.report import write_report

                with file_errors(self.report, "write"):
                    title = f"A photograph, {self.missing:g} % of it missing"
                    write_report(done, self.report, command=self.command, truth=truth, title=title)
        self.tell(done, ratio)
        return INTERRUPTED if done.status is Status.INTERRUPTED else OK

    def tell(self, done: Completion, ratio: float) -> None:
        """Print the summary, also in a pipe, unless --quiet: this is what a demonstration is for."""
        if self.as_json:
            from tensorfill.show.summary import facts

            print(json.dumps({**facts(done), "psnr": ratio, "output": self.out, "report": self.report}, indent=2))
        elif not self.quiet:
            from tensorfill.cli.show import lines_about, show_summary

            lines = [line for line in lines_about(done) if line[0] != "how good"]
            lines += [("how good", f"PSNR {ratio:.2f} dB against the photograph itself"), ("picture", self.out)]
            if self.report is not None:
                lines.append(("report", self.report))
            show_summary(f"A photograph with {self.missing:g} % of its numbers missing", lines, good=done.status.ok)
