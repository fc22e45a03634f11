"""The root step of B, 3.6: a mesh of 22 million faces in a wood of 24,564 copies of grass and trees."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.scenes.grass import grass_tile
from resweep.scenes.mesh_shapes import Shape, join_shapes
from resweep.scenes.scatter_plants import placements, spaced_positions, tilings
from resweep.scenes.scene_labels import BARK_REFLECTANCE, SCENE_LABELS, SOIL_REFLECTANCE, Label
from resweep.scenes.terrain import make_grid_faces, synthesise_heights
from resweep.scenes.trees import TreeConfig, detailed_tree
from resweep.worlds import Instances, Layer, Mesh, World

LENGTH_M, WIDTH_M = 2.0, 3.0  # along the trail (x) and across it (y): B, 3.6
STEP_M = 0.34  # from the lower to the upper ground; clods and roots make the mesh 0.4 m high, as in B, 3.6
ROOT_INSTANCE = 1
FIRST_TREE_INSTANCE = 100
TREE_GAP_M = 3.0


class RootConfig(BaseModel):
    """What the root scene is made of; the defaults are the paper's values where it gives them.

    ``detail`` scales the triangles of every model, down to a place for tests. The number of copies
    stays.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    detail: float = Field(default=1.0, gt=0, le=1)
    root_triangles: int = Field(default=22_000_000, ge=1, description="at least so many in the root: B, 3.6")
    copies: int = Field(default=24_564, ge=2, description="grass and trees: B, 3.6")
    triangles: int = Field(default=604_488_350, ge=1, description="at least so many in all: B, 3.6")
    trees: int = Field(default=264, ge=1, description="of the copies")
    tile_m: float = Field(default=1.0, gt=0, description="a copy of grass covers a square of this side")
    blades_per_m2: float = Field(default=240.0, gt=0)
    blade_segments: int = Field(default=16, ge=1)
    trail_m: float = Field(default=3.0, ge=0, description="width of the bare trail across which the root lies")

    @property
    def segments(self) -> int:
        """Segments of a blade at this detail."""
        return max(round(self.blade_segments * self.detail), min(2, self.blade_segments))

    @property
    def density_per_m2(self) -> float:
        """Blades per square metre at this detail: lower where fewer segments alone do not reach it."""
        return self.blades_per_m2 * min(self.detail * self.blade_segments / self.segments, 1.0)

    @property
    def grass_triangles(self) -> int:
        """Triangles in all copies of the grass."""
        return (self.copies - self.trees) * round(self.tile_m**2 * self.density_per_m2) * 2 * self.segments


def root(seed: int = 0, config: RootConfig | None = None) -> World:
    """The root step at the origin, the trail along x, lower ground (z = 0) to the west.

    Layers: ``root``, ``ground``, ``grass`` (one tile model) and ``trees`` (one tree model). Each tree
    has its own instance id, from 100.
    """
    config = config or RootConfig()
    rng = np.random.default_rng([seed, 0x726F6F74])
    step = root_mesh(round(config.root_triangles * config.detail), rng)
    cells = _choose_cells(config)
    reach = float(np.abs(cells).max()) + config.tile_m / 2
    ground = _make_ground(reach)
    total = round(config.triangles * config.detail)
    rest = total - step.n_triangles - ground.n_triangles - config.grass_triangles
    model = _make_tree(-(-rest // config.trees), seed, config.detail)
    trunks = spaced_positions(
        rng,
        (-reach, -reach, reach, reach),
        config.trees,
        TREE_GAP_M,
        keep=lambda at: (np.abs(at[:, 1]) > config.trail_m) & (np.abs(at[:, 0]) > LENGTH_M),
    )
    grass = grass_tile(config.tile_m, config.density_per_m2, seed=seed, segments=config.segments)
    layers: list[Layer] = [
        step,
        ground,
        Instances(grass, tilings(rng, cells, height_at=_compute_ramp), name="grass"),
        Instances(
            model,
            placements(rng, trunks, scale=(0.7, 1.3), height_at=_compute_ramp),
            instance=FIRST_TREE_INSTANCE + np.arange(config.trees),
            name="trees",
        ),
    ]
    world = World(layers, labels=SCENE_LABELS)
    world.meta.update(scene="root", seed=seed, config=config.model_dump(mode="json"), copies=config.copies)
    world.meta.update(trees=config.trees, triangles=world.n_triangles)
    return world


def root_mesh(triangles: int, rng: np.random.Generator) -> Mesh:
    """The step with its roots, 2 m × 3 m × 0.4 m, as a displaced grid of at least ``triangles`` faces."""
    cells_x = int(np.ceil(np.sqrt(triangles / 2 * LENGTH_M / WIDTH_M)))
    cells_y = int(np.ceil(triangles / 2 / cells_x))
    x = np.linspace(-LENGTH_M / 2, LENGTH_M / 2, cells_x + 1)
    y = np.linspace(-WIDTH_M / 2, WIDTH_M / 2, cells_y + 1)
    coarse = _make_relief(rng, 256)
    vertices = np.empty((cells_x + 1, cells_y + 1, 3), dtype=np.float32)
    vertices[..., 0], vertices[..., 1] = x[:, None], y
    wood = np.empty((cells_x + 1, cells_y + 1), dtype=bool)
    roots = _draw_roots(rng)
    # By strips: the whole grid in float64 several times over would need gigabytes.
    for first in range(0, cells_x + 1, 128):
        rows = slice(first, min(first + 128, cells_x + 1))
        vertices[rows, :, 2], wood[rows] = _compute_surface(x[rows], y, coarse, roots)
    faces = make_grid_faces(cells_x + 1, cells_y + 1)
    is_wood = wood.ravel()[faces[:, 0]]
    return Mesh(
        vertices.reshape(-1, 3),
        faces,
        label=np.where(is_wood, np.int32(Label.TRUNK), np.int32(Label.TERRAIN)),
        reflectance=np.where(is_wood, np.float32(BARK_REFLECTANCE), np.float32(SOIL_REFLECTANCE)),
        instance=ROOT_INSTANCE,
        name="root",
    )


def _make_relief(rng: np.random.Generator, cells: int) -> Array:
    """Clods and stones: heights (cells, cells) about zero, metres."""
    return 0.05 * (synthesise_heights(rng, (cells, cells), 2.4) - 0.5)


def _draw_roots(rng: np.random.Generator) -> Array:
    """Roots that cross the trail, each (x, radius, phase, swing, lift), metres and radians."""
    count = 6
    place = np.array([-0.02, 0.05, -0.1, 0.2, -0.22, 0.36])
    radius = np.array([0.085, 0.06, 0.045, 0.035, 0.03, 0.025])
    phase = rng.uniform(0, 2 * np.pi, count)
    swing = rng.uniform(0.04, 0.1, count)
    return np.stack([place, radius, phase, swing, rng.uniform(0.0, 0.5, count)], axis=1)


def _compute_surface(x: Array, y: Array, coarse: Array, roots: Array) -> tuple[Array, Array]:
    """Heights and whether it is wood, both (len(x), len(y)), on part of the grid."""
    # The bank stands nearly upright behind the thickest root, and fades to the ramp at the sides.
    edge = 0.06 * portable.sin(2.2 * y + 1.0) + 0.03 * portable.sin(5.1 * y)
    bank = STEP_M / (1 + portable.exp(-(x[:, None] - edge) / 0.02))
    rim = _fade_rim(x, LENGTH_M)[:, None] * _fade_rim(y, WIDTH_M)
    ramp = _compute_ramp(x, np.zeros_like(x))[:, None]
    soil = ramp + rim * (bank - ramp + _interpolate(coarse, x, y))
    height, wood = soil, np.zeros(soil.shape, dtype=bool)
    for place, radius, phase, swing, lift in roots:
        middle = edge + place + swing * portable.sin(1.7 * y + phase) + 0.4 * swing * portable.sin(6.3 * y + 2 * phase)
        thick = radius * (1 + 0.15 * portable.sin(9.0 * y + phase))
        across = (x[:, None] - middle) / thick
        # The root rests on the bank beside it: the height of the ground half a radius uphill.
        foot = STEP_M / (1 + portable.exp(-(middle - edge + 0.5 * radius) / 0.05)) - 0.3 * radius + lift * radius
        top = (
            foot
            + thick * np.sqrt(np.maximum(1 - across**2, 0))
            + 0.002 * portable.sin(90 * x[:, None] + 3 * portable.sin(7 * y))
        )
        top = ramp + rim * (top - ramp)
        is_root = (np.abs(across) < 1) & (top > height)
        height, wood = np.where(is_root, top, height), wood | is_root
    return height, wood


def _fade_rim(at: Array, size: float) -> Array:
    """A weight that is 0 at the edges of the mesh and 1 from 15 cm inside."""
    share = np.clip((size / 2 - np.abs(at)) / 0.15, 0, 1)
    return np.asarray(share * share * (3 - 2 * share))


def _compute_ramp(x: Array, y: Array) -> Array:
    """Height of the ground beside the root: flat, a ramp of two metres, flat. Metres."""
    return np.asarray(np.clip(x / LENGTH_M + 0.5, 0, 1) * STEP_M + 0 * y)


def _interpolate(grid: Array, x: Array, y: Array) -> Array:
    """A grid stretched over the whole root, read at the lines ``x`` and ``y``."""
    u = (x / LENGTH_M + 0.5) * (grid.shape[0] - 1)
    v = (y / WIDTH_M + 0.5) * (grid.shape[1] - 1)
    i, j = np.minimum(u.astype(int), grid.shape[0] - 2), np.minimum(v.astype(int), grid.shape[1] - 2)
    rows = grid[i] * (1 - (u - i))[:, None] + grid[i + 1] * (u - i)[:, None]
    return np.asarray(rows[:, j] * (1 - (v - j)) + rows[:, j + 1] * (v - j))


def _make_ground(reach: float) -> Mesh:
    """The lower and the upper level, and the ramp on both sides of the root."""
    half_x, half_y = LENGTH_M / 2, WIDTH_M / 2
    patches = [
        (-reach, -reach, -half_x, reach),
        (half_x, -reach, reach, reach),
        (-half_x, half_y, half_x, reach),
        (-half_x, -reach, half_x, -half_y),
    ]
    quads = []
    for x0, y0, x1, y1 in patches:
        corner = np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]])
        vertices = np.column_stack([corner, _compute_ramp(corner[:, 0], corner[:, 1])])
        quads.append(Shape(vertices.astype(np.float32), np.array([[0, 1, 2], [0, 2, 3]], dtype=np.uint32)))
    return Mesh(*join_shapes(quads), label=int(Label.TERRAIN), reflectance=SOIL_REFLECTANCE, name="ground")


def _choose_cells(config: RootConfig) -> Array:
    """Centres (k, 2) of the grass tiles: those nearest to the root, off the trail and the ramp."""
    count = config.copies - config.trees
    side = int(np.sqrt(count)) + 12 + 2 * int(np.ceil(max(config.trail_m, LENGTH_M) / config.tile_m))
    line = (np.arange(side) - (side - 1) / 2) * config.tile_m
    centres = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2)
    half = config.tile_m / 2
    nearest_edge = np.abs(centres) - half + 1e-9
    free = (nearest_edge[:, 1] >= config.trail_m / 2) & (nearest_edge[:, 0] >= LENGTH_M / 2)
    centres = centres[free]
    nearest = np.argsort(np.abs(centres).max(axis=1), kind="stable")[:count]
    if len(nearest) < count:
        raise ResweepError(f"root: the trail of {config.trail_m} m leaves no room for {count} tiles; narrow it")
    return np.asarray(centres[nearest])


def _make_tree(triangles: int, seed: int, detail: float) -> Mesh:
    """The tree model, with coarser wood at low detail."""
    if detail >= 0.2:
        habit = TreeConfig(leaf_segments=8, leaf_length_m=0.08, leaf_width_m=0.045)
    else:
        habit = TreeConfig(branches=(12, 5), trunk_sides=8, leaf_segments=2)
    return detailed_tree(triangles, seed, habit)
