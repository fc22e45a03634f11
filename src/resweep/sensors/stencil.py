"""Where rays sample the spot of a beam: the fixed stencils of B 3.2.1, and random rays.

A ray is set off from the beam's axis by tangents (h, v), its offsets in metres at 1 m of range along
the two axes of `tangent_frame`. The native tracer implements the same maps; these are its reference.
"""

from __future__ import annotations

import math

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.sensors.spec import Beam

# B 3.2.1: the circle of stencil points has the radius √2·tan(γ/2)/4 at 1 m.
RING_SHARE = np.sqrt(2.0) / 4.0

# The 1/e² edge of a Gaussian lies at two sigma of each axis: exp(-2²/2) of the light is outside it.
_INSIDE_EDGE = 1.0 - math.exp(-2.0)


def stencil(beam: Beam) -> tuple[Array, Array]:
    """Offsets (k, 2) float32 and weights (k,) float32 that sum to 1, of a single ray or nine.

    The nine, all of equal weight, are (B 3.2.1 and its figure 1):

    - circular: the axis, and eight on a circle of radius √2·tan(γ/2)/4. That is the formula as B
      prints it: the circle has 0.35 of the radius of the spot, whose edge is at tan(γ/2).
    - elliptical: the same with the circle stretched to the horizontal and vertical divergence.
    - rectangular: the midpoints of the 3 x 3 equal cells of the spot, at 0 and ±2/3 of its
      half-width tan(γ/2), so that each ray carries one ninth of the light.
    """
    if beam.rays == "random":
        raise ResweepError("beam.rays: random rays have no fixed stencil; draw them with random_offsets")
    if beam.rays == "single":
        return np.zeros((1, 2), np.float32), np.ones(1, np.float32)
    if beam.spot == "rectangular":
        cell = np.array([-2.0, 0.0, 2.0]) / 3.0
        unit = np.stack(np.meshgrid(cell, cell, indexing="ij"), axis=-1).reshape(9, 2)
        unit = np.roll(unit, -4, axis=0)  # the axis first, as in the other stencils
    else:
        angle = np.arange(8) * (np.pi / 4.0)
        ring = RING_SHARE * np.stack([portable.cos(angle), portable.sin(angle)], axis=1)
        unit = np.concatenate([np.zeros((1, 2)), ring])
    return (unit * find_half_widths(beam)).astype(np.float32), np.full(9, 1.0 / 9.0, np.float32)


def random_offsets(beam: Beam, uniforms: Array) -> Array:
    """Offsets (n, 2) of random rays from uniform numbers ``uniforms`` (n, 2) in [0, 1).

    Uniform profile: even over the disc, the ellipse (radius √u₁, angle 2πu₂) or the rectangle
    (2u − 1). Gaussian profile: the divergence is the full angle at 1/e² intensity, so σ is a quarter of
    it, and the cone is truncated there (A, section IV): radius √(−½ ln(1 − u₁(1 − e⁻²))) of the
    edge, angle 2πu₂, the inverse distribution of a truncated Rayleigh. A rectangular spot with a
    gaussian profile uses the same radial map on its half-widths, hence an ellipse inside it.
    """
    first, second = np.asarray(uniforms, dtype=np.float64).T
    if beam.spot == "rectangular" and beam.profile == "uniform":
        unit = np.stack([2.0 * first - 1.0, 2.0 * second - 1.0], axis=1)
    else:
        radius = np.sqrt(first if beam.profile == "uniform" else -0.5 * portable.log1p(-first * _INSIDE_EDGE))
        angle = 2.0 * np.pi * second
        unit = np.stack([radius * portable.cos(angle), radius * portable.sin(angle)], axis=1)
    return np.asarray(unit * find_half_widths(beam))


def find_half_widths(beam: Beam) -> Array:
    """Half-widths (2,) of the spot at 1 m, horizontal and vertical: tan(γ/2)."""
    return portable.tan(np.array([beam.divergence_h_rad, beam.divergence_v_rad]) / 2.0)


def tangent_frame(direction: Array) -> tuple[Array, Array]:
    """Axes h and v (b, 3) across beams ``direction`` (b, 3): h = unit(z × d), v = d × h.

    h is horizontal and points left of the beam, v up. Within 1e-6 of the vertical h is y.
    """
    d = np.asarray(direction, dtype=np.float64)
    h = np.stack([-d[..., 1], d[..., 0], np.zeros_like(d[..., 0])], axis=-1)
    length = np.linalg.norm(h, axis=-1, keepdims=True)
    upright = length < 1e-6
    h = np.where(upright, [0.0, 1.0, 0.0], h / np.where(upright, 1.0, length))
    return h, np.cross(d, h)


def ray_directions(direction: Array, offsets: Array) -> Array:
    """Unit rays (b, k, 3) of beams (b, 3) at ``offsets`` (k, 2), or each beam's own (b, k, 2)."""
    h, v = tangent_frame(direction)
    offsets = np.broadcast_to(offsets, (len(direction), *np.shape(offsets)[-2:]))
    rays = direction[:, None] + offsets[..., :1] * h[:, None] + offsets[..., 1:] * v[:, None]
    return np.asarray(rays / np.linalg.norm(rays, axis=-1, keepdims=True))
