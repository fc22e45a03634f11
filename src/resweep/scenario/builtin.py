"""The built-in bank: objects made of plain shapes, for scenarios without a recording."""

from __future__ import annotations

from functools import lru_cache

from resweep.categories import OBJECT_LABELS, find_category
from resweep.pose import from_xyz_rpy
from resweep.scenario.assets import Asset
from resweep.scenario.bank import Bank
from resweep.scenes import car
from resweep.scenes.moving_traffic import (
    make_animal,
    make_barrier,
    make_cone,
    make_debris,
    make_pedestrian,
    make_vehicle,
)
from resweep.scenes.scene_labels import Label
from resweep.worlds import Mesh

SOURCE = "built-in"


@lru_cache(maxsize=1)
def builtin_bank() -> Bank:
    """Three cars, a van, a bus, a truck, a pedestrian, an animal, and what blocks a lane."""
    shapes = {
        "hatchback": ("car", car(length_m=3.9, width_m=1.7, height_m=1.5, reflectance=0.6)),
        "saloon": ("car", car(length_m=4.7, width_m=1.85, height_m=1.45, reflectance=0.35)),
        "suv": ("car", car(length_m=4.6, width_m=1.95, height_m=1.75, reflectance=0.15)),
        "van": ("van", make_vehicle(5.3, 1.95, 2.3, Label.CAR, "van")),
        "bus": ("bus", make_vehicle(12.0, 2.55, 3.1, Label.BUS, "bus")),
        "truck": ("truck", make_vehicle(8.5, 2.5, 3.5, Label.TRUCK, "truck")),
        "pedestrian": ("pedestrian", make_pedestrian()),
        "deer": ("animal", make_animal()),
        "cone": ("cone", make_cone()),
        "barrier": ("barrier", make_barrier()),
        "debris": ("other object", make_debris()),
    }
    return Bank(
        [make_builtin_asset(name, category, mesh) for name, (category, mesh) in shapes.items()], {"source": SOURCE}
    )


def make_builtin_asset(name: str, category: str, mesh: Mesh) -> Asset:
    """An asset from a mesh of this package, set down on the ground in the middle of its footprint."""
    low, high = mesh.bounds
    x, y = (low + high)[:2] / 2
    kind = find_category(category)
    return Asset(
        name=name,
        label=kind.label(OBJECT_LABELS),
        category=kind.name,
        size_m=tuple((high - low).tolist()),
        layers=(mesh.moved(from_xyz_rpy(-float(x), -float(y), -float(low[2]))),),
        source=(SOURCE, -1),
        labels=OBJECT_LABELS,
    )
