"""``python -m tests.lost``: kill a command at random moments, let it go on, and say what was lost.

Nothing may be: the exit status is 1 if any output was torn, differed from that of an unbroken run, or left something
behind. The same seed gives the same moments, as fractions of the time that an unbroken run takes here.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.lost.kills import VERBS, run_campaign


def main() -> int:
    """Run the campaigns; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.lost", description=__doc__)
    parser.add_argument("--verb", action="append", choices=VERBS, help="may be repeated (default: all)")
    parser.add_argument("--moments", type=int, default=100, help="kills of each command (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other moments (default: %(default)s)")
    parser.add_argument("--sweeps", type=int, default=4, help="length of the drives (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print one JSON object a command as the last lines")
    given = parser.parse_args()
    done = []
    for verb in given.verb or VERBS:
        with tempfile.TemporaryDirectory(prefix="resweep-kills-") as folder:
            campaign = run_campaign(verb, given.moments, given.seed, Path(folder), given.sweeps, _say)
        print(campaign.table(), flush=True)
        done.append(campaign)
    for campaign in done if given.json else ():
        print(campaign.to_json(), flush=True)
    return 1 if any(campaign.wrong for campaign in done) else 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
