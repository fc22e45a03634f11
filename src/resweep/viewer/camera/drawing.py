"""Pictures of places: a world, a log or a scenario as a camera sees it, one at a time or along a path."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from resweep.labels import LabelSet
from resweep.pose import Array
from resweep.scenario import Actor
from resweep.viewer.camera.cameras import Camera, look_at, look_down
from resweep.viewer.camera.point_cloud import PointCloud
from resweep.viewer.camera.renderer import CameraView, Renderer
from resweep.viewer.camera.shading import shade, shrink
from resweep.worlds import StreamedWorld, World

_MARGIN = 1.05  # around what a picture shows
_MIN_TALL = 0.4  # height by width of an object or a tree, which is seen whole
_OVERVIEW = np.array([-0.55, -0.65, 0.55])  # from which side a place is seen by default


@dataclass
class Drawing:
    """What is drawn, how and how finely: a ``world`` among ``actors``, or the points of a ``cloud``.

    ``kind`` is one of `VIEWS`; ``samples`` rays across and down a pixel are averaged. ``point_px`` is how wide points
    are.
    """

    kind: str = "shaded"
    world: World | StreamedWorld | None = None
    cloud: PointCloud | None = None
    actors: Sequence[Actor] = field(default_factory=tuple)
    samples: int = 2
    point_px: float = 2.0
    range_m: float | None = None
    threads: int = 0
    _renderer: Renderer | None = None

    @property
    def labels(self) -> LabelSet:
        """What the label ids mean."""
        assert self.world is not None or self.cloud is not None
        return self.cloud.labels if self.cloud is not None else self.world.labels  # type: ignore[union-attr]

    @property
    def bounds(self) -> Array:
        """Lowest and highest corner (2, 3) of what is drawn."""
        if self.cloud is not None:
            return self.cloud.bounds
        assert self.world is not None
        return np.asarray(self.world.bounds)

    def view(self, camera: Camera, pose: Array, second: float = 0.0) -> CameraView:
        """What ``camera`` sees from ``pose`` (``T_world_camera``) at ``second``."""
        if self.cloud is not None:
            discs = self.cloud.world(camera, pose, self.point_px)
            renderer = Renderer(discs, coloured=self.kind == "colour", threads=self.threads)
            return renderer.view(camera.scaled(self.samples), pose)
        assert self.world is not None
        if self._renderer is None:
            self._renderer = Renderer(self.world, self.actors, coloured=self.kind == "colour", threads=self.threads)
        return self._renderer.view(camera.scaled(self.samples), pose, second)

    def draw(self, camera: Camera, pose: Array, second: float = 0.0) -> Array:
        """The picture (h, w, 3) uint8."""
        kind = "label" if self.kind == "shaded" and self.cloud is not None and self.cloud.label.any() else self.kind
        view = self.view(camera, pose, second)
        return shrink(shade(view, kind, labels=self.labels, range_m=self.range_m), self.samples)

    def choose_pose(self, camera: Camera, eye: Array | None, target: Array | None) -> Array:
        """``T_world_camera`` from a place and what it looks at, or such that all is seen where neither is given."""
        low, high = self.bounds
        middle = (low + high) / 2
        if camera.projection == "above":
            centre = np.asarray(middle if target is None else target, np.float64)
            return look_down([*centre[:2], low[2]], float(high[2] - low[2]) + 10.0)
        if eye is None:
            towards = middle if target is None else np.asarray(target, np.float64)
            back = _OVERVIEW / np.linalg.norm(_OVERVIEW)
            return look_at(towards + _step_back(camera, towards, (low, high)) * back, towards)
        place = np.asarray(eye, np.float64)
        if target is None:
            target = place + np.array([1.0, 0.0, 0.0]) if camera.projection == "panoramic" else middle
        return look_at(place, target)

    def fit_span(self, camera: Camera) -> Camera:
        """The camera with parallel rays that sees all, from above."""
        low, high = self.bounds
        across, up = (high - low)[:2]
        span = 1.04 * max(float(across), float(up) * camera.width / camera.height, 1.0)
        return camera.model_copy(update={"span_m": span})


def _step_back(camera: Camera, target: Array, bounds: tuple[Array, Array]) -> float:
    """How far from ``target``, on the side of `_OVERVIEW`, a camera stands to see what lies in ``bounds``."""
    low, high = bounds
    size = float(np.linalg.norm(high - low))
    if camera.projection != "pinhole" or high[2] - low[2] < _MIN_TALL * max(high[:2] - low[:2]):
        return 0.55 * size  # of a place, whose few far surfaces may lie outside of the picture
    forward, left, up = look_at(_OVERVIEW, np.zeros(3))[:3, :3].T
    corners = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T - target
    across, high_up = camera.half
    needed = np.maximum(np.abs(corners @ left) / across, np.abs(corners @ up) / high_up) - corners @ forward
    return max(_MARGIN * float(needed.max()), 0.1 * size)
