"""nuScenes' vocabulary: categories, attributes and visibility, and which of them an object gets.

Names are those of the category and attribute tables that nutonomy/nuscenes-devkit documents (docs/schema_nuscenes.md,
docs/instructions_nuscenes.md); the devkit knows no others.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from resweep.categories import find_category
from resweep.labels import LabelSet, list_broader_categories, load_labels

Row = dict[str, Any]
LABELS = load_labels("nuscenes-lidarseg")
LABELS_BY_NAME = {item.name: label for label, item in LABELS.classes.items()}
NOISE = LABELS.class_name(LABELS.unlabelled_id)
CHANNEL = "LIDAR_TOP"
# The speed from which an object moves; mmdetection3d draws the same line where it gives detections an attribute.
MOVING_MPS = 0.2
_CYCLES = ("vehicle.bicycle", "vehicle.motorcycle", "human.pedestrian.personal_mobility")
_WALKERS = ("adult", "child", "construction_worker", "police_officer")
_ATTRIBUTES = {
    "vehicle.moving": "Vehicle is moving.",
    "vehicle.stopped": "Vehicle stands now, and moves at another time of the scene.",
    "vehicle.parked": "Vehicle stands throughout the scene.",
    "cycle.with_rider": "There is a rider on the bicycle or motorcycle.",
    "cycle.without_rider": "There is no rider on the bicycle or motorcycle.",
    "pedestrian.sitting_lying_down": "The human is sitting or lying down.",
    "pedestrian.standing": "The human is standing.",
    "pedestrian.moving": "The human is moving.",
}
# Upper bound of a level, as the share of the object that is seen; its token and name.
_VISIBILITY = ((0.4, "1", "v0-40"), (0.6, "2", "v40-60"), (0.8, "3", "v60-80"), (1.0, "4", "v80-100"))


def make_token(*parts: object) -> str:
    """32 hexadecimal digits that depend on the ``parts`` alone, so that the same log gives the same bytes."""
    return hashlib.md5("/".join(map(str, parts)).encode(), usedforsecurity=False).hexdigest()


def make_common_tables() -> dict[str, list[Row]]:
    """The tables that all logs share, the same rows in each: what two outputs have in common is the same record."""
    return {
        "attribute": [
            {"token": make_attribute_token(name), "name": name, "description": text}
            for name, text in _ATTRIBUTES.items()
        ],
        "category": [
            {"token": make_category_token(item.name), "name": item.name, "description": "", "index": label}
            for label, item in sorted(LABELS.classes.items())
        ],
        "sensor": [{"token": make_sensor_token(), "channel": CHANNEL, "modality": "lidar"}],
        "visibility": [
            {"token": token, "level": level, "description": "share of its returns, without occlusion, that are there"}
            for _, token, level in _VISIBILITY
        ],
    }


def make_attribute_token(name: str) -> str:
    """The token of an attribute."""
    return make_token("attribute", name)


def make_category_token(name: str) -> str:
    """The token of a category."""
    return make_token("category", name)


def make_sensor_token() -> str:
    """The token of the one sensor."""
    return make_token("sensor", CHANNEL)


def make_visibility_token(share: float) -> str:
    """The token of the level for the share of an object that is seen; "" where it is unknown (NaN)."""
    if np.isnan(share):
        return ""
    return next(token for top, token, _ in _VISIBILITY if share <= top or top == 1.0)


def classify(name: str, label: int = 0, labels: LabelSet | None = None) -> str:
    """nuScenes' name for an object's class, `NOISE` where it has none.

    ``name`` is the class as any dataset spells it, ``label`` the id of the object's returns in the vocabulary
    ``labels``. A name that contradicts a label is taken for a proper name, as simulated actors have them.
    """
    if name in LABELS_BY_NAME:
        return name
    category = find_category(name).name
    if labels is not None and (known := list_broader_categories(labels.category(label))[0]):
        category = category if known in list_broader_categories(category) else known
    found = LABELS.id_of_category(category)
    return NOISE if found is None else LABELS.class_name(found)


def choose_attribute(category: str, name: str, speed: float, speeds: Iterable[float]) -> str:
    """The attribute of an object of nuScenes' ``category``, "" where there is none or its speed is unknown (NaN).

    ``name`` is its class as its dataset spells it, which may name a rider; ``speed`` that of now and ``speeds`` those
    at all times of the scene, metres a second.
    """
    kind = category.rpartition(".")[2]
    if category in _CYCLES:
        if find_category(name).name in ("cyclist", "motorcyclist"):
            return "cycle.with_rider"
        moves = speed > MOVING_MPS
        return "" if np.isnan(speed) else f"cycle.{'with' if moves else 'without'}_rider"
    if np.isnan(speed):
        return ""
    if category.startswith("human.pedestrian.") and kind in _WALKERS:
        return "pedestrian.moving" if speed > MOVING_MPS else "pedestrian.standing"
    if category.startswith("vehicle.") and kind != "ego":
        if speed > MOVING_MPS:
            return "vehicle.moving"
        return "vehicle.stopped" if any(other > MOVING_MPS for other in speeds) else "vehicle.parked"
    return ""


def warn_unnamed(where: str, what: str, names: Sequence[str]) -> None:
    """Warn of classes for which nuScenes has no name, if there are any."""
    if names:
        classes = ", ".join(names)
        warnings.warn(
            f"{where}: nuScenes has no class for these {what}, which are now {NOISE}: {classes}", stacklevel=6
        )
