"""The environment keeps Gymnasium's promises."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from resweep.drive import Loop, LoopConfig, Rig, Scan
from resweep.drive.gym import DriveEnv, find_nearest_by_sector, make_vector, select_by_height
from resweep.errors import ResweepError
from resweep.pose import from_xyz_rpy, inverse, transform
from tests.drive.gym_places import make_env


@pytest.fixture(scope="module")
def env() -> DriveEnv:
    return make_env("rgb_array")


def test_gymnasium_s_own_check_passes(env: DriveEnv) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*spec.*")
        check_env(env, skip_render_check=False)


def test_full_speed_reaches_the_goal_and_is_paid(env: DriveEnv) -> None:
    observation, _ = env.reset(seed=1)
    start = float(observation["state"][2])
    assert start == pytest.approx(30.0, abs=0.2)
    total, ended = 0.0, False
    while not ended:
        observation, reward, terminated, truncated, info = env.step(np.array([1.0, 0.0]))
        assert env.observation_space.contains(observation)
        total, ended = total + reward, terminated or truncated
    assert (terminated, truncated, info["outcome"]) == (True, False, "goal")
    assert total == pytest.approx(100.0 + 28.0 - 0.1 * info["time_s"], abs=2.0)
    ahead = observation["ranges"][36]
    assert ahead == pytest.approx(40.0 - 28.5, abs=1.5)
    with pytest.raises(ResweepError, match="call reset"):
        env.step(np.zeros(2))


def test_the_same_seed_gives_the_same_drive(env: DriveEnv) -> None:
    seen = []
    for seed in (5, 5, 6):
        env.reset(seed=seed)
        seen.append(env.step(np.array([0.5, 0.1]))[0])
    np.testing.assert_array_equal(seen[0]["ranges"], seen[1]["ranges"])
    assert not np.array_equal(seen[0]["ranges"], seen[2]["ranges"])


@pytest.mark.parametrize(
    "action",
    [
        np.array([np.nan, 0.0]),
        np.array([0.0, -np.inf]),
        np.array([np.inf, np.inf], np.float32),
        np.zeros(1),
        np.zeros((1, 2)),
        0.5,
        "left",
        None,
    ],
)
def test_an_action_that_is_none_is_refused_and_changes_nothing(action: object, env: DriveEnv) -> None:
    env.reset(seed=3)
    with pytest.raises(ResweepError, match="action: expected two"):
        env.step(action)  # type: ignore[arg-type]
    after, reward, *_ = env.step(np.array([0.5, 0.1]))
    env.reset(seed=3)
    expected, paid, *_ = env.step(np.array([0.5, 0.1]))
    np.testing.assert_array_equal(after["state"], expected["state"])
    assert reward == paid
    assert np.isfinite(after["state"]).all()


def test_actions_beyond_their_ends_act_as_the_ends(env: DriveEnv) -> None:
    rewards = []
    for action in ((1.0, -1.0), (1e30, -7.0)):
        env.reset(seed=3)
        rewards.append(env.step(np.array(action))[1])
    assert rewards[0] == rewards[1]


def test_time_truncates(env: DriveEnv) -> None:
    env.reset(seed=1)
    steps = 0
    while True:
        *_, terminated, truncated, _ = env.step(np.array([-1.0, 0.0]))
        steps += 1
        if terminated or truncated:
            break
    assert (steps, terminated, truncated) == (60, False, True)


def test_ranges_are_those_of_the_nearest_above_the_ground() -> None:
    points = np.array([[10.0, 0.1, 1.0], [5.0, 0.1, 0.1], [7.0, 0.1, 3.0], [0.1, -4.0, 1.0]])
    mount = from_xyz_rpy(1.0, 0.0, 2.0, yaw=0.5, roll=0.2)
    seen = transform(inverse(mount), points).astype(np.float32)
    scan = Scan(seen, np.zeros(4), np.zeros(4), np.zeros(4, int), 0.0, 0.1, mount)
    found = find_nearest_by_sector(select_by_height(scan, 0.3, 2.5), 4, 50.0)
    np.testing.assert_allclose(found, [50.0, np.hypot(0.1, 4.0), np.hypot(10.0, 0.1), 50.0], rtol=1e-6)


@pytest.mark.slow
def test_several_run_in_processes_of_their_own() -> None:
    several = make_vector(make_env, 2)
    try:
        observation, _ = several.reset(seed=[3, 4])
        assert observation["ranges"].shape == (2, 72)
        after, reward, *_ = several.step(np.zeros((2, 2), np.float32))
        assert reward.shape == (2,)
        alone = make_env()
        alone.reset(seed=4)
        np.testing.assert_array_equal(alone.step(np.zeros(2))[0]["ranges"], after["ranges"][1])
    finally:
        several.close()


def test_a_loop_without_goal_is_refused(yard: object) -> None:
    loop = Loop(yard, "passenger-car", Rig(), start=(0, 0, 0), config=LoopConfig(duration_s=1.0))
    with pytest.raises(ResweepError, match="needs a goal"):
        DriveEnv(loop)
