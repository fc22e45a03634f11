"""Objects that no recording shows: animals and construction elements, meshes of spindles, tubes and blocks (D, 5.5).

Sizes are those of real ones; shapes are simple. Each is an asset: x forward, z up, its origin on the ground.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from resweep import portable
from resweep.categories import OBJECT_LABELS, find_category
from resweep.pose import Array
from resweep.scenario import Asset, Bank
from resweep.scenes.mesh_shapes import Shape, join_shapes, make_tubes
from resweep.worlds import Mesh

_SIDES, _RINGS = 14, 9
_BARRIER = np.array([[-0.3, 0.0], [0.3, 0.0], [0.1, 0.81], [-0.1, 0.81]])  # across


def _make_tube(start: tuple[float, ...], end: tuple[float, ...], radius: float, tip: float | None = None) -> Shape:
    """A closed tube from one point to another, its radius at the end ``tip`` if that differs."""
    return make_tubes(
        np.array([[start, end]]), np.array([[radius, radius if tip is None else tip]]), _SIDES, capped=True
    )


def _make_spindle(start: tuple[float, ...], end: tuple[float, ...], radius: float) -> Shape:
    """A rounded body from one point to another."""
    share = np.linspace(0.0, 1.0, _RINGS)
    spine = np.array(start) + share[:, None] * (np.array(end) - start)
    rounded = np.maximum(np.sqrt(np.maximum(1.0 - portable.power(2.0 * share - 1.0, 4.0), 0.0)), 0.15)
    return make_tubes(spine[None], radius * rounded[None], _SIDES, capped=True)


def make_quadruped(length: float, shoulder: float, girth: float, head: float) -> Shape:
    """An animal on four legs: ``length`` without its head, height of the ``shoulder``, radius of the body, and the
    height of its ``head``, all in metres."""
    front, back, middle = 0.5 * length, -0.5 * length, shoulder - girth
    leg, foot = 0.22 * girth + 0.01, 0.6 * girth
    legs = [
        _make_tube((x, y, 0.0), (x, y, middle), leg, 1.5 * leg)
        for x in (0.8 * back, 0.75 * front)
        for y in (-foot, foot)
    ]
    face = front + 0.3 * length
    neck = _make_tube(
        (0.85 * front, 0.0, middle + 0.3 * girth), (face - 0.08 * length, 0.0, head), 0.55 * girth, 0.4 * girth
    )
    skull = _make_spindle(
        (face - 0.12 * length, 0.0, head + 0.05 * shoulder),
        (face + 0.12 * length, 0.0, head - 0.1 * shoulder),
        0.45 * girth,
    )
    tail = _make_tube(
        (back, 0.0, middle + 0.3 * girth), (back - 0.1 * length, 0.0, 0.5 * middle), 0.12 * girth, 0.08 * girth
    )
    return join_shapes([_make_spindle((back, 0.0, middle), (front, 0.0, middle), girth), neck, skull, tail, *legs])


def make_goose() -> Shape:
    """A bird that stands on the road, 0.9 m tall."""
    legs = [_make_tube((0.0, y, 0.0), (0.0, y, 0.25), 0.015) for y in (-0.06, 0.06)]
    neck = _make_tube((0.26, 0.0, 0.45), (0.32, 0.0, 0.82), 0.05, 0.035)
    return join_shapes([
        _make_spindle((-0.36, 0.0, 0.42), (0.34, 0.0, 0.4), 0.16), neck,
        _make_spindle((0.28, 0.0, 0.86), (0.44, 0.0, 0.84), 0.05), *legs,
    ])  # fmt: skip


def make_block(length: float, width: float, height: float, lift: float = 0.0) -> Shape:
    """A block, ``lift`` above the ground."""
    outline = 0.5 * width * np.array([[-1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [-1.0, 1.0]])
    outline[:, 1] = np.where(outline[:, 1] > 0, lift + height, lift)
    return make_prism(outline, length)


def make_prism(outline: Array, length: float) -> Shape:
    """A body with the convex cross-section ``outline`` (p, 2) of y and z, counter-clockwise, along x."""
    count = len(outline)
    ends = [np.column_stack([np.full(count, x), outline]) for x in (-0.5 * length, 0.5 * length)]
    at, after = np.arange(count), (np.arange(count) + 1) % count
    sides = [np.stack([at, after + count, at + count], 1), np.stack([at, after, after + count], 1)]
    fan = np.stack([np.zeros(count - 2), np.arange(1, count - 1), np.arange(2, count)], 1)
    faces = np.concatenate([*sides, fan[:, ::-1], fan + count])
    return Shape(np.concatenate(ends).astype(np.float32), faces.astype(np.uint32))


def make_cone() -> Shape:
    """A traffic cone of 75 cm on its foot."""
    return join_shapes([make_block(0.4, 0.4, 0.04), _make_tube((0.0, 0.0, 0.04), (0.0, 0.0, 0.75), 0.15, 0.03)])


def make_barricade() -> Shape:
    """Two boards of 1.8 m on posts."""
    posts = [_make_tube((x, y, 0.0), (x, 0.0, 1.1), 0.03) for x in (-0.8, 0.8) for y in (-0.3, 0.3)]
    return join_shapes([make_block(1.8, 0.04, 0.25, 0.45), make_block(1.8, 0.04, 0.25, 0.85), *posts])


def make_pipes() -> Shape:
    """Three pipes of 3 m, two on the ground and one on top."""
    places = ((-0.31, 0.3), (0.31, 0.3), (0.0, 0.83))
    return join_shapes([_make_tube((-1.5, y, z), (1.5, y, z), 0.3) for y, z in places])


Maker = Callable[[], Shape]
# The shape and the reflectance of each.
ANIMALS: Mapping[str, tuple[Maker, float]] = {
    "dog": (lambda: make_quadruped(0.75, 0.6, 0.15, 0.72), 0.3),
    "deer": (lambda: make_quadruped(1.25, 1.0, 0.24, 1.4), 0.35),
    "boar": (lambda: make_quadruped(1.3, 0.85, 0.3, 0.65), 0.15),
    "cow": (lambda: make_quadruped(1.9, 1.4, 0.42, 1.45), 0.4),
    "rhino": (lambda: make_quadruped(2.4, 1.6, 0.6, 1.15), 0.25),
    "goose": (make_goose, 0.5),
}
CONSTRUCTION: Mapping[str, tuple[Maker, float]] = {
    "cone": (make_cone, 0.5),
    "barrel": (lambda: _make_tube((0.0, 0.0, 0.0), (0.0, 0.0, 1.0), 0.3, 0.25), 0.5),
    "concrete-barrier": (lambda: make_prism(_BARRIER, 2.0), 0.4),
    "barricade": (make_barricade, 0.6),
    "cement-block": (lambda: make_block(1.2, 0.6, 0.6), 0.4),
    "pipes": (make_pipes, 0.35),
}


def make_asset(name: str) -> Asset:
    """The asset of a name in `ANIMALS` or `CONSTRUCTION`."""
    make, reflectance = {**ANIMALS, **CONSTRUCTION}[name]
    shape = make()
    low, high = shape.vertices.min(axis=0), shape.vertices.max(axis=0)
    middle = np.append(0.5 * (low + high)[:2], low[2]).astype(np.float32)
    category = find_category("animal" if name in ANIMALS else name if name in ("cone", "barrier") else "other object")
    label = category.label(OBJECT_LABELS)
    mesh = Mesh(shape.vertices - middle, shape.faces, label=label, reflectance=reflectance, name=name)
    return Asset(name, label, category.name, tuple((high - low).tolist()), (mesh,), labels=OBJECT_LABELS)


def make_bank() -> Bank:
    """All of them."""
    return Bank([make_asset(name) for name in (*ANIMALS, *CONSTRUCTION)])
