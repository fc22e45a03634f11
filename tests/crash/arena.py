"""Where commands run: an output's place, what unbroken runs of the command give, and how what is there is judged."""

from __future__ import annotations

import os
import re
import shutil
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from resweep.files import recover_local
from tests.crash.commands import Command, hash_files, hash_tree, last_line, list_names
from tests.crash.forks import Fork, start_command

POLL_S = 0.0005
# The parts of a run: all of it, from the first finished work on the disk, from the publication of the output.
PHASES = ("run", "work", "publication")
_UNNAMED = re.compile(r"\.(part|lock)(/|$)")  # what has not got its name yet
_LAST = ("runs.json.part", "runs.json")  # what is written last of a dataset


class Arena:
    """A command with the outputs of two unbroken runs: ``old``, with other settings, and ``new``."""

    def __init__(self, command: Command, folder: Path) -> None:
        self.command, self.place, self.said = command, folder / "place", folder / "said.txt"
        for parent in (folder / "new", folder / "old"):
            parent.mkdir(parents=True)
        self.old, self.new = folder / "old" / command.output, folder / "new" / command.output
        self.may_replace = bool(command.overwrite)
        self._finish(self.old.parent, *command.other)
        self.lasts_s = self._measure(self.new.parent)
        self.whole, self.former = hash_tree(self.new), hash_tree(self.old)
        if self.whole is None or (command.other and self.whole == self.former):
            raise RuntimeError(f"{command.verb}: the old and the new output do not differ")

    def prepare(self, over_old: bool) -> tuple[str, ...]:
        """Empty the place but for an old output if ``over_old``; returns the further arguments of the command."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        if not over_old:
            return ()
        shutil.copytree(self.old, self.place / self.command.output)
        return self.command.overwrite

    def start(self, *more: str, folder: Path | None = None) -> Fork:
        """The command at work in its place, or in ``folder``."""
        return start_command(self.command.arguments(*more), folder or self.place, self.said)

    def start_and_stop(self, *more: str) -> Fork:
        """The command once its first work is on the disk, where it stands still; bound by permissions as no root is."""
        grows = self.command.verb == "dataset"  # in its place
        sign = self.command.output if grows else f"{self.command.output}.partial"
        running = start_command(self.command.arguments(*more), self.place, self.said, bound=True, stop_after=sign)
        running.wait_until_stopped()
        return running

    def start_other(self, args: Sequence[str]) -> Fork:
        """Another command at work in the same place at the same time."""
        return start_command(args, self.place, self.said.with_name("also_said.txt"))

    def wait_for(self, phase: str, running: Fork, before: tuple[int, int] | None) -> None:
        """Wait for the first sign of a phase, or until the command ends."""
        while running.poll() is None and not self.has_begun(phase, self.place, before):
            time.sleep(POLL_S)

    def judge(self, over_old: bool) -> tuple[str, str]:
        """What is at the output's place, by a name, and what is wrong with it: it must be whole, old or new."""
        output = self.place / self.command.output
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recover_local(output)
        found = hash_tree(output)
        if found == self.whole:
            return "the whole new output", ""
        if found is None:
            return "no output", "the old output is gone" if over_old else ""
        if over_old and found == self.former:
            return "the whole old output", ""
        if self.command.verb != "dataset":
            return "something else", "the output is neither the old nor the new one"
        return "an unfinished dataset", self._find_torn(output)

    def resume(self, more: tuple[str, ...]) -> tuple[str, str]:
        """How the same command goes on, and what is wrong with that: it must give the bytes of an unbroken run."""
        status, said = self.start(*more).wait()
        wrong = []
        if status == 0:
            resumed = "goes on" if "resuming" in said or "from before" in said else "starts over"
        else:
            resumed = "refuses a finished output"
            if "exists" not in last_line(said):
                resumed = "fails"
                wrong.append(f"ended with {status}: {last_line(said)}")
        if hash_tree(self.place / self.command.output) != self.whole:
            wrong.append("its bytes are not those of an unbroken run")
        left = self.list_left()
        return resumed, "; ".join([*wrong, *([f"left behind: {', '.join(left)}"] if left else [])])

    def list_left(self) -> list[str]:
        """What lies beside the output."""
        return [name for name in list_names(self.place) if name != self.command.output]

    def has_begun(self, phase: str, folder: Path, before: tuple[int, int] | None) -> bool:
        """Whether a phase shows in ``folder``: unfinished work in it, or a new output or one that takes its place."""
        if phase == "run":
            return True
        output = folder / self.command.output
        now = identify(output)
        if self.command.verb == "dataset":  # it grows in its place
            return now is not None if phase == "work" else any(map(Path.exists, (output / name for name in _LAST)))
        if now is not None and now != before:
            return True
        names = os.listdir(folder)
        if phase == "work":
            return f"{output.name}.partial" in names
        return any(name.startswith(f".{output.name}.") and name.endswith(".part") for name in names)

    def _find_torn(self, output: Path) -> str:
        """The files of an unfinished dataset that have their name and are not whole."""
        wanted = hash_files(self.new)
        named = {name: content for name, content in hash_files(output).items() if not _UNNAMED.search(name)}
        torn = [name for name, content in named.items() if wanted.get(name) != content]
        return f"not whole: {', '.join(torn)}" if torn else ""

    def _measure(self, folder: Path) -> dict[str, float]:
        """The seconds from the first sign of each phase to the end of an unbroken run."""
        signs = {}
        running = self.start(folder=folder)
        while running.poll() is None:
            now = time.monotonic()
            for phase in PHASES:
                if phase not in signs and self.has_begun(phase, folder, None):
                    signs[phase] = now
            time.sleep(POLL_S)
        ended = time.monotonic()
        self._check(running)
        return {phase: ended - signs.get(phase, ended) + 0.002 for phase in PHASES}

    def _finish(self, folder: Path, *more: str) -> None:
        self._check(self.start(*more, folder=folder))

    def _check(self, running: Fork) -> None:
        status, said = running.wait()
        if status != 0:
            raise RuntimeError(f"{self.command.verb}: an unbroken run failed: {last_line(said)}")


def identify(path: Path) -> tuple[int, int] | None:
    """What tells a folder from another that takes its place; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
