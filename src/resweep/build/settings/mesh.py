"""Settings of the surface baselines."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator

from resweep.build.settings.base import BuildConfig
from resweep.config import Positive
from resweep.errors import SettingsError
from resweep.map.config import ReflectanceConfig


class MeshConfig(BuildConfig):
    """A triangle mesh over the map: the surface baselines of C (6.1.1) and A (V-C).

    ``method``: ``imls`` (C, eqs. 2 and 3), ``rimls`` (Öztireli 2009, which A uses), the same through MeshLab
    (``rimls-meshlab``, for small places: its grid spans the whole box) or screened ``poisson`` (Kazhdan 2013, through
    MeshLab). Normals come from the ``k`` nearest points, as for basic splats (C, 3.1).

    Both kinds of moving least squares are evaluated on a grid of ``voxel_m``. IMLS has σ of ``sigma_voxels`` and ends
    ``truncation_voxels`` from the nearest point. RIMLS has a kernel that ends at ``kernel_m``; ``sigma_normal`` is how
    far a normal may be from the surface's before it counts little, in ``refits`` rounds (0: plain IMLS with that
    kernel). A takes voxels of 1 cm and a kernel of 4 cm for targets close by, 30 and 40 cm for a drive; the
    default keeps C's voxels and the first ratio.

    Poisson's octree has cells of ``cell_m``, or as deep as ``depth_max`` allows, and ``samples_per_node``. Faces
    farther than ``trim_m`` from every point are cut off, in place of C's trimming by density.
    """

    refinable: ClassVar[bool] = False
    continues: ClassVar[bool] = False

    method: Literal["imls", "rimls", "rimls-meshlab", "poisson"] = "imls"
    k: Annotated[int, Field(ge=4, le=500)] = 40
    voxel_m: Positive = 0.07
    sigma_voxels: Annotated[float, Field(gt=0.0, le=10.0)] = 2.0
    truncation_voxels: Annotated[float, Field(ge=1.0, le=10.0)] = 3.0
    kernel_m: Positive = 0.28
    sigma_normal: Positive = 0.75
    refits: Annotated[int, Field(ge=0, le=20)] = 2
    cell_m: Positive = 0.035
    depth_max: Annotated[int, Field(ge=5, le=14)] = 13
    samples_per_node: Positive = 2.0
    trim_m: Positive = 0.3
    reflectance: ReflectanceConfig = ReflectanceConfig()

    @model_validator(mode="after")
    def _kernel_spans_voxels(self) -> MeshConfig:
        if self.method.startswith("rimls") and not 1.0 <= self.kernel_m / self.voxel_m <= 10.0:
            raise SettingsError("kernel_m", f"{self.kernel_m:g} m is not 1 to 10 voxels of {self.voxel_m:g} m")
        return self
