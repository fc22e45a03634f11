"""Builds from clouds that do not say where their sensor was: only what needs no beams, or an error."""

from __future__ import annotations

import warnings
from typing import Any

from resweep.errors import UnknownBeamsError
from resweep.log import Log
from resweep.reconstruction.config import BuildConfig
from resweep.reconstruction.hybrid.config import HybridConfig
from resweep.reconstruction.mesh.config import MeshConfig
from resweep.reconstruction.splats.config import SplatConfig, SurfelConfig
from resweep.reconstruction.volumes.config import VolumeConfig

# What of a map is measured from the sensor, and its value where there is none.
_FROM_SENSOR: dict[str, Any] = {"ego_radius_m": 0.0, "ego_box_m": None, "range_max_m": 0.0}


def adapt_to_log(config: BuildConfig, log: Log) -> BuildConfig:
    """``config`` as a log can be built with: as it is, or without what needs beams where they are unknown.

    A cloud whose sensor's position is unknown has beams that nobody fired. `UnknownBeamsError` says what of the
    settings would learn from them; the rest is built without the sensor's distance and incidence, with a warning.
    """
    if not isinstance(config, SplatConfig | SurfelConfig | HybridConfig | VolumeConfig | MeshConfig):
        return config
    if log.sensor_position_known or log.beams_known:
        return config
    need = _find_need(config)
    if need is not None:
        raise UnknownBeamsError(f"log '{log.name}': its sensor's position is unknown, and {need}")
    assert isinstance(config, SplatConfig | SurfelConfig)
    moving = config.map.moving
    if moving == "auto":
        moving = "labels" if config.map.choose_labels(log).moving else "none"
    map = config.map.model_copy(update={**_FROM_SENSOR, "moving": moving})
    reflectance = config.reflectance.model_copy(update={"range_exponent": 0.0, "incidence_exponent": 0.0})
    adapted = config.model_copy(update={"map": map, "reflectance": reflectance, "calibrate": None})
    if adapted != config:
        warnings.warn(
            f"log '{log.name}': sensor position unknown, so it is built without beams: nothing around the sensor is "
            "left out, nothing that moves is found by beams, and intensities are taken as reflectance",
            stacklevel=3,
        )
    return adapted


def _find_need(config: BuildConfig) -> str | None:
    """What of the settings needs beams, or None."""
    if config.refine != "none":
        return "refining follows beams; set refine to none"
    if isinstance(config, HybridConfig | VolumeConfig):
        return "the permeability of volumes is learned from the beams that passed them"
    if isinstance(config, MeshConfig):
        return "a mesh turns its faces to the side that beams came from"
    if isinstance(config, SplatConfig) and config.carve.rounds > 0:
        return "splats are carved by the beams that passed them"
    if config.map.moving == "visibility":
        return "map.moving visibility finds what moves by the beams that passed it"
    given = [name for name in _FROM_SENSOR if name in config.map.model_fields_set and getattr(config.map, name)]
    return f"map.{given[0]} is measured from it" if given else None
