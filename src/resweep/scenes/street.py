"""A synthetic street of known truth: every part has its SemanticKITTI label and its own instance id."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from resweep.pose import Array
from resweep.scenes.cars import car
from resweep.scenes.facade_meshes import building
from resweep.scenes.scatter_plants import placements
from resweep.scenes.scene_labels import (
    ASPHALT_REFLECTANCE,
    CONCRETE_REFLECTANCE,
    METAL_REFLECTANCE,
    SCENE_LABELS,
    SIGN_REFLECTANCE,
    Label,
)
from resweep.scenes.scene_parts import box, ground_plane, merged, pole, wall
from resweep.scenes.trees import TreeConfig, tree
from resweep.worlds import Instances, Layer, Material, Mesh, World

SIGN = Material("sign sheeting", retro=4.0)
KERB_M = 0.12
# The first instance id of each kind of thing; ids rise by one along the street.
FIRST_BUILDING, FIRST_FENCE, FIRST_POLE, FIRST_SIGN, FIRST_CAR, FIRST_TREE = 100, 200, 300, 400, 500, 600


class StreetConfig(BaseModel):
    """The layout of the street, metres; it runs along x, centred on the origin, road at z = 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    length_m: float = Field(default=120.0, ge=30)
    road_m: float = Field(default=9.0, gt=4)
    sidewalk_m: float = Field(default=3.5, gt=1)
    garden_m: float = Field(default=3.0, ge=0, description="soil between sidewalk and façades")
    pole_gap_m: float = Field(default=25.0, gt=1)
    car_gap_m: float = Field(default=7.0, gt=5)
    parked: float = Field(default=0.6, ge=0, le=1, description="share of the parking places that are taken")
    tree_gap_m: float = Field(default=14.0, gt=1)
    tree: TreeConfig = TreeConfig(height_m=7.0, crown_radius_m=2.0, crown_base=0.35, trunk_diameter_m=0.25, leaves=9000)


def street(seed: int = 0, config: StreetConfig | None = None) -> World:
    """The street. Layers: ``ground``, ``buildings``, ``fences``, ``poles``, ``signs``, ``cars``, ``trees``."""
    config = config or StreetConfig()
    rng = np.random.default_rng([seed, 0x73747265])
    layers: list[Layer] = [
        _make_ground(config),
        merged(_make_buildings(rng, config), "buildings"),
        merged(_make_fences(config), "fences"),
        merged(_make_poles(config), "poles"),
        merged(_make_signs(config), "signs"),
    ]
    cars = _make_cars(rng, config)
    if cars:
        layers.append(merged(cars, "cars"))
    spots = _place_trees(config)
    layers.append(
        Instances(
            tree(seed, config.tree),
            placements(rng, spots, scale=(0.8, 1.15), height_at=lambda x, y: np.full_like(x, KERB_M)),
            instance=FIRST_TREE + np.arange(len(spots)),
            name="trees",
        )
    )
    world = World(layers, labels=SCENE_LABELS)
    world.meta.update(scene="street", seed=seed, config=config.model_dump(mode="json"), triangles=world.n_triangles)
    return world


def _find_edges(config: StreetConfig) -> tuple[float, float, float]:
    """Distances from the middle of the road to the kerb, the garden and the façade, metres."""
    kerb = config.road_m / 2
    return kerb, kerb + config.sidewalk_m, kerb + config.sidewalk_m + config.garden_m


def _make_ground(config: StreetConfig) -> Mesh:
    """Road, kerbs (upright faces), sidewalks and gardens."""
    kerb, garden, facade = _find_edges(config)
    half = config.length_m / 2
    beyond = facade + 15.0
    parts = [
        ground_plane((config.length_m, config.road_m), label=Label.ROAD, reflectance=ASPHALT_REFLECTANCE, name="road")
    ]
    for side in (-1, 1):
        walk = (0.0, side * (kerb + garden) / 2, KERB_M)
        size = (config.length_m, config.sidewalk_m)
        parts.append(ground_plane(size, walk, label=Label.SIDEWALK, reflectance=CONCRETE_REFLECTANCE, name="sidewalk"))
        parts.append(_make_kerb_face((half, side * kerb), (-half, side * kerb), KERB_M, flip=side > 0))
        soil = (0.0, side * (garden + beyond) / 2, KERB_M)
        parts.append(ground_plane((config.length_m, beyond - garden), soil, name="garden"))
    return merged(parts, "ground")


def _make_kerb_face(start: tuple[float, float], end: tuple[float, float], height: float, *, flip: bool) -> Mesh:
    """A kerb's face between two points of the road's edge, facing the road."""
    vertices = np.array([[*start, 0], [*end, 0], [*end, height], [*start, height]])
    faces = np.array([[0, 1, 2], [0, 2, 3]])
    faces = faces[:, ::-1] if flip else faces
    return Mesh(vertices, faces, label=int(Label.SIDEWALK), reflectance=CONCRETE_REFLECTANCE, name="kerb")


def _make_buildings(rng: np.random.Generator, config: StreetConfig) -> list[Mesh]:
    """Façades on both sides, of two to five storeys, now and then with a gap between."""
    facade = _find_edges(config)[2]
    half = config.length_m / 2
    parts: list[Mesh] = []
    for side in (-1, 1):
        x = -half
        while x < half - 6:
            width = float(min(rng.choice([9.0, 12.0, 15.0, 18.0]), half - x))
            parts.append(
                building(
                    width,
                    12.0,
                    int(rng.integers(2, 6)),
                    (x + width / 2, side * facade, KERB_M),
                    0.0 if side > 0 else np.pi,
                    reflectance=float(rng.uniform(0.25, 0.6)),
                    instance=FIRST_BUILDING + len(parts),
                )
            )
            x += width + float(rng.choice([0.0, 0.0, 4.0]))
    return parts


def _make_fences(config: StreetConfig) -> list[Mesh]:
    """Fences of upright slats between sidewalk and garden, in lengths of 10 m with gates between."""
    garden = _find_edges(config)[1]
    half = config.length_m / 2
    parts: list[Mesh] = []
    starts = np.arange(-half + 1, half - 11, 12.0)
    for number, (side, start) in enumerate((side, start) for side in (-1, 1) for start in starts):
        y = side * (garden + 0.15)
        style: dict[str, Any] = {
            "label": Label.FENCE,
            "reflectance": METAL_REFLECTANCE,
            "instance": FIRST_FENCE + number,
        }
        for height in (0.25, 0.95):
            rail = ((start, y, KERB_M + height), (start + 10.0, y, KERB_M + height))
            parts.append(wall(*rail, 0.05, 0.03, name="rail", **style))
        for x in np.arange(start, start + 10.01, 0.2):
            parts.append(box((0.06, 0.02, 1.1), (x, y, KERB_M), name="slat", **style))
    return parts


def _space_along(config: StreetConfig, gap: float, start: float = 0.0) -> Array:
    half = config.length_m / 2
    return np.arange(-half + gap / 2 + start, half - 2, gap)


def _make_poles(config: StreetConfig) -> list[Mesh]:
    """Street lamps on alternate sides: a pole, and an arm over the road with its lamp."""
    kerb = _find_edges(config)[0]
    parts: list[Mesh] = []
    for number, x in enumerate(_space_along(config, config.pole_gap_m)):
        side = 1 if number % 2 else -1
        y = side * (kerb + 0.6)
        style: dict[str, Any] = {"label": Label.POLE, "reflectance": METAL_REFLECTANCE, "instance": FIRST_POLE + number}
        parts.append(pole(7.0, 0.16, (x, y, KERB_M), instance=FIRST_POLE + number))
        parts.append(box((0.08, 1.6, 0.08), (x, y - side * 0.8, 6.9), name="arm", **style))
        parts.append(box((0.25, 0.6, 0.12), (x, y - side * 1.6, 6.8), name="lamp", **style))
    return parts


def _make_signs(config: StreetConfig) -> list[Mesh]:
    """Retro-reflective plates on thin poles, facing traffic from −x and from +x in turn."""
    kerb = _find_edges(config)[0]
    parts: list[Mesh] = []
    for number, x in enumerate(_space_along(config, 1.6 * config.pole_gap_m, 4.0)):
        side = -1 if number % 2 else 1
        at = (x, -side * (kerb + 0.4), KERB_M)
        instance = FIRST_SIGN + number
        parts.append(pole(2.8, 0.06, at, 12, instance=instance))
        face = (x - side * 0.05, at[1], KERB_M + 2.1)
        style: dict[str, Any] = {"label": Label.TRAFFIC_SIGN, "reflectance": SIGN_REFLECTANCE, "instance": instance}
        plate = box((0.01, 0.6, 0.6), face, material=SIGN, name="sign", **style)
        parts.append(plate)
    return parts


def _make_cars(rng: np.random.Generator, config: StreetConfig) -> list[Mesh]:
    """Cars parked along both kerbs, facing with the traffic of their side (drive on the right)."""
    kerb = _find_edges(config)[0]
    parts: list[Mesh] = []
    for side in (-1, 1):
        for x in _space_along(config, config.car_gap_m):
            taken, size, shade = rng.uniform() < config.parked, rng.uniform(0.9, 1.12), rng.uniform(0.08, 0.7)
            if not taken:
                continue
            at = (float(x + rng.uniform(-0.5, 0.5)), side * (kerb - 1.15), 0.0)
            yaw = (0.0 if side < 0 else np.pi) + float(rng.normal(0, 0.02))
            instance = FIRST_CAR + len(parts)
            parts.append(
                car(at, yaw, length_m=4.3 * size, height_m=1.5 * size, reflectance=float(shade), instance=instance)
            )
    return parts


def _place_trees(config: StreetConfig) -> Array:
    """Places (k, 2) of the street trees, near the kerb, clear of the lamps."""
    kerb = _find_edges(config)[0]
    lamps = _space_along(config, config.pole_gap_m)
    x = _space_along(config, config.tree_gap_m, 1.0)
    x = x[np.abs(x[:, None] - lamps).min(axis=1) > 1.5]
    return np.array([[place, side * (kerb + 1.1)] for side in (-1, 1) for place in x])
