"""Tasks: a function for many items, in this process or on workers elsewhere.

What is long is divided into tasks of at least a tenth of a second that depend on nothing but their item. `OneProcess`
runs them one after another, each on all cores; `resweep.cluster` runs them on the workers of a dask cluster. Results
come in the order of the items, so that they are the same bytes wherever the tasks ran.
"""

from __future__ import annotations

import math
import os
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial, wraps
from itertools import islice
from typing import Any, ParamSpec, Protocol, TypeVar

from resweep import _core
from resweep.progress import open_progress, track

T = TypeVar("T")
R = TypeVar("R")
P = ParamSpec("P")


class Workers(Protocol):
    """What runs tasks."""

    @property
    def count(self) -> int:
        """How many tasks run at the same time."""
        ...

    def map(self, function: Callable[[T], R], items: Sequence[T], what: str, *, show: bool = True) -> Iterator[R]:
        """``function(item)`` of every item, in their order, with progress of ``what`` if ``show``.

        The function is one of a module, or a `functools.partial` of one: what that holds is sent to each worker once
        and kept there, such as a log. Items and results can be pickled: a task may run in another process or on
        another machine, and a second time if its worker was lost. What it writes must be the same then. Only a few
        results are held at a time. An error of a task is raised here, and no further task begins.
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


class Threads:
    """Runs tasks on threads of this process: for those that wait for disks, or leave cores idle."""

    def __init__(self, count: int) -> None:
        self._count = count

    @property
    def count(self) -> int:
        """Tasks at the same time."""
        return self._count

    def map(self, function: Callable[[T], R], items: Sequence[T], what: str, *, show: bool = True) -> Iterator[R]:
        """``function(item)`` of every item, in their order, with progress of ``what`` if ``show``."""
        todo, running = iter(items), deque[Future[R]]()
        with ThreadPoolExecutor(self._count) as pool, open_progress(show) as progress:
            progress.start(what, len(items))
            try:
                while True:
                    room = _TASKS_AHEAD * self._count - len(running)
                    running += [pool.submit(function, item) for item in islice(todo, room)]
                    if not running:
                        return
                    result = running.popleft().result()
                    progress.advance()
                    yield result
            finally:
                for task in running:
                    task.cancel()


def count_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_threads(function: Callable[[T], R], items: Sequence[T]) -> list[R]:
    """``function(item)`` of every item, in their order, on as many threads as native code may use.

    For array work that lets go of Python's lock. The items, not the threads, decide what is computed together: the
    number of threads changes no byte.
    """
    threads = min(_core.thread_count(0), len(items))
    if threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(function, items))


def map_batches(
    workers: Workers, function: Callable[[T], R], items: Sequence[T], what: str, *, show: bool = True
) -> Iterator[R]:
    """As `Workers.map`, for items that take too little time to be a task each: several make one.

    The first tasks have few items, and are timed. The others have as many as last for `MIN_TASK_S` at least, and for
    up to `MAX_TASK_S` if there is enough work for all. In one process each item is its own task.
    """
    if is_here(workers):
        yield from workers.map(function, items, what, show=show)
        return
    first = items[: _TIMED_ITEMS * workers.count]
    rest = items[len(first) :]
    batch = partial(_run_batch, function)
    fastest = math.inf
    with open_progress(show) as progress:
        progress.start(what, len(items))
        for part in (_split(first, _TIMED_ITEMS), None):
            if part is None:
                part = _split(rest, choose_batch(len(rest), fastest, workers.count))
            for results, seconds in workers.map(batch, part, what, show=False):
                fastest = min(fastest, seconds)
                for result in results:
                    progress.advance()
                    yield result


def is_here(workers: Workers) -> bool:
    """Whether tasks run in this process."""
    return isinstance(workers, OneProcess | Threads)


MIN_TASK_S, MAX_TASK_S = 0.1, 0.5
_TIMED_ITEMS = 2  # of a timed task: the first may have to open its log, the second shows what one takes
_TASKS_AHEAD = 3  # for each thread: those that run, or whose results wait for those before them
_TASKS_PER_WORKER = 4  # that each should get, so that all end at about the same time


def choose_batch(count: int, seconds: float, workers: int) -> int:
    """How many of ``count`` items make a task, if each takes ``seconds``."""
    shortest, longest = (max(1, math.ceil(limit / max(seconds, 1e-6))) for limit in (MIN_TASK_S, MAX_TASK_S))
    return min(max(count // (_TASKS_PER_WORKER * workers), shortest), longest)


def _split(items: Sequence[T], size: int) -> list[Sequence[T]]:
    return [items[at : at + size] for at in range(0, len(items), size)]


def _run_batch(function: Callable[[T], R], items: Sequence[T]) -> tuple[list[R], float]:
    """Results of some items, and the seconds of the fastest."""
    results, fastest = [], math.inf
    for item in items:
        began = time.perf_counter()
        results.append(function(item))
        fastest = min(fastest, time.perf_counter() - began)
    return results, fastest


def cache(size: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Cache the last ``size`` results of a function by its arguments, for the tasks of this process to share.

    For logs, worlds and scenes, which tasks open by their names. Threads wait for each other. Workers drop them
    between commands (`clear_cache`), as the files may then be others.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        results: OrderedDict[Hashable, R] = OrderedDict()
        lock = threading.RLock()  # one may call for another

        @wraps(function)
        def cached(*arguments: P.args, **options: P.kwargs) -> R:
            key = (arguments, tuple(sorted(options.items())))
            with lock:
                if key not in results:
                    results[key] = function(*arguments, **options)
                    while len(results) > size:
                        results.popitem(last=False)
                results.move_to_end(key)
                return results[key]

        _caches.append(results)
        return cached

    return decorate


def clear_cache() -> None:
    """Drop all that `cache` holds in this process."""
    for results in _caches:
        results.clear()


_caches: list[OrderedDict[Hashable, Any]] = []
