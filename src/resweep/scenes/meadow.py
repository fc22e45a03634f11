"""A small vegetated place of known truth, for demonstrations: quick to build, with some of everything."""

from __future__ import annotations

import numpy as np

from resweep.pose import Array
from resweep.scenes.grass import grass_tile
from resweep.scenes.scatter_plants import jittered_positions, placements, spaced_positions, tilings
from resweep.scenes.scene_labels import PLASTER_REFLECTANCE, SCENE_LABELS, Label
from resweep.scenes.scene_parts import box, merged, pole, wall
from resweep.scenes.shrubs import ShrubConfig, shrub
from resweep.scenes.terrain import Terrain, fractal_terrain
from resweep.scenes.trees import TreeConfig, tree
from resweep.worlds import Instances, Layer, Mesh, World

SIZE_M = 60.0
TILE_M = 3.0
GRASS_FROM_M = 4.0  # the middle is mown, so that a sensor there sees out
WALL_INSTANCE, BUILDING_INSTANCE, FIRST_POLE, FIRST_SHRUB, FIRST_TREE = 1, 2, 10, 100, 200


def meadow(seed: int = 0, *, trees: int = 8, shrubs: int = 14, poles: int = 4) -> World:
    """A meadow of 60 m × 60 m on gentle relief, centred on the origin.

    Layers: ``terrain``, ``structures`` (a wall that no beam passes, a building, poles), ``grass``,
    ``shrubs``, ``trees``. A sensor at (0, 0, 2.5) stands free above the ground, whose height is between
    0 and 1.5 m. Every object has its own instance id; grass and terrain have 0.
    """
    rng = np.random.default_rng([seed, 0x6D656164])
    ground = fractal_terrain(SIZE_M, 0.5, 1.5, seed)
    half = SIZE_M / 2
    inner = (-half + 4, -half + 4, half - 4, half - 4)
    spots = spaced_positions(rng, inner, trees + shrubs + poles, 2.5, keep=_is_free)
    plants = np.split(spots, [trees, trees + shrubs])
    habit = TreeConfig(height_m=8.0, crown_radius_m=2.6, trunk_diameter_m=0.28, leaves=12_000)
    bush = ShrubConfig(height_m=1.3, crown_base_m=0.25, crown_radius_m=0.6, branches=24, leaves=3500)
    layers: list[Layer] = [
        ground.mesh(),
        _make_structures(ground, plants[2]),
        _make_grass(rng, ground, seed),
        Instances(
            shrub(seed, bush),
            placements(rng, plants[1], scale=(0.7, 1.3), height_at=ground.height_at),
            instance=FIRST_SHRUB + np.arange(shrubs),
            name="shrubs",
        ),
        Instances(
            tree(seed, habit),
            placements(rng, plants[0], scale=(0.75, 1.2), height_at=ground.height_at),
            instance=FIRST_TREE + np.arange(trees),
            name="trees",
        ),
    ]
    world = World(layers, labels=SCENE_LABELS)
    world.meta.update(scene="meadow", seed=seed, triangles=world.n_triangles)
    return world


def _is_free(at: Array) -> Array:
    """Whether points (n, 2) keep off the middle, the wall and the building."""
    off_middle = np.hypot(at[:, 0], at[:, 1]) > 6.0
    off_wall = np.abs(at[:, 0] - 18.0) > 3.0
    off_building = (np.abs(at[:, 0] + 18.0) > 7.0) | (np.abs(at[:, 1] - 16.0) > 6.0)
    return np.asarray(off_middle & off_wall & off_building)


def _make_structures(ground: Terrain, poles: Array) -> Mesh:
    """The wall at x = 18 m, the building, and poles, sunk where the ground falls away."""
    sunk = -1.0
    parts = [
        wall((18.0, -15.0, sunk), (18.0, 15.0, sunk), 5.0, 0.3, instance=WALL_INSTANCE),
        box(
            (8.0, 6.0, 6.5),
            (-18.0, 16.0, sunk),
            0.2,
            label=Label.BUILDING,
            reflectance=PLASTER_REFLECTANCE,
            instance=BUILDING_INSTANCE,
            name="building",
        ),
    ]
    feet = ground.height_at(poles[:, 0], poles[:, 1])
    for i, ((x, y), z) in enumerate(zip(poles, feet, strict=True)):
        parts.append(pole(5.0, 0.2, (x, y, z - 0.1), instance=FIRST_POLE + i))
    return merged(parts, "structures")


def _make_grass(rng: np.random.Generator, ground: Terrain, seed: int) -> Instances:
    """Tiles of grass that follow the ground's slope by a shear, so that blades stay upright."""
    half = SIZE_M / 2
    centres = jittered_positions(rng, (-half, -half, half, half), TILE_M, jitter=0.0)
    centres = centres[np.hypot(centres[:, 0], centres[:, 1]) > GRASS_FROM_M]
    tile = grass_tile(TILE_M, 60.0, (0.15, 0.5), seed, segments=5)
    transforms = tilings(rng, centres, height_at=ground.height_at)
    reach = TILE_M / 3
    for axis in range(2):
        ahead, behind = centres.copy(), centres.copy()
        ahead[:, axis] += reach
        behind[:, axis] -= reach
        slope = (ground.height_at(*ahead.T) - ground.height_at(*behind.T)) / (2 * reach)
        # z grows by the slope times the world's x or y, which are the tile's own after its rotation.
        transforms[:, 2, :2] += slope[:, None] * transforms[:, axis, :2]
    return Instances(tile, transforms, name="grass")
