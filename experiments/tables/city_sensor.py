"""The sensor of the synthetic city, whose character no builder is told: it is seen in its recordings only.

Each of its 64 lasers has its own gain, and leaves a little off and reads a little long. Intensities fall with incidence
and range by a law of their own, surfaces have a texture, roads have markings, and every return has speckle. Ranges
scatter by incidence and darkness, with a heavy tail. Returns are lost where they are far, faint or grazing, on glass,
on weak lasers, in a blind sector and in patches; beams on an edge may return from between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

import resweep as rs
from experiments.tables.city import Place, make_place
from resweep.log import EmptyBeams
from resweep.pose import Array
from resweep.scenario import Actor
from resweep.scenes.scene_labels import SCENE_LABELS, Label
from resweep.simulate.ring_order import order_along_rings
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import Instances, Layer, Mesh

RINGS, RANGE_MAX_M = 64, 100.0
_ROAD, _CAR = int(Label.ROAD), (int(Label.CAR), SCENE_LABELS.id_of("moving car"))
_STEP, _RANGE_STEP_M = 1.0 / 255.0, 0.002
_MARKING = 0.5  # reflectance of paint on the road
_GLASS = 0.058  # reflectance below which a part of a car is a window
_TEXTURE = ((0.15, 0.12), (1.0, 0.12), (6.0, 0.1))  # size in metres, and the standard deviation of its logarithm


@dataclass(frozen=True, eq=False)
class Character:
    """What the lasers (64,) do: gain, rise of the beam in radians, metres too long, and which are weak."""

    gain: Array
    rise: Array
    long: Array
    weak: Array


@cache
def make_character() -> Character:
    """The character of the one sensor of the city."""
    rng = np.random.default_rng(0x73656E73)
    weak = np.zeros(RINGS, bool)
    weak[rng.choice(RINGS, 5, replace=False)] = True
    gain = np.exp(rng.normal(0, 0.12, RINGS)) * np.where(weak, 0.6, 1.0)
    return Character(gain, np.radians(rng.normal(0, 0.04, RINGS)), rng.normal(0, 0.012, RINGS), weak)


def city_sensor(columns: int, character: Character | None = None) -> rs.Sensor:
    """The sensor as its maker describes it or, with its ``character``, as it really fires."""
    rise = np.zeros(RINGS) if character is None else np.degrees(character.rise)
    return rs.Sensor.model_validate(
        {
            "name": "city-64",
            "range_max_m": RANGE_MAX_M,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": 360.0 / columns,
                "channels": {"elevation_deg": (np.linspace(-24.8, 2.0, RINGS) + rise).tolist()},
            },
            "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
            "receiver": {"mode": "strongest"},
        }
    )


def record_place(number: int, sweeps: int, columns: int) -> rs.Log:
    """The recording of a street: sweeps with empty beams, labels, boxes and tracks."""
    place = make_place(number, sweeps)
    character, nominal = make_character(), city_sensor(columns)
    true = city_sensor(columns, character)
    seen = rs.Simulator(place.world, true, actors=place.actors, noise=False, seed=number)
    bare = rs.Simulator(
        rs.World([_whiten(layer) for layer in place.world.layers], labels=SCENE_LABELS), true,
        actors=[_whiten_actor(actor) for actor in place.actors], noise=False, seed=number,
    )  # fmt: skip
    direction = rs.Simulator(place.world, nominal, noise=False).sweep(place.poses[0]).beam_direction
    found = []
    for at, (pose, start) in enumerate(zip(place.poses, place.times.tolist(), strict=True)):
        sweep, white = (one.sweep(pose, start=start, index=at) for one in (seen, bare))
        measured = measure(sweep, _match(sweep, white), place, np.random.default_rng([number, at, 0x6D]))
        found.append(replace(measured, beam_direction=direction))
    facts = {"labels": SCENE_LABELS, "sensor": nominal, "empty_beams": EmptyBeams("fired", "simulated")}
    return rs.Log.from_sweeps(found, place.name, **facts, intensity_scale=1.0)


def measure(sweep: Sweep, cosine: Array, place: Place, random: np.random.Generator) -> Sweep:
    """What the sensor reports of an ideal sweep, whose beams met surfaces at ``cosine`` (n,) of incidence."""
    own = make_character()
    ring, ranges = sweep.ring.astype(np.int64), sweep.range.astype(np.float64)
    points = sweep.world_points()
    reflectance = np.clip(sweep.intensity / np.maximum(cosine, 0.05), 0.0, 3.0)
    glass = np.isin(sweep.label, _CAR) & (reflectance < _GLASS)
    reflectance = _paint_road(reflectance, sweep.label, points) * _texture(points, place.name)
    law = own.gain[ring] * cosine**0.7 / (1.0 + (ranges / 70.0) ** 2) * (1.0 - 0.5 * np.exp(-ranges / 4.0))
    signal = reflectance * law
    kept = random.random(len(sweep)) >= _chance(sweep, signal, cosine, glass, random)
    speckle = _correlate(sweep, random.normal(size=len(sweep)), 0.5)
    light = np.round(np.clip(signal * np.exp(0.17 * speckle), 0.0, 1.0) / _STEP) * _STEP
    slant = np.minimum(np.sqrt(1.0 / np.maximum(cosine, 0.15) ** 2 - 1.0), 4.0)
    sigma = 0.012 + 0.006 * slant + 0.015 * np.exp(-signal / 0.05)
    tail = np.where(random.random(len(sweep)) < 0.03, 4.0, 1.0)
    measured = _mix_edges(sweep, ranges, random) + own.long[ring] + sigma * tail * random.normal(size=len(sweep))
    noisy = replace(
        sweep,
        range=(np.round(np.maximum(measured, 0.1) / _RANGE_STEP_M) * _RANGE_STEP_M).astype(np.float32),
        intensity=light.astype(np.float32),
        extra={},
    ).select(kept)
    status = np.full(sweep.n_beams, BeamStatus.NO_RETURN, np.uint8)
    status[noisy.beam] = BeamStatus.RETURN
    return _count_points(replace(noisy, beam_status=status))


def _chance(sweep: Sweep, signal: Array, cosine: Array, glass: Array, random: np.random.Generator) -> Array:
    """The probability (n,) that each return is lost."""
    own, ring = make_character(), sweep.ring
    logit = -4.3 + 0.03 * sweep.range + 3.0 * np.exp(-signal / 0.025) + 1.6 * own.weak[ring]
    logit = logit + 2.5 * np.exp(-((cosine / 0.06) ** 2))
    azimuth = np.arctan2(*sweep.beam_direction[sweep.beam][:, 1::-1].T)
    logit = np.where((np.abs(azimuth) > np.radians(174.0)) & (ring < 20), logit + 3.0, logit)
    patch = random.random((RINGS // 4, 90)) < 0.012  # of four lasers and four degrees, lost together
    cell = patch[ring // 4, np.minimum((np.degrees(azimuth) + 180.0) / 4.0, 89.0).astype(int)]
    logit = np.where(cell, 1.5, logit)
    return np.where(glass, 0.85, 1.0 / (1.0 + np.exp(-logit)))


def _paint_road(reflectance: Array, label: Array, points: Array) -> Array:
    """The reflectance (n,) with markings on roads, which run along x: a broken line in the middle."""
    x, y = points[:, 0], points[:, 1]
    line = (np.abs(y) < 0.08) & (np.mod(x, 6.0) < 3.0)
    crossing = (np.mod(x, 37.0) < 3.0) & (np.mod(y, 1.0) < 0.5)
    return np.where((label == _ROAD) & (line | crossing), _MARKING, reflectance)


def _texture(points: Array, name: str) -> Array:
    """A factor (n,) about 1 that depends on where a surface is."""
    start = sum(name.encode())
    logarithm: Array = np.zeros(len(points))
    for number, (size, sigma) in enumerate(_TEXTURE):
        logarithm += sigma * _find_noise(points / size, start + 7919 * number)
    return np.asarray(np.exp(logarithm))


def _find_noise(points: Array, start: int) -> Array:
    """A value (n,) of mean 0 and standard deviation 1 for the unit cell that each point lies in."""
    cell = np.floor(points).astype(np.int64)
    mixed = (cell * np.array([73856093, 19349663, 83492791])).sum(axis=1) + 2654435761 * start
    mixed = (mixed ^ (mixed >> 13)) * 1274126177
    share = ((mixed ^ (mixed >> 16)) & 0xFFFF) / 65535.0
    return np.asarray((share - 0.5) * np.sqrt(12.0))


def _correlate(sweep: Sweep, normal: Array, weight: float) -> Array:
    """Normal numbers (n,) of which each has a share of that of the return before it on its ring."""
    order = order_along_rings(sweep.ring, sweep.column)
    along = normal[order].copy()
    along[1:] = (along[1:] + weight * normal[order][:-1]) / np.sqrt(1.0 + weight**2)
    found = np.empty_like(normal)
    found[order] = along
    return found


def _mix_edges(sweep: Sweep, ranges: Array, random: np.random.Generator) -> Array:
    """The ranges (n,), a few of which at edges lie between both sides."""
    order = order_along_rings(sweep.ring, sweep.column)
    along, column, ring = ranges[order].copy(), sweep.column[order], sweep.ring[order]
    beside = (np.diff(column) == 1) & (np.diff(ring) == 0)
    gap = np.diff(along)
    mixed = beside & (np.abs(gap) > 0.4) & (np.abs(gap) < 4.0) & (random.random(len(gap)) < 0.12)
    at = np.flatnonzero(mixed)
    along[at] += random.random(len(at)) * gap[at]
    found = np.empty_like(ranges)
    found[order] = along
    return found


def _count_points(sweep: Sweep) -> Sweep:
    """The sweep whose boxes know how many of its returns are on them."""
    if sweep.boxes is None:
        return sweep
    counts = np.array([np.count_nonzero(sweep.instance == track) for track in sweep.boxes.track], np.int64)
    return replace(sweep, boxes=replace(sweep.boxes, n_points=counts))


def _match(sweep: Sweep, white: Sweep) -> Array:
    """The intensity (n,) of the returns of ``sweep`` that ``white`` has on the same beams: a cosine."""
    found = np.full(sweep.n_beams, 0.5)
    found[white.beam] = white.intensity
    return np.clip(found[sweep.beam], 0.01, 1.0)


def _whiten(layer: Layer) -> Layer:
    """The layer as a diffuse white one, whose light is the cosine of incidence."""
    if isinstance(layer, Instances):
        mesh = _whiten(layer.mesh)
        assert isinstance(mesh, Mesh)
        return Instances(mesh, layer.transforms, layer.instance, layer.label, layer.name)
    assert isinstance(layer, Mesh)
    return Mesh(layer.vertices, layer.faces, layer.label, 1.0, 0, layer.instance, name=layer.name)


def _whiten_actor(actor: Actor) -> Actor:
    return replace(actor, layers=tuple(_whiten(layer) for layer in actor.layers))
