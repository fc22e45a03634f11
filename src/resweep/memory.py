"""How much memory a command may take: ``--memory 4GB``, by default half of the machine's."""

from __future__ import annotations

import re

from resweep.errors import ResweepError
from resweep.files.untrusted import total_memory

GB = 10**9
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": GB, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_LEAST = 256 * 10**6  # an interpreter with the libraries takes about this much


def parse_memory(text: str | None) -> int:
    """Bytes that ``text`` names, such as ``4GB``, ``512MiB`` or ``1.5 GB``; half of the machine's for None."""
    if text is None:
        return total_memory() // 2
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", text.upper())
    if found is None:
        raise ResweepError(f"memory '{text}': expected a size such as 4GB or 512MiB")
    size = int(float(found[1]) * _UNITS[found[2] or ""])
    if size < _LEAST:
        raise ResweepError(f"memory '{text}': is less than Resweep takes by itself; give at least 256MB")
    return size


def format_memory(size: float) -> str:
    """A size in bytes as people read it: ``1.5 GB``."""
    for unit, name in ((GB, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} bytes"
