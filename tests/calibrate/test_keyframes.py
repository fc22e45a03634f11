"""A vehicle that waits costs one sweep in ten, and its other sweeps are corrected alike."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.build import CalibrateConfig
from resweep.calibrate.calibrate import calibrate
from resweep.calibrate.keyframes import choose_keyframes, find_keyframe
from resweep.pose import Array, from_xyz_rpy
from tests.places import street_drive

CONFIG = CalibrateConfig()


def drive_and_wait(waiting: int) -> Array:
    """Ten poses a metre apart, then some at one place, jittering by millimetres, then ten more."""
    rng = np.random.default_rng(0)
    x = [*range(10), *(9 + rng.uniform(-0.004, 0.004, waiting)), *range(10, 20)]
    return np.stack([from_xyz_rpy(float(at), 0.0, 1.7) for at in x])


def test_a_drive_is_used_whole() -> None:
    assert choose_keyframes(drive_and_wait(0), CONFIG).tolist() == list(range(20))


def test_of_sweeps_that_wait_one_in_ten_is_used() -> None:
    chosen = choose_keyframes(drive_and_wait(300), CONFIG)
    assert np.count_nonzero((chosen >= 10) & (chosen < 310)) == 30
    assert set(range(10)) <= set(chosen.tolist())
    assert set(range(310, 320)) <= set(chosen.tolist())


def test_turning_on_the_spot_is_motion() -> None:
    poses = np.stack([from_xyz_rpy(0.0, 0.0, 1.7, yaw=0.01 * at) for at in range(30)])
    assert len(choose_keyframes(poses, CONFIG)) == 30


def test_a_short_log_that_stands_is_used_whole() -> None:
    assert len(choose_keyframes(np.repeat(np.eye(4)[None], 12, axis=0), CONFIG)) == 12


def test_each_sweep_belongs_to_the_keyframe_before_it() -> None:
    assert find_keyframe(np.array([0, 3, 4]), 6).tolist() == [0, 0, 0, 1, 2, 2]


@pytest.mark.slow
def test_waiting_sweeps_are_corrected_as_their_keyframe() -> None:
    drive = street_drive(noise_m=0.01)
    last = len(drive) - 1
    few = CalibrateConfig(samples=5_000, points_per_sweep=5_000, iterations=2, standing_every=4)
    done = calibrate(drive[[*range(len(drive)), *[last] * 12]], few)
    assert len(done.log) == len(drive) + 12
    shift = (
        done.log.poses[:, :3, 3] - np.concatenate([drive.poses, np.repeat(drive.poses[last:], 12, axis=0)])[:, :3, 3]
    )
    np.testing.assert_allclose(shift[last + 1 : last + 4], np.repeat(shift[last : last + 1], 3, axis=0), atol=1e-9)
    assert np.abs(shift).max() < 0.05
