"""From a log to a world: the one call that every estimator stands behind."""

from __future__ import annotations

from typing import Any, get_args

from resweep.build.accumulate import accumulate, mappable
from resweep.build.calibrate import calibrate
from resweep.build.config import HybridConfig, SplatConfig, SurfelConfig, VolumeConfig
from resweep.build.groups import label_map
from resweep.build.hybrid import build_hybrid
from resweep.build.splats import build_splats
from resweep.build.surfels import build_surfels
from resweep.build.volumes import build_volumes
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.worlds import Layer, World

BuildConfig = SplatConfig | SurfelConfig | VolumeConfig | HybridConfig


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
    layers: list[Layer]
    if isinstance(config, HybridConfig):
        layers = build_hybrid(cloud, log, config, labels, progress)
    elif isinstance(config, VolumeConfig):
        layers = [build_volumes(cloud, log, config, labels, progress)]
    elif isinstance(config, SurfelConfig):
        layers = [build_surfels(cloud, config)]
    else:
        layers = [build_splats(cloud, config, labels)]
    return World(layers, cloud.origin, {**meta, "points": len(cloud)})
