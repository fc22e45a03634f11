"""From recordings to worlds: a log becomes a map, and the map a world."""

from __future__ import annotations

from resweep.reconstruction.build import build
from resweep.reconstruction.config import (
    CarveConfig,
    DynamicConfig,
    GroupFactors,
    HybridConfig,
    MapConfig,
    MeshConfig,
    ReflectanceConfig,
    SplatConfig,
    SurfelConfig,
    VisibilityConfig,
    VolumeConfig,
    paper_c,
)
from resweep.reconstruction.map.accumulate import Cloud, accumulate
from resweep.reconstruction.objects.bank import build_bank
from resweep.reconstruction.objects.config import IcpConfig, ObjectConfig
from resweep.reconstruction.poses.align import Shift, align
from resweep.reconstruction.poses.config import AlignConfig, CalibrateConfig, OdometryConfig
from resweep.reconstruction.poses.join import join
from resweep.reconstruction.poses.odometry import odometry
from resweep.reconstruction.splats.dynamic import dynamic_splats

__all__ = [
    "AlignConfig",
    "CalibrateConfig",
    "CarveConfig",
    "Cloud",
    "DynamicConfig",
    "GroupFactors",
    "HybridConfig",
    "IcpConfig",
    "MapConfig",
    "MeshConfig",
    "ObjectConfig",
    "OdometryConfig",
    "ReflectanceConfig",
    "Shift",
    "SplatConfig",
    "SurfelConfig",
    "VisibilityConfig",
    "VolumeConfig",
    "accumulate",
    "align",
    "build",
    "build_bank",
    "dynamic_splats",
    "join",
    "odometry",
    "paper_c",
]
