"""Small places to drive in."""

from __future__ import annotations

import pytest

from resweep import World
from resweep.drive import LidarMount, LoopConfig, Rig
from resweep.scenes import SCENE_LABELS, Label, ground_plane, wall


@pytest.fixture(scope="session")
def rig() -> Rig:
    """One LiDAR on the roof."""
    return Rig(lidars=(LidarMount(sensor="velodyne-vlp-16", position_m=(1.3, 0.0, 1.8)),))


@pytest.fixture(scope="session")
def yard() -> World:
    """Level ground of 200 m with a wall across it: its face stands at x = 40."""
    ground = ground_plane((200.0, 200.0), label=Label.ROAD)
    return World([ground, wall((40.15, -20.0), (40.15, 20.0), 3.0, 0.3, label=Label.BUILDING)], labels=SCENE_LABELS)


@pytest.fixture(scope="session")
def short() -> LoopConfig:
    """A drive of a second."""
    return LoopConfig(duration_s=1.0)
