"""Sweeps that are decoded and corrected once, however often they are looked at."""

from __future__ import annotations

import hashlib
import pickle
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from resweep.files.pieces import SUM_BYTES
from resweep.files.untrusted import ANY_SIZE, open_regular
from resweep.log import Log
from resweep.sweep import Sweep

_DISK_SHARE = 0.5  # of what is free on the disk, chosen by hand: the store of the tiles and the world want room too


@contextmanager
def open_spool(log: Log, memory: int, scratch: Path | None = None) -> Iterator[Log]:
    """The log, whose sweeps are decoded when they are first asked for and kept while this is open.

    Up to ``memory`` bytes of them are kept in memory, the others in a temporary folder in ``scratch`` (default: the
    system's) as long as it has room; what has room nowhere is decoded again. Other processes that get the log decode
    for themselves.
    """
    spool = _Spool(log.load, memory, scratch)
    try:
        yield replace(log, load=spool)
    finally:
        spool.close()


class _Spool:
    """Loads sweeps; one at a time, as not every format can be read by two threads at once."""

    def __init__(self, load: Callable[[int], Sweep], memory: int, scratch: Path | None) -> None:
        self._load, self._memory, self._scratch = load, memory, scratch
        self._held: dict[int, Sweep] = {}
        self._written: dict[int, tuple[Path, bytes]] = {}
        self._folder: TemporaryDirectory[str] | None = None
        self._lock = threading.Lock()
        self._open = True

    def __call__(self, at: int) -> Sweep:
        held = self._held.get(at)
        if held is not None:
            return held
        written = self._written.get(at)
        if written is not None and (sweep := _read(*written)) is not None:
            return sweep
        with self._lock:
            if at in self._held:
                return self._held[at]
            sweep = self._load(at)
            self._keep(at, sweep)
        return sweep

    def __reduce__(self) -> tuple[Any, ...]:
        return _unwrap, (self._load,)

    def close(self) -> None:
        """Forget all sweeps; those asked for later are decoded."""
        self._open = False
        self._held.clear()
        self._written.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def _keep(self, at: int, sweep: Sweep) -> None:
        if not self._open:
            return
        size = count_bytes(sweep)
        if size <= self._memory:
            self._memory -= size
            self._held[at] = sweep
            return
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="sweeps-", dir=self._scratch)
        folder = Path(self._folder.name)
        if size < _DISK_SHARE * shutil.disk_usage(folder).free:
            file = folder / f"{at:07d}.sweep"
            data = pickle.dumps(sweep, protocol=5)
            file.write_bytes(data)
            self._written[at] = file, _hash(data)


def _unwrap(load: Callable[[int], Sweep]) -> Callable[[int], Sweep]:
    return load


def _read(file: Path, known: bytes) -> Sweep | None:
    """A sweep that this process wrote to its own temporary folder; None if the file is no longer what it wrote."""
    try:
        with open_regular(file, ANY_SIZE) as stream:
            data = stream.read()
    except OSError:
        return None
    return pickle.loads(data) if _hash(data) == known else None


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=SUM_BYTES).digest()


def count_bytes(sweep: Sweep) -> int:
    """Bytes of the columns of a sweep."""
    columns = [getattr(sweep, item.name) for item in fields(sweep)] + list(sweep.extra.values())
    return sum(column.nbytes for column in columns if isinstance(column, np.ndarray))
