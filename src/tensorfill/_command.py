"""Ctrl-C while the command `tensorfill` is still loading: one sentence and the exit code, no traceback.

Imported before anything that takes time. `terminal.stoppable` takes over once the command runs. Imported as a library,
nothing is changed.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Sequence

SENTENCE = b"tensorfill: interrupted.\n"


def is_command(argv: Sequence[str]) -> bool:
    """Was this process started as `tensorfill ...` or `python -m tensorfill ...`?"""
    words = iter(argv[1:])
    for word in words:
        if word == "-m":
            return next(words, "") == "tensorfill"
        if word in ("-X", "-W"):  # options of Python with a value
            next(words, "")
        elif not word.startswith("-"):  # a script
            return os.path.basename(word).removesuffix(".exe") == "tensorfill"
    return False


def asks_for_help(argv: Sequence[str]) -> bool:
    """Was this process started as a command that only prints help, or the version?"""
    return is_command(argv) and not {"--help", "--version"}.isdisjoint(argv)


def leave(number: int, frame: object) -> None:
    """End at once: there is nothing to write yet."""
    try:
        os.write(2, SENTENCE)
    finally:
        os._exit(128 + number)


main_thread = threading.current_thread() is threading.main_thread()
if main_thread and is_command(sys.orig_argv) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, leave)  # unless the shell has it ignored, which stays
