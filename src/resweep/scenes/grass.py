"""Grass: curved blades merged into tiles, and the uniform stems of B, 3.4.1."""

from __future__ import annotations

import math

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.scenes.mesh_shapes import Shape, make_ribbons, make_tubes
from resweep.scenes.scene_labels import GRASS_REFLECTANCE, Label
from resweep.worlds import Mesh

TIP_SHARE = 0.12  # a blade's width at the tip, as a share of its width at the root


def blades(root: Array, height: Array, width: Array, heading: Array, lean: Array, bend: Array, segments: int) -> Shape:
    """Blades that rise from ``root`` (n, 3), taper and bow over, two triangles to a segment.

    ``height`` (n,) metres of the tip above the root; ``width`` (n,) metres at the root; ``heading``
    (n,) the horizontal direction of the bow, ``lean`` (n,) the angle from the vertical at the root
    and ``bend`` (n,) the angle by which it grows up to the tip, radians. ``lean + bend`` must stay
    below a right angle, so that the tip is the highest point.
    """
    level = np.stack([portable.cos(heading), portable.sin(heading), np.zeros_like(heading)], axis=1)
    up = np.array([0.0, 0.0, 1.0])
    along = portable.sin(lean)[:, None] * level + portable.cos(lean)[:, None] * up
    towards = portable.cos(lean)[:, None] * level - portable.sin(lean)[:, None] * up
    # The chord of the arc leaves the vertical by lean + bend / 2 and is sinc(bend / 2) of its length.
    length = height / (portable.cos(lean + bend / 2) * portable.sinc(bend / 2))
    share = np.linspace(0, 1, segments + 1, dtype=np.float32)
    taper = TIP_SHARE + (1 - TIP_SHARE) * (1 - share**2)
    return make_ribbons(root, along, towards, length, bend, 0.5 * width[:, None] * taper)


def grass_tile(
    size_m: float = 10.0,
    density_per_m2: float = 22.0,
    height_m: tuple[float, float] = (0.2, 0.6),
    seed: int = 0,
    *,
    width_m: tuple[float, float] = (0.004, 0.01),
    segments: int = 8,
    reflectance: float = GRASS_REFLECTANCE,
) -> Mesh:
    """One mesh of all blades in a square tile centred on the origin, roots at z = 0.

    The tile holds ``round(size_m² × density_per_m2)`` blades at uniform random places, with heights
    and widths uniform between the two bounds. No blade leaves the square, so tiles placed side by side,
    turned by quarter turns or mirrored, have bounding boxes that touch but do not overlap.
    """
    count = round(size_m**2 * density_per_m2)
    if count < 1 or segments < 1:
        raise ResweepError(
            f"grass tile: {size_m} m × {size_m} m at {density_per_m2} blades per m² in {segments} segments holds "
            "nothing; ask for at least one blade and one segment"
        )
    rng = np.random.default_rng([seed, 0x67726173])
    half = size_m / 2
    root = np.zeros((count, 3))
    root[:, :2] = rng.uniform(-half, half, (count, 2))
    heading = rng.uniform(-np.pi, np.pi, count)
    lean = rng.uniform(0.0, 0.3, count)
    shape = blades(
        root,
        rng.uniform(*height_m, count),
        rng.uniform(*width_m, count),
        heading,
        lean,
        rng.uniform(0.2, 1.1, count),
        segments,
    )
    vertices = shape.vertices.reshape(count, -1, 3)
    _keep_inside(vertices, half)
    return Mesh(
        vertices.reshape(-1, 3), shape.faces, label=int(Label.VEGETATION), reflectance=reflectance, name="grass"
    )


def _keep_inside(vertices: Array, half: float) -> None:
    """Shift, in place, each blade (n, v, 3) that crosses the border back into the square."""
    low, high = vertices[:, :, :2].min(axis=1), vertices[:, :, :2].max(axis=1)
    if (high - low).max() > 2 * half:
        raise ResweepError(f"grass tile: a blade spreads wider than the tile of {2 * half} m; use a larger size_m")
    vertices[:, :, :2] += (np.maximum(-half - low, 0) - np.maximum(high - half, 0))[:, None]


def stems(
    width_m: float = 10.0,
    depth_m: float = 5.0,
    density_per_m2: float = 50.0,
    diameter_m: float = 0.01,
    height_m: float = 1.0,
    sides: int = 12,
    seed: int = 0,
    *,
    reflectance: float = GRASS_REFLECTANCE,
) -> Mesh:
    """A stand of uniform vertical cylinders at uniform random places (B, 3.4.1 and Figure 4).

    The stand reaches from x = 0 (its near edge) to ``depth_m`` and lies between ±``width_m`` / 2 in
    y, with feet at z = 0. The number of stems is ``round(density × area)``, as in the paper: 2,500
    in 50 m² at 50 per m². Each polygon of ``sides`` corners is widened so that its mean width over
    all directions is ``diameter_m``: a beam then hits what the analytical model assumes.
    """
    count = round(width_m * depth_m * density_per_m2)
    if count < 1 or sides < 3:
        raise ResweepError(f"stems: {count} stems of {sides} sides; ask for at least one stem and three sides")
    rng = np.random.default_rng([seed, 0x7374656D])
    spine = np.zeros((count, 2, 3))
    spine[:, :, 0] = rng.uniform(0, depth_m, count)[:, None]
    spine[:, :, 1] = rng.uniform(-width_m / 2, width_m / 2, count)[:, None]
    spine[:, 1, 2] = height_m
    # Cauchy: the mean width of a convex shape is its perimeter / π, here 2 n r sin(π / n) / π.
    radius = np.pi * diameter_m / (2 * sides * math.sin(np.pi / sides))
    shape = make_tubes(spine, np.full((count, 2), radius), sides, capped=True)
    return Mesh(*shape, label=int(Label.VEGETATION), reflectance=reflectance, name="stems")
