"""Where sweeps lie: poses from the sweeps alone, and drives of one place brought together."""

from __future__ import annotations

from resweep.register.align import Shift, align
from resweep.register.config import AlignConfig, OdometryConfig
from resweep.register.join import join
from resweep.register.odometry import odometry

__all__ = ["AlignConfig", "OdometryConfig", "Shift", "align", "join", "odometry"]
