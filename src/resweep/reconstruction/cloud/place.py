"""A cloud as a log whose beams are known, and the settings that it is built with."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.log import EmptyBeams, Log
from resweep.pose import Array, inverse, transform
from resweep.reconstruction.cloud.checks import check_survey, check_units
from resweep.reconstruction.cloud.colours import COLOURS, ColourScale, find_luminance, read_colours
from resweep.reconstruction.cloud.origins import Origins, find_origins
from resweep.reconstruction.cloud.settings import adapt_settings
from resweep.reconstruction.cloud.survey import Survey, find_unique, survey_cloud
from resweep.reconstruction.config import BuildConfig
from resweep.reconstruction.hybrid.config import HybridConfig
from resweep.reconstruction.map.cloud import UNCLEAR
from resweep.reconstruction.map.observed import measure_ring_gap
from resweep.reconstruction.splats.config import SplatSettings
from resweep.reconstruction.volumes.config import VolumeSettings
from resweep.sensors.infer.compensation import correct_compensation
from resweep.sweep import Sweep

_DARK, _BRIGHT = 0.1, 1.5  # of the intensity that 99 of 100 lie below: outside, the scale is not that of reflectance
_NO_INTENSITY = 0.5

Config = Any  # of any estimator; the same comes back


def is_cloud(log: Log, config: BuildConfig) -> bool:
    """Whether a log is a cloud whose points have yet to be placed: a survey's, or one of an unknown sensor position."""
    if log.cloud != "no":
        return log.cloud == "raw"
    return config.cloud.scanner is not None or not (log.sensor_position_known or log.beams_known)


def prepare_build(log: Log, config: Config, progress: bool = False) -> tuple[Log, Config]:
    """The log with known beams and the settings that it is built with.

    Of a drive that is calibrated, motion that compensation left in its sweeps is corrected first
    (`correct_compensation`). Its settings say how its map is thinned (`SplatSettings.choose_thinning`) and how far
    volumes reach between rings (`VolumeSettings.choose_slope`). Of what `is_cloud` both are made new:
    The cloud is read once. Points far from all others and exact duplicates are left out, intensities and colours are
    put to scale, and every point gets the place that it was measured from. A log that was prepared is not prepared
    again. A cloud that nothing can be built from is an error.
    """
    if not is_cloud(log, config):
        corrected = log if config.calibrate is None else correct_compensation(log)
        return corrected, _choose_reach(_choose_thinning(config, len(log)), log)
    where = f"log '{log.name}'"
    if config.refine != "none" and "refine" in config.model_fields_set:
        raise ResweepError(f"{where}: refining follows beams, which a cloud does not have; set refine to none")
    check_units(log)
    if config.cloud.scanner is not None and len(log) > 1 and log.cloud == "no" and log.beams_known:
        raise ResweepError(f"{where}: is a drive of {len(log)} sweeps, which one scanner did not record; leave it out")
    survey = survey_cloud(log, progress)
    check_survey(log, survey)
    origins = find_origins(survey, config.cloud, log.sensor_position_known, where)
    bright = _choose_intensity(survey, config, where)
    if not origins.measured:
        warnings.warn(f"{where}: {origins.words}", stacklevel=3)
    place = _Place(origins, survey.low, survey.high, bright, survey.colours)
    placed = log.map(
        place,
        "place the scanner",
        poses_known=True,
        sensor_position_known=True,
        cloud="placed",
        empty_beams=EmptyBeams("unknown", "a cloud does not say which beams came back empty"),
        meta={**log.meta, "scanner": origins.words},
    )
    return placed, adapt_settings(config, log, survey, origins, bright > 0)


def _choose_thinning(config: Config, sweeps: int) -> Config:
    if isinstance(config, SplatSettings):
        return config.choose_thinning(sweeps)
    if isinstance(config, HybridConfig):
        return config.model_copy(update={"splats": config.splats.choose_thinning(sweeps)})
    return config


def _choose_reach(config: Config, log: Log) -> Config:
    volumes = config.volumes if isinstance(config, HybridConfig) else config
    if not isinstance(volumes, VolumeSettings) or volumes.method != "neighbours":
        return config
    chosen = volumes.choose_slope(measure_ring_gap(log))
    return config.model_copy(update={"volumes": chosen}) if isinstance(config, HybridConfig) else chosen


@dataclass(frozen=True, eq=False)
class _Place:
    """Turns a sweep of points into one of beams; ``bright`` divides intensities, -1 takes colours, 0 none."""

    origins: Origins
    low: Array
    high: Array
    bright: float
    colours: ColourScale | None

    def __call__(self, sweep: Sweep) -> Sweep:
        points = sweep.world_points()
        keep = np.zeros(len(points), bool)
        keep[find_unique(points)] = True
        keep &= ((points >= self.low) & (points <= self.high)).all(axis=1)
        beams = np.zeros(sweep.n_beams, bool)
        beams[sweep.beam[keep]] = True
        sweep = sweep.select(keep).select_beams(beams)
        points = points[keep]
        extra = {name: values for name, values in sweep.extra.items() if name.lower() not in COLOURS}
        colour = read_colours(sweep.extra)
        if colour is not None and self.colours is not None:
            extra.update(zip(COLOURS, self.colours.to_bytes(colour).T, strict=True))
        places, unclear = self.origins.find(sweep, points)
        if unclear is not None:
            extra[UNCLEAR] = unclear
        origin = transform(inverse(sweep.pose), places)
        intensity = self._find_intensity(sweep, extra)
        return replace(sweep, intensity=intensity, extra=extra).with_origins(origin)

    def _find_intensity(self, sweep: Sweep, extra: dict[str, Array]) -> Array:
        if self.bright > 0:
            return np.asarray(np.maximum(np.nan_to_num(sweep.intensity), 0.0) / np.float32(self.bright))
        if self.bright < 0 and "red" in extra:
            return find_luminance(np.stack([extra[name] for name in COLOURS], axis=1))
        return np.full(len(sweep), _NO_INTENSITY, np.float32)


def _choose_intensity(survey: Survey, config: BuildConfig, where: str) -> float:
    """What intensities are divided by; -1 for those of colours, 0 where there are none."""
    wanted, bright = config.cloud.intensity, survey.bright
    if wanted == "colour":
        if survey.colours is None:
            raise ResweepError(f"{where}: cloud.intensity is colour, but its points have no colours; take auto")
        return -1.0
    if wanted == "recorded" or _DARK <= bright <= _BRIGHT:
        return 1.0
    if bright <= 0.0:
        more = "; cloud.intensity colour takes that of the colours" if survey.colours is not None else ""
        warnings.warn(
            f"{where}: has no intensities; a reflectance of {_NO_INTENSITY} is taken for all{more}", stacklevel=4
        )
        return 0.0
    warnings.warn(
        f"{where}: 99 of 100 intensities lie below {bright:.3g}, so they are taken as relative and divided by that; "
        "give the scale of its counts (intensity_scale) or set cloud.intensity to recorded if they are reflectance",
        stacklevel=4,
    )
    return bright
