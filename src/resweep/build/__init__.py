"""From recordings to worlds: a log becomes a map, and the map a world."""

from __future__ import annotations

from resweep.build.methods import METHODS, method_config
from resweep.build.parts import fit_map
from resweep.build.pipeline import build
from resweep.build.plan import Plan, resolve
from resweep.build.settings.base import BuildConfig
from resweep.build.settings.hybrid import HybridConfig, HybridVolumes
from resweep.build.settings.mesh import MeshConfig
from resweep.build.settings.splats import (
    CarveConfig,
    CloseConfig,
    DynamicConfig,
    GroupFactors,
    SplatConfig,
    SplatSettings,
    SurfelConfig,
    paper_c,
)
from resweep.build.settings.volumes import VolumeConfig, VolumeSettings
from resweep.build.splats.dynamic import dynamic_splats
from resweep.calibrate.calibrate import calibrate
from resweep.calibrate.config import CalibrateConfig
from resweep.map.accumulate import accumulate
from resweep.map.checkpoints import Checkpoints
from resweep.map.cloud import Cloud
from resweep.map.config import FalloffConfig, MapConfig, ReflectanceConfig, VisibilityConfig
from resweep.map.map import Map
from resweep.prepare.clouds.config import CloudConfig

__all__ = [
    "METHODS",
    "BuildConfig",
    "CalibrateConfig",
    "CarveConfig",
    "Checkpoints",
    "CloseConfig",
    "Cloud",
    "CloudConfig",
    "DynamicConfig",
    "FalloffConfig",
    "GroupFactors",
    "HybridConfig",
    "HybridVolumes",
    "Map",
    "MapConfig",
    "MeshConfig",
    "Plan",
    "ReflectanceConfig",
    "SplatConfig",
    "SplatSettings",
    "SurfelConfig",
    "VisibilityConfig",
    "VolumeConfig",
    "VolumeSettings",
    "accumulate",
    "build",
    "calibrate",
    "dynamic_splats",
    "fit_map",
    "method_config",
    "paper_c",
    "resolve",
]
