"""The one way by which sweeps are traced: pulses into a scene with actors, and what comes back on them."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from resweep import _core
from resweep.boxes import Boxes
from resweep.calibration import Calibration
from resweep.embree_library import open_embree
from resweep.errors import ResweepError
from resweep.pose import Array, Trajectory
from resweep.scenario import Actor
from resweep.sensors import Sensor
from resweep.simulate.actor_set import ActorSet, PresentActors
from resweep.simulate.confidence import make_record
from resweep.simulate.pulses import Pulses
from resweep.simulate.scene import make_native_plan
from resweep.simulate.sources import SceneSource, WholeScene, open_scene
from resweep.sweep import Sweep
from resweep.worlds import StreamedWorld, World

_AHEAD_M = 60.0  # of a drive, for which a streamed world is read ahead: about a tile
LOOK_AHEAD = 1000  # sweeps, at most
SEEN_COLUMNS = ("seen_count", "range_ratio", "incidence_off_deg", "unknown_m", "confidence", "completed")
HIT_COLUMNS = ("seen", "cosine")  # of the primitive hit, for learned models: its record, and the cosine of incidence


class Tracer:
    """Pulses traced in one world, with the beam, receiver and noise of one sensor, among actors.

    The native scene is built on first use and shared by the copies that the ``with_`` methods make. That of a
    `StreamedWorld` has what lies within reach of the sensor, sweep by sweep. The same ``seed``
    gives the same bytes, whatever ``threads`` (0: all cores). ``packet`` is the number of rays in one Embree call:
    1, 8 or 16. Widths differ in rounding, so all processors have the same. With ``keeps_hits`` (`with_hits`) sweeps
    have the `HIT_COLUMNS` among their ``extra``.
    """

    def __init__(
        self,
        world: World | StreamedWorld,
        sensor: Sensor,
        actors: Sequence[Actor] = (),
        *,
        seed: int = 0,
        threads: int = 0,
        packet: int = 8,
    ) -> None:
        self.world = world
        self.sensor = sensor
        self.seed = seed
        self.threads = threads
        self.packet = packet
        self.keeps_hits = False
        self.actors = ActorSet(world, actors)
        self.plan = self._make_plan(sensor, self.actors)

    @cached_property
    def source(self) -> SceneSource:
        """What gives the native scene of the world."""
        return open_scene(self.world)

    @cached_property
    def record(self) -> _core.Record | None:
        """What the world knows of how it was recorded; None if nothing."""
        return None if self.world.observed is None else make_record(self.world.observed)

    @property
    def scene(self) -> _core.Scene:
        """The native scene of the world; of a streamed one, the tiles that are at hand."""
        return self.source.native

    def covering(self, positions: Array) -> AbstractContextManager[_core.Scene]:
        """The native scene with all that the sensor can reach from along ``positions`` (n, 3) in the world."""
        return self.source.covering(positions - self.world.origin, self.sensor.range_max_m)

    def look_ahead(self, positions: Array) -> None:
        """Get ready for sweeps from along ``positions`` (n, 3) in the world, in the background."""
        length = np.cumsum(np.linalg.norm(np.diff(positions, axis=0), axis=1))
        near = 1 + int(np.searchsorted(length, _AHEAD_M))
        if len(positions):
            self.source.look_ahead(positions[:near] - self.world.origin, self.sensor.range_max_m)

    def with_sensor(self, sensor: Sensor) -> Tracer:
        """The same with another sensor."""
        return self._copy(sensor=sensor, plan=self._make_plan(sensor, self.actors))

    def with_actors(self, actors: Sequence[Actor]) -> Tracer:
        """The same with other actors; layers that are built already are not built again."""
        present = ActorSet(self.world, actors, self.actors.shapes, self.actors.unused)
        same = bool(present.actors) == bool(self.actors.actors)  # a plan costs more than a comparison
        return self._copy(actors=present, plan=self.plan if same else self._make_plan(self.sensor, present))

    def with_seed(self, seed: int) -> Tracer:
        """The same with other random numbers."""
        return self._copy(seed=seed)

    def with_threads(self, threads: int) -> Tracer:
        """The same on another number of threads."""
        return self._copy(threads=threads)

    def with_hits(self) -> Tracer:
        """The same, whose sweeps also have the `HIT_COLUMNS`; the world must know how it was recorded."""
        if self.world.observed is None:
            raise ResweepError(
                "world: it does not know how its primitives were seen, which learned models need; build it from a "
                "recording, with a map.observed_voxel_m above 0"
            )
        return self._copy(keeps_hits=True)

    def with_only(self, actor: Actor) -> Tracer:
        """One of the actors in an otherwise empty world."""
        only = self.actors.only(actor)
        plan = self._make_plan(self.sensor, only)
        return self._copy(actors=only, plan=plan, source=WholeScene(_make_empty_scene()), record=None)

    def trace(
        self, pulses: Pulses, motion: Trajectory, *, start: float = 0.0, index: int = 0, bare: bool = False
    ) -> TraceResult:
        """What the pulses of the ``index``-th sweep measure.

        ``motion`` holds ``T_world_sensor``; ``start`` is the second at which the times of the pulses begin. With
        ``bare`` only what the sensor itself reports is computed.
        """
        begin, end = start + pulses.span[0], start + pulses.span[1]
        present = self.actors.find_present(begin, end, motion, self.sensor.range_max_m)
        sensor = self._motion(motion)
        with self.covering(motion.poses[:, :3, 3]) as scene:
            columns = scene.trace(
                self.plan,
                pulses.native,
                sensor,
                start=start,
                seed=self.seed,
                index=index,
                threads=self.threads,
                packet=self.packet,
                actors=None if present is None else present.native,
                record=None if bare else self.record,
                beyond=not bare,
            )
        points, primitive = columns.pop("points"), columns.pop("kind")
        hits = {name: columns.pop(name) for name in HIT_COLUMNS if name in columns}
        seen = {name: columns.pop(name) for name in SEEN_COLUMNS if name in columns}
        if self.keeps_hits:
            seen |= hits
        found = None if bare else present
        return TraceResult(columns, points, primitive, pulses.time, start, sensor, found, seen)

    def rays(self, pulses: Pulses, motion: Trajectory, *, start: float = 0.0, index: int = 0) -> tuple[Array, Array]:
        """Origins and directions (n, 3) float32 of the rays that `trace` traces, metres from the world's origin."""
        return _core.pulse_rays(
            self.plan, pulses.native, self._motion(motion), start=start, seed=self.seed, index=index
        )

    def _make_plan(self, sensor: Sensor, actors: ActorSet) -> _core.Plan:
        """The sensor as it is traced: with one ray a beam where it can hit only volumes that hold beams' widths."""
        layers = self.world.layers if isinstance(self.world, World) else ()
        whole = bool(layers) and all(layer.holds_beams for layer in layers)
        alone = whole and not actors.actors
        return make_native_plan(sensor.with_(**{"beam.rays": "single"}) if alone else sensor)

    def _motion(self, motion: Trajectory) -> _core.Motion:
        """The motion of the sensor around the world's origin."""
        poses: Array = motion.poses.copy()
        poses[:, :3, 3] -= self.world.origin
        return _core.Motion(motion.times, poses)

    def _copy(self, **changes: Any) -> Tracer:
        other = copy.copy(self)
        other.__dict__.update(changes if "source" in changes else {**changes, "source": self.source})
        return other


@dataclass(frozen=True, eq=False)
class TraceResult:
    """What traced pulses measured.

    ``columns`` are ``beam_status`` (b,) and the return columns (n,) of a `Sweep`. ``points`` (n, 3) float32 are the
    returns as the sensor reports them, ``primitive`` (n,) the kinds of what was hit, ``beam_time`` (b,) when beams were
    fired, seconds from ``start`` on, ``motion`` that of the sensor around the world's origin. ``seen`` are the
    `SEEN_COLUMNS` (n,) of a world that knows how it was recorded, and the `HIT_COLUMNS` where they are kept.
    ``present`` are the actors within reach, None where nobody asks for their boxes and velocities.
    """

    columns: dict[str, Array]
    points: Array
    primitive: Array
    beam_time: Array
    start: float
    motion: _core.Motion
    present: PresentActors | None
    seen: Mapping[str, Array]

    def __len__(self) -> int:
        """Number of returns."""
        return len(self.points)

    @cached_property
    def time(self) -> Array:
        """Seconds (n,) at which the beams of the returns were fired."""
        return np.asarray(self.start + self.beam_time[self.columns["beam"]])

    def to_sweep(
        self, *, pose: Array, timestamp: float, calibration: Calibration | None = None, **fields: Any
    ) -> Sweep:
        """The sweep that was measured.

        ``pose`` is ``T_world_sensor`` at ``timestamp``, the frame of the boxes. ``calibration`` is that of
        the lasers. ``fields`` are the other fields of a `Sweep`, as a sweep has them: beams, trajectory and sensor.
        """
        extra, boxes = {"primitive": self.primitive, **self.seen}, None
        if self.present is not None:
            extra["velocity"], boxes = self._measure_actors(self.present, pose, timestamp)
        columns: dict[str, Any] = self.columns
        if calibration is not None:
            ring, direction = (fields[name][columns["beam"]] for name in ("beam_ring", "beam_direction"))
            read = calibration.readings(columns["range"], ring, direction)
            columns = {**columns, "range": read.astype(np.float32)}
        sweep = Sweep.trusted(
            pose=pose, timestamp=timestamp, extra=extra, boxes=boxes, beam_extra={}, **columns, **fields
        )
        if calibration is None:
            sweep.__dict__["points"] = self.points  # the cached property, computed natively on the way
        return sweep

    def _measure_actors(self, present: PresentActors, pose: Array, timestamp: float) -> tuple[Array, Boxes]:
        """Velocity (n, 3) of what each return was measured on, and the boxes of the actors."""
        instance = self.columns["instance"]
        velocity, counts = present.compute_velocities(instance, self.time, self.points, self.motion)
        return velocity, present.compute_boxes(pose, timestamp, instance, self.time, counts)


@cache
def _make_empty_scene() -> _core.Scene:
    open_embree()
    scene = _core.Scene()
    scene.commit()
    return scene
