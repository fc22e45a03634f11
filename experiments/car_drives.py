"""A known car driven past a LiDAR, with boxes drawn around it as people draw them: a little off."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from experiments.range_models import Array
from resweep import Log, Mesh, Simulator, Sweep, Trajectory, World, load_sensor
from resweep.boxes import Boxes
from resweep.pose import from_xyz_rpy, inverse
from resweep.scenes import SCENE_LABELS, ground_plane
from resweep.scenes.cars import car

CAR = 7  # its instance id
SENSOR_HEIGHT_M = 1.73
EGO_SPEED = 10.0  # m/s
KNOTS_S = 0.01


@dataclass(frozen=True)
class Drive:
    """How the car moves: from ``at`` (x, y) m with ``yaw_rad`` at the start, at ``speed`` m/s and ``turn`` rad/s."""

    name: str
    at: tuple[float, float]
    yaw_rad: float
    speed: float
    turn: float = 0.0

    def pose(self, time: float) -> Array:
        """``T_world_car`` at a time: on a straight line, or on a circle."""
        yaw = self.yaw_rad + self.turn * time
        if self.turn:
            radius = self.speed / self.turn
            x = self.at[0] + radius * (np.sin(yaw) - np.sin(self.yaw_rad))
            y = self.at[1] - radius * (np.cos(yaw) - np.cos(self.yaw_rad))
        else:
            x = self.at[0] + self.speed * time * np.cos(yaw)
            y = self.at[1] + self.speed * time * np.sin(yaw)
        return from_xyz_rpy(x, y, 0.0, yaw=yaw)


DRIVES = (
    Drive("parked", (16.0, -4.0), 0.0, 0.0),
    Drive("oncoming", (38.0, 4.0), np.pi, 8.0),
    Drive("turning", (18.0, 9.0), -np.pi / 2, 6.0, 0.5),
)


def true_car() -> Mesh:
    """The car that all drives meet, on the origin of its frame, x forward."""
    return car(instance=CAR)


def ego_pose(time: float) -> Array:
    """``T_world_sensor``: straight on along x."""
    return from_xyz_rpy(EGO_SPEED * time, 0.0, SENSOR_HEIGHT_M)


def recorded(
    drive: Drive, sweeps: range, shift_m: float, turn_deg: float, seed: int, sensor: str = "velodyne-hdl-64e"
) -> Log:
    """A log of the drive, ``sweeps`` of it, whose boxes are off by ``shift_m`` and ``turn_deg`` (standard deviations).

    The simulator stands still around the car: what it sees from the sensor's pose relative to the car is what
    the moving sensor sees of the moving car at every firing, and level ground looks the same everywhere.
    """
    spec = load_sensor(sensor)
    simulator = Simulator(World([true_car(), ground_plane((400.0, 400.0))], labels=SCENE_LABELS), spec, seed=seed)
    period = spec.sweep_period_s
    times = np.arange(sweeps.start * period, (sweeps.stop + 1) * period + KNOTS_S, KNOTS_S)
    relative = np.stack([inverse(drive.pose(time)) @ ego_pose(time) for time in times])
    ego = Trajectory(times, np.stack([ego_pose(time) for time in times]))
    rng = np.random.default_rng([seed, 0xB0])
    made = []
    for seen in simulator.run(Trajectory(times, relative), sweeps=len(sweeps)):
        window = ego.window(float(seen.beam_time.min()), float(seen.beam_time.max()))
        sweep = replace(seen, pose=ego.at(seen.timestamp), trajectory=window)
        made.append(replace(sweep, boxes=_drawn(drive, sweep, rng, shift_m, turn_deg), label=np.zeros_like(seen.label)))
    return Log.from_sweeps(made, drive.name, labels=SCENE_LABELS)


def _drawn(drive: Drive, sweep: Sweep, rng: np.random.Generator, shift_m: float, turn_deg: float) -> Boxes:
    """The box around the car where its returns were measured, a little off, in the frame of the sweep's pose."""
    hit = sweep.instance == CAR
    time = float(np.median(sweep.time[hit])) if hit.any() else sweep.timestamp
    T = inverse(sweep.pose) @ drive.pose(time)
    size = np.ptp(true_car().vertices, axis=0).astype(np.float64)
    centre = T[:3, 3] + [0.0, 0.0, size[2] / 2] + rng.normal(0.0, shift_m, 3) * [1.0, 1.0, 0.4]
    yaw = np.arctan2(T[1, 0], T[0, 0]) + np.radians(rng.normal(0.0, turn_deg))
    return Boxes(centre, size, np.array([yaw]), ["Car"], np.array([0]))
