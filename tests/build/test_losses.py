"""Surfaces from which beams come back empty, such as glass, are known by that, and simulated so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import resweep as rs
from resweep.build import MapConfig
from resweep.build.refine.losses import find_lost_shares
from resweep.pose import Array, from_xyz_rpy
from resweep.simulate import Retracer
from resweep.simulate.loss_map import LossMap
from resweep.simulate.recorded_sensor import make_one_ray_sensor
from resweep.worlds import Splats
from resweep.worlds.layers.layer import LOST


def wall(lost: float = 0.0) -> rs.World:
    """A wall at x = 8 m; beams that hit it where y > 1 m are lost with the chance given."""
    axis = np.arange(-6.0, 6.1, 0.1)
    y, z = (values.reshape(-1) for values in np.meshgrid(axis, axis))
    centre = np.column_stack([np.full_like(y, 8.0), y, z])
    share = np.where(y > 1.0, np.float32(lost), np.float32(0.0))
    return rs.World([Splats(centre, np.tile([-1.0, 0, 0], (len(y), 1)), np.full(len(y), 0.1), extra={LOST: share})])


def scan(world: rs.World) -> rs.Sweep:
    """One sweep towards the wall."""
    turns = {"pattern.azimuth_resolution_deg": 0.4, "pattern.channels.elevation_deg": np.linspace(-15, 15, 32).tolist()}
    return rs.Simulator(world, make_one_ray_sensor(0.0, 100.0).with_(**turns)).sweep(from_xyz_rpy(0, 0, 0))


def behind_glass(sweep: rs.Sweep) -> Array:
    """Returns (n,) bool well within the part of the wall that takes beams."""
    return np.asarray(sweep.points[:, 1] > 1.3)


def test_shares_are_those_of_the_beams_that_came_back_empty() -> None:
    rng = np.random.default_rng(0)
    place = rng.uniform(-0.1, 0.1, (400, 3)).astype(np.float32)
    place[200:] += 5.0
    empty = np.zeros(400, bool)
    empty[:200] = rng.random(200) < 0.75
    found = find_lost_shares(np.array([[0.0, 0, 0], [5, 5, 5], [50, 0, 0]], np.float32), place, empty)
    assert found[0] > 0.4
    assert found[1] == 0.0
    assert found[2] == 0.0


def test_without_an_empty_beam_nothing_is_lost() -> None:
    place = np.zeros((10, 3), np.float32)
    assert not find_lost_shares(place[:2], place, np.zeros(10, bool)).any()


def test_beams_are_lost_as_often_as_the_splats_say() -> None:
    recorded = scan(wall())
    glass = behind_glass(recorded)
    again = Retracer(wall(0.7), make_one_ray_sensor(0.0, 100.0)).sweep(recorded)
    kept = np.isin(recorded.beam, again.beam)
    count = int(glass.sum())
    assert count > 500
    # Five sigma of a binomial share.
    assert kept[glass].mean() == pytest.approx(0.3, abs=5 * np.sqrt(0.21 / count))
    assert kept[recorded.points[:, 1] < 0.7].all()


def test_the_same_seed_loses_the_same_beams() -> None:
    recorded = scan(wall())
    one, two, other = (
        Retracer(wall(0.5), make_one_ray_sensor(0.0, 100.0), seed=seed, threads=threads).sweep(recorded)
        for seed, threads in ((1, 1), (1, 2), (2, 1))
    )
    np.testing.assert_array_equal(one.beam, two.beam)
    assert not np.array_equal(one.beam, other.beam)


def test_what_is_mostly_lost_is_predicted_to_be() -> None:
    recorded = scan(wall())
    retracer = Retracer(wall(0.7), make_one_ray_sensor(0.0, 100.0))
    predicted = retracer.predict(recorded)
    found = np.isin(recorded.beam, predicted.beam)
    assert not found[behind_glass(recorded)].any()
    assert found[recorded.points[:, 1] < 0.7].all()
    # No return is likelier there than where nothing is ever lost.
    glass = recorded.beam[behind_glass(recorded)]
    none = recorded.select(~np.isin(recorded.beam, glass))
    opaque = Retracer(wall(), make_one_ray_sensor(0.0, 100.0))
    assert (retracer.log_likelihood(none)[glass] > opaque.log_likelihood(none)[glass]).all()


def test_sweeps_from_which_drops_are_learned_keep_their_returns() -> None:
    log = rs.Log.from_sweeps([scan(wall())], "wall")
    world = replace_observed(wall(0.7), log)
    recorded = log[0]
    assert len(Retracer(world, make_one_ray_sensor(0.0, 100.0)).with_hits().sweep(recorded)) == len(recorded)


def replace_observed(world: rs.World, log: rs.Log) -> rs.World:
    """The world, which knows what space the log saw."""
    built = rs.build(log, rs.SplatConfig(calibrate=None), progress=False)
    return rs.World(world.layers, built.origin * 0.0, observed=built.observed)


def test_a_map_of_losses_ends_at_its_voxels() -> None:
    world = wall(0.7)
    losses = LossMap.of(world.layers)
    assert losses is not None
    points = np.array([[8.0, 3.0, 0.0], [8.0, -3.0, 0.0], [0.0, 3.0, 0.0], [8.0, 300.0, 0.0], [-1e6, 0, 0]], np.float32)
    np.testing.assert_allclose(losses.find(points), [0.7, 0, 0, 0, 0], atol=1e-6)
    assert LossMap.of(wall().layers) is None


def test_losses_stay_with_a_world_that_is_saved(tmp_path) -> None:  # type: ignore[no-untyped-def]
    world = wall(0.6)
    world.save(tmp_path / "wall.world")
    again = rs.load_world(tmp_path / "wall.world")
    np.testing.assert_array_equal(again.layers[0].extra[LOST], world.layers[0].extra[LOST])
    sweep = scan(wall())
    sensor = make_one_ray_sensor(0.0, 100.0)
    np.testing.assert_array_equal(Retracer(again, sensor).sweep(sweep).beam, Retracer(world, sensor).sweep(sweep).beam)


def test_a_build_learns_what_takes_beams() -> None:
    """Scans of a wall of which a half takes most beams give a world that takes as many there."""
    turns = {"pattern.azimuth_resolution_deg": 1.0, "pattern.channels.elevation_deg": np.linspace(-15, 15, 24).tolist()}
    sensor = make_one_ray_sensor(0.0, 100.0).with_(**turns)
    poses = np.stack([from_xyz_rpy(0.3 * at, 0.2 * at, 0) for at in range(6)])
    drive = rs.Simulator(wall(), sensor).run(poses)
    sweeps = []
    for number, sweep in enumerate(drive):
        taken = (sweep.world_points()[:, 1] > 1.0) & (np.random.default_rng(number).random(len(sweep)) < 0.7)
        sweeps.append(replace(sweep.select(~taken), boxes=None))
    log = rs.Log.from_sweeps(sweeps, "wall", sensor=drive.sensor)
    world = rs.build(log, rs.HybridConfig(map=MapConfig(ego_radius_m=0.5), evidence=()), progress=False)
    splats = next(layer for layer in world.layers if isinstance(layer, Splats))
    y = splats.centre[:, 1] + world.origin[1]
    inside = np.abs(splats.centre[:, 2] + world.origin[2]) < 1.0
    assert splats.extra[LOST][inside & (y > 1.4) & (y < 3.0)].mean() > 0.15
    assert splats.extra[LOST][inside & (y < 0.4) & (y > -3.0)].mean() < 0.05
