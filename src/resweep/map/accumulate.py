"""A log's sweeps as one cloud of points in the world, read in one pass."""

from __future__ import annotations

import numpy as np

from resweep.errors import InputError, ResweepError
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.map.cloud import UNCLEAR, Cloud
from resweep.map.config import MapConfig
from resweep.map.moving import MovingFinder
from resweep.map.moving_boxes import find_tracks
from resweep.map.observed_voxels import SpaceObserver
from resweep.pose import Array, transform
from resweep.progress import track
from resweep.sweep import Sweep
from resweep.worlds.observed import ObservedSpace


def accumulate(log: Log, config: MapConfig | None = None, progress: bool = False) -> Cloud:
    """The points of a log: every return in the world, motion during sweeps undone, without what moves."""
    return accumulate_observed(log, config, progress)[0]


def accumulate_observed(
    log: Log, config: MapConfig | None = None, progress: bool = False
) -> tuple[Cloud, ObservedSpace | None]:
    """The points of a log as `accumulate` gives them, and the space that its beams crossed; None if that is unknown.

    Memory is about 45 bytes a point. The order is that of the sweeps and their returns.
    """
    config = config or MapConfig()
    if len(log) == 0:
        raise InputError(f"log '{log.name}': holds no sweep; give at least one to build from")
    if len(log) > 1:
        log.require_poses("its sweeps make no map")
    labels = config.choose_labels(log)
    moving = MovingFinder(log, config, labels)
    origin = np.round(log.poses[0][:3, 3])
    space = SpaceObserver.of(log, origin, config)
    parts: list[dict[str, Array]] = []
    for at, sweep in enumerate(track(log, "reading sweeps", show=progress)):
        part = read_columns(sweep, at, origin, config)
        wanted = find_wanted(part["label"], labels, config)
        parts.append({name: values[wanted] for name, values in part.items()})
        moving.add(sweep, parts[-1]["label"], parts[-1]["track"])
        if space is not None:
            space.add(sweep)
    common = [name for name in parts[0] if all(name in part for part in parts)]
    columns = {name: np.concatenate([part.pop(name) for part in parts]) for name in common}
    tracks = columns.pop("track")
    cloud = Cloud(origin, **columns)
    if len(cloud) == 0:
        raise ResweepError(
            f"log '{log.name}': no return is left for the map; loosen ego_radius_m or the dropped labels"
        )
    still = moving.find_static(cloud, tracks, progress)
    return cloud if still is None else cloud[still], None if space is None else space.observed


def find_mappable(sweep: Sweep, config: MapConfig, labels: LabelSet) -> Array:
    """Returns (n,) bool of a sweep that a map of its place could hold: not the vehicle, nor what moves by its label."""
    return config.filter(labels).keeps(sweep)


def read_columns(sweep: Sweep, at: int, origin: Array, config: MapConfig) -> dict[str, Array]:
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
    colour = find_colour(sweep, rows)
    return {
        **({} if colour is None else {"colour": colour}),
        "points": transform(shift, local[rows].astype(np.float64)).astype(np.float32),
        "sensor": transform(shift, origins).astype(np.float32),
        "label": sweep.label[rows],
        "instance": sweep.instance[rows],
        "intensity": sweep.intensity[rows],
        "sweep": np.full(len(rows), at, np.int32),
        "seen": ~sweep.extra[UNCLEAR][rows] if UNCLEAR in sweep.extra else np.ones(len(rows), bool),
        "track": find_tracks(sweep.boxes, local[rows]),
    }


def find_colour(sweep: Sweep, rows: Array) -> Array | None:
    """Colours (m, 3) uint8 of some returns of a sweep, None if it has none of 8 bits."""
    columns = [sweep.extra.get(name) for name in ("red", "green", "blue")]
    if any(column is None or column.dtype != np.uint8 or column.ndim != 1 for column in columns):
        return None
    return np.stack([column[rows] for column in columns if column is not None], axis=1)


def find_wanted(label: Array, labels: LabelSet, config: MapConfig) -> Array:
    """Rows (n,) bool whose label does not leave them out of the map."""
    return config.filter(labels).keeps_labels(label)
