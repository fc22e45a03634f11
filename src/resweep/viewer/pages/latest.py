"""Work in the background of which only the latest request counts."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable

from resweep.errors import ResweepError


class LatestTask:
    """One thread that runs the latest of the tasks given to it; those that come meanwhile replace each other.

    A slider that is dragged asks for more pictures than can be drawn: only the last one matters. ``on_error`` gets
    the message of a `ResweepError`.
    """

    def __init__(self, on_error: Callable[[str], None]) -> None:
        self._on_error = on_error
        self._wake = threading.Condition()
        self._tasks: dict[str, Callable[[], None]] = {}
        self._running = self._stopped = False
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def ask(self, name: str, task: Callable[[], None]) -> None:
        """Run ``task`` soon, in place of an older one of that ``name`` that has not begun."""
        with self._wake:
            self._tasks[name] = task
            self._wake.notify_all()

    def finish(self, timeout_s: float = 60.0) -> bool:
        """Wait until nothing is left to do; whether that came in time."""
        with self._wake:
            return self._wake.wait_for(lambda: not self._tasks and not self._running, timeout_s)

    def stop(self) -> None:
        """End the thread after the task that runs."""
        with self._wake:
            self._stopped = True
            self._tasks.clear()
            self._wake.notify_all()
        self._thread.join(timeout=10.0)

    def _work(self) -> None:
        while True:
            with self._wake:
                self._running = False
                self._wake.notify_all()
                self._wake.wait_for(lambda: self._tasks or self._stopped)
                if self._stopped:
                    return
                task = self._tasks.pop(next(iter(self._tasks)))
                self._running = True
            try:
                task()
            except ResweepError as error:
                self._on_error(str(error))
            except Exception:  # a defect must not end the thread: the page would stand still without a word
                traceback.print_exc()
                self._on_error("an error that Resweep did not expect; the terminal has it in full")
