"""`DaskWorkers`: tasks on the workers of a dask cluster, results in order, whatever workers are lost."""

from __future__ import annotations

import functools
import sys
import time
import uuid
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeAlias, TypeVar

import resweep
from resweep.cluster.tasks import Conditions, Outcome, return_bytes, run_task
from resweep.errors import ResweepError
from resweep.optional import require
from resweep.progress import open_progress

T = TypeVar("T")
R = TypeVar("R")
Client: TypeAlias = Any  # those of dask.distributed
Future: TypeAlias = Any

_TASKS_AHEAD = 3  # tasks in flight for each worker: one runs, others wait for it, and results for those before them
_LOOK_S = 2.0  # between looks at the cluster while a result is waited for
_LOST_S = 60.0  # for which a cluster may be without scheduler or workers
_MAX_ATTEMPTS = 4  # of a task, each with as many lost workers as the scheduler allows


class DaskWorkers:
    """Runs tasks on the workers of the cluster that ``client`` is connected to."""

    def __init__(self, client: Client) -> None:
        self._client, self._session = client, uuid.uuid4().hex
        self._known = self._list_workers()
        self._warned: set[str] = set()  # what several workers warn of is shown once

    @property
    def count(self) -> int:
        """Worker processes that are there now; each runs one task at a time."""
        return max(1, len(self._list_workers()))

    def map(self, function: Callable[[T], R], items: Sequence[T], what: str, *, show: bool = True) -> Iterator[R]:
        """``function(item)`` of every item, in their order, with progress of ``what`` if ``show``.

        The function, with what a partial of it holds, is sent to each worker once. A few tasks for each worker are in
        flight. A task whose worker is lost runs elsewhere; an error of one ends all.
        """
        name = f"resweep-{uuid.uuid4().hex}"
        held = self._client.submit(return_bytes, _pickle(function), key=f"{name}-function")
        submit = functools.partial(self._submit, name, held)
        numbered = iter(enumerate(items))
        flying: deque[tuple[Any, Future]] = deque()
        try:
            with open_progress(show) as progress:
                progress.start(what, len(items))
                while True:
                    room = _TASKS_AHEAD * self.count - len(flying)
                    flying += [(item, submit(at, item)) for at, item in islice(numbered, max(0, room))]
                    if not flying:
                        return
                    item, task = flying.popleft()
                    result = self._wait(item, task, submit)
                    progress.advance()
                    yield result
        finally:
            self._client.cancel([held, *(task for _, task in flying)], force=True)

    def _submit(self, name: str, held: Future, at: int, item: Any, attempt: int = 0) -> Future:
        processes = Counter(address.rpartition(":")[0] for address in self._list_workers())
        conditions = Conditions(resweep.__version__, self._session, dict(processes))
        key = f"{name}-{at}-{attempt}"
        return self._client.submit(run_task, conditions, held, item, key=key, pure=False)

    def _wait(self, item: Any, task: Future, submit: Callable[..., Future]) -> Any:
        """The result of a task, which is tried again if its workers are lost."""
        killed = require("distributed", "a cluster").KilledWorker
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            try:
                return self._unpack(self._look(task))
            except killed as error:
                lost = error.args[-1] if error.args and isinstance(error.args[-1], int) else 0
                if attempt == _MAX_ATTEMPTS:
                    raise ResweepError(
                        f"a task was given up: all {attempt * (lost + 1)} workers that tried it were lost (killed, or "
                        "out of memory); give the workers more memory, or fewer of them"
                    ) from error
                at = int(str(task.key).rsplit("-", 2)[1])
                task = submit(at, item, attempt)
        raise AssertionError("attempts end in a result or an error")

    def _look(self, task: Future) -> Outcome:
        """What a task gave; raises if for long there is no scheduler or worker that could run it."""
        there = time.monotonic()
        while True:
            try:
                outcome = task.result(timeout=_LOOK_S)
            except TimeoutError:
                if self._report_lost():
                    there = time.monotonic()
                if time.monotonic() - there > _LOST_S:
                    raise ResweepError(
                        f"cluster: no scheduler or worker has answered for {_LOST_S:.0f} s; start it again"
                    ) from None
            except ModuleNotFoundError as error:
                raise ResweepError(f"a worker cannot run tasks ({error}); install Resweep on all of them") from error
            else:
                assert isinstance(outcome, Outcome)
                return outcome

    def _unpack(self, outcome: Outcome) -> Any:
        """The result of a task, or its error, raised here."""
        for text in outcome.warnings:
            if text not in self._warned:
                self._warned.add(text)
                warnings.warn(text, stacklevel=2)
        if outcome.error is None:
            return outcome.result
        if isinstance(outcome.error, ResweepError | OSError | MemoryError):
            raise outcome.error
        raise outcome.error from RuntimeError(f"in a worker:\n{outcome.trace}")

    def _report_lost(self) -> bool:
        """Whether workers are there; those that were lost are named on stderr."""
        now = self._list_workers() if self._client.status == "running" else set()
        for address in sorted(self._known - now):
            print(f"worker {address} was lost; its tasks run again elsewhere", file=sys.stderr, flush=True)
        self._known = now
        return bool(now)

    def _list_workers(self) -> set[str]:
        try:
            return set(self._client.scheduler_info(n_workers=-1).get("workers", {}))
        except (OSError, TimeoutError):
            return set()


def _pickle(function: Callable[..., Any]) -> bytes:
    """A function with what it holds, pickled."""
    cloudpickle = require("cloudpickle", "a cluster")
    try:
        return bytes(cloudpickle.dumps(function))
    except Exception as error:  # whatever an object of another library raises when it is pickled
        raise ResweepError(
            f"this work cannot be sent to workers ({error}); save its worlds and logs to disk, and open them from there"
        ) from error
