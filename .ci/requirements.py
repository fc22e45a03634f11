"""Write the list of what an environment needs: ``python .ci/requirements.py FILE core dev learn torch==2.13.0 ...``.

``core`` is what the package depends on, any other plain word an extra of pyproject.toml; the rest is copied as it is.
The file is written only if the list changed, so that what depends on it is not made again.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text("utf-8"))["project"]


def expand(word: str) -> set[str]:
    """The requirements that a word stands for; extras that name others are followed."""
    if own := re.fullmatch(r"resweep\[([\w,]+)\]", word):
        return set().union(*map(expand, own[1].split(",")))
    extras = PROJECT["optional-dependencies"]
    listed = PROJECT["dependencies"] if word == "core" else extras.get(word)
    return {word} if listed is None else set().union(*map(expand, listed))


if __name__ == "__main__":
    path = Path(sys.argv[1])
    text = "".join(f"{line}\n" for line in sorted(set().union(*map(expand, sys.argv[2:]))))
    if not path.is_file() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
