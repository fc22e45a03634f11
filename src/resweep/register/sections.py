"""A drive in sections along its route, and the map of drives in pieces on disk: what alignment holds at a time.

A drive that is not much longer than a section is one section, and its map one piece.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from resweep.log import Log
from resweep.pose import Array, transform
from resweep.progress import track
from resweep.register.config import AlignConfig
from resweep.register.drives import MAP_VOXEL_M, Drive, PlaneMap
from resweep.sweep import Sweep
from resweep.voxels import average_voxels, find_first_in_voxels

Keep = Callable[[Sweep], Array]

_SAMPLE_VOXEL_M = 0.5  # of which one return is sampled; chosen by hand
_MAX_POINTS = 2000  # of a sweep; chosen by hand
_MIN_SWEEPS = 4  # that take part of a short or stationary drive; chosen by hand
_OVERLAP = 0.125  # of a section, on either side; chosen by hand


@dataclass(frozen=True, eq=False)
class Route:
    """Where a log went: ``poses`` (n, 4, 4) from the map's origin, ``path_m`` (n,) and the sweeps ``chosen`` (m,)."""

    name: str
    poses: Array
    path_m: Array
    chosen: Array

    @classmethod
    def of(cls, log: Log, origin: Array, config: AlignConfig) -> Route:
        """The route of a log, of which sweeps ``config.sweep_gap_m`` apart are chosen."""
        poses = log.poses.copy()
        poses[:, :3, 3] -= origin
        path_m = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1))]
        chosen = np.unique(np.searchsorted(path_m, np.arange(0.0, path_m[-1], config.sweep_gap_m)))
        if len(chosen) < _MIN_SWEEPS:  # the drive is short, or stationary
            chosen = np.unique(np.linspace(0, len(log) - 1, min(len(log), _MIN_SWEEPS)).astype(np.int64))
        return cls(str(log.meta.get("path", log.name)), poses, path_m, chosen)


@dataclass(frozen=True)
class Section:
    """Consecutive sweeps of a drive, from ``begin`` to before ``end``.

    Those from ``own[0]`` to before ``own[1]`` are its own; the others it shares with its neighbours.
    """

    begin: int
    end: int
    own: tuple[int, int]

    @property
    def sweeps(self) -> slice:
        """The sweeps of the section."""
        return slice(self.begin, self.end)


def divide_route(path_m: Array, config: AlignConfig) -> list[Section]:
    """Sections of about ``config.section_m`` of the route (n,), which overlap their neighbours."""
    count = max(1, round(float(path_m[-1]) / config.section_m))
    edges = np.linspace(0.0, path_m[-1], count + 1)
    overlap_m = _OVERLAP * config.section_m
    own = np.r_[0, np.searchsorted(path_m, edges[1:-1]), len(path_m)].tolist()
    begin = np.r_[0, np.searchsorted(path_m, edges[1:-1] - overlap_m)].tolist()
    end = np.r_[np.searchsorted(path_m, edges[1:-1] + overlap_m, side="right"), len(path_m)].tolist()
    sections = [Section(begin[at], end[at], (own[at], own[at + 1])) for at in range(count)]
    return [section for section in sections if section.own[0] < section.own[1]]  # none in a gap of the log


def read_returns(
    log: Log, chosen: Array, config: AlignConfig, keep: Keep | None, progress: bool
) -> Iterator[tuple[int, Array]]:
    """The sweeps ``chosen`` (m,) that have returns that take part, and those returns (n, 3) in the sensor's frame."""
    for number, sweep in zip(chosen, track(log[chosen.tolist()], f"sampling {log.name}", show=progress), strict=True):
        near = (sweep.range < config.range_max_m) & np.isfinite(sweep.points).all(axis=1)
        if keep is not None:
            near &= keep(sweep)
        if near.any():
            yield int(number), sweep.deskewed()[near].astype(np.float64)


def sample_section(
    log: Log, route: Route, section: Section, config: AlignConfig, keep: Keep | None, progress: bool
) -> Drive:
    """A sample of the returns of a section, as a drive of its own."""
    samples, owners = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
    inside = route.chosen[(route.chosen >= section.begin) & (route.chosen < section.end)]
    for number, local in read_returns(log, inside, config, keep, progress):
        rows = find_first_in_voxels(local, _SAMPLE_VOXEL_M)
        rows = rows[:: 1 + len(rows) // _MAX_POINTS]
        samples.append(local[rows])
        owners.append(np.full(len(rows), number - section.begin))
    path_m = route.path_m[section.sweeps]
    return Drive(
        route.name, np.concatenate(samples), np.concatenate(owners), route.poses[section.sweeps], path_m - path_m[0]
    )


def map_section(
    log: Log, route: Route, section: Section, config: AlignConfig, keep: Keep | None, progress: bool
) -> Array:
    """The map (n, 3) of what the sweeps of a section's own saw, as means of voxels."""
    cloud = [np.zeros((0, 3))]
    inside = route.chosen[(route.chosen >= section.own[0]) & (route.chosen < section.own[1])]
    for number, local in read_returns(log, inside, config, keep, progress):
        cloud.append(average_voxels(transform(route.poses[number], local), MAP_VOXEL_M))
    return average_voxels(np.concatenate(cloud), MAP_VOXEL_M)


@dataclass(frozen=True, eq=False)
class _SectionPoints:
    """A file of points, the corners (3,) of their box, and whether it is the whole map of its drive."""

    path: Path
    low: Array
    high: Array
    whole: bool


def _read(piece: _SectionPoints, low: Array, high: Array) -> Array:
    points: Array = np.load(piece.path)
    return points if piece.whole else points[((points >= low) & (points <= high)).all(axis=1)]


class MapPieces:
    """The map of one or several drives, as files in ``folder``: one for each section of a drive."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True)
        self._pieces: list[_SectionPoints] = []
        self._last: tuple[list[Path], PlaneMap] | None = None

    def __len__(self) -> int:
        return len(self._pieces)

    def add(self, points: Array, whole: bool) -> None:
        """Keep the points (n, 3) of a section, or of a ``whole`` drive."""
        if len(points):
            path = self.folder / f"{len(self._pieces):06d}.npy"
            np.save(path, points)
            self._pieces.append(_SectionPoints(path, points.min(axis=0), points.max(axis=0), whole))

    def extend(self, other: MapPieces) -> None:
        """Take the pieces of another map as well."""
        self._pieces += other._pieces

    def near(self, low: Array, high: Array) -> PlaneMap:
        """The map in a box, given by two corners (3,); that of a drive of one piece is not cut. The last is kept."""
        pieces = [piece for piece in self._pieces if (piece.low <= high).all() and (piece.high >= low).all()]
        cut = not all(piece.whole for piece in pieces)
        key = [piece.path for piece in pieces]
        if cut or self._last is None or self._last[0] != key:
            self._last = None  # so that two are never held
            found = [np.zeros((0, 3)), *(_read(each, low, high) for each in pieces)]
            self._last = (key, PlaneMap(average_voxels(np.concatenate(found), MAP_VOXEL_M)))
        return self._last[1]


@dataclass(frozen=True, eq=False)
class SavedSection:
    """A section of a drive whose sample of returns lies in a file."""

    section: Section
    route: Route
    path: Path

    def save(self, drive: Drive) -> None:
        """Write the sample."""
        np.savez(self.path, points=drive.points, sweep=drive.sweep)

    def load(self) -> Drive:
        """The sample, as a drive of its own."""
        path_m = self.route.path_m[self.section.sweeps]
        with np.load(self.path) as columns:
            points, sweep = columns["points"], columns["sweep"]
        return Drive(self.route.name, points, sweep, self.route.poses[self.section.sweeps], path_m - path_m[0])


def fade_weights(sections: Sequence[Section], path_m: Array) -> list[Array]:
    """Weights (m,) of the sweeps of each section, 1 together: where two overlap, one fades into the other."""
    weights = [np.ones(section.end - section.begin) for section in sections]
    for at in range(1, len(sections)):
        before, after = sections[at - 1], sections[at]
        both = path_m[after.begin : before.end]
        if len(both) == 0:  # the log has a gap there
            continue
        share = (both - both[0]) / max(float(both[-1] - both[0]), 1e-9)
        weights[at - 1][after.begin - before.begin :] *= 1.0 - share
        weights[at][: len(both)] *= share
    return weights
