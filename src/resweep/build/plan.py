"""What a log is built with: every default decided once, before anything is computed."""

from __future__ import annotations

from typing import Any

from resweep.build.cloud_settings import adapt_settings
from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.splats import SplatSettings
from resweep.build.settings.volumes import VolumeSettings
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.map.observed import measure_ring_gap
from resweep.prepare.clouds.place import is_cloud, place_cloud
from resweep.sensors.infer.compensation import correct_compensation

Config = Any  # of any estimator; the same comes back


def prepare_build(log: Log, config: Config, progress: bool = False) -> tuple[Log, Config]:
    """The log with known beams and the settings that it is built with.

    Of a drive that is calibrated, motion that compensation left in its sweeps is corrected first
    (`correct_compensation`). Its settings say how its map is thinned (`SplatSettings.choose_thinning`) and how far
    volumes reach between rings (`VolumeSettings.choose_slope`). Of what `is_cloud` both are made new (`place_cloud`,
    `adapt_settings`). A log that was prepared is not prepared again.
    """
    if not is_cloud(log, config.cloud):
        corrected = log if config.calibrate is None else correct_compensation(log)
        return corrected, _choose_reach(_choose_thinning(config, len(log)), log)
    if config.refine != "none" and "refine" in config.model_fields_set:
        raise ResweepError(f"log '{log.name}': refining follows beams, which a cloud does not have; set refine to none")
    placed = place_cloud(log, config.cloud, progress)
    return placed.log, adapt_settings(config, placed)


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
