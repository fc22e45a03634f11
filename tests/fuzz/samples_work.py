"""Samples of unfinished work: what stopped commands left. It goes on to the bytes of unbroken ones, or is refused."""

from __future__ import annotations

import hashlib
import random
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from unittest.mock import patch

import numpy as np

import resweep as rs
from resweep.files.publication import PARTIAL
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.scenes import box, ground_plane
from tests.fuzz.damage import copy_work, damage_work
from tests.fuzz.reader import Reader

OUTPUT = "out.world"
_SYNC = "resweep.files.disk.sync"  # what waits for the disk: nothing here is to outlive the machine
_OTHER = "other.world"  # the same work with other settings
_FEW_BEAMS = {"beam.rays": "single", "pattern.firing_period_s": None, "pattern.azimuth_resolution_deg": 4.0}
Work = Callable[[Path, bool], object]  # writes the output; the flag says whether it is the other one


class StopError(BaseException):
    """The work was stopped."""


@cache
def drive_yard() -> Log:
    """Five sweeps without labels past two walls, in memory."""
    world = rs.World([ground_plane((40, 40)), box((0.3, 8, 3), (6, 0, 1.5)), box((6, 0.3, 3), (0, -6, 1.5))])
    sensor = rs.load_sensor("velodyne-vlp-16").with_(**_FEW_BEAMS, range_max_m=15.0)
    poses = np.stack([from_xyz_rpy(0.5 * step - 1, 0.3 * (step - 2), 1.4) for step in range(5)])
    return Log.from_sweeps(list(rs.Simulator(world, sensor, seed=3, threads=1).run(poses)), "yard", sensor=sensor)


def build_tiles(path: Path, other: bool = False) -> None:
    """Build the yard by tiles."""
    config = rs.HybridConfig(calibrate=None, refine="none", map={"ego_radius_m": 0.5 if other else 0.0})  # type: ignore[arg-type]
    rs.build(drive_yard(), config, path, tile_m=20.0, progress=False)


def build_whole(path: Path, other: bool = False) -> None:
    """Build the yard in one piece."""
    quick = {"iterations": 1, "samples": 1000, "points_per_sweep": 1000}
    settings = {"calibrate": quick, "refine": "none", "map": {"ego_radius_m": 0.5 if other else 0.0}}
    rs.build(drive_yard(), rs.SplatConfig(**settings), path, progress=False)  # type: ignore[arg-type]


def write_sweeps(path: Path, other: bool = False) -> None:
    """Write the yard's sweeps."""
    rs.write_log(drive_yard(), path, format="semantickitti", resume=True, progress=False, instances=not other)


def write_tables(path: Path, other: bool = False) -> None:
    """Write the yard in a format that needs all sweeps before it writes."""
    log = drive_yard()
    rs.write_log(log[:4] if other else log, path, format="ros2", resume=True, progress=False)


def hash_output(path: Path) -> str:
    """A hash of all names and bytes of an output."""
    digest = hashlib.sha256()
    for file in sorted(item for item in path.rglob("*") if item.is_file()):
        digest.update(f"{file.relative_to(path)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


@cache
def hash_unbroken(work: Work) -> str:
    """The hash of what work gives that nothing disturbed."""
    with tempfile.TemporaryDirectory(prefix="work-") as place, patch(_SYNC):
        work(Path(place) / OUTPUT, False)
        return hash_output(Path(place) / OUTPUT)


def stop_work(work: Work, before: str, folder: Path) -> Path:
    """What work leaves in ``folder`` that was stopped before it called a function; also that of the other work."""
    for name in (_OTHER, OUTPUT):
        with patch(before, side_effect=StopError), patch(_SYNC):
            try:
                work(folder / name, name == _OTHER)
            except StopError:
                continue
            raise RuntimeError(f"{before} was not called")
    return folder / f"{OUTPUT}{PARTIAL}"


def resume_work(work: Work, folder: Path) -> None:
    """Go on with what lies in ``folder``, in a copy of it; an error unless the bytes are those of unbroken work."""
    unbroken = hash_unbroken(work)
    with tempfile.TemporaryDirectory(prefix="work-") as place, warnings.catch_warnings(), patch(_SYNC):
        warnings.simplefilter("ignore")
        copy_work(folder, Path(place) / f"{OUTPUT}{PARTIAL}")
        work(Path(place) / OUTPUT, False)
        if hash_output(Path(place) / OUTPUT) != unbroken:
            raise AssertionError("the bytes are not those of undisturbed work")
        if left := [item.name for item in Path(place).iterdir() if item.name.endswith(PARTIAL)]:
            raise AssertionError(f"left behind: {left}")


def damage_stopped(target: Path, rng: random.Random) -> list[str]:
    """Damage what a stopped work left, of which the other's is beside it."""
    return damage_work(target / f"{OUTPUT}{PARTIAL}", target / f"{_OTHER}{PARTIAL}", rng)


# Each work, and the function before which it is stopped: nearly all is finished then.
WORKS: dict[str, tuple[Work, str]] = {
    "tiles": (build_tiles, "resweep.build.tiles.tiled.assemble_world"),
    "steps": (build_whole, "resweep.build.splats.splats.observe_discs"),
    "sweeps": (write_sweeps, "resweep.io.log_writer.write_record"),
    "tables": (write_tables, "resweep.io.log_writer.write_record"),
}


def _make_reader(name: str, share: float) -> Reader:
    work, before = WORKS[name]
    return Reader(
        f"unfinished-{name}",
        lambda folder: stop_work(work, before, folder),
        lambda folder: resume_work(work, folder),
        share,
        damage_stopped,
    )


READERS = [
    _make_reader(name, share) for name, share in {"tiles": 0.3, "steps": 0.2, "sweeps": 0.3, "tables": 0.2}.items()
]
