"""The settings that a cloud is built with: those given, and else what its density and its origins allow."""

from __future__ import annotations

from typing import Any

from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.splats import GroupFactors, SplatSettings
from resweep.build.settings.volumes import VolumeSettings
from resweep.config import Spec
from resweep.prepare.clouds.cloud_survey import Survey
from resweep.prepare.clouds.origins import Origins
from resweep.prepare.clouds.place import PlacedCloud

_GROUND_CELL_M = 0.25  # of the raster in which ground is found; chosen by hand
_GROUND_CELL = 3.0  # the same in spacings, at least: so that most cells of a level floor hold points
_GROUND_LEVELS = 3  # of cells that double; chosen by hand
# Of splats on what is flat among its nearest points: no wider than those, also where C's neighbourhood is a line.
_PLANAR = GroupFactors(k=2.0, radius=1.0, bound=1.0)
_LINEAR = GroupFactors(k=0.5, radius=1.0, bound=0.5)
_REACH = 4.0  # in spacings: how far the neighbours of a volume may lie; chosen by hand


def adapt_settings(config: Any, placed: PlacedCloud) -> Any:
    """``config`` for a cloud that was placed. What was set stays; of the rest:

    Nothing around the scanner is left out, nothing that moves is looked for unless labels say it, and no poses are
    corrected. Points are thinned where the lines of a scanner would else be taken for wires (`find_thinning`). Volumes
    are at least as large as the spacing of the points. Where origins are assumed or intensities assumed, the angle of
    incidence does not count; where no way of a beam is known to be free, splats are not carved. Sweeps of a cloud are
    parts of it, not views of one place, so that none is held out and none refines the world. A hybrid's surfaces are
    flat among their nearest points, since passing beams show little where origins are assumed. Ground is closed.
    """
    survey, origins = placed.survey, placed.origins
    labels = config.map.choose_labels(placed.log)
    config = _with(config, calibrate=None, refine="none")
    moving = "labels" if labels.moving else "none"
    config = config.model_copy(update={"map": _with(config.map, ego_radius_m=0.0, moving=moving)})
    if not (origins.measured and placed.has_intensity) and "reflectance" in type(config).model_fields:
        config = config.model_copy(update={"reflectance": _flat_reflectance(config.reflectance)})
    if isinstance(config, HybridConfig):
        config = _with(config, evidence=("flatness", "permeability") if origins.measured else ("flatness",))
        parts = {
            "splats": _with(_adapt_splats(config.splats, survey, origins), planar=_PLANAR, linear=_LINEAR),
            "volumes": _adapt_volumes(config.volumes, survey),
        }
        return config.model_copy(update=parts)
    if isinstance(config, SplatSettings):
        return _adapt_splats(config, survey, origins)
    return _adapt_volumes(config, survey) if isinstance(config, VolumeSettings) else config


def _with(spec: Any, **values: Any) -> Any:
    """``spec`` with values for those fields that were not given."""
    return spec.model_copy(update={name: value for name, value in values.items() if name not in spec.model_fields_set})


def _flat_reflectance(reflectance: Spec) -> Any:
    names = ("range_exponent", "incidence_exponent")
    return _with(reflectance, **{name: 0.0 for name in names if name in type(reflectance).model_fields})


def _adapt_splats(settings: Any, survey: Survey, origins: Origins) -> Any:
    settings = _with(settings, thin_m=survey.thin_m or None)
    cell_m = max(_GROUND_CELL_M, _GROUND_CELL * survey.spacing_m)
    close = _with(settings.close, only="ground", levels=_GROUND_LEVELS, cell_m=cell_m)  # a cloud has no rings
    settings = settings.model_copy(update={"close": close})
    if origins.carves:
        return settings
    return settings.model_copy(update={"carve": _with(settings.carve, rounds=0)})


def _adapt_volumes(settings: Any, survey: Survey) -> Any:
    wide = max(settings.voxel_m, survey.spacing_m)
    reach = max(settings.neighbour_radius_m, _REACH * survey.spacing_m)
    return _with(settings, voxel_m=wide, neighbour_radius_m=reach, neighbour_slope=0.0)
