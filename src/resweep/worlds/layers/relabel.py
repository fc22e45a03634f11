"""Labels of layers: which there are, and the same layers with labels of another vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from resweep.label_mapping import LabelMapping
from resweep.worlds.layers.layer import Layer, list_values
from resweep.worlds.layers.mesh import Mesh


def has_any_label(layers: Sequence[Layer]) -> bool:
    """Whether any primitive has a label other than 0."""
    return any((list_values(part.label) > 0).any() for layer in layers for part in layer.parts)


def count_labels(layers: Sequence[Layer]) -> dict[int, int]:
    """Number of primitives with each label, counted in every copy, in the order of the ids."""
    counts: Counter[int] = Counter()
    for layer in layers:
        counts.update(layer.count_labels())
    return dict(sorted(counts.items()))


def relabel_layers(layers: Sequence[Layer], mapping: LabelMapping) -> list[Layer]:
    """The layers with their labels mapped; all else is shared with them. Copies of one mesh stay copies of one."""
    meshes: dict[int, Mesh] = {}
    return [layer.relabelled(mapping, meshes) for layer in layers]
