"""The spec of a vehicle: its body, its model of motion and its limits."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from resweep.config import NotNegative, Positive, Spec
from resweep.errors import SettingsError
from resweep.pose import Array
from resweep.quantities import Acceleration, BodyLength, Radians, Speed, SpeedOrStill

GRAVITY_MPS2 = 9.80665
_MAX_DELAY_S = 5.0


class Tyres(Spec):
    """Mass and tyres of a dynamic bicycle."""

    mass_kg: Positive
    """Mass of the vehicle with its load, kilograms."""
    yaw_inertia_kgm2: Positive
    """Moment of inertia about the upright axis through the centre of mass, kg m²."""
    cg_to_rear_m: BodyLength
    """Metres from the rear axle forward to the centre of mass."""
    cg_height_m: BodyLength
    """Height of the centre of mass above the ground, metres: braking moves load to the front by it."""
    cornering_front_nprad: Positive
    """Cornering stiffness of the front axle, newtons a radian."""
    cornering_rear_nprad: Positive
    """Cornering stiffness of the rear axle, newtons a radian."""
    friction: Annotated[float, Field(gt=0.0, le=10.0)]
    """Coefficient of friction between tyres and ground."""


class Vehicle(Spec):
    """A vehicle: its box, its model of motion, and limits on what it does with a command.

    The frame of a vehicle has its origin on the ground below the middle of the rear axle (skid-steer: below the middle
    of the vehicle), x forward, y left, z up. ``kinematic`` and ``dynamic`` bicycles take commands (acceleration m/s²,
    steering angle rad), ``skid-steer`` takes (speed m/s, yaw rate rad/s).
    """

    name: str = Field(min_length=1)
    """Name of the vehicle."""
    description: str = ""
    """What it is, and where its values are from."""
    model: Literal["skid-steer", "kinematic", "dynamic"]
    """How it moves: skid-steer, kinematic (a bicycle that never slips) or dynamic (a bicycle on tyres)."""
    length_m: BodyLength
    """Length of its box, metres."""
    width_m: BodyLength
    """Width of its box, metres."""
    height_m: BodyLength
    """Height of its box above the ground, metres."""
    shape: Literal["box", "car"] = "box"
    """What of it stands in the way of its own LiDARs: the whole box, or a car with bonnet and cabin in that box."""
    rear_overhang_m: BodyLength
    """Metres from the origin of its frame back to the rear of its box."""
    wheelbase_m: BodyLength
    """Metres between the axles."""
    track_m: BodyLength
    """Metres between left and right wheels."""
    clearance_m: NotNegative = 0.2
    """What stands lower than this above the ground passes below it, metres."""
    speed_max_mps: Speed
    """Largest speed forward, metres a second."""
    reverse_max_mps: SpeedOrStill = 0.0
    """Largest speed in reverse, metres a second; 0 if it has none."""
    acceleration_max_mps2: Acceleration
    """Largest acceleration, m/s²."""
    braking_max_mps2: Acceleration
    """Largest deceleration, m/s²."""
    steering_max_rad: Radians | None = None
    """Largest steering angle of a bicycle, radians."""
    steering_rate_max_radps: Radians | None = None
    """How fast a bicycle's steering angle changes at most, radians a second."""
    yaw_rate_max_radps: Radians | None = None
    """Largest yaw rate of a skid-steer vehicle, radians a second."""
    yaw_acceleration_max_radps2: Radians | None = None
    """How fast the yaw rate of a skid-steer vehicle changes at most, rad/s²."""
    delay_s: NotNegative = 0.0
    """Seconds from a command until it takes effect."""
    pushes_through_m: NotNegative = 0.0
    """Vegetation that stands lower than this yields to it, metres: grass, shrubs and leaves, but not trunks (h_max of
    B, eq. 8)."""
    slope_max_rad: Radians = 0.6
    """Steepest ground that it can stand on, radians; where it is steeper it has left the ground."""
    tyres: Tyres | None = None
    """Mass and tyres, for the dynamic model."""

    @property
    def command_fields(self) -> tuple[str, str]:
        """What the two numbers of a command are."""
        if self.model == "skid-steer":
            return ("speed_mps", "yaw_rate_radps")
        return ("acceleration_mps2", "steering_rad")

    @property
    def command_limits(self) -> Array:
        """Lowest and highest command (2, 2)."""
        if self.model == "skid-steer":
            turn = float(self.yaw_rate_max_radps or 0.0)
            return np.array([[-self.reverse_max_mps, -turn], [self.speed_max_mps, turn]])
        steer = float(self.steering_max_rad or 0.0)
        # In reverse the roles change: what brakes then accelerates forward.
        braking = max(self.braking_max_mps2, self.acceleration_max_mps2)
        forward = braking if self.reverse_max_mps > 0 else self.acceleration_max_mps2
        return np.array([[-braking, -steer], [forward, steer]])

    def braking_command(self, speed_mps: float, steering_rad: float) -> tuple[float, float]:
        """The command that stops it as fast as it can, with the wheels as they are; it stands once it stands."""
        if self.model == "skid-steer" or speed_mps == 0.0:
            return (0.0, 0.0 if self.model == "skid-steer" else steering_rad)
        return (-math.copysign(self.braking_max_mps2, speed_mps), steering_rad)

    @property
    def box(self) -> Array:
        """Lowest and highest corner (2, 3) of its body in its own frame, metres, above the clearance."""
        half = self.width_m / 2
        front = self.length_m - self.rear_overhang_m
        return np.array([[-self.rear_overhang_m, -half, self.clearance_m], [front, half, self.height_m]])

    @property
    def wheels(self) -> Array:
        """Where the four wheels touch the ground (4, 2): x and y in its own frame, metres."""
        rear = -self.wheelbase_m / 2 if self.model == "skid-steer" else 0.0
        x, y = np.array([rear, rear + self.wheelbase_m]), np.array([-0.5, 0.5]) * self.track_m
        return np.array([(a, b) for a in x for b in y])

    @model_validator(mode="after")
    def _check(self) -> Vehicle:
        skid = self.model == "skid-steer"
        needed = ("yaw_rate_max_radps", "yaw_acceleration_max_radps2")
        steered = ("steering_max_rad", "steering_rate_max_radps")
        for field in needed if skid else steered:
            if getattr(self, field) is None:
                raise SettingsError(field, f"missing; a {self.model} vehicle needs it")
        for field in steered if skid else needed:
            if getattr(self, field) is not None:
                raise SettingsError(field, f"a {self.model} vehicle has none; leave it out")
        self._check_body(skid)
        if self.steering_max_rad is not None and self.steering_max_rad >= math.pi / 2:
            raise SettingsError("steering_max_rad", f"{self.steering_max_rad:g} rad; wheels turn by less than pi / 2")
        if self.delay_s > _MAX_DELAY_S:
            raise SettingsError("delay_s", f"{self.delay_s:g} s; a command takes effect within {_MAX_DELAY_S:g} s")
        if self.slope_max_rad >= math.pi / 2:
            raise SettingsError(
                "slope_max_rad", f"{self.slope_max_rad:g} rad is an upright wall; give less than pi / 2"
            )
        self._check_tyres()
        return self

    def _check_body(self, skid: bool) -> None:
        if self.rear_overhang_m >= self.length_m:
            raise SettingsError("rear_overhang_m", f"{self.rear_overhang_m:g} m is not shorter than the vehicle")
        rear = -self.wheelbase_m / 2 if skid else 0.0
        if rear < -self.rear_overhang_m or rear + self.wheelbase_m > self.length_m - self.rear_overhang_m:
            raise SettingsError("wheelbase_m", f"{self.wheelbase_m:g} m: the axles lie outside of the vehicle's box")
        if self.track_m > self.width_m:
            raise SettingsError("track_m", f"{self.track_m:g} m is wider than the vehicle, {self.width_m:g} m")
        if self.clearance_m >= self.height_m:
            raise SettingsError("clearance_m", f"{self.clearance_m:g} m is not below the roof, {self.height_m:g} m")

    def _check_tyres(self) -> None:
        if (self.tyres is not None) != (self.model == "dynamic"):
            problem = "missing; a dynamic vehicle needs them" if self.tyres is None else f"a {self.model} one has none"
            raise SettingsError("tyres", problem)
        if self.tyres is None:
            return
        if self.tyres.cg_to_rear_m >= self.wheelbase_m:
            raise SettingsError("tyres.cg_to_rear_m", "the centre of mass lies ahead of the front axle")
        grip = self.tyres.friction * GRAVITY_MPS2
        for field in ("braking_max_mps2", "acceleration_max_mps2"):
            if getattr(self, field) > grip + 1e-9:
                raise SettingsError(
                    field,
                    f"{getattr(self, field):g} m/s² is more than tyres of friction {self.tyres.friction:g} hold, "
                    f"{grip:.2f} m/s²; lower it, or raise tyres.friction",
                )
