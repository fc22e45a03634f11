"""The labels and reflectances that the procedural places are painted with.

Labels are SemanticKITTI ids, so a simulated street can be scored by the tools made for that data
set (ids as listed in its ``semantic-kitti.yaml``). Everything that grows and is not wood is
``VEGETATION``: leaves, shrubs and standing grass. ``TERRAIN`` is the ground beneath it, which
SemanticKITTI also uses for mown lawn; keeping tall grass apart from it lets one count how many
returns reached the ground.
"""

from __future__ import annotations

from enum import IntEnum


class Label(IntEnum):
    """SemanticKITTI class ids used by the scenes."""

    UNLABELED = 0
    CAR = 10
    ROAD = 40
    PARKING = 44
    SIDEWALK = 48
    BUILDING = 50
    FENCE = 51
    OTHER_STRUCTURE = 52
    VEGETATION = 70
    TRUNK = 71
    TERRAIN = 72
    POLE = 80
    TRAFFIC_SIGN = 81
    OTHER_OBJECT = 99


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
