"""The classes of objects: one name and label for what each dataset spells its own way.

Labels are SemanticKITTI's ids (``semantic-kitti.yaml``), as in the scenes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_OTHER_OBJECT = 99


@dataclass(frozen=True)
class Category:
    """A class of objects.

    ``symmetric``: left and right are alike. ``rigid``: its parts do not move against each other, so that many
    sweeps make one shape. ``one_piece``: it does not bend in the middle, as a trailer behind a cab does.
    """

    name: str
    label: int = _OTHER_OBJECT
    symmetric: bool = False
    rigid: bool = True
    one_piece: bool = True


CATEGORIES = {
    item.name: item
    for item in (
        Category("car", 10, symmetric=True),
        Category("van", 10, symmetric=True),
        Category("bus", 13, symmetric=True),
        Category("truck", 18, symmetric=True),
        Category("tram", 16, symmetric=True, one_piece=False),
        Category("trailer", 20, symmetric=True, one_piece=False),
        Category("construction vehicle", 20),
        Category("other vehicle", 20),
        Category("bicycle", 11),
        Category("motorcycle", 15),
        Category("pedestrian", 30, rigid=False),
        Category("cyclist", 31, rigid=False),
        Category("motorcyclist", 32, rigid=False),
        Category("animal", _OTHER_OBJECT, rigid=False),
        Category("traffic sign", 81),
        Category("cone"),
        Category("barrier"),
        Category("bollard"),
        Category("other object"),
    )
}

# Class names as words: KITTI tracklets, Argoverse 1 and 2 (taxonomy of the sensor data set), nuScenes (category
# table) and PandaSet (cuboid labels). The first row one of whose words are all in a name decides.
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


def category_of(name: str) -> Category:
    """The category of a dataset's class name; an unknown one keeps its name, with the label of other objects."""
    words = re.sub(r"[^a-z0-9]+", " ", name.lower()).strip()
    if words in CATEGORIES:
        return CATEGORIES[words]
    given = set(words.split())
    for category, spellings in _SPELLINGS:
        if any(set(spelling.split()) <= given for spelling in spellings):
            return CATEGORIES[category]
    return Category(words or "other object")
