"""The map of a written nuScenes scene: where its ground was seen, as the mask that the devkit draws under scans.

A mask has 0.1 m a pixel and its lower left corner at the origin of the global frame (`MapMask` of the devkit), so
global coordinates of a scene begin at a corner south-west of its drive. Pixels within half a metre of a return on
the road or a sidewalk are foreground; of a log without labels the mask is empty.
"""

from __future__ import annotations

import warnings
import zlib
from pathlib import Path

import numpy as np

from resweep.io.datasets.nuscenes.classes import LABELS
from resweep.io.returns_image import assemble_png
from resweep.pose import Array

_PIXEL_M, _CELL_M = 0.1, 0.5
_PIXELS = round(_CELL_M / _PIXEL_M)  # along the edge of a cell
_MARGIN_M = 150.0  # of ground around the drive: the devkit cuts a square of 1.41 times the drawn range out of the mask
_MAX_M = 4000.0  # the devkit decodes a mask as a whole: 1.6 GB at this size
_GROUND = tuple(LABELS.id_of(name) for name in ("flat.driveable_surface", "flat.sidewalk"))


class GroundMask:
    """The mask of a drive along ``poses`` (n, 4, 4); ``origin`` (2,) is its corner in the log's world, metres."""

    def __init__(self, poses: Array, name: str = "") -> None:
        self.origin = self.find_origin(poses)
        extent = poses[:, :2, 3].max(axis=0) + _MARGIN_M - self.origin
        if extent.max() > _MAX_M:
            warnings.warn(
                f"log '{name}': its drive is {extent.max() / 1000:.1f} km wide; the mask of its nuScenes map covers "
                f"the first {_MAX_M / 1000:g} km",
                stacklevel=4,
            )
        columns, rows = np.ceil(np.minimum(extent, _MAX_M) / _CELL_M).astype(int).tolist()
        self._seen = np.zeros((rows, columns), bool)  # row 0 is the southernmost

    @staticmethod
    def find_origin(poses: Array) -> Array:
        """The corner (2,) of the mask of a drive, whole metres."""
        return np.asarray(np.floor(poses[:, :2, 3].min(axis=0) - _MARGIN_M))

    def add(self, points: Array, label: Array) -> None:
        """Mark where points (n, 3) in the log's world, of labels (n,) in nuScenes' vocabulary, lie on the ground."""
        ground = points[np.isin(label, _GROUND), :2]
        cell = np.floor((ground - self.origin) / _CELL_M).astype(np.int64)
        inside = ((cell >= 0) & (cell < np.array(self._seen.shape)[::-1])).all(axis=1)
        self._seen[cell[inside, 1], cell[inside, 0]] = True

    def encode(self) -> bytes:
        """The mask as a PNG of 8-bit grey: 255 on seen ground, 0 elsewhere; north is up."""
        rows, columns = self._seen.shape
        packer, data = zlib.compressobj(6), bytearray()
        for row in self._seen[::-1]:
            line = b"\0" + (np.repeat(row, _PIXELS) * np.uint8(255)).tobytes()  # each line begins with its filter: none
            data += packer.compress(line * _PIXELS)
        data += packer.flush()
        return assemble_png(columns * _PIXELS, rows * _PIXELS, 0, bytes(data))


def name_map_file(logfile: str) -> Path:
    """Where the mask of a log lies in its dataset."""
    return Path("maps") / f"{logfile}.png"
