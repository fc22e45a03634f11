"""Faults in the middle of a command: a full disk, a lost permission, an input that vanishes, shrinks or changes.

The command must end with one clear error and leave the old output as it was. Once the cause is mended, the same command
goes on to the bytes of an unbroken run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.crash.arena import Arena
from tests.crash.commands import is_one_error, last_line
from tests.crash.kills import Say

_MARGIN_BYTES = 64 << 10  # names and folders take space too
Undo = Callable[[], None]


@dataclass(frozen=True)
class Faulted:
    """A command with a fault: its error, how the same command went on, and what must not be; or why it was skipped."""

    verb: str
    fault: str
    said: str = ""
    resumed: str = ""
    wrong: str = ""
    skipped: str = ""


def meet_faults(arena: Arena, inputs: Path, say: Say) -> list[Faulted]:
    """Every fault that can meet a command, once."""
    found = [_meet_full_disk(arena, share) for share in (0.1, 0.6)]
    found.append(_meet(arena, "lost permission", lambda: _lose_permission(arena.place)))
    for reads in arena.command.reads:
        file = inputs / reads
        for name, break_ in {"vanished": _remove, "shrunk": _shrink, "changed": _change}.items():
            found.append(_meet(arena, f"{name} input {file.name}", partial(break_, file)))
    for item in found:
        wrong = item.wrong and f", WRONG: {item.wrong}"
        say(f"{item.verb}, {item.fault}: {item.skipped or item.said}; {item.resumed}{wrong}")
    return found


def _meet(arena: Arena, fault: str, break_: Callable[[], Undo]) -> Faulted:
    """Run a command over an old output, break something once its first work is on the disk, mend it, run it again."""
    more = arena.prepare(over_old=arena.may_replace)
    running = arena.start_and_stop(*more)
    undo = break_()
    running.go_on()
    status, said = running.wait()
    state, wrong = arena.judge(arena.may_replace)
    undo()
    return _go_on(arena, fault, more, status, said, state, wrong)


def _meet_full_disk(arena: Arena, share: float) -> Faulted:
    """Run a command on a disk that has room for a share of what it writes; then on a larger one."""
    fault = f"disk full after {share:.0%}"
    arena.prepare(over_old=False)
    with _small_disk(arena.place) as resize:
        if resize is None:
            return Faulted(arena.command.verb, fault, skipped="a small file system cannot be mounted here: not root")
        old = _measure(arena.old) if arena.may_replace else 0
        resize(old + int(share * _measure(arena.new)) + _MARGIN_BYTES)
        if arena.may_replace:
            shutil.copytree(arena.old, arena.place / arena.command.output)
        more = arena.command.overwrite
        status, said = arena.start(*more).wait()
        state, wrong = arena.judge(arena.may_replace)
        if "no space left" not in said.lower():
            wrong += "the full disk is not named"
        resize(1 << 30)
        return _go_on(arena, fault, more, status, said, state, wrong)


def _go_on(
    arena: Arena,
    fault: str,
    more: tuple[str, ...],
    status: int,
    said: str,
    state: str,
    wrong: str,
) -> Faulted:
    """What became of a command that ran into a fault, and of the same one after it is mended."""
    problems = [wrong] if wrong else []
    harmless = (
        status == 0 and state == "the whole new output" and arena.command.verb == "dataset"
    )  # all was read before
    if not harmless and (status != 1 or not is_one_error(said)):
        problems.append(f"ended with {status} and not with one error: {said[-500:]}")
    if state == "the whole new output" and not harmless:
        problems.append("the output was published in spite of it")
    resumed, wrong_after = arena.resume(more)
    problems += [wrong_after] if wrong_after else []
    return Faulted(arena.command.verb, fault, last_line(said), resumed, "; ".join(problems))


@contextmanager
def _small_disk(place: Path) -> Iterator[Callable[[int], None] | None]:
    """Mount a file system of memory at ``place``; gives what resizes it, None where that is not allowed."""

    def mount(*options: str) -> bool:
        args = ["mount", "-t", "tmpfs", *options, "tmpfs", str(place)]
        return subprocess.run(args, capture_output=True, check=False).returncode == 0

    if os.geteuid() != 0 or shutil.which("mount") is None or not mount("-o", "size=1m"):
        yield None
        return
    try:
        yield lambda size: _demand(mount("-o", f"remount,size={size}"))
    finally:
        subprocess.run(["umount", str(place)], check=True)


def _demand(done: bool) -> None:
    if not done:
        raise RuntimeError("the small file system cannot be resized")


def _measure(path: Path) -> int:
    """The bytes of all files of a folder, as blocks."""
    return sum(-(-file.stat().st_size // 4096) * 4096 for file in path.rglob("*") if file.is_file())


def _lose_permission(place: Path) -> Undo:
    """Let nothing be made or removed in ``place`` and all folders below it."""
    folders = [place, *(item for item in place.rglob("*") if item.is_dir())]
    modes = {folder: folder.stat().st_mode for folder in folders}
    for folder in reversed(folders):
        folder.chmod(0o555)

    def undo() -> None:
        for folder, mode in modes.items():
            if folder.exists():
                folder.chmod(mode)

    return undo


def _remove(file: Path) -> Undo:
    aside = file.with_name(f"{file.name}.aside")
    file.rename(aside)
    return lambda: _restore(aside, file)


def _shrink(file: Path) -> Undo:
    aside = _keep(file)
    os.truncate(file, file.stat().st_size // 2)
    return lambda: _restore(aside, file)


def _change(file: Path) -> Undo:
    """Touch a file that may have been read already: its content stays readable."""
    aside = _keep(file)
    os.utime(file)
    return lambda: _restore(aside, file)


def _keep(file: Path) -> Path:
    """A copy with the same time of change."""
    aside = file.with_name(f"{file.name}.aside")
    shutil.copy2(file, aside)
    return aside


def _restore(aside: Path, file: Path) -> None:
    aside.replace(file)
