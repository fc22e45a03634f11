"""The recordings that a command reads together, and which of their sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from resweep.cli.shared.inputs import open_posed
from resweep.errors import ResweepError

if TYPE_CHECKING:
    from resweep.log import Log


def parse_slice(text: str | None) -> slice:
    """The sweeps that ``A:B`` or ``A:B:STEP`` names; all of them for None."""
    if text is None:
        return slice(None)
    try:
        parts = [int(part) if part.strip() else None for part in text.split(":")]
    except ValueError:
        parts = []
    if len(parts) not in (2, 3) or (len(parts) == 3 and parts[2] == 0):
        raise ResweepError(f"--sweeps '{text}': expected A:B or A:B:STEP, such as 0:150")
    return slice(*parts)


def open_logs(
    paths: list[Path],
    format: str | None,
    labels: str | None,
    poses: Path | None,
    pose_rate: float | None,
    cloud: Mapping[str, Any],
    chosen: slice,
    skipped: list[str] | None,
) -> list[tuple[Path, Log]]:
    """The logs and where they are; with a list in ``skipped``, what cannot be read is noted there and left out."""
    from resweep.io.folders.faults import describe_skipped

    opened = []
    for path in paths:
        try:
            log = open_posed(path, skipped is not None, poses, pose_rate, format=format, labels=labels, **cloud)
            if skipped is not None and (text := describe_skipped(log)) is not None:
                skipped.append(f"{path}: {text}")
            if len(log[chosen]) == 0:
                raise ResweepError(f"{path}: none of its {len(log)} sweeps is left by --sweeps; widen it")
            opened.append((path, log[chosen]))
        except ResweepError as error:
            if skipped is None:
                raise
            skipped.append(f"skipped {error}")
    if not opened:
        raise ResweepError("no log could be read: " + "; ".join(skipped or []))
    return opened
