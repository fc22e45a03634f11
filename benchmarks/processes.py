"""Commands run in processes of their own: their seconds, and the most memory and disk that they took."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from resweep.errors import ResweepError

_EVERY_S, _DISK_EVERY_S = 0.05, 2.0


@dataclass(frozen=True)
class Usage:
    """What a command took: seconds of the clock and of processors, bytes of memory of all its processes together.

    ``own_s`` are the processor seconds of its first process alone, without those that it started; ``disk_bytes`` are
    those of the folder that was watched.
    """

    seconds: float
    processor_s: float
    own_s: float
    peak_bytes: int
    disk_bytes: int


def resweep_command(*words: str | Path) -> list[str]:
    """A command line of ``resweep``, run by this interpreter."""
    return [sys.executable, "-c", "import sys; from resweep.cli import main; sys.exit(main())", *map(str, words)]


def run_measured(command: Sequence[str], what: str, watched: Path | None = None) -> Usage:
    """Run a command to its end and measure it with all of its children; ``watched`` is a folder that may come and go.

    Memory is the sum over processes at one moment, looked at twenty times a second, and no less than the peak that the
    system noted for the first of them. Pages that processes share count in each. Only where there is /proc.
    """
    if not Path("/proc/self/status").exists():
        raise ResweepError("the memory of processes is read from /proc; this benchmark runs on Linux")
    begin = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)
        watcher = _Watcher(process.pid, watched)
        watcher.start()
        _, code, used = os.wait4(process.pid, 0)  # with what it waited for itself, such as workers
        status = process.returncode = os.waitstatus_to_exitcode(code)
        seconds = time.perf_counter() - begin
        watcher.stop()
        if status != 0:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            raise ResweepError(f"{what}: failed with status {status}: {lines[-1] if lines else 'it said nothing'}")
    return Usage(seconds, used.ru_utime + used.ru_stime, watcher.own_s, watcher.peak_bytes, watcher.disk_bytes)


class _Watcher(threading.Thread):
    """Looks at a process and its children until it is stopped."""

    def __init__(self, pid: int, watched: Path | None) -> None:
        super().__init__(daemon=True)
        self.pid, self.watched = pid, watched
        self.peak_bytes = self.disk_bytes = 0
        self.own_s = 0.0
        self._done = threading.Event()

    def run(self) -> None:
        """Look until the end."""
        looked = 0.0
        while not self._done.wait(_EVERY_S):
            now = sum(_memory(pid, "VmRSS") for pid in _family(self.pid))
            self.peak_bytes = max(self.peak_bytes, now, _memory(self.pid, "VmHWM"))
            self.own_s = max(self.own_s, _processor_s(self.pid))
            if self.watched is not None and time.perf_counter() - looked > _DISK_EVERY_S:
                self.disk_bytes = max(self.disk_bytes, folder_bytes(self.watched))
                looked = time.perf_counter()

    def stop(self) -> None:
        """Look no more."""
        self._done.set()
        self.join()


def folder_bytes(folder: Path) -> int:
    """Bytes of all files in a folder; what vanishes meanwhile does not count, and no folder has none."""
    total = 0
    for where, _, names in os.walk(folder):  # which passes over folders that are gone
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_size
            except FileNotFoundError:
                continue
    return total


def _family(pid: int) -> list[int]:
    """A process and all that it started."""
    found, waiting = [], [pid]
    while waiting:
        found.append(waiting.pop())
        for task in Path(f"/proc/{found[-1]}/task").glob("*/children"):
            waiting += [int(word) for word in _read(task).split()]
    return found


def _memory(pid: int, field: str) -> int:
    """Bytes that a line of a process's status names; 0 if it has ended."""
    for line in _read(Path(f"/proc/{pid}/status")).splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


def _processor_s(pid: int) -> float:
    """Processor seconds of a process so far, all its threads together; 0 if it has ended."""
    words = _read(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()  # the name before it may hold blanks
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK") if len(words) > 12 else 0.0


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
