"""Settings of reflectance that a calibration settles."""

from __future__ import annotations

from typing import Any

from resweep.build.settings.hybrid import HybridConfig
from resweep.build.settings.splats import SplatConfig, SurfelConfig
from resweep.calibration import Calibration


def settle_reflectance(config: Any, calibration: Calibration | None) -> Any:
    """Settings of a build whose splats fall in brightness with incidence as the calibrated sensor shows.

    Settings of other kinds of world stay as they are: meshes are diffuse, and volumes have no incidence.
    """
    if not isinstance(config, HybridConfig | SplatConfig | SurfelConfig):
        return config
    return config.model_copy(update={"reflectance": config.reflectance.settled(calibration)})
