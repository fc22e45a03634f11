"""From recordings to worlds: a log becomes a map, and the map a world."""

from __future__ import annotations

from resweep.reconstruction.build import build, fit
from resweep.reconstruction.checkpoints import Checkpoints
from resweep.reconstruction.cloud.config import CloudConfig
from resweep.reconstruction.config import BuildConfig
from resweep.reconstruction.hybrid.config import HybridConfig, HybridVolumes
from resweep.reconstruction.map.accumulate import accumulate
from resweep.reconstruction.map.cloud import Cloud
from resweep.reconstruction.map.config import FalloffConfig, MapConfig, ReflectanceConfig, VisibilityConfig
from resweep.reconstruction.map.map import Map
from resweep.reconstruction.mesh.config import MeshConfig
from resweep.reconstruction.methods import METHODS, method_config
from resweep.reconstruction.objects.bank import build_bank
from resweep.reconstruction.objects.config import IcpConfig, ObjectConfig
from resweep.reconstruction.poses.align import Shift, align
from resweep.reconstruction.poses.calibrate import calibrate
from resweep.reconstruction.poses.config import AlignConfig, CalibrateConfig, OdometryConfig
from resweep.reconstruction.poses.join import join
from resweep.reconstruction.poses.odometry import odometry
from resweep.reconstruction.splats.config import (
    CarveConfig,
    CloseConfig,
    DynamicConfig,
    GroupFactors,
    SplatConfig,
    SplatSettings,
    SurfelConfig,
    paper_c,
)
from resweep.reconstruction.splats.dynamic import dynamic_splats
from resweep.reconstruction.tiles.build import build_tiled
from resweep.reconstruction.volumes.config import VolumeConfig, VolumeSettings

__all__ = [
    "METHODS",
    "AlignConfig",
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
    "IcpConfig",
    "Map",
    "MapConfig",
    "MeshConfig",
    "ObjectConfig",
    "OdometryConfig",
    "ReflectanceConfig",
    "Shift",
    "SplatConfig",
    "SplatSettings",
    "SurfelConfig",
    "VisibilityConfig",
    "VolumeConfig",
    "VolumeSettings",
    "accumulate",
    "align",
    "build",
    "build_bank",
    "build_tiled",
    "calibrate",
    "dynamic_splats",
    "fit",
    "join",
    "method_config",
    "odometry",
    "paper_c",
]
