"""Layers of a world as one native scene that rays can be sent into."""

from __future__ import annotations

from collections.abc import Iterable

from resweep import _core
from resweep.embree_library import open_embree
from resweep.worlds.native import Discs, Gaussians, InstanceArray, Native, Triangles


def traced(parts: Iterable[Native]) -> _core.Scene:
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
