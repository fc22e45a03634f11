"""The dynamic bicycle: two axles on tyres of limited grip, integrated by Runge and Kutta's method of fourth order.

Lateral forces follow Fiala's brush model (Pacejka, Tyre and Vehicle Dynamics, 2012, section 3.2): linear in small slip,
friction times load in large. Driving and braking take their share of the friction circle first. Load moves between the
axles with the acceleration.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from resweep.drive.vehicles.spec import GRAVITY_MPS2, Tyres, Vehicle

if TYPE_CHECKING:
    from resweep.drive.vehicles.dynamics import State

Rates = tuple[float, float, float, float, float, float]


def advance(vehicle: Vehicle, state: State, wanted: float, steering: float, step_s: float, grade: float) -> State:
    """The state after a step with a wanted acceleration, m/s², and a steering angle, radians, held."""
    tyres = vehicle.tyres
    assert tyres is not None
    behind = tyres.cg_to_rear_m
    lateral = state.lateral + behind * state.yaw_rate
    start = (
        state.x + behind * math.cos(state.yaw),
        state.y + behind * math.sin(state.yaw),
        state.yaw,
        state.speed,
        lateral,
        state.yaw_rate,
    )

    def rates(values: Rates) -> Rates:
        return _find_rates(vehicle, tyres, values, wanted, steering, grade)

    k1 = rates(start)
    k2 = rates(_add_rates(start, k1, step_s / 2))
    k3 = rates(_add_rates(start, k2, step_s / 2))
    k4 = rates(_add_rates(start, k3, step_s))
    mean = tuple((a + 2 * b + 2 * c + d) / 6 for a, b, c, d in zip(k1, k2, k3, k4, strict=True))
    x, y, yaw, speed, sideways, rate = _add_rates(start, mean, step_s)  # type: ignore[arg-type]
    return replace(
        state,
        x=x - behind * math.cos(yaw),
        y=y - behind * math.sin(yaw),
        yaw=yaw,
        speed=max(speed, 0.0),
        lateral=sideways - behind * rate,
        yaw_rate=rate,
    )


def _add_rates(values: Rates, rates: Rates, step_s: float) -> Rates:
    a, b, c, d, e, f = (value + step_s * rate for value, rate in zip(values, rates, strict=True))
    return (a, b, c, d, e, f)


def _find_rates(vehicle: Vehicle, tyres: Tyres, values: Rates, wanted: float, steering: float, grade: float) -> Rates:
    """Time derivatives of place, heading, velocity in the body (of the centre of mass) and yaw rate."""
    _, _, yaw, forward, sideways, rate = values
    rear = tyres.cg_to_rear_m
    front = vehicle.wheelbase_m - rear
    load = tyres.mass_kg * GRAVITY_MPS2
    moved = tyres.mass_kg * wanted * tyres.cg_height_m / vehicle.wheelbase_m
    load_front = max(load * rear / vehicle.wheelbase_m - moved, 0.0)
    load_rear = max(load * front / vehicle.wheelbase_m + moved, 0.0)
    # Each axle brakes and drives by its load, so that both reach their limit together.
    share = load_front / load
    force = tyres.mass_kg * wanted
    along_front, grip_front = _split_grip(force * share, tyres.friction * load_front)
    along_rear, grip_rear = _split_grip(force * (1 - share), tyres.friction * load_rear)
    speed = max(forward, 0.1)
    slip_front = math.atan2(sideways + front * rate, speed) - steering
    slip_rear = math.atan2(sideways - rear * rate, speed)
    side_front = compute_lateral_force(slip_front, tyres.cornering_front_nprad, grip_front)
    side_rear = compute_lateral_force(slip_rear, tyres.cornering_rear_nprad, grip_rear)
    c, s = math.cos(steering), math.sin(steering)
    total_x = along_front * c - side_front * s + along_rear - load * grade
    total_y = side_front * c + along_front * s + side_rear
    moment = front * (side_front * c + along_front * s) - rear * side_rear
    cy, sy = math.cos(yaw), math.sin(yaw)
    return (
        forward * cy - sideways * sy,
        forward * sy + sideways * cy,
        rate,
        total_x / tyres.mass_kg + rate * sideways,
        total_y / tyres.mass_kg - rate * forward,
        moment / tyres.yaw_inertia_kgm2,
    )


def _split_grip(force: float, grip: float) -> tuple[float, float]:
    """The force along an axle, at most its grip, and the grip that is left across it, newtons."""
    held = min(max(force, -grip), grip)
    return held, math.sqrt(max(grip * grip - held * held, 0.0))


def compute_lateral_force(slip_rad: float, stiffness_nprad: float, grip_n: float) -> float:
    """Lateral force of an axle at a slip angle, newtons, against the slip; at most its grip."""
    if grip_n <= 0.0:
        return 0.0
    slip = math.tan(slip_rad)
    relative = stiffness_nprad * abs(slip) / (3.0 * grip_n)
    if relative >= 1.0 or abs(slip_rad) >= math.pi / 2:
        return -math.copysign(grip_n, slip_rad)
    return -stiffness_nprad * slip * (1.0 - relative + relative * relative / 3.0)
