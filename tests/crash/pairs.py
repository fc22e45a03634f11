"""Commands started twice at once into one output: one waits or refuses in one line, and neither corrupts."""

from __future__ import annotations

import random
import time
from dataclasses import dataclass

from tests.crash.arena import Arena
from tests.crash.commands import hash_tree, is_one_error, last_line
from tests.crash.kills import Say


@dataclass(frozen=True)
class Pair:
    """Two commands at once: whether there was an old output, how each ended, and what must not be."""

    verb: str
    over_old: bool
    ended: tuple[str, str]
    wrong: str = ""


def start_twice(arena: Arena, rounds: int, seed: int, say: Say) -> list[Pair]:
    """Start a command twice at once, the second time with other settings, over an old output and over none."""
    found = []
    for number in range(rounds):
        chance = random.Random(f"{seed} {number}")
        pair = _start_two(arena, number % 2 == 1 and arena.may_replace, 0.3 * chance.random() * arena.lasts_s["run"])
        found.append(pair)
        wrong = pair.wrong and f", WRONG: {pair.wrong}"
        say(f"{pair.verb} twice, {number + 1}/{rounds}: {' | '.join(pair.ended)}{wrong}")
    return found


def _start_two(arena: Arena, over_old: bool, gap_s: float) -> Pair:
    more = arena.prepare(over_old)
    running = [arena.start(*more)]
    time.sleep(gap_s)
    args = arena.command.arguments(*more, *arena.command.other)
    running.append(arena.start_other(args))
    wrong, ended = [], []
    for process in running:
        status, said = process.wait()
        ended.append("finished" if status == 0 else last_line(said))
        if status != 0 and not is_one_error(said):
            wrong.append(f"ended with {status} and not with one error: {said[-300:]}")
    if "finished" not in ended:
        wrong.append("neither finished")
    if hash_tree(arena.place / arena.command.output) not in (arena.whole, arena.former):
        wrong.append("the output is that of neither")
    if left := arena.list_left():
        wrong.append(f"left behind: {', '.join(left)}")
    return Pair(arena.command.verb, over_old, (ended[0], ended[1]), "; ".join(wrong))
