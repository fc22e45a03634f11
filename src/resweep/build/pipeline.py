"""From a log to a world: a map, and the estimator that the type of the settings names."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from resweep.build import surfels
from resweep.build.complete.complete import complete
from resweep.build.hybrid import hybrid
from resweep.build.mesh import mesh
from resweep.build.plan import prepare_build
from resweep.build.refine import refine
from resweep.build.refine.blind_sectors import estimate_blind_sectors
from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.mesh import MeshConfig
from resweep.build.settings.splats import SplatConfig, SurfelConfig
from resweep.build.settings.volumes import VolumeConfig
from resweep.build.splats import splats
from resweep.build.splats.settle import settle_reflectance
from resweep.build.stationary import fit as standing
from resweep.build.stationary.directions import Directions
from resweep.build.volumes import volumes
from resweep.errors import ResweepError
from resweep.files import lock_local
from resweep.log import Log
from resweep.map.checkpoints import Checkpoints
from resweep.map.map import Map
from resweep.map.seen import record_seen
from resweep.pose import Array
from resweep.progress import Stages, begin_stage
from resweep.worlds import Layer, World

Estimator = Callable[[Map, Any], tuple[Layer, ...]]

ESTIMATORS: dict[type[BuildConfig], Estimator] = {
    HybridConfig: hybrid.fit,
    SplatConfig: splats.fit,
    SurfelConfig: surfels.fit,
    VolumeConfig: volumes.fit,
    MeshConfig: mesh.fit,
}

# What an estimator does after the map is made, as its progress names it.
STAGES: dict[type[BuildConfig], tuple[str, ...]] = {
    HybridConfig: hybrid.STAGES,
    SplatConfig: ("covering surfaces with splats",),
    SurfelConfig: ("covering surfaces with surfels",),
    VolumeConfig: ("learning volumes from beams",),
    MeshConfig: ("meshing surfaces",),
}


def build(
    log: Log,
    config: BuildConfig | None = None,
    *,
    progress: bool = True,
    resume: str | Path | Checkpoints | None = None,
) -> World:
    """A world built from a log; the type of ``config`` says of which kind (default: `HybridConfig`).

    The world's ``meta`` keeps the config and where it came from. ``progress`` shows the stages on stderr: a bar on a
    terminal, else lines. A hybrid of a log whose sensor stood still and fired the same directions again and again is
    built for that (`reconstruction.standing`).
    ``resume`` names a folder in which finished steps are kept until the world is made: the same build called
    again after it was stopped goes on from there, and gives the same world. `Checkpoints` given stay for the caller to
    remove.

    Example: ``world = rs.build(rs.open_log("kitti/sequences/00")[:150], rs.SplatConfig(k=60))``
    """
    config = HybridConfig() if config is None else config
    if not isinstance(log, Log):
        raise ResweepError(f"build: expected a log (resweep.open_log), got {type(log).__name__}")
    kind = _find_kind(config)  # a mistake is found before anything is read
    log, config = prepare_build(log, config, progress)
    directions = standing.find_standing(log, config)
    if directions is not None and isinstance(config, HybridConfig):
        config = standing.settle(config)
    ways = STAGES[kind] if directions is None else standing.STAGES
    stages = (*Map.list_stages(log, config.calibrate), *ways)
    if config.refine != "none":
        stages = (*stages, refine.STAGE)
    if isinstance(resume, str | Path):
        with lock_local(Path(resume)):
            checkpoints = Checkpoints.open(resume, log, config, config.map.choose_labels(log))
            world = _build(log, config, directions, stages, progress, checkpoints)
            checkpoints.remove()
            return world
    return _build(log, config, directions, stages, progress, resume or Checkpoints())


def _build(
    log: Log,
    config: BuildConfig,
    directions: Directions | None,
    stages: tuple[str, ...],
    progress: bool,
    checkpoints: Checkpoints,
) -> World:
    with Stages(stages, show=progress):
        map = Map.from_log(log, config.map, config.calibrate, progress=progress, checkpoints=checkpoints)
        config = settle_reflectance(config, map.calibration)
        if directions is not None and isinstance(config, HybridConfig):
            layers = standing.fit(map, config, directions)
        else:
            layers = fit(map, config)
        if config.refine != "none":
            begin_stage(refine.STAGE)
            layers = refine.refine(map, layers, config.refine, partial(_fit_sweeps, map, config), config)
            map = estimate_blind_sectors(map, layers)
        layers = record_seen(map.cloud, layers)
        if config.complete:
            layers = complete(map, layers, map.observed)
    meta: dict[str, Any] = {
        "source": str(log.meta.get("path", log.name)),
        "build": {"kind": type(config).__name__, "config": config.model_dump(mode="json")},
        "sweeps": len(log),
        **{name: value for name, value in log.meta.items() if name in ("aligned", "odometry", "scanner")},
    }
    return map.world(layers, meta)


def fit(map: Map, config: BuildConfig) -> tuple[Layer, ...]:
    """The layers that cover a map, by the estimator that the type of ``config`` names."""
    kind = _find_kind(config)
    begin_stage(STAGES[kind][0])
    return ESTIMATORS[kind](map, config)


def _fit_sweeps(map: Map, config: BuildConfig, sweeps: Array) -> tuple[Layer, ...]:
    """The layers that cover what some sweeps of a map saw."""
    return fit(map.select_sweeps(sweeps.tolist()), config)


def _find_kind(config: BuildConfig) -> type[BuildConfig]:
    for kind in ESTIMATORS:
        if isinstance(config, kind):
            return kind
    names = " or ".join(kind.__name__ for kind in ESTIMATORS)
    raise ResweepError(f"build: expected {names}, got {type(config).__name__}")
