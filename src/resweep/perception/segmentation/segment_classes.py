"""The classes of a segmenter: each stands for categories of labels, whatever a vocabulary calls them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import AfterValidator, Field

from resweep.labels import LabelSet, list_broader_categories
from resweep.perception.models import UNKNOWN
from resweep.pose import Array

Categories = Annotated[tuple[str, ...], Field(min_length=1, max_length=1000)]


def _check(classes: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    seen: dict[str, str] = {}
    for name, categories in classes.items():
        for category in categories:
            if seen.setdefault(category, name) != name:
                raise ValueError(f"'{category}' is given to both '{seen[category]}' and '{name}'")
    return classes


ClassCategories = Annotated[
    Mapping[str, Categories], Field(min_length=2, max_length=UNKNOWN - 1), AfterValidator(_check)
]

# A category counts as the class that has it, or that has the nearest broader one: parking is road, sidewalk ground.
USUAL_CLASSES: Mapping[str, tuple[str, ...]] = {
    "vehicle": ("vehicle",),
    "road": ("road",),
    "other ground": ("ground",),
    "building": ("building", "fence"),
    "vegetation": ("vegetation",),
    "pole": ("pole",),
    "person": ("pedestrian",),
}


def number_classes(label: Array, labels: LabelSet, classes: Mapping[str, tuple[str, ...]]) -> Array:
    """The number in ``classes`` (n,) uint8 of labels (n,) of a vocabulary, `UNKNOWN` for those that are in none."""
    numbers = {category: at for at, categories in enumerate(classes.values()) for category in categories}
    ids, rows = np.unique(label, return_inverse=True)
    found = np.full(len(ids), UNKNOWN, np.uint8)
    for at, number in enumerate(ids.tolist()):
        category = labels.category(number)
        broader = list_broader_categories(category) if category else ()
        found[at] = next((numbers[name] for name in broader if name in numbers), UNKNOWN)
    return np.asarray(found[rows.reshape(-1)])
