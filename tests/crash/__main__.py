"""``python -m tests.crash``: disturb commands that write, let them go on, and say what was lost.

Each is killed at random moments, started twice at once, and meets full disks, lost permissions and inputs that vanish
or change. Nothing may be lost: the exit status is 1 if any output was torn, differed from that of an unbroken run, or
left something behind. The same seed gives the same moments, as shares of the time that an unbroken run takes here.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from tests.crash.arena import Arena
from tests.crash.commands import last_line, list_commands, make_inputs
from tests.crash.faults import meet_faults
from tests.crash.forks import Fork
from tests.crash.kills import kill_often
from tests.crash.pairs import start_twice

VERBS = ("build", "dataset", "simulate", "like", "convert", "replay", "merge")
_NOT_RESUMED = ("merge",)


def main() -> int:
    """Disturb the commands; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.crash", description=__doc__)
    parser.add_argument("--verb", action="append", choices=VERBS, help="may be repeated (default: all)")
    parser.add_argument("--moments", type=int, default=0, help="kills of each command (default: %(default)s)")
    parser.add_argument("--pairs", type=int, default=0, help="starts of two at once (default: %(default)s)")
    parser.add_argument("--faults", action="store_true", help="every fault that can meet each command, once")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other moments (default: %(default)s)")
    parser.add_argument("--sweeps", type=int, default=4, help="length of the drives (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    given = parser.parse_args()
    found: dict[str, list[dict[str, object]]] = {"kills": [], "pairs": [], "faults": []}
    with tempfile.TemporaryDirectory(prefix="resweep-lost-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # for commands that run as another user
        inputs = folder / "inputs"
        inputs.mkdir()
        status, said = Fork(lambda: make_inputs(inputs, given.sweeps), folder, folder / "inputs.txt").wait()
        if status != 0:
            raise RuntimeError(f"the inputs cannot be made: {last_line(said)}")
        for verb, command in list_commands(inputs, given.sweeps).items():
            if given.verb is not None and verb not in given.verb:
                continue
            arena = Arena(command, folder / verb)
            if given.moments and verb not in _NOT_RESUMED:
                campaign = kill_often(arena, given.moments, given.seed, _say)
                print(campaign.table(), flush=True)
                found["kills"].append(campaign.to_dict())
            found["pairs"] += map(asdict, start_twice(arena, given.pairs, given.seed, _say))
            if given.faults and verb not in _NOT_RESUMED:
                found["faults"] += map(asdict, meet_faults(arena, inputs, _say))
    wrong = sum(bool(item["wrong"]) for items in found.values() for item in items)
    print(f"{len(found['pairs'])} pairs, {len(found['faults'])} faults; wrong: {wrong} commands, pairs or faults")
    if given.json:
        print(json.dumps(found))
    return 1 if wrong else 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
