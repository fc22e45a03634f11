"""Rings, steps and lasers found in bare points, and the empty beams found from them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import cKDTree

from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.pose import Array, Trajectory, from_xyz_rpy
from resweep.scenes import SCENES
from resweep.sensors.infer.beam_grid import BeamGrid, estimate_grid
from resweep.sensors.infer.complete_beams import complete_beams
from resweep.sensors.infer.grid_check import check_grid
from resweep.simulate import Simulator
from resweep.sweep import BeamStatus, Sweep

from .yard import Spin, two_blocks

COLUMNS = 900


@pytest.fixture(scope="module")
def street() -> Simulator:
    return Simulator(SCENES["street"](seed=0), "velodyne-vlp-16", seed=1)


def stripped(sweep: Sweep, *kept: str) -> Sweep:
    """Only the returns, as point files keep them."""
    return Sweep.from_points(
        sweep.points, pose=sweep.pose, timestamp=sweep.timestamp, **{name: getattr(sweep, name) for name in kept}
    )


def empty_directions(sweep: Sweep) -> Array:
    has = np.zeros(sweep.n_beams, bool)
    has[sweep.beam] = True
    return sweep.beam_direction[~has]


def shares(true: Array, added: Array, step_deg: float) -> tuple[float, float]:
    """Precision and recall of added beams, right within 0.6 of a step."""
    near = np.radians(0.6 * step_deg)
    return float(np.mean(cKDTree(true).query(added)[0] < near)), float(np.mean(cKDTree(added).query(true)[0] < near))


@pytest.mark.parametrize("kept", [(), ("time",), ("ring",), ("ring", "time"), ("ring", "column", "time")])
@pytest.mark.parametrize("sensor", ["velodyne-vlp-16", "ouster-os1-64"])
def test_simulated_empty_beams_are_found_again(street: Simulator, sensor: str, kept: tuple[str, ...]) -> None:
    simulator = street.with_sensor(sensor)
    poses = np.tile(np.eye(4), (3, 1, 1))
    poses[:, 0, 3], poses[:, 2, 3] = (0, 3, 6), 1.8
    whole = list(simulator.run(poses))
    bare = [stripped(sweep, *kept) for sweep in whole]
    grid = estimate_grid(bare)
    np.testing.assert_allclose(grid.elevations_deg, simulator.sensor.elevations_deg, atol=0.002)
    assert grid.direction == ("clockwise" if "time" in kept else None)
    full = complete_beams(bare[1], grid)
    true, added = empty_directions(whole[1]), full.beam_direction[len(bare[1]) :]
    assert len(true) > 1000
    assert min(shares(true, added, grid.azimuth_step_deg)) > 0.99
    assert len(added) == pytest.approx(len(true), rel=0.005)
    if "time" in kept:
        has = np.zeros(whole[1].n_beams, bool)
        has[whole[1].beam] = True
        _, same = cKDTree(true).query(added)
        late = full.beam_time[len(bare[1]) :] - whole[1].beam_time[~has][same]
        assert np.median(np.abs(late)) < 2e-5
        assert np.quantile(np.abs(late), 0.99) < 3e-4  # three columns: an Ouster's beams leave beside the axis


def test_lasers_that_take_turns_leave_no_false_gaps(street: Simulator) -> None:
    """The HDL-64E's blocks fire in turns, so that every fourth step of a ring is missing on purpose."""
    simulator = street.with_sensor("velodyne-hdl-64e")
    pose = np.eye(4)
    pose[2, 3] = 1.8
    whole = simulator.sweep(pose)
    bare = stripped(whole)
    full = complete_beams(bare, estimate_grid([bare]))
    assert full.n_beams == pytest.approx(whole.n_beams, rel=0.002)
    assert min(shares(empty_directions(whole), full.beam_direction[len(bare) :], 0.16)) > 0.9


@pytest.mark.parametrize("compensated", [True, False])
def test_stored_rings_lasers_off_the_origin_and_motion(compensated: bool) -> None:
    """Points of a driving sensor, stored ring by ring: their lasers are found, whether compensated or not."""
    elevation, height = two_blocks()
    spin = Spin(elevation, height, COLUMNS, drive_m=0.8)
    log = spin.log(compensated=compensated)
    grid = estimate_grid(log)
    assert (grid.source, grid.n_rings, grid.n_columns) == ("order", 32, COLUMNS)
    assert grid.direction == ("clockwise" if compensated else None)
    np.testing.assert_allclose(grid.elevations_deg, elevation, atol=0.1)
    np.testing.assert_allclose(grid.channels.height_m, height, atol=0.03)
    bare, ring, azimuth = spin.record(0.7, compensated)
    full = complete_beams(bare, grid)
    added_ring, direction = full.beam_ring[len(bare) :], full.beam_direction[len(bare) :]
    assert len(ring) > 2000
    np.testing.assert_allclose(np.bincount(added_ring, minlength=32), np.bincount(ring, minlength=32), atol=4)
    found = np.degrees(np.arctan2(direction[:, 1], direction[:, 0])) % 360
    # Ring by ring the azimuths pair up.
    for at in np.unique(ring):
        gap, _ = cKDTree(azimuth[ring == at][:, None]).query(found[added_ring == at][:, None])
        assert np.mean(gap < 0.6 * 360 / COLUMNS) > 0.97
    if compensated:  # such a beam starts where the sensor was
        phase = -((found + 180) % 360 - 180) / 360
        origin = full.beam_origin[len(bare) :]
        np.testing.assert_allclose(origin[:, 0], 0.8 * phase, atol=0.05)
        np.testing.assert_allclose(origin[:, 2], height[added_ring], atol=0.05)


@pytest.mark.parametrize("compensated", [True, False])
def test_beams_of_returns_begin_where_their_lasers_were(compensated: bool) -> None:
    """Else beams of a moving sensor seem to cross what they passed beside."""
    elevation, height = two_blocks()
    spin = Spin(elevation, height, COLUMNS, drive_m=0.8)
    grid = estimate_grid(spin.log(compensated=compensated))
    bare, _, _ = spin.record(0.7, compensated)
    full = complete_beams(bare, grid)
    own = full.select_beams(np.arange(full.n_beams) < len(bare))
    np.testing.assert_allclose(own.points, bare.points, atol=2e-5)
    np.testing.assert_allclose(own.beam_origin[:, 2], height[own.beam_ring], atol=0.05)
    np.testing.assert_allclose(np.linalg.norm(own.beam_direction, axis=1), 1, atol=1e-6)
    azimuth = np.degrees(np.arctan2(bare.points[:, 1], bare.points[:, 0]))
    drive_m = 0.8 if compensated else 0.0  # points that are not compensated are in the frame of their firing
    np.testing.assert_allclose(own.beam_origin[:, 0], -drive_m * azimuth / 360, atol=0.06)


def test_beams_with_several_returns_stay() -> None:
    elevation, height = two_blocks()
    spin = Spin(elevation, height, COLUMNS, drive_m=0.8)
    grid = estimate_grid(spin.log())
    bare, _, _ = spin.record(0.7)
    rows = np.r_[np.arange(len(bare)), 0]
    names = ("beam", "range", "intensity", "label", "instance")
    index = np.r_[np.zeros(len(bare)), 1].astype(np.uint8)
    twice = replace(bare, return_index=index, **{name: getattr(bare, name)[rows] for name in names})
    full = complete_beams(twice, grid)
    assert full.n_beams > bare.n_beams
    assert not full.beam_origin[: len(bare)].any()


def test_what_is_there_stays(street: Simulator) -> None:
    whole = street.sweep(from_xyz_rpy(0, 0, 1.8))
    kept = stripped(whole, "ring", "time", "label", "instance", "intensity")
    kept = replace(kept, extra={"width": np.arange(len(kept))})
    full = complete_beams(kept, estimate_grid([kept]))
    assert full.n_beams > kept.n_beams
    assert full.points.tobytes() == kept.points.tobytes()
    for name in ("range", "label", "instance", "intensity", "time", "ring", "return_index", "beam"):
        np.testing.assert_array_equal(getattr(full, name), getattr(kept, name), err_msg=name)
    np.testing.assert_array_equal(full.extra["width"], np.arange(len(kept)))
    assert (full.beam_status[: len(kept)] == BeamStatus.RETURN).all()
    assert (full.beam_status[len(kept) :] == BeamStatus.NO_RETURN).all()
    np.testing.assert_allclose(np.linalg.norm(full.beam_direction, axis=1), 1, atol=1e-6)
    assert complete_beams(full, estimate_grid([full])) is full  # nothing more is missing


@pytest.mark.parametrize("speed", [10, 15])
def test_rings_blurred_by_motion_are_refused_rather_than_guessed(street: Simulator, speed: float) -> None:
    """Deskewed points in the order of firing, without rings: a guess would invent thousands of beams."""
    times = np.linspace(0, 0.3, 4)
    drive = Trajectory(times, np.stack([from_xyz_rpy(speed * time, 0, 1.8) for time in times]))
    bare = [Sweep.from_points(sweep.deskewed(), pose=sweep.pose) for sweep in street.run(drive, sweeps=2)]
    with pytest.raises(ResweepError, match="grid: "):
        estimate_grid(bare)


def test_two_returns_in_a_cell_keep_both_beams() -> None:
    elevation, height = two_blocks()
    spin = Spin(elevation, 0 * height, COLUMNS)
    bare, _, _ = spin.record(0.0)
    ring = _rings(spin, bare)
    single = Sweep.from_points(bare.points, ring=ring)
    twice = Sweep.from_points(np.concatenate([bare.points, 1.01 * bare.points[:500]]), ring=np.r_[ring, ring[:500]])
    grid = estimate_grid([single])
    assert complete_beams(twice, grid).n_beams == complete_beams(single, grid).n_beams + 500


def _rings(spin: Spin, bare: Sweep) -> Array:
    points = bare.points
    elevation = np.degrees(np.arctan2(points[:, 2], np.hypot(points[:, 0], points[:, 1])))
    return np.abs(elevation[:, None] - spin.elevation_deg).argmin(axis=1)


def test_no_beam_is_invented_where_the_carrier_hides_it_or_the_turn_is_cut() -> None:
    elevation, height = two_blocks()
    spin = Spin(elevation, 0 * height, COLUMNS)
    bare, _, _ = spin.record(0.0)
    ring = _rings(spin, bare)
    azimuth = np.degrees(np.arctan2(bare.points[:, 1], bare.points[:, 0]))
    hidden = (ring < 6) & (np.abs(azimuth) < 30)  # a bonnet in front of the lowest rings
    hole = (ring == 20) & (np.abs(azimuth - 90) < 10)  # a window that gives nothing back
    kept = ~hidden & ~hole
    seen = Sweep.from_points(bare.points[kept], ring=ring[kept])
    grid = estimate_grid([seen])

    def added(sweep: Sweep) -> tuple[Array, Array]:
        full = complete_beams(sweep, grid)
        direction = full.beam_direction[len(sweep) :]
        return full.beam_ring[len(sweep) :], np.degrees(np.arctan2(direction[:, 1], direction[:, 0]))

    new_ring, new_azimuth = added(seen)
    assert not ((new_ring < 6) & (np.abs(new_azimuth) < 29)).any()
    assert np.sum((new_ring == 20) & (np.abs(new_azimuth - 90) < 10)) == hole.sum()
    half = kept & (azimuth > 0)
    _, new_azimuth = added(Sweep.from_points(bare.points[half], ring=ring[half]))
    assert len(new_azimuth)
    assert (new_azimuth > -2.0).all()


def test_a_ring_without_any_return_is_filled_whole() -> None:
    elevation, height = two_blocks()
    spin = Spin(elevation, 0 * height, COLUMNS)
    bare, _, _ = spin.record(0.0)
    ring = _rings(spin, bare)
    grid = estimate_grid([Sweep.from_points(bare.points, ring=ring)])
    without = ring != 20
    full = complete_beams(Sweep.from_points(bare.points[without], ring=ring[without]), grid)
    assert np.sum(full.beam_ring == 20) == pytest.approx(COLUMNS, abs=2)
    np.testing.assert_allclose(
        full.beam_direction[full.beam_ring == 20, 2], np.sin(np.radians(elevation[20])), atol=1e-3
    )


def test_points_without_rings_are_refused() -> None:
    points = np.random.default_rng(0).normal(size=(20_000, 3)) * 10
    with pytest.raises(ResweepError, match="no rings can be found"):
        estimate_grid([Sweep.from_points(points)])


def test_a_real_kitti_sequence_is_completed(sample_data: Path) -> None:
    path = sample_data / "semantickitti_mini" / "sequences" / "00"
    bare, sweep = open_log(path, empty_beams=False)[5], open_log(path)[5]
    assert len(sweep.beam_ring) > len(sweep.range) == len(bare.range)
    np.testing.assert_allclose(sweep.points, bare.points, atol=2e-5)  # seen from other origins: rounded otherwise
    np.testing.assert_array_equal(sweep.label, bare.label)
    assert len(np.unique(sweep.label)) > 5
    # Every ring that nothing hides fires the same number of times in a turn.
    shots = np.bincount(sweep.beam_ring, minlength=64)[20:]
    assert shots.std() < 0.005 * shots.mean()
    assert sweep.n_beams < 1.15 * len(bare)


def test_real_empty_pixels_of_an_ouster_are_found_again(sample_data: Path) -> None:
    rows = np.fromfile(sample_data / "rellis3d_frame" / "000104.bin", "<f4").reshape(2048, 64, 4)[:, ::-1, :3]
    column, ring = (index.ravel() for index in np.indices((2048, 64)))
    points = rows.reshape(-1, 3)
    hit = points.any(axis=1)
    bare = Sweep.from_points(points[hit], ring=ring[hit], column=column[hit])
    full = complete_beams(bare, estimate_grid([bare]))
    added = full.beam_ring[len(bare) :].astype(int) * 2048 + full.beam_column[len(bare) :]
    true = (ring * 2048 + column)[~hit]
    assert np.isin(added, true).mean() > 0.999
    assert np.isin(true, added).mean() > 0.98


def test_beams_without_a_direction_are_a_reason_to_infer_nothing(
    street: Simulator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged file may hold a time of -7e307, between which and its neighbours no angle can be interpolated."""
    bare = stripped(street.sweep(from_xyz_rpy(0, 0, 1.8)), "ring", "time")
    grid = estimate_grid([bare])
    assert check_grid(grid, bare) is None

    def damage(sweep: Sweep, grid: BeamGrid) -> Sweep:
        whole = complete_beams(sweep, grid)
        direction = whole.beam_direction.copy()
        direction[-1] = np.nan
        return replace(whole, beam_direction=direction)

    monkeypatch.setattr("resweep.sensors.infer.grid_check.complete_beams", damage)
    assert "no direction" in str(check_grid(grid, bare))
