"""Locks on file systems that have none: a file that exists while its process works, and names that process.

Creating it fails if it exists, on network file systems too. A killed process leaves it behind. If that process was one
of this host, it is known to be dead, and its file is taken over. Whether a process on another host lives is
unknown here, and the error names the file to remove.
"""

from __future__ import annotations

import json
import os
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from resweep.errors import OutputError

SUFFIX = ".owner.lock"
_JUST_BEGUN_S = 10.0  # in which a file may still be empty


def describe_this_process() -> dict[str, Any]:
    """The record of this process in a lock: process, host and time."""
    return {"pid": os.getpid(), "host": socket.gethostname(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}


def describe_holder(holder: Any) -> str:
    """Who writes an output, from the record in its lock; "another process" where it has none."""
    text = "another process is writing it"
    with suppress(KeyError, TypeError, ValueError):
        here = "" if holder["host"] == socket.gethostname() else f" on {holder['host']}"
        text += f" (pid {int(holder['pid'])}{here}, since {holder['since']})"
    return text


def take_lock_file(place: Path, named: Path) -> Path:
    """Create the lock file for ``place``, and return it; an error that names ``named`` if a process holds it."""
    file = place.with_name(place.name.removesuffix(".lock") + SUFFIX)
    me = {**describe_this_process(), "processes": _name_processes(), "started": _find_start(os.getpid())}
    while True:
        try:
            descriptor = os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        except FileExistsError:
            _remove_dead(file, named)
            continue
        try:
            os.write(descriptor, json.dumps(me).encode())
        except BaseException:  # unnamed, nothing would show that its process has ended
            file.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)
        return file


def _remove_dead(file: Path, named: Path) -> None:
    """Remove the lock file of a dead process; an error if it lives or may live."""
    try:
        text, age_s = file.read_text(encoding="utf-8"), time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return
    holder = None
    with suppress(ValueError):
        holder = json.loads(text)
    if isinstance(holder, dict) and holder.get("host") == socket.gethostname():
        alive = holder.get("processes") != _name_processes() or _is_alive(holder)
    else:
        alive = holder is not None or age_s < _JUST_BEGUN_S
    if alive:
        raise OutputError(
            f"{named}: {describe_holder(holder)}; wait for it or choose another name (its file system has no locks: if "
            f"that process runs no more, remove {file})"
        )
    # Several may come here at once: only the file that was read goes, and one that another has just created comes back.
    aside = file.with_name(f"{file.name}.{os.getpid()}")
    try:
        os.rename(file, aside)
    except FileNotFoundError:
        return
    if aside.read_text(encoding="utf-8") != text:
        with suppress(OSError):
            os.link(aside, file)
    aside.unlink()


def _is_alive(holder: dict[str, Any]) -> bool:
    """Whether the process that a lock file names lives; another one of the same number does not count."""
    try:
        with suppress(PermissionError):  # it lives, as another user's
            os.kill(int(holder["pid"]), 0)
    except (ProcessLookupError, KeyError, TypeError, ValueError, OverflowError):
        return False
    return holder.get("started") == _find_start(int(holder["pid"]))


def _name_processes() -> str:
    """Which processes a number of this process' view is one of: containers of one host have their own."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _find_start(pid: int) -> str:
    """When a process was started, in the system's ticks; empty where the system does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""
