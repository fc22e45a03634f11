"""A small shrub: a bare trunk, branches, and a shell of foliage (B, 3.4.3 and Figure 8)."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from resweep import portable
from resweep.pose import Array
from resweep.scenes.mesh_shapes import Shape, join_shapes, make_tubes, normalise
from resweep.scenes.trees import join_wood_and_leaves, make_leaves
from resweep.worlds import Mesh

BRANCH_SEGMENTS = 6
SQUARENESS = 4.0  # of the crown's outline from the side: 2 is an ellipse, more is a rounded drum


class ShrubConfig(BaseModel):
    """The habit of a shrub, metres; the foot of the trunk is the origin and z is up.

    The foliage is a rounded drum from ``crown_base_m`` to ``height_m``, with leaves only in its outer
    part. Seen by a LiDAR it gives two groups of ranges, as the shrub of B's Figure 8 does: the near side
    of the shell, and the trunk and inner branches, seen below the shell and through its gaps.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    height_m: float = Field(default=1.0, gt=0)
    crown_base_m: float = Field(default=0.42, ge=0)
    crown_radius_m: float = Field(default=0.4, gt=0)
    shell: float = Field(default=0.25, gt=0, le=1, description="depth of the leafy part, share of the radius")
    trunk_diameter_m: float = Field(default=0.08, gt=0)
    branches: int = Field(default=14, ge=1)
    leaves: int = Field(default=2500, ge=1)
    leaf_length_m: float = Field(default=0.045, gt=0)
    leaf_width_m: float = Field(default=0.022, gt=0)
    leaf_segments: int = Field(default=4, ge=2, description="two triangles each")


def shrub(seed: int = 0, config: ShrubConfig | None = None) -> Mesh:
    """One shrub as a mesh: bark labelled as trunk, leaves as vegetation."""
    config = config or ShrubConfig()
    rng = np.random.default_rng([seed, 0x73687275])
    ends = _draw_in_shell(rng, config.branches, config)
    wood = join_shapes([_make_trunk(config), _make_branches(rng, ends, config)])
    point = _draw_in_shell(rng, config.leaves, config)
    outward = normalise(point - _find_centre(config))
    # Leaves hang along the crown's surface and turn their upper sides out, to the light.
    hanging = normalise(np.cross(np.cross(outward, [0.0, 0.0, -1.0]), outward))
    size = (config.leaf_length_m, config.leaf_width_m)
    foliage = make_leaves(rng, point, 2.0 * hanging, 2.0 * outward, size, config.leaf_segments)
    return join_wood_and_leaves(wood, foliage, "shrub")


def _find_centre(config: ShrubConfig) -> Array:
    return np.array([0.0, 0.0, 0.5 * (config.crown_base_m + config.height_m)])


def _draw_in_shell(rng: np.random.Generator, count: int, config: ShrubConfig) -> Array:
    """Points (count, 3) on all sides, in the outer part of the crown."""
    half_height = 0.5 * (config.height_m - config.crown_base_m)
    direction = normalise(rng.normal(size=(count, 3)))
    level = np.hypot(direction[:, 0], direction[:, 1])
    surface = portable.power(
        portable.power(level, SQUARENESS) + portable.power(np.abs(direction[:, 2]), SQUARENESS), -1 / SQUARENESS
    )
    depth = 1 - config.shell * rng.uniform(0, 1, count) ** 2
    half = np.array([config.crown_radius_m, config.crown_radius_m, half_height])
    return np.asarray(_find_centre(config) + (depth * surface)[:, None] * direction * half)


def _make_trunk(config: ShrubConfig) -> Shape:
    """A straight trunk up to two thirds of the height."""
    height = np.linspace(0, 0.66 * config.height_m, 5)
    spine = np.stack([np.zeros(5), np.zeros(5), height], axis=1)
    radius = 0.5 * config.trunk_diameter_m * np.linspace(1, 0.4, 5)
    return make_tubes(spine[None], radius[None], 12)


def _make_branches(rng: np.random.Generator, ends: Array, config: ShrubConfig) -> Shape:
    """Thin branches that leave the trunk steeply and bow out to ``ends`` (n, 3) in the shell."""
    count = len(ends)
    start = np.zeros((count, 3))
    start[:, 2] = rng.uniform(0.8 * config.crown_base_m, 0.6 * config.height_m, count)
    start[:, 2] = np.minimum(start[:, 2], np.maximum(ends[:, 2] - 0.05 * config.height_m, 0.5 * config.crown_base_m))
    share = np.linspace(0, 1, BRANCH_SEGMENTS + 1)[None, :, None]
    # A quadratic Bezier curve; the middle point lifts the branch before it turns outward.
    middle = 0.5 * (start + ends) + np.array([0.0, 0.0, 0.06 * config.height_m])
    spine = (1 - share) ** 2 * start[:, None] + 2 * share * (1 - share) * middle[:, None] + share**2 * ends[:, None]
    radius = 0.13 * config.trunk_diameter_m * (1 - 0.7 * share[..., 0])
    return make_tubes(spine, np.repeat(radius, count, axis=0), 5)
