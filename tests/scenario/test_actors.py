"""Actors: what they must be given, where they are and how fast their points move."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.boxes import BOX_MARGIN_M
from resweep.errors import ResweepError
from resweep.pose import Trajectory, from_xyz_rpy, transform
from resweep.scenario import Actor
from resweep.scenes.cars import car
from resweep.scenes.scene_parts import box
from resweep.worlds import Instances


def circling(radius_m: float = 10.0, rate: float = 0.5) -> Actor:
    """A car that drives round the origin, counter-clockwise."""
    times = np.linspace(0.0, 2.0, 401)
    poses = [
        from_xyz_rpy(radius_m * np.cos(rate * t), radius_m * np.sin(rate * t), yaw=rate * t + np.pi / 2) for t in times
    ]
    return Actor((car(),), Trajectory(times, np.stack(poses)), 3, label=10, name="car")


def test_velocity_is_that_of_the_point_along_the_path() -> None:
    actor = circling()
    now, soon = actor.trajectory.at(0.8), actor.trajectory.at(0.801)
    local = np.array([[2.0, 0.9, 1.5], [-2.0, 0.0, 0.3], [0.0, 0.0, 0.0]])
    moved = (transform(soon, local) - transform(now, local)) / 0.001
    found = actor.velocity(transform(now, local), 0.8)
    np.testing.assert_allclose(found, moved, atol=5e-3)
    assert np.linalg.norm(found[2]) == pytest.approx(5.0, rel=1e-3)
    np.testing.assert_allclose(actor.velocity(transform(now, local)[0], 0.8), found[0])
    assert not actor.velocity([1.0, 2.0, 3.0], 5.0).any()


def test_its_box_holds_it_and_heads_as_it_does() -> None:
    actor = circling()
    found = actor.box(0.8)
    whole = actor.bounds[1] - actor.bounds[0]
    np.testing.assert_allclose(found.size[0], whole + np.array([2, 2, 1]) * BOX_MARGIN_M)
    assert found.centre[0, 2] - found.size[0, 2] / 2 == pytest.approx(actor.bounds[0, 2])  # on the ground still
    assert found.yaw[0] == pytest.approx(0.4 + np.pi / 2, abs=1e-3)
    corners = transform(actor.trajectory.at(0.8), actor.layers[0].vertices.astype(np.float64))
    assert found.contains(corners, margin_m=1e-4).all()
    assert (found.track.tolist(), found.label.tolist(), found.name) == ([3], [10], ("car",))
    np.testing.assert_allclose(found.velocity[0], actor.velocity(found.centre[0], 0.8))


def test_one_pose_stands_for_ever() -> None:
    actor = Actor((box((1, 1, 1)),), from_xyz_rpy(4.0, yaw=1.0), 1)
    assert actor.is_stationary
    assert not actor.velocity([1.0, 2.0, 3.0], 123.0).any()
    assert actor.box(123.0).centre[0, 0] == pytest.approx(4.0)
    assert not circling().is_stationary


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"layers": ()}, r"no layer given"),
        ({"layers": (Instances(car(), np.eye(4)[None, :3]),)}, r"kind 'instances' cannot move; use meshes or splats"),
        ({"instance": -1}, r"instance must be a whole number from 0, got -1"),
        ({"instance": 1.5}, r"instance must be a whole number"),
        ({"instance": 0}, r"it moves, so it needs an instance above 0"),
        ({"label": -2}, r"label must be a whole number"),
        ({"trajectory": np.diag([2.0, 1, 1, 1])}, r"actor 'car': pose 0: not a rigid motion"),
    ],
)
def test_mistakes_are_reported(change: dict, message: str) -> None:
    given = {"layers": (car(),), "trajectory": circling().trajectory, "instance": 3, "name": "car"}
    with pytest.raises(ResweepError, match=message):
        Actor(**{**given, **change})
