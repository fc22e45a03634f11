"""The environment that tests make in processes of their own."""

from __future__ import annotations

from resweep import World
from resweep.drive import LidarMount, Loop, LoopConfig, Rig
from resweep.drive.gym import DriveEnv
from resweep.scenes import SCENE_LABELS, Label, ground_plane, wall
from resweep.sensors import load_sensor


def make_env(render_mode: str | None = None) -> DriveEnv:
    """A car 30 m from its goal, with a wall behind that."""
    ground = ground_plane((200.0, 200.0), label=Label.ROAD)
    yard = World([ground, wall((40.15, -20.0), (40.15, 20.0), 3.0, 0.3)], labels=SCENE_LABELS)
    sensor = load_sensor("velodyne-vlp-16")
    rig = Rig(lidars=(LidarMount(sensor=sensor, position_m=(1.3, 0.0, 1.8)),))
    config = LoopConfig(duration_s=6.0, goal=(30.0, 0.0))
    return DriveEnv(Loop(yard, "passenger-car", rig, start=(0.0, 0.0, 0.0), config=config), render_mode=render_mode)
