"""What a log is built with: every default decided once, before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import yaml

from resweep.build.cloud_settings import adapt_settings
from resweep.build.refusals import MIN_TRIAL_SWEEPS, check_refinement, check_unread_at_rest, check_visibility, differs
from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.mesh import MeshConfig
from resweep.build.settings.quick import choose_quick
from resweep.build.settings.splats import LONG_SWEEPS, LONG_THIN_M, SplatSettings
from resweep.build.settings.volumes import SPARSE_RAD, VolumeSettings
from resweep.build.sizes import MAX_TILE_M, MIN_TILE_M, choose_tiles, count_bytes, count_points
from resweep.build.stationary.directions import Directions, find_directions
from resweep.calibration import Calibration
from resweep.errors import InputError, ResweepError
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.map.accumulate import find_mappable
from resweep.map.config import ReflectanceConfig
from resweep.map.observed_voxels import measure_ring_gap
from resweep.memory import format_memory, parse_memory
from resweep.pose import Array
from resweep.prepare.clouds.place import is_cloud, place_cloud
from resweep.voxels import number_voxels

# Chosen by hand.
CLOUD_PARTS = 4  # of a cloud, by which it is known whether its points lie as close as the noise of ranges
AT_REST_M = 0.1  # that positions differ by at most, where readings of one beam may share a cell in many sweeps
WIDER = 1.25  # than the noise of ranges: cells in which readings of one beam become one point


@dataclass(frozen=True)
class Plan:
    """All that decides what a build gives, as data: printed, stored in the world and compared.

    ``config`` holds no setting that is left open, but what only calibration can tell (`with_lasers`). ``labels`` is the
    vocabulary of the returns. ``calibrates`` says whether lasers and poses are corrected, ``stationary`` whether the
    sensor stood still and fired the same directions again and again. With ``tile_m`` None the whole map is one tile;
    else at most ``square_points`` points are fitted at once. ``reasons`` say what each choice rests on.
    """

    config: BuildConfig
    labels: LabelSet
    sweeps: int
    calibrates: bool
    stationary: bool
    tile_m: float | None
    square_points: int
    reasons: dict[str, str] = field(default_factory=dict, compare=False)
    placed: Log | None = field(default=None, compare=False, repr=False)  # a cloud that had to be read for its settings
    directions: Directions | None = field(default=None, compare=False, repr=False)  # of a stationary sensor

    @property
    def method(self) -> str:
        """The kind of world, by the type of the settings."""
        return type(self.config).__name__

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON and YAML can hold it."""
        return {
            "kind": self.method,
            "sweeps": self.sweeps,
            "labels": self.labels.name,
            "calibrates": self.calibrates,
            "stationary": self.stationary,
            "tile_m": self.tile_m,
            "square_points": self.square_points,
            "reasons": dict(self.reasons),
            "config": self.config.model_dump(mode="json"),
        }

    def __str__(self) -> str:
        return str(yaml.safe_dump(self.to_dict(), sort_keys=False, allow_unicode=True))

    def with_lasers(self, calibration: Calibration | None) -> Plan:
        """The plan with the exponent by which intensities fall with incidence, as the calibrated lasers show it."""
        return replace(self, config=_choose_incidence(self.config, calibration))


def resolve(
    log: Log,
    config: BuildConfig | None = None,
    *,
    tile_m: float | None = None,
    memory: int | str | None = None,
    progress: bool = False,
) -> Plan:
    """The plan by which a log is built. The first sweep is read, a cloud once, and some sweeps of a sensor at rest.

    ``config`` says which kind of world (default: `HybridConfig`) and what is given; what it leaves open is decided here
    and nowhere else. What cannot be built so, or would be ignored, is an error.
    """
    config = HybridConfig() if config is None else config
    if not isinstance(log, Log):
        raise ResweepError(f"build: expected a log (resweep.open_log), got {type(log).__name__}")
    if not isinstance(config, BuildConfig):
        raise ResweepError(f"build: expected settings such as HybridConfig or SplatConfig, got {type(config).__name__}")
    if len(log) == 0:
        raise InputError(f"log '{log.name}': holds no sweep; give at least one to build from")
    if tile_m is not None and not MIN_TILE_M <= tile_m <= MAX_TILE_M:
        raise ResweepError(f"tile_m: expected a side of {MIN_TILE_M:g} to {MAX_TILE_M:,.0f} m, got {tile_m:g}")
    bound = parse_memory(memory)
    reasons: dict[str, str] = {}
    placed: Log | None = None
    directions: Directions | None = None
    given: Any = config
    if is_cloud(log, config.cloud):
        check_refinement(log, config, is_cloud=True)
        cloud = place_cloud(log, config.cloud, progress)
        read = placed = cloud.log
        given = _choose_thinning(adapt_settings(config, cloud), placed, reasons)
        reasons["cloud"] = cloud.origins.description
    else:
        read = _keep_first(log)
        if len(log) > 1:
            log.require_poses("its sweeps make no map")
        check_refinement(log, config, is_cloud=False)
        given = _choose_volumes_reach(_choose_thinning(given, read, reasons), read, reasons)
        directions = _find_directions(read, given, bound, tile_m, reasons)
        given = _choose_evidence(given, log) if directions is None else _resolve_stationary(given)
    labels = given.map.choose_labels(log)
    given = _choose_calibration(_choose_by_labels(given, read, labels, reasons), log, placed is not None, reasons)
    given = choose_quick(given, log, placed is not None, reasons)
    tile, square = choose_tiles(read, given, tile_m, bound, directions is not None, reasons)
    return Plan(
        config=given if given.calibrate is not None else _choose_incidence(given, None),
        labels=labels,
        sweeps=len(log),
        calibrates=given.calibrate is not None,
        stationary=directions is not None,
        tile_m=tile,
        square_points=square,
        reasons=reasons,
        placed=placed,
        directions=directions,
    )


def _keep_first(log: Log) -> Log:
    """The log whose first sweep is read now, and not again for each choice that rests on it."""
    first, load = log[0], log.load
    return replace(log, load=lambda at: first if at == 0 else load(at))


def _choose_calibration(config: Any, log: Log, is_cloud: bool, reasons: dict[str, str]) -> Any:
    """``config`` without calibration where nothing shows lasers and poses."""
    why = "a cloud has no lasers" if is_cloud else "one sweep shows no errors of its lasers" if len(log) == 1 else ""
    if config.calibrate is None or not why:
        return config
    if "calibrate" in config.model_fields_set:
        raise ResweepError(f"log '{log.name}': calibrate: {why}; set calibrate to null")
    reasons["calibrate"] = why
    return config.model_copy(update={"calibrate": None})


def _choose_incidence(config: Any, calibration: Calibration | None) -> Any:
    """``config`` with the exponent by which intensities fall with incidence, where that was left open.

    Volumes have no incidence, and meshes are diffuse.
    """
    reflectance = getattr(config, "reflectance", None)
    if not isinstance(reflectance, ReflectanceConfig):
        return config
    chosen = reflectance.with_lasers(None if isinstance(config, MeshConfig) else calibration)
    return config.model_copy(update={"reflectance": chosen})


def _choose_by_labels(config: Any, log: Log, labels: LabelSet, reasons: dict[str, str]) -> Any:
    """``config`` with how moving points are found and what splats adapt to, where that was left open.

    The first sweep of a drive shows whether its returns have labels or boxes; of a cloud some parts are asked.
    """
    parts = log[:1] if log.cloud == "no" else log[_spread(len(log), CLOUD_PARTS)]
    labelled = labels.known and any(bool(sweep.label.any()) for sweep in parts)
    reasons["labels"] = "returns have labels" if labelled else "returns have no labels of known meaning"
    if config.map.moving == "auto":
        boxed = log[0].boxes is not None
        seen_through = "visibility" if len(log) > config.map.visibility.passes else "none"
        moving = "labels" if labelled and labels.moving else "boxes" if boxed else seen_through
        config = config.model_copy(update={"map": config.map.model_copy(update={"moving": moving})})
    check_visibility(log, config)
    settings = config.splats if isinstance(config, HybridConfig) else config
    if not isinstance(settings, SplatSettings) or settings.method != "auto":
        return config
    chosen = settings.model_copy(update={"method": "labels" if labelled else "descriptors"})
    return config.model_copy(update={"splats": chosen}) if isinstance(config, HybridConfig) else chosen


def _choose_evidence(config: Any, log: Log) -> Any:
    """``config`` without the evidence of held-out sweeps where there are too few to hold one out."""
    if not isinstance(config, HybridConfig) or "likelihood" not in config.evidence or len(log) >= MIN_TRIAL_SWEEPS:
        return config
    if differs(config, "evidence"):
        raise ResweepError(
            f"log '{log.name}': evidence likelihood holds sweeps out and needs {MIN_TRIAL_SWEEPS}, this log has "
            f"{len(log)}; take permeability"
        )
    return config.model_copy(update={"evidence": ("permeability",)})


def _spread(count: int, most: int) -> list[int]:
    """At most so many of ``count`` numbers, spread evenly over them."""
    return [int(at) for at in np.unique(np.linspace(0, count - 1, min(count, most)).astype(int))]


def _choose_thinning(config: Any, log: Log, reasons: dict[str, str]) -> Any:
    """``config`` with the cells in which its splats' points become one, where that was left open.

    The mean of many readings tells as much as they do, with half of the splats. Of a sensor at rest, the k neighbours
    of a point are other readings of its own beam, which lie along it, and no surface.
    """
    settings = config.splats if isinstance(config, HybridConfig) else config
    if not isinstance(settings, SplatSettings) or settings.thin_m is not None:
        return config
    thin_m = 0.0
    if log.cloud == "no" and len(log) > LONG_SWEEPS:
        thin_m = LONG_THIN_M
        reasons["thin_m"] = f"more than {LONG_SWEEPS} sweeps"
    elif isinstance(config, HybridConfig) and _repeats_beams(log, config):
        thin_m = WIDER * config.volumes.noise_m
        reasons["thin_m"] = f"more than {settings.k} readings share a cell as wide as the noise of ranges"
    chosen = settings.model_copy(update={"thin_m": thin_m})
    return config.model_copy(update={"splats": chosen}) if isinstance(config, HybridConfig) else chosen


def _repeats_beams(log: Log, config: HybridConfig) -> bool:
    """Whether more than k points of a map share a cell as wide as the noise of ranges, mean over its points."""
    looked_at = list(range(len(log)))
    if log.cloud != "no":
        looked_at = _spread(len(log), CLOUD_PARTS)
    elif len(log) < 2 or float(np.ptp(log.poses[:, :3, 3], axis=0).max()) > AT_REST_M:
        return False
    labels = config.map.choose_labels(log)
    points = np.concatenate([_read_points(log, at, config, labels) for at in looked_at])
    return count_repeats(points, config.volumes.noise_m) > config.splats.k * len(points)


def _read_points(log: Log, at: int, config: HybridConfig, labels: LabelSet) -> Array:
    sweep = log[at]
    return np.asarray(sweep.world_points()[find_mappable(sweep, config.map, labels)] - log.poses[0][:3, 3])


def count_repeats(points: Array, noise_m: float) -> float:
    """The sum over points (n, 3) of how many of them, itself included, share the cell of side ``noise_m`` of each."""
    if len(points) == 0:
        return 0.0
    shared = np.bincount(number_voxels(points.astype(np.float32), noise_m)).astype(np.float64)
    return float((shared**2).sum())


def _choose_volumes_reach(config: Any, log: Log, reasons: dict[str, str]) -> Any:
    """``config`` with how far volumes on neighbours reach between rings, where that was left open.

    It is 0 for rings closer than `SPARSE_RAD`: there a reach gives more returns from far trees, and less precise ones.
    """
    volumes = config.volumes if isinstance(config, HybridConfig) else config
    if not isinstance(volumes, VolumeSettings) or volumes.method != "neighbours" or volumes.neighbour_slope is not None:
        return config
    gap = measure_ring_gap(log)
    reasons["neighbour_slope"] = f"rings are {gap:.4f} rad apart"
    chosen = volumes.model_copy(update={"neighbour_slope": gap if gap >= SPARSE_RAD else 0.0})
    return config.model_copy(update={"volumes": chosen}) if isinstance(config, HybridConfig) else chosen


def _find_directions(
    log: Log, config: BuildConfig, bound: int, tile_m: float | None, reasons: dict[str, str]
) -> Directions | None:
    """The directions of a sensor at rest whose world is learned shot by shot; None where it is built as a drive."""
    if not isinstance(config, HybridConfig) or config.stationary == "never" or log.cloud != "no":
        return None
    directions = find_directions(log)
    if directions is None:
        return None
    if count_bytes(count_points(log)) > bound:
        reasons["stationary"] = f"the sensor stood still, but its map does not fit into {format_memory(bound)}"
        return None
    check_unread_at_rest(log, config, tile_m)
    reasons["stationary"] = "the sensor stood still and fired the same directions again and again"
    return directions


def _resolve_stationary(config: HybridConfig) -> HybridConfig:
    """The settings of a sensor at rest, as far as they were left open.

    From one place, lasers and poses cannot be calibrated: readings are as the sensor gives them. What beams pass
    through sometimes is a leaf as likely as something that moved, so visibility cannot decide. Nothing is refined
    further, since EM has been done already.
    """
    changes: dict[str, Any] = {"refine": "none"}
    if "calibrate" not in config.model_fields_set:
        changes["calibrate"] = None
    if "moving" not in config.map.model_fields_set:
        changes["map"] = config.map.model_copy(update={"moving": "none"})
    return config.model_copy(update=changes)
