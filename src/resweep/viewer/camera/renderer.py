"""`Renderer`: what a camera sees of a world and of the actors in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from resweep import _core
from resweep.errors import ResweepError
from resweep.pose import Array, Trajectory
from resweep.scenario import Actor
from resweep.simulate.actor_set import ActorSet
from resweep.simulate.sources import SceneSource, open_scene
from resweep.viewer.camera.cameras import Camera
from resweep.viewer.camera.primitive_colours import find_colours, number_primitives
from resweep.worlds import StreamedWorld, World

RANGE_MAX_M = 1000.0
_MAX_BYTES = 4 * 10**9


@dataclass(frozen=True, eq=False)
class CameraView:
    """What a camera sees, by pixel (h, w) from the upper left.

    ``range`` metres along the ray, infinity where nothing is; ``normal`` (h, w, 3) unit, towards the camera;
    ``reflected`` light sent back, relative; ``label``, ``instance`` and ``kind`` of primitive (0: none, 1 mesh, 2
    splats, 3 volumes). ``colour`` (h, w, 3) uint8 where the world has colours, else None.
    """

    range: Array
    normal: Array
    reflected: Array
    label: Array
    instance: Array
    kind: Array
    colour: Array | None = None

    @property
    def hit(self) -> Array:
        """Pixels (h, w) in which there is anything."""
        return np.asarray(np.isfinite(self.range))


class Renderer:
    """Cameras in one world among ``actors``; the native scene is built once.

    ``coloured`` views have the colours of primitives, for which the scene is built with a number a primitive.
    """

    def __init__(
        self,
        world: World | StreamedWorld,
        actors: Sequence[Actor] = (),
        *,
        range_max_m: float = RANGE_MAX_M,
        coloured: bool = False,
        threads: int = 0,
    ) -> None:
        self.world, self.range_max_m, self.threads = world, float(range_max_m), int(threads)
        self.actors = ActorSet(world, actors)
        self._colours: Array | None = None
        if coloured:
            if isinstance(world, StreamedWorld):
                world = world.load()
            self._colours = find_colours(world)
            self.world = number_primitives(world)
        self._traced = self.world

    @cached_property
    def source(self) -> SceneSource:
        """What gives the native scene."""
        return open_scene(self._traced)

    def view(self, camera: Camera, pose: Array, second: float = 0.0) -> CameraView:
        """What ``camera`` sees from ``pose`` (``T_world_camera``), with actors where they are at ``second``."""
        if camera.width * camera.height * 29 > _MAX_BYTES:
            raise ResweepError(f"camera: {camera.width} x {camera.height} pixels take too much memory; give fewer")
        where = np.asarray(pose, np.float64)[None, :3, 3]
        at = Trajectory(np.array([second]), np.asarray(pose, np.float64)[None])
        present = self.actors.find_present(second, second, at, self.range_max_m)
        with self.source.covering(where - self.world.origin, self.range_max_m) as scene:
            columns = _core.view(
                scene,
                camera.native(pose, self.world.origin),
                range_max=self.range_max_m,
                actors=None if present is None else present.native,
                second=second,
                threads=self.threads,
            )
        shape = (camera.height, camera.width)
        image = {name: values.reshape(*shape, *values.shape[1:]) for name, values in columns.items()}
        if self._colours is not None:
            image["colour"] = self._colours[np.where(image["kind"] > 0, image["instance"], 0)]
        return CameraView(**image)
