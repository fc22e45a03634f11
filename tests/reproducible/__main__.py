"""``python -m tests.reproducible``: run commands under many variants, and say which write other bytes.

Variants are threads, kernels of BLAS, NumPy's paths for processors, hash seeds, locales, folders and bounds of memory.
The exit status is 1 if any output differs from that of the same command alone.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.reproducible.variants import compare, list_variants, make_commands


def main() -> int:
    """Run the campaign; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.reproducible", description=__doc__)
    parser.add_argument("--command", action="append", help="may be repeated (default: all)")
    parser.add_argument("--variant", action="append", help="may be repeated (default: all)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="variants-") as name:
        commands = make_commands(Path(name) / "inputs")
        chosen = given.variant or [variant for variant in list_variants() if variant != "alone"]
        wrong = compare(given.command or list(commands), chosen, Path(name), _say, commands)
    print(f"{len(wrong)} of {len(given.command or commands) * len(chosen)} differ", *wrong, sep="\n")
    return 1 if wrong else 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
