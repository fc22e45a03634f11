"""How an autonomy is asked: each question has a number, and an answer comes in time or is late."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from resweep.drive.command import GiveUp
from resweep.drive.sensing.observation import Mission, Observation
from resweep.errors import ResweepError


@dataclass(frozen=True)
class Answer:
    """What came back: a command as the autonomy gave it, nothing in time, an error, or that it gives up."""

    kind: Literal["command", "late", "error", "gave-up"]
    value: Any = None
    detail: str = ""


class Channel(Protocol):
    """A connection to an autonomy."""

    def start(self, mission: Mission, timeout_s: float) -> Answer:
        """Send its mission; an answer of kind command means that it is ready."""
        ...

    def ask(self, observation: Observation, timeout_s: float) -> Answer:
        """Its answer to an observation, waited for no longer than ``timeout_s`` of real time."""
        ...

    def stop(self, outcome: str) -> None:
        """Report that the run has ended."""
        ...


class ThreadChannel:
    """An autonomy in this process, called on a thread of its own: one that hangs does not hang the run.

    Python cannot end a thread. One that never answers is left behind, and ends with the process.
    """

    def __init__(self, reset: Callable[[Mission], Any] | None, step: Callable[[Observation], Any]) -> None:
        self._reset, self._step = reset, step
        self._tasks: queue.SimpleQueue[Callable[[], Any] | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[tuple[int, Answer]] = queue.SimpleQueue()
        self._asked = self._answered = 0
        self._thread: threading.Thread | None = None

    def start(self, mission: Mission, timeout_s: float) -> Answer:
        """Call ``reset``, if there is one."""
        self._thread = threading.Thread(target=self._work, daemon=True, name="autonomy")
        self._thread.start()
        if self._reset is None:
            return Answer("command")
        reset = self._reset
        return self._put(lambda: reset(mission), timeout_s)

    def ask(self, observation: Observation, timeout_s: float) -> Answer:
        """Call ``step``; while an earlier call has not returned, there is no other."""
        if self._answered < self._asked:
            found = self._wait(timeout_s)
            if self._answered < self._asked:
                return Answer("late", detail=found.detail)
        return self._put(lambda: self._step(observation), timeout_s)

    def stop(self, outcome: str) -> None:
        """Let the thread end; one that has not come back is left behind."""
        self._tasks.put(None)
        if self._thread is not None and self._answered == self._asked:
            self._thread.join()

    def _put(self, task: Callable[[], Any], timeout_s: float) -> Answer:
        self._asked += 1
        self._tasks.put(task)
        return self._wait(timeout_s)

    def _wait(self, timeout_s: float) -> Answer:
        try:
            self._answered, answer = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            return Answer("late", detail=f"no answer within {timeout_s:g} s")
        return answer

    def _work(self) -> None:
        number = 0
        while (task := self._tasks.get()) is not None:
            number += 1
            try:
                answer = Answer("command", task())
            except GiveUp as reason:
                answer = Answer("gave-up", detail=str(reason))
            except BaseException as error:  # whatever the user's code raises; also by sys.exit, which ends no run
                answer = Answer("error", detail=f"{type(error).__name__}: {error}"[:500])
            self._answers.put((number, answer))


def open_channel(autonomy: Any) -> Channel:
    """The channel of an autonomy: one that is a channel, an object with ``step``, or a callable."""
    if callable(getattr(autonomy, "ask", None)) and callable(getattr(autonomy, "start", None)):
        channel: Channel = autonomy
        return channel
    step = getattr(autonomy, "step", None)
    if callable(step):
        reset = getattr(autonomy, "reset", None)
        return ThreadChannel(reset if callable(reset) else None, step)
    if callable(autonomy):
        return ThreadChannel(None, autonomy)
    raise ResweepError(
        f"autonomy: expected a callable, an object with step(observation), or a SocketAutonomy, got "
        f"{type(autonomy).__name__}"
    )


def find_remaining_s(deadline: float) -> float:
    """Seconds of real time until a deadline of `time.monotonic`, at least zero."""
    return max(0.0, deadline - time.monotonic())
