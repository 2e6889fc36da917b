"""The worker process: reads calls from standard input, one JSON object a line, and answers on standard output.

The main thread works; a second one listens, so that "stop" is heard during a fit. It arrives there as Ctrl-C does on
the command line, and with the same effect: the loop of the solvers returns the best state so far. When the server
is gone, so is the worker.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import IO, Any

from tensorfill.app.process import HEADER
from tensorfill.app.workspace import Workspace
from tensorfill.terminal import BAD_DATA, UserError, as_user_error

# {method that the server calls: method of Workspace}; a run is checked, the call answered, and then it is done
METHODS = {name: name for name in ("open", "mask", "mask_colour", "details", "write")} | {"run": "check"}


class Worker:
    """Calls in, replies and events out."""

    def __init__(self, calls: IO[str], replies: IO[bytes]) -> None:
        self.calls, self.replies = calls, replies
        self.queue: queue.Queue[dict[str, Any]] = queue.Queue()
        self.writing = threading.Lock()
        self.stoppable = self.stopped = False
        self.workspace = Workspace(self.send)

    def send(self, event: str, *, id: int = 0, **values: Any) -> None:
        """Send one message to the server."""
        body = json.dumps({"event": event, "id": id, **values}, allow_nan=False).encode()
        with self.writing:
            self.replies.write(HEADER.pack(len(body)) + body)
            self.replies.flush()

    def listen(self) -> None:
        """Run in the second thread: queue calls, and interrupt a run when told to stop."""
        for line in self.calls:
            self.listen_to(json.loads(line))
        os._exit(0)  # the server is gone: nobody waits for a result

    def listen_to(self, call: dict[str, Any]) -> None:
        """Take in one call."""
        self.stopped = call["method"] == "stop"  # a run that is only checked yet is stopped as it begins
        if not self.stopped:
            self.queue.put(call)
        elif self.stoppable:
            self.interrupt()

    def interrupt(self) -> None:
        """Send a real signal where there are any, which also ends the main thread's waiting for others."""
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            _thread.interrupt_main()

    def on_interrupt(self, number: int = 0, frame: FrameType | None = None) -> None:
        """Only a run can be stopped, and once; Ctrl-C in a terminal is for the server."""
        if self.stoppable:
            self.stoppable = False
            raise KeyboardInterrupt

    def work(self) -> None:
        """Run in the main thread for ever: answer calls in their order."""
        signal.signal(signal.SIGINT, self.on_interrupt)
        threading.Thread(target=self.listen, daemon=True).start()
        while True:
            call = self.queue.get()
            if self.answer(**call) and call["method"] == "run":
                self.fit()

    def answer(self, method: str, id: int, params: dict[str, Any]) -> bool:
        """Answer one call; False if it was refused."""
        return self.tell("reply", "error", lambda: getattr(self.workspace, METHODS[method])(**params), id=id)

    def fit(self) -> None:
        """Do the run that was checked; it sends its progress as it goes."""
        self.tell("done", "failed", self.run)

    def run(self) -> dict[str, Any]:
        """The summary of the run, or of the means where it was stopped before there was any model."""
        try:
            self.stoppable = True
            if self.stopped:
                self.on_interrupt()
            self.workspace.fit()
            self.stoppable = False
        except KeyboardInterrupt:
            self.workspace.fit_means()
        return self.workspace.summary()

    def tell(self, good: str, bad: str, work: Callable[[], dict[str, Any]], *, id: int = 0) -> bool:
        """Send what the work returns as the event `good`, or one sentence as `bad`; was it good?"""
        try:
            with as_user_error(BAD_DATA):
                values = work()
            self.send(good, id=id, **values)
        except UserError as error:
            self.send(bad, id=id, sentence=self.workspace.plain(error.sentence), more=self.workspace.hints(error))
            return False
        except Exception as error:  # a mistake of ours: said, not hidden, and the worker lives on
            line = (str(error).strip().splitlines() or [""])[0]
            self.send(bad, id=id, sentence=f"an internal error occurred ({type(error).__name__}: {line}).")
            return False
        finally:
            self.stoppable = False
        return True


def main() -> None:
    """Work until the server is gone. Whatever a library prints goes to standard error."""
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    worker = Worker(sys.stdin, replies)
    worker.workspace.warm_up()
    worker.work()


if __name__ == "__main__":
    main()
