"""Check every file of the package: ``python -m tests.checks`` prints one line for each offence; none is status 0."""

from __future__ import annotations

import sys

from tests.checks.rules import RULES, check

if __name__ == "__main__":
    found = list(check())
    print("\n".join(found) or f"{len(RULES)} rules hold of every file ({', '.join(RULES)})")
    sys.exit(bool(found))
