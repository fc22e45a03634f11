"""A log scattered over tiles in one pass: its points by cell, its beams by the tiles that they cross."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep import _core
from resweep.files import atomic_file
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.map.accumulate import find_mappable, find_wanted, read_columns
from resweep.map.beams import extract_beams
from resweep.map.config import MapConfig
from resweep.map.images import ImageStore
from resweep.map.moving import MovingFinder
from resweep.map.observed_voxels import SpaceObserver
from resweep.map.store.grid import CELLS, find_squares
from resweep.map.store.tile_store import BEAM, POINT, Batch, Rows, join_rows, no_rows, write_batch
from resweep.pose import Array
from resweep.sweep import Sweep
from resweep.worlds.observed import ObservedSpace

# Beams that come so near to a tile are stored with it, as its primitives reach beyond it. Chosen by hand.
BEAM_MARGIN_M = 2.0
_BATCH_BEAMS = 1_000_000  # of a batch, about: bounds memory
_MAX_SWEEPS = 64  # of a batch; chosen by hand
_OBSERVED = ".observed"  # files with the space that the beams of a batch crossed


@dataclass(frozen=True, eq=False)
class Scatter:
    """How a log is scattered: around which ``origin`` (3,), which returns the map holds, and how far beams go.

    Beams without return end at ``empty_range_m``; None leaves them out, and 0 leaves out all beams.
    """

    log: Log
    folder: Path
    origin: Array
    config: MapConfig
    labels: LabelSet
    tile_m: float
    empty_range_m: float | None

    @property
    def images(self) -> Path:
        """Where the range images of sweeps are kept."""
        return self.folder / "images"


@dataclass(frozen=True, eq=False)
class ScatterTask:
    """The sweeps from ``first`` to ``end`` of a log, which become one batch."""

    scatter: Scatter
    first: int
    end: int

    @property
    def file(self) -> Path:
        """The batch."""
        return self.scatter.folder / f"{self.first:07d}.tiles"


def plan_batches(scatter: Scatter) -> list[ScatterTask]:
    """The log in batches of about a million beams, by the size of its first sweep."""
    beams = max(scatter.log[0].n_beams, 1)
    step = int(np.clip(_BATCH_BEAMS // beams, 1, _MAX_SWEEPS))
    count = len(scatter.log)
    return [ScatterTask(scatter, first, min(first + step, count)) for first in range(0, count, step)]


def scatter_batch(task: ScatterTask) -> dict[str, Any]:
    """Write a batch, if it is not there yet; its statistics (`Batch.stats`)."""
    if task.file.is_file():
        return Batch.open(task.file).stats
    scatter = task.scatter
    moving = MovingFinder(scatter.log, scatter.config, scatter.labels, ImageStore(scatter.images), task.first)
    space = SpaceObserver.of(scatter.log, scatter.origin, scatter.config)
    points, beams = [no_rows(POINT)], [no_rows(BEAM)]
    coloured = False
    for at in range(task.first, task.end):
        sweep = scatter.log[at]
        columns = read_columns(sweep, at, scatter.origin, scatter.config)
        wanted = find_wanted(columns["label"], scatter.labels, scatter.config)
        columns = {name: values[wanted] for name, values in columns.items()}
        moving.add(sweep, columns["label"], columns["track"])
        coloured = coloured or "colour" in columns
        points.append(_pack_points(columns))
        beams.append(_pack_beams(sweep, at, scatter))
        if space is not None:
            space.add(sweep)
    rows, fired = join_rows(points), join_rows(beams)
    row, tile_x, tile_y = _core.tiles_of_beams(
        fired["origin"], fired["direction"], fired["length"], scatter.tile_m, BEAM_MARGIN_M
    )
    label = rows["label"]
    stats = {"sweeps": [task.first, task.end], "points": len(label), "moving": moving.pack()}
    stats["coloured"] = coloured
    stats["labelled"] = bool(label.any())
    stats["unknown"] = int((scatter.labels.group(label) < 0).sum()) if scatter.labels.known else len(label)
    cells = find_squares(rows["points"], scatter.tile_m / CELLS)
    tiles = np.stack([tile_x, tile_y], axis=1).astype(np.int64)
    if space is not None:
        # Before the batch, whose file says that all is there.
        _write_observed(task.file.with_suffix(_OBSERVED), space.observed)
    write_batch(task.file, {"points": (rows, cells, None), "beams": (fired, tiles, row)}, stats)
    return stats


def _write_observed(file: Path, space: ObservedSpace) -> None:
    with atomic_file(file) as temporary, temporary.open("wb") as stream:
        np.savez(stream, **space.pack())  # type: ignore[arg-type]  # a dict


def read_observed(folder: Path) -> ObservedSpace | None:
    """The space that the beams of all batches in a folder crossed; None if they do not say."""

    def read(file: Path) -> ObservedSpace:
        with np.load(file, allow_pickle=False) as archive:
            return ObservedSpace(**archive)

    return ObservedSpace.union(read(file) for file in sorted(folder.glob(f"*{_OBSERVED}")))


def _pack_points(columns: dict[str, Array]) -> Rows:
    count = len(columns["label"])
    columns = {"colour": np.zeros((count, 3), np.uint8), **columns, "row": np.arange(count)}
    return {name: np.asarray(columns[name], POINT[name].base) for name in POINT.names or ()}


def _pack_beams(sweep: Sweep, at: int, scatter: Scatter) -> Rows:
    """The beams of a sweep as rows; of those on which nothing came back, only what is wanted."""
    if scatter.empty_range_m == 0:
        return no_rows(BEAM)
    kept = find_mappable(sweep, scatter.config, scatter.labels)
    beams = extract_beams(sweep, scatter.origin, kept, scatter.empty_range_m or 0.0)
    beams = beams[np.flatnonzero(beams.returned if scatter.empty_range_m is None else beams.length > 0)]
    rows = {name: getattr(beams, name) for name in ("origin", "direction", "length", "returned")}
    rows["sweep"] = np.full(len(beams), at)
    rows["shared"] = np.ones(len(beams)) if beams.shared is None else beams.shared
    return {name: np.asarray(rows[name], BEAM[name].base) for name in BEAM.names or ()}
