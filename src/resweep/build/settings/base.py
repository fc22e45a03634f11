"""What the settings of all estimators share: the map that they start from."""

from __future__ import annotations

from typing import ClassVar, Self

from pydantic import model_validator

from resweep.build.settings.refine import Refine
from resweep.calibrate.config import CalibrateConfig
from resweep.config import Spec
from resweep.errors import SettingsError
from resweep.map.config import MapConfig
from resweep.prepare.clouds.config import CloudConfig


class BuildConfig(Spec):
    """Settings of a build: the ``map`` that the estimator covers, and how the log is calibrated before.

    With ``calibrate: null`` lasers and poses stay as they were recorded. ``cloud`` is for logs that are clouds without
    beams. ``refine`` says whether the world is then adjusted to the recorded beams by their likelihood
    (`refine.refine`): not at all (``none``), by three rounds of steps (``fast``, the default of hybrids), or by as many
    as help (``full``). With ``complete``, ground and façades are continued where nothing was
    recorded; what is completed is marked (`resweep.build.complete`). ``quick`` is for a first look: what takes long is
    left out (`settings.quick`).
    """

    refinable: ClassVar[bool] = True
    continues: ClassVar[bool] = True  # where nothing was recorded, by ``complete``

    map: MapConfig = MapConfig()
    calibrate: CalibrateConfig | None = CalibrateConfig()
    cloud: CloudConfig = CloudConfig()
    refine: Refine = "none"
    complete: bool = False
    quick: bool = False

    @property
    def can_be_tiled(self) -> bool:
        """Whether a map can be built tile by tile, each with what lies around it; else it is needed in one piece."""
        return False

    @model_validator(mode="after")
    def _does_what_it_can(self) -> Self:
        if self.refine != "none" and not self.refinable:
            raise SettingsError("refine", "only splats, volumes and hybrids are refined; leave it at none")
        if self.complete and not self.continues:
            raise SettingsError("complete", "a mesh is not continued where nothing was recorded; leave it out")
        if self.quick:
            self._check_quick()
        return self

    def _check_quick(self) -> None:
        """Raise for settings that were given, and ask for what a quick build leaves out."""
        if self.refine != "none" and "refine" in self.model_fields_set:
            raise SettingsError(
                "refine", f"quick leaves refinement out, and {self.refine} asks for it; give one of them"
            )
        lasers = self.calibrate
        if lasers is not None and "azimuth_bias_prior_m" in lasers.model_fields_set and lasers.azimuth_bias_prior_m > 0:
            problem = "quick leaves the azimuth bias of lasers out; give 0, or leave quick out"
            raise SettingsError("calibrate.azimuth_bias_prior_m", problem)
