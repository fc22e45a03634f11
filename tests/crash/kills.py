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

import random
import statistics
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field

from tests.crash.arena import PHASES, POLL_S, Arena, identify

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

    def table(self) -> str:
        """What was left by a kill, and how often."""
        killed = [moment.killed_s for moment in self.moments]
        phases = Counter(moment.phase for moment in self.moments)
        left = Counter(f"left: {moment.state}" for moment in self.moments)
        then = Counter(f"then: {moment.resumed}" for moment in self.moments)
        rows = [
            ("unbroken run", f"{self.unbroken_s:.2f} s"),
            ("kills", ", ".join(f"{count} in {name}" for name, count in phases.items())),
            ("killed after", f"{min(killed):.2f} to {max(killed):.2f} s, median {statistics.median(killed):.2f} s"),
            *((name, f"{count}") for counts in (left, then) for name, count in sorted(counts.items())),
            ("wrong", f"{len(self.wrong)}"),
        ]
        return "\n".join([f"resweep {self.verb}, seed {self.seed}", *(f"  {name:42s} {text}" for name, text in rows)])


def kill_often(arena: Arena, moments: int, seed: int, say: Say) -> Campaign:
    """Kill a command at ``moments`` random moments, which the seed fixes as shares of its time."""
    campaign = Campaign(arena.command.verb, seed, arena.lasts_s["run"])
    for number in range(moments):
        moment = _kill(arena, number, random.Random(f"{seed} {number}"))
        campaign.moments.append(moment)
        title = f"{campaign.verb} {number + 1}/{moments}: killed in {moment.phase} after {moment.killed_s:.2f} s"
        say(f"{title}, {moment.state}, {moment.resumed}{moment.wrong and f', WRONG: {moment.wrong}'}")
    return campaign


def _kill(arena: Arena, number: int, chance: random.Random) -> Moment:
    """Kill the command once, look at what is there, and let it go on."""
    phase = PHASES[number % len(PHASES)]
    over_old = arena.may_replace and chance.random() < 0.5
    more = arena.prepare(over_old)
    killed_s = _kill_in(arena, phase, 1.1 * chance.random() * arena.lasts_s[phase], more)
    state, wrong = arena.judge(over_old)
    resumed, wrong_after = arena.resume(more)
    return Moment(number, over_old, phase, killed_s, state, resumed, "; ".join(filter(None, (wrong, wrong_after))))


def _kill_in(arena: Arena, phase: str, wait: float, more: tuple[str, ...]) -> float:
    """Kill the command ``wait`` seconds after the first sign of a phase; gives the seconds from its start."""
    begun = time.monotonic()
    before = identify(arena.place / arena.command.output)
    running = arena.start(*more)
    arena.wait_for(phase, running, before)
    until = (begun if phase == "run" else time.monotonic()) + wait
    while running.poll() is None and time.monotonic() < until:
        time.sleep(min(POLL_S, max(0.0, until - time.monotonic())))
    running.kill()
    return time.monotonic() - begun
