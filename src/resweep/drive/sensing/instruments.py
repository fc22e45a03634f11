"""GPS, compass, IMU and wheel odometry: what they read of a motion."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from resweep import portable
from resweep.drive.sensing import rig as specs
from resweep.drive.sensing.draws import DrawPurpose, Draws
from resweep.drive.sensing.observation import Readings
from resweep.drive.vehicles.spec import GRAVITY_MPS2
from resweep.pose import Array, Trajectory, rotation_of

_TINY_S = 1e-9


@dataclass(frozen=True, eq=False)
class VehicleMotion:
    """The true motion of a vehicle from one step to the next.

    ``path`` holds ``T_world_vehicle`` at the knots, one before the first included where there is one (for rates);
    ``speed`` and ``yaw_rate`` (k,) belong to its knots.
    """

    path: Trajectory
    speed: Array
    yaw_rate: Array
    start_s: float
    end_s: float


class _ReadTruth(Protocol):
    def __call__(self, motion: VehicleMotion, times: Array) -> Array: ...


class Instrument:
    """One instrument: reads what it should, adds its errors, and leaves out what falls into an outage.

    ``truth(motion, times)`` gives what is to be read (n, k).
    """

    def __init__(self, name: str, spec: specs.InstrumentSpec, errors: Errors, truth: _ReadTruth, width: int) -> None:
        self.name, self.width = name, width
        self._spec, self._errors, self._truth = spec, errors, truth
        self._next = 0
        self._out = False

    def read(self, motion: VehicleMotion) -> Readings:
        """The readings after the motion's start, up to its end; the first of all is at time 0."""
        last = math.floor((motion.end_s + _TINY_S) * self._spec.rate_hz)
        index = np.arange(self._next, last + 1)
        self._next = max(self._next, last + 1)
        times = index / self._spec.rate_hz
        if not len(index):
            return Readings(times, np.zeros((0, self.width)))
        value = self._errors.add(self._truth(motion, times), index, 1.0 / self._spec.rate_hz)
        there = self._find_present(index)
        return Readings(times[there], value[there])

    def _find_present(self, index: Array) -> Array:
        """Whether each reading (n,) is there: a Markov chain of two states."""
        spec = self._spec
        if spec.outage_share == 0.0:
            return np.ones(len(index), bool)
        leave = min(1.0, 1.0 / (spec.rate_hz * spec.outage_s))
        enter = min(1.0, leave * spec.outage_share / (1.0 - spec.outage_share))
        draws = self._errors.draws.uniform(index, 1, DrawPurpose.OUTAGE)[:, 0]
        there = np.ones(len(index), bool)
        for at, (number, draw) in enumerate(zip(index.tolist(), draws.tolist(), strict=True)):
            if number == 0:
                self._out = draw < spec.outage_share
            else:
                self._out = draw >= leave if self._out else draw < enter
            there[at] = not self._out
        return there


class Errors:
    """White noise, a bias from the start, and a bias that walks; all of them per component (k,).

    ``decay_s`` makes the walk a Gauss-Markov process of standard deviation ``walk``, else ``walk`` is that after a
    second. ``scale`` is the standard deviation of an error of scale of each component.
    """

    def __init__(
        self,
        draws: Draws,
        noise: Array,
        bias: Array | float = 0.0,
        walk: Array | float = 0.0,
        decay_s: float | None = None,
        scale: Array | float = 0.0,
    ) -> None:
        self.draws, self._noise = draws, noise
        width = len(noise)
        first = draws.normal(np.zeros(1, int), 2 * width, DrawPurpose.BIAS)[0]
        self._bias = np.broadcast_to(bias, width) * first[:width]
        self._scale = 1.0 + np.broadcast_to(scale, width) * first[width:]
        self._walk, self._decay_s = np.broadcast_to(np.asarray(walk, float), width), decay_s
        self._walked = np.zeros(width)

    def add(self, truth: Array, index: Array, period_s: float) -> Array:
        """Readings (n, k) of true values; readings come in order."""
        white = self._noise * self.draws.normal(index, len(self._noise), DrawPurpose.NOISE)
        drift = np.zeros_like(truth)
        if self._walk.any():
            steps = self.draws.normal(index, len(self._noise), DrawPurpose.WALK)
            for at, number in enumerate(index.tolist()):
                self._walked = self._advance_walk(self._walked, steps[at], number, period_s)
                drift[at] = self._walked
        return np.asarray(truth * self._scale + self._bias + drift + white)

    def _advance_walk(self, walked: Array, step: Array, number: int, period_s: float) -> Array:
        if self._decay_s is None:
            return walked if number == 0 else walked + self._walk * math.sqrt(period_s) * step
        kept = math.exp(-period_s / self._decay_s)
        if number == 0:
            return self._walk * step
        return kept * walked + self._walk * math.sqrt(1.0 - kept * kept) * step


def make_instruments(rig: specs.Rig, seed: int) -> dict[str, Instrument]:
    """The instruments of a rig by name: gps, compass, imu, odometry."""
    instruments = {}
    if (gps := rig.gps) is not None:
        noise = np.array([gps.sigma_m, gps.sigma_m, gps.sigma_up_m])
        errors = Errors(Draws(seed, "gps"), noise, 0.0, gps.drift_sigma_m, gps.drift_time_s)
        instruments["gps"] = Instrument("gps", gps, errors, _make_antenna(gps.position_m), 3)
    if (compass := rig.compass) is not None:
        noise = np.array([compass.sigma_rad])
        errors = Errors(Draws(seed, "compass"), noise, compass.bias_sigma_rad, compass.bias_walk_radpsqrts)
        instruments["compass"] = Instrument("compass", compass, errors, _read_heading, 1)
    if (imu := rig.imu) is not None:
        noise = np.repeat([imu.gyro_sigma_radps, imu.accel_sigma_mps2], 3)
        bias = np.repeat([imu.gyro_bias_radps, imu.accel_bias_mps2], 3)
        walk = np.repeat([imu.gyro_walk_radps, imu.accel_walk_mps2], 3)
        instruments["imu"] = Instrument("imu", imu, Errors(Draws(seed, "imu"), noise, bias, walk), _read_inertia, 6)
    if (wheels := rig.odometry) is not None:
        noise = np.array([wheels.speed_sigma_mps, wheels.yaw_rate_sigma_radps])
        errors = _Wheels(Draws(seed, "wheels"), noise, scale=np.array([wheels.scale_sigma, 0.0]))
        instruments["odometry"] = Instrument("odometry", wheels, errors, _read_wheels, 2)
    return instruments


WIDTHS = {"gps": 3, "compass": 1, "imu": 6, "odometry": 2}


class _Wheels(Errors):
    """Wheels that stand still count nothing, and so have no noise."""

    def add(self, truth: Array, index: Array, period_s: float) -> Array:
        return np.where((truth != 0).any(axis=1)[:, None], super().add(truth, index, period_s), 0.0)


def _make_antenna(position_m: tuple[float, float, float]) -> _ReadTruth:
    def place(motion: VehicleMotion, times: Array) -> Array:
        poses = motion.path.at(times)
        return np.asarray(np.einsum("nij,j->ni", poses[:, :3, :3], np.array(position_m)) + poses[:, :3, 3])

    return place


def _read_heading(motion: VehicleMotion, times: Array) -> Array:
    poses = motion.path.at(times)
    return portable.arctan2(poses[:, 1, 0], poses[:, 0, 0])[:, None]


def _read_wheels(motion: VehicleMotion, times: Array) -> Array:
    knots = motion.path.times
    return np.column_stack([np.interp(times, knots, motion.speed), np.interp(times, knots, motion.yaw_rate)])


def _read_inertia(motion: VehicleMotion, times: Array) -> Array:
    """Angular rate and specific force (n, 6) in the vehicle's frame, from differences of the knots around each time."""
    path = motion.path
    if len(path) < 3:
        poses = path.at(times)
        rest = np.einsum("nji,j->ni", poses[:, :3, :3], np.array([0.0, 0.0, GRAVITY_MPS2]))
        return np.column_stack([np.zeros((len(times), 3)), rest])
    here = np.clip(np.searchsorted(path.times, times - _TINY_S), 1, len(path) - 2)
    before, middle, after = (path.poses[here + offset] for offset in (-1, 0, 1))
    back, ahead = path.times[here] - path.times[here - 1], path.times[here + 1] - path.times[here]
    turn = rotation_of(portable.matmul(np.swapaxes(before[:, :3, :3], 1, 2), after[:, :3, :3])).as_rotvec()
    velocity = (after[:, :3, 3] - middle[:, :3, 3]) / ahead[:, None]
    earlier = (middle[:, :3, 3] - before[:, :3, 3]) / back[:, None]
    force = 2 * (velocity - earlier) / (back + ahead)[:, None] + np.array([0.0, 0.0, GRAVITY_MPS2])
    return np.column_stack([turn / (back + ahead)[:, None], np.einsum("nji,nj->ni", middle[:, :3, :3], force)])
