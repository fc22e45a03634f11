"""What learned models know of each beam: the channels of D (4.2), by beam and as an image of rings × columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from resweep import portable
from resweep.calibration import find_blind_bins
from resweep.errors import ResweepError
from resweep.labels import LabelSet, list_broader_categories
from resweep.pose import Array
from resweep.simulate.ring_order import order_along_rings
from resweep.sweep import Sweep
from resweep.worlds.layers.seen import COMPLETED, unpack_seen

# D, footnote 1: real-valued, integer-valued and binary ones, in this order; and one of ours.
CHANNELS = (
    "range_m",
    "intensity",
    "incidence_deg",
    "original_range_m",
    "original_incidence_deg",
    "laser",
    "class",
    "occupancy",
    "blind",  # ours: how often the laser came back empty towards that azimuth, whatever was there
)
# What means the same for another sensor: material, incidence, and range against the maximum range. The number of a
# laser, and where it is blind, mean nothing there.
TRANSFERABLE = tuple(name for name in CHANNELS if name not in ("laser", "blind"))
_RANGES = ("range_m", "original_range_m")
_FULL_RANGE = 100.0  # what the maximum range counts as in channels that are transferred
REAL = 5  # of the channels that are measures; the others are numbers of lasers and classes, and a mark
CLASSES = ("background", "road", "vehicle")
NEEDED = ("seen", "cosine")  # extra columns of the sweeps that channels are made from
_MIN_COSINE = 0.1  # below it reflectance was not divided by the cosine any further


@dataclass(frozen=True, eq=False)
class BeamChannels:
    """The channels of the beams of one simulated sweep.

    ``values`` (b, 9) float32 has the columns `CHANNELS`, of the first return on each beam; where nothing returned all
    but the laser are 0. Its columns lie one after the other in memory. ``turn`` (b,) float32 is where in the turn each
    beam was fired, from 0 to 1, ``azimuth`` (b,) int16 the bin of its azimuth
    (`resweep.calibration.find_blind_bins`). ``surface`` (b,) marks those that hit a surface, and not a volume.
    """

    values: Array
    turn: Array
    azimuth: Array
    surface: Array

    def __len__(self) -> int:
        """Number of beams."""
        return len(self.values)

    @property
    def occupied(self) -> Array:
        """Whether each beam (b,) returned in simulation."""
        return np.asarray(self.values[:, CHANNELS.index("occupancy")] > 0)

    @property
    def laser(self) -> Array:
        """The laser (b,) of each beam."""
        return self.values[:, CHANNELS.index("laser")].astype(np.int64)

    def with_blind(self, share: Array | None) -> BeamChannels:
        """The channels with ``share`` (rings, bins) of beams that came back empty; None if it is not known."""
        values = self.values.copy(order="K")
        blind = values[:, CHANNELS.index("blind")]
        blind[:] = 0.0
        if share is not None:
            laser = self.laser
            known = np.flatnonzero(self.occupied & (laser < len(share)))
            bins = share.shape[1]
            blind[known] = share.ravel()[laser[known] * bins + self.azimuth[known]]
        return replace(self, values=values)

    def transferred(self, range_max_m: float) -> BeamChannels:
        """The channels with what means the same for another sensor (`TRANSFERABLE`), and zeros for the rest.

        Ranges are in hundredths of ``range_max_m``, the maximum range of the sensor.
        """
        values = self.values.copy(order="K")
        for name in CHANNELS:
            if name not in TRANSFERABLE:
                values[:, CHANNELS.index(name)] = 0.0
            elif name in _RANGES:
                values[:, CHANNELS.index(name)] *= np.float32(_FULL_RANGE / range_max_m)
        return replace(self, values=values)

    def find_cells(self, columns: int) -> Array:
        """The cell (b,) of each beam in an image of ``columns`` columns, counted row by row; a row is a laser."""
        column = np.minimum((self.turn.astype(np.float64) * columns).astype(np.int64), columns - 1)
        return np.asarray(self.laser * columns + column)

    def to_image(self, rows: int, columns: int) -> Array:
        """The channels as an image (9, rows, columns), 0 but for the laser in cells without a return.

        Of several returns in one cell the last is shown.
        """
        image: Array = np.zeros((len(CHANNELS), rows * columns), np.float32)
        occupied = np.flatnonzero(self.occupied)
        cells = self.find_cells(columns)[occupied]
        for channel, values in zip(image, self.values.T, strict=True):
            channel[cells] = values[occupied]
        image = image.reshape(-1, rows, columns)
        image[CHANNELS.index("laser")] = np.arange(rows)[:, None]
        return image


def find_channels(
    sweep: Sweep, labels: LabelSet, use_classes: bool = True, incidence_exponent: float = 1.0
) -> BeamChannels:
    """The channels of a sweep that was simulated with the columns `NEEDED` (`Tracer.with_hits`).

    ``labels`` is its vocabulary. Without ``use_classes`` everything counts as background, as in places whose
    labels are unknown. The original range and incidence are the middles of the recorded intervals. Primitives of which
    no return was recorded have those of the return itself. Intensities should be without the gains of lasers, which
    networks learn; ``incidence_exponent`` is the power of the cosine by which those of surfaces fall.
    """
    missing = [name for name in NEEDED if name not in sweep.extra]
    if missing:
        raise ResweepError(f"sweep: has no column '{missing[0]}' of what was hit; trace it with Tracer.with_hits")
    # A slice of all costs nothing, where there is one return a beam.
    first: Any = slice(None) if not sweep.return_index.any() else np.flatnonzero(sweep.return_index == 0)
    beam = sweep.beam[first]
    cosine = np.clip(sweep.extra["cosine"][first], 0.0, 1.0).astype(np.float64)
    incidence = _to_degrees(cosine)
    record = sweep.extra["seen"][first]
    original_range, original_incidence, original_cosine = _find_original(record, sweep.range[first], incidence, cosine)
    # D's intensity is the recorded one; the simulated has been brought to another incidence.
    ratio = np.maximum(original_cosine, _MIN_COSINE) / np.maximum(cosine, _MIN_COSINE)
    back = ratio if incidence_exponent == 1.0 else portable.power(ratio, incidence_exponent)
    solid = sweep.extra["primitive"][first] != VOLUMES
    back = np.where(solid, back, 1.0)
    values = np.zeros((len(CHANNELS), sweep.n_beams), np.float32).T
    values[:, CHANNELS.index("laser")] = sweep.beam_ring
    kinds = find_classes(sweep.label[first], labels) if use_classes else np.zeros(len(beam), np.int64)
    columns = {
        "range_m": sweep.range[first],
        "intensity": sweep.intensity[first] * back,
        "incidence_deg": incidence,
        "original_range_m": original_range,
        "original_incidence_deg": original_incidence,
        "class": kinds,
        "occupancy": 1.0,
    }
    for name, column in columns.items():
        values[beam, CHANNELS.index(name)] = column
    surface = np.zeros(sweep.n_beams, bool)
    surface[beam] = solid
    return BeamChannels(values, find_turn(sweep), find_blind_bins(sweep.beam_direction).astype(np.int16), surface)


VOLUMES = 3  # the kind of primitive, as returns have it


def find_turn(sweep: Sweep) -> Array:
    """Where in the turn each beam (b,) of a sweep was fired, from 0 to 1, float32."""
    column = sweep.beam_column.astype(np.float64)
    if len(column) == 0:
        return np.zeros(0, np.float32)
    return np.asarray((column - column.min() + 0.5) / (column.max() - column.min() + 1.0), np.float32)


def number_beams(channels: BeamChannels) -> Array:
    """The number (b,) of each beam on its ring, from 0, in the order in which they are fired."""
    ring = channels.laser
    order = order_along_rings(ring, channels.turn)
    ring = ring[order]
    first = np.flatnonzero(np.diff(ring, prepend=-1))
    number = np.empty(len(order), np.int64)
    number[order] = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
    return number


def find_classes(label: Array, labels: LabelSet) -> Array:
    """The number in `CLASSES` of each label (n,)."""
    if len(label) == 0:
        return np.zeros(0, np.int64)
    least = int(label.min())
    count = np.bincount(label - least)  # labels are small numbers: a table is faster than sorting them
    kinds = np.zeros(len(count), np.int64)
    for at in np.flatnonzero(count).tolist():
        kinds[at] = _find_class(labels.category(at + least))
    return np.asarray(kinds[label - least])


@cache
def _find_class(category: str) -> int:
    broader = list_broader_categories(category)
    return next((number for number, name in enumerate(CLASSES) if number and name in broader), 0)


def _find_original(record: Array, ranges: Array, incidence: Array, cosine: Array) -> tuple[Array, Array, Array]:
    """Middle of the recorded ranges and incidences (n,) of packed records, and its cosine; what is given if unknown."""
    level_range, level_incidence, level_cosine = _list_levels()
    low, high, least, largest = (record >> np.uint32(shift) & np.uint32(63) for shift in (19, 13, 7, 1))
    nothing = (record == 0) | ((record & COMPLETED) > 0)
    across, both = low + high, least + largest
    columns = ((ranges, level_range[across]), (incidence, level_incidence[both]), (cosine, level_cosine[both]))
    first, second, third = (np.where(nothing, own, known) for own, known in columns)
    return first, second, third


@cache
def _list_levels() -> tuple[Array, Array, Array]:
    """Middle range, middle incidence and its cosine, by the sum of the two levels of a record."""
    sums = np.arange(127, dtype=np.uint32)
    half, rest = sums // 2, sums - sums // 2
    seen = unpack_seen(half << np.uint32(19) | rest << np.uint32(13) | half << np.uint32(7) | rest << np.uint32(1))
    incidence = (seen.incidence_min_deg + seen.incidence_max_deg) / 2
    return np.sqrt(seen.range_min_m * seen.range_max_m), incidence, portable.cos(np.radians(incidence))


def _to_degrees(cosine: Array) -> Array:
    return np.asarray(90.0 - np.degrees(portable.arcsin(cosine)))
