"""Worlds, logs and scenarios as what a camera draws."""

from __future__ import annotations

from pathlib import Path

from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.pose import Trajectory
from resweep.scenario import load_bank, load_scenario
from resweep.scenes.opening import open_world, stream_world
from resweep.viewer.camera.drawing import Drawing
from resweep.viewer.camera.point_cloud import PointCloud
from resweep.viewer.contents import find_kind


def open_drawing(
    place: str,
    kind: str,
    sweep: int | None,
    world: str | None,
    bank: Path | None,
    seed: int,
    labels: str | None,
    samples: int,
) -> tuple[Drawing, Trajectory | None]:
    """What a camera draws of ``place``, and the path that it has of itself.

    ``place`` is a world, a scenario in ``world`` with the objects of ``bank``, or a log, of which ``sweep`` is one.
    """
    found = find_kind(place)
    if found == "world":
        return Drawing(kind, world=stream_world(place, seed), samples=samples), None
    if found == "scenario":
        if world is None:
            raise ResweepError(f"{place}: a scenario takes place in a world; give that world too")
        loaded = open_world(world, seed)
        path, actors = load_scenario(place).place(loaded, None if bank is None else load_bank(bank))
        return Drawing(kind, world=loaded, actors=actors, samples=samples), path
    if found in ("bank", "sensor"):
        raise ResweepError(f"{place}: is a {found}; a camera takes a world, a log or a scenario")
    return _open_log(place, kind, sweep, labels, samples)


def _open_log(
    place: str, kind: str, sweep: int | None, labels: str | None, samples: int
) -> tuple[Drawing, Trajectory | None]:
    log = open_log(place, labels=labels)
    if sweep is None:
        cloud = PointCloud.of_sweeps([log[0]], log.labels) if len(log) == 1 else PointCloud.of_log(log, progress=True)
    else:
        if not -len(log) <= sweep < len(log):
            raise ResweepError(f"{place}: holds {len(log)} sweeps, no sweep {sweep}; they count from 0")
        cloud = PointCloud.of_sweeps([log[sweep]], log.labels)
    path = log.trajectory if log.poses_known and len(log) > 1 else None
    return Drawing(kind, cloud=cloud, samples=samples), path
