"""What one pass over a cloud shows: its extent, density and intensities, and the pulses it was measured by."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from resweep.labels import Group
from resweep.log import Log
from resweep.map.descriptors import describe
from resweep.neighbours import Neighbours
from resweep.pose import Array
from resweep.prepare.clouds.cloud_pulses import Lines, read_lines, read_return_counts, read_sources
from resweep.prepare.clouds.colours import ColourScale, read_colours
from resweep.progress import track
from resweep.sweep import Sweep
from resweep.voxels import average_voxels, find_cells

SURVEYING = "looking at the cloud"

# Chosen by hand where a line names no source.
_MAX_POINTS = 1_500_000  # looked at, of all sweeps together
_MIN_POINTS = 20_000  # of each sweep, at most
_SPACING_POINTS = 20_000  # whose neighbours show how dense a cloud is
_SPACING_NEIGHBOUR = 4  # the neighbour whose distance is the spacing: that of a regular grid
_TAIL = 0.005  # share of points beyond each side of the box that a cloud fills
_OUTLIER_SIZES, _OUTLIER_M = 3.0, 50.0  # farther around that box a point is an outlier: in its sizes, in metres
_MAX_OUTLIERS = 0.001  # share of points: more of them are a part of the cloud
_COLUMN_M = 5.0  # of the columns in which heights of first and last returns are compared
_MIN_COLUMNS = 10  # that have first and last returns; fewer are unreliable
_MIN_RISE_M = 0.2  # by which first returns of a column lie above the last ones
_MIN_FALLING_SHARE = 0.8  # of the columns, where pulses came from above
_BRIGHT_SHARE = 0.99  # of the intensities, below the one that is intensity
_THINNINGS = (2.0, 4.0, 8.0, 16.0)  # sides of cells that are tried, in spacings
_MAX_THIN_M = 0.15  # largest cell that is tried
_MIN_FILLED = 10  # neighbourhoods that joined points must fill, or larger cells are not tried
_NEIGHBOURHOOD = 40  # points: K of C
_MAX_NEIGHBOURHOODS = 4_000  # that are looked at
_FEWER_LINES = 0.1  # share of the neighbourhoods that thinning must turn from lines into surfaces


@dataclass(frozen=True, eq=False)
class Survey:
    """A cloud as one pass shows it.

    ``points`` (n, 3) float64 are some or all of its points in the world, ``source`` (n,) their flight lines. ``low``
    and ``high`` (3,) is the box beyond which points are outliers, ``outliers`` how many of ``points`` those are.
    ``count`` is the number of all points, ``duplicates`` how many of them repeat another one of their sweep.
    ``spacing_m`` is the median distance of points from their fourth neighbour, ``thin_m`` the side of the cells in
    which points are best joined, 0 for none (`find_thinning`). ``intensity_max`` is the intensity that 99
    of 100 lie below. ``falls`` is whether first returns lie above the last ones, None where no pulse has several.
    """

    points: Array
    source: Array
    low: Array
    high: Array
    outliers: int
    count: int
    duplicates: int
    spacing_m: float
    thin_m: float
    intensity_max: float
    colours: ColourScale | None
    lines: Lines
    falls: bool | None


@dataclass
class _SurveySums:
    points: list[Array] = field(default_factory=list)
    source: list[Array] = field(default_factory=list)
    intensity: list[Array] = field(default_factory=list)
    colour: list[Array] = field(default_factory=list)
    lines: list[Lines] = field(default_factory=list)
    count: int = 0
    duplicates: int = 0
    columns: int = 0
    falling: int = 0

    def add(self, sweep: Sweep, max_points: int) -> None:
        points = sweep.world_points()
        unique = find_unique(points)
        self.count += len(points)
        self.duplicates += len(points) - len(unique)
        rows = unique[:: max(1, -(-len(unique) // max_points))]
        self.points.append(points[rows])
        self.source.append(read_sources(sweep)[rows])
        self.intensity.append(np.nan_to_num(sweep.intensity[rows]))
        if (colour := read_colours(sweep.extra)) is not None:
            self.colour.append(colour[rows])
        self.lines.append(read_lines(sweep, points))
        total = read_return_counts(sweep)
        number = sweep.return_index.astype(np.int64)
        several = np.flatnonzero((total >= 2) & ((number == 0) | (number == total - 1)))
        self._compare_heights(points[several], number[several] == 0)

    def _compare_heights(self, points: Array, first: Array) -> None:
        """Count the columns in which first returns of pulses lie above the last ones."""
        if len(points) == 0:
            return
        _, column = np.unique(find_cells(points[:, :2], _COLUMN_M), axis=0, return_inverse=True)
        column = column.reshape(-1)
        n_first, n_last = np.bincount(column, first), np.bincount(column, ~first)
        both = (n_first > 0) & (n_last > 0)
        high = np.bincount(column, np.where(first, points[:, 2], 0.0))[both] / n_first[both]
        low = np.bincount(column, np.where(first, 0.0, points[:, 2]))[both] / n_last[both]
        self.columns += int(both.sum())
        self.falling += int((high - low > _MIN_RISE_M).sum())


def survey_cloud(log: Log, progress: bool = False) -> Survey:
    """Look at all sweeps of a cloud once."""
    found = _SurveySums()
    max_points = max(_MIN_POINTS, _MAX_POINTS // max(len(log), 1))
    spacing, thin_m, middle = 0.0, 0.0, len(log) // 2
    for at, sweep in enumerate(track(log, SURVEYING, show=progress)):
        found.add(sweep, max_points)
        if at == middle:
            own = sweep.points.astype(np.float64)
            own = own[find_unique(own)]
            spacing = _measure_spacing(own)
            thin_m = find_thinning(own, spacing)
    points = np.concatenate(found.points)
    low, high, outliers = _find_box(points)
    inside = ((points >= low) & (points <= high)).all(axis=1)
    intensity = np.concatenate(found.intensity)[inside]
    colour = np.concatenate(found.colour)[inside] if len(found.colour) == len(log) else np.zeros((0, 3))
    return Survey(
        points[inside],
        np.concatenate(found.source)[inside],
        low,
        high,
        outliers,
        found.count,
        found.duplicates,
        spacing,
        thin_m,
        float(np.quantile(intensity, _BRIGHT_SHARE)) if len(intensity) else 0.0,
        ColourScale.find(colour),
        Lines.join(found.lines),
        None if found.columns < _MIN_COLUMNS else found.falling >= _MIN_FALLING_SHARE * found.columns,
    )


def find_unique(points: Array) -> Array:
    """Rows (m,) of points (n, 3) without those that repeat an earlier one exactly, ascending."""
    if len(points) == 0:
        return np.zeros(0, np.int64)
    order = np.lexsort(points.T)
    new = np.concatenate([[True], (points[order][1:] != points[order][:-1]).any(axis=1)])
    return np.sort(order[new])


def find_thinning(points: Array, spacing_m: float) -> float:
    """The side of cells, metres, in which points (n, 3) are to be joined so that surfaces look like surfaces; 0: none.

    A scanner with steps far finer along its lines than across them gives points whose neighbours all lie on one line.
    The side is the least at which hardly fewer neighbourhoods look like lines than at any other.
    """
    sides = [0.0, *(factor * spacing_m for factor in _THINNINGS if factor * spacing_m <= _MAX_THIN_M)]
    shares = []
    for side in sides:
        joined = points if side == 0.0 else average_voxels(points, side)
        if len(joined) < _MIN_FILLED * _NEIGHBOURHOOD:
            break
        shares.append(_share_linear(joined))
    if not shares or min(shares) > shares[0] - _FEWER_LINES:
        return 0.0
    return sides[next(at for at, share in enumerate(shares) if share <= min(shares) + _FEWER_LINES / 2)]


def _share_linear(points: Array) -> float:
    """The share of neighbourhoods that look like lines, of some spread over the points (C, 3.3)."""
    near = Neighbours(points)
    asked: Array = np.zeros(len(points), np.int32)
    asked[:: max(1, len(points) // _MAX_NEIGHBOURHOODS)] = _NEIGHBOURHOOD
    shape = near.pca(asked, near.mean_radius(_NEIGHBOURHOOD, _MAX_NEIGHBOURHOODS), only=("eigenvalues",))
    return float((describe(shape.eigenvalues[asked > 0]) == Group.LINEAR).mean())


def _measure_spacing(points: Array) -> float:
    if len(points) <= _SPACING_NEIGHBOUR:
        return 0.0
    asked = points[:: max(1, len(points) // _SPACING_POINTS)]
    apart = Neighbours(points).knn(asked, _SPACING_NEIGHBOUR + 1).distance2[:, _SPACING_NEIGHBOUR]
    return float(np.sqrt(np.median(apart)))


def _find_box(points: Array) -> tuple[Array, Array, int]:
    """The box (3,) and (3,) beyond which points are outliers, and how many are: a few, far from all others."""
    everything = np.full(3, -np.inf), np.full(3, np.inf), 0
    if len(points) == 0:
        return everything
    low, high = np.quantile(points, [_TAIL, 1.0 - _TAIL], axis=0)
    room = _OUTLIER_SIZES * (high - low).max() + _OUTLIER_M
    low, high = low - room, high + room
    outside = int((~((points >= low) & (points <= high)).all(axis=1)).sum())
    few = outside <= max(_MAX_OUTLIERS * len(points), 1)
    return (low, high, outside) if outside and few else everything
