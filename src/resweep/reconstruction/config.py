"""What the settings of all estimators share: the map that they start from."""

from __future__ import annotations

from resweep.config import Spec
from resweep.reconstruction.cloud.config import CloudConfig
from resweep.reconstruction.map.config import MapConfig
from resweep.reconstruction.poses.config import CalibrateConfig


class BuildConfig(Spec):
    """Settings of a build: the ``map`` that the estimator covers, and how the log is calibrated before.

    With ``calibrate: null`` lasers and poses stay as they were recorded. ``cloud`` is for logs that are clouds without
    beams. With ``complete``, ground and façades are continued where nothing was recorded; what is made up is marked
    (`resweep.reconstruction.completion`).
    """

    map: MapConfig = MapConfig()
    calibrate: CalibrateConfig | None = CalibrateConfig()
    cloud: CloudConfig = CloudConfig()
    complete: bool = False
