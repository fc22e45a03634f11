"""Beams that come back empty whatever stands there, in blind spots and beyond a limit, are predicted to."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.build import CalibrateConfig, Map, MapConfig
from resweep.build.limits import estimate_limits
from resweep.build.plan import resolve
from resweep.build.refine.blind_sectors import BlindSectors
from resweep.build.settings.refine import Refine
from resweep.build.whole import WholeMap, WholePart
from resweep.calibration import BLIND_BINS, Calibration, find_blind_bins
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.pose import Array, from_xyz_rpy
from resweep.simulate import Retracer
from resweep.simulate.recorded_sensor import make_one_ray_sensor
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import Splats


def courtyard() -> rs.World:
    """Ground and four walls 8 m away, of splats."""
    axis = np.arange(-8.0, 8.1, 0.4)
    u, v = (values.reshape(-1) for values in np.meshgrid(axis, axis))
    flat, up = np.zeros_like(u), np.abs(v)
    sides = [((u, v, flat), (0, 0, 1))]
    sides += [((u, np.full_like(u, y), up), (0, -np.sign(y), 0)) for y in (-8.0, 8.0)]
    sides += [((np.full_like(u, x), u, up), (-np.sign(x), 0, 0)) for x in (-8.0, 8.0)]
    centre = np.concatenate([np.column_stack(place) for place, _ in sides])
    normal = np.concatenate([np.tile(np.asarray(to, float), (len(u), 1)) for _, to in sides])
    return rs.World([Splats(centre, normal, np.full(len(centre), 0.4))])


def in_sector(sweep: Sweep) -> Array:
    """Beams (b,) to the left of the sensor, which a mount is in the way of."""
    return np.asarray(np.abs(np.arctan2(sweep.beam_direction[:, 1], sweep.beam_direction[:, 0]) - np.pi / 2) < 0.3)


def scan(range_max_m: float) -> Log:
    """A drive through the courtyard by a sensor that returns from up to a range."""
    sensor = make_one_ray_sensor(0.0, range_max_m).with_(
        **{"pattern.azimuth_resolution_deg": 2.0, "pattern.channels.elevation_deg": np.linspace(-15, 15, 16).tolist()}
    )
    return rs.Simulator(courtyard(), sensor).run(np.stack([from_xyz_rpy(0.2 * at, 0.0, 1.8) for at in range(4)]))


@pytest.fixture(scope="module")
def drive() -> Log:
    """A drive through the courtyard by a sensor that sees nothing in its blind sector."""
    seen = scan(100.0)
    sweeps = [sweep.select(~in_sector(sweep)[sweep.beam]) for sweep in seen]
    return Log.from_sweeps(sweeps, "courtyard", sensor=seen.sensor)


@pytest.fixture(scope="module")
def world(drive: Log) -> rs.World:
    """The true courtyard, with what the drive shows of its sensor."""
    return known_by(drive)


def known_by(drive: Log) -> rs.World:
    """The true courtyard, with what a drive shows of its sensor."""
    plan = resolve(drive, rs.SplatConfig(map=MapConfig(ego_radius_m=0.5)))
    map = Map.from_log(drive, plan.config.map)
    truth = [layer.moved(_shift(-map.origin)) for layer in courtyard().layers]
    layers = WholeMap(WholePart(map)).cover(lambda part, layers: truth, plan, None)
    known = estimate_limits(drive, Calibration(np.zeros(16), np.zeros(16)), map.origin, layers, plan)
    return rs.World(courtyard().layers, calibration=known)


def _shift(by: Array) -> Array:
    moved = np.eye(4)
    moved[:3, 3] = by
    return moved


def test_the_share_of_empty_beams_is_that_of_the_direction(world: rs.World, drive: Log) -> None:
    assert world.calibration is not None
    share = world.calibration.find_blind(drive[0])
    assert share is not None
    blind = in_sector(drive[0])
    hit = np.isfinite(_ranges(courtyard(), drive[0]))
    assert share[blind & hit].min() > 0.5
    assert np.median(share[~blind & hit]) < 0.1


def _ranges(world: rs.World, sweep: Sweep) -> Array:
    found = Retracer(world).predict(sweep)
    ranges = np.full(sweep.n_beams, np.inf)
    ranges[found.beam] = found.range
    return ranges


def test_blind_beams_are_predicted_to_come_back_empty_and_others_as_before(world: rs.World, drive: Log) -> None:
    sweep, blind = drive[1], in_sector(drive[1])
    before, after = _ranges(courtyard(), sweep), _ranges(world, sweep)
    assert np.isfinite(before[blind]).mean() > 0.5
    assert np.isinf(after[blind]).all()
    assert (np.isfinite(after) == np.isfinite(before))[~blind].mean() > 0.98


def test_what_was_recorded_is_more_likely_with_the_blind_spots_known(world: rs.World, drive: Log) -> None:
    sweep, blind = drive[1], in_sector(drive[1])
    before, after = (Retracer(place).log_likelihood(sweep) for place in (courtyard(), world))
    assert after[blind].mean() > before[blind].mean() + 1.0
    assert after.mean() > before.mean()


def test_a_drive_that_is_fired_again_misses_the_same_beams(world: rs.World, drive: Log) -> None:
    sweep, blind = drive[1], in_sector(drive[1])
    again = Retracer(world, seed=3).sweep(sweep)
    lost = again.beam_status == BeamStatus.DROPPED
    assert lost[blind].sum() > 0.5 * np.isfinite(_ranges(courtyard(), sweep))[blind].sum()
    assert lost[~blind].mean() < 0.1
    assert not np.isin(again.beam, np.flatnonzero(lost)).any()
    np.testing.assert_array_equal(again.range, Retracer(world, seed=3).sweep(sweep).range)


def test_a_saved_world_keeps_them(world: rs.World, drive: Log, tmp_path: Path) -> None:
    world.save(tmp_path / "place.world")
    again = rs.load_world(tmp_path / "place.world").calibration
    assert again is not None
    assert world.calibration is not None
    np.testing.assert_allclose(again.blind, world.calibration.blind, atol=5e-4)


def test_a_sensor_that_cuts_off_at_a_range_is_predicted_to(tmp_path: Path) -> None:
    short = scan(9.0)
    known = known_by(short)
    assert known.calibration is not None
    assert known.calibration.range_limit_m == pytest.approx(9.0, abs=0.05)
    before, after = _ranges(courtyard(), short[1]), _ranges(known, short[1])
    assert (before[np.isfinite(before)] > 9.0).mean() > 0.1
    np.testing.assert_array_equal(after[before < 8.9], before[before < 8.9])
    assert np.isinf(after[before > 9.1]).all()
    likelihoods = [Retracer(place).log_likelihood(short[1]).mean() for place in (courtyard(), known)]
    assert likelihoods[1] > likelihoods[0] + 0.1
    known.save(tmp_path / "place.world")
    again = rs.load_world(tmp_path / "place.world").calibration
    assert again is not None
    assert again.range_limit_m == known.calibration.range_limit_m


def test_a_drive_that_is_fired_again_ends_at_the_range_of_its_sensor() -> None:
    short = scan(9.0)
    again = Retracer(known_by(short), seed=3).sweep(short[1])
    assert again.range.max() <= 9.0
    out = again.beam_status == BeamStatus.OUT_OF_RANGE
    assert out.sum() > 0.1 * again.n_beams
    assert not np.isin(again.beam, np.flatnonzero(out)).any()


def test_a_drive_in_a_small_place_shows_no_limit(world: rs.World, drive: Log) -> None:
    assert drive[0].range.max() < 20.0
    assert world.calibration is not None
    assert world.calibration.range_limit_m is None


def test_a_calibration_without_them_saves_none() -> None:
    assert list(Calibration(np.zeros(2), np.zeros(2)).to_dict()) == ["elevation_rad", "range_m", "range_slope"]


def test_a_sensor_that_sees_everywhere_has_none() -> None:
    assert BlindSectors().find_shares() is None


def test_shares_of_another_shape_or_size_are_refused() -> None:
    with pytest.raises(ResweepError, match="360 values a ring"):
        Calibration(np.zeros(2), np.zeros(2), np.zeros((2, 7)))
    with pytest.raises(ResweepError, match="range_limit_m must be above 0"):
        Calibration(np.zeros(2), np.zeros(2), range_limit_m=0.0)
    with pytest.raises(ResweepError, match="from 0 to 1"):
        Calibration(np.zeros(2), np.zeros(2), np.full((2, BLIND_BINS), 1.5))


def test_bins_go_once_around() -> None:
    turn = np.radians(np.arange(360) + 0.5)
    bins = find_blind_bins(np.column_stack([np.cos(turn), np.sin(turn), np.zeros(360)]))
    np.testing.assert_array_equal(np.sort(bins), np.arange(360))


@pytest.mark.parametrize("refine", ["none", "fast"])
@pytest.mark.parametrize("tile_m", [None, 50.0])
def test_every_build_that_calibrates_finds_them(drive: Log, refine: Refine, tile_m: float | None) -> None:
    calibrate = CalibrateConfig(iterations=1, samples=1000)
    config = rs.SplatConfig(map=MapConfig(ego_radius_m=0.5), calibrate=calibrate, refine=refine)
    world = rs.build(drive, config, tile_m=tile_m, progress=False)
    assert world.calibration is not None
    share = world.calibration.find_blind(drive[0])
    assert share is not None
    blind = in_sector(drive[0])
    assert share[blind].mean() > 3 * share[~blind].mean()
