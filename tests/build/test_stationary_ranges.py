"""A sensor that stood still: the default hybrid has the ranges of each direction, and pointing errors only once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.build import CalibrateConfig, HybridConfig, Map, SplatConfig
from resweep.build.plan import resolve
from resweep.build.stationary.directions import SHOTS_MIN, find_directions
from resweep.build.stationary.range_cells import RangeCells
from resweep.build.stationary.stationary_learning import count_primitives, learn, predict_likelihood, read_beams
from resweep.labels import NO_LABELS
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes import box, wall
from resweep.simulate.scene import make_native_scene
from resweep.worlds import Splats, Volumes
from tests.places import STEP_DEG, standing_sensor

NOISE_M = 0.005
POSE = from_xyz_rpy(z=1.8)


def _sensor(noise_m: float = NOISE_M, **changes: object) -> rs.Sensor:
    """Three lasers over 3 degrees of bearing, with an encoder as coarse as the bearings are apart."""
    made = standing_sensor([-0.5, 0.0, 0.5], 1.5, noise_m, divergence_rad=0.0072)
    return made.with_(**{"pointing.encoder_step_rad": float(np.radians(STEP_DEG)), **changes})


def _log(world: rs.World, sensor: rs.Sensor, count: int = 60, step_m: float = 0.0) -> rs.Log:
    simulator = rs.Simulator(world, sensor, seed=3)
    sweeps = [simulator.sweep(from_xyz_rpy(0.0, step_m * at, 1.8), index=at) for at in range(count)]
    bare = [replace(sweep, label=np.zeros_like(sweep.label)) for sweep in sweeps]
    return rs.Log.from_sweeps(bare, labels=NO_LABELS, sensor=sensor)


def _slanted() -> rs.World:
    return rs.World([wall((8.0, -1.0), (9.0, 1.0), 4.0, 0.01)])


def _ranges(sweeps: list[rs.Sweep]) -> Array:
    """Ranges (sweeps, beams), infinity without return."""
    ranges = np.full((len(sweeps), sweeps[0].n_beams), np.inf)
    for at, sweep in enumerate(sweeps):
        ranges[at, sweep.beam] = sweep.range
    return ranges


def _simulate(world: rs.World, sensor: rs.Sensor, count: int) -> Array:
    quiet = sensor.with_(**{"receiver.range_noise_sigma_m": 0.0})  # which the volumes hold
    simulator = rs.Simulator(world, quiet, seed=9)
    return _ranges([simulator.sweep(POSE, index=at) for at in range(count)])


def test_directions_are_found_where_a_sensor_repeats_them() -> None:
    log = _log(_slanted(), _sensor(), SHOTS_MIN)
    found = find_directions(log)
    assert found is not None
    assert len(found.unit) == log[0].n_beams
    assert found.step_h_rad == pytest.approx(np.radians(STEP_DEG), rel=1e-3)
    assert found.step_v_rad == pytest.approx(np.radians(0.5), rel=1e-3)
    np.testing.assert_array_equal(found.find(7.0 * found.unit), np.arange(len(found.unit)))
    assert find_directions(log[: SHOTS_MIN - 1]) is None
    assert find_directions(_log(_slanted(), _sensor(), SHOTS_MIN, step_m=0.01)) is None


def test_directions_with_gaps_between_beams_are_left_to_splats() -> None:
    log = _log(_slanted(), _sensor(), SHOTS_MIN)
    narrow = _sensor(**{"beam.divergence_h_rad": 0.005, "beam.divergence_v_rad": 0.005})  # of steps of 3.5 mrad
    assert find_directions(replace(log, sensor=narrow)) is None
    assert find_directions(replace(log, sensor=None)) is None


def test_directions_that_differ_from_sweep_to_sweep_are_none() -> None:
    turns = [from_xyz_rpy(yaw=np.radians(STEP_DEG) * at / SHOTS_MIN)[:3, :3] for at in range(SHOTS_MIN)]
    log = _log(_slanted(), _sensor(), SHOTS_MIN)
    turned = [
        replace(sweep, beam_direction=(sweep.beam_direction @ turn.T).astype(np.float32))
        for sweep, turn in zip(log, turns, strict=True)
    ]
    assert find_directions(log.with_sweeps(turned)) is None


def test_what_is_set_is_what_a_world_is_built_by() -> None:
    log = _log(_slanted(), _sensor(), SHOTS_MIN)
    plan = resolve(log)
    assert plan.stationary
    assert not plan.calibrates
    assert plan.config.refine == "none"
    for config in (HybridConfig(stationary="never"), SplatConfig()):
        assert not resolve(log, config).stationary
    assert resolve(log, HybridConfig(splats={"k": 20})).stationary
    assert resolve(log, HybridConfig(calibrate=CalibrateConfig())).calibrates
    assert resolve(log, HybridConfig(map={"moving": "visibility"})).config.map.moving == "visibility"


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"volumes": {"voxel_m": 0.1}}, "volumes"),
        ({"refine": "full"}, "refine"),
        ({"permeable": ["ground"]}, "permeable"),
    ],
)
def test_what_a_sensor_at_rest_would_ignore_is_refused(given: dict[str, Any], named: str) -> None:
    with pytest.raises(rs.ResweepError, match=f"stood still.* and {named} would be ignored; .*stationary to never"):
        resolve(_log(_slanted(), _sensor(), SHOTS_MIN), HybridConfig(**given))


def test_ranges_on_a_slanted_wall_scatter_as_recorded() -> None:
    sensor = _sensor()
    log = _log(_slanted(), sensor, 150)
    world = rs.build(log, progress=False)
    assert [type(layer) for layer in world.layers] == [Volumes]
    real, made = _ranges(list(log)), _simulate(world, sensor, 600)
    assert np.isfinite(made).mean() > 0.98
    made = np.where(np.isfinite(made), made, np.nan)
    middle = np.abs(np.degrees(np.arctan2(*log[0].beam_direction[:, 1::-1].T))) < 1.2
    scatter = np.nanstd(made, axis=0)[middle].mean() / real.std(axis=0)[middle].mean()
    assert scatter == pytest.approx(1.0, abs=0.15)
    off = (np.nanmean(made, axis=0) - real.mean(axis=0))[middle]
    assert np.abs(off).mean() < 0.003


def test_rounds_of_shapes_make_other_shots_likelier() -> None:
    log = _log(_slanted(), _sensor(), 120)
    directions = find_directions(log)
    assert directions is not None
    map = Map.from_log(log, resolve(log).config.map)
    (others,), beams = read_beams(map, np.arange(80, 120)), read_beams(map, np.arange(80))
    cells = RangeCells.of(map.select_sweeps(list(range(80))).cloud, directions, HybridConfig())
    found = []
    for rounds in (3, 10):
        volumes = learn(cells, beams, directions, rounds=rounds)
        random = np.random.default_rng(1)
        scene, sizes = make_native_scene(rs.World([volumes])), count_primitives([volumes])
        drawn = [predict_likelihood(scene, sizes, others, directions.draw(others.direction, random)) for _ in range(8)]
        found.append(np.log(np.exp(np.stack(drawn)).mean(axis=0)).mean())
    assert found[1] > found[0] + 0.01, found


def test_an_edge_is_hit_as_often_as_recorded() -> None:
    edge = rs.World([box((0.02, 4.0, 4.0), (8.0, 2.012, 1.8)), box((0.02, 8.0, 4.0), (9.0, 0.0, 1.8))])
    sensor = _sensor()
    log = _log(edge, sensor, 150)
    world = rs.build(log, progress=False)
    near = (_ranges(list(log)) < 8.5).mean(axis=0)
    again = (_simulate(world, sensor, 600) < 8.5).mean(axis=0)
    assert ((near > 0.2) & (near < 0.8)).any()
    assert np.abs(near - again).max() < 0.15


def test_surfaces_without_noise_are_splats() -> None:
    log = _log(rs.World([box((0.3, 9.0, 4.0), (8.15, 0.0, 1.8))]), _sensor(0.0, **{"pointing.encoder_step_rad": 0.0}))
    world = rs.build(log, progress=False)
    assert any(isinstance(layer, Splats) for layer in world.layers)


def test_beams_meet_volumes_that_hold_their_width_with_their_axes() -> None:
    sensor = _sensor()
    world = rs.build(_log(_slanted(), sensor, 60), progress=False)
    nine = sensor.with_(**{"beam.rays": "nine"})
    np.testing.assert_array_equal(_simulate(world, sensor, 3), _simulate(world, nine, 3))
    small = rs.World([layer.with_(element_m=1.0) for layer in world.layers if isinstance(layer, Volumes)], world.origin)
    assert (_simulate(small, sensor, 3) != _simulate(small, nine, 3)).any()


def test_the_same_log_gives_the_same_bytes() -> None:
    log = _log(_slanted(), _sensor(), SHOTS_MIN)
    one, two = (rs.build(log, progress=False).layers[0] for _ in range(2))
    assert isinstance(one, Volumes)
    assert isinstance(two, Volumes)
    for name in ("mean", "covariance", "permeability", "exposure_m"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
