"""What happens in a worker: one task at a time, on its share of the machine's cores."""

from __future__ import annotations

import os
import pickle
import threading
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import resweep
from resweep import _core
from resweep.errors import ResweepError
from resweep.optional import require
from resweep.work import cache, clear_cache


@dataclass(frozen=True)
class Conditions:
    """What a task needs of its worker: the ``version`` of Resweep, and how many ``processes`` share each host.

    ``session`` is that of a command: a worker keeps logs and worlds open for its tasks.
    """

    version: str
    session: str
    processes: Mapping[str, int]


@dataclass(frozen=True)
class Outcome:
    """What a task gave: its ``result``, or the ``error`` that it raised and where; and what it warned of."""

    result: Any = None
    error: BaseException | None = None
    trace: str = ""
    warnings: tuple[str, ...] = ()


def return_bytes(data: bytes) -> bytes:
    """``data`` itself: as the result of a task it is sent to each worker once, and computed again if it is lost."""
    return data


def run_task(conditions: Conditions, function: bytes, item: Any) -> Outcome:
    """What the pickled ``function`` gives for ``item``; it raises nothing of its own."""
    with _one_at_a_time, warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("default")
        result, error, trace = None, None, ""
        try:
            _check(conditions)
            result = _restore(function)(item)
        except BaseException as problem:
            error, trace = _simplify(problem), traceback.format_exc()
        return Outcome(result, error, trace, tuple(str(warning.message) for warning in raised))


_one_at_a_time = threading.Lock()  # tasks use several cores by themselves, and share open files
_session = [""]


@cache(4)
def _restore(data: bytes) -> Callable[[Any], Any]:
    """The function of pickled ``data``, so that tasks share what it has opened."""
    function: Callable[[Any], Any] = pickle.loads(data)
    return function


def _check(conditions: Conditions) -> None:
    if _session != [conditions.session]:
        clear_cache()
        _session[:] = [conditions.session]
    worker = require("distributed", "a cluster").get_worker()
    if resweep.__version__ != conditions.version:
        raise ResweepError(describe_mismatch(worker.address, "Resweep", resweep.__version__, conditions.version))
    cores = len(os.sched_getaffinity(0))
    _core.set_thread_limit(max(1, cores // conditions.processes.get(worker.address.rpartition(":")[0], 1)))


def describe_mismatch(worker: str, package: str, found: str | None, wanted: str) -> str:
    """The message about a worker with another version of a package."""
    has = f"has {package} {found}" if found else f"has no {package}"
    return f"worker {worker}: {has}, this command is {package} {wanted}; install the same on all workers"


def _simplify(error: BaseException) -> BaseException:
    """``error``, or its message if it cannot be sent."""
    try:
        restored = pickle.loads(pickle.dumps(error))
    except Exception:  # whatever an exception of another library does when it is pickled
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error if isinstance(restored, BaseException) else RuntimeError(str(error))
