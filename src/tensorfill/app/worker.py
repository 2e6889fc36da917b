"""The child process: reads orders from standard input, one JSON object a line, and answers on standard output.

The main thread works; a second one listens, so that "stop" is heard during a fit. It arrives there as Ctrl-C does on
the command line, and with the same effect: the loop of the solvers hands back the best state so far. When the server
is gone, so is the child.
"""

from __future__ import annotations

import _thread
import json
import os
import queue
import signal
import sys
import threading
from types import FrameType
from typing import IO, Any

from tensorfill.app.desk import Desk
from tensorfill.terminal import BAD_DATA, UserError, as_user_error

Order = dict[str, Any]
# {what the server says: the method of Desk that answers}; a run is checked, answered, and then done
ORDERS = {name: name for name in ("look", "mask", "hole", "formats", "details", "write")} | {"run": "check"}


class Worker:
    """Orders in, answers out."""

    def __init__(self, orders: IO[str], answers: IO[str]) -> None:
        self.orders, self.answers = orders, answers
        self.queue: queue.Queue[Order] = queue.Queue()
        self.writing = threading.Lock()
        self.stoppable = False
        self.desk = Desk(self.send)

    def send(self, **message: Any) -> None:
        """One line to the server."""
        with self.writing:
            self.answers.write(json.dumps(message, allow_nan=False) + "\n")
            self.answers.flush()

    def listen(self) -> None:
        """The second thread."""
        for line in self.orders:
            order = json.loads(line)
            if order["do"] != "stop":
                self.queue.put(order)
            elif self.stoppable:
                self.interrupt()
        os._exit(0)  # the server is gone: nobody waits for what is being computed

    def interrupt(self) -> None:
        """A real signal where there are any, which also ends the main thread's waiting for others."""
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            _thread.interrupt_main()

    def interrupted(self, number: int, frame: FrameType | None) -> None:
        """Only a run can be stopped, and once; Ctrl-C in a terminal is for the server."""
        if self.stoppable:
            self.stoppable = False
            raise KeyboardInterrupt

    def work(self) -> None:
        """The main thread, for ever."""
        signal.signal(signal.SIGINT, self.interrupted)
        threading.Thread(target=self.listen, daemon=True).start()
        while True:
            order = self.queue.get()
            do, number = order.pop("do"), order.pop("number", 0)
            try:
                with as_user_error(BAD_DATA):
                    answer = getattr(self.desk, ORDERS[do])(**order)
                self.send(**{"is": "answer", "to": number}, **answer)
            except UserError as error:
                self.send(
                    **{
                        "is": "refused",
                        "to": number,
                        "sentence": self.desk.plain(error.sentence),
                        "more": self.desk.hints(),
                    }
                )
                continue
            except Exception as error:  # a mistake of ours: said, not hidden, and the child lives on
                self.send(**{"is": "refused", "to": number, "sentence": mistake(error)})
                continue
            if do == "run":
                self.fit()

    def fit(self) -> None:
        """The run that was checked; its news are sent as it goes."""
        try:
            with as_user_error(BAD_DATA):
                try:
                    self.stoppable = True
                    self.desk.fit()
                    self.stoppable = False
                except KeyboardInterrupt:
                    self.desk.fit_in_a_hurry()
                self.send(**{"is": "done"}, **self.desk.told())
        except UserError as error:
            self.send(**{"is": "failed", "sentence": self.desk.plain(error.sentence)})
        except Exception as error:
            self.send(**{"is": "failed", "sentence": mistake(error)})
        finally:
            self.stoppable = False


def mistake(error: Exception) -> str:
    """A sentence for an error that nobody foresaw."""
    line = (str(error).strip().splitlines() or [""])[0]
    return f"something went wrong that should not have ({type(error).__name__}: {line})."


def main() -> None:
    """Work until the server is gone. Whatever a library prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    worker = Worker(sys.stdin, answers)
    worker.desk.warm_up()
    worker.work()


if __name__ == "__main__":
    main()
