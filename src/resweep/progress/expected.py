"""How long long work is expected to take, stage by stage, and how that turns out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from resweep.progress.display import format_seconds

# Chosen by hand.
MIN_STATED_S = 20.0  # of work: what is expected to take less is not announced
_SKIPPED = 0.05  # of what was expected: a stage that took less was resumed, and tells nothing of the pace
_TRUST = 0.15  # of all work, as if it had gone as expected: the first stages alone do not decide
_WRONG, _WRONG_S = 1.5, 30.0  # times and seconds by which an expectation is off before it is stated again


class ExpectedTime:
    """The ``seconds`` that each stage is expected to take, by its name, and what has passed of them.

    `begin` notes each stage as it begins; `restate` gives a line whenever the last statement has turned out wrong.
    """

    def __init__(self, seconds: Mapping[str, float], clock: Callable[[], float] = time.perf_counter) -> None:
        self.seconds = dict(seconds)
        self.stated = self.total
        self._clock = clock
        self._begun = self._stage_begun = clock()
        self._stage: str | None = None
        self._ended: dict[str, float] = {}  # how long stages took

    @property
    def total(self) -> float:
        """Seconds that all stages were expected to take at first."""
        return sum(self.seconds.values())

    def begin(self, stage: str) -> None:
        """Note that a stage begins, and that the one before it has ended."""
        now = self._clock()
        if self._stage is not None:
            self._ended[self._stage] = self._ended.get(self._stage, 0.0) + now - self._stage_begun
        self._stage, self._stage_begun = stage, now

    def estimate_left(self) -> float:
        """Seconds that are left, by the pace of the stages so far."""
        here = self.seconds.get(self._stage or "", 0.0)
        spent = self._clock() - self._stage_begun
        ended = self._ended.copy()  # another thread adds to it
        measured = {name: taken for name, taken in ended.items() if taken > _SKIPPED * self.seconds.get(name, 0.0)}
        expected = sum(self.seconds.get(name, 0.0) for name in measured) + _TRUST * self.total
        taken = sum(measured.values()) + _TRUST * self.total
        pace = taken / max(expected, 1e-9)
        if spent > pace * here:  # longer than expected already
            pace = (taken + spent) / max(expected + here, 1e-9)
        later = sum(seconds for name, seconds in self.seconds.items() if name not in {*ended, self._stage})
        return pace * later + max(pace * here - spent, 0.0)

    def restate(self) -> str | None:
        """A line with the time that is expected now; None while the last statement holds."""
        left = self.estimate_left()
        total = self._clock() - self._begun + left
        longer = total > _WRONG * self.stated + _WRONG_S
        shorter = total * _WRONG + _WRONG_S < self.stated and left > MIN_STATED_S
        if not (longer or shorter):
            return None
        self.stated = total
        return f"expected to take {'longer' if longer else 'less'}: about {format_about(total)} in all, " + (
            f"{format_about(left)} left"
        )


def format_about(seconds: float) -> str:
    """A duration as rough as it is known: ``40 s``, ``4 min``, ``1 h 20 min``."""
    step = 10 if seconds < 90 else 60 if seconds < 3000 else 600
    rounded = max(round(seconds / step), 1) * step
    return f"{rounded // 60} min" if 60 <= rounded < 3600 and rounded % 60 == 0 else format_seconds(rounded)
