"""Where cases are run: in a process of its own, watched from outside, so that the worst case is one bad line."""

from __future__ import annotations

import contextlib
import importlib
import linecache
import multiprocessing
import os
import signal
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorfill
from tensorfill.io.files import FileError

HANG = 10.0  # seconds after which a case hangs
LOADING = 300.0  # seconds to load everything
BUSY = 6.0  # times that by the clock: it may be waiting for the machine
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
    stopped: bool = False  # by Ctrl-C, before its time
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


def in_child(
    work: Callable[[], object], said: Path, *, after: float | None = None, number: int = signal.SIGKILL
) -> int:
    """The exit code of `work` in a forked process; what it says goes to `said`. A signal `after` some seconds."""
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            handle = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, 1), os.dup2(handle, 2)
            signal.alarm(600)  # whoever watches may be gone
            work()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    if after is not None:
        time.sleep(after)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def check_ending(code: int, said: Path, *codes: int) -> None:
    """One of the exit codes, and at most one sentence."""
    text = said.read_text(errors="replace")
    lines = [line for line in text.splitlines() if line.strip()]
    if code not in codes:
        raise Wrong(f"exit code {code}: {' / '.join(lines[-2:])[:200]}")
    if len(lines) > 1 or "Traceback" in text or (lines and not lines[0].startswith("tensorfill: ")):
        raise Wrong(f"exit code {code} with {' / '.join(lines[-2:])[:200]}")


def peak() -> tuple[int, int]:
    """(bytes in memory now, the most there were since the last call)."""
    try:
        with open("/proc/self/status") as file:
            found = dict(line.split(":", 1) for line in file if line.startswith(("VmRSS", "VmHWM")))
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the most, from now on
    except OSError:  # elsewhere than on Linux nobody tells
        return 0, 0
    now, most = (1024 * int(found[key].split()[0]) for key in ("VmRSS", "VmHWM"))
    return now, most


def _work(module: str, seed: int, first: int, pipe: Any, place: str) -> None:
    """Cases from `first` on, one after the other: (number, name, outcome) through the pipe."""
    tempfile.tempdir = os.environ["TMPDIR"] = place
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # libraries complain of damaged files on standard error
    cases = importlib.import_module(module).Cases(seed)
    room = GROWTH + getattr(cases, "budget", 0)
    for k in range(first, 10**9):
        name, case = cases.make(k)
        pipe.send((k, name, None))
        before = peak()[0]
        outcome = outcome_of(case)
        if (grown := peak()[1] - before) > room:
            outcome = f"it took {grown / 2**20:.0f} MB"
        pipe.send((k, name, outcome))


def run_cases(module: str, seconds: float, seed: int = 0, *, most: int = 10**9) -> Tally:
    """As many cases of `module` as there is time for. A crash or a hang is a case gone bad; the rest goes on."""
    tally, began = Tally(module.rpartition(".")[2]), time.monotonic()
    context = multiprocessing.get_context("spawn")
    hang = getattr(importlib.import_module(module).Cases, "hang", HANG)
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # no disk to wait for
    with tempfile.TemporaryDirectory(prefix="attack-", dir=memory, ignore_cleanup_errors=True) as place:
        os.chmod(place, 0o755)  # some cases are run by nobody
        while tally.cases < most and time.monotonic() - began < seconds:
            ours, theirs = context.Pipe(duplex=False)
            worker = context.Process(target=_work, args=(module, seed, tally.cases, theirs, place))
            worker.start()
            theirs.close()
            try:
                _watch(tally, worker, ours, hang, began + seconds, most)
            except KeyboardInterrupt:
                tally.stopped = True
                break
            finally:
                worker.kill()
                worker.join()
    tally.seconds = time.monotonic() - began
    return tally


def _processor_time(pid: int) -> float:
    """Seconds that a process has worked: a busy machine makes no case hang."""
    try:
        user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    except (OSError, ValueError):
        return 0.0
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _watch(tally: Tally, worker: Any, pipe: Any, hang: float, end: float, most: int) -> None:
    """What the worker reports, until the time is up, or it crashes or hangs."""
    running, wait, since, spent = "loading", LOADING, time.monotonic(), 0.0
    while tally.cases < most and (time.monotonic() < end or not tally.cases):
        try:
            while not pipe.poll(min(wait, 1.0)):
                if _processor_time(worker.pid) - spent > wait or time.monotonic() - since > BUSY * wait:
                    tally.add(running, f"hangs for more than {wait:g} s")
                    return
            _, name, outcome = pipe.recv()
        except EOFError:
            worker.join(5)
            tally.add(running, f"crash, exit code {worker.exitcode}")
            return
        if outcome is None:
            running, wait, since, spent = name, hang, time.monotonic(), _processor_time(worker.pid)
        else:
            tally.add(name, outcome)
