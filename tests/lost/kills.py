"""A campaign of kills: one command killed with SIGKILL at many moments, and what each left, opened and resumed.

The command is a black box: it runs as a user's does, in a process of its own, is killed with all its children, and is
judged by what lies in the folder.

- Right after a kill the output is the whole old one or the whole new one, or none where there was none. A dataset grows
  in its folder: there each file that has its name is whole.
- Once the same command has run again, the output has the bytes of an unbroken run, and nothing else lies beside it.

A third of the moments is spread over the time that an unbroken run takes. A third falls between the first finished
work on the disk and the end, a third into the publication of the output: these wait for the first sign of it, and a
random time more.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import statistics
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from resweep.files import recover_output
from tests.lost.commands import Command, hash_files, hash_tree, last_line, list_commands, list_names, make_inputs
from tests.lost.forks import Fork, start_command

VERBS = ("build", "dataset", "simulate", "convert", "replay")
_POLL_S = 0.0005
_LAST = ("runs.json.part", "runs.json")  # what is written last of a dataset
# Over which part of a run the moments are spread: all of it, from the first finished work, from publication.
PHASES = ("run", "work", "publication")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Moment:
    """One kill: when, what it left, and how the same command went on. ``wrong`` says what must not be."""

    number: int
    over_old: bool
    phase: str
    killed_s: float
    state: str
    resumed: str
    wrong: str = ""


@dataclass
class Campaign:
    """The moments of one command."""

    verb: str
    seed: int
    unbroken_s: float
    moments: list[Moment] = field(default_factory=list)

    @property
    def wrong(self) -> list[Moment]:
        """The moments after which something was lost or left."""
        return [moment for moment in self.moments if moment.wrong]

    def to_dict(self) -> dict[str, object]:
        """All figures, as plain data."""
        states = Counter(moment.state for moment in self.moments)
        resumed = Counter(moment.resumed for moment in self.moments)
        killed = [moment.killed_s for moment in self.moments]
        return {
            "verb": self.verb,
            "seed": self.seed,
            "unbroken_s": round(self.unbroken_s, 3),
            "moments": len(self.moments),
            "phases": dict(Counter(moment.phase for moment in self.moments)),
            "killed_s": [round(value, 3) for value in (min(killed), statistics.median(killed), max(killed))],
            "left": dict(states),
            "resumed": dict(resumed),
            "wrong": [asdict(moment) for moment in self.wrong],
        }

    def to_json(self) -> str:
        """One line."""
        return json.dumps(self.to_dict())

    def table(self) -> str:
        """What was left by a kill, and how often."""
        found = self.to_dict()
        first, middle, last = found["killed_s"]  # type: ignore[misc]  # a list of three
        rows = [
            ("unbroken run", f"{self.unbroken_s:.2f} s"),
            ("kills", ", ".join(f"{count} in {name}" for name, count in found["phases"].items())),  # type: ignore[attr-defined]
            ("killed after", f"{first} to {last} s, median {middle} s"),
            *((f"left: {name}", f"{count}") for name, count in sorted(found["left"].items())),  # type: ignore[attr-defined]
            *((f"then: {name}", f"{count}") for name, count in sorted(found["resumed"].items())),  # type: ignore[attr-defined]
            ("wrong", f"{len(self.wrong)}"),
        ]
        return "\n".join([f"resweep {self.verb}, seed {self.seed}", *(f"  {name:42s} {text}" for name, text in rows)])


def run_campaign(
    verb: str, moments: int, seed: int, folder: Path, sweeps: int = 4, say: Say = lambda line: None
) -> Campaign:
    """Kill a command at ``moments`` random moments; ``folder`` is for its inputs and outputs."""
    inputs = folder / "inputs"
    inputs.mkdir()
    status, said = Fork(lambda: make_inputs(inputs, sweeps), folder, folder / "inputs.txt").wait()
    if status != 0:
        raise RuntimeError(f"the inputs cannot be made: {last_line(said)}")
    command = list_commands(inputs, sweeps)[verb]
    arena = _Arena(command, folder)
    campaign = Campaign(verb, seed, arena.unbroken_s)
    for number in range(moments):
        moment = arena.kill(number, random.Random(f"{seed} {number}"))
        campaign.moments.append(moment)
        say(f"{verb} {number + 1}/{moments}: killed after {moment.killed_s:.2f} s, {moment.state}, {moment.resumed}")
        if moment.wrong:
            say(f"{verb} {number + 1}/{moments}: WRONG: {moment.wrong}")
    return campaign


class _Arena:
    """A command with what an unbroken run of it gives, and the folder in which it is killed."""

    def __init__(self, command: Command, folder: Path) -> None:
        self.command, self.place, self.said = command, folder / "place", folder / "said.txt"
        self.old = folder / "old" / command.output
        for parent in (folder / "new", folder / "old"):
            parent.mkdir()
        self.may_replace = bool(command.overwrite)
        if self.may_replace:
            self._finish(self.old.parent, *command.other)
        self.lasts_s = self._measure(folder / "new")
        self.unbroken_s = self.lasts_s["run"]
        self.new = folder / "new" / command.output
        self.whole, self.former = hash_tree(self.new), hash_tree(self.old)
        if self.whole is None or self.whole == self.former:
            raise RuntimeError(f"{command.verb}: the old and the new output do not differ")

    def kill(self, number: int, chance: random.Random) -> Moment:
        """Kill the command once, look at what is there, and let it go on."""
        shutil.rmtree(self.place, ignore_errors=True)
        self.place.mkdir()
        phase = PHASES[number % len(PHASES)]
        over_old = self.may_replace and chance.random() < 0.5
        if over_old:
            shutil.copytree(self.old, self.place / self.command.output)
        more = self.command.overwrite if over_old else ()
        killed_s = self._kill_in(phase, 1.1 * chance.random() * self.lasts_s[phase], more)
        state, wrong = self._judge(over_old)
        resumed, wrong_after = self._resume(more)
        both = "; ".join(filter(None, (wrong, wrong_after)))
        return Moment(number, over_old, phase, killed_s, state, resumed, both)

    def _kill_in(self, phase: str, wait: float, more: tuple[str, ...]) -> float:
        """Kill the command ``wait`` seconds after the first sign of a phase."""
        begun = time.monotonic()
        before = _identify(self.place / self.command.output)
        running = self._start(self.place, *more)
        while running.poll() is None and not self._has_begun(phase, self.place, before):
            time.sleep(_POLL_S)
        until = (begun if phase == "run" else time.monotonic()) + wait
        while running.poll() is None and time.monotonic() < until:
            time.sleep(min(_POLL_S, max(0.0, until - time.monotonic())))
        running.kill()
        return time.monotonic() - begun

    def _judge(self, over_old: bool) -> tuple[str, str]:
        """What is at the output's place right after a kill, by a name, and what is wrong with it."""
        output = self.place / self.command.output
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            recover_output(output)
        found = hash_tree(output)
        if found == self.whole:
            return "the whole new output", ""
        if found is None:
            return "no output", "the old output is gone" if over_old else ""
        if over_old and found == self.former:
            return "the whole old output", ""
        if self.may_replace:
            return "something else", "the output is neither the old nor the new one"
        return "an unfinished dataset", self._find_torn(output)

    def _find_torn(self, output: Path) -> str:
        """The files of an unfinished dataset that have their name and are not whole."""
        wanted = hash_files(self.new)
        found = {name: content for name, content in hash_files(output).items() if not name.endswith(".part")}
        torn = [name for name, content in found.items() if wanted.get(name) != content]
        return f"not whole: {', '.join(torn)}" if torn else ""

    def _resume(self, more: tuple[str, ...]) -> tuple[str, str]:
        """How the same command goes on after a kill, and what is wrong with that."""
        status, said = self._start(self.place, *more).wait()
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
        left = [name for name in list_names(self.place) if name != self.command.output]
        if left:
            wrong.append(f"left behind: {', '.join(left)}")
        return resumed, "; ".join(wrong)

    def _measure(self, folder: Path) -> dict[str, float]:
        """The seconds from the first sign of each phase to the end of an unbroken run."""
        signs = {}
        running = self._start(folder)
        while running.poll() is None:
            now = time.monotonic()
            for phase in PHASES:
                if phase not in signs and self._has_begun(phase, folder, None):
                    signs[phase] = now
            time.sleep(_POLL_S)
        ended = time.monotonic()
        if running.returncode != 0:
            raise RuntimeError(f"{self.command.verb}: an unbroken run ended with {running.returncode}")
        return {phase: ended - signs.get(phase, ended) + 0.002 for phase in PHASES}

    def _finish(self, folder: Path, *more: str) -> None:
        status, said = self._start(folder, *more).wait()
        if status != 0:
            raise RuntimeError(f"{self.command.verb}: an unbroken run failed: {last_line(said)}")

    def _start(self, folder: Path, *more: str) -> Fork:
        return start_command(self.command.arguments(*more), folder, self.said)

    def _has_begun(self, phase: str, folder: Path, before: tuple[int, int] | None) -> bool:
        """Whether a phase shows in ``folder``: unfinished work in it, or a new output or one that takes its place."""
        if phase == "run":
            return True
        output = folder / self.command.output
        now = _identify(output)
        if self.command.verb == "dataset":  # it grows in its place
            return now is not None if phase == "work" else any(map(Path.exists, (output / name for name in _LAST)))
        if now is not None and now != before:
            return True
        names = os.listdir(folder)
        if phase == "work":
            return f"{output.name}.partial" in names
        return any(name.startswith(f".{output.name}.") and name.endswith(".part") for name in names)


def _identify(path: Path) -> tuple[int, int] | None:
    """What tells a folder from another that takes its place; None if there is none."""
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino
