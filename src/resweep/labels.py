"""What label ids mean: one vocabulary, its classes, and what each class is to a map.

A `LabelSet` is a field of every log and world. Ids of which nothing is known have `UNKNOWN_LABELS`: they name no
class, move nothing and belong to no group. Nothing falls back to another dataset's ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cache, cached_property
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from resweep.config import Spec, read_spec, spec_from_yaml
from resweep.errors import ResweepError, nearest_names
from resweep.pose import Array

_SPARE_COLOURS = ("#c9d1d9", "#79c0ff", "#d2a8ff", "#ffa657", "#7ee787", "#ff7b72")


class Group(IntEnum):
    """What a splat grows on (C, 3.2); ``UNKNOWN`` is left to the local descriptors."""

    UNKNOWN = -1
    GROUND = 0
    SURFACE = 1
    LINEAR = 2
    NON_SURFACE = 3


class LabelClass(Spec):
    """One class of a vocabulary.

    ``group`` is that of C, 3.2 (None: unknown). ``moving`` things were in motion when they were recorded,
    ``movable`` ones stand but could move, ``thin`` ones are those of C, table 3. ``outlier`` returns are no
    part of the place. ``category`` is the common name by which classes of two vocabularies are matched.
    """

    name: str
    category: str = ""
    group: Literal["ground", "surface", "linear", "non_surface"] | None = None
    moving: bool = False
    movable: bool = False
    thin: bool = False
    outlier: bool = False
    unlabelled: bool = False
    colour: Annotated[str, Field(pattern=r"^#[0-9a-f]{6}$")] | None = None


class LabelSet(Spec):
    """A vocabulary: the classes of a dataset by label id."""

    name: str
    title: str = ""
    classes: Mapping[int, LabelClass] = {}

    @property
    def known(self) -> bool:
        """Whether the meaning of any id is known."""
        return bool(self.classes)

    def class_name(self, label: int) -> str:
        """The name of a class; an id that the vocabulary does not hold is called by its number."""
        found = self.classes.get(int(label))
        return f"label {int(label)}" if found is None else found.name

    def colour(self, label: int) -> str:
        """A colour ``#rrggbb`` for a class."""
        found = self.classes.get(int(label))
        return (
            _SPARE_COLOURS[int(label) % len(_SPARE_COLOURS)] if found is None or found.colour is None else found.colour
        )

    def group(self, label: Array) -> Array:
        """The `Group` (n,) int8 of each label; that of an unknown id is UNKNOWN."""
        groups = np.full(len(label), Group.UNKNOWN, np.int8)
        for group in (Group.GROUND, Group.SURFACE, Group.LINEAR, Group.NON_SURFACE):
            groups[np.isin(label, self.in_group(group))] = group
        return groups

    def in_group(self, group: Group) -> tuple[int, ...]:
        """The ids of a group."""
        return tuple(label for label, item in self.classes.items() if item.group == group.name.lower())

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """The ids of what was in motion."""
        return self._ids("moving")

    @cached_property
    def movable(self) -> tuple[int, ...]:
        """The ids of what stands but could move."""
        return self._ids("movable")

    @cached_property
    def thin(self) -> tuple[int, ...]:
        """The ids of thin structures."""
        return self._ids("thin")

    @cached_property
    def outlier(self) -> tuple[int, ...]:
        """The ids of returns that are no part of the place."""
        return self._ids("outlier")

    @cached_property
    def unlabelled(self) -> tuple[int, ...]:
        """The ids of returns without a class."""
        return self._ids("unlabelled")

    def _ids(self, fact: str) -> tuple[int, ...]:
        return tuple(label for label, item in self.classes.items() if getattr(item, fact))

    def to_dict(self) -> dict[str, Any]:
        """For log.json and world.json: the whole vocabulary, so that a file explains itself."""
        return self.model_dump(mode="json", exclude_defaults=True)


UNKNOWN_LABELS = LabelSet(name="unknown", title="labels of unknown meaning")
NO_LABELS = LabelSet(name="none", title="no labels")


def label_set_names() -> list[str]:
    """The names of the vocabularies that come with Resweep."""
    files = resources.files("resweep").joinpath("label_sets").iterdir()
    return sorted(
        [item.name.removesuffix(".yaml") for item in files if item.name.endswith(".yaml")] + ["none", "unknown"]
    )


@cache
def _known_set(name: str) -> LabelSet:
    file = resources.files("resweep").joinpath("label_sets").joinpath(f"{name}.yaml")
    return spec_from_yaml(file.read_text(encoding="utf-8"), LabelSet, f"{name}.yaml")


def load_labels(name: str | Path) -> LabelSet:
    """The vocabulary of that name, or the one in a YAML file."""
    for known in (UNKNOWN_LABELS, NO_LABELS):
        if name == known.name:
            return known
    if str(name) in label_set_names():
        return _known_set(str(name))
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return read_spec(path, LabelSet)
    raise ResweepError(
        f"labels '{name}': no such vocabulary; {nearest_names(str(name), label_set_names())}, or give a YAML file"
    )
