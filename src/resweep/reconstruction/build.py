"""From a log to a world: the one call that every estimator stands behind."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import numpy as np

from resweep.calibration import Calibration
from resweep.errors import ResweepError
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.pose import Array
from resweep.reconstruction.checkpoints import Stages, pack_fields
from resweep.reconstruction.config import HybridConfig, MeshConfig, SplatConfig, SurfelConfig, VolumeConfig
from resweep.reconstruction.hybrid.hybrid import build_hybrid
from resweep.reconstruction.map.accumulate import Cloud, accumulate, mappable
from resweep.reconstruction.mesh.mesh import build_mesh
from resweep.reconstruction.poses.calibrate import Calibrated, calibrate, corrected
from resweep.reconstruction.splats.splats import build_splats
from resweep.reconstruction.splats.surfels import build_surfels
from resweep.reconstruction.volumes.volumes import build_volumes
from resweep.worlds import Layer, World

BuildConfig = HybridConfig | SplatConfig | SurfelConfig | VolumeConfig | MeshConfig


def build(
    log: Log,
    config: BuildConfig | None = None,
    *,
    progress: bool = True,
    resume: str | Path | Stages | None = None,
) -> World:
    """A world built from a log; the type of ``config`` says of which kind (default: `HybridConfig`).

    The world's ``meta`` keeps the config and where it came from. ``progress`` shows bars on a terminal.
    ``resume`` names a folder in which finished stages are kept until the world is made: the same build called
    again after it was stopped goes on from there, and gives the same world. `Stages` given stay for the caller to
    remove.
    """
    config = HybridConfig() if config is None else config
    if not isinstance(log, Log):
        raise ResweepError(f"build: expected a log (resweep.open_log), got {type(log).__name__}")
    if not isinstance(config, BuildConfig):
        names = " or ".join(kind.__name__ for kind in get_args(BuildConfig))
        raise ResweepError(f"build: expected {names}, got {type(config).__name__}")
    stages = resume if isinstance(resume, Stages) else Stages()
    if isinstance(resume, str | Path):
        stages = Stages.open(resume, log, config)
    labels = config.map.labels_of(log)
    calibration: Calibration | None = None
    meta: dict[str, Any] = {
        "source": str(log.meta.get("path", log.name)),
        "build": {"kind": type(config).__name__, "config": config.model_dump(mode="json")},
        "sweeps": len(log),
        **{name: log.meta[name] for name in ("aligned", "odometry") if name in log.meta},
    }
    if config.calibrate is not None and len(log) > 1 and log.meta.get("poses") != "unknown":
        found = _calibrated(log, config, labels, stages, progress)
        log, calibration = found.log, found.calibration
        meta |= {"calibration": found.calibration.to_dict(), "misfit_m": list(found.misfit_m)}
    cloud = stages.run(
        "accumulate", lambda: accumulate(log, config.map, progress), pack_fields, lambda columns: Cloud(**columns)
    )
    layers = cover(cloud, log, config, labels, progress, stages)
    world = World(layers, cloud.origin, {**meta, "points": len(cloud)}, labels, calibration=calibration)
    if not isinstance(resume, Stages):
        stages.remove()
    return world


def cover(
    cloud: Cloud,
    log: Log,
    config: BuildConfig,
    labels: LabelSet,
    progress: bool = False,
    stages: Stages | None = None,
) -> list[Layer]:
    """The layers that cover a map, of the kind that the type of ``config`` says; ``log`` gives the beams."""
    if isinstance(config, HybridConfig):
        return build_hybrid(cloud, log, config, labels, progress, stages)
    if isinstance(config, VolumeConfig):
        return [build_volumes(cloud, log, config, labels, progress)]
    if isinstance(config, SurfelConfig):
        return [build_surfels(cloud, config)]
    if isinstance(config, MeshConfig):
        return [build_mesh(cloud, config)]
    return [build_splats(cloud, config, labels, stages)]


def _calibrated(log: Log, config: BuildConfig, labels: LabelSet, stages: Stages, progress: bool) -> Calibrated:
    """The log with its lasers and poses corrected, as a stage."""

    def pack(found: Calibrated) -> dict[str, Array]:
        return {**pack_fields(found.calibration), "poses": found.log.poses, "misfit_m": np.array(found.misfit_m)}

    def unpack(columns: dict[str, Array]) -> Calibrated:
        calibration = Calibration(columns["elevation_rad"], columns["range_m"])
        before, after = columns["misfit_m"].tolist()
        return Calibrated(corrected(log, calibration, columns["poses"]), calibration, (before, after))

    return stages.run(
        "calibrate",
        lambda: calibrate(log, config.calibrate, lambda sweep: mappable(sweep, config.map, labels), progress),
        pack,
        unpack,
    )
