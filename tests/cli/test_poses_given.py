"""``--poses`` and ``--pose-rate`` of every command, and the command that a build suggests."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.io import write_poses
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.scenes import street
from resweep.simulate import Simulator

PLACE = np.array([-200.0, 310.0, 41.9])  # far from the origin, as recorded drives are
QUICK = ("voxel_m=0.3", "radius_m=0.3", "normal_radius_m=0.9", "calibrate=null", "map.moving=none")
SURFELS = ("-m", "surfels", *(word for setting in QUICK for word in ("--set", setting)))


@pytest.fixture(scope="module")
def drive() -> Log:
    """Four sweeps of a stationary sensor, 2 m further each time, in a street far from the origin."""
    sensor = rs.load_sensor("velodyne-vlp-16").with_(rotation_rate_hz=20, **{"beam.rays": "single"})
    poses = np.stack([from_xyz_rpy(2.0 * at, 0, 1.9) for at in range(4)])
    log = Simulator(street(seed=3), sensor, seed=1).run(poses, starts=0.25 * np.arange(4))
    shift = from_xyz_rpy(*PLACE)
    return Log.from_sweeps([sweep.moved_to(shift @ sweep.pose, sweep.timestamp) for sweep in log])


@pytest.fixture
def folder(drive: Log, tmp_path: Path) -> Path:
    """The same as a KITTI-like folder without packets, and its poses elsewhere, as KITTI and as TUM."""
    for at, sweep in enumerate(drive):
        rs.write_sweep(sweep, tmp_path / "scene" / "velodyne_points" / "data" / f"{at:010d}.bin")
    write_poses(drive.trajectory, tmp_path / "given" / "lines.txt", "kitti")
    write_poses(drive.trajectory, tmp_path / "given" / "timed.tum")
    return tmp_path / "scene"


def suggested(out: str) -> list[str]:
    (line,) = [line for line in out.splitlines() if line.startswith("next: ")]
    return shlex.split(line.removeprefix("next: resweep "))


@pytest.mark.slow
def test_a_folder_without_packets_works_with_poses(resweep: Any, folder: Path, drive: Log) -> None:
    given = ("--poses", "given/lines.txt")
    assert not rs.open_log(folder).poses_known
    assert rs.open_log(folder).sensor is None  # the layout is KITTI's, the sensor is not
    built = resweep("build", folder, *given, "-o", "w.world", *SURFELS)
    assert built.status == 0, built.err
    low, high = rs.load_world("w.world").bounds
    assert (low < PLACE).all()
    assert (high > PLACE).all()
    again = resweep(*suggested(built.out))
    assert (again.status, again.err) == (0, "")
    np.testing.assert_allclose(rs.open_log("out").poses, drive.poses, atol=1e-6)
    assert all(len(sweep) > 1000 for sweep in rs.open_log("out"))
    found = resweep("evaluate", "out", folder, *given, "--json")
    assert found.status == 0, found.err
    assert json.loads(found.out.splitlines()[-1])["range_median_m"] < 0.1
    held = resweep("evaluate", folder, "--holdout", 2, *given, *SURFELS, "--json")
    assert held.status == 0, held.err


@pytest.mark.parametrize("args", [("lines.txt",), ("timed.tum",), ("lines.txt", "--pose-rate", "4")])
def test_poses_come_with_times_a_rate_or_line_by_line(
    resweep: Any, folder: Path, drive: Log, args: tuple[str, ...]
) -> None:
    given = ("--poses", Path("given") / args[0], *args[1:])
    assert resweep("convert", folder, "copy", "--format", "sweep", *given).status == 0
    copy = rs.open_log("copy")
    np.testing.assert_allclose(copy.poses, drive.poses, atol=1e-6)
    assumed = np.arange(4) / 10
    np.testing.assert_allclose(copy.times, assumed if args == ("lines.txt",) else drive.times, atol=1e-9)


def test_poses_in_the_folder_are_found(folder: Path, drive: Log) -> None:
    write_poses(drive.trajectory, folder / "poses.txt", "kitti")
    log = rs.open_log(folder)
    assert (log.poses_known, log.times_known) == (True, False)
    np.testing.assert_allclose(log.poses, drive.poses, atol=1e-9)
    (folder / "times.txt").write_text("".join(f"{time}\n" for time in drive.times))
    log = rs.open_log(folder)
    assert log.times_known
    np.testing.assert_allclose(log.times, drive.times)
    np.testing.assert_allclose(log[3].world_points(), drive[3].world_points(), atol=1e-3)


def test_poses_that_do_not_pair_up_are_one_clear_error(resweep: Any, folder: Path) -> None:
    lines = Path("given/lines.txt")
    lines.write_text("".join(lines.read_text().splitlines(keepends=True)[:3]))
    refused = resweep("build", folder, "--poses", lines, "-o", "w.world")
    assert refused.status == 1
    assert refused.err == (
        "resweep: error: given/lines.txt: 3 poses without times for the 4 sweeps of 'scene', so line i is not that of "
        "sweep i; give one a sweep, or --pose-rate HZ\n"
    )
    assert not Path("w.world").exists()
    with pytest.raises(rs.ResweepError, match=r"give one a sweep, or pose_rate_hz="):
        rs.open_log(folder, poses=lines)
    timed = resweep("build", folder, "--poses", "given/timed.tum", "--pose-rate", "4", "-o", "w.world")
    assert "have times of their own" in timed.err


def test_a_raw_drive_without_packets_is_deskewed_by_given_poses(tmp_path: Path) -> None:
    """A KITTI drive by its time files: its scans are raw, so motion during them is that of the poses."""
    data = tmp_path / "drive" / "velodyne_points" / "data"
    scans = [rs.Sweep.from_points(np.array([[5.0, 0, 0], [0, 5, 0], [-5, -0.01, 0]])) for _ in range(2)]
    for at, scan in enumerate(scans):
        rs.write_sweep(scan, data / f"{at:010d}.bin")
    stamps = "".join(f"2011-09-26 13:00:00.{at}00000000\n" for at in (1, 2))
    (data.parent / "timestamps.txt").write_text(stamps)
    poses = np.stack([from_xyz_rpy(0, 0, 0), from_xyz_rpy(1, 0, 0)])
    log = rs.open_log(tmp_path / "drive", poses=poses)
    moved = log[0].deskewed() - log[0].points
    np.testing.assert_allclose(moved[:, 0], [0.0, -0.25, 0.5], atol=0.01)  # 10 m/s: ahead, left before, behind at last


def test_the_suggested_command_stands_in_the_map_where_the_log_cannot_be_driven_like(resweep: Any, drive: Log) -> None:
    rs.write_log(drive, "drive", progress=False)
    built = resweep("build", "drive", "--sweeps", "2:4", "-o", "a b.world", *SURFELS)
    args = suggested(built.out)
    assert args[args.index("--poses") + 1] == "-196.00,310.00,43.80,0.00"
    again = resweep(*args)
    assert (again.status, again.err) == (0, "")
    assert len(rs.open_log("out")[0]) > 1000
    first = suggested(resweep("build", "drive", "--sweeps", "0:2", "-o", "b.world", *SURFELS).out)
    assert first == ["simulate", "b.world", "--like", "drive", "--sweeps", "2", "-o", "out"]


def test_a_sweep_that_hits_nothing_is_warned_of(resweep: Any, drive: Log) -> None:
    far = Simulator(street(seed=3), "velodyne-vlp-16").sweep
    with pytest.warns(
        UserWarning, match=r"none of 28,928 beams hit anything\. The sensor stood at 0\.0, 900\.0, 2\.0 m"
    ):
        assert len(far(from_xyz_rpy(0, 900, 2))) == 0
    rs.write_log(drive, "drive", progress=False)
    for args in ((), ("-s", "velodyne-vlp-16")):
        result = resweep("simulate", "scene:street", "--like", "drive", "-o", "far", "--overwrite", *args)
        assert result.status == 0
        assert result.err.count("beams hit anything. The sensor stood at -200.0, 310.0, 43.8 m") == 1
        assert "m outside the world's bounds (" in result.err
        assert "4 of 4 sweeps have no return" in result.err
