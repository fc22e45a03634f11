"""How sensors scatter is found from pairs of sweeps, and simulation draws it again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import kstest

import resweep as rs
from resweep.calibrate.scatter.estimate import estimate_scatter
from resweep.calibrate.scatter.scatter_pair import ScatterPair
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.sensor_scatter import SURFACE, VOLUME, IntensityScatter, SensorScatter
from resweep.simulate.world_noise import IntensityDraw, lose_beams, scatter_range
from resweep.sweep import BeamStatus, Sweep

RINGS, COLUMNS = 8, 3000
SIGMA, STEP, RANGE_SIGMA, LOST = 0.05, 0.01, 0.02, 0.3
GRASS, WALL = 72, 50


def make_pair(seed: int) -> ScatterPair:
    """A turn of a sensor whose ring 3 reports a fifth more beyond 12 m, among walls and grass at 5 to 30 m."""
    random = np.random.default_rng(seed)
    count = RINGS * COLUMNS
    ring = np.repeat(np.arange(RINGS), COLUMNS).astype(np.uint16)
    simulated = (17.0 + 12.0 * np.sin(np.tile(np.arange(COLUMNS), RINGS) * 2e-3 + ring)).astype(np.float32)
    label = np.where(np.arange(count) % 600 < 300, GRASS, WALL).astype(np.int32)
    expected = np.where(label == GRASS, 0.3, 0.5).astype(np.float32) + random.uniform(-0.1, 0.1, count)
    bright = np.where((ring == 3) & (simulated > 12.0), 1.2, 1.0)
    scatter = random.normal(0.0, np.where(label == GRASS, 2.0, 1.0) * SIGMA)
    intensity = np.clip(np.round((expected * bright + scatter) / STEP) * STEP, 0.0, 1.0).astype(np.float32)
    recorded = (simulated + random.normal(0.0, RANGE_SIGMA, count)).astype(np.float32)
    recorded[(simulated > 25.0) & (random.random(count) < LOST)] = np.nan
    ones = np.ones(count, bool)
    return ScatterPair(
        recorded, simulated, intensity, expected.astype(np.float32), np.full(count, 20.0), ones, label,
        np.zeros((count, 3)), ones, np.zeros(count), ring, np.arange(count),
    )  # fmt: skip


@pytest.fixture(scope="module")
def pairs() -> list[ScatterPair]:
    return [make_pair(seed) for seed in range(4)]


@pytest.fixture(scope="module")
def found(pairs: list[ScatterPair]) -> SensorScatter:
    return estimate_scatter(pairs, [np.ones(RINGS * COLUMNS)] * 4, labelled=True)


def to_sweep(pair: ScatterPair) -> Sweep:
    """What is simulated of a pair, without noise."""
    count = len(pair.ring)
    return Sweep(
        beam_origin=np.zeros((count, 3), np.float32),
        beam_direction=np.tile(np.float32([1, 0, 0]), (count, 1)),
        beam_time=np.linspace(0.0, 0.1, count),
        beam_ring=pair.ring,
        beam_column=np.tile(np.arange(COLUMNS), RINGS).astype(np.int32),
        beam_status=np.full(count, BeamStatus.RETURN, np.uint8),
        beam=np.arange(count, dtype=np.int32),
        range=pair.simulated,
        intensity=pair.expected,
        return_index=np.zeros(count, np.uint8),
        label=pair.label,
        instance=np.zeros(count, np.int32),
        pose=np.eye(4),
        timestamp=0.0,
        sensor="made",
        extra={
            "cosine": np.full(count, np.cos(np.radians(20.0)), np.float32),
            "primitive": np.full(count, 2, np.uint8),
        },
    )


def test_what_is_drawn_is_distributed_as_what_was_recorded(found: SensorScatter, pairs: list[ScatterPair]) -> None:
    assert found.intensity is not None
    assert found.intensity.kinds == (WALL, GRASS, SURFACE, VOLUME)
    assert found.intensity.step == pytest.approx(STEP)
    assert found.intensity.next_weight == pytest.approx(0.0, abs=0.02)
    fresh = make_pair(99)
    drawn = IntensityDraw(found.intensity).scatter(to_sweep(fresh), np.ones(len(fresh.ring)), seed=3, index=0).intensity
    for label, sigma in ((GRASS, 2 * SIGMA), (WALL, SIGMA)):
        own = fresh.label == label
        blur = np.random.default_rng(0).uniform(-STEP / 2, STEP / 2, np.count_nonzero(own))
        # Both have the same law: two samples of 12,000 differ by chance alone.
        assert kstest(drawn[own] + blur, fresh.intensity[own] + blur).pvalue > 1e-3
        usual = own & (fresh.ring != 3)
        assert np.std((drawn - fresh.expected)[usual]) == pytest.approx(sigma, rel=0.06)
    bright = (fresh.ring == 3) & (fresh.simulated > 13.0) & (fresh.label == WALL)
    assert np.mean(drawn[bright] / fresh.expected[bright]) == pytest.approx(1.2, rel=0.02)
    np.testing.assert_allclose(drawn, np.round(drawn / STEP) * STEP, atol=1e-6)


def test_another_sensor_has_the_surfaces_scatter_and_not_the_lasers(found: SensorScatter) -> None:
    assert found.intensity is not None
    fresh = make_pair(99)
    drawn = IntensityDraw(found.intensity).scatter(to_sweep(fresh), seed=3, index=0).intensity
    bright = (fresh.ring == 3) & (fresh.simulated > 13.0) & (fresh.label == WALL)
    assert np.mean(drawn[bright] / fresh.expected[bright]) == pytest.approx(1.0, abs=0.02)
    assert np.std((drawn - fresh.expected)[fresh.label == WALL]) == pytest.approx(SIGMA, rel=0.15)


def test_ranges_scatter_as_they_did(found: SensorScatter) -> None:
    assert found.range is not None
    fresh = to_sweep(make_pair(99))
    added = scatter_range(fresh, found.range, seed=3, index=0).range - fresh.range
    assert np.std(added) == pytest.approx(RANGE_SIGMA, rel=0.05)
    assert abs(np.mean(added)) < 5 * RANGE_SIGMA / np.sqrt(len(added))


def test_as_many_returns_are_lost_as_were(found: SensorScatter) -> None:
    assert found.drops is not None
    fresh = make_pair(99)
    kept = lose_beams(to_sweep(fresh), found.drops, seed=3, index=0)
    gone = kept.beam_status == BeamStatus.DROPPED_BY_MODEL
    far = fresh.simulated > 26.0
    assert np.mean(gone[far]) == pytest.approx(LOST, abs=0.03)
    assert np.mean(gone[fresh.simulated < 15.0]) < 0.002
    assert not np.isin(np.flatnonzero(gone), kept.beam).any()


def test_the_same_seed_gives_the_same_draw_and_another_another(found: SensorScatter) -> None:
    assert found.intensity is not None
    sweep = to_sweep(make_pair(5))
    one, same, other = (IntensityDraw(found.intensity).scatter(sweep, seed=s, index=1).intensity for s in (3, 3, 4))
    np.testing.assert_array_equal(one, same)
    assert np.mean(one != other) > 0.5


def test_a_laser_that_remembers_its_last_return_is_found(pairs: list[ScatterPair]) -> None:
    def remember(pair: ScatterPair) -> ScatterPair:
        noise = np.random.default_rng(1).normal(0.0, SIGMA, len(pair.ring))
        noise[1:] -= 0.3 * noise[:-1]
        return replace(pair, intensity=np.clip(pair.expected + noise, 0.0, 1.0).astype(np.float32))

    found = estimate_scatter([remember(pair) for pair in pairs], [np.ones(RINGS * COLUMNS)] * 4, labelled=True)
    assert found.intensity is not None
    assert found.intensity.next_weight == pytest.approx(-0.3, abs=0.03)


def test_only_what_is_independent_from_beam_to_beam_is_drawn(pairs: list[ScatterPair]) -> None:
    def add_patches(pair: ScatterPair) -> ScatterPair:
        random = np.random.default_rng(2)
        patches = np.repeat(random.normal(0.0, 1.0, len(pair.ring) // 50), 50)  # of 50 beams: what no world holds
        noise = SIGMA * (np.sqrt(0.64) * patches + np.sqrt(0.36) * random.normal(0.0, 1.0, len(pair.ring)))
        return replace(pair, intensity=(pair.expected + noise).astype(np.float32))

    found = estimate_scatter([add_patches(pair) for pair in pairs], [np.ones(RINGS * COLUMNS)] * 4, labelled=True)
    assert found.intensity is not None
    # One pair of returns in 25 spans two patches.
    np.testing.assert_allclose(found.intensity.independent[:2], 0.6, atol=0.08)
    fresh = make_pair(99)
    drawn = IntensityDraw(found.intensity).scatter(to_sweep(fresh), np.ones(len(fresh.ring)), seed=3, index=0).intensity
    assert np.std(drawn - fresh.expected) == pytest.approx(0.6 * SIGMA, rel=0.15)
    step = np.abs(np.diff(drawn - fresh.expected))
    assert np.median(step) == pytest.approx(0.6745 * np.sqrt(2.0) * 0.6 * SIGMA, rel=0.15)


def test_outliers_stay_as_rare_as_they_were(pairs: list[ScatterPair]) -> None:
    random = np.random.default_rng(3)
    bright = [
        replace(pair, intensity=np.where(random.random(len(pair.ring)) < 0.002, 1.0, pair.intensity).astype(np.float32))
        for pair in pairs
    ]
    found = estimate_scatter(bright, [np.ones(RINGS * COLUMNS)] * 4, labelled=True)
    assert found.intensity is not None
    fresh = make_pair(99)
    drawn = IntensityDraw(found.intensity).scatter(to_sweep(fresh), np.ones(len(fresh.ring)), seed=3, index=0).intensity
    wall = (fresh.label == WALL) & (fresh.ring != 3)
    assert np.mean((drawn > 0.8)[wall]) < 0.005
    assert np.std((drawn - fresh.expected)[wall]) < 1.3 * SIGMA


def test_what_is_expected_beyond_the_ends_of_a_table_is_scaled(found: SensorScatter) -> None:
    assert found.intensity is not None
    fresh = to_sweep(make_pair(99))
    far = replace(fresh, intensity=np.full(len(fresh), 1.5, np.float32))
    free = found.intensity.model_copy(update={"ceiling": 0.0})
    drawn = IntensityDraw(free).scatter(far, seed=3, index=0).intensity
    assert np.mean(drawn[fresh.label == WALL]) == pytest.approx(1.5, rel=0.03)


def test_what_the_recording_cannot_show_is_left_out(pairs: list[ScatterPair]) -> None:
    dark = [replace(pair, intensity=np.zeros_like(pair.intensity)) for pair in pairs]
    assert estimate_scatter(dark, [np.ones(RINGS * COLUMNS)] * 4, labelled=True).intensity is None
    assert estimate_scatter([], [], labelled=True) == SensorScatter()


def test_scatter_is_kept_with_the_calibration_and_a_damaged_one_is_refused(found: SensorScatter) -> None:
    from resweep.calibration import Calibration

    kept = Calibration(np.zeros(RINGS), np.zeros(RINGS), scatter=found).to_dict()
    assert Calibration.from_dict(kept).scatter == found
    damaged: dict[str, Any] = {**kept["scatter"]["intensity"], "table_of": [[0]]}
    with pytest.raises(ResweepError, match="table_of"):
        IntensityScatter(**damaged)


def drive_of(world: rs.World) -> rs.Log:
    """A recorded drive whose sensor scatters."""
    sensor = rs.load_sensor("velodyne-vlp-16").with_(**{"receiver.range_noise_sigma_m": 0.02})
    log = rs.Simulator(world, sensor, seed=4).run([rs.from_xyz_rpy(x, 0, 2) for x in (0, 0.8, 1.6, 2.4, 3.2)])

    def scatter(sweep: Sweep, at: int) -> Sweep:
        noise = np.random.default_rng(at).normal(0.0, SIGMA, len(sweep))
        return replace(sweep, intensity=np.clip(sweep.intensity + noise, 0.0, 1.0).astype(np.float32))

    return log.map(scatter, "scatter", indexed=True)


def differ_along_rings(sweep: Sweep, values: Array) -> float:
    """The median difference of neighbours on a ring."""
    order = np.lexsort((sweep.column, sweep.ring))
    same = sweep.ring[order][1:] == sweep.ring[order][:-1]
    return float(np.median(np.abs(np.diff(values[order]))[same]))


def test_worlds_of_recordings_scatter_by_default_and_not_without_noise() -> None:
    log = drive_of(rs.scenes.street(seed=0))
    world = rs.build(log, rs.SurfelConfig(voxel_m=0.2, radius_m=0.2, refine="none"), progress=False)
    assert world.calibration is not None
    assert world.calibration.scatter is not None
    real, (drawn, mean) = log[2], (rs.resimulate(log[2:3], world, noise=noise)[0] for noise in (True, False))
    recorded, by_default, ideal = (differ_along_rings(sweep, sweep.intensity) for sweep in (real, drawn, mean))
    assert by_default == pytest.approx(recorded, rel=0.4)  # surfels of 20 cm predict coarsely
    assert ideal < 0.3 * recorded
    again = rs.resimulate(log[2:3], world)
    np.testing.assert_array_equal(again[0].intensity, drawn.intensity)
    assert (again.meta["noise"], rs.resimulate(log[2:3], world, noise=False).meta["noise"]) == (
        "of the world's recording",
        "none",
    )
    assert "cosine" not in drawn.extra
    # Another sensor has the scatter of the surfaces, unless its spec has its own.
    pose = log.poses[2]
    other = rs.Simulator(world, "velodyne-hdl-32e", seed=1)
    silent = other.tracer.sensor.with_(**{"receiver.intensity_noise_sigma": 1e-6})
    steps = [
        differ_along_rings(sweep, sweep.intensity)
        for sweep in (other.sweep(pose), rs.Simulator(world, silent, seed=1).sweep(pose))
    ]
    assert steps[0] > 0.5 * recorded > 2 * steps[1]
    bare = other.sweep(pose, bare=True)
    np.testing.assert_array_equal(bare.intensity, other.sweep(pose).intensity)
