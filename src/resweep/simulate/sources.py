"""Where the tracer's scene comes from: a world in memory, or one that is read tile by tile along the drive."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol

from resweep import _core
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.simulate.scene import make_native_scene
from resweep.simulate.tile_cache import TileCache
from resweep.worlds import StreamedWorld, World
from resweep.worlds.stream.cells import DividedScene

_MARGIN_M = 10.0  # lasers sit up to metres from the origin of their sensor, and poses are aligned by less


class SceneSource(Protocol):
    """Gives the native scene for rays that begin near some points."""

    @property
    def native(self) -> _core.Scene:
        """The native scene, with what of it is at hand."""
        ...

    def covering(self, points: Array, range_m: float) -> AbstractContextManager[_core.Scene]:
        """The scene with all that beams of ``range_m`` from along ``points`` (n, 3) can hit, while the context lasts.

        Points are metres from the world's origin.
        """
        ...

    def look_ahead(self, points: Array, range_m: float) -> None:
        """Get ready for rays from along ``points``, in their order, while others are traced."""
        ...


class WholeScene:
    """The scene of a world that is in memory."""

    def __init__(self, native: _core.Scene) -> None:
        self.native = native

    def covering(self, points: Array, range_m: float) -> AbstractContextManager[_core.Scene]:
        """The scene, which has everything."""
        return nullcontext(self.native)

    def look_ahead(self, points: Array, range_m: float) -> None:
        """Do nothing: everything is there."""


class StreamedScene:
    """The scene of a world that is read tile by tile: what lies near the sensor is kept, within its memory."""

    def __init__(self, world: StreamedWorld) -> None:
        self._scene = DividedScene(world.layers)
        self.cache = TileCache(self._scene, world.memory_bytes, str(world.path))

    @property
    def native(self) -> _core.Scene:
        """The native scene, with the tiles that are kept."""
        return self._scene.native

    @contextmanager
    def covering(self, points: Array, range_m: float) -> Iterator[_core.Scene]:
        """The scene with all tiles within reach of the points."""
        with self.cache.holding(points, _find_reach(range_m)):
            yield self._scene.native

    def look_ahead(self, points: Array, range_m: float) -> None:
        """Read the tiles within reach of the points in the background, as far as memory allows."""
        self.cache.look_ahead(points, _find_reach(range_m))


def open_scene(world: World | StreamedWorld) -> SceneSource:
    """The scene of a world. A streamed one of few tiles is read as a whole."""
    if not isinstance(world, StreamedWorld):
        return WholeScene(make_native_scene(world))
    if not world.is_divided:
        return WholeScene(make_native_scene(world.load()))
    try:
        return StreamedScene(world)
    except RuntimeError as error:
        raise ResweepError(f"world {world!r} cannot be traced: {error}") from error


def _find_reach(range_m: float) -> float:
    """How far from a sensor the world matters: beams without return are followed beyond its range."""
    return _core.BEYOND * range_m + _MARGIN_M
