"""What every command shares: an end as one sentence and an exit code, and times as people read them."""

from __future__ import annotations

import math
import signal
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from tensorfill._command import leave

OK, BAD_DATA, BAD_USAGE, INTERRUPTED = 0, 1, 2, 130


class UserError(Exception):
    """A sentence for the user and the exit code that goes with it."""

    def __init__(self, sentence: str, code: int) -> None:
        super().__init__(sentence)
        self.sentence, self.code = sentence, code


@contextmanager
def as_user_error(code: int) -> Iterator[None]:
    """Sentences of the library (and of a full memory or disk) become a UserError."""
    from tensorfill.io.files import FileError
    from tensorfill.io.formats.output import reason

    try:
        yield
    except UserError:
        raise
    except OSError as error:
        where = f"cannot use {error.filename}: " if error.filename else ""
        msg = f"{where}{reason(error)}."
        raise UserError(msg, BAD_DATA) from error
    except MemoryError as error:
        raise UserError(str(error) or "there is not enough memory for this tensor.", BAD_DATA) from error
    except (FileError, ValueError, TypeError, ImportError) as error:
        raise UserError(str(error), code) from error


STOPPED: list[int] = []  # the signals that stopped this run, in order; Ctrl-C is not among them


@contextmanager
def stoppable() -> Iterator[None]:
    """SIGTERM and SIGHUP inside do what Ctrl-C does: the best so far is written. A second one changes nothing."""

    def stop(number: int, frame: object) -> None:
        STOPPED.append(number)
        if len(STOPPED) == 1:
            raise KeyboardInterrupt

    before = {}
    STOPPED.clear()
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGINT) is leave:  # from here on Ctrl-C keeps the best so far
            signal.signal(signal.SIGINT, signal.default_int_handler)
        for name in ("SIGTERM", "SIGHUP"):  # Windows has no SIGHUP; nohup has it ignored, which stays
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) is signal.SIG_DFL:
                before[number] = signal.signal(number, stop)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def exit_code(code: int) -> int:
    """The exit code: of a run that a signal stopped, 128 and its number, as the shell has it."""
    return 128 + STOPPED[0] if code == INTERRUPTED and STOPPED else code


@contextmanager
def collect_warnings(*kinds: type[Warning]) -> Iterator[list[str]]:
    """A list that collects the warnings of these kinds given inside, each once; other warnings are dropped."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
        notes += dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, kinds))


def format_duration(seconds: float) -> str:
    """`0:07`, `12:30`, `1:02:03`."""
    whole = max(math.ceil(seconds), 0)
    hours, minutes = whole // 3600, whole // 60 % 60
    return f"{hours}:{minutes:02}:{whole % 60:02}" if hours else f"{minutes}:{whole % 60:02}"
