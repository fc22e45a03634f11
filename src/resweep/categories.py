"""The classes of objects: one name for what each dataset spells its own way, and its label in any vocabulary."""

from __future__ import annotations

import re
from dataclasses import dataclass

from resweep.labels import LabelSet, load_labels

# The vocabulary of objects that bring no label of their own: stock objects, CAD models, objects of unlabelled drives.
OBJECT_LABELS = load_labels("semantickitti")


@dataclass(frozen=True)
class Category:
    """A class of objects.

    ``symmetric``: left and right are alike. ``rigid``: its parts do not move against each other, so that many
    sweeps make one shape. ``one_piece``: it does not bend in the middle, as a trailer behind a cab does.
    """

    name: str
    symmetric: bool = False
    rigid: bool = True
    one_piece: bool = True

    def label(self, labels: LabelSet) -> int:
        """Its id in a vocabulary: of its own class, a broader one, or other objects; else that of unlabelled ones."""
        for category in (self.name, "object"):
            if (found := labels.id_of_category(category)) is not None:
                return found
        return labels.unlabelled_id


CATEGORIES = {
    item.name: item
    for item in (
        Category("car", symmetric=True),
        Category("van", symmetric=True),
        Category("bus", symmetric=True),
        Category("truck", symmetric=True),
        Category("tram", symmetric=True, one_piece=False),
        Category("trailer", symmetric=True, one_piece=False),
        Category("construction vehicle"),
        Category("other vehicle"),
        Category("bicycle"),
        Category("motorcycle"),
        Category("pedestrian", rigid=False),
        Category("cyclist", rigid=False),
        Category("motorcyclist", rigid=False),
        Category("animal", rigid=False),
        Category("traffic sign"),
        Category("cone"),
        Category("barrier"),
        Category("bollard"),
        Category("other object"),
    )
}

# Class names as words: KITTI tracklets, Argoverse 1 and 2 (taxonomy of the sensor data set), nuScenes (category
# table) and PandaSet (cuboid labels). The first row with a set of words that are all in the name decides.
_SPELLINGS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("motorcyclist", ("motorcyclist",)),
    ("cyclist", ("cyclist", "bicyclist", "wheeled rider", "rider")),
    ("pedestrian", ("pedestrian", "person", "stroller", "wheelchair", "official signaler")),
    ("animal", ("animal", "animals", "dog")),
    ("motorcycle", ("motorcycle", "motorized scooter", "moped")),
    ("bicycle", ("bicycle", "scooter", "wheeled device")),
    ("trailer", ("trailer", "towed")),
    ("construction vehicle", ("construction vehicle", "construction machine", "excavator")),
    ("tram", ("tram", "train", "subway", "railed vehicle")),
    ("bus", ("bus", "articulated bus", "school bus")),
    ("car", ("pickup", "car", "regular vehicle", "passenger vehicle")),
    ("truck", ("truck", "semi", "large vehicle")),
    ("van", ("van",)),
    ("traffic sign", ("sign", "stop sign", "message board")),
    ("cone", ("cone", "cones", "trafficcone")),
    ("barrier", ("barrier", "barriers", "construction barrel", "temporary construction barriers")),
    ("bollard", ("bollard",)),
    ("other vehicle", ("vehicle",)),
)


def find_category(name: str) -> Category:
    """The category of a dataset's class name; an unknown one keeps its name and counts as another object."""
    words = re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()
    if words in CATEGORIES:
        return CATEGORIES[words]
    given = set(words.split())
    for category, spellings in _SPELLINGS:
        if any(set(spelling.split()) <= given for spelling in spellings):
            return CATEGORIES[category]
    return Category(words or "other object")
