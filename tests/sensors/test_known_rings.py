"""Rings of a known sensor on points that carry none: also where the motion was taken out of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.sensors.infer.known_rings import assign_rings
from resweep.worlds import Mesh, World

SENSOR = rs.load_sensor("velodyne-vlp-16")


@pytest.fixture(scope="module")
def drive() -> rs.Log:
    """Two sweeps at 15 m/s over a floor between two walls."""
    floor = [[-80, -9, 0], [80, -9, 0], [80, 9, 0], [-80, 9, 0]]
    walls = [[-80, -9, 0], [80, -9, 0], [80, -9, 30], [-80, -9, 30], [-80, 9, 0], [80, 9, 0], [80, 9, 30], [-80, 9, 30]]
    quads = [[0, 1, 2], [0, 2, 3]]
    world = World([Mesh(floor, quads), Mesh(walls, [*quads, [4, 5, 6], [4, 6, 7]])], labels="none")
    poses = np.stack([rs.from_xyz_rpy(x, 0, 2) for x in np.linspace(0, 15 * 0.25, 26)])
    drive = rs.Simulator(world, SENSOR, seed=3).run(rs.Trajectory(np.linspace(0, 0.25, 26), poses), sweeps=2)
    return drive.with_sweeps(list(drive))


@pytest.mark.parametrize("format", ["semantickitti", "kitti"])
def test_our_own_output_reopens_with_the_rings_of_its_sensor(format: str, drive: rs.Log, tmp_path: Path) -> None:
    rs.write_log(drive, tmp_path / "out", format=format, progress=False)
    reopened = rs.open_log(tmp_path / "out", empty_beams=False)
    assert "find the rings of the sensor" in repr(reopened)
    for at in range(2):
        assert np.mean(reopened[at].ring == drive[at].ring) > 0.995


def test_points_that_do_not_fit_the_sensor_keep_no_rings(drive: rs.Log) -> None:
    bare = rs.Sweep.from_points(drive[0].deskewed(), pose=drive[0].pose, timestamp=drive[0].timestamp)
    assert not assign_rings(bare, SENSOR).ring.any()  # the motion is unknown: no guess
    assert not assign_rings(bare, rs.load_sensor("velodyne-hdl-32e"), drive.trajectory.extended(0.1)).ring.any()
    assert not assign_rings(bare, rs.load_sensor("livox-avia")).ring.any()
    ringed = replace(bare, beam_ring=np.full(bare.n_beams, 5))
    assert assign_rings(ringed, SENSOR) is ringed


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_time_of_a_sweep_may_be_its_first_its_middle_or_its_last(share: float, drive: rs.Log) -> None:
    fired, motion = drive[1], drive[1].trajectory
    assert motion is not None
    when = min(fired.timestamp + share * SENSOR.sweep_period_s, motion.end)
    there = motion.at(when)
    points = (fired.world_points() - there[:3, 3]) @ there[:3, :3]
    bare = rs.Sweep.from_points(points, pose=there, timestamp=when)
    found = assign_rings(bare, SENSOR, motion.extended(0.1))
    assert np.mean(found.ring == fired.ring) > 0.999
