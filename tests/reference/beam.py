"""NumPy references of the native kernels, written to be read; the tests hold the kernels to them.

`rays` is what cpp/trace/pulses.cpp and cpp/trace/beam.cpp do, `receive` what cpp/trace/receive.cpp does, `measure` the
noise of cpp/trace/noise.cpp, `rebuilt_hits` the motion of cpp/scene/actors.cpp. They take a sensor's spec as it is and
are slow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep.pose import Array, Trajectory, transform
from resweep.scenario import Actor
from resweep.sensors import Firing, Receiver, Sensor, random_offsets, stencil, tangent_frame
from resweep.sensors.stencil import ray_directions
from resweep.simulate.philox import Purpose, normal, uniform, words
from resweep.simulate.scene import make_native_scene
from resweep.sweep import BeamStatus
from resweep.worlds import World


def rays(
    sensor: Sensor, firing: Firing, motion: Trajectory, start: float, seed: int, sweep: int
) -> tuple[Array, Array]:
    """Origins (b, 3) of a sweep's beams and directions (b, k, 3) of their rays, in the frame of ``motion``.

    A motion of one pose stands still; a longer one covers the sweep from ``start`` on.
    """
    poses = motion.at(start + firing.time) if len(motion) > 1 else np.repeat(motion.poses, len(firing), axis=0)
    aimed = aim(sensor, firing.direction.astype(np.float64), seed, sweep)
    if sensor.beam.rays == "random":
        beam, ray = np.arange(len(firing))[:, None], np.arange(sensor.beam.n_rays)
        drawn = uniform(words(seed, sweep, beam, ray, Purpose.SPOT)[..., :2])
        offsets = random_offsets(sensor.beam, drawn.reshape(-1, 2)).reshape(len(firing), -1, 2)
    else:
        offsets = stencil(sensor.beam)[0]
    directions = ray_directions(aimed, offsets)
    origins = poses[:, :3, 3]
    if firing.origin is not None:
        origins = transform(poses, firing.origin.astype(np.float64))
    return origins, np.einsum("bij,bkj->bki", poses[:, :3, :3], directions)


def aim(sensor: Sensor, direction: Array, seed: int, sweep: int) -> Array:
    """The directions (b, 3) in which pulses truly leave: encoder and pointing error (A, section IV)."""
    pointing = sensor.pointing
    drawn = words(seed, sweep, np.arange(len(direction)), 0, Purpose.POINTING)
    turn = (uniform(drawn[:, 0]) - 0.5) * pointing.encoder_step_rad
    x, y, z = direction.T
    turned = np.stack([np.cos(turn) * x - np.sin(turn) * y, np.sin(turn) * x + np.cos(turn) * y, z], axis=1)
    h, v = tangent_frame(turned)
    across, along = normal(drawn[:, 1]) * pointing.sigma_h_rad, normal(drawn[:, 2]) * pointing.sigma_v_rad
    aimed = turned + across[:, None] * h + along[:, None] * v
    return np.asarray(aimed / np.linalg.norm(aimed, axis=1, keepdims=True))


def rebuilt_hits(
    world: World, actors: Sequence[Actor], origins: Array, directions: Array, times: Array, range_max_m: float
) -> dict[str, Array]:
    """Closest hits of single rays (n, 3), fired at ``times`` (n,), in scenes built anew for every time.

    Rays start from the world's origin. Columns (n,): range (infinity: a miss), cosine, reflected, label, instance.
    """
    origins, directions = (np.ascontiguousarray(rows, np.float32) for rows in (origins, directions))
    found: dict[str, Array] = dict(make_native_scene(world).intersect(origins, directions, range_max_m))
    for time in np.unique(times):
        rows = np.flatnonzero(times == time)
        for actor in actors:
            path = actor.trajectory
            if len(path) > 1 and not path.start <= time <= path.end:
                continue
            pose = path.poses[0].copy() if len(path) == 1 else path.at(float(time))
            pose[:3, 3] -= world.origin
            moved = make_native_scene(World([layer.moved(pose) for layer in actor.layers]))
            hits = moved.intersect(origins[rows], directions[rows], range_max_m)
            hits["instance"][:] = actor.instance or hits["instance"]
            if actor.label is not None:
                hits["label"][:] = actor.label
            nearer = hits["range"] < found["range"][rows]
            for name, column in found.items():
                column[rows[nearer]] = hits[name][nearer]
    return found


@dataclass(frozen=True)
class Events:
    """What the rays of one pulse hit, (n,) each: range in metres, share of the beam, light sent back."""

    range: Array
    share: Array
    reflected: Array
    label: Array
    instance: Array

    @property
    def light(self) -> Array:
        """What each event gives to the signal (n,)."""
        return np.asarray(self.share * self.reflected)

    def __getitem__(self, rows: Array) -> Events:
        return Events(*(getattr(self, name)[rows] for name in ("range", "share", "reflected", "label", "instance")))


@dataclass(frozen=True)
class Echo:
    """One return of a pulse."""

    range: float
    intensity: float
    label: int
    instance: int


def receive(sensor: Sensor, events: Events, draw: float | None = None) -> tuple[BeamStatus, list[Echo]]:
    """The echoes that a sensor reports of one pulse (B 3.2.3), and what became of it.

    ``draw``, from 0 to 1, decides what a sensor with a detection curve detects.
    """
    receiver = sensor.receiver
    if len(events.range) == 0:
        return BeamStatus.NOTHING_HIT, []
    events = events[(events.range >= sensor.range_min_m) & (events.range <= sensor.range_max_m)]
    if len(events.range) == 0:
        return BeamStatus.OUT_OF_RANGE, []
    events = events[np.argsort(events.range, kind="stable")]
    if receiver.intensity_falloff == "range-squared":
        falloff = (receiver.falloff_reference_m / events.range) ** 2
        events = Events(events.range, events.share, events.reflected * falloff, events.label, events.instance)
    echoes = _MODES[receiver.mode](_Detector(receiver, draw), events)
    return (BeamStatus.RETURN if echoes else BeamStatus.BELOW_THRESHOLD), echoes


def echo_of(events: Events) -> Echo:
    """The mean range of a window's events, all their light, and the label and instance that gave most."""
    kinds = np.stack([events.label, events.instance], axis=1)
    light = [events.light[(kinds == kind).all(axis=1)].sum() for kind in kinds]
    label, instance = kinds[int(np.argmax(light))]
    mean = np.average(events.range.astype(np.float64), weights=events.share.astype(np.float64))
    return Echo(float(mean), float(events.light.sum()), int(label), int(instance))


class _Detector:
    """A receiver that detects echoes by its threshold, and by its detection curve as one ``draw`` has it."""

    def __init__(self, receiver: Receiver, draw: float | None) -> None:
        self.receiver, self.draw = receiver, draw

    def detects(self, echo: Echo) -> bool:
        curve = self.receiver.detection
        if echo.intensity < self.receiver.detection_threshold or curve is None or self.draw is None:
            return echo.intensity >= self.receiver.detection_threshold
        falls = self.receiver.intensity_falloff == "range-squared"
        signal = echo.intensity * (1.0 if falls else (curve.reference_m / echo.range) ** 2)
        return bool(self.draw <= np.interp(signal, curve.signal, curve.probability))


def _detected(detector: _Detector, windows: list[Events]) -> list[Echo]:
    return [echo for echo in map(echo_of, windows) if detector.detects(echo)]


def _windows_from_each(detector: _Detector, events: Events) -> list[Events]:
    cutoff = np.float32(detector.receiver.signal_cutoff_m)
    return [events[(events.range >= r) & (events.range - r <= cutoff)] for r in events.range]


def _first(detector: _Detector, events: Events) -> list[Echo]:
    return _detected(detector, _windows_from_each(detector, events))[:1]


def _last(detector: _Detector, events: Events) -> list[Echo]:
    cutoff = np.float32(detector.receiver.signal_cutoff_m)
    windows = [events[(events.range <= r) & (r - events.range <= cutoff)] for r in events.range[::-1]]
    return _detected(detector, windows)[:1]


def _strongest(detector: _Detector, events: Events) -> list[Echo]:
    if detector.receiver.strongest_by == "echo":
        windows = _windows_from_each(detector, events)
        chosen = windows[int(np.argmax([window.light.sum() for window in windows]))]
    else:
        anchor = events.range[int(np.argmax(events.reflected))]
        chosen = events[np.abs(events.range - anchor) <= np.float32(detector.receiver.signal_cutoff_m / 2)]
    return _detected(detector, [chosen])


def _strongest_and_last(detector: _Detector, events: Events) -> list[Echo]:
    strongest, last = _strongest(detector, events), _last(detector, events)
    apart = max(detector.receiver.signal_cutoff_m, detector.receiver.return_separation_m)
    if strongest and last and last[0].range - strongest[0].range <= apart:
        return strongest
    return strongest + last


def _drop_close(echoes: list[Echo], apart_m: float) -> list[Echo]:
    """Echoes in order of range, no two nearer than ``apart_m``: of the first such pair the stronger stays."""
    for at in range(1, len(echoes)):
        if echoes[at].range - echoes[at - 1].range < apart_m:
            gone = at - 1 if echoes[at - 1].intensity < echoes[at].intensity else at
            return _drop_close(echoes[:gone] + echoes[gone + 1 :], apart_m)
    return echoes


def _multiple(detector: _Detector, events: Events) -> list[Echo]:
    windows, begin, receiver = [], 0, detector.receiver
    while begin < len(events.range):
        near = events.range[begin:] - events.range[begin] <= np.float32(receiver.signal_cutoff_m)
        windows.append(events[begin + np.flatnonzero(near)])
        begin += int(near.sum())
    echoes = _drop_close(_detected(detector, windows), receiver.return_separation_m)
    while len(echoes) > receiver.max_returns:
        del echoes[int(np.argmin([echo.intensity for echo in echoes]))]
    return echoes


_MODES = {
    "first": _first,
    "last": _last,
    "strongest": _strongest,
    "strongest-and-last": _strongest_and_last,
    "multiple": _multiple,
}


def measure(
    sensor: Sensor,
    range_m: Array,
    intensity: Array,
    beam: Array,
    return_index: Array,
    seed: int,
    sweep: int,
    ring: Array | None = None,
    cosine: Array | None = None,
) -> tuple[Array, Array]:
    """Ranges and intensities (n,) with the receiver's noise and quantisation.

    ``ring`` (n,) are the lasers and ``cosine`` (n,) those of the incidences, for sensors whose errors depend on them.
    """
    receiver = sensor.receiver
    if sensor.lasers is not None and ring is not None:
        range_m = range_m + np.asarray(sensor.lasers.range_bias_m or np.zeros(sensor.n_channels))[ring]
        intensity = intensity * np.asarray(sensor.lasers.intensity_gain or np.ones(sensor.n_channels))[ring]
    sigma = receiver.find_range_sigma(range_m, cosine)
    measured = range_m + sigma * normal(words(seed, sweep, beam, return_index, Purpose.RANGE_NOISE)[:, 0])
    if receiver.range_quantisation_m > 0:
        measured = np.rint(measured / receiver.range_quantisation_m) * receiver.range_quantisation_m
    draw = normal(words(seed, sweep, beam, return_index, Purpose.INTENSITY_NOISE)[:, 0])
    return np.maximum(measured, 0.0), np.maximum(intensity + receiver.intensity_noise_sigma * draw, 0.0)
