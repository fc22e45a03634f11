"""Settings of builds from clouds without beams."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from resweep.config import Spec
from resweep.quantities import Coordinate


class CloudConfig(Spec):
    """How a cloud without scanner positions is built (`cloud.place`).

    ``scanner`` (x, y, z) is where the scanner stood, in the cloud's coordinates, metres. Without it, the position is
    that of the file (E57), or found from pulses of several returns and their GPS times, or taken straight above where
    first returns lie above last ones, or chosen among at most ``standpoints_max`` places from which the cloud is
    visible. ``intensity``: ``recorded`` takes intensities as they are, ``colour`` the luminance of the colours.
    ``auto`` takes the recorded ones if they use their scale: if 99 of 100 lie below 0.1, or one of 100 above 1.5, they
    are relative and divided by what 99 of 100 lie below; if there are none, 0.5 is taken for all.
    """

    scanner: tuple[Coordinate, Coordinate, Coordinate] | None = None
    intensity: Literal["auto", "recorded", "colour"] = "auto"
    standpoints_max: Annotated[int, Field(ge=1, le=500)] = 48
