"""Views of worlds, logs and scenarios by a camera, through the tracer that sensors use."""

from __future__ import annotations

from resweep.viewer.camera.cameras import Camera, look_at, look_down
from resweep.viewer.camera.flight import fly, follow, orbit
from resweep.viewer.camera.renderer import CameraView, Renderer
from resweep.viewer.camera.shading import VIEWS, shade

__all__ = ["VIEWS", "Camera", "CameraView", "Renderer", "fly", "follow", "look_at", "look_down", "orbit", "shade"]
