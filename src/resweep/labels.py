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
from pydantic import Field, model_validator

from resweep.config import Spec, parse_spec, read_spec
from resweep.errors import ResweepError, SettingsError, nearest_names
from resweep.pose import Array
from resweep.quantities import MAX_ROWS, LabelId

_SPARE_COLOURS = ("#c9d1d9", "#79c0ff", "#d2a8ff", "#ffa657", "#7ee787", "#ff7b72")

# Categories are the common names of what datasets call differently. Each key is the broader category of its row: a
# vocabulary without a class for vans calls them cars, one without a class for cars calls them vehicles.
_FAMILIES = {
    "outlier": "ego vehicle, smoke, spray",
    "vehicle": "car, truck, bus, train, trailer, motorcycle, bicycle, pedicab, construction vehicle, emergency vehicle",
    "car": "van, pickup, police car",
    "truck": "box truck, semi truck, truck cab, large vehicle",
    "bus": "articulated bus, school bus",
    "train": "tram",
    "emergency vehicle": "ambulance",
    "trailer": "caravan, sign trailer",
    "motorcycle": "scooter",
    "bicycle": "mobility device",
    "pedestrian": "child, worker, police officer, stroller, wheelchair, pedestrian with object, rider",
    "rider": "cyclist, motorcyclist",
    "ground": "road, sidewalk, terrain, rail track, concrete, water, snow",
    "road": "parking, driveway, lane marking",
    "lane marking": "stop line, road marking",
    "terrain": "dirt, grass, mud",
    "water": "puddle",
    "structure": "building, fence, wall, bridge, tunnel, bus stop, pole, tower, wire",
    "building": "garage",
    "fence": "guard rail, gate",
    "pole": "small pole, lamp, traffic sign, traffic light",
    "traffic sign": "stop sign, mobile sign",
    "wire": "wire connector",
    "vegetation": "tree, bush, trunk, low vegetation, medium vegetation",
    "trunk": "log",
    "object": "structure, animal, cone, barrier, bollard, debris, rubble, box, street furniture",
    "street furniture": "bicycle rack, trash bin, vending machine, cart",
    "animal": "dog, bird",
    "barrier": "barrel, temporary barrier",
}
_BROADER = {narrow: broad for broad, row in _FAMILIES.items() for narrow in row.split(", ")}
_ALIASES = {"other vehicle": "vehicle", "other object": "object"}


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
    part of the place. ``category`` is the common name by which classes of two vocabularies are matched (default: the
    name of the class); ``also`` are more categories that the class holds, as a bicycle with its cyclist.
    """

    name: str
    category: str = ""
    also: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
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
    classes: Annotated[Mapping[LabelId, LabelClass], Field(max_length=MAX_ROWS)] = {}

    @model_validator(mode="after")
    def _check_names(self) -> LabelSet:
        found: dict[str, int] = {}
        for label, item in self.classes.items():
            if item.name in found:
                raise SettingsError(
                    f"classes[{label}].name", f"'{item.name}' is also the name of label {found[item.name]}"
                )
            found[item.name] = label
        return self

    def __repr__(self) -> str:
        return f"LabelSet('{self.name}', {len(self.classes)} classes)"

    __str__ = __repr__

    @property
    def known(self) -> bool:
        """Whether the meaning of any id is known."""
        return bool(self.classes)

    def same_as(self, other: LabelSet) -> bool:
        """Whether ids mean the same in both: one name, and one name for each id that both have.

        A saved vocabulary may be older than the one that comes with Resweep: colours and further classes may differ.
        """
        shared = self.classes.keys() & other.classes.keys()
        same = all(self.classes[label].name == other.classes[label].name for label in shared)
        return self.name == other.name and self.known == other.known and same

    def class_name(self, label: int) -> str:
        """The name of a class; an id that the vocabulary does not hold is called by its number."""
        found = self.classes.get(int(label))
        return f"label {int(label)}" if found is None else found.name

    def id_of(self, name: str) -> int:
        """The id of the class of that name."""
        if name not in self._by_name:
            raise ResweepError(f"labels '{self.name}': no class '{name}'; {nearest_names(name, self._by_name)}")
        return self._by_name[name]

    def category(self, label: int) -> str:
        """The category of a class, "" where an id has no class or its class says that there is none."""
        found = self.classes.get(int(label))
        if found is None or (found.unlabelled and not found.category):
            return ""
        return found.category or found.name.lower().replace("_", " ").replace("-", " ")

    def id_of_category(self, category: str, moving: bool = False) -> int | None:
        """The id of the class for a category such as "van", or for the nearest broader one; None if there is none.

        Of several classes that of things in motion is taken if ``moving``, the first in the file otherwise.
        """
        for name in list_broader_categories(category):
            if found := self._by_category.get(name):
                return next((label for label in found if self.classes[label].moving == moving), found[0])
        return None

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

    def is_labelled(self, label: Array) -> Array:
        """Whether each label (n,) stands for a class; of an unknown vocabulary, whether it is not 0."""
        return ~np.isin(label, self.unlabelled if self.known else (0,))

    def count(self, label: Array) -> dict[str, int]:
        """How many labels there are of each class, by the name of the class and in the order of the ids."""
        ids, counts = np.unique(label, return_counts=True)
        return {self.class_name(item): int(count) for item, count in zip(ids.tolist(), counts, strict=True)}

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """The ids of what was in motion."""
        return self._ids("moving")

    @cached_property
    def movable(self) -> tuple[int, ...]:
        """The ids of what is at rest but could move."""
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

    @property
    def unlabelled_id(self) -> int:
        """The id of a return without a class."""
        return self.unlabelled[0] if self.unlabelled else 0

    @cached_property
    def _by_name(self) -> dict[str, int]:
        return {item.name: label for label, item in self.classes.items()}

    @cached_property
    def _by_category(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for label, item in self.classes.items():
            for category in (self.category(label), *item.also):
                found.setdefault(category, []).append(label)
        return found

    def _ids(self, fact: str) -> tuple[int, ...]:
        return tuple(label for label, item in self.classes.items() if getattr(item, fact))

    def to_dict(self) -> dict[str, Any]:
        """For log.json and world.json: the whole vocabulary, so that a file explains itself."""
        return self.model_dump(mode="json", exclude_defaults=True)


UNKNOWN_LABELS = LabelSet(name="unknown", title="labels of unknown meaning")
NO_LABELS = LabelSet(name="none", title="no labels")


def list_broader_categories(category: str) -> tuple[str, ...]:
    """A category and the ever broader ones that hold it: van, car, vehicle."""
    chain = [_ALIASES.get(category, category)]
    while chain[-1] in _BROADER:
        chain.append(_BROADER[chain[-1]])
    return tuple(chain)


def label_set_names() -> list[str]:
    """The names of the vocabularies that come with Resweep."""
    return [*_list_files(), "none", "unknown"]


@cache
def _list_files() -> tuple[str, ...]:
    files = resources.files("resweep").joinpath("label_sets").iterdir()
    return tuple(sorted(item.name.removesuffix(".yaml") for item in files if item.name.endswith(".yaml")))


@cache
def _load_known_set(name: str) -> LabelSet:
    file = resources.files("resweep").joinpath("label_sets").joinpath(f"{name}.yaml")
    return parse_spec(file.read_text(encoding="utf-8"), LabelSet, f"{name}.yaml")


def load_labels(name: str | Path | LabelSet) -> LabelSet:
    """The vocabulary of that name, or the one in a YAML file; a `LabelSet` is returned as it is.

    Example: ``road = rs.load_labels("semantickitti").id_of("road")``
    """
    if isinstance(name, LabelSet):
        return name
    for known in (UNKNOWN_LABELS, NO_LABELS):
        if name == known.name:
            return known
    if str(name) in _list_files():
        return _load_known_set(str(name))
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        return read_spec(path, LabelSet)
    raise ResweepError(
        f"labels '{name}': no such vocabulary, and no YAML file; {nearest_names(str(name), label_set_names())}"
    )
