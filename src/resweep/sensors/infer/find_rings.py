"""Which laser fired each beam: rings from the order points are stored in, or from their elevations.

Rings count from 0 at the lowest elevation. A ring number given by the log is kept as it is.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.ndimage import correlate1d
from scipy.signal import find_peaks

from resweep import portable
from resweep.pose import Array
from resweep.sweep import Sweep

Source = Literal["given", "order", "elevation"]

_MAX_RINGS = 512
_BIN_DEG = 0.01
# Bandwidths that peaks of elevation are looked for with: sharp for points as measured, wide where the
# motion of the sensor was taken out of them.
_BANDWIDTHS_DEG = (0.03, 0.08, 0.2)
_MIN_PEAK_POINTS = 30  # with fewer, a peak may be random
_MIN_PROMINENCE = 0.6
_MIN_NEAR_PEAKS = 0.8
_NEAR_M = 2.0  # nearer points blur the most
_FAR_M = 1e6  # stands for the range of a beam without return


def compute_beam_points(sweep: Sweep) -> Array:
    """The first return of each beam (b, 3) float64, or a point far along a beam that has none."""
    distance = np.full(sweep.n_beams, _FAR_M)
    distance[sweep.beam[::-1]] = sweep.range[::-1]  # the first return of a beam is written last
    points: Array = sweep.beam_direction * distance[:, None]
    if sweep.beam_origin.strides[0]:  # a broadcast zero origin needs no adding
        points += sweep.beam_origin
    return points


def compute_azimuth_deg(points: Array) -> Array:
    """Azimuth of points (n, 3) in [0, 360), counter-clockwise from +x."""
    return np.asarray(np.degrees(portable.arctan2(points[:, 1], points[:, 0])) % 360.0)


def compute_elevation_deg(points: Array) -> Array:
    """Elevation of points (n, 3), up from the horizontal plane."""
    return np.asarray(np.degrees(portable.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1]))))


def find_ring_source(sweeps: list[Sweep]) -> Source | None:
    """How the rings of ``sweeps`` can be found: given, by stored order or by elevation; None if they cannot."""
    if any(len(sweep.beam_ring) and sweep.beam_ring.max() > 0 for sweep in sweeps):
        return "given"
    if all(find_stored_turns(compute_beam_points(sweep)) is not None for sweep in sweeps):
        return "order"
    return "elevation" if find_elevation_peaks([compute_beam_points(sweep) for sweep in sweeps]) is not None else None


def find_stored_turns(points: Array, azimuth: Array | None = None) -> Array | None:
    """The turn (n,) that each point belongs to where whole rings are stored one after the other, else None.

    KITTI's scans are stored so: azimuth rises from 0 to 360° once for each laser. A point just across the
    seam, put there by motion compensation, does not begin a new turn.
    """
    if len(points) < 100:
        return None
    azimuth = compute_azimuth_deg(points) if azimuth is None else azimuth
    for seam, sense in ((0.0, 1.0), (180.0, 1.0), (0.0, -1.0), (180.0, -1.0)):
        turned = (sense * (azimuth - seam)) % 360.0
        jump = np.diff(turned)
        turn = np.concatenate([[0], np.cumsum((jump < -180.0).astype(int) - (jump > 180.0).astype(int))])
        turn = np.maximum.accumulate(turn)
        count = int(turn[-1]) + 1
        if not 3 <= count <= _MAX_RINGS or np.bincount(turn).min() < 8:
            continue
        forward = float(np.mean(np.abs(jump) < 5.0)), float(np.mean(jump > -0.01))
        if min(forward) > 0.9 and _are_separate(compute_elevation_deg(points[::4]), turn[::4], count):
            return turn
    return None


def _are_separate(elevation: Array, turn: Array, count: int) -> bool:
    """Whether the turns lie at elevations that rise or fall from one to the next."""
    level = compute_group_medians(elevation, turn, count)
    step = np.diff(level)
    return bool(max((step > 0).mean(), (step < 0).mean()) > 0.8)


def compute_group_medians(values: Array, group: Array, count: int) -> Array:
    """The median of ``values`` (n,) in each group 0 … count - 1; NaN where a group is empty."""
    order = np.lexsort((values, group))
    sizes = np.bincount(group, minlength=count)
    start = np.cumsum(sizes) - sizes
    middle = np.minimum(start + sizes // 2, max(len(values) - 1, 0))
    found = values[order[middle]].astype(np.float64)
    found[sizes == 0] = np.nan
    return np.asarray(found)


def find_elevation_peaks(clouds: list[Array]) -> tuple[Array, float] | None:
    """Elevations (k,) at which the points of several sweeps crowd, ascending, and the height they are seen from.

    The height above the origin is the one at which they crowd most; None where they crowd at none.
    """
    points = np.concatenate(clouds)
    level = np.hypot(points[:, 0], points[:, 1])
    near = (level > _NEAR_M) & (level < 0.5 * _FAR_M)
    points, level = points[near], level[near]
    if len(points) < 100:
        return None
    height = _find_sharpest_height(points[:, 2], level)
    elevation = np.degrees(portable.arctan2(points[:, 2] - height, level))
    count = _count_elevations(elevation)
    best, best_share = None, _MIN_NEAR_PEAKS
    for width in _BANDWIDTHS_DEG:
        peaks = _find_peaks(count, width / _BIN_DEG)
        if not 1 <= len(peaks) <= _MAX_RINGS:
            continue
        found = (peaks + 0.5) * _BIN_DEG - 90.0
        share = _measure_near_share(elevation, found)
        if share > best_share + 0.02:
            best, best_share = found, share
    return None if best is None else (best, height)


def _count_elevations(elevation: Array) -> Array:
    return np.histogram(elevation, round(180.0 / _BIN_DEG), (-90.0, 90.0))[0].astype(np.float64)


def _find_sharpest_height(z: Array, level: Array) -> float:
    """The height on the axis seen from which elevations crowd most: no laser need fire from the origin."""
    drawn = np.random.default_rng(0).integers(0, len(z), min(len(z), 40_000))  # every n-th could be of one ring
    z, level = z[drawn], level[drawn]
    centre = 0.0
    for span, count in ((0.3, 31), (0.02, 21)):
        tried = centre + np.linspace(-span, span, count)
        tried = tried[np.argsort(np.abs(tried), kind="stable")]  # the origin itself wins a draw
        crowding = [np.sum(_count_elevations(np.degrees(portable.arctan2(z - height, level))) ** 2) for height in tried]
        centre = float(tried[int(np.argmax(crowding))])
    return centre


def _make_gaussian(width_bins: float) -> Array:
    """Weights of a normal distribution out to four times its width."""
    reach = int(4.0 * width_bins + 0.5)
    weight = portable.exp(-0.5 * (np.arange(-reach, reach + 1) / width_bins) ** 2)
    return np.asarray(weight / weight.sum())


def _find_peaks(count: Array, width_bins: float) -> Array:
    smooth = correlate1d(count, _make_gaussian(width_bins), mode="constant")
    min_height = _MIN_PEAK_POINTS / (2.5 * width_bins)
    peaks, shape = find_peaks(smooth, height=min_height, prominence=min_height * _MIN_PROMINENCE)
    return np.asarray(peaks[shape["prominences"] >= _MIN_PROMINENCE * shape["peak_heights"]])


def _measure_near_share(elevation: Array, peaks: Array) -> float:
    """Share of the points within a quarter of the peaks' distance from one of them."""
    if len(peaks) == 1:
        return float(np.mean(np.abs(elevation - peaks[0]) < 0.5))
    ring = find_nearest(peaks, elevation)
    spacing = np.diff(peaks)
    room = np.minimum(np.append(spacing, np.inf), np.insert(spacing, 0, np.inf))
    return float(np.mean(np.abs(elevation - peaks[ring]) < 0.25 * room[ring]))


def find_nearest(levels: Array, values: Array) -> Array:
    """Index (n,) of the one of the ascending ``levels`` (k,) nearest to each of ``values`` (n,)."""
    return np.searchsorted((levels[1:] + levels[:-1]) / 2.0, values)
