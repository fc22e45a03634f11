"""Logs without poses, and several logs, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.log import Log
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenes import street
from resweep.simulate import Simulator


@pytest.fixture(scope="module")
def sweeps() -> Log:
    """Five sweeps of a VLP-16 at 8 m/s along the street."""
    times = np.linspace(0, 0.6, 20)
    poses = np.stack([from_xyz_rpy(8 * time, 0, 1.9) for time in times])
    sim = Simulator(street(seed=3), "velodyne-vlp-16", seed=1)
    return Log.from_sweeps(list(sim.run(Trajectory(times, poses), sweeps=5)))


@pytest.fixture(scope="module")
def bare(sweeps: Log, tmp_path_factory) -> Path:
    """The same as a folder of clouds with point times and no poses."""
    folder = tmp_path_factory.mktemp("bare") / "clouds"
    folder.mkdir()
    for at, sweep in enumerate(sweeps):
        unposed = rs.Sweep.from_points(sweep.points, time=sweep.time, ring=sweep.ring, timestamp=sweep.timestamp)
        file = folder / f"{at:06d}.ply"
        rs.write_sweep(unposed, file)
        head, end, data = file.read_bytes().partition(b"end_header\n")
        lines = [line for line in head.splitlines(keepends=True) if not line.startswith(b"comment")]
        file.write_bytes(b"".join(lines) + end + data)  # the comments would tell the pose
    return folder


QUICK = ("voxel_m=0.2", "radius_m=0.2", "normal_radius_m=0.6", "calibrate=null", "map.moving=none")
SETTINGS = tuple(word for setting in QUICK for word in ("--set", setting))
SURFELS = ("-m", "surfels", *SETTINGS)


def test_a_log_without_poses_asks_for_them(resweep, bare: Path) -> None:
    assert not rs.open_log(bare).poses_known
    result = resweep("build", bare, "-o", "w.world")
    assert result.status == 1
    assert "--poses" in result.err
    assert "--odometry" in result.err
    assert not Path("w.world").exists()
    assert resweep("build", bare, "-o", "one.world", "--sweeps", "0:1", *SURFELS).status == 0
    assert "leave one" in resweep("build", bare, "-o", "w.world", "--odometry", "--poses", "p.tum").err


def test_odometry_gives_a_log_its_world(resweep, bare: Path) -> None:
    result = resweep("build", bare, "-o", "w.world", "--odometry", *SURFELS)
    assert result.status == 0, result.err
    assert rs.load_world("w.world").meta["odometry"]["length_m"] == pytest.approx(3.2, abs=0.05)


def test_poses_found_are_written(resweep, bare: Path, sweeps: Log) -> None:
    result = resweep("convert", bare, "posed", "--format", "sweep", "--odometry")
    assert result.status == 0, result.err
    found = rs.open_log("posed")
    assert found.poses[-1, 0, 3] == pytest.approx(3.2, abs=0.05)
    left = np.linalg.norm(found[2].deskewed() - sweeps[2].deskewed(), axis=1)
    assert np.quantile(left, 0.9) < 0.05


def test_held_out_sweeps_of_a_log_without_poses(resweep, bare: Path) -> None:
    args = ("--holdout", 2, "--method", "surfels", *SETTINGS)
    result = resweep("evaluate", bare, *args, "--odometry", "--json")
    assert result.status == 0, result.err
    assert json.loads(result.out.splitlines()[-1])["range_median_m"] < 0.1
    assert "--holdout" in resweep("evaluate", bare, bare, "--odometry").err


def test_further_logs_are_moved_onto_the_first_and_it_is_reported(resweep, sweeps: Log) -> None:
    rs.write_log(sweeps, "first")
    off = sweeps.poses @ from_xyz_rpy(0.5, 0.3, 0.1, yaw=0.02)
    rs.write_log(rs.open_log("first", poses=off), "second")
    result = resweep("build", "first", "second", "-o", "w.world", *SURFELS)
    assert result.status == 0, result.err
    assert "second: moved by 0.59" in result.err
    assert rs.load_world("w.world").meta["aligned"][0]["plane_residual_m"][1] < 0.03
    far = sweeps.poses.copy()
    far[:, 0, 3] += 1000
    rs.write_log(rs.open_log("first", poses=far), "third")
    result = resweep("build", "first", "third", "-o", "x.world", *SURFELS)
    assert (result.status, "does not overlap" in result.err) == (1, True)
    result = resweep("build", "first", "third", "-o", "x.world", "--keep-going", *SURFELS)
    assert (result.status, "skipped third: does not overlap" in result.err) == (0, True)
