"""From a log to a world: the one call that every estimator stands behind."""

from __future__ import annotations

from typing import Any, get_args

from resweep.build.accumulate import Cloud, accumulate, mappable
from resweep.build.calibrate import calibrate
from resweep.build.config import HybridConfig, MeshConfig, SplatConfig, SurfelConfig, VolumeConfig
from resweep.build.groups import LabelMap, label_map
from resweep.build.hybrid import build_hybrid
from resweep.build.splats import build_splats
from resweep.build.surfaces import build_mesh
from resweep.build.surfels import build_surfels
from resweep.build.volumes import build_volumes
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.worlds import Layer, World

BuildConfig = HybridConfig | SplatConfig | SurfelConfig | VolumeConfig | MeshConfig


def build(log: Log, config: BuildConfig | None = None, *, progress: bool = True) -> World:
    """A world built from a log; the type of ``config`` says of which kind (default: `HybridConfig`).

    The world's ``meta`` keeps the config and where it came from. ``progress`` shows bars on a terminal.
    """
    config = HybridConfig() if config is None else config
    if not isinstance(log, Log):
        raise ResweepError(f"build: expected a log (resweep.open_log), got {type(log).__name__}")
    if not isinstance(config, BuildConfig):
        names = " or ".join(kind.__name__ for kind in get_args(BuildConfig))
        raise ResweepError(f"build: expected {names}, got {type(config).__name__}")
    labels = label_map(config.map.label_map, log.meta)
    meta: dict[str, Any] = {
        "source": str(log.meta.get("path", log.name)),
        "build": {"kind": type(config).__name__, "config": config.model_dump(mode="json")},
        "sweeps": len(log),
    }
    if config.calibrate is not None and len(log) > 1 and log.meta.get("poses") != "unknown":
        found = calibrate(log, config.calibrate, lambda sweep: mappable(sweep, config.map, labels), progress)
        log = found.log
        meta |= {"calibration": found.calibration.to_dict(), "misfit_m": list(found.misfit_m)}
    cloud = accumulate(log, config.map, progress)
    return World(cover(cloud, log, config, labels, progress), cloud.origin, {**meta, "points": len(cloud)})


def cover(cloud: Cloud, log: Log, config: BuildConfig, labels: LabelMap, progress: bool = False) -> list[Layer]:
    """The layers that cover a map, of the kind that the type of ``config`` says; ``log`` gives the beams."""
    if isinstance(config, HybridConfig):
        return build_hybrid(cloud, log, config, labels, progress)
    if isinstance(config, VolumeConfig):
        return [build_volumes(cloud, log, config, labels, progress)]
    if isinstance(config, SurfelConfig):
        return [build_surfels(cloud, config)]
    if isinstance(config, MeshConfig):
        return [build_mesh(cloud, config)]
    return [build_splats(cloud, config, labels)]
