"""Colours of points, whatever a format calls them and counts them to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.worlds.layers.colour_reflectance import LUMINANCE, linearise_srgb

COLOURS = ("red", "green", "blue")  # extra columns of sweeps and layers, 8 bits each

# LAS and PLY say red, E57 colorRed (ASTM E2807), MeshLab's older files diffuse_red, CloudCompare's scalars scalar_R.
_NAMES = (
    COLOURS,
    ("r", "g", "b"),
    ("colorred", "colorgreen", "colorblue"),
    ("diffuse_red", "diffuse_green", "diffuse_blue"),
    ("scalar_r", "scalar_g", "scalar_b"),
)
_PACKED = ("rgb", "rgba")  # of PCD: the bits of a float or of an integer, 0xRRGGBB
_MAX_8_BIT, _MAX_16_BIT = 255.0, 65535.0  # white of the formats; LAS has 16 bits


def read_colours(extra: Mapping[str, Array]) -> Array | None:
    """Colours (n, 3) float64 among the further columns of points, as the file counts them; None if there are none."""
    by_name = {name.lower(): np.asarray(values) for name, values in extra.items()}
    for names in _NAMES:
        if all(name in by_name and by_name[name].ndim == 1 for name in names):
            return np.stack([by_name[name].astype(np.float64) for name in names], axis=1)
    for name in _PACKED:
        if name in by_name and by_name[name].ndim == 1 and by_name[name].dtype.itemsize == 4:
            bits = by_name[name].view(np.uint32)
            return np.stack([(bits >> shift) & 0xFF for shift in (16, 8, 0)], axis=1).astype(np.float64)
    return None


@dataclass(frozen=True)
class ColourScale:
    """What colours of a cloud count to: ``full`` is white. ``wrong`` of them lie outside or are no numbers."""

    full: float
    wrong: int = 0

    @classmethod
    def find(cls, values: Array) -> ColourScale | None:
        """The scale of colours (n, 3): 1, 255 or 65535, the least that holds all; None where all are black.

        LAS counts to 65535, but many programs write 8 bits as they are.
        """
        good = np.isfinite(values) & (values >= 0.0) & (values <= _MAX_16_BIT)
        highest = float(values[good].max(initial=0.0))
        if highest == 0.0:
            return None
        whole = bool((values[good] == np.floor(values[good])).all())
        full = 1.0 if highest <= 1.0 and not whole else _MAX_8_BIT if highest <= _MAX_8_BIT else _MAX_16_BIT
        return cls(full, int((~good).any(axis=1).sum()))

    def to_bytes(self, values: Array) -> Array:
        """Colours (n, 3) uint8; what lies outside the scale is clipped, what is no number is black."""
        scaled = np.nan_to_num(values, nan=0.0, posinf=self.full, neginf=0.0) * (_MAX_8_BIT / self.full)
        return np.asarray(np.clip(np.rint(scaled), 0.0, _MAX_8_BIT).astype(np.uint8))


def find_luminance(colour: Array) -> Array:
    """Relative luminance (n,) float32, 0 to 1, of sRGB colours (n, 3) uint8."""
    linear = linearise_srgb(np.arange(256) / _MAX_8_BIT)[colour]
    return np.asarray(portable.matmul(linear, LUMINANCE), np.float32)
