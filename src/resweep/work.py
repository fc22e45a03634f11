"""Tasks: a function for many items, in this process or on workers elsewhere.

What is long is divided into tasks of at least a tenth of a second that depend on nothing but their item. `OneProcess`
runs them one after another, each on all cores; `resweep.cluster` runs them on the workers of a dask cluster. Results
come in the order of the items, so that they are the same bytes wherever the tasks ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from resweep.progress import track

T = TypeVar("T")
R = TypeVar("R")


class Workers(Protocol):
    """What runs tasks."""

    @property
    def count(self) -> int:
        """How many tasks run at the same time."""
        ...

    def map(self, function: Callable[[T], R], items: Sequence[T], what: str, *, show: bool = True) -> Iterator[R]:
        """``function(item)`` of every item, in their order, with progress of ``what`` if ``show``.

        The function is one of a module, and items and results can be pickled: a task may run in another process or on
        another machine, and a second time if its worker was lost. What it writes must be the same then. Only a few
        results are held at a time.
        """
        ...


class OneProcess:
    """Runs tasks here, one after another; each may use all cores."""

    @property
    def count(self) -> int:
        """One task at a time."""
        return 1

    def map(self, function: Callable[[T], R], items: Sequence[T], what: str, *, show: bool = True) -> Iterator[R]:
        """``function(item)`` of every item, in their order, with progress of ``what`` if ``show``."""
        for item in track(items, what, show=show):
            yield function(item)
