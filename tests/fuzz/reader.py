"""What is fuzzed: a reader, the sample that it reads, and how the sample is read."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.sanity import check_poses, check_sweep_sanity


@dataclass(frozen=True)
class Reader:
    """``make`` fills a folder and gives the path that ``read`` opens; every file in the folder may be mutated.

    Readers that take long get a smaller ``share`` of the mutants. ``damage`` changes the files in a folder in its own
    way, and gives what it did.
    """

    name: str
    make: Callable[[Path], Path]
    read: Callable[[Path], object]
    share: float = 1.0
    damage: Callable[[Path, random.Random], list[str]] | None = None


def read_log(path: Path, **options: Any) -> None:
    """Open a log and use every sweep in it, as a command would."""
    from resweep.io import open_log

    log = open_log(path, **options)
    for at in range(min(len(log), 3)):
        sweep = log[at]
        check_sweep_sanity(sweep)
        _ = sweep.time, sweep.ring, log.labels.count(sweep.label)
    check_poses(log.poses)
    _ = log.trajectory.length_m, log.empty_beams.detail
