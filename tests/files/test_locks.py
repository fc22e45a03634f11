"""Locks of outputs: on full disks, on other hosts, and on file systems that have none."""

from __future__ import annotations

import errno
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from resweep.errors import ResweepError
from resweep.files import atomic_folder, lock_local

NO_FLOCK = """
import errno, sys
from pathlib import Path
from resweep.files import locks, lock_local
def refuse(descriptor):
    raise OSError(errno.ENOLCK, "No locks available")
locks._try_lock = refuse
try:
    with lock_local(Path("out")):
        print("held", flush=True)
        sys.stdin.read()
except Exception as error:
    print(error, flush=True)
"""
OWNER = ".out.owner.lock"


@contextmanager
def holder(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A process that takes the lock of ``out`` on a file system without locks: what it says, and itself."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", NO_FLOCK], cwd=folder, text=True, **pipes) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline(), process
        finally:
            process.kill()


@pytest.fixture
def no_flock(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("resweep.files.locks._try_lock", refuse)


def write(path: Path) -> None:
    with atomic_folder(path) as folder:
        (folder / "a").write_text("new")


@pytest.mark.usefixtures("no_flock")
def test_without_locks_a_file_keeps_processes_apart(tmp_path: Path) -> None:
    with holder(tmp_path) as (message, first):
        assert message == "held\n"
        with holder(tmp_path) as (second, _):
            assert f"another process is writing it (pid {first.pid}, since 20" in second
        with pytest.raises(ResweepError, match=rf"if that process runs no more, remove .*{OWNER}\)"):
            write(tmp_path / "out")
    assert (tmp_path / OWNER).is_file()  # it was killed, and is known to be dead
    write(tmp_path / "out")
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.usefixtures("no_flock")
def test_without_locks_what_dead_processes_left_goes(tmp_path: Path) -> None:
    (tmp_path / ".out.ab_12xyz.part").mkdir()
    write(tmp_path / "out")
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.usefixtures("no_flock")
@pytest.mark.parametrize("state", ["other host", "empty", "empty and old", "same number", "other container"])
def test_a_lock_file_counts_unless_its_process_is_known_to_be_dead(tmp_path: Path, state: str) -> None:
    lock = tmp_path / OWNER
    mine = {"pid": os.getpid(), "host": socket.gethostname(), "since": "2026-01-01", "started": "1", "processes": ""}
    if Path("/proc/self/ns/pid").is_symlink():
        mine["processes"] = os.readlink("/proc/self/ns/pid")
    facts = {"other host": {"host": "node7"}, "same number": {}, "other container": {"processes": "pid:[7]"}}.get(state)
    lock.write_text("" if facts is None else json.dumps({**mine, **facts}))
    if state == "empty and old":
        os.utime(lock, (time.time() - 60, time.time() - 60))
    if state in ("empty and old", "same number"):
        write(tmp_path / "out")
        assert os.listdir(tmp_path) == ["out"]
        return
    where = rf"\(pid {os.getpid()} on node7, since 2026-01-01\)" if state == "other host" else "another process"
    with pytest.raises(ResweepError, match=where):
        write(tmp_path / "out")
    assert os.listdir(tmp_path) == [OWNER]


def test_a_holder_on_another_host_is_named(tmp_path: Path) -> None:
    import fcntl

    lock = tmp_path / ".out.lock"
    lock.write_text(json.dumps({"pid": 7, "host": "node7", "since": "2026-01-01 00:00:00 +0000"}))
    with lock.open("r+") as other:  # another open file, as that of another process or host
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(ResweepError, match=r"another process is writing it \(pid 7 on node7, since 2026-01-01"):
            write(tmp_path / "out")


def test_a_lock_on_a_full_disk_holds_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.write", full)
        with lock_local(tmp_path / "out"):
            assert (tmp_path / ".out.lock").is_file()
    write(tmp_path / "out")  # in the same process: the lock is free again
    assert os.listdir(tmp_path) == ["out"]


def test_what_is_checked_comes_before_the_old_output_goes(tmp_path: Path) -> None:
    write(tmp_path / "out")

    def refuse() -> None:
        raise ResweepError("an input has changed")

    def replace() -> None:
        with lock_local(tmp_path / "out", refuse), atomic_folder(tmp_path / "out") as folder:
            (folder / "b").write_text("newer")

    with pytest.raises(ResweepError, match="an input has changed"):
        replace()
    assert os.listdir(tmp_path / "out") == ["a"]
    assert os.listdir(tmp_path) == ["out"]
