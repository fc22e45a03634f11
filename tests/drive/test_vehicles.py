"""Vehicles move as geometry and friction say, and impossible ones are refused."""

from __future__ import annotations

import math

import pytest

from resweep.drive.vehicles import State, Vehicle, advance, load_vehicle, vehicle_names
from resweep.drive.vehicles.spec import GRAVITY_MPS2
from resweep.errors import ResweepError


def drive(vehicle: Vehicle, state: State, command: tuple[float, float], seconds: float, step_s: float = 0.01) -> State:
    for _ in range(round(seconds / step_s)):
        state = advance(vehicle, state, command, step_s)
    return state


@pytest.mark.parametrize("name", vehicle_names())
def test_every_vehicle_of_the_catalog_loads_and_stands(name: str) -> None:
    vehicle = load_vehicle(name)
    assert vehicle.name == name
    assert drive(vehicle, State(1.0, 2.0, 0.5), (0.0, 0.0), 1.0) == State(1.0, 2.0, 0.5)
    assert (vehicle.box[0] < vehicle.box[1]).all()


def test_a_kinematic_bicycle_drives_circles_of_its_wheelbase_over_the_tangent() -> None:
    car = load_vehicle("passenger-car")
    radius = car.wheelbase_m / math.tan(0.3)
    lap = 2 * math.pi * radius / 5.0
    steps = 700
    state = State(0.0, 0.0, 0.0, speed=5.0, steering=0.3)
    farthest = 0.0
    for _ in range(steps):
        state = advance(car, state, (0.0, 0.3), lap / steps)
        farthest = max(farthest, state.y)
    assert state.x == pytest.approx(0.0, abs=1e-9)
    assert state.y == pytest.approx(0.0, abs=1e-9)
    assert farthest == pytest.approx(2 * radius, abs=1e-3)
    assert state.yaw == pytest.approx(2 * math.pi)


def test_a_skid_steer_robot_drives_circles_of_speed_over_yaw_rate() -> None:
    robot = load_vehicle("skid-robot")
    state = State(0.0, 0.0, 0.0, speed=1.5, yaw_rate=0.5)
    half_turn = drive(robot, state, (1.5, 0.5), math.pi / 0.5, math.pi / 0.5 / 300)
    assert (half_turn.x, half_turn.y) == (pytest.approx(0.0, abs=1e-9), pytest.approx(2 * 1.5 / 0.5))


@pytest.mark.parametrize(("name", "speed"), [("passenger-car", 20.0), ("skid-robot", 2.0)])
def test_it_stops_within_the_square_of_its_speed_over_twice_the_braking(name: str, speed: float) -> None:
    vehicle = load_vehicle(name)
    end = drive(vehicle, State(0.0, 0.0, 0.0, speed=speed), vehicle.braking_command(speed, 0.0), 5.0)
    assert end.speed == 0.0
    assert end.x == pytest.approx(speed**2 / (2 * vehicle.braking_max_mps2), abs=1e-9)


def test_limits_hold_whatever_is_commanded() -> None:
    car = load_vehicle("passenger-car")
    state = State(0.0, 0.0, 0.0)
    for _ in range(3000):
        after = advance(car, state, (99.0, 9.0), 0.01)
        assert after.speed - state.speed <= car.acceleration_max_mps2 * 0.01 + 1e-12
        assert after.steering - state.steering <= car.steering_rate_max_radps * 0.01 + 1e-12
        state = after
    assert state.speed == car.speed_max_mps
    assert state.steering == car.steering_max_rad
    reversing = Vehicle(**{**car.model_dump(), "reverse_max_mps": 3.0})
    assert drive(reversing, State(0.0, 0.0, 0.0, speed=1.0), (-99.0, 0.0), 20.0).speed == -3.0


def test_a_step_of_any_length_ends_at_the_same_place_on_a_straight() -> None:
    car = load_vehicle("passenger-car")
    fine, coarse = (drive(car, State(0, 0, 0, speed=29.0), (3.0, 0.0), 2.0, step) for step in (0.001, 0.5))
    assert fine.x == pytest.approx(coarse.x, abs=1e-9)


def test_a_dynamic_bicycle_turns_by_its_understeer_gradient() -> None:
    """Steady cornering at small lateral acceleration: delta = L / R + K a_y (Pacejka 2012, 1.3)."""
    car = load_vehicle("passenger-car-tyres")
    tyres, length = car.tyres, car.wheelbase_m
    rear = tyres.cg_to_rear_m
    gradient = tyres.mass_kg / length * (rear / tyres.cornering_front_nprad)
    gradient -= tyres.mass_kg / length * ((length - rear) / tyres.cornering_rear_nprad)
    steering, speed = 0.01, 15.0
    state = State(0.0, 0.0, 0.0, speed=speed, steering=steering)
    for _ in range(500):
        state = advance(car, state, (2.0 * (speed - state.speed), steering), 0.01)
    expected = steering * state.speed / (length + gradient * state.speed**2)
    assert state.yaw_rate == pytest.approx(expected, rel=0.01)


def test_tyres_limit_the_lateral_acceleration_by_friction() -> None:
    car = load_vehicle("passenger-car-tyres")
    grip = car.tyres.friction * GRAVITY_MPS2
    state, most = State(0.0, 0.0, 0.0, speed=25.0), 0.0
    for _ in range(300):
        after = advance(car, state, (0.0, 0.5), 0.01)
        turn = math.hypot(
            after.speed * math.cos(after.yaw) - after.lateral * math.sin(after.yaw)
            - state.speed * math.cos(state.yaw) + state.lateral * math.sin(state.yaw),
            after.speed * math.sin(after.yaw) + after.lateral * math.cos(after.yaw)
            - state.speed * math.sin(state.yaw) - state.lateral * math.cos(state.yaw),
        )  # fmt: skip
        # Of the centre of mass: the rear axle also swings around it.
        rear = car.tyres.cg_to_rear_m
        swing = rear * abs(after.yaw_rate - state.yaw_rate) + rear * 0.01 * max(after.yaw_rate, state.yaw_rate) ** 2
        most = max(most, (turn - swing) / 0.01)
        state = after
    assert 0.6 * grip < most <= grip * 1.01


def test_braking_on_tyres_takes_the_distance_that_its_limit_gives() -> None:
    car = load_vehicle("passenger-car-tyres")
    end = drive(car, State(0.0, 0.0, 0.0, speed=20.0), car.braking_command(20.0, 0.0), 4.0)
    assert end.speed == 0.0
    assert end.x == pytest.approx(20.0**2 / (2 * car.braking_max_mps2), abs=0.02)


def test_a_slope_takes_speed_from_a_vehicle_with_a_mass() -> None:
    car = load_vehicle("passenger-car-tyres")
    state = State(0.0, 0.0, 0.0, speed=10.0)
    for _ in range(100):
        state = advance(car, state, (0.0, 0.0), 0.01, grade=0.1)
    assert state.speed == pytest.approx(10.0 - 0.1 * GRAVITY_MPS2, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        ("passenger-car", {"speed_max_mps": 0.0}, "speed_max_mps: input should be greater than or equal to 0.001"),
        ("passenger-car", {"steering_max_rad": 1.6}, "steering_max_rad: 1.6 rad; wheels turn by less than pi / 2"),
        ("passenger-car", {"wheelbase_m": 4.0}, "wheelbase_m: 4 m: the axles lie outside"),
        ("passenger-car", {"yaw_rate_max_radps": 1.0}, "yaw_rate_max_radps: a kinematic vehicle has none"),
        ("passenger-car", {"steering_max_rad": None}, "steering_max_rad: missing; a kinematic vehicle needs it"),
        ("passenger-car", {"delay_s": 60.0}, "delay_s: 60 s; a command takes effect within 5 s"),
        ("passenger-car-tyres", {"braking_max_mps2": 12.0}, "more than tyres of friction 0.9 hold, 8.83"),
        ("passenger-car-tyres", {"tyres": None}, "tyres: missing"),
        ("skid-robot", {"track_m": 3.0}, "track_m: 3 m is wider than the vehicle, 1.8 m"),
        ("skid-robot", {"clearance_m": 2.0}, "clearance_m: 2 m is not below the roof"),
    ],
)
def test_impossible_limits_are_refused(name: str, changes: dict, message: str) -> None:
    given = load_vehicle(name).model_dump()
    with pytest.raises(ResweepError, match=message.replace(".", r"\.")):
        Vehicle(**{**given, **changes})


def test_an_unknown_vehicle_names_the_nearest() -> None:
    with pytest.raises(ResweepError, match=r"'skid-robt': not in the catalog and not a file; .*skid-robot"):
        load_vehicle("skid-robt")
