"""The labels and reflectances of the procedural places.

Labels are those of SemanticKITTI (`SCENE_LABELS`), so that tools made for that data set can score a simulated street.
``VEGETATION`` is all that grows and is not wood: leaves, shrubs and standing grass. ``TERRAIN`` is the ground below,
which in SemanticKITTI includes mown lawn. Tall grass is not part of it, so that returns from the ground can be counted.
"""

from __future__ import annotations

from enum import IntEnum

from resweep.labels import load_labels

SCENE_LABELS = load_labels("semantickitti")


class Label(IntEnum):
    """The classes of `SCENE_LABELS` that the scenes use, by their ids."""

    UNLABELED = SCENE_LABELS.id_of("unlabelled")
    CAR = SCENE_LABELS.id_of("car")
    BUS = SCENE_LABELS.id_of("bus")
    TRUCK = SCENE_LABELS.id_of("truck")
    PERSON = SCENE_LABELS.id_of("person")
    ROAD = SCENE_LABELS.id_of("road")
    PARKING = SCENE_LABELS.id_of("parking")
    SIDEWALK = SCENE_LABELS.id_of("pavement")
    BUILDING = SCENE_LABELS.id_of("building")
    FENCE = SCENE_LABELS.id_of("fence")
    OTHER_STRUCTURE = SCENE_LABELS.id_of("structure")
    VEGETATION = SCENE_LABELS.id_of("vegetation")
    TRUNK = SCENE_LABELS.id_of("trunk")
    TERRAIN = SCENE_LABELS.id_of("ground")
    POLE = SCENE_LABELS.id_of("pole")
    TRAFFIC_SIGN = SCENE_LABELS.id_of("traffic sign")
    OTHER_OBJECT = SCENE_LABELS.id_of("other object")


# Diffuse reflectance near 905 nm. Green leaves send back about half of the near infrared between 0.7
# and 1.3 µm (Knipling, Remote Sensing of Environment 1, 1970, 155-159); B, 3.2.2 takes natural
# materials as diffuse with ρ < 0.5. The others are round values of the order that spectral libraries
# give (Meerdink et al., The ECOSTRESS spectral library 1.0, Remote Sensing of Environment 230, 2019).
GRASS_REFLECTANCE = 0.4
LEAF_REFLECTANCE = 0.45
BARK_REFLECTANCE = 0.3
SOIL_REFLECTANCE = 0.25
ASPHALT_REFLECTANCE = 0.15
CONCRETE_REFLECTANCE = 0.35
PLASTER_REFLECTANCE = 0.5
BRICK_REFLECTANCE = 0.35
GLASS_REFLECTANCE = 0.05
METAL_REFLECTANCE = 0.4
PAINT_REFLECTANCE = 0.5
SIGN_REFLECTANCE = 0.8
