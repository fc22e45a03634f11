"""The seam between worlds and the tracer: the few kinds of geometry that the tracer knows.

A world lowers itself to these; nothing below them knows what a world is made of. Coordinates are
float32 metres from the world's origin.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from resweep import _core
from resweep.embree_library import open_embree
from resweep.pose import Array


@dataclass(frozen=True, eq=False)
class Triangles:
    """Triangles with one attribute row per face.

    ``vertices`` (n, 3) float32, ``faces`` (m, 3) uint32, ``label`` and ``instance`` (m,) int32,
    ``reflectance`` (m,) float32, ``material`` (m,) uint8 into ``materials`` (k, 3) float32: the
    specular part, its exponent and the retro-reflective part.
    """

    vertices: Array
    faces: Array
    label: Array
    instance: Array
    reflectance: Array
    material: Array
    materials: Array


@dataclass(frozen=True, eq=False)
class InstanceArray:
    """Many copies of triangles: ``transforms`` (k, 3, 4) float32, ``instance`` and ``label`` (k,) int32.

    A label of -1 keeps the labels of the triangles; an instance of 0 keeps their instance ids.
    """

    triangles: Triangles
    transforms: Array
    instance: Array
    label: Array


@dataclass(frozen=True, eq=False)
class Discs:
    """Oriented discs: ``centre`` and ``normal`` (n, 3), ``radius`` (n,) float32, and the attributes of faces.

    A ray gathers up to ``depth`` discs of one label, each within ``gap_m`` of the one before, and
    reads their weighted mean (C, eqs. 16 and 17); a depth of 1 reads the nearest. ``seen`` (n,) uint32 is how each was
    recorded (`worlds.layers.seen`), None if that is not known. ``permeability`` (n,) float32 is the share of rays that
    each lets pass, None if all are opaque. The light they send back falls as the cosine of incidence to the power
    ``incidence_exponent``.
    """

    centre: Array
    normal: Array
    radius: Array
    label: Array
    instance: Array
    reflectance: Array
    depth: int
    gap_m: float
    seen: Array | None = None
    permeability: Array | None = None
    incidence_exponent: float = 1.0


@dataclass(frozen=True, eq=False)
class Gaussians:
    """Permeable volumes: ``mean`` (n, 3), ``precision`` (n, 6) and the ``half`` size (n, 3) of their boxes.

    ``log_pass`` (n,) is the log of the chance to pass, with ``extinction`` per metre of exposure. All are float32;
    attributes as those of faces. ``number`` (n,) uint32 is that of each one in the world, if these are not all of it.
    ``seen`` is that of discs.
    """

    mean: Array
    precision: Array
    half: Array
    log_pass: Array
    label: Array
    instance: Array
    reflectance: Array
    tau: float
    extinction: bool
    element_m: float
    number: Array | None = None
    seen: Array | None = None


Native = Triangles | InstanceArray | Discs | Gaussians
# As the native scene numbers what rays hit.
NUMBERS: dict[type[Native], int] = {Triangles: 1, InstanceArray: 1, Discs: 2, Gaussians: 3}


def build_scene(parts: Iterable[Native]) -> _core.Scene:
    """The acceleration structure of lowered layers; the arrays stay shared with the world. Raises RuntimeError."""
    open_embree()
    scene = _core.Scene()
    for part in parts:
        add_part(scene, part)
    scene.commit()
    return scene


def add_part(scene: _core.Scene, part: Native, group: int = -1, prototype: _core.Prototype | None = None) -> None:
    """Add a lowered layer, or a part of the layer ``group``, to a scene; ``prototype`` is what its copies share."""
    if isinstance(part, Triangles):
        scene.add_triangles(part)
    elif isinstance(part, InstanceArray):
        scene.add_instances(part, prototype)
    elif isinstance(part, Discs):
        scene.add_discs(part, group=group)
    elif isinstance(part, Gaussians):
        scene.add_volumes(part)


def build_shape(part: Native) -> _core.Shape:
    """A lowered layer that moves during a sweep: triangles or discs."""
    if isinstance(part, Discs):
        return _core.Shape.discs(part)
    return _core.Shape.triangles(part)
