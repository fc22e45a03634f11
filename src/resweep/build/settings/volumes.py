"""Settings of permeable volumes, with the values of paper A as defaults."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from resweep.build.settings.base import BuildConfig
from resweep.config import NotNegative, Positive, Share, Spec
from resweep.errors import SettingsError
from resweep.map.config import FalloffConfig

SPARSE_RAD = 0.01  # between rings of a sparse sensor, at least


class VolumeSettings(Spec):
    """How permeable volumes are learned from a map and its beams (A, section III), whatever the map.

    ``method``: regular ``voxels`` of side ``voxel_m``, recursive two-means (``top-down``) until less than twice
    ``leaf_points`` are left or, with ``gaussian_z`` above 0, the points look Gaussian; or cells of ``seed_m`` that
    merge (``bottom-up``) while at least ``density_ratio`` times as dense as their parts and no longer than
    ``size_max_m``; or one volume for each voxel around its ``neighbours`` nearest points within
    ``neighbour_radius_m``, which is as wide as the map is sparse (ours, not A's). Points that were seen from afar may
    lie ``neighbour_slope`` times that distance from it; None takes the mean angle between the rings of a sparse
    recording, radians (`build.plan`). ``split_labels`` keeps labels apart. `fit_gaussians` says what ``min_points``
    and ``noise_m`` do. Beams hit a volume within ``tau``; those without return count up to ``empty_range_m``.
    ``permeability``: ``constant`` is A's, ``extinction`` takes out path length and the width of the beam, against
    leaves of ``element_m`` (`resweep.worlds.Volumes`). ``prior_beams`` beams of ``prior_permeability``
    are added to those counted. In each of ``rounds``, the permeability is matched to what simulated beams show
    (`match_permeability`).
    """

    method: Literal["voxels", "top-down", "bottom-up", "neighbours"] = "voxels"
    voxel_m: Positive = 0.3
    leaf_points: Annotated[int, Field(ge=2)] = 20
    gaussian_z: NotNegative = 0.0
    seed_m: Positive = 0.1
    density_ratio: Positive = 0.8
    size_max_m: Positive = 1.0
    neighbours: Annotated[int, Field(ge=3, le=200)] = 6
    neighbour_radius_m: Positive = 0.3
    neighbour_slope: NotNegative | None = None
    split_labels: bool = True
    min_points: Annotated[int, Field(ge=1)] = 5
    noise_m: Positive = 0.02
    tau: Positive = 2.0
    empty_range_m: Positive = 80.0
    permeability: Literal["constant", "extinction"] = "constant"
    element_m: Positive = 0.05
    prior_beams: NotNegative = 0.0
    prior_permeability: Share = 0.5
    rounds: Annotated[int, Field(ge=0, le=50)] = 0

    @property
    def is_local(self) -> bool:
        """Whether a volume depends on what is around it only."""
        return self.method in ("voxels", "neighbours") and self.rounds == 0

    @model_validator(mode="after")
    def _voxels_exceed_noise(self) -> VolumeSettings:
        if self.voxel_m < self.noise_m:
            noise = f"less than the noise of ranges (noise_m: {self.noise_m:g} m)"
            raise SettingsError("voxel_m", f"{self.voxel_m:g} m is {noise}; give larger voxels")
        return self


class VolumeConfig(BuildConfig, VolumeSettings):
    """A world of permeable volumes: how they are learned (`VolumeSettings`), from which map, and how bright they are.

    A volume has no surface, so that only range is taken out of its intensity.
    """

    reflectance: FalloffConfig = FalloffConfig()

    @property
    def can_be_tiled(self) -> bool:
        """Whether volumes depend on what is around them only."""
        return self.is_local
