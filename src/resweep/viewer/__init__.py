"""What people look at: pictures of sweeps and places."""

from __future__ import annotations

from resweep.viewer.gallery import gallery
from resweep.viewer.pictures import birds_eye, close_up, range_image

__all__ = ["birds_eye", "close_up", "gallery", "range_image"]
