"""The sweeps of a log that is being written: each is loaded where it is written, and those finished are not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from resweep.files import atomic_file
from resweep.files.partial import PrintLine, print_line
from resweep.files.pieces import Pieces, remove
from resweep.files.publication import NEW
from resweep.io.files import sweep_file
from resweep.log import Log
from resweep.sweep import Sweep
from resweep.work import OneProcess, Workers, is_here, map_batches

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
OpenFile = Callable[[Path], AbstractContextManager[Path]]
# Called with the returns and beams of each sweep that was written, and the beams that look where nothing was recorded.
OnSweep = Callable[[int, int, int], None]


class SweepWriter(Protocol[R_co]):
    """Writes the files of one sweep; a function of a module or a partial of one, as it may run in another process."""

    def __call__(self, sweep: Sweep, at: int, open_file: OpenFile) -> R_co:
        """Write the sweep of number ``at``, each file in the context that ``open_file`` gives for its path."""
        ...


class PendingSweeps:
    """The sweeps of ``log`` on their way to a writer, which has `write` write the missing ones or iterates over all.

    ``partial`` is the folder of a write that resumes, None for one that does not, ``key`` tells that write from others.
    A writer that needs every sweep, as its files depend on all of them, gets those that were loaded before from copies
    that are kept there. Files and copies are sealed: what is damaged is written again. Sweeps are loaded, and those of
    `write` written, by ``workers``.
    """

    def __init__(
        self,
        log: Log,
        what: str,
        partial: Path | None = None,
        progress: bool = True,
        report: PrintLine = print_line,
        workers: Workers | None = None,
        on_sweep: OnSweep | None = None,
        key: str = "",
    ) -> None:
        self._seals = None if partial is None else Seals(partial, key)
        self._sealed = set[int]() if self._seals is None else self._seals.find_all(len(log))
        self._log, self._what, self._progress = log, what, progress
        self._partial, self._print = partial, report
        self._workers, self._on_sweep = workers or OneProcess(), on_sweep

    def __len__(self) -> int:
        return len(self._log)

    def write(self, is_finished: Callable[[int], bool], write: SweepWriter[R]) -> Iterator[R]:
        """Write all sweeps that are not finished: what ``write`` gives of each; for files that stand alone.

        A sweep is finished once the last file of it has its name. If the write resumes, or several processes share in
        it, a file gets its name once it is whole.
        """
        seals = self._seals
        missing = self._find_missing(lambda at: is_finished(at) and (seals is None or at in self._sealed))
        whole = self._partial is not None or not is_here(self._workers)
        task = partial(_write_sweep, self._log, write, atomic_file if whole else nullcontext, seals)
        for result, counts in map_batches(self._workers, task, missing, self._what, show=self._progress):
            self._report(counts)
            yield result

    def __iter__(self) -> Iterator[Sweep]:
        seals = self._seals
        missing = self._find_missing(lambda at: seals is not None and seals.has(_name_copy(at)))
        loaded = map_batches(
            self._workers, partial(_load_sweep, self._log, seals), missing, self._what, show=self._progress
        )
        new = set(missing)
        for at in range(len(self)):
            if at in new:
                sweep = next(loaded)
                self._report(_count(sweep))
            else:
                assert seals is not None
                sweep = sweep_file.read(seals.folder / _name_copy(at))
            yield sweep

    def _find_missing(self, is_finished: Callable[[int], bool]) -> list[int]:
        """The numbers of sweeps that are not finished; a write that resumes prints how many are."""
        missing = [at for at in range(len(self)) if not is_finished(at)]
        count = len(self) - len(missing)
        if self._partial is not None and count:
            self._print(f"{self._partial}: resuming; {count} of {len(self)} sweeps were finished before")
        return missing

    def _report(self, counts: tuple[int, int, int]) -> None:
        if self._on_sweep is not None:
            self._on_sweep(*counts)


@dataclass(frozen=True)
class Seals:
    """The seals of finished sweeps in the partial ``folder`` of a write."""

    folder: Path
    key: str

    def find_all(self, count: int) -> set[int]:
        """The numbers of sweeps that are finished and undamaged; all other files of the output are removed."""
        found = {at: self._pieces.find_sealed(_name(at), self.folder) for at in range(count)}
        kept = {file for files in found.values() for file in files or ()}
        kept |= {folder for file in kept for folder in file.parents}
        for item in sorted((self.folder / NEW).rglob("*")):
            if item not in kept:
                remove(item)
        return {at for at, files in found.items() if files is not None}

    def has(self, name: str) -> bool:
        """Whether a sweep is finished and undamaged."""
        return self._pieces.find_sealed(name, self.folder) is not None

    def add(self, name: str, files: Iterable[Path]) -> None:
        """Say that a sweep is finished, whose files are these."""
        self._pieces.seal(name, self.folder, files)

    @property
    def _pieces(self) -> Pieces:
        return Pieces(self.folder / "seals", self.key)


def _write_sweep(
    log: Log, write: SweepWriter[Any], open_file: OpenFile, seals: Seals | None, at: int
) -> tuple[Any, tuple[int, int, int]]:
    """Load and write a sweep; what `OnSweep` is called with too."""
    sweep, files = log[at], dict[Path, None]()

    @contextmanager
    def open_and_note(path: Path) -> Iterator[Path]:
        with open_file(path) as temporary:
            yield temporary
            files.update(dict.fromkeys(path.with_name(made.name) for made in temporary.parent.iterdir()))

    result = write(sweep, at, open_file if seals is None else open_and_note)
    if seals is not None:
        seals.add(_name(at), files)
    return result, _count(sweep)


def _count(sweep: Sweep) -> tuple[int, int, int]:
    return len(sweep), sweep.n_beams, sweep.n_unknown


def _load_sweep(log: Log, seals: Seals | None, at: int) -> Sweep:
    """A sweep, of which a copy is kept if there are ``seals``."""
    sweep = log[at]
    if seals is not None:
        copy = seals.folder / _name_copy(at)
        remove(copy)
        with atomic_file(copy) as temporary:
            sweep_file.write(sweep, temporary)
        seals.add(_name_copy(at), [copy])
    return sweep


def _name(at: int) -> str:
    return f"{at:06d}"


def _name_copy(at: int) -> str:
    """The copy of a sweep, and its seal."""
    return f"sweeps/{at:06d}.sweep"
