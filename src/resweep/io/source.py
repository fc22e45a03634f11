"""How another process opens the same log: what a log is sent as to a worker.

A log holds open files and functions. Where a path and options open it again, its ``load`` is bound to them
(`with_source`), and a pickled log carries these in place of the files: the worker opens the log by itself, once,
when it first needs a sweep. What was done to the log afterwards (a slice, other poses, `Log.map`) travels with it, as
functions do with cloudpickle. A log of sweeps in memory has no such source, and is sent whole.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from functools import partial
from typing import Protocol

from resweep.log import EmptyBeams, Log
from resweep.sweep import Sweep
from resweep.work import cache


class Source(Protocol):
    """What opens a log in any process; it can be pickled, and equal ones give the same bytes."""

    def open(self) -> Log:
        """The log, opened anew."""
        ...


def make_absolute_name(path: str | os.PathLike[str]) -> str:
    """A path as processes in other folders know it; addresses such as ``s3://...`` stay as they are."""
    text = str(path)  # not os.fspath, which fetches what lies in an object store
    return text if "://" in text else os.path.abspath(text)


def with_source(log: Log, source: Source) -> Log:
    """``log``, which other processes open by ``source`` when it is pickled."""
    if not log.empty_beams.found:
        log.empty_beams.pickle_as(partial(_find_beams, source))
    return replace(log, load=_SweepLoader(source, log))


def reopen(source: Source) -> Log:
    """The log of ``source``; the last few are kept open, so that the tasks of a process share one."""
    try:
        key = pickle.dumps(source)
    except (pickle.PicklingError, AttributeError, TypeError):  # a function in it that only cloudpickle can send
        return source.open()
    return _reopen(key)


@cache(8)
def _reopen(key: bytes) -> Log:
    source: Source = pickle.loads(key)
    return source.open()


class _SweepLoader:
    """Loads the sweeps of a log; pickled, it becomes one that opens the log first."""

    def __init__(self, source: Source, log: Log | None = None) -> None:
        self._source, self._load = source, None if log is None else log.load

    def __call__(self, at: int) -> Sweep:
        if self._load is None:
            self._load = reopen(self._source).load
        return self._load(at)

    def __reduce__(self) -> tuple[type[_SweepLoader], tuple[Source]]:
        return _SweepLoader, (self._source,)


def _find_beams(source: Source) -> EmptyBeams:
    return reopen(source).empty_beams
