"""A drive, recorded or simulated: sweeps in order, read or computed only when asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from resweep.errors import FaultKind, ResweepError, UnknownPosesError
from resweep.intensity_scale import ENOUGH, choose_full_scale
from resweep.labels import UNKNOWN_LABELS, LabelSet
from resweep.pose import Array, Trajectory
from resweep.sweep import Sweep

if TYPE_CHECKING:
    from resweep.map_filter import MapFilter
    from resweep.sensors import Sensor

BeamSource = Literal["fired", "stored", "inferred", "unknown"]
CloudState = Literal["no", "raw", "placed"]


class EmptyBeams:
    """Where the beams without return of a log come from.

    ``source``: ``fired`` (simulated, or recorded with the beams), ``stored`` (the format keeps empty cells),
    ``inferred`` (from the grid of the sensor) or ``unknown`` (only beams with returns are there). ``detail`` says
    how, or why not, for people. Two are equal if both are.
    """

    def __init__(self, source: BeamSource = "unknown", detail: str = "") -> None:
        self._facts: tuple[BeamSource, str] | None = (source, detail)
        self._find: Callable[[], EmptyBeams] | None = None
        self._find_elsewhere: Callable[[], EmptyBeams] | None = None

    @classmethod
    def lazy(cls, find: Callable[[], EmptyBeams]) -> EmptyBeams:
        """What ``find()`` gives, called once, when it is first looked at: that may take an estimate of the grid."""
        later = cls()
        later._facts, later._find = None, find
        return later

    def pickle_as(self, find: Callable[[], EmptyBeams]) -> None:
        """Let processes that get it pickled call ``find``, which must be pickled easily, if the facts are not there."""
        self._find_elsewhere = find

    def __reduce__(self) -> tuple[Any, ...]:
        return (EmptyBeams, self._facts) if self._facts else (EmptyBeams.lazy, (self._find_elsewhere or self._find,))

    @property
    def found(self) -> bool:
        """Whether the facts are there, or have yet to be found."""
        return self._facts is not None

    @property
    def source(self) -> BeamSource:
        """Where the beams come from; finds it if need be."""
        return self._known()[0]

    @property
    def detail(self) -> str:
        """How the beams were found, or why not; finds it if need be."""
        return self._known()[1]

    def _known(self) -> tuple[BeamSource, str]:
        if self._facts is None:
            assert self._find is not None
            other = self._find()
            self._facts = (other.source, other.detail)
        return self._facts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EmptyBeams) and self._known() == other._known()

    def __hash__(self) -> int:
        return hash(self._known())

    def __repr__(self) -> str:
        return f"EmptyBeams({self.source!r}, {self.detail!r})" if self.found else "EmptyBeams(to be found)"


UNKNOWN_BEAMS = EmptyBeams()


@dataclass(frozen=True)
class Fault:
    """A sweep that was left out of a log: what is wrong with it, and the message of its reader.

    ``sweep`` is its number in the log as recorded, None where it is not even there.
    """

    kind: FaultKind
    message: str
    sweep: int | None = None


@dataclass(frozen=True, eq=False)
class LogPart:
    """What a slice of a log remembers: the ``whole`` log, and the numbers ``rows`` (n,) of its sweeps there."""

    whole: Log
    rows: Array

    def is_of(self, log: Log) -> bool:
        """Whether a log still has the times and poses that these sweeps have in the whole one."""
        rows = self.rows
        return np.array_equal(log.times, self.whole.times[rows]) and np.array_equal(log.poses, self.whole.poses[rows])


@dataclass(frozen=True, eq=False)
class Log:
    """Sweeps with a trajectory; ``log[i]`` is a `Sweep`, ``log[a:b]`` a `Log` that loads nothing.

    ``load(i)`` gives the i-th sweep. ``times`` (n,) are sweep timestamps and ``poses`` (n, 4, 4) the
    sweeps' ``T_world_sensor``, both there without loading any sweep; ``poses_known`` is false where they are
    identities that mean nothing, ``times_known`` where times were assumed from a rate. ``sensor_position_known`` is
    false for clouds that do not say where their sensor was, such as a LAS tile: the beams of their sweeps are then
    those of an imaginary sensor at the origin or in the middle, which were never fired.

    ``sensor`` is the spec of the sensor, None where it is unknown; ``sensor_name`` is what the log calls it.
    ``labels`` says what the label ids of its returns mean, ``empty_beams`` where beams without return come from.
    ``crs`` is the coordinate system of the world, as WKT or ``EPSG:code``, where a survey's files name one.
    ``cloud`` is ``raw`` for clouds of surveys and of scanners on tripods, which no vehicle carried, and ``placed`` for
    those whose points were given the places that they were measured from.
    ``intensity_scale`` is the intensity that its sensor reports at full scale, such as 1 or 255; None where its format
    does not say it: `full_scale` then finds it.
    ``skipped`` are the sweeps that were left out when the log was opened, because they could not be read or placed.
    ``map_filter`` is there for logs whose beams are those of a recording, fired again in a world
    (`resweep.resimulate`): returns that it leaves out of the recording have no counterpart there. ``prepared`` says
    that `prepare_drive` has corrected the motion within the sweeps.
    ``steps`` names what `map` and `guard` added between the source and the caller, in order. Slices keep ``part``, see
    `whole`. ``meta`` is provenance for people: no code decides by it.
    """

    load: Callable[[int], Sweep]
    times: Array
    poses: Array
    name: str = ""
    sensor: Sensor | None = None
    sensor_name: str = ""
    labels: LabelSet = UNKNOWN_LABELS
    poses_known: bool = True
    times_known: bool = True
    sensor_position_known: bool = True
    empty_beams: EmptyBeams = UNKNOWN_BEAMS
    crs: str = ""
    cloud: CloudState = "no"
    intensity_scale: float | None = None
    skipped: tuple[Fault, ...] = ()
    map_filter: MapFilter | None = None
    prepared: bool = False
    steps: tuple[str, ...] = ()
    part: LogPart | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.sensor is not None and not self.sensor_name:
            object.__setattr__(self, "sensor_name", self.sensor.name)
        if self.part is not None and not self.part.is_of(self):  # other sweeps, or other poses
            object.__setattr__(self, "part", None)

    def __len__(self) -> int:
        return len(self.times)

    @overload
    def __getitem__(self, index: int) -> Sweep: ...
    @overload
    def __getitem__(self, index: slice | Sequence[int]) -> Log: ...
    def __getitem__(self, index: int | slice | Sequence[int]) -> Sweep | Log:
        if isinstance(index, int | np.integer):
            at = int(index) + (len(self) if index < 0 else 0)
            if not 0 <= at < len(self):
                raise IndexError(f"log '{self.name}' has {len(self)} sweeps, no sweep {index}")
            return self.load(at)
        rows = index if isinstance(index, slice) else np.asarray(index, dtype=None if len(index) else int)
        chosen = np.arange(len(self))[rows]
        load = self.load
        part = LogPart(self.whole, self.numbers[chosen])
        times, poses = self.times[chosen], self.poses[chosen]
        return replace(self, load=lambda i: load(int(chosen[i])), times=times, poses=poses, part=part)

    def __iter__(self) -> Iterator[Sweep]:
        for at in range(len(self)):
            yield self.load(at)

    def map(self, function: Callable[..., Sweep], step: str = "", *, indexed: bool = False, **changes: Any) -> Log:
        """The log with ``function(sweep)`` applied to each sweep when it is loaded.

        With ``indexed`` the function is called as ``function(sweep, i)``, i being the place in this log. ``step``
        names it when the log is printed (default: the function's name). ``changes`` are fields of the log that the
        function changes, such as ``poses``.
        """

        def mapped(read: Callable[[], Sweep], at: int) -> Sweep:
            return function(read(), at) if indexed else function(read())

        return self.guard(mapped, step or getattr(function, "__name__", "map"), **changes)

    def guard(self, function: Callable[[Callable[[], Sweep], int], Sweep], step: str, **changes: Any) -> Log:
        """The log whose i-th sweep is ``function(read, i)``, where ``read()`` loads it.

        For what must act before a sweep is read, or on the errors of reading; else use `map`. ``step`` and
        ``changes`` are as there.
        """
        load = self.load
        return replace(self, load=lambda at: function(lambda: load(at), at), steps=(*self.steps, step), **changes)

    def require_poses(self, purpose: str = "") -> None:
        """Raise `UnknownPosesError` unless the poses are known; ``purpose`` says what fails without them."""
        if not self.poses_known:
            so = f", so {purpose}" if purpose else ""
            raise UnknownPosesError(f"log '{self.name}': has no poses{so}")

    def require_beams(self, purpose: str) -> None:
        """Raise `UnknownPosesError` unless it is known where the sensor was; ``purpose`` says what fails without."""
        if not self.beams_known:
            raise UnknownPosesError(f"log '{self.name}': its sensor's position is unknown, so {purpose}")

    @property
    def whole(self) -> Log:
        """The log that this one is a slice of, or the log itself.

        What is known only from a whole drive, such as how the sensor moved around a sweep, is found there. A slice
        whose poses, times or number of sweeps were changed is a log of its own.
        """
        return self if self.part is None else self.part.whole

    @property
    def numbers(self) -> Array:
        """The number (n,) of each sweep in `whole`."""
        return np.arange(len(self)) if self.part is None else self.part.rows

    @property
    def beams_known(self) -> bool:
        """Whether beams were fired from where the sweeps have them; may estimate the sensor's grid to know.

        A grid that points recover is that of a sensor at their origin, even if the file does not say where it was.
        """
        return self.sensor_position_known or self.empty_beams.source != "unknown"

    @cached_property
    def full_scale(self) -> float | None:
        """The intensity at full scale: ``intensity_scale``, or what the intensities show (`choose_full_scale`).

        The first sweep shows it, else the middle or the last one; that is done once, and a warning says what was
        found unless it is 1. None for a log without intensities.
        """
        if self.intensity_scale is not None:
            return self.intensity_scale
        if self.part is not None and self.steps == self.part.whole.steps:  # else a step may have changed the unit
            return self.part.whole.full_scale
        seen: list[Array] = []
        for at in dict.fromkeys((0, len(self) // 2, len(self) - 1)) if len(self) else ():
            try:
                seen.append(self.load(at).intensity)
            except ResweepError:  # whoever needs that sweep hears of it
                continue
            if np.count_nonzero(seen[-1] > 0) >= ENOUGH:
                break
        found = choose_full_scale(np.concatenate(seen)) if seen else None
        if found is not None and found > 1.0:
            warnings.warn(
                f"log '{self.name}': its format does not say the full scale of its intensities; by its first sweeps "
                f"it is {found:g}",
                stacklevel=2,
            )
        return found

    @property
    def trajectory(self) -> Trajectory:
        """The sweeps' poses over time."""
        return Trajectory(self.times, self.poses)

    def __repr__(self) -> str:
        facts = [
            f"{len(self)} sweeps",
            f"sensor {self.sensor_name or 'unknown'}",
            f"labels {self.labels.name}",
            "poses " + ("known" if self.poses_known else "unknown"),
            "times " + ("known" if self.times_known else "assumed"),
            "empty beams " + (self.empty_beams.source if self.empty_beams.found else "not looked for yet"),
        ]
        if not self.sensor_position_known:
            facts.append("sensor position unknown")
        if self.skipped:
            facts.append(f"{len(self.skipped)} skipped")
        chain = " -> ".join(("read", *self.steps))
        return f"Log('{self.name}': {', '.join(facts)}; {chain})"

    def with_sweeps(self, sweeps: Sequence[Sweep], **changes: Any) -> Log:
        """Other sweeps, in memory, with what is known of this log; ``changes`` are fields that differ."""
        other = Log.from_sweeps(sweeps)
        same = {"load": other.load, "times": other.times, "poses": other.poses, "part": None}
        return replace(self, **{**same, **changes})

    @classmethod
    def from_sweeps(cls, sweeps: Sequence[Sweep], name: str = "", **facts: Any) -> Log:
        """A log of sweeps already in memory; ``facts`` are further fields, such as ``labels``."""
        held = list(sweeps)
        if not held:
            raise ResweepError("log: no sweep given; a log holds at least one")
        times = np.array([sweep.timestamp for sweep in held])
        poses = np.stack([sweep.pose for sweep in held])
        return cls(held.__getitem__, times, poses, name, **{"sensor_name": held[0].sensor, **facts})
