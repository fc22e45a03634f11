"""A garden on four tiles, recorded while driving through it, and what it is built with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import resweep as rs
from resweep.labels import load_labels
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.scenes import Label, box, ground_plane


def leaves(at: tuple[float, float, float], seed: int, count: int = 500) -> rs.Mesh:
    """Leaves of 6 cm that hang in a ball of 1 m radius."""
    rng = np.random.default_rng(seed)
    centre = np.array(at) + rng.standard_normal((count, 3)) * 0.45
    corners = centre[:, None] + 0.04 * rng.standard_normal((count, 3, 3))
    return rs.Mesh(corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3), int(Label.VEGETATION), 0.4)


@pytest.fixture(scope="session")
def garden() -> Log:
    """Six labelled sweeps of a lawn with walls and shrubs around the corner of four tiles of 40 m."""
    parts = [ground_plane((60, 60), label=int(Label.ROAD))]
    for seed, (x, y) in enumerate([(4.0, 4.0), (-4.0, 5.0), (5.0, -4.0), (-0.2, -5.0)]):
        parts.append(leaves((x, y, 1.2), seed))
    parts.append(box((0.3, 14.0, 3.0), (9.0, 0.0, 1.5), label=int(Label.BUILDING)))
    parts.append(box((14.0, 0.3, 3.0), (0.0, -9.0, 1.5), label=int(Label.BUILDING)))
    world = rs.World(parts, labels="semantickitti")
    poses = np.stack([from_xyz_rpy(0.4 * step - 1.0, 0.3 * (step - 3), 1.4, 0, 0, 0.05 * step) for step in range(6)])
    drive = rs.Simulator(world, rs.load_sensor("velodyne-vlp-16").with_(rotation_rate_hz=20.0), seed=3).run(poses)
    return Log.from_sweeps(list(drive), "garden", labels=load_labels("semantickitti"), sensor=drive.sensor)


@pytest.fixture(scope="session")
def unlabelled(garden: Log) -> Log:
    """The same sweeps without labels."""
    return garden.with_sweeps([replace(sweep, label=np.zeros_like(sweep.label)) for sweep in garden])
