"""Many thin things at once: ribbons (blades, leaves) and tubes (stems, trunks, branches).

Each function makes n shapes of equal layout in a few array operations and returns plain arrays,
vertices (v, 3) float32 and faces (f, 3) uint32, ready for a ``Mesh``.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from resweep import portable
from resweep.pose import Array


class Shape(NamedTuple):
    """Vertices (v, 3) float32 metres and faces (f, 3) uint32, counter-clockwise seen from outside."""

    vertices: Array
    faces: Array


def normalise(vectors: Array) -> Array:
    """Vectors (..., 3) scaled to length one; a zero vector is left as it is."""
    length = np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.asarray(vectors / np.where(length > 0, length, 1))


def find_perpendicular(vectors: Array) -> Array:
    """A unit vector at a right angle to each of the unit vectors (n, 3)."""
    helper = np.where(np.abs(vectors[:, 2:]) < 0.9, [[0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0]])
    return normalise(np.cross(vectors, helper))


def join_shapes(shapes: list[Shape]) -> Shape:
    """All shapes as one, their faces renumbered."""
    starts = np.cumsum([0, *(len(shape.vertices) for shape in shapes)])
    faces = [shape.faces + np.uint32(start) for shape, start in zip(shapes, starts, strict=False)]
    return Shape(np.concatenate([shape.vertices for shape in shapes]), np.concatenate(faces))


def _repeat(pattern: Array, count: int, stride: int) -> Array:
    """One shape's faces (f, 3) for ``count`` shapes whose vertices follow each other by ``stride``."""
    starts = (np.arange(count, dtype=np.uint32) * np.uint32(stride))[:, None, None]
    return np.asarray((starts + pattern.astype(np.uint32)).reshape(-1, 3))


def make_ribbons(origin: Array, along: Array, towards: Array, length: Array, bend: Array, half_width: Array) -> Shape:
    """Flat strips that bend in a plane, two triangles to a segment.

    ``origin`` (n, 3) is the root of each; ``along`` (n, 3) the unit direction in which it leaves the
    root; ``towards`` (n, 3) the unit direction, at a right angle, to which it bends; ``length`` (n,)
    its length along the arc; ``bend`` (n,) the angle in radians that it has turned at the tip;
    ``half_width`` (n, s + 1) the half width at each of the s + 1 cross lines, which must be positive.
    """
    count, lines = half_width.shape
    share = np.linspace(0, 1, lines, dtype=np.float32)
    # An arc of a circle; sinc keeps the straight strip (bend 0) exact.
    half_turn = 0.5 * bend[:, None] * share
    chord = (length[:, None] * share * portable.sinc(half_turn)).astype(np.float32)
    forward, sideways = chord * portable.cos(half_turn), chord * portable.sin(half_turn)
    across = np.cross(along, towards).astype(np.float32)
    vertices = np.empty((count, lines, 2, 3), dtype=np.float32)
    for axis in range(3):
        spine = origin[:, axis, None] + forward * along[:, axis, None] + sideways * towards[:, axis, None]
        offset = half_width * across[:, axis, None]
        vertices[:, :, 0, axis] = spine - offset
        vertices[:, :, 1, axis] = spine + offset
    first = 2 * np.arange(lines - 1)[:, None, None]
    pattern = (first + np.array([[0, 1, 2], [2, 1, 3]])).reshape(-1, 3)
    return Shape(vertices.reshape(-1, 3), _repeat(pattern, count, 2 * lines))


def make_tubes(spine: Array, radius: Array, sides: int, *, capped: bool = False) -> Shape:
    """Round tubes along polylines, open at both ends unless ``capped`` closes them.

    ``spine`` (n, s + 1, 3) metres, ``radius`` (n, s + 1) metres, positive. The cross-section is a
    polygon of ``sides`` corners that lie on the circle.
    """
    count, rings = radius.shape
    tangent = np.gradient(spine, axis=1) if rings > 2 else np.repeat(np.diff(spine, axis=1), 2, axis=1)
    tangent = normalise(tangent)
    # One reference direction a tube, projected into each ring's plane: no twist between rings.
    reference = np.broadcast_to(find_perpendicular(normalise(spine[:, -1] - spine[:, 0]))[:, None], tangent.shape)
    first = normalise(reference - (reference * tangent).sum(-1, keepdims=True) * tangent)
    second = np.cross(tangent, first)
    angle = 2 * np.pi * np.arange(sides) / sides
    ring = first[:, :, None] * portable.cos(angle)[:, None] + second[:, :, None] * portable.sin(angle)[:, None]
    vertices = (spine[:, :, None] + radius[:, :, None, None] * ring).astype(np.float32)
    pattern = [_make_tube_faces(rings, sides)]
    if capped:
        fan = np.stack([np.zeros(sides - 2), np.arange(1, sides - 1), np.arange(2, sides)], axis=1)
        pattern += [fan[:, ::-1], fan + (rings - 1) * sides]
    return Shape(vertices.reshape(-1, 3), _repeat(np.concatenate(pattern), count, rings * sides))


def _make_tube_faces(rings: int, sides: int) -> Array:
    """Faces of one tube whose vertices run ring by ring."""
    ring, side = np.meshgrid(np.arange(rings - 1), np.arange(sides), indexing="ij")
    a, b = ring * sides + side, ring * sides + (side + 1) % sides
    faces = np.stack([np.stack([a, b, b + sides], -1), np.stack([a, b + sides, a + sides], -1)], -2)
    return np.asarray(faces.reshape(-1, 3))
