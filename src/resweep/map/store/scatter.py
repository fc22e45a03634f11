"""A log scattered over tiles in one pass: its points by cell, its beams by the tiles that they cross."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep import _core
from resweep.errors import InputError
from resweep.files.pieces import SUFFIX, Pieces, discard_damaged, remove, warn_of_damage
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
_BATCH = ".tiles"
_OBSERVED = ".observed"  # pieces with the space that the beams of a batch crossed


@dataclass(frozen=True, eq=False)
class Scatter:
    """How a log is scattered: around which ``origin`` (3,), which returns the map holds, and how far beams go.

    Beams without return end at ``empty_range_m``; None leaves them out, and 0 leaves out all beams. ``key`` tells the
    build from others.
    """

    log: Log
    folder: Path
    origin: Array
    config: MapConfig
    labels: LabelSet
    tile_m: float
    empty_range_m: float | None
    key: str = ""

    @property
    def images(self) -> ImageStore:
        """Where the range images of sweeps are kept."""
        return ImageStore(self.folder / "images", self.key)


@dataclass(frozen=True, eq=False)
class ScatterTask:
    """The sweeps from ``first`` to ``end`` of a log, which become one batch."""

    scatter: Scatter
    first: int
    end: int

    @property
    def file(self) -> Path:
        """The batch."""
        return self.scatter.folder / f"{self.name}{_BATCH}"

    @property
    def name(self) -> str:
        """The name of the batch, without what tells its files apart."""
        return f"{self.first:07d}"


def plan_batches(scatter: Scatter) -> list[ScatterTask]:
    """The log in batches of about a million beams, by the size of its first sweep; other batches there are removed."""
    beams = max(scatter.log[0].n_beams, 1)
    step = int(np.clip(_BATCH_BEAMS // beams, 1, _MAX_SWEEPS))
    count = len(scatter.log)
    tasks = [ScatterTask(scatter, first, min(first + step, count)) for first in range(0, count, step)]
    known = {f"{task.name}{suffix}" for task in tasks for suffix in (_BATCH, _OBSERVED + SUFFIX)}
    for file in (*scatter.folder.glob(f"*{_BATCH}"), *scatter.folder.glob(f"*{_OBSERVED}{SUFFIX}")):
        if file.name not in known:
            remove(file)
    return tasks


def scatter_batch(task: ScatterTask) -> dict[str, Any]:
    """Write a batch, if it is not there yet; its statistics (`Batch.stats`)."""
    known = _find_batch(task)
    if known is not None:
        return known
    scatter = task.scatter
    moving = MovingFinder(scatter.log, scatter.config, scatter.labels, scatter.images, task.first)
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
    stats["observed"] = space is not None
    if space is not None:
        # Before the batch, whose file says that all is there.
        Pieces(scatter.folder, scatter.key).write(task.name + _OBSERVED, space.observed.pack())
    write_batch(task.file, {"points": (rows, cells, None), "beams": (fired, tiles, row)}, stats, scatter.key)
    return stats


def _find_batch(task: ScatterTask) -> dict[str, Any] | None:
    """The statistics of a batch that is there with all that belongs to it; None if it has to be written (again)."""
    if not os.path.lexists(task.file):
        return None
    scatter = task.scatter
    try:
        batch = Batch.open(task.file, scatter.key)
        batch.check()
    except InputError as error:
        discard_damaged(task.file, error, warn_of_damage)
        return None
    images = batch.stats["moving"]["images"] or []
    whole = all(scatter.images.is_kept(int(number)) for number, *_ in images)
    if batch.stats["observed"]:
        whole = Pieces(scatter.folder, scatter.key).find(task.name + _OBSERVED) is not None and whole
    return batch.stats if whole else None


def read_observed(folder: Path, key: str = "") -> ObservedSpace | None:
    """The space that the beams of all batches in a folder crossed; None if they do not say."""
    pieces = Pieces(folder, key)
    names = sorted(file.name.removesuffix(SUFFIX) for file in folder.glob(f"*{_OBSERVED}{SUFFIX}"))
    return ObservedSpace.union(ObservedSpace(**pieces.read(name).arrays) for name in names)  # type: ignore[arg-type]


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
