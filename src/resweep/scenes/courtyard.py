"""The courtyard of B, 3.5.1: a walled square with fifty trees and nearly two million blades of grass."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.scenes.grass import grass_tile
from resweep.scenes.scatter_plants import jittered_positions, placements, spaced_positions, tilings
from resweep.scenes.scene_labels import SCENE_LABELS, Label
from resweep.scenes.scene_parts import ground_plane, merged, wall
from resweep.scenes.trees import TreeConfig, detailed_tree
from resweep.worlds import Instances, Layer, Mesh, World

WALL_TRIANGLES = 4 * 12
GROUND_TRIANGLES = 2
WALL_INSTANCE = 1
FIRST_TREE_INSTANCE = 100


class CourtyardConfig(BaseModel):
    """What the courtyard is made of; the defaults are the paper's values where it gives them.

    Grass is one tile of merged blades, repeated on a grid of ``tile_m`` cells. The tree model gets the rest of
    ``triangles``, as leaves.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    size_m: float = Field(default=300.0, gt=0, description="B, 3.5.1")
    wall_height_m: float = Field(default=10.0, gt=0, description="B, 3.5.1")
    trees: int = Field(default=50, ge=1, description="B, 3.5.1")
    triangles: int = Field(default=191_245_324, ge=1, description="B, 3.5.1; at least so many, all copies counted")
    tile_m: float = Field(default=5.0, gt=0, description="must divide size_m; 5 m traces fastest")
    blades_per_m2: float = Field(default=22.0, gt=0, description="nearly 2 million blades in all (B, 3.5.1)")
    blade_height_m: tuple[float, float] = (0.2, 0.6)
    blade_segments: int = Field(default=16, ge=1, description="two triangles each")
    tree: TreeConfig = TreeConfig(leaf_segments=8, leaf_length_m=0.08, leaf_width_m=0.045)
    tree_scale: tuple[float, float] = (0.7, 1.3)
    tree_gap_m: float = Field(default=9.0, ge=0, description="least distance between two trunks")
    clear_m: float = Field(default=8.0, ge=0, description="no trunk nearer to the centre: a sensor stands there")

    @property
    def tiles(self) -> int:
        """Number of grass tiles."""
        return int(self.size_m / self.tile_m + 1e-9) ** 2

    @property
    def blades(self) -> int:
        """Number of blades of grass, all copies counted."""
        return self.tiles * round(self.tile_m**2 * self.blades_per_m2)

    @property
    def tree_triangles(self) -> int:
        """Triangles that the tree model must have for the total to be reached."""
        rest = self.triangles - GROUND_TRIANGLES - WALL_TRIANGLES - self.blades * 2 * self.blade_segments
        return -(-rest // self.trees)


def courtyard(seed: int = 0, config: CourtyardConfig | None = None) -> World:
    """The courtyard, centred on the origin with its ground at z = 0.

    Layers: ``ground``, ``walls``, ``grass`` (one tile model), ``trees`` (one tree model). Each tree has
    its own instance id, from 100. ``world.meta`` has the numbers of blades, trees and triangles.
    """
    config = config or CourtyardConfig()
    rng = np.random.default_rng([seed, 0x636F7572])
    half = config.size_m / 2
    square = (-half, -half, half, half)
    if abs(config.size_m / config.tile_m - round(config.size_m / config.tile_m)) > 1e-6:
        raise ResweepError(
            f"courtyard: tile_m {config.tile_m} does not divide size_m {config.size_m}; choose one that does"
        )
    if config.tree_triangles <= 0:
        raise ResweepError(
            f"courtyard: its grass alone has more than the {config.triangles:,} triangles of the config; "
            "raise triangles, or lower blades_per_m2 or blade_segments"
        )
    tile = grass_tile(config.tile_m, config.blades_per_m2, config.blade_height_m, seed, segments=config.blade_segments)
    cells = jittered_positions(rng, square, config.tile_m, jitter=0.0)
    trunks = _place_trunks(rng, config)
    model = detailed_tree(config.tree_triangles, seed, config.tree)
    layers: list[Layer] = [
        ground_plane((config.size_m, config.size_m)),
        _make_walls(half, config.wall_height_m),
        Instances(tile, tilings(rng, cells), name="grass"),
        Instances(
            model,
            placements(rng, trunks, scale=config.tree_scale),
            instance=_number_trees(config.trees),
            name="trees",
        ),
    ]
    world = World(layers, labels=SCENE_LABELS)
    world.meta.update(scene="courtyard", seed=seed, config=config.model_dump(mode="json"), blades=config.blades)
    world.meta.update(trees=config.trees, triangles=world.n_triangles)
    return world


def _place_trunks(rng: np.random.Generator, config: CourtyardConfig) -> Array:
    """Places (trees, 2) apart from each other, with their crowns inside the walls and off the centre."""
    half = config.size_m / 2
    inner = half - min(config.tree.crown_radius_m * config.tree_scale[1], half / 2)
    return spaced_positions(
        rng,
        (-inner, -inner, inner, inner),
        config.trees,
        config.tree_gap_m,
        keep=lambda at: np.asarray(np.hypot(at[:, 0], at[:, 1]) >= config.clear_m),
    )


def _make_walls(half: float, height_m: float, thickness_m: float = 0.3) -> Mesh:
    """Four walls whose inner faces bound the square."""
    edge, far = half + thickness_m / 2, half + thickness_m
    ends = [((-far, -edge), (far, -edge)), ((-far, edge), (far, edge)), ((-edge, -half), (-edge, half))]
    ends.append(((edge, -half), (edge, half)))
    label = int(Label.BUILDING)
    walls = [wall(a, b, height_m, thickness_m, label=label, instance=WALL_INSTANCE) for a, b in ends]
    return merged(walls, "walls")


def _number_trees(count: int) -> Array:
    return np.arange(FIRST_TREE_INSTANCE, FIRST_TREE_INSTANCE + count)
