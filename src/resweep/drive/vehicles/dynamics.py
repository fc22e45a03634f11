"""How vehicles move on the plane under a command: skid-steer, kinematic bicycle and dynamic bicycle.

Speeds ramp at their limits and are integrated exactly, also where a limit is reached within a step. A path of constant
curvature is an exact arc. While the steering angle or the yaw rate changes, the arc of its mean over the step stands
for the path: the error is of third order in the step, a tenth of a millimetre for steps of 10 ms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from resweep.drive.vehicles import tyres
from resweep.drive.vehicles.spec import GRAVITY_MPS2, Vehicle

# A bicycle on tyres is stiff at walking pace, where tyres do not slip: it moves as the kinematic one below this speed.
SLIPPING_MPS = 1.5
_TYRE_STEP_S = 0.002


@dataclass(frozen=True)
class State:
    """Where a vehicle is on the plane, and how it moves.

    ``x``, ``y`` metres in the world of the vehicle's origin, ``yaw`` radians; ``speed`` forward and ``lateral`` to the
    left, m/s, of the origin; ``yaw_rate`` rad/s; ``steering`` rad; ``acceleration`` m/s² along x of the last step.
    """

    x: float
    y: float
    yaw: float
    speed: float = 0.0
    lateral: float = 0.0
    yaw_rate: float = 0.0
    steering: float = 0.0
    acceleration: float = 0.0


def advance(vehicle: Vehicle, state: State, command: tuple[float, float], step_s: float, grade: float = 0.0) -> State:
    """The state after ``step_s`` seconds under a command that has taken effect.

    ``grade`` is the sine of the slope that the vehicle climbs. Only the dynamic model feels it: the others hold
    the acceleration of their command. Commands beyond the limits act as the limits.
    """
    if vehicle.model == "skid-steer":
        return _advance_skid(vehicle, state, command, step_s)
    if vehicle.model == "dynamic" and state.speed >= SLIPPING_MPS:
        return _advance_dynamic(vehicle, state, command, step_s, grade)
    if vehicle.model == "dynamic" and (state.speed > 0 or command[0] > 0):
        command = (command[0] - GRAVITY_MPS2 * grade, command[1])
    return _advance_kinematic(vehicle, state, command, step_s)


def _advance_skid(vehicle: Vehicle, state: State, command: tuple[float, float], step_s: float) -> State:
    low, high = -vehicle.reverse_max_mps, vehicle.speed_max_mps
    wanted = min(max(command[0], low), high)
    faster = abs(wanted) > abs(state.speed) and wanted * state.speed >= 0
    limit = vehicle.acceleration_max_mps2 if faster else vehicle.braking_max_mps2
    speed, distance = _ramp(state.speed, wanted, limit, step_s)
    turn = float(vehicle.yaw_rate_max_radps or 0.0)
    rate, angle = _ramp(
        state.yaw_rate,
        min(max(command[1], -turn), turn),
        float(vehicle.yaw_acceleration_max_radps2 or 0.0),
        step_s,
    )
    x, y, yaw = _follow_arc(state, distance, angle)
    return State(x, y, yaw, speed, 0.0, rate, 0.0, (speed - state.speed) / step_s)


def _advance_kinematic(vehicle: Vehicle, state: State, command: tuple[float, float], step_s: float) -> State:
    speed, distance = _accelerate(vehicle, state.speed, command[0], step_s)
    steering, mean = _steer(vehicle, state.steering, command[1], step_s)
    x, y, yaw = _follow_arc(state, distance, distance * math.tan(mean) / vehicle.wheelbase_m)
    rate = speed * math.tan(steering) / vehicle.wheelbase_m
    return State(x, y, yaw, speed, 0.0, rate, steering, (speed - state.speed) / step_s)


def _advance_dynamic(
    vehicle: Vehicle, state: State, command: tuple[float, float], step_s: float, grade: float
) -> State:
    count = max(1, math.ceil(step_s / _TYRE_STEP_S - 1e-9))
    part = step_s / count
    begin, moved = state.speed, state
    for at in range(count):
        if moved.speed < SLIPPING_MPS:
            moved = _advance_kinematic(vehicle, moved, command, (count - at) * part)
            break
        steering, mean = _steer(vehicle, moved.steering, command[1], part)
        wanted = min(max(command[0], -vehicle.braking_max_mps2), vehicle.acceleration_max_mps2)
        if moved.speed >= vehicle.speed_max_mps:
            wanted = min(wanted, 0.0)
        moved = replace(tyres.advance(vehicle, moved, wanted, mean, part, grade), steering=steering)
    return replace(moved, acceleration=(moved.speed - begin) / step_s)


def _accelerate(vehicle: Vehicle, speed: float, wanted: float, step_s: float) -> tuple[float, float]:
    """Speed after a step, and the distance; a vehicle that brakes stops before it reverses."""
    forward = speed > 0 or (speed == 0 and wanted > 0)
    up, down = vehicle.acceleration_max_mps2, vehicle.braking_max_mps2
    if forward:
        rate = min(max(wanted, -down), up)
        target = vehicle.speed_max_mps if rate > 0 else 0.0
    else:
        rate = min(max(wanted, -up), down)
        target = -vehicle.reverse_max_mps if rate < 0 else 0.0
    if rate == 0.0 or (target - speed) * rate <= 0:  # it keeps its speed, or is at its limit
        return (speed, speed * step_s) if rate == 0.0 else (target, target * step_s)
    end, distance = _ramp(speed, target, abs(rate), step_s)
    return end + 0.0, distance  # no negative zero


def _ramp(value: float, target: float, rate: float, step_s: float) -> tuple[float, float]:
    """A value that moves to its target at a rate, after a step, and its integral over the step."""
    needed = abs(target - value) / rate if rate > 0 else 0.0
    if needed <= step_s:
        return target, 0.5 * (value + target) * needed + target * (step_s - needed)
    end = value + math.copysign(rate * step_s, target - value)
    return end, 0.5 * (value + end) * step_s


def _steer(vehicle: Vehicle, angle: float, wanted: float, step_s: float) -> tuple[float, float]:
    """The steering angle after a step, and its mean over the step."""
    limit = float(vehicle.steering_max_rad or 0.0)
    end, integral = _ramp(angle, min(max(wanted, -limit), limit), float(vehicle.steering_rate_max_radps or 0.0), step_s)
    return end, integral / step_s


def _follow_arc(state: State, distance: float, angle: float) -> tuple[float, float, float]:
    """Place and heading after an arc of a length, metres, that turns by an angle, radians."""
    half = 0.5 * angle
    chord = distance if half == 0.0 else distance * math.sin(half) / half
    heading = state.yaw + half
    return state.x + chord * math.cos(heading), state.y + chord * math.sin(heading), state.yaw + angle
