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
from typing import Any, NoReturn

import resweep.build
import resweep.cli
import resweep.dataset
import resweep.evaluation
import resweep.io
import resweep.scenario
import resweep.simulate
import resweep.worlds
from resweep.files.publication import RECORD

_POLL_S = 0.0005


class Fork:
    """A function at work in a process of its own, in a folder, with its output on ``said``.

    With ``stop_after`` it stands still at the first file that it opens after it has made a folder of that name, or one
    within it; `wait_until_stopped` and `go_on` are for that.
    """

    def __init__(
        self, work: Callable[[], object], folder: Path, said: Path, bound: bool = False, stop_after: str = ""
    ) -> None:
        self.said = said
        self.returncode: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            _run(work, folder, said, bound, stop_after)

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

    def wait_until_stopped(self) -> bool:
        """Wait until it stands still; False if it ended before."""
        _, status = os.waitpid(self.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode is None

    def go_on(self) -> None:
        """Let it go on after it was stopped."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)

    def wait(self) -> tuple[int, str]:
        """The exit status, and what it has printed."""
        while (status := self.poll()) is None:
            time.sleep(10 * _POLL_S)
        return status, self.said.read_text(encoding="utf-8", errors="replace")


def start_command(args: Sequence[str], folder: Path, said: Path, bound: bool = False, stop_after: str = "") -> Fork:
    """A command of Resweep at work in ``folder``, ``bound`` by permissions even if this is root."""
    return Fork(lambda: resweep.cli.main(list(args)), folder, said, bound, stop_after)


def drop_capabilities() -> None:
    """Let permissions bind this process, root's as well (capset of linux/capability.h, version 3)."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    none = (ctypes.c_uint32 * 6)()
    if ctypes.CDLL(None, use_errno=True).capset(header, none) != 0:
        raise OSError(ctypes.get_errno(), "capset")


def _stop_after(name: str) -> None:
    """Stop this process once, as `Fork` says: a look from outside would come too late on a loaded machine."""
    made, stopped = False, False

    def look(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal made, stopped
        if stopped or event not in ("os.mkdir", "open") or isinstance(arguments[0], int):
            return
        path = Path(os.fsdecode(arguments[0]))
        if event == "os.mkdir":
            made = made or name in path.parts
        elif made and RECORD not in path.name:
            stopped = True
            os.kill(os.getpid(), signal.SIGSTOP)

    sys.addaudithook(look)


def _run(work: Callable[[], object], folder: Path, said: Path, bound: bool, stop_after: str) -> NoReturn:
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
        if stop_after:
            _stop_after(stop_after)
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
