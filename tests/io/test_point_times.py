"""Sweeps without point times: no file gets a time column, and KISS-ICP, which aborts on a constant one, reads them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import laspy
import numpy as np
import pytest

from resweep.io import load_sweep, open_log, write_log, write_sweep
from resweep.io.files import pcd, ply
from resweep.log import Log
from resweep.pose import Array, from_xyz_rpy
from resweep.sweep import Sweep


def make_untimed(sweep: Sweep) -> Sweep:
    return replace(sweep, beam_time=np.full(sweep.n_beams, sweep.timestamp))


@pytest.fixture
def hall() -> Log:
    """Five sweeps of a hall, 30 cm apart, whose points have no times."""
    rng = np.random.default_rng(3)
    walls = rng.uniform([-20, -8, -1.5], [30, 8, 4], (8000, 3))
    walls[::3, 1] = np.sign(walls[::3, 1]) * 8
    walls[1::3, 2] = -1.5
    walls[2::3, 0] = np.where(walls[2::3, 0] > 5, 30, -20)
    sweeps = [
        Sweep.from_points(walls - [0.3 * at, 0, 0], pose=from_xyz_rpy(0.3 * at), timestamp=100.0 + 0.1 * at)
        for at in range(5)
    ]
    return Log.from_sweeps(sweeps, "hall")


@pytest.mark.parametrize("name", ["s.pcd", "s.ply", "s.las", "s.laz"])
def test_no_time_column_without_times(name: str, sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(make_untimed(sweep), tmp_path / name)
    if name.endswith("z") or name.endswith("s"):  # LAS cannot leave the field out: it is zero
        assert not np.any(laspy.read(tmp_path / name).gps_time)
    else:
        fields = {"s.pcd": pcd.read_fields, "s.ply": ply.read_fields}[name](tmp_path / name)
        assert not {"time", "t", "timestamp"} & set(fields)
    back = load_sweep(tmp_path / name)
    assert back.timestamp == sweep.timestamp
    np.testing.assert_array_equal(back.time, sweep.timestamp)
    assert "gps_time" not in back.extra


@pytest.mark.parametrize("name", ["s.pcd", "s.ply", "s.las"])
def test_one_time_away_from_the_timestamp_is_kept_in_motion(name: str, sweep: Sweep, tmp_path: Path) -> None:
    """A flash fired halfway through the motion: without its time, its points would lie elsewhere."""
    flash = replace(sweep, beam_time=np.full(sweep.n_beams, sweep.timestamp + 0.05))
    write_sweep(flash, tmp_path / name)
    np.testing.assert_allclose(load_sweep(tmp_path / name).deskewed(), flash.deskewed(), atol=2e-5)


def test_bags_without_times(log: Log, tmp_path: Path) -> None:
    pytest.importorskip("rosbags")
    write_log(log.map(make_untimed, "drop times"), tmp_path / "bag", format="ros2", progress=False)
    back = open_log(tmp_path / "bag")
    for at, sweep in enumerate(back):
        assert np.ptp(sweep.time) == 0
        np.testing.assert_allclose(sweep.points, log[at].points, atol=1e-5)


@pytest.mark.parametrize("format", ["pcd", "ply", "ros2"])
def test_kiss_icp_follows_untimed_sweeps(
    format: str, hall: Log, kiss_icp: Callable[[str, Path], Array], tmp_path: Path
) -> None:
    needed = "rosbags" if format == "ros2" else "open3d"
    if importlib.util.find_spec(needed) is None:
        pytest.skip(f"KISS-ICP reads {format} with {needed}")
    write_log(hall, tmp_path / "out", format=format, progress=False)
    found = kiss_icp("rosbag" if format == "ros2" else "generic", tmp_path / "out")
    np.testing.assert_allclose(found[:, :3, 3], hall.poses[:, :3, 3], atol=0.05)
