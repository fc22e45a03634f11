"""How much memory a command may take: ``--memory 4GB``, by default half of the machine's."""

from __future__ import annotations

import os
import re
from pathlib import Path

from resweep.errors import ResweepError
from resweep.files.untrusted import total_memory

GB = 10**9
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": GB, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
_MIN_SPARE = 32 * 10**6  # below it dividing the work is of no use
_MIN_BYTES = 256 * 10**6  # an interpreter with the libraries takes about this much


def parse_memory(text: str | int | None) -> int:
    """Bytes that ``text`` names, such as ``4GB``, ``512MiB`` or ``1.5 GB``; half of the machine's for None.

    A whole number is bytes.
    """
    if text is None:
        return total_memory() // 2
    text = str(text)
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]I?)?B?\s*", text.upper())
    if found is None:
        raise ResweepError(f"memory '{text}': expected a size such as 4GB or 512MiB")
    size = int(float(found[1]) * _UNITS[found[2] or ""])
    if size < _MIN_BYTES:
        raise ResweepError(f"memory '{text}': is less than Resweep takes by itself; give at least 256MB")
    return size


def format_memory(size: float) -> str:
    """A size in bytes as people read it: ``1.5 GB``."""
    for unit, name in ((GB, "GB"), (10**6, "MB"), (10**3, "kB")):
        if size >= unit:
            return f"{size / unit:.1f} {name}"
    return f"{size:.0f} bytes"


def measure_resident_memory() -> int:
    """Bytes of memory that this process holds now; 0 where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def find_spare_memory(memory: int, needed: int, what: str) -> int:
    """Bytes of ``memory`` that are left for what can be bounded, beside what is held and what ``what`` needs.

    Raises if less than `_MIN_SPARE` is left, with the bound that would do.
    """
    held = measure_resident_memory()
    spare = memory - held - needed
    if spare < _MIN_SPARE:
        minimum = held + needed + _MIN_SPARE
        raise ResweepError(
            f"memory of {format_memory(memory)} is too small: {what} takes {format_memory(needed)} beside the "
            f"{format_memory(held)} that are held already; give at least {format_memory(1.05 * minimum)}"
        )
    return spare
