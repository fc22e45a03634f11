"""Names of the classes that labels stand for, and which of them are thin."""

from __future__ import annotations

# Label ids and what they mean are SemanticKITTI's (semantic-kitti.yaml).
CLASS_NAMES: dict[int, str] = {
    0: "unlabelled",
    1: "outlier",
    10: "car",
    11: "bicycle",
    13: "bus",
    15: "motorcycle",
    16: "on rails",
    18: "truck",
    20: "other vehicle",
    30: "person",
    31: "bicyclist",
    32: "motorcyclist",
    40: "road",
    44: "parking",
    48: "pavement",
    49: "other ground",
    50: "building",
    51: "fence",
    52: "structure",
    60: "lane marking",
    70: "vegetation",
    71: "trunk",
    72: "ground",
    80: "pole",
    81: "traffic sign",
    99: "other object",
    252: "moving car",
    253: "moving bicyclist",
    254: "moving person",
    255: "moving motorcyclist",
    256: "moving train",
    257: "moving bus",
    258: "moving truck",
    259: "moving vehicle",
}

# Fences, poles and traffic signs (C, table 3).
THIN_LABELS: tuple[int, ...] = (51, 80, 81)


def class_name(label: int) -> str:
    """What a label stands for; an unknown one is called by its number."""
    return CLASS_NAMES.get(label, f"label {label}")
