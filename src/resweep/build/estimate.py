"""From a log to a world: the one call that every estimator stands behind."""

from __future__ import annotations

from typing import Any

from resweep.build.accumulate import accumulate, mappable
from resweep.build.calibrate import calibrate
from resweep.build.config import SplatConfig, SurfelConfig
from resweep.build.groups import label_map
from resweep.build.splats import build_splats
from resweep.build.surfels import build_surfels
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.worlds import World

BuildConfig = SplatConfig | SurfelConfig


def build(log: Log, config: BuildConfig | None = None, *, progress: bool = True) -> World:
    """A world built from a log; the type of ``config`` says of which kind (default: `SplatConfig`).

    The world's ``meta`` keeps the config and where it came from. ``progress`` shows bars on a terminal.
    """
    config = SplatConfig() if config is None else config
    if not isinstance(log, Log):
        raise ResweepError(f"build: expected a log (resweep.open_log), got {type(log).__name__}")
    if not isinstance(config, BuildConfig):
        raise ResweepError(f"build: expected a SplatConfig or SurfelConfig, got {type(config).__name__}")
    labels = label_map(config.map.label_map, log.meta)
    meta: dict[str, Any] = {
        "source": str(log.meta.get("path", log.name)),
        "build": {"kind": type(config).__name__, "config": config.model_dump(mode="json")},
        "sweeps": len(log),
        **{name: log.meta[name] for name in ("aligned", "odometry") if name in log.meta},
    }
    if config.calibrate is not None and len(log) > 1 and log.meta.get("poses") != "unknown":
        found = calibrate(log, config.calibrate, lambda sweep: mappable(sweep, config.map, labels), progress)
        log = found.log
        meta |= {"calibration": found.calibration.to_dict(), "misfit_m": list(found.misfit_m)}
    cloud = accumulate(log, config.map, progress)
    splats = build_surfels(cloud, config) if isinstance(config, SurfelConfig) else build_splats(cloud, config, labels)
    return World([splats], cloud.origin, {**meta, "points": len(cloud)})
