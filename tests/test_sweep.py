"""A sweep: beams and returns as columns that belong together."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest

import resweep
from resweep.boxes import Boxes
from resweep.calibration import Calibration
from resweep.errors import ResweepError
from resweep.pose import Trajectory, from_xyz_rpy, transform
from resweep.sweep import BeamStatus, Sweep


@pytest.fixture
def sweep() -> Sweep:
    """Four beams left around, with two, no, one and one returns."""
    azimuth = np.arange(4) * np.pi / 2
    return Sweep(
        pose=from_xyz_rpy(1, 2, 3, yaw=0.5),
        beam_origin=np.array([[0, 0, 0.1]] * 4),
        beam_direction=np.stack([np.cos(azimuth), np.sin(azimuth), np.zeros(4)], axis=1),
        beam_time=10.0 + np.arange(4) * 0.25,
        beam_ring=[0, 1, 2, 3],
        beam_column=[5, 6, 7, 8],
        beam_status=[0, 1, 0, 0],
        beam=[0, 0, 2, 3],
        range=[4.0, 6.0, 5.0, 7.0],
        intensity=[0.1, 0.2, 0.3, 0.4],
        return_index=[0, 1, 0, 0],
        label=[1, 2, 3, 4],
        instance=[0, 0, 9, 0],
        timestamp=10.0,
        extra={"gain": np.array([1, 2, 3, 4])},
    )


def test_points_are_origin_and_range_along_the_beam(sweep: Sweep) -> None:
    expected = [[4, 0, 0.1], [6, 0, 0.1], [-5, 0, 0.1], [0, -7, 0.1]]
    np.testing.assert_allclose(sweep.points, expected, atol=1e-5)
    assert sweep.points.dtype == np.float32
    assert (len(sweep), sweep.n_beams) == (4, 4)


def test_points_of_a_zero_origin_that_is_broadcast(sweep: Sweep) -> None:
    still = replace(sweep, beam_origin=np.broadcast_to(np.zeros(3, np.float32), (4, 3)))
    np.testing.assert_allclose(still.points[0], [4, 0, 0], atol=1e-6)


def test_returns_know_the_time_ring_and_column_of_their_beam(sweep: Sweep) -> None:
    assert sweep.time.tolist() == [10.0, 10.0, 10.5, 10.75]
    assert sweep.ring.tolist() == [0, 0, 2, 3]
    assert sweep.column.tolist() == [5, 5, 7, 8]


def test_standing_still_deskewing_changes_nothing(sweep: Sweep) -> None:
    np.testing.assert_array_equal(sweep.deskewed(), sweep.points)
    np.testing.assert_allclose(sweep.world_points(), transform(sweep.pose, sweep.points.astype("f8")))


def test_deskewing_takes_each_point_from_where_its_beam_was_fired(sweep: Sweep) -> None:
    path = Trajectory([10.0, 11.0], [from_xyz_rpy(1, 2, 3, yaw=0.5), from_xyz_rpy(5, 2, 3, yaw=1.5)])
    moving = replace(sweep, trajectory=path)
    expected = [
        transform(path.at(time), point[None])[0]
        for time, point in zip(sweep.time, sweep.points.astype("f8"), strict=True)
    ]
    np.testing.assert_allclose(moving.world_points(), expected, atol=1e-5)
    np.testing.assert_allclose(moving.deskewed()[0], moving.points[0], atol=1e-6)  # fired at the sweep's pose
    assert np.abs(moving.deskewed()[3] - moving.points[3]).max() > 1.0
    origin, direction = moving.deskewed_beams()
    np.testing.assert_allclose(
        origin[sweep.beam] + sweep.range[:, None] * direction[sweep.beam], moving.deskewed(), atol=1e-5
    )


def test_selecting_keeps_beams_and_marks_those_left_empty(sweep: Sweep) -> None:
    chosen = sweep.select(np.array([False, True, False, True]))
    assert chosen.n_beams == 4
    assert chosen.range.tolist() == [6.0, 7.0]
    assert chosen.extra["gain"].tolist() == [2, 4]
    assert chosen.beam_status.tolist() == [
        BeamStatus.RETURN,
        BeamStatus.NOTHING_HIT,
        BeamStatus.DROPPED,
        BeamStatus.RETURN,
    ]
    assert sweep.beam_status.tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"intensity": [1.0]}, "'intensity' has 1 rows, 'range' has 4"),
        ({"beam_time": [1.0]}, "'beam_time' has 1 rows, 'beam_direction' has 4"),
        ({"beam_origin": np.zeros(4)}, r"'beam_origin': expected shape \(n, 3\), got \(4,\)"),
        ({"label": np.zeros((4, 1))}, r"'label': expected shape \(n,\), got \(4, 1\)"),
        ({"beam": [0, 0, 2, 4]}, "'beam' points at beam 4 of 4"),
        ({"beam": [0, 0, -2, 3]}, "'beam' points at beam -2 of 4"),
        ({"extra": {"gain": np.zeros(3)}}, "'gain' has 3 rows"),
        ({"pose": np.zeros((4, 4))}, "sweep pose 0: not a rigid motion"),
        ({"pose": np.stack([np.eye(4)] * 2)}, r"sweep pose: expected one 4x4 matrix, got shape \(2, 4, 4\)"),
    ],
)
def test_columns_that_do_not_fit_are_refused_by_name(sweep: Sweep, change: dict, message: str) -> None:
    with pytest.raises(ResweepError, match=message):
        replace(sweep, **change)


def test_bare_points_become_a_beam_each() -> None:
    points = np.random.default_rng(0).normal(scale=10, size=(100, 3))
    sweep = Sweep.from_points(points, intensity=np.arange(100), timestamp=5.0, sensor="any")
    np.testing.assert_allclose(sweep.points, points, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(sweep.beam_direction, axis=1), 1.0, atol=1e-6)
    assert sweep.n_beams == 100
    assert set(sweep.time) == {5.0}
    with pytest.raises(ResweepError, match=r"points: expected shape \(n, 3\)"):
        Sweep.from_points(np.zeros((3, 2)))


def test_a_point_at_the_sensor_and_no_points_at_all() -> None:
    assert np.isfinite(Sweep.from_points(np.zeros((1, 3))).points).all()
    empty = Sweep.from_points(np.zeros((0, 3)))
    assert len(empty) == 0
    assert empty.deskewed().shape == (0, 3)
    assert empty.world_points().shape == (0, 3)


def test_a_sweep_moves_with_its_times_and_its_motion() -> None:
    motion = Trajectory([0.0, 0.1], np.stack([from_xyz_rpy(), from_xyz_rpy(x=1.0)]))
    sweep = Sweep.from_points(np.eye(3), time=np.array([0.0, 0.05, 0.1]), trajectory=motion)
    moved = sweep.moved_to(from_xyz_rpy(y=5.0), 2.0)
    np.testing.assert_allclose(moved.world_points(), sweep.world_points() + np.array([0.0, 5.0, 0.0]), atol=1e-6)
    np.testing.assert_allclose(moved.beam_time, [2.0, 2.05, 2.1])
    assert sweep.moved_to(np.eye(4) + 1e-9, 0.0) is sweep


def test_raw_points_with_motion_are_undone_by_it() -> None:
    motion = Trajectory([0.0, 1.0], np.stack([from_xyz_rpy(), from_xyz_rpy(x=10.0)]))
    sweep = Sweep.from_points(np.ones((2, 3)), time=np.array([0.4, 0.6])).with_motion(motion, 0.5)
    assert sweep.trajectory is not None
    assert (sweep.trajectory.start, sweep.trajectory.end, sweep.timestamp) == (0.4, 0.6, 0.5)
    np.testing.assert_allclose(sweep.pose, from_xyz_rpy(x=5.0))
    np.testing.assert_allclose(sweep.world_points()[:, 0], [5.0, 7.0], atol=1e-5)


def test_points_stay_where_they_are_with_other_origins() -> None:
    points = np.array([[10.0, 0.0, 0.0], [0.0, 5.0, 1.0]])
    sweep = Sweep.from_points(points).with_origins(np.tile([2.0, 0.0, 0.0], (2, 1)))
    np.testing.assert_allclose(sweep.points, points, atol=1e-6)
    assert sweep.range[0] == pytest.approx(8.0)


def test_what_is_printed_is_short_whatever_it_holds() -> None:
    """No array is dumped: a few lines say what there is."""
    count = 5000
    points = np.random.default_rng(0).normal(size=(count, 3)) * 10
    path = Trajectory(np.linspace(0, 1, 50), np.tile(np.eye(4), (50, 1, 1)))
    boxes = Boxes(np.zeros((40, 3)), np.ones((40, 3)), np.zeros(40), ["car"] * 40)
    sweep = Sweep.from_points(points, label=np.arange(count) % 7, trajectory=path, sensor="mine", boxes=boxes)
    shown = repr(sweep)
    assert str(sweep) == shown
    assert len(shown.splitlines()) <= 6
    assert len(shown) < 500
    for part in ("5,000 returns", "5,000 beams", "sensor mine", "labels: 7 ids", "40 boxes", "moving", "0.000000 s"):
        assert part in shown
    assert repr(path) == "Trajectory(50 poses, 0.000000 to 1.000000 s, 0.00 m long)"
    assert repr(boxes) == "Boxes(40: 40 car)"
    sensor = resweep.load_sensor("hesai-pandar128")
    for held in (sensor, resweep.load_labels("semantickitti"), Calibration(np.zeros(128), np.full(128, 0.02))):
        assert len(repr(held)) < 160
        assert str(held) == repr(held)
    assert "128 channels" in repr(sensor)
    report = resweep.evaluate(sweep, sweep)
    assert repr(report).startswith("Report(mine against mine, 1 sweep: c2c_m 0")
    assert len(repr(report)) < 200
    empty = sweep.select_beams(np.zeros(count, bool))
    assert "0 returns on 0 beams" in repr(empty)


def test_a_sweep_can_be_pickled(sweep: Sweep) -> None:
    boxes = Boxes(np.zeros((1, 3)), np.ones((1, 3)), np.zeros(1), ["car"])
    moving = Trajectory(np.array([9.0, 12.0]), np.stack([sweep.pose, sweep.pose]))
    given = replace(sweep, boxes=boxes, trajectory=moving, beam_extra={"noise": np.arange(4.0)})
    again = pickle.loads(pickle.dumps(given, protocol=5))
    np.testing.assert_array_equal(again.deskewed(), given.deskewed())
    np.testing.assert_array_equal(again.extra["gain"], given.extra["gain"])
    np.testing.assert_array_equal(again.beam_extra["noise"], given.beam_extra["noise"])
    assert (again.timestamp, len(again.boxes), again.range.dtype) == (10.0, 1, np.float32)
    with pytest.raises(TypeError):
        again.extra["gain"] = np.zeros(4)
