"""Range images whose pixels lead to beams, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.pose import Array
from resweep.sweep import Sweep
from resweep.viewer.sweep_grid import angles_deg

_EMPTY = np.array([26, 31, 38], np.uint8)
_ROWS, _COLUMNS = 96, 720
_MARK = np.array([255, 255, 255], np.uint8)


@dataclass(frozen=True, eq=False)
class BeamImage:
    """A sweep by azimuth (left is positive, as seen from the sensor) and elevation.

    ``beam`` (h, w) is the beam of each pixel, -1 where none looks; ``row`` and ``column`` (b,) the pixel of each beam.
    ``shown`` (h, w) is the nearest return of the beam, -1 for none.
    """

    beam: Array
    shown: Array
    row: Array
    column: Array

    def draw(self, rgb: Array, marked: int | None = None) -> Array:
        """The picture (h, w, 3) uint8 with the colours ``rgb`` (n, 3) of the returns; a beam may be ``marked``."""
        image = np.where(self.shown[..., None] >= 0, rgb[self.shown], _EMPTY) if len(rgb) else self._empty()
        if marked is not None:
            height, width = self.beam.shape
            row, column = int(self.row[marked]), int(self.column[marked])
            image[row, max(0, column - 12) : max(0, column - 2)] = _MARK
            image[row, min(width, column + 3) : min(width, column + 13)] = _MARK
            image[max(0, row - 8) : max(0, row - 2), column] = _MARK
            image[min(height, row + 3) : min(height, row + 9), column] = _MARK
        return np.asarray(image, np.uint8)

    def find_beam(self, u: float, v: float) -> int | None:
        """The beam at a place of the picture, 0 to 1 from the left and from the top; the nearest within few pixels."""
        height, width = self.beam.shape
        if not (0.0 <= u <= 1.0 and 0.0 <= v <= 1.0):
            return None
        row, column = min(int(v * height), height - 1), min(int(u * width), width - 1)
        top, left = max(0, row - 2), max(0, column - 2)
        near = self.beam[top : row + 3, left : column + 3]
        rows, columns = np.nonzero(near >= 0)
        if not len(rows):
            return None
        apart = (rows + top - row) ** 2 + (columns + left - column) ** 2
        best = int(np.argmin(apart))
        return int(near[rows[best], columns[best]])

    def _empty(self) -> Array:
        return np.broadcast_to(_EMPTY, (*self.beam.shape, 3)).copy()


def make_range_image(sweep: Sweep, rows: int | None = None, columns: int = _COLUMNS) -> BeamImage:
    """The range image of a sweep: a row a ring where it has rings, else equal steps of elevation."""
    azimuth, elevation = angles_deg(sweep.beam_direction)
    row, height, each = _find_rows(sweep, elevation, rows)
    low, high = (float(azimuth.min()), float(azimuth.max())) if len(azimuth) else (-180.0, 180.0)
    span = max(high - low, 1e-6)
    column = np.clip(((high - azimuth) / span * columns).astype(np.int64), 0, columns - 1)
    nearest = np.full(sweep.n_beams, -1)
    far_first = np.argsort(-sweep.range, kind="stable")
    nearest[sweep.beam[far_first]] = far_first
    lines = np.full((height // each, columns), -1)
    # Of several beams in a pixel the one with the nearest return is shown, and one with a return before one without.
    depth = np.where(nearest >= 0, sweep.range[nearest] if len(sweep) else 0.0, np.inf)
    order = np.argsort(-depth, kind="stable")
    lines[row[order] // each, column[order]] = order
    beam = np.repeat(lines, each, axis=0)
    shown = np.where(beam >= 0, nearest[beam], -1) if sweep.n_beams else beam
    return BeamImage(beam, shown, row, column)


def _find_rows(sweep: Sweep, elevation: Array, rows: int | None) -> tuple[Array, int, int]:
    """The row (b,) of each beam, the number of rows, and how many each line of beams takes."""
    rings = np.unique(sweep.beam_ring)
    if len(rings) >= 4:
        level = np.array([np.median(elevation[sweep.beam_ring == ring]) for ring in rings])
        rank = np.empty(len(rings), np.int64)
        rank[np.argsort(-level, kind="stable")] = np.arange(len(rings))
        each = max(1, (rows or _ROWS) // len(rings))
        return each * rank[np.searchsorted(rings, sweep.beam_ring)] + each // 2, each * len(rings), each
    height = rows or _ROWS
    low, high = (float(elevation.min()), float(elevation.max())) if len(elevation) else (-1.0, 1.0)
    return np.clip(((high - elevation) / max(high - low, 1e-6) * height).astype(np.int64), 0, height - 1), height, 1
