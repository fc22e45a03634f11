"""Where a run goes while it is driven: kept in memory, or written as it comes so that a stopped run goes on.

A run that is written keeps its finished sweeps and a journal, a line for each command, in the folder ``NAME.partial``
until it is whole. Driven again, it takes both from there: the vehicle moves as before, and no sweep is simulated twice.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

import resweep
from resweep.drive.autonomy.guard import Decision
from resweep.drive.run import FILE, Run
from resweep.drive.sensing.lidars import MountedLidar
from resweep.errors import OutputError
from resweep.files import atomic_file, write_file
from resweep.files.partial import hash_text, print_line, resumable_folder
from resweep.files.pieces import DAMAGE, Pieces, remove
from resweep.files.publication import NEW
from resweep.files.untrusted import ANY_SIZE, open_regular
from resweep.io.files import sweep_file
from resweep.io.log_json import write_record
from resweep.io.poses import write_poses
from resweep.log import Log
from resweep.sweep import Sweep

_JOURNAL = "journal.jsonl"
_SUM_DIGITS = 16  # of the checksum of a line


class Recorder(Protocol):
    """Takes what a run gives."""

    @property
    def keeps_sweeps(self) -> bool:
        """Whether it does anything with sweeps."""
        ...

    def read_decisions(self) -> list[Decision]:
        """The decisions from before the run was stopped."""
        ...

    def find_sweep(self, name: str, index: int) -> Sweep | None:
        """A sweep that was finished before the run was stopped."""
        ...

    def add_decision(self, decision: Decision) -> None:
        """Note the decision of the next step."""
        ...

    def add_sweep(self, name: str, index: int, sweep: Sweep) -> None:
        """Note a sweep."""
        ...

    def logs(self, lidars: list[MountedLidar]) -> dict[str, Log]:
        """The sweeps, by the name of their LiDAR."""
        ...


class MemoryRecorder:
    """Keeps the sweeps in memory, or none if not ``keep``."""

    def __init__(self, keep: bool = True) -> None:
        self.keeps_sweeps = keep
        self._sweeps: dict[str, list[Sweep]] = {}

    def read_decisions(self) -> list[Decision]:
        """None: nothing was stopped."""
        return []

    def find_sweep(self, name: str, index: int) -> Sweep | None:
        """None: nothing was stopped."""
        return None

    def add_decision(self, decision: Decision) -> None:
        """Nothing: the run has the decisions."""

    def add_sweep(self, name: str, index: int, sweep: Sweep) -> None:
        """Keep a sweep."""
        if self.keeps_sweeps:
            self._sweeps.setdefault(name, []).append(sweep)

    def logs(self, lidars: list[MountedLidar]) -> dict[str, Log]:
        """The logs of LiDARs that swept."""
        return {
            lidar.name: lidar.empty_log(lidar.name, {}).with_sweeps(self._sweeps[lidar.name])
            for lidar in lidars
            if self._sweeps.get(lidar.name)
        }


class FolderRecorder:
    """Writes sweeps and journal into the partial folder of a run.

    ``first`` is the LiDAR whose sweeps lie in the folder itself; None keeps no sweeps. ``key`` tells the run from
    others.
    """

    def __init__(self, partial: Path, first: str | None, key: str = "") -> None:
        self._partial, self._first, self._key = partial, first, key
        _remove_unsealed(partial)
        self._sum = key  # of all decisions so far: a sweep is used again after the same ones only
        self.keeps_sweeps = first is not None
        self._decided = _read_journal(partial / _JOURNAL, key)
        self._journal: IO[str] | None = None
        self._count = 0
        self._heads: dict[str, list[tuple[float, Any]]] = {}

    def read_decisions(self) -> list[Decision]:
        """The decisions in the journal."""
        return self._decided

    def find_sweep(self, name: str, index: int) -> Sweep | None:
        """The sweep in its file, if it was finished; a damaged one is removed."""
        file = self._place(name, index)
        if self._seals.find_sealed(_name_seal(name, index), self._partial) is None:
            remove(file)
            return None
        return sweep_file.read(file)

    @property
    def _seals(self) -> Pieces:
        """The seals of finished sweeps."""
        return Pieces(self._partial / "seals", self._sum)

    def add_decision(self, decision: Decision) -> None:
        """Add a line to the journal, unless it is there."""
        self._count += 1
        before, text = self._sum, json.dumps(decision.to_plain())
        self._sum = _sum_line(before, text)
        if self._count <= len(self._decided):
            return
        if self._journal is None:
            write_file(self._partial / _JOURNAL, _make_journal(self._decided, self._key).encode())
            self._journal = (self._partial / _JOURNAL).open("a", encoding="utf-8")
        self._journal.write(f"{self._sum} {text}\n")
        self._journal.flush()

    def add_sweep(self, name: str, index: int, sweep: Sweep) -> None:
        """Write a sweep, unless it is there."""
        if not self.keeps_sweeps:
            return
        self._heads.setdefault(name, []).append((sweep.timestamp, sweep.pose))
        file = self._place(name, index)
        if file.is_file():
            return
        file.parent.mkdir(exist_ok=True)
        with atomic_file(file) as part:
            sweep_file.write(sweep, part)
        self._seals.seal(_name_seal(name, index), self._partial, [file])

    def logs(self, lidars: list[MountedLidar]) -> dict[str, Log]:
        """The logs of LiDARs that swept; their sweeps are read when they are asked for."""
        return {lidar.name: self._make_log(lidar) for lidar in lidars if self._heads.get(lidar.name)}

    def write(self, run: Run) -> None:
        """Complete the folder: poses and log.json of every LiDAR, and run.json."""
        for name, log in run.logs.items():
            folder = self._place(name, 0).parent
            write_poses(log.trajectory, folder / "poses.txt", "tum")
            write_record(log, folder, "sweep", "sensor")
        (self._partial / NEW / FILE).write_bytes(run.to_bytes())

    def close(self) -> None:
        """Close the journal."""
        if self._journal is not None:
            self._journal.close()

    def _place(self, name: str, index: int) -> Path:
        folder = self._partial / NEW
        return (folder if name == self._first else folder / name) / f"{index:06d}.sweep"

    def _make_log(self, lidar: MountedLidar) -> Log:
        heads = self._heads[lidar.name]
        empty = lidar.empty_log(lidar.name, {"resweep": resweep.__version__, "world": lidar.simulator.world.meta})
        return replace(
            empty,
            load=lambda at: sweep_file.read(self._place(lidar.name, at)),
            times=np.array([time for time, _ in heads]),
            poses=np.stack([pose for _, pose in heads]),
        )


@contextmanager
def open_recorder(output: Path, settings: Mapping[str, Any], world: str, first: str | None) -> Iterator[FolderRecorder]:
    """A recorder of a run into a folder, which appears once the run has ended."""
    key = {
        "version": resweep.__version__,
        "config": hash_text(json.dumps(settings, sort_keys=True)),
        "inputs": hash_text(world),
    }
    with resumable_folder(output, key, "finished steps of a drive") as partial:
        recorder = FolderRecorder(partial, first, hash_text(*key.values()))
        try:
            yield recorder
        finally:
            recorder.close()


def check_target(output: Path, overwrite: bool) -> None:
    """Raise if a run would take the place of anything but a run that may be replaced."""
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output}: is a file; a run is written as a folder")
    if not output.is_dir() or not any(output.iterdir()):
        return
    if not overwrite:
        raise OutputError(f"{output}: exists and is not empty; choose another name or overwrite it (overwrite=True)")
    if not (output / FILE).is_file():
        raise OutputError(f"{output}: is no run, so it is not overwritten; choose another name or empty it first")


def _remove_unsealed(partial: Path) -> None:
    """Remove what is in the output of a run beside its sweeps: that is written anew."""
    for item in sorted((partial / NEW).rglob("*")):
        if item.is_symlink() or not (item.is_dir() or (item.is_file() and item.suffix == ".sweep")):
            remove(item)


def _name_seal(name: str, index: int) -> str:
    return f"{name}/{index:06d}"


def _sum_line(before: str, text: str) -> str:
    """The checksum of a line of the journal and of all lines before it, of which ``before`` is that."""
    return hash_text(before, text)[:_SUM_DIGITS]


def _make_journal(decisions: list[Decision], key: str) -> str:
    """The lines of some decisions, each after its checksum."""
    lines, digest = [], key
    for text in (json.dumps(decision.to_plain()) for decision in decisions):
        digest = _sum_line(digest, text)
        lines.append(f"{digest} {text}\n")
    return "".join(lines)


def _read_journal(file: Path, key: str) -> list[Decision]:
    """The decisions of a journal as far as it is whole; its last line may have been cut off."""
    if not os.path.lexists(file):
        return []
    found: list[Decision] = []
    before = key
    try:
        with open_regular(file, ANY_SIZE) as stream:
            lines = stream.read().decode(errors="replace").split("\n")
        for line in lines[:-1]:  # what follows the last line end is nothing, or was cut off
            digest, _, text = line.partition(" ")
            before = _sum_line(before, text)
            if digest != before:
                raise ValueError("another checksum")
            found.append(Decision.from_plain(json.loads(text)))
    except DAMAGE:
        print_line(f"checkpoint {file} is damaged: decided again after step {len(found)}")
        if not file.is_file():
            remove(file)
    return found
