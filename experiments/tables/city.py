"""Streets of a synthetic city: each a world without traffic, the traffic as actors, and the way of the recording car.

Streets differ in width, façades, trees, hedges and traffic, by their number. Cars are bodies that the bank of CAD
models does not have. The builder sees recordings of this only (`experiments.tables.city_sensor`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from experiments.tables.city_cars import make_car
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenario import Actor
from resweep.scenes.moving_traffic import make_pedestrian, make_vehicle
from resweep.scenes.scatter_plants import placements, spaced_positions
from resweep.scenes.scene_labels import SCENE_LABELS, Label
from resweep.scenes.shrubs import ShrubConfig, shrub
from resweep.scenes.street import KERB_M, StreetConfig, street
from resweep.scenes.trees import TreeConfig
from resweep.worlds import Instances, Mesh, World

SENSOR_M = 1.73
PERIOD_S = 0.1
_FIRST_ACTOR, _FIRST_SHRUB = 1000, 800
_MOVING_CAR = SCENE_LABELS.id_of("moving car")
_PLACE_M = 6.3  # of a parking place
_PARKED_M = 2.2  # of the road's width are for parked cars, on each side
_CLEAR_M = 7.0  # around other moving cars
_SIGHT_M = 50.0  # traffic is within this of the middle of the way


@dataclass(frozen=True, eq=False)
class Place:
    """A street, its traffic, and the poses (n, 4, 4) of a sensor that drives along it."""

    name: str
    world: World
    actors: tuple[Actor, ...]
    poses: Array

    @property
    def times(self) -> Array:
        """When each sweep begins (n,), seconds."""
        return PERIOD_S * np.arange(len(self.poses))


def make_place(number: int, sweeps: int) -> Place:
    """The street of a number, driven along for some sweeps."""
    rng = np.random.default_rng([number, 0x63697479])
    config = _draw_street(rng)
    plain = street(1000 + number, config)
    world = World([*plain.layers, *_make_hedges(rng, config, number)], labels=SCENE_LABELS)
    speed = float(rng.uniform(6.0, 14.0))
    x = speed * PERIOD_S * (np.arange(sweeps) - (sweeps - 1) / 2)
    lane = -_find_lane(config) + float(rng.normal(0, 0.1))
    sway, phase = rng.uniform(0.0, 0.25), rng.uniform(0, 2 * np.pi)
    poses = np.stack(
        [from_xyz_rpy(at, lane + sway * np.sin(at / 6 + phase), SENSOR_M, yaw=sway / 6 * np.cos(at / 6 + phase))
         for at in x.tolist()]
    )  # fmt: skip
    duration = PERIOD_S * sweeps
    actors = _park_cars(rng, config) + _drive_cars(rng, config, speed, duration)
    return Place(f"city-{number:03d}", world, tuple(_number(actors)), poses)


def _draw_street(rng: np.random.Generator) -> StreetConfig:
    height = float(rng.uniform(4.5, 9.0))
    tree = TreeConfig(
        height_m=height,
        crown_radius_m=float(rng.uniform(0.22, 0.33)) * height,
        crown_base=float(rng.uniform(0.25, 0.45)),
        trunk_diameter_m=float(rng.uniform(0.15, 0.4)),
        leaves=int(rng.integers(4000, 10_000)),
    )
    return StreetConfig(
        length_m=120.0,
        road_m=float(rng.uniform(9.5, 13.0)),
        sidewalk_m=float(rng.uniform(2.0, 4.5)),
        garden_m=float(rng.uniform(0.5, 7.0)),
        pole_gap_m=float(rng.uniform(18.0, 35.0)),
        parked=0.0,
        tree_gap_m=float(rng.uniform(9.0, 30.0)),
        tree=tree,
    )


def _find_lane(config: StreetConfig) -> float:
    """How far from the middle of the road the middle of a lane is, beside the cars that are parked, metres."""
    return (config.road_m / 2 - _PARKED_M) / 2


def _make_hedges(rng: np.random.Generator, config: StreetConfig, number: int) -> list[Instances]:
    """Shrubs in the gardens of both sides."""
    inner = config.road_m / 2 + config.sidewalk_m + 0.7
    habit = ShrubConfig(
        height_m=float(rng.uniform(0.8, 1.6)), crown_base_m=0.15, crown_radius_m=float(rng.uniform(0.4, 0.8)),
        leaves=1200, leaf_length_m=0.07, leaf_width_m=0.04,
    )  # fmt: skip
    outer = inner + max(config.garden_m - 1.4, 0.2)
    sides = [(-45.0, inner, 45.0, outer), (-45.0, -outer, 45.0, -inner)]
    spots = np.concatenate([spaced_positions(rng, side, int(rng.integers(4, 12)), 1.5) for side in sides])
    turned = placements(rng, spots, scale=(0.7, 1.3), height_at=lambda x, y: np.full_like(x, KERB_M))
    ids = _FIRST_SHRUB + np.arange(len(spots))
    return [Instances(shrub(number, habit), turned, instance=ids, name="shrubs")]


def _park_cars(rng: np.random.Generator, config: StreetConfig) -> list[Actor]:
    """Cars, vans and lorries at both kerbs, and people beside them."""
    found: list[Actor] = []
    share, kerb = rng.uniform(0.25, 0.8), config.road_m / 2
    for side in (-1, 1):
        for x in np.arange(-_SIGHT_M, _SIGHT_M, _PLACE_M):
            taken, what = rng.uniform() < share, rng.uniform()
            if not taken:
                continue
            yaw = (0.0 if side < 0 else np.pi) + float(rng.normal(0, 0.03))
            at = (float(x + rng.normal(0, 0.3)), side * (kerb - 1.1 + float(rng.normal(0, 0.08))))
            if what < 0.06:
                size = (float(rng.uniform(5.0, 6.0)), 2.0, float(rng.uniform(2.3, 2.9)))
                found.append(_stand(make_vehicle(*size, Label.TRUCK, "lorry"), size, "Truck", at, yaw))
            else:
                mesh, size = make_car(rng, 0)
                found.append(_stand(mesh, size, "Car", at, yaw))
    for _ in range(int(rng.integers(0, 5))):
        place = (float(rng.uniform(-30, 30)), float(rng.choice([-1, 1]) * (kerb + rng.uniform(0.8, 1.6))))
        height = float(rng.uniform(1.5, 1.9))
        found.append(_stand(make_pedestrian(height), (0.5, 0.5, height), "Pedestrian", place, 0.0, KERB_M))
    return found


def _drive_cars(rng: np.random.Generator, config: StreetConfig, speed: float, duration: float) -> list[Actor]:
    """Cars ahead and behind in the own lane, and others that come towards it."""
    found = []
    for side, direction in ((-1, 1.0), (1, -1.0)):
        starts = np.arange(-_SIGHT_M, _SIGHT_M, 14.0)
        starts = starts + rng.uniform(-3, 3, len(starts))
        for start in starts[rng.uniform(size=len(starts)) < 0.45].tolist():
            own = side < 0
            if own and abs(start) < _CLEAR_M + 0.5 * speed * duration:
                continue
            pace = direction * (speed if own else float(rng.uniform(5.0, 14.0)))
            mesh, size = make_car(rng, 0)
            lateral = side * _find_lane(config) + float(rng.normal(0, 0.1))
            ends = [start - pace * duration / 2, start + pace * duration * 0.75]
            poses = np.stack([from_xyz_rpy(x, lateral, yaw=0.0 if own else np.pi) for x in ends])
            motion = Trajectory(np.array([0.0, 1.25 * duration]), poses)
            found.append(Actor((mesh,), motion, 1, label=_MOVING_CAR, name="Car", labels=SCENE_LABELS, size_m=size))
    return found


def _stand(
    mesh: Mesh, size: tuple[float, float, float], name: str, at: tuple[float, float], yaw: float, z: float = 0.0
) -> Actor:
    pose = from_xyz_rpy(at[0], at[1], z, yaw=yaw)
    return Actor((mesh,), pose, 1, label=int(mesh.label[0]), name=name, labels=SCENE_LABELS, size_m=size)  # type: ignore[arg-type]


def _number(actors: list[Actor]) -> list[Actor]:
    """The actors with instance ids of their own."""
    return [replace(actor, instance=_FIRST_ACTOR + at) for at, actor in enumerate(actors)]
