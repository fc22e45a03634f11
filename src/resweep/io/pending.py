"""The sweeps of a log that is being written: each is loaded when its writer asks for it, and those finished are not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from resweep.files import atomic_file
from resweep.files.partial import Say, say
from resweep.io.files import sweep as sweep_file
from resweep.log import Log
from resweep.progress import track
from resweep.sweep import Sweep


class Pending:
    """The sweeps of ``log`` on their way to a writer, which asks for `missing` ones or iterates over all.

    ``partial`` is the folder of a write that resumes, None for one that does not. A writer that needs every sweep, as
    its files depend on all of them, gets those that were loaded before from copies that are kept there.
    """

    def __init__(self, log: Log, what: str, partial: Path | None = None, progress: bool = True, say: Say = say) -> None:
        self._log, self._what, self._progress = log, what, progress
        self._partial, self._say = partial, say

    def __len__(self) -> int:
        return len(self._log)

    def missing(self, is_finished: Callable[[int], bool]) -> Iterator[tuple[int, Sweep]]:
        """Number and sweep of all that are not finished; to be called by writers of files that stand alone.

        A sweep is finished once the last file of it has its name: see `file`.
        """
        finished = [at for at in range(len(self)) if is_finished(at)]
        self._say_resumed(len(finished))
        done = set(finished)
        for at in track(range(len(self)), self._what, show=self._progress):
            if at not in done:
                yield at, self._log[at]

    @contextmanager
    def file(self, path: Path) -> Iterator[Path]:
        """Where to write a file of a sweep; if the write resumes, it gets its name ``path`` once it is whole."""
        if self._partial is None:
            yield path
            return
        with atomic_file(path) as temporary:
            yield temporary

    def __iter__(self) -> Iterator[Sweep]:
        if self._partial is None:
            yield from track(self._log, self._what, show=self._progress)
            return
        copies = [self._partial / "sweeps" / f"{at:06d}.sweep" for at in range(len(self))]
        self._say_resumed(sum(copy.is_file() for copy in copies))
        for at in track(range(len(self)), self._what, show=self._progress):
            if copies[at].is_file():
                yield sweep_file.read(copies[at])
                continue
            sweep = self._log[at]
            with atomic_file(copies[at]) as temporary:
                sweep_file.write(sweep, temporary)
            yield sweep

    def _say_resumed(self, count: int) -> None:
        if self._partial is not None and count:
            self._say(f"{self._partial}: resuming; {count} of {len(self)} sweeps were finished before")
