"""Labels of layers: which there are, and the same layers with labels of another vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from copy import copy
from typing import TypeVar

import numpy as np

from resweep.label_mapping import LabelMapping
from resweep.pose import Array
from resweep.worlds.layers.mesh import Instances, Mesh
from resweep.worlds.layers.splats import Splats
from resweep.worlds.layers.volumes import Volumes

AnyLayer = TypeVar("AnyLayer", bound=Mesh | Instances | Splats | Volumes)
_KEEPS_ITS_MESH = -1  # the label of a copy that has those of its mesh
_LARGEST_ID = 1 << 16  # ids below it are counted in a table


def any_labels(layers: Sequence[Mesh | Instances | Splats | Volumes]) -> bool:
    """Whether any primitive has a label other than 0."""
    for layer in layers:
        columns = [layer.label, layer.mesh.label] if isinstance(layer, Instances) else [layer.label]
        if any((_first(column) > 0).any() for column in columns):
            return True
    return False


def count_labels(layers: Sequence[Mesh | Instances | Splats | Volumes]) -> dict[int, int]:
    """Number of primitives with each label, counted in every copy, in the order of the ids."""
    counts: Counter[int] = Counter()
    for layer in layers:
        if isinstance(layer, Instances):
            copies = _count(layer.label)
            kept = copies.pop(_KEEPS_ITS_MESH, 0)
            counts.update({label: number * layer.mesh.n_primitives for label, number in copies.items()})
            counts.update({label: number * kept for label, number in _count(layer.mesh.label).items() if kept})
        else:
            counts.update(_count(layer.label))
    return dict(sorted(counts.items()))


def relabelled(layers: Sequence[AnyLayer], mapping: LabelMapping) -> list[AnyLayer]:
    """The layers with their labels mapped; all else is shared with them. Copies of one mesh stay copies of one."""
    meshes: dict[int, Mesh] = {}
    return [_relabelled(layer, mapping, meshes) for layer in layers]


def _relabelled(layer: AnyLayer, mapping: LabelMapping, meshes: dict[int, Mesh]) -> AnyLayer:
    made = copy(layer)
    mapped = _mapped(layer.label, mapping)
    if isinstance(layer, Instances) and isinstance(made, Instances):
        mapped = np.where(layer.label == _KEEPS_ITS_MESH, layer.label, mapped)
        if id(layer.mesh) not in meshes:
            meshes[id(layer.mesh)] = copy(layer.mesh)
            meshes[id(layer.mesh)].label = _mapped(layer.mesh.label, mapping)
        made.mesh = meshes[id(layer.mesh)]
    made.label = mapped
    return made


def _mapped(label: Array, mapping: LabelMapping) -> Array:
    return np.broadcast_to(mapping.map(_first(label)), label.shape)


def _count(column: Array) -> Counter[int]:
    if column.strides == (0,) and len(column):
        return Counter({int(column[0]): len(column)})
    if len(column) and column.min() >= 0 and column.max() < _LARGEST_ID:
        numbers = np.bincount(column)
        ids = np.flatnonzero(numbers)
        return Counter(dict(zip(ids.tolist(), numbers[ids].tolist(), strict=True)))
    ids, numbers = np.unique(column, return_counts=True)
    return Counter(dict(zip(ids.tolist(), numbers.tolist(), strict=True)))


def _first(column: Array) -> Array:
    """The column, or its first value if all rows share one."""
    return column[:1] if column.strides == (0,) else column
