"""Commands in forked processes: each begins with everything imported, which takes longer than the work of a small one.

Only for a process without threads: whoever imports this module lets other processes do what starts any.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import resweep.cli
import resweep.dataset
import resweep.evaluation
import resweep.io
import resweep.reconstruction
import resweep.scenario
import resweep.simulate
import resweep.worlds

_POLL_S = 0.0005


class Fork:
    """A function at work in a process of its own, in a folder, with its words on ``said``."""

    def __init__(self, work: Callable[[], object], folder: Path, said: Path, bound: bool = False) -> None:
        self.said = said
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _run(work, folder, said, bound)

    def poll(self) -> int | None:
        """The exit status; None while it works, negative if it was killed."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def kill(self) -> None:
        """Kill it and its children, if they live."""
        with suppress(ProcessLookupError):  # it has ended by itself
            os.killpg(self.pid, signal.SIGKILL)
        while self.poll() is None:
            time.sleep(_POLL_S)

    def pause(self) -> None:
        """Let it stand still until `go_on`."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it go on after `pause`."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def wait(self) -> tuple[int, str]:
        """The exit status, and what it has printed."""
        while (status := self.poll()) is None:
            time.sleep(10 * _POLL_S)
        return status, self.said.read_text(encoding="utf-8", errors="replace")


def start_command(words: Sequence[str], folder: Path, said: Path, bound: bool = False) -> Fork:
    """A command of Resweep at work in ``folder``, ``bound`` by permissions even if this is root."""
    return Fork(lambda: resweep.cli.main(list(words)), folder, said, bound)


def drop_capabilities() -> None:
    """Let permissions bind this process, root's as well (capset of linux/capability.h, version 3)."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    none = (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _run(work: Callable[[], object], folder: Path, said: Path, bound: bool) -> NoReturn:
    """Do the work in this process, and end it."""
    status = 1
    try:
        os.setsid()
        os.chdir(folder)
        file = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        if bound:
            drop_capabilities()
        work()
        status = 0
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    except BaseException as error:  # the fork must not go on as its parent
        print(f"Traceback: {error!r}", flush=True)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
