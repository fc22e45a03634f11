"""A log's sweeps as one cloud of points in the world: the map that estimators build from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.pose import Array, inverse, transform
from resweep.reconstruction.config import MapConfig
from resweep.reconstruction.map.moving import BOX_MARGIN_M, Visibility, beyond_boxes, moved_tracks, tracks_of
from resweep.sweep import Sweep


@dataclass(frozen=True, eq=False)
class Cloud:
    """Points of a map (n,) with what each was seen as, and from where.

    ``points`` and ``sensor`` (n, 3) float32 are metres from ``origin`` (3,) float64 in the world: the return
    and the place it was measured from. ``label``, ``instance`` and ``sweep`` (index in the log) are int32,
    ``intensity`` float32; ``seen`` is false for points that were made, not measured.
    """

    origin: Array
    points: Array
    sensor: Array
    label: Array
    instance: Array
    intensity: Array
    sweep: Array
    seen: Array

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, rows: Array) -> Cloud:
        columns = [getattr(self, item.name)[rows] for item in fields(self) if item.name != "origin"]
        return Cloud(self.origin, *columns)

    @property
    def has_labels(self) -> bool:
        """Whether any point bears a label."""
        return bool(self.label.any())

    @property
    def range_m(self) -> Array:
        """Distance (n,) float32 from which each point was seen."""
        return np.asarray(np.linalg.norm(self.points - self.sensor, axis=1))

    def merged(self, cluster: Array) -> Cloud:
        """One point for each cluster (n,), numbered from 0: the mean of its points, otherwise like the first."""
        count = np.bincount(cluster)
        first = np.zeros(len(count), np.int64)
        first[cluster[::-1]] = np.arange(len(cluster))[::-1]
        like = self[first]
        points = np.stack([np.bincount(cluster, self.points[:, axis]) for axis in range(3)], axis=1) / count[:, None]
        intensity = np.bincount(cluster, self.intensity) / count
        return replace(like, points=points.astype(np.float32), intensity=intensity.astype(np.float32))

    def with_points(self, points: Array, like: Array) -> Cloud:
        """This cloud and further, made ``points`` (m, 3); row ``like`` (m,) lends each its other columns."""
        added = {item.name: getattr(self, item.name)[like] for item in fields(self) if item.name != "origin"}
        added |= {"points": points.astype(np.float32), "seen": np.zeros(len(points), bool)}
        joined = {name: np.concatenate([getattr(self, name), values]) for name, values in added.items()}
        return Cloud(self.origin, **joined)


def accumulate(log: Log, config: MapConfig | None = None, progress: bool = False) -> Cloud:
    """The map of a log: every return in the world, motion during sweeps undone, without what moves.

    Memory is about 45 bytes a point. The order is that of the sweeps and their returns.
    """
    config = config or MapConfig()
    if len(log) == 0:
        raise ResweepError(f"log '{log.name}': holds no sweep; give at least one to build from")
    if log.meta.get("poses") == "unknown" and len(log) > 1:
        raise ResweepError(
            f"log '{log.name}': knows no poses, so its sweeps make no map; give --poses, or --odometry to find them"
        )
    labels = config.labels_of(log)
    origin = np.round(log.poses[0][:3, 3])
    parts: list[dict[str, Array]] = []
    for at, sweep in tracked(log, "reading sweeps", progress):
        part = _columns(sweep, at, origin, config)
        parts.append({name: values[_wanted(part["label"], labels, config)] for name, values in part.items()})
    columns = {name: np.concatenate([part.pop(name) for part in parts]) for name in list(parts[0])}
    tracks = columns.pop("track")
    cloud = Cloud(origin, **columns)
    if len(cloud) == 0:
        raise ResweepError(
            f"log '{log.name}': no return is left for the map; loosen ego_radius_m or the dropped labels"
        )
    still = _still(log, cloud, tracks, config, labels, progress)
    return cloud if still is None else cloud[still]


def tracked(log: Log, what: str, progress: bool) -> Iterator[tuple[int, Sweep]]:
    """The log's sweeps with their index, with a bar on a terminal's stderr if ``progress``."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    hidden = not (progress and console.is_terminal)
    yield from track(enumerate(log), what, len(log), console=console, transient=True, disable=hidden)


def _columns(sweep: Sweep, at: int, origin: Array, config: MapConfig) -> dict[str, Array]:
    """The returns of one sweep as columns of the map, without the recording vehicle."""
    local = sweep.deskewed()
    keep = (sweep.range >= config.ego_radius_m) & np.isfinite(local).all(axis=1)
    if config.range_max_m > 0:
        keep &= sweep.range <= config.range_max_m
    if config.ego_box_m is not None:
        low, high = np.array(config.ego_box_m[:3]), np.array(config.ego_box_m[3:])
        keep &= ~((local >= low) & (local <= high)).all(axis=1)
    rows = np.flatnonzero(keep)
    shift = sweep.pose.copy()
    shift[:3, 3] -= origin
    origins = sweep.deskewed_beams()[0][sweep.beam[rows]].astype(np.float64)
    return {
        "points": transform(shift, local[rows].astype(np.float64)).astype(np.float32),
        "sensor": transform(shift, origins).astype(np.float32),
        "label": sweep.label[rows],
        "instance": sweep.instance[rows],
        "intensity": sweep.intensity[rows],
        "sweep": np.full(len(rows), at, np.int32),
        "seen": np.ones(len(rows), bool),
        "track": tracks_of(sweep.boxes, local[rows]),
    }


def mappable(sweep: Sweep, config: MapConfig, labels: LabelSet) -> Array:
    """Returns (n,) bool of a sweep that a map of its place could hold: not the vehicle, nor what moves."""
    return (sweep.range >= config.ego_radius_m) & _wanted(sweep.label, labels, config)


def _wanted(label: Array, labels: LabelSet, config: MapConfig) -> Array:
    """Rows whose label is not to be left out for what it is, moving or not."""
    unwanted: list[int] = list(config.drop_labels)
    if config.drop_outliers:
        unwanted += labels.outlier
    if label.any():  # a sweep without labels is all zeros: those say nothing
        if config.drop_unlabelled:
            unwanted += labels.unlabelled
        if config.drop_movable:
            unwanted += labels.movable
        if config.moving in ("auto", "labels"):
            unwanted += labels.moving
    elif 0 in unwanted:
        unwanted = [item for item in unwanted if item != 0]
    return ~np.isin(label, unwanted)


def _still(log: Log, cloud: Cloud, tracks: Array, config: MapConfig, labels: LabelSet, progress: bool) -> Array | None:
    """Rows that do not move (n,) bool as told by boxes or by later beams; None for all of them."""
    how: Any = config.moving
    boxed = bool((tracks != 0).any())
    if how == "auto":
        how = "labels" if cloud.has_labels and labels.moving else "boxes" if boxed else "visibility"
    if how == "boxes" and not boxed:
        raise ResweepError(f"log '{log.name}': moving: boxes, but no sweep has annotated boxes; use visibility")
    if how == "labels" and not cloud.has_labels:
        raise ResweepError(f"log '{log.name}': moving: labels, but no return has a label; use visibility")
    if how == "boxes":
        moved = moved_tracks(log)
        still = ~np.isin(tracks, moved_tracks(log, True) if config.drop_movable else moved)
        for at, boxes in beyond_boxes(log, moved).items():
            rows = np.flatnonzero(cloud.sweep == at)
            shift = log.poses[at].copy()
            shift[:3, 3] -= cloud.origin
            local = transform(inverse(shift), cloud.points[rows].astype(np.float64))
            still[rows[boxes.contains(local, BOX_MARGIN_M).any(axis=0)]] = False
        return still
    if how == "visibility" and len(log) > config.visibility.passes:
        seen = Visibility(cloud.points, cloud.sweep, cloud.origin, config.visibility)
        for at, sweep in tracked(log, "looking for what moves", progress):
            seen.add(at, sweep)
        return ~seen.moving
    return None
