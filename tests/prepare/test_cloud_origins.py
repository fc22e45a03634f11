"""Where the points of a cloud were measured from, and what several returns of a pulse say."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.build import CloudConfig, HybridConfig, SplatConfig
from resweep.build.pipeline import prepare as prepare_log
from resweep.build.plan import resolve
from resweep.build.volumes.permeability import BeamCounter
from resweep.map.beams import Beams
from resweep.pose import Array, from_xyz_rpy
from resweep.prepare.clouds.cloud_pulses import find_track
from resweep.prepare.clouds.cloud_survey import survey_cloud
from resweep.prepare.clouds.standpoints import find_standpoints
from tests.survey_files import SCANNER, UTM, fly, scan_room, write_las


def prepare(path: Path, cloud: CloudConfig | None = None) -> tuple[rs.Log, HybridConfig]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        log = rs.open_log(path)
        plan = resolve(log, HybridConfig(cloud=cloud or CloudConfig()))
    assert isinstance(plan.config, HybridConfig)
    return prepare_log(log, plan), plan.config


def find_origins(sweep: rs.Sweep) -> Array:
    """Where each return was measured from, in the world."""
    return np.asarray(sweep.beam_origin[sweep.beam].astype(np.float64) + sweep.pose[:3, 3])


def test_pulses_of_several_returns_tell_where_the_aircraft_was(tmp_path: Path) -> None:
    points, columns, sensor = fly()
    log, config = prepare(write_las(tmp_path / "flight.las", points + UTM, **columns))
    sweep = log[0]
    order = np.argsort(sweep.time, kind="stable")
    off = find_origins(sweep)[order] - (sensor + UTM)[np.argsort(columns["gps_time"], kind="stable")]
    assert np.linalg.norm(off, axis=1).max() < 20.0  # at 600 m: 2 degrees, half a second's flight of 30 m included
    np.testing.assert_allclose(np.sort(sweep.world_points(), axis=0), np.sort(points + UTM, axis=0), atol=2e-3)
    assert "lines of pulses" in log.meta["scanner"]
    assert config.splats.carve.rounds > 0  # beams are known
    assert config.volumes.voxel_m > 0.5  # as wide as points lie apart


def test_without_times_first_returns_above_last_ones_say_that_it_flew(tmp_path: Path) -> None:
    points, columns, _ = fly()
    del columns["gps_time"]
    log, config = prepare(write_las(tmp_path / "flight.las", points + UTM, **columns))
    away = find_origins(log[0]) - log[0].world_points()
    np.testing.assert_allclose(away, np.broadcast_to([0, 0, 1000.0], away.shape), atol=0.01)
    assert config.splats.carve.rounds == 0  # beams are assumed
    assert config.reflectance.incidence_exponent == 0.0


def test_what_is_set_stays(tmp_path: Path) -> None:
    path = write_las(tmp_path / "room.las", scan_room(4.0) + UTM)
    given = SplatConfig(map={"ego_radius_m": 1.0}, carve={"rounds": 2})  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plan = resolve(rs.open_log(path), given)
    config, placed = plan.config, prepare_log(rs.open_log(path), plan)
    assert (config.map.ego_radius_m, config.map.moving, config.carve.rounds) == (1.0, "none", 2)
    again = resolve(placed, config)  # once is enough
    assert (again.config, prepare_log(placed, again)) == (config, placed)


def test_a_room_is_seen_from_within_and_a_block_from_around() -> None:
    inside = find_standpoints(scan_room(3.0), 0.1, 48)
    assert len(inside.places) == 1
    assert inside.visible.mean() > 0.98
    assert (np.abs(inside.places[0] - SCANNER) < 4).all()
    rng = np.random.default_rng(0)
    ground = np.column_stack([rng.uniform(-8, 8, (12000, 2)), np.full(12000, -2.0)])
    ground = ground[np.abs(ground[:, :2]).max(axis=1) > 2]
    for half, more in ((0.9, ground[:0]), (2.0, ground)):  # too small to stand in, or on a lawn
        block = rng.uniform(-1, 1, (6000, 3))
        side = np.arange(6000) % 3
        block[np.arange(6000), side] = np.where(rng.random(6000) < 0.5, -1.0, 1.0)
        block = block[block[:, 2] > -1.0] * half  # it has no visible bottom
        around = find_standpoints(np.concatenate([block, more]), 0.06 * half, 48)
        own = np.abs(around.points).max(axis=1) <= half + 1e-3
        away = (around.places[around.seen_from] - around.points)[own]
        outward = np.einsum("ni,ni->n", away, _outward(around.points[own]))
        assert (outward > 0).mean() > 0.9, half  # but for some on its edges


def _outward(points: Array) -> Array:
    """The normal of the side of a block that points lie on."""
    side = np.argmax(np.abs(points), axis=1)
    normal = np.zeros_like(points, dtype=np.float64)
    rows = np.arange(len(points))
    normal[rows, side] = np.sign(points[rows, side])
    return normal


def test_a_beam_counts_as_its_share_of_the_pulse() -> None:
    volumes = rs.Volumes(np.array([[5.0, 0, 0]]), np.array([[0.04, 0, 0, 0.04, 0, 0.04]]), 0.5)
    # Two pulses end in the volume. One has two returns, in it and behind it. One has four, of which three lie behind.
    length = np.array([5.0, 5.0, 5.0, 9.0, 5.0, 7.0, 8.0, 9.0], np.float32)
    shared = np.array([1, 1, 2, 2, 4, 4, 4, 4], np.uint8)
    origin, direction = np.zeros((8, 3), np.float32), np.tile(np.array([1, 0, 0], np.float32), (8, 1))
    counter = BeamCounter(volumes)
    counter.add(Beams(origin, direction, length, np.ones(8, bool), shared))
    np.testing.assert_allclose(counter.counts.stopped, [1 + 1 + 1 / 2 + 1 / 4])
    np.testing.assert_allclose(counter.counts.passed, [1 / 2 + 3 / 4])


def test_a_hedge_lets_through_what_it_let_through(tmp_path: Path) -> None:
    true = _hedge_world()
    sensor = rs.load_sensor("velodyne-vlp-16").with_(
        **{
            "receiver.mode": "multiple",
            "receiver.max_returns": 5,
            "receiver.range_noise_sigma_m": 0.005,
            "beam.rays": "random",
            "beam.divergence_h_rad": 0.01,
            "beam.divergence_v_rad": 0.01,
        }
    )
    place = np.array([0.0, 0.0, 1.2])
    parts = []
    for at in range(8):  # a scanner of more elevations
        sweep = rs.Simulator(true, sensor, seed=at).sweep(from_xyz_rpy(*place, pitch=np.deg2rad(0.25 * at)))
        total = np.bincount(sweep.beam, minlength=sweep.n_beams)[sweep.beam]
        order = np.lexsort((sweep.range, sweep.beam))
        number = np.empty(len(sweep), int)
        first = np.concatenate([[0], np.flatnonzero(np.diff(sweep.beam[order])) + 1])
        number[order] = np.arange(len(sweep)) - np.repeat(first, np.diff(np.append(first, len(sweep))))
        parts.append((sweep.world_points(), number + 1, total, sweep.label))
    points, number, total, label = (np.concatenate(column) for column in zip(*parts, strict=True))
    ahead = (points[:, 0] > 1) & (np.abs(points[:, 1]) < 3)
    path = write_las(
        tmp_path / "hedge.las",
        points[ahead],
        return_number=number[ahead].astype(np.uint8),
        number_of_returns=total[ahead].astype(np.uint8),
        classification=label[ahead].astype(np.uint8),
        intensity=np.full(int(ahead.sum()), 30000, np.uint16),
    )
    assert (total[ahead] > 1).mean() > 0.2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        world = rs.build(rs.open_log(path), HybridConfig(cloud=CloudConfig(scanner=tuple(place))), progress=False)
    assert {layer.kind for layer in world.layers} == {"splats", "volumes"}
    assert _share_through(world) == pytest.approx(_share_through(true), abs=0.03)


def _hedge_world() -> rs.World:
    """A wall 9 m away behind a hedge at 5 m, in classes of ASPRS."""
    rng = np.random.default_rng(3)
    mean = np.stack([rng.uniform(4.6, 5.4, 900), rng.uniform(-2.5, 2.5, 900), rng.uniform(0.0, 2.4, 900)], axis=1)
    hedge = rs.Volumes(mean, np.tile([0.01, 0, 0, 0.01, 0, 0.01], (900, 1)), 0.75, label=5, reflectance=0.5)
    corners = np.array([[9.0, -6, -3], [9, 6, -3], [9, 6, 6], [9, -6, 6]])
    wall = rs.Mesh(corners, np.array([[0, 1, 2], [0, 2, 3]]), label=6, reflectance=0.5)
    return rs.World([wall, hedge], labels=rs.load_labels("asprs"))


def _share_through(world: rs.World) -> float:
    """The share of thin beams towards the hedge that reach the wall."""
    sensor = rs.load_sensor("velodyne-vlp-16").with_(**{"beam.rays": "single", "receiver.mode": "first"})
    sweep = rs.Simulator(world, sensor, seed=9).sweep(from_xyz_rpy(0.0, 0.0, 1.2))
    azimuth = np.abs(np.arctan2(sweep.beam_direction[:, 1], sweep.beam_direction[:, 0])) < 0.35
    low = np.abs(sweep.beam_direction[:, 2]) < 0.15
    chosen = (azimuth & low)[sweep.beam]
    return float((sweep.range[chosen] > 7.5).mean())


def test_a_real_flight_is_level(sample_data: Path) -> None:
    survey = survey_cloud(rs.open_log(sample_data / "vegetation" / "lidr" / "Topography.laz"))
    ((times, places),) = find_track(survey.lines).by_source.values()
    assert len(times) >= 8
    assert np.ptp(places[:, 2]) < 50.0  # at 2,300 m
    speed = np.linalg.norm(np.diff(places[:, :2], axis=0), axis=1) / np.diff(times)
    assert ((speed > 40) & (speed < 90)).all()  # of an aeroplane, m/s
