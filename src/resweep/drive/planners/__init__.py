"""Reference stacks that drive: paper B's grid navigator, and a lane keeper that avoids what it detects."""

from resweep.drive.planners.avoider import Avoider, AvoiderConfig
from resweep.drive.planners.navigator import Navigator, NavigatorConfig

__all__ = ["Avoider", "AvoiderConfig", "Navigator", "NavigatorConfig"]
