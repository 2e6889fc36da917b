"""Where cases are run: in a process of its own, watched from outside, so that the worst case is one bad line."""

from __future__ import annotations

import importlib
import linecache
import multiprocessing
import os
import resource
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorfill
from tensorfill.data.files import FileError

HANG = 10.0  # seconds after which a case hangs
GROWTH = 300 * 2**20  # bytes by which a case may let the process grow beyond the budget of memory
PACKAGE = str(Path(tensorfill.__file__).parent)


@dataclass
class Tally:
    """What came of the cases of one kind."""

    kind: str
    cases: int = 0
    answers: int = 0  # it worked
    sentences: int = 0  # it was refused in the package's own words
    bad: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, name: str, outcome: str) -> None:
        self.cases += 1
        if outcome == "answer":
            self.answers += 1
        elif outcome == "sentence":
            self.sentences += 1
        else:
            self.bad.append(f"{name}: {outcome}")


class Wrong(Exception):
    """Something is not as it must be, and this says what."""


def in_own_words(error: BaseException) -> bool:
    """Was this raised by a `raise` of the package, as a kind of error that callers may expect?"""
    if isinstance(error, FileError | MemoryError) or (isinstance(error, OSError) and error.filename):
        return True
    if not isinstance(error, ValueError | TypeError | ImportError | OSError | IndexError | AttributeError):
        return False
    last = traceback.extract_tb(error.__traceback__)[-1]
    own = last.filename.startswith(PACKAGE) and linecache.getline(last.filename, last.lineno or 0).strip().startswith(
        "raise"
    )
    return own and bool(str(error).strip())


def outcome_of(case: Callable[[], object]) -> str:
    """`answer`, `sentence`, or what is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            case()
    except Wrong as wrong:
        return str(wrong)
    except Exception as error:
        if in_own_words(error):
            return "sentence"
        last = traceback.extract_tb(error.__traceback__)[-1]
        return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}: {str(error)[:100]}"
    return "answer"


def _work(module: str, seed: int, first: int, pipe: Any, budget: int) -> None:
    """Cases from `first` on, one after the other: (number, name, outcome) through the pipe."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries complain of damaged files on standard error
    cases = importlib.import_module(module).Cases(seed)
    for k in range(first, 10**9):
        name, case = cases.make(k)
        pipe.send((k, name, None))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        outcome = outcome_of(case)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
        if k > first + 20 and grown > budget + GROWTH:  # the first ones load libraries
            outcome = f"it took {grown / 2**20:.0f} MB"
        pipe.send((k, name, outcome))


def run_cases(module: str, seconds: float, seed: int = 0, *, most: int = 10**9, budget: int = 0) -> Tally:
    """As many cases of `module` as there is time for. A crash or a hang is a case gone bad; the rest goes on."""
    tally, began, k = Tally(module.rpartition(".")[2]), time.monotonic(), 0
    context = multiprocessing.get_context("spawn")
    while k < most and time.monotonic() - began < seconds:
        ours, theirs = context.Pipe(duplex=False)
        worker = context.Process(target=_work, args=(module, seed, k, theirs, budget), daemon=True)
        worker.start()
        theirs.close()
        running, wait = "loading", 300.0  # to load everything
        while k < most and (time.monotonic() - began < seconds or not tally.cases):
            try:
                if not ours.poll(wait):
                    tally.add(running, f"hangs for more than {wait:g} s")
                    break
                number, name, outcome = ours.recv()
            except EOFError:
                worker.join(5)
                tally.add(running, f"crash, exit code {worker.exitcode}")
                break
            if outcome is None:
                running, wait = name, HANG
            else:
                tally.add(name, outcome)
            k = number + 1
        worker.kill()
        worker.join()
    tally.seconds = time.monotonic() - began
    return tally
