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
        if isinstance(part, Triangles):
            scene.add_triangles(part)
        elif isinstance(part, InstanceArray):
            scene.add_instances(part)
        elif isinstance(part, Discs):
            scene.add_discs(part)
        elif isinstance(part, Gaussians):
            scene.add_volumes(part)
    scene.commit()
    return scene
