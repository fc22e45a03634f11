"""A cloud as a log whose beams are known."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np

from resweep.errors import ResweepError
from resweep.log import EmptyBeams, Log
from resweep.map.cloud import UNCLEAR
from resweep.pose import Array, inverse, transform
from resweep.prepare.clouds.checks import check_survey, check_units
from resweep.prepare.clouds.cloud_survey import Survey, find_unique, survey_cloud
from resweep.prepare.clouds.colours import COLOURS, ColourScale, find_luminance, read_colours
from resweep.prepare.clouds.config import CloudConfig
from resweep.prepare.clouds.origins import Origins, find_origins
from resweep.sweep import Sweep

# Chosen by hand.
_MIN_RELATIVE, _MAX_RELATIVE = (
    0.1,
    1.5,
)  # of the intensity that 99 of 100 lie below: outside, the scale is not that of reflectance
_DEFAULT_REFLECTANCE = 0.5  # reflectance of all points of a cloud without intensities: the middle of the scale


@dataclass(frozen=True, eq=False)
class PlacedCloud:
    """A cloud as a ``log`` whose beams are known, and what was found of it.

    ``has_intensity`` is False where one reflectance was taken for all points.
    """

    log: Log
    survey: Survey
    origins: Origins
    has_intensity: bool


def is_cloud(log: Log, config: CloudConfig) -> bool:
    """Whether a log is a cloud whose points have yet to be placed: a survey's, or one of an unknown sensor position."""
    if log.cloud != "no":
        return log.cloud == "raw"
    return config.scanner is not None or not (log.sensor_position_known or log.beams_known)


def place_cloud(log: Log, config: CloudConfig, progress: bool = False) -> PlacedCloud:
    """The cloud with known beams. It is read once.

    Points far from all others and exact duplicates are left out, intensities and colours are put to scale, and every
    point gets the place that it was measured from. A cloud that nothing can be built from is an error.
    """
    where = f"log '{log.name}'"
    check_units(log)
    if config.scanner is not None and len(log) > 1 and log.cloud == "no" and log.beams_known:
        raise ResweepError(f"{where}: is a drive of {len(log)} sweeps, which one scanner did not record; leave it out")
    survey = survey_cloud(log, progress)
    check_survey(log, survey)
    origins = find_origins(survey, config, log.sensor_position_known, where)
    scale = _choose_intensity(survey, config, where)
    if not origins.measured:
        warnings.warn(f"{where}: {origins.description}", stacklevel=4)
    place = _Place(origins, survey.low, survey.high, scale, survey.colours)
    placed = log.map(
        place,
        "place the scanner",
        poses_known=True,
        sensor_position_known=True,
        cloud="placed",
        empty_beams=EmptyBeams("unknown", "a cloud does not say which beams came back empty"),
        meta={**log.meta, "scanner": origins.description},
    )
    return PlacedCloud(placed, survey, origins, scale > 0)


@dataclass(frozen=True, eq=False)
class _Place:
    """Turns a sweep of points into one of beams; ``scale`` divides intensities, -1 takes colours, 0 none."""

    origins: Origins
    low: Array
    high: Array
    scale: float
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
        if self.scale > 0:
            return np.asarray(np.maximum(np.nan_to_num(sweep.intensity), 0.0) / np.float32(self.scale))
        if self.scale < 0 and "red" in extra:
            return find_luminance(np.stack([extra[name] for name in COLOURS], axis=1))
        return np.full(len(sweep), _DEFAULT_REFLECTANCE, np.float32)


def _choose_intensity(survey: Survey, config: CloudConfig, where: str) -> float:
    """What intensities are divided by; -1 for those of colours, 0 where there are none."""
    wanted, scale = config.intensity, survey.intensity_max
    if wanted == "colour":
        if survey.colours is None:
            raise ResweepError(f"{where}: cloud.intensity is colour, but its points have no colours; take auto")
        return -1.0
    if wanted == "recorded" or _MIN_RELATIVE <= scale <= _MAX_RELATIVE:
        return 1.0
    if scale <= 0.0:
        more = "; cloud.intensity colour takes that of the colours" if survey.colours is not None else ""
        warnings.warn(
            f"{where}: has no intensities; a reflectance of {_DEFAULT_REFLECTANCE} is taken for all{more}", stacklevel=4
        )
        return 0.0
    warnings.warn(
        f"{where}: 99 of 100 intensities lie below {scale:.3g}, so they are taken as relative and divided by that; "
        "give the scale of its counts (intensity_scale) or set cloud.intensity to recorded if they are reflectance",
        stacklevel=4,
    )
    return scale
