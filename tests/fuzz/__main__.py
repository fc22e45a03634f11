"""``python -m tests.fuzz``: feed every reader damaged files, and say what became of them.

A mutant must be read, or refused with one clear error. Anything else (nonsense taken as measured, a traceback, a hang,
a flood of memory, a crash) is a finding: it is kept in a folder and named, and the exit status is 1. The same seed
makes the same mutants.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tests.fuzz.campaign import CLEAN, keep, run_batch, run_campaign
from tests.fuzz.readers import READERS


def main() -> int:
    """Run a campaign, or one mutant of it again; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--mutants", type=int, default=12_000, help="how many in all (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes other mutants (default: %(default)s)")
    parser.add_argument(
        "--reader", action="append", default=[], choices=sorted(READERS), help="only this; may be repeated"
    )
    parser.add_argument("--jobs", type=int, default=2, help="workers at a time (default: %(default)s)")
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"), help="where findings go (default: %(default)s)")
    parser.add_argument("--replay", metavar="READER:SEED:NUMBER", help="run one mutant again")
    parser.add_argument("--json", action="store_true", help="print one JSON object as the last line")
    given = parser.parse_args()
    if given.replay:
        return _replay(given.replay, given.keep)
    result = run_campaign(
        given.mutants, given.seed, given.reader, given.jobs, lambda line: print(line, file=sys.stderr, flush=True)
    )
    print(result.table())
    for finding in result.findings:
        where = keep(finding, given.keep)
        print(f"{finding.outcome}: {finding.name} ({where}): {finding.last_line}")
    if result.findings:
        print(f"run one again with: python -m tests.fuzz --replay {result.findings[0].name}")
    if given.json:
        print(result.to_json())
    return 1 if result.findings else 0


def _replay(name: str, folder: Path) -> int:
    reader, seed, number = name.rsplit(":", 2)
    (found,) = run_batch(int(seed), [(reader, int(number), 1)])
    where = keep(found, folder)
    print(f"{found.outcome}: {where}\n{found.detail}")
    return 0 if found.outcome in CLEAN else 1


if __name__ == "__main__":
    sys.exit(main())
