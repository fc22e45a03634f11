"""One writer for each output in an object store: a lease, which its holder renews and which a dead one loses.

The lease is a small object beside the output, ``.NAME.lock``, put on condition that there is none. Its holder rewrites
it every few seconds. Whoever finds one watches it: a lease that changes is alive, and the output is refused; one that
does not change for long enough, or whose process on this machine is gone, is taken over. All changes are conditional,
so of two that try only one succeeds.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from resweep.errors import OutputError, ResweepError
from resweep.files import lock_local
from resweep.files.strict_json import format_json, parse_json
from resweep.remote.buckets import ChangedError, Version
from resweep.remote.paths import RemotePath, recover_output

RENEW_S = 5.0
LOST_S = 20.0  # without a change, after which a lease is that of a dead process
_LOOK_S = 0.25

_held: dict[str, tuple[int, _Lease, Callable[[], None] | None]] = {}
_guard = threading.Lock()


@contextmanager
def lock_output(path: Path, check: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold the lock of an output, local or remote, so that no other process writes it; an error if another does.

    A hold within a hold of the same thread is allowed. ``check`` is called before anything takes the place of the
    output; if it raises, the old output stays.
    """
    if not isinstance(path, RemotePath):
        with lock_local(path, check):
            yield
        return
    if not path.key:
        raise ResweepError(f"{path}: is a whole bucket; give a name in it, such as {path}/NAME")
    me, name = threading.get_ident(), str(path)
    with _guard:
        owner = _held.get(name)
    if owner is not None and owner[0] == me:
        yield
        return
    if owner is not None:
        raise OutputError(f"{name}: another thread of this process is writing it; wait for it or choose another name")
    lease = _Lease(path)
    lease.take()
    recover_output(path)  # what another process wrote there before is seen
    with _guard:
        _held[name] = (me, lease, check)
    try:
        with lease:
            yield
    finally:
        with _guard:
            del _held[name]


def confirm_lock(path: RemotePath) -> None:
    """Raise if this process has lost the lease of ``path``, or by the check that it was locked with.

    To be called before anything is published there.
    """
    with _guard:
        owner = _held.get(str(path))
    if owner is None:
        raise ResweepError(f"{path}: is not locked by this process")
    _, lease, check = owner
    if check is not None:
        check()
    lease.renew()


class _Lease:
    """The lease of an output, held by this process once it is taken."""

    def __init__(self, path: RemotePath) -> None:
        self.named = str(path)
        self.bucket = path.bucket
        self.key = path.with_name(f".{path.name}.lock").key
        self.facts: dict[str, Any] = {
            "holder": uuid.uuid4().hex,
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "machine": _identify_machine(),
            "since": time.strftime("%Y-%m-%d %H:%M:%S %z"),
        }
        self._beats = 0
        self._version: Version | None = None
        self._busy = threading.Lock()
        self._done = threading.Event()
        self._lost = False

    def take(self) -> None:
        """Take the lease; an error if another process holds it."""
        if self._write_new():
            return
        try:
            text, version = self.bucket.read_version(self.key)
        except FileNotFoundError:
            self.take()  # it has just been given back
            return
        holder = _parse(text)
        if self._is_own(holder):  # the answer was lost, and the request repeated
            self._version = version
            return
        if not _is_dead(holder) and self._watch(version):
            raise OutputError(
                f"{self.named}: another process is writing it (pid {holder.get('pid')} on {holder.get('host')}, since "
                f"{holder.get('since')}); wait for it or choose another name"
            )
        try:
            self._version = self.bucket.write(self.key, self._describe(), replaces=version)
        except (ChangedError, FileNotFoundError) as error:
            raise OutputError(
                f"{self.named}: another process has begun to write it; wait for it or choose another name"
            ) from error

    def _watch(self, version: Version) -> bool:
        """Whether the lease of that ``version`` changes before it is old."""
        until = time.monotonic() + LOST_S
        while time.monotonic() < until:
            time.sleep(_LOOK_S)
            try:
                if self.bucket.read_version(self.key)[1] != version:
                    return True
            except FileNotFoundError:
                return True  # given back, or about to be taken by another
        return False

    def __enter__(self) -> None:
        threading.Thread(target=self._keep, daemon=True, name="lease").start()

    def __exit__(self, *error: object) -> None:
        self._done.set()
        with self._busy:
            if not self._lost:
                with suppress(ResweepError):  # it is then that of a dead process, which the next writer finds out
                    self.bucket.remove([self.key])

    def renew(self) -> None:
        """Rewrite the lease; an error if it has become another's."""
        with self._busy:
            if not self._lost and not self._done.is_set():
                try:
                    self._version = self.bucket.write(self.key, self._describe(), replaces=self._version)
                except (ChangedError, FileNotFoundError):
                    self._lost = not self._find_own()
        if self._lost:
            raise ResweepError(f"{self.named}: another process has taken it over; nothing was published, start again")

    def _write_new(self) -> bool:
        """Write the lease where there is none; False if there is one."""
        try:
            self._version = self.bucket.write(self.key, self._describe(), new=True)
        except ChangedError:
            return False
        return True

    def _find_own(self) -> bool:
        """Whether the lease is this process's after all: the answer to a write was lost, and the request repeated."""
        try:
            text, version = self.bucket.read_version(self.key)
        except FileNotFoundError:
            return False
        self._version = version
        return self._is_own(_parse(text))

    def _is_own(self, holder: dict[str, Any]) -> bool:
        return bool(holder.get("holder") == self.facts["holder"])

    def _keep(self) -> None:
        while not self._done.wait(RENEW_S):
            try:
                self.renew()
            except ResweepError:  # of the network: the next time may succeed; what is published is confirmed first
                if self._lost:
                    return

    def _describe(self) -> bytes:
        self._beats += 1  # so that each has a version of its own
        return (format_json({**self.facts, "beats": self._beats}) + "\n").encode()


def _parse(text: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        data = parse_json(text)
        if isinstance(data, dict):
            return data
    return {}


def _identify_machine() -> str:
    """What processes share that can see each other; empty where the system does not say."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _is_dead(holder: dict[str, Any]) -> bool:
    """Whether the holder of a lease was a process of this machine that is gone."""
    pid, machine = holder.get("pid"), _identify_machine()
    if not machine or holder.get("machine") != machine or type(pid) is not int or pid <= 0:
        return False
    return not Path(f"/proc/{pid}").exists()
