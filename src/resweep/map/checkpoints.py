"""Checkpoints of a build: results of its finished steps on disk, from which a stopped build resumes.

A folder holds ``checkpoints.json``, which says what it belongs to (version, settings, inputs), and a piece for each
step (`resweep.files.pieces`), which says so too. Checkpoints of another build are discarded, damaged ones computed
again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

import resweep
from resweep.config import Spec
from resweep.files.partial import describe_files, hash_text, open_partial, print_line
from resweep.files.pieces import SUFFIX, Pieces
from resweep.files.publication import discard_partial
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.pose import Array
from resweep.remote import find_path
from resweep.sweep import Sweep

T = TypeVar("T")


class Checkpoints:
    """The checkpoints of one build in ``folder``; without a folder every step is run and none kept.

    ``key`` tells the build from others. ``kept`` names the steps that were found, ``made`` those that were run.
    """

    def __init__(self, folder: Path | None = None, say: Callable[[str], None] = print_line, key: str = "") -> None:
        self.folder = folder
        self.key = key
        self._say = say
        self.kept: list[str] = []
        self.made: list[str] = []

    @classmethod
    def open(
        cls,
        folder: str | Path,
        log: Log,
        config: Spec,
        labels: LabelSet,
        say: Callable[[str], None] = print_line,
        more: str = "",
    ) -> Checkpoints:
        """The checkpoints in ``folder`` of a build of ``log`` by ``config``; those of another build are discarded.

        ``more`` is what else decides the result.
        """
        folder = Path(folder)
        key = {
            "version": resweep.__version__,
            "config": hash_text(type(config).__name__, config.model_dump_json(), *[more][: bool(more)]),
            "inputs": _hash_inputs(log, labels),
        }
        if open_partial(folder, key, "checkpoints of a build", say):
            done = [file.stem for file in sorted(folder.glob(f"*{SUFFIX}"), key=lambda file: file.lstat().st_mtime_ns)]
            if done:
                say(f"{folder}: resuming; finished before: {', '.join(done)}")
        return cls(folder, say, hash_text(*key.values()))

    def run(
        self,
        name: str,
        make: Callable[[], T],
        pack: Callable[[T], Mapping[str, Array]],
        unpack: Callable[[dict[str, Array]], T],
    ) -> T:
        """The result of step ``name``: from its checkpoint, or of ``make()``, which is then kept.

        ``pack`` and ``unpack`` turn it into arrays and back. Whether kept or new, the result has passed through the
        same arrays, so that both give the same bytes.
        """
        if self.folder is None:
            return make()
        pieces = Pieces(self.folder, self.key)
        found = pieces.find(name, self._say)
        if found is not None:
            self.kept.append(name)
            return unpack(found.arrays)
        arrays = {column: np.asarray(values, order="C") for column, values in pack(make()).items()}
        pieces.write(name, arrays)
        self.made.append(name)
        return unpack(arrays)

    def remove(self) -> None:
        """Remove the folder: the build is finished."""
        if self.folder is not None:
            discard_partial(self.folder)


def pack_fields(value: Any) -> dict[str, Array]:
    """A dataclass of arrays and numbers as arrays by the names of its fields, without those that are None."""
    named = {item.name: getattr(value, item.name) for item in fields(value)}
    return {name: np.asarray(column) for name, column in named.items() if column is not None}


def _hash_inputs(log: Log, labels: LabelSet) -> str:
    """A hash of what a log is read from: files by name, size and time of change, and which sweeps of them.

    Its sensor and the meaning of its labels count as well. One sweep is read too, since options of the reader change
    what is read from the same files. A log without files is identified by all that its sweeps hold.
    """
    digest = hashlib.sha256()
    paths = [find_path(path) for path in log.meta.get("paths", [log.meta.get("path")]) if path is not None]
    for line in describe_files(paths):
        digest.update(f"{line}\n".encode())
    digest.update(repr(log.meta.get("asked")).encode())  # bounds and resolution of a cloud
    facts = (labels, log.sensor)
    digest.update("".join(fact.model_dump_json() for fact in facts if fact is not None).encode())
    for values in (log.times, log.poses):
        digest.update(np.ascontiguousarray(values).tobytes())
    recorded = bool(paths) and all(path.exists() for path in paths)
    for at in range(min(1, len(log)) if recorded else len(log)):
        _add_sweep(digest, log[at])
    return digest.hexdigest()


def _add_sweep(digest: Any, sweep: Sweep) -> None:
    for name in ("beam_direction", "beam_time", "beam_ring", "beam", "range", "intensity", "label", "instance"):
        digest.update(np.ascontiguousarray(getattr(sweep, name)).tobytes())
    digest.update(np.ascontiguousarray(sweep.pose).tobytes())
