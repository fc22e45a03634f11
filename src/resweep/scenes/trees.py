"""Broad-leaved trees: a trunk, branches that branch again, and leaves, each of many triangles.

All branches of one order are grown together as arrays, so a tree of a million triangles takes
about a second.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.scenes.mesh_shapes import Shape, find_perpendicular, join_shapes, make_ribbons, make_tubes, normalise
from resweep.scenes.scene_labels import BARK_REFLECTANCE, LEAF_REFLECTANCE, Label
from resweep.worlds import Mesh

GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))  # between successive shoots on a stem


class TreeConfig(BaseModel):
    """The habit of a tree, metres; the foot of the trunk is the origin and z is up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    height_m: float = Field(default=10.0, gt=0)
    crown_radius_m: float = Field(default=3.2, gt=0)
    crown_base: float = Field(default=0.25, ge=0, lt=1, description="height of the lowest branch, share of the tree's")
    trunk_diameter_m: float = Field(default=0.35, gt=0)
    branches: tuple[int, ...] = Field(default=(36, 9, 6), description="shoots on each stem, order by order")
    trunk_sides: int = Field(default=16, ge=3)
    leaves: int = Field(default=20_000, ge=1)
    leaf_length_m: float = Field(default=0.09, gt=0)
    leaf_width_m: float = Field(default=0.05, gt=0)
    leaf_segments: int = Field(default=4, ge=2, description="two triangles each")


class _Stems(NamedTuple):
    """All stems of one order: polylines (n, s + 1, 3) and radii (n, s + 1), metres."""

    spine: Array
    radius: Array


def tree(seed: int = 0, config: TreeConfig | None = None) -> Mesh:
    """One tree as a mesh: bark labelled as trunk, leaves as vegetation."""
    config = config or TreeConfig()
    rng = np.random.default_rng([seed, 0x74726565])
    orders = grow(rng, config)
    wood = make_wood(orders, config.trunk_sides)
    foliage = _make_foliage(rng, orders, config)
    return join_wood_and_leaves(wood, foliage, "tree")


def join_wood_and_leaves(wood: Shape, foliage: Shape, name: str) -> Mesh:
    """Bark and leaves as one mesh, labelled and with their reflectances."""
    shape = join_shapes([wood, foliage])
    is_leaf = np.arange(len(shape.faces)) >= len(wood.faces)
    return Mesh(
        *shape,
        label=np.where(is_leaf, int(Label.VEGETATION), int(Label.TRUNK)),
        reflectance=np.where(is_leaf, LEAF_REFLECTANCE, BARK_REFLECTANCE),
        name=name,
    )


def detailed_tree(triangles: int, seed: int = 0, config: TreeConfig | None = None) -> Mesh:
    """A tree of at least ``triangles`` triangles, and at most one leaf more, by the number of its leaves."""
    config = config or TreeConfig(leaf_segments=8, leaf_length_m=0.08, leaf_width_m=0.045)
    wood = count_wood_triangles(config)
    if triangles <= wood:
        raise ResweepError(f"tree: its wood alone has {wood:,} triangles; ask for more than that, got {triangles:,}")
    leaves = -(-(triangles - wood) // (2 * config.leaf_segments))
    return tree(seed, config.model_copy(update={"leaves": leaves}))


def count_wood_triangles(config: TreeConfig) -> int:
    """Number of triangles in a tree's trunk and branches."""
    total, stems = 0, 1
    for order in range(len(config.branches) + 1):
        total += stems * 2 * _choose_sides(config.trunk_sides, order) * _choose_segments(order)
        stems *= config.branches[order] if order < len(config.branches) else 1
    return total


def grow(rng: np.random.Generator, config: TreeConfig) -> list[_Stems]:
    """The trunk and all branches, order by order."""
    bottom = np.zeros((1, 3))
    up = np.array([[0.0, 0.0, 1.0]])
    radius = np.array([config.trunk_diameter_m / 2])
    orders = [_curve_stems(rng, bottom, up, np.array([0.97 * config.height_m]), radius, 0, wander=0.03)]
    for order, count in enumerate(config.branches):
        orders.append(_grow_shoots(rng, orders[-1], count, order, config))
    top = max(stems.spine[..., 2].max() for stems in orders)
    return [_Stems(stems.spine * (config.height_m / top), stems.radius) for stems in orders]


def _grow_shoots(rng: np.random.Generator, parent: _Stems, count: int, order: int, config: TreeConfig) -> _Stems:
    """``count`` shoots on each parent stem, in a spiral along it."""
    stems = len(parent.spine)
    low = config.crown_base if order == 0 else 0.25
    share = low + (0.98 - low) * (np.arange(count) + rng.uniform(0.1, 0.9, (stems, count))) / count
    spin = GOLDEN_ANGLE * np.arange(count) + rng.uniform(0, 2 * np.pi, (stems, 1)) + rng.normal(0, 0.3, (stems, count))
    start, along, radius = _find_on_stems(parent, share)
    first = find_perpendicular(along)
    second = np.cross(along, first)
    out = first * portable.cos(spin.ravel())[:, None] + second * portable.sin(spin.ravel())[:, None]
    # Low branches stand out wide, high ones reach up.
    opening = (1.25 - 0.75 * share if order == 0 else 0.85 + 0 * share) + rng.normal(0, 0.12, share.shape)
    direction = normalise(out * portable.sin(opening.ravel())[:, None] + along * portable.cos(opening.ravel())[:, None])
    if order == 0:
        # A rounded crown: widest in its lower third, closing towards the top.
        crown = (share - low) / (1 - low)
        length = config.crown_radius_m * np.sqrt(np.maximum(1.0 - ((crown - 0.35) / 0.72) ** 2, 0.04))
    else:
        parent_length = np.linalg.norm(np.diff(parent.spine, axis=1), axis=2).sum(axis=1)
        length = parent_length[:, None] * (0.62 - 0.35 * share)
    length = (length * rng.uniform(0.75, 1.1, share.shape)).ravel()
    thickness = np.minimum(0.6 * radius, 0.014 * length + 0.002)
    return _curve_stems(rng, start, direction, length, thickness, order + 1, wander=0.16)


def _find_on_stems(stems: _Stems, share: Array) -> tuple[Array, Array, Array]:
    """Points (n·c, 3), unit directions (n·c, 3) and radii (n·c,) at shares (n, c) of the stems' lengths."""
    segments = stems.spine.shape[1] - 1
    index = np.minimum((share * segments).astype(np.int64), segments - 1)
    fraction = share * segments - index
    row = np.arange(len(stems.spine))[:, None]
    first, last = stems.spine[row, index], stems.spine[row, index + 1]
    radius = (1 - fraction) * stems.radius[row, index] + fraction * stems.radius[row, index + 1]
    point = first + fraction[..., None] * (last - first)
    return point.reshape(-1, 3), normalise(last - first).reshape(-1, 3), radius.ravel()


def _curve_stems(
    rng: np.random.Generator, start: Array, direction: Array, length: Array, radius: Array, order: int, wander: float
) -> _Stems:
    """Tapering stems, randomly curved, that turn upwards."""
    count, segments = len(start), _choose_segments(order)
    steps = np.empty((count, segments, 3))
    heading = direction
    for i in range(segments):
        steps[:, i] = heading * (length / segments)[:, None]
        heading = normalise(heading + rng.normal((0.0, 0.0, 0.06), wander, (count, 3)))
    spine = np.concatenate([start[:, None], start[:, None] + np.cumsum(steps, axis=1)], axis=1)
    taper = 1 - 0.85 * np.linspace(0, 1, segments + 1)
    return _Stems(spine, radius[:, None] * taper)


def _choose_sides(trunk_sides: int, order: int) -> int:
    return max(trunk_sides >> order, 3)


def _choose_segments(order: int) -> int:
    return max(12 >> order, 3)


def make_wood(orders: list[_Stems], trunk_sides: int) -> Shape:
    """Bark: every stem as a tube, the finer the fewer sides."""
    return join_shapes([make_tubes(*stems, _choose_sides(trunk_sides, order)) for order, stems in enumerate(orders)])


def _make_foliage(rng: np.random.Generator, orders: list[_Stems], config: TreeConfig) -> Shape:
    """Leaves along the outer parts of the twigs, the last order of stems."""
    twigs = orders[-1]
    on = rng.integers(0, len(twigs.spine), config.leaves)
    chosen = _Stems(twigs.spine[on], twigs.radius[on])
    point, along, _ = _find_on_stems(chosen, rng.uniform(0.1, 1.0, (config.leaves, 1)))
    size = (config.leaf_length_m, config.leaf_width_m)
    return make_leaves(rng, point, along, np.array([0.0, 0.0, 1.0]), size, config.leaf_segments)


def make_leaves(
    rng: np.random.Generator,
    point: Array,
    along: Array,
    facing: Array,
    size_m: tuple[float, float],
    segments: int,
) -> Shape:
    """Curved leaves at ``point`` (n, 3) that point ``along`` (n, 3), two triangles to a segment.

    Both that and the direction ``facing`` (3,) or (n, 3), to which the upper sides turn, are tendencies
    about which the leaves scatter. ``size_m`` is their mean length and width. Each bends away from
    its upper side; its outline is an ellipse with blunt ends.
    """
    count = len(point)
    length, width = size_m
    direction = normalise(normalise(rng.normal(size=(count, 3))) + 0.7 * along)
    upper = normalise(rng.normal(facing, 0.6, (count, 3)))
    droop = -normalise(upper - (upper * direction).sum(axis=1, keepdims=True) * direction)
    factor = rng.uniform(0.7, 1.2, count)
    share = np.linspace(0, 1, segments + 1)
    outline = np.sqrt(np.maximum(1 - (2 * share - 1) ** 2, 0.02))
    half_width = (0.5 * width * factor)[:, None] * outline
    # A petiole keeps the blade off the twig.
    root = point + 0.25 * length * direction
    return make_ribbons(root, direction, droop, length * factor, rng.uniform(0.2, 0.9, count), half_width)
