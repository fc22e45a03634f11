"""From recordings to worlds: accumulate a log's sweeps into a map, and cover it.

The module is itself the function: ``rs.build(log, config)`` and ``resweep.build.SplatConfig`` both work.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from resweep.build.accumulate import Cloud, accumulate
from resweep.build.aligning import Shift, aligned
from resweep.build.config import (
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
from resweep.build.dynamic import dynamic_splats
from resweep.build.estimate import build
from resweep.build.groups import Group, LabelMap, label_map
from resweep.build.joining import joined
from resweep.build.laying import AlignConfig
from resweep.build.object_config import IcpConfig, ObjectConfig
from resweep.build.objects import build_bank
from resweep.build.odometry import OdometryConfig, odometry
from resweep.worlds import World

__all__ = [
    "AlignConfig",
    "CarveConfig",
    "Cloud",
    "DynamicConfig",
    "Group",
    "GroupFactors",
    "HybridConfig",
    "IcpConfig",
    "LabelMap",
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
    "aligned",
    "build",
    "build_bank",
    "dynamic_splats",
    "joined",
    "label_map",
    "odometry",
    "paper_c",
]


class _Callable(ModuleType):
    """A module that is called like the function of its name."""

    def __call__(self, *arguments: Any, **options: Any) -> World:
        return build(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
