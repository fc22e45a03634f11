"""Settings of the hybrid of splats and permeable volumes."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from resweep.build.settings.base import BuildConfig
from resweep.build.settings.refine import Refine
from resweep.build.settings.splats import SplatConfig, SplatSettings
from resweep.build.settings.volumes import VolumeConfig, VolumeSettings
from resweep.config import Positive, Share, Spec
from resweep.errors import SettingsError
from resweep.map.config import FalloffConfig, ReflectanceConfig
from resweep.quantities import CellSize, Number

_OF_THE_WHOLE = ("map", "calibrate", "cloud", "reflectance")


class HybridVolumes(VolumeSettings):
    """The volumes of a hybrid: small, on neighbours, and with the path through them taken out."""

    method: Literal["voxels", "top-down", "bottom-up", "neighbours"] = "neighbours"
    voxel_m: CellSize = 0.05
    tau: Positive = 2.5
    permeability: Literal["constant", "extinction"] = "extinction"


class HybridConfig(BuildConfig):
    """Splats and permeable volumes in one world (`hybrid.hybrid`): the default of `rs.build`.

    Points of the ``permeable`` groups become volumes, all others splats. Groups come from labels; where there are
    none, from C's descriptors, voted among ``vote_k`` neighbours. If that is a tenth of the points or more, the
    beams decide as well, by the kinds of ``evidence``: by ``permeability``, what fewer than ``passed_min`` of the beams
    pass is no volume; by ``likelihood``, what predicts the beams of held-out sweeps (every ``held_every``-th) better by
    ``gain_min`` is a volume, and nothing else is. By ``flatness``, which clouds take, a surface is what is a plane
    among its nearest points (`hybrid.flatness`), or ground by the lowest ones (`splats.lowest_ground`), before beams
    are asked; all else is a volume. The gain of a point is voted among up to ``vote_beams`` beams within
    ``vote_m`` (`hybrid.evidence`; it takes longer than the rest of the build). With no evidence, descriptors decide
    alone. If ``refine`` is ``full``, likelihood is asked of points with labels too: a gain of ``gain_min`` makes
    volumes of what labels call a surface, and a loss of as much splats of what they call vegetation. ``map``,
    ``calibrate``, ``cloud`` and ``reflectance`` hold for both parts. Unlike splats or volumes
    alone, a hybrid is refined by the likelihood of its beams unless ``refine`` is ``none``. The world of a sensor that
    stood still and fired the same directions again and again is learned direction by direction (`build.stationary`),
    unless ``stationary`` is ``never``.
    """

    splats: SplatSettings = SplatSettings()
    volumes: VolumeSettings = HybridVolumes()
    permeable: Annotated[tuple[Literal["ground", "surface", "linear", "non_surface"], ...], Field(max_length=4)] = (
        "non_surface",
        "linear",
    )
    vote_k: Annotated[int, Field(ge=1, le=500)] = 20
    evidence: Annotated[tuple[Literal["permeability", "likelihood", "flatness"], ...], Field(max_length=3)] = (
        "permeability",
        "likelihood",
    )
    passed_min: Share = 0.1
    gain_min: Number = 1.0
    held_every: Annotated[int, Field(ge=2, le=100)] = 3
    vote_beams: Annotated[int, Field(ge=5, le=500)] = 60
    vote_m: CellSize = 0.7
    reflectance: ReflectanceConfig = ReflectanceConfig()
    refine: Refine = "fast"
    stationary: Literal["auto", "never"] = "auto"

    @property
    def can_be_tiled(self) -> bool:
        """Whether its volumes depend on what is around them only."""
        return self.volumes.is_local

    def _check_quick(self) -> None:
        super()._check_quick()
        if "likelihood" in self.evidence and "evidence" in self.model_fields_set:
            problem = "quick leaves the likelihood of held-out sweeps out; give permeability alone, or leave quick out"
            raise SettingsError("evidence", problem)

    @field_validator("splats", "volumes", mode="before")
    @classmethod
    def _take_part(cls, value: Any, info: ValidationInfo) -> Any:
        """A part's settings; what holds for the whole hybrid is refused, not ignored."""
        given = value.model_fields_set if isinstance(value, Spec) else value if isinstance(value, dict) else ()
        for name in _OF_THE_WHOLE:
            if name in given:
                raise SettingsError(name, f"holds for the whole hybrid; set {name} of the hybrid itself")
        if isinstance(value, SplatSettings | VolumeSettings):
            kind = SplatSettings if isinstance(value, SplatSettings) else VolumeSettings
            return kind(**{name: getattr(value, name) for name in kind.model_fields})
        if isinstance(value, dict):  # fields that are not given keep the hybrid's own defaults
            return SplatSettings(**value) if info.field_name == "splats" else HybridVolumes(**value)
        return value

    @property
    def splat_config(self) -> SplatConfig:
        """The settings of the splats alone, with what holds for the whole."""
        whole: dict[str, Any] = {"map": self.map, "calibrate": self.calibrate, "cloud": self.cloud}
        whole["reflectance"] = self.reflectance
        return SplatConfig(**dict(self.splats), **whole)

    @property
    def volume_config(self) -> VolumeConfig:
        """The settings of the volumes alone, with what holds for the whole."""
        falloff = {name: getattr(self.reflectance, name) for name in FalloffConfig.model_fields}
        whole: dict[str, Any] = {"map": self.map, "calibrate": self.calibrate, "cloud": self.cloud}
        whole["reflectance"] = falloff
        return VolumeConfig(**dict(self.volumes), **whole)
