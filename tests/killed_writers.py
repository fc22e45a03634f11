"""Writers that are killed before every change they make on the disk, and what each leaves. Run by test_files.py.

``python killed_writers.py FOLDER [no-exchange]`` does every job over an old output, in a child process for each point
at which it is killed, and prints as JSON what was at the path after each: right away, and once it was opened. A process
of its own, since a process with threads is not to be forked.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import resweep as rs
from resweep.files import atomic_file, atomic_folder, disk, recover_local
from resweep.io import write_log as _write_log
from resweep.log import Log
from resweep.worlds import Mesh, World

_CALLS = ("rename", "replace", "rmdir", "mkdir", "unlink")


def kill_before(number: int, few: bool) -> None:
    """Let this process kill itself before its change ``number`` of what is on the disk.

    With ``few`` only renames and the removal of folders count.
    """
    count = 0

    def wrap(function: Callable[..., Any], counts: Callable[..., bool] = lambda *_, **__: True) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            nonlocal count
            if counts(*arguments, **options):
                if count == number:
                    os.kill(os.getpid(), signal.SIGKILL)
                count += 1
            return function(*arguments, **options)

        return counted

    for name in _CALLS[:3] if few else _CALLS:
        setattr(os, name, wrap(getattr(os, name)))
    if not few:
        os.open = wrap(os.open, lambda path, flags, *_, **__: bool(flags & os.O_CREAT))
    disk.exchange = wrap(disk.exchange)


def write_folder(path: Path, value: str) -> None:
    """Replace a folder of two files."""
    with atomic_folder(path) as folder:
        for name in ("a", "b"):
            (folder / name).write_text(value)


def write_one_file(path: Path, value: str) -> None:
    """Replace a file."""
    with atomic_file(path) as temporary:
        temporary.write_text(value)


def write_world(path: Path, value: str) -> None:
    """Replace a world."""
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, len(value) + (value == "old")]])
    World([Mesh(corners, np.array([[0, 1, 2]]))]).save(path)


def write_log(path: Path, value: str) -> None:
    """Replace a log of two sweeps, going on where a killed process was."""
    points = np.arange(30.0).reshape(10, 3) + (value == "old")
    sweeps = [rs.Sweep.from_points(points + at, timestamp=float(at)) for at in range(2)]
    _write_log(
        Log.from_sweeps(sweeps, "drive"), path, format="semantickitti", overwrite=True, progress=False, resume=True
    )


JOBS = {"folder": write_folder, "file": write_one_file, "world": write_world, "log": write_log}


def content(path: Path) -> dict[str, str] | str | None:
    """All files at a path."""
    if path.is_file():
        return path.read_bytes().hex()
    if not path.exists():
        return None
    return {str(file.relative_to(path)): file.read_bytes().hex() for file in path.rglob("*") if file.is_file()}


def in_child(work: Callable[[], None]) -> bool:
    """Do work in a child process; whether it was killed."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the writer failed"
    return os.WIFSIGNALED(status)


def run(job: Callable[[Path, str], None], folder: Path) -> list[tuple[str, str, list[str]]]:
    """For each point: what is at the path, what is there once it was opened, and what else is left beside it."""
    known: dict[str, Any] = {}
    for value in ("old", "new"):
        in_child(partial(job, folder / value, value))
        known[value] = content(folder / value)
    known["nothing"] = None
    path, found = folder / "out", []

    def state() -> str:
        there = content(path)
        return next((name for name, wanted in known.items() if wanted == there), "something else")

    def write(number: int) -> None:
        kill_before(number, few=job in (write_world, write_log))  # they are many files
        job(path, "new")

    for number in range(10_000):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        shutil.copytree(folder / "old", path) if (folder / "old").is_dir() else shutil.copy(folder / "old", path)
        killed = in_child(partial(write, number))
        right_away = state()
        recover_local(path)
        opened = state()
        in_child(lambda: job(path, "new"))
        assert state() == "new"
        left = sorted(item.name for item in folder.iterdir() if item.name not in ("old", "new", "out"))
        found.append((right_away, opened, left))
        if not killed:
            return found
    raise AssertionError("the writer never ends")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.fsync = lambda fd: None
    if "no-exchange" in sys.argv:
        disk.exchange = lambda one, other: False
    found = {}
    for name, job in JOBS.items():
        place = Path(sys.argv[1], name)
        place.mkdir()
        found[name] = run(job, place)
    print(json.dumps(found))
