"""Matching of simulated and real beams, and the range images of the matched ones."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from resweep.evaluation.metrics.nearest import Nearest
from resweep.pose import Array, inverse, transform
from resweep.sweep import Sweep

_SAME_DIRECTION_RAD = 2e-4  # well below the steps of any scanner, well above what file formats round
_SAME_PLACE_M, _SAME_ATTITUDE_RAD = 1e-3, 1e-4
_NEAR_PLACE_M, _NEAR_ATTITUDE_RAD = 0.1, 1e-2  # corrections of poses stay below these; another view lies beyond
_PROBES, _NEIGHBOURS = 2000, 8
_RING_SPREAD = 0.01  # sine of the elevation within a ring: calibration stays below it, rosettes far above
_ROWS, _COLUMNS = 64, 1024  # of the image of a scan without rings


@dataclass(frozen=True)
class ComparedBeams:
    """One sweep beam by beam: ``direction`` (b, 3), and the first return on each.

    ``range`` (b,) metres is NaN where nothing returned, ``intensity`` and ``label`` (b,) are 0 there.
    """

    direction: Array
    range: Array
    intensity: Array
    label: Array

    @property
    def returned(self) -> Array:
        """Whether each beam returned (b,) bool."""
        return np.isfinite(self.range)


@dataclass(frozen=True)
class Match:
    """Pairs of beams: rows ``sim`` (m,) and ``real`` (m,) without repeats, and ``how`` they were matched.

    ``apart_rad`` is the median angle between matched beams, 0 where they are the same.
    """

    sim: Array
    real: Array
    how: str
    apart_rad: float = 0.0


NO_MATCH = Match(np.empty(0, np.int64), np.empty(0, np.int64), "nothing")


def find_first_returns(sweep: Sweep) -> Array:
    """Index (b,) of the first reported return of each beam, -1 where there is none."""
    first = np.full(sweep.n_beams, -1, dtype=np.int64)
    latest_first = np.argsort(-sweep.return_index.astype(np.int16), kind="stable")
    first[sweep.beam[latest_first]] = latest_first
    return first


def make_comparable(sim: Sweep, real: Sweep, T_real_sim: Array) -> tuple[ComparedBeams, ComparedBeams]:
    """The beams of both sweeps in one frame.

    Where both sweeps were taken from the same place, and the motion during them is recorded in both or in
    neither, that is the sensor's frame at firing, with ranges as reported. Otherwise both are seen from the
    real sweep's pose with motion undone: a return's range is then its distance from that pose.
    """
    moved = np.linalg.norm(T_real_sim[:3, 3]) > _SAME_PLACE_M
    turned = np.abs(T_real_sim[:3, :3] - np.eye(3)).max() > _SAME_ATTITUDE_RAD
    if not moved and not turned and (sim.trajectory is None) == (real.trajectory is None):
        return _list_beams(sim, sim.beam_direction, sim.range), _list_beams(real, real.beam_direction, real.range)
    return _view_from(sim, T_real_sim), _view_from(real, np.eye(4))


def _view_from(sweep: Sweep, T_frame_sweep: Array) -> ComparedBeams:
    points = transform(T_frame_sweep, sweep.deskewed().astype(np.float64))
    distance = np.linalg.norm(points, axis=1)
    direction = sweep.deskewed_beams()[1] @ T_frame_sweep[:3, :3].T
    first = find_first_returns(sweep)
    hit = first >= 0
    direction[hit] = points[first[hit]] / np.maximum(distance[first[hit]], 1e-9)[:, None]
    return _list_beams(sweep, direction, distance)


def _list_beams(sweep: Sweep, direction: Array, distance: Array) -> ComparedBeams:
    first = find_first_returns(sweep)
    hit = first >= 0

    def column(values: Array, empty: float, dtype: type) -> Array:
        result: Array = np.full(sweep.n_beams, empty, dtype=dtype)
        result[hit] = values[first[hit]]
        return result

    return ComparedBeams(
        np.asarray(direction),
        column(distance, np.nan, np.float64),
        column(sweep.intensity, 0.0, np.float64),
        column(sweep.label, 0, np.int64),
    )


def match_beams(
    sim: Sweep,
    real: Sweep,
    beams: tuple[ComparedBeams, ComparedBeams],
    tolerance_rad: float | None = None,
    T_real_sim: Array | None = None,
) -> Match:
    """Pair the beams of two sweeps: by index, else by ring and column, else by nearest direction.

    By index where both sweeps fired the same beams in the sensor's frame, from about the same place: ``T_real_sim``
    is the motion between them (default: none). By ring and column only where the directions agree: many formats have no
    rings. A direction is near within ``tolerance_rad`` (default: half the spacing of the real beams).
    """
    fired_sim, fired_real = beams[0].direction, beams[1].direction
    if is_same_grid(sim, real, T_real_sim) or _is_same(fired_sim, fired_real):
        every = np.arange(len(fired_real))
        return Match(every, every, "index")
    if len(fired_sim) == 0 or len(fired_real) == 0:
        return replace(NO_MATCH, how="nothing: a sweep has no beams")
    tolerance = estimate_beam_spacing(fired_real) / 2 if tolerance_rad is None else tolerance_rad
    keys_sim, keys_real = _number_cells(sim), _number_cells(real)
    if keys_sim is not None and keys_real is not None:
        _, at_sim, at_real = np.intersect1d(keys_sim, keys_real, assume_unique=True, return_indices=True)
        enough = 2 * len(at_real) >= min(len(keys_sim), len(keys_real))
        if enough and _agree(fired_sim[at_sim], fired_real[at_real], 0.95, tolerance):
            apart = _find_median_angle(fired_sim[at_sim], fired_real[at_real])
            return Match(at_sim, at_real, "ring and column", apart)
    return _match_nearest(fired_sim, fired_real, tolerance)


def estimate_beam_spacing(direction: Array) -> float:
    """The angle in radians between neighbouring beams (b, 3): the side of a square of one beam's solid angle."""
    count = min(_NEIGHBOURS, len(direction) - 1)
    if count < 1:
        return float(np.radians(1.0))
    probes = direction[:: max(1, len(direction) // _PROBES)]
    radius, _ = Nearest(direction).find(probes, count + 1)
    return float(np.median(radius) * np.sqrt(np.pi / count))


def is_same_grid(sim: Sweep, real: Sweep, T_real_sim: Array | None) -> bool:
    """Whether two sweeps fired the same beams, from places so near that beam i of both is the same measurement."""
    if T_real_sim is not None:
        moved = float(np.linalg.norm(T_real_sim[:3, 3]))
        turned = float(np.abs(T_real_sim[:3, :3] - np.eye(3)).max())
        if moved > _NEAR_PLACE_M or turned > _NEAR_ATTITUDE_RAD:
            return False
    return _is_same(sim.beam_direction, real.beam_direction)


def _is_same(first: Array, second: Array) -> bool:
    return len(first) == len(second) and _agree(first, second, 1.0, _SAME_DIRECTION_RAD)


def _find_median_angle(first: Array, second: Array) -> float:
    """Median angle in radians between directions (m, 3); small ones equal their chord."""
    return float(np.median(np.linalg.norm(first.astype(np.float64) - second, axis=1))) if len(first) else 0.0


def _agree(first: Array, second: Array, share: float, tolerance_rad: float) -> bool:
    """Whether at least a ``share`` of direction pairs agree; for small angles the chord equals the angle."""
    if len(first) == 0:
        return len(second) == 0
    chord = np.linalg.norm(first.astype(np.float64) - second, axis=1)
    return bool((chord <= tolerance_rad).mean() >= share)


def _number_cells(sweep: Sweep) -> Array | None:
    """One number (b,) a beam from its ring and column, or None where two beams have the same."""
    keys = sweep.beam_ring.astype(np.int64) << 32 | sweep.beam_column.astype(np.int64)
    return keys if len(np.unique(keys)) == len(keys) else None


def _match_nearest(sim: Array, real: Array, tolerance_rad: float) -> Match:
    distance, found = Nearest(sim).find(real)
    at_real = np.flatnonzero(distance < tolerance_rad)
    order = at_real[np.lexsort((distance[at_real], found[at_real]))]
    # Of several real beams with the same nearest one, that at the least distance keeps it.
    at_sim, first = np.unique(found[order], return_index=True)
    at_real = order[first]
    return Match(at_sim, at_real, "nearest direction", _find_median_angle(sim[at_sim], real[at_real]))


@dataclass(frozen=True)
class BeamImages:
    """Range images of the matched beams, (rows, columns) metres, the highest beams in row 0.

    A beam without return and a pixel without beam are 0. ``cells`` (rows, columns) is the row of the match that a
    pixel holds, -1 for none. ``layout`` describes rows and columns.
    """

    sim: Array
    real: Array
    cells: Array
    layout: str

    @property
    def pixels(self) -> Array:
        """Whether each pixel (rows, columns) holds a matched beam."""
        return np.asarray(self.cells >= 0)


def make_range_images(
    sim: Sweep, real: Sweep, beams: tuple[ComparedBeams, ComparedBeams], match: Match, range_max_m: float
) -> BeamImages:
    """Both sweeps on the rings and columns of the real one, else of the simulated one, else by direction.

    Ranges beyond ``range_max_m`` are drawn at it. Without rings, 64 × 1024 cells of equal angles hold each
    the beam of its nearest real return, the same beam in both images.
    """
    cells = _find_ring_cells(real, match.real)
    layout = "rings × columns of the real sweep"
    if cells is None:
        cells = _find_ring_cells(sim, match.sim)
        layout = "rings × columns of the simulated sweep"
    if cells is None:
        cells = _find_angle_cells(beams[1].direction[match.real], beams[1].range[match.real])
        layout = f"{_ROWS} × {_COLUMNS} cells of elevation × azimuth"
    pixels = cells >= 0

    def image(source: ComparedBeams, chosen: Array) -> Array:
        values = np.minimum(np.nan_to_num(source.range[chosen], nan=0.0), range_max_m)
        result = np.zeros(cells.shape)
        result[pixels] = values[cells[pixels]]
        return result

    return BeamImages(image(beams[0], match.sim), image(beams[1], match.real), cells, layout)


def _find_ring_cells(sweep: Sweep, matched: Array) -> Array | None:
    """Which pair each pixel of the rings holds, -1 for none; None where the beams of a ring differ in elevation.

    There are as many columns as the ring with most beams has beams. A pixel takes the nearest beam of its ring, so
    that a sensor whose rings fire alternately leaves no empty stripes.
    """
    if sweep.n_beams == 0:
        return None
    rings, row, counts = np.unique(sweep.beam_ring, return_inverse=True, return_counts=True)
    z = sweep.beam_direction[:, 2].astype(np.float64)
    height = np.bincount(row, weights=z) / counts
    if len(rings) < 2 or counts.max() < 2 or np.median(np.abs(z - height[row])) > _RING_SPREAD:
        return None
    pair = np.full(sweep.n_beams, -1)
    pair[matched] = np.arange(len(matched))
    column = sweep.beam_column.astype(np.float64)
    pitch = (column.max() + 1 - column.min()) / counts.max()
    centres = column.min() - 0.5 + (np.arange(counts.max()) + 0.5) * pitch
    order = np.lexsort((column, row))
    members = np.split(order, np.cumsum(counts)[:-1])
    top_first = np.argsort(-height, kind="stable")
    return np.stack([_fill_ring(column[members[ring]], pair[members[ring]], centres, pitch) for ring in top_first])


def _fill_ring(column: Array, pair: Array, centres: Array, pitch: float) -> Array:
    """The pair nearest to each of ``centres`` on one ring, whose beams are sorted by column; -1 where none is near."""
    right = np.clip(np.searchsorted(column, centres), 1, max(len(column) - 1, 1))
    left = right - 1
    right = np.minimum(right, len(column) - 1)
    nearest = np.where(centres - column[left] <= column[right] - centres, left, right)
    step = float(np.median(np.diff(column))) if len(column) > 1 else pitch
    return np.where(np.abs(column[nearest] - centres) <= 0.75 * max(step, pitch), pair[nearest], -1)


def _find_angle_cells(direction: Array, distance: Array) -> Array:
    """Which pair each cell of a panorama holds, -1 for none: that of the nearest return."""
    cells = np.full((_ROWS, _COLUMNS), -1)
    if len(direction) == 0:
        return cells
    x, y, z = direction.astype(np.float64).T
    azimuth, elevation = np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))
    low, high = np.quantile(elevation, (0.001, 0.999))
    row = (high - elevation) / max(high - low, 1e-6) * _ROWS
    column = (np.pi - azimuth) / (2 * np.pi) * _COLUMNS
    far_first = np.argsort(-np.nan_to_num(distance, nan=np.inf), kind="stable")
    at = (np.clip(row, 0, _ROWS - 1).astype(int)[far_first], np.clip(column, 0, _COLUMNS - 1).astype(int)[far_first])
    cells[at] = far_first
    return cells


def find_relative_pose(sim: Sweep, real: Sweep) -> Array:
    """``T_real_sim`` (4, 4): from the frame of the simulated sweep's pose to that of the real one's."""
    if np.array_equal(sim.pose, real.pose):
        return np.eye(4)  # exactly: equal sweeps must be at no distance at all
    return np.asarray(inverse(real.pose) @ sim.pose)
