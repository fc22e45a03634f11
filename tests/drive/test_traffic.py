"""Reactive traffic follows, stops and yields; scripted traffic does not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from resweep import Scenario, World
from resweep.drive import Idm, Loop, LoopConfig, Rig
from resweep.drive.idm import accelerate
from resweep.errors import ResweepError
from resweep.scenes import SCENE_LABELS, Label, ground_plane

IDM = Idm()


def test_a_free_road_gives_the_wished_speed() -> None:
    assert accelerate(IDM, 0.0, 10.0, math.inf, 0.0) == pytest.approx(IDM.acceleration_mps2)
    assert accelerate(IDM, 10.0, 10.0, math.inf, 0.0) == pytest.approx(0.0)
    assert accelerate(IDM, 20.0, 10.0, math.inf, 0.0) < -5.0


def test_the_equilibrium_gap_is_that_of_the_model() -> None:
    """Behind a leader of the same speed v: s = (s0 + v T) / sqrt(1 - (v / v0)^4)."""
    gap = (IDM.gap_min_m + 6.0 * IDM.headway_s) / math.sqrt(1 - (6.0 / 10.0) ** 4)
    assert accelerate(IDM, 6.0, 10.0, gap, 0.0) == pytest.approx(0.0, abs=1e-12)
    assert accelerate(IDM, 6.0, 10.0, 0.8 * gap, 0.0) < 0.0


@pytest.fixture(scope="module")
def plain() -> World:
    return World([ground_plane((1000.0, 60.0), label=Label.ROAD)], labels=SCENE_LABELS)


def follow(world: World, reactive: dict[str, Idm], ego_speed: float, seconds: float) -> tuple[Loop, list[tuple]]:
    """A car behind the ego in its lane, 30 m back and faster; gives where it was at each step."""
    scenario = Scenario(
        ego={"lane": [[0, 0], [140, 0]], "speed_mps": 5},
        actors=[
            {"name": "car", "asset": "saloon", "lane": [[-30, 0], [140, 0]], "speed_mps": 10, "allow_overlap": True}
        ],
        duration_s=seconds,
    )
    loop = Loop(world, "passenger-car", Rig(), scenario=scenario, speed_mps=ego_speed, reactive=reactive, truth=True,
                config=LoopConfig(duration_s=seconds))  # fmt: skip
    episode = loop.episode()
    rows = [episode.begin().truth.actors[0]]
    while not episode.outcome:
        rows.append(episode.step((0.0, 0.0)).truth.actors[0])
    rows.append((episode.outcome, episode.state.x))
    return loop, rows


def test_a_reactive_car_stops_behind_a_standing_ego_and_a_scripted_one_does_not(plain: World) -> None:
    _, rows = follow(plain, {"car": Idm(acceleration_mps2=1.5)}, 0.0, 15.0)
    assert rows[-1][0] == "time"
    places = np.array([row[1] for row in rows[:-1]])
    speed = np.diff(places)[-1] / 0.1
    assert speed < 0.1
    gap = (0.0 - 0.85) - (places[-1] + 4.7 / 2)
    assert gap == pytest.approx(IDM.gap_min_m, abs=1.0)
    _, scripted = follow(plain, {}, 0.0, 15.0)
    assert scripted[-1][0] == "collision"


def test_a_reactive_car_follows_a_moving_ego_at_its_speed(plain: World) -> None:
    _, rows = follow(plain, {"car": Idm(acceleration_mps2=1.5)}, 5.0, 22.0)
    places = np.array([row[1] for row in rows[:-1]])
    assert np.diff(places)[-1] / 0.1 == pytest.approx(5.0, abs=0.4)


def test_a_platoon_settles_at_the_gaps_of_the_model(plain: World) -> None:
    """Three cars behind an ego of 5 m/s end at its speed, each at the equilibrium gap behind the next."""
    idm = Idm(acceleration_mps2=1.5)
    places, _ = drive_platoon(plain, idm, [5.0] * 500)
    speed = (places[-1] - places[-11]) / 1.0
    np.testing.assert_allclose(speed, 5.0, atol=0.1)
    wanted = (idm.gap_min_m + 5.0 * idm.headway_s) / math.sqrt(1 - (5.0 / 10.0) ** idm.exponent)
    np.testing.assert_allclose(gaps(places)[-1], wanted, atol=0.6)


def test_nobody_strikes_an_ego_that_brakes_as_hard_as_it_can(plain: World) -> None:
    """From 8 m/s to a stand at 7 m/s²: the cars behind stop in turn, and each keeps a distance."""
    places, outcome = drive_platoon(plain, Idm(acceleration_mps2=1.5), [8.0] * 100 + [0.0] * 120)
    assert outcome == "time"
    assert gaps(places).min() > 0.5
    assert np.abs(places[-1] - places[-6]).max() < 0.2  # all stand


def drive_platoon(world: World, idm: Idm, speeds: list[float]) -> tuple[np.ndarray, str]:
    """Where the ego and three reactive cars behind it are at each step (n, 4), and the outcome.

    ``speeds`` are those that the ego is to have, step by step.
    """
    names = ["first", "second", "third"]
    actors = [
        {"name": name, "asset": "saloon", "lane": [[-22.0 * (at + 1), 0], [480, 0]], "speed_mps": 10}
        for at, name in enumerate(names)
    ]
    scenario = Scenario(
        ego={"lane": [[0, 0], [480, 0]], "speed_mps": speeds[0]}, actors=actors, duration_s=0.1 * len(speeds)
    )
    loop = Loop(world, "passenger-car", Rig(), scenario=scenario, reactive=dict.fromkeys(names, idm), truth=True)
    episode = loop.episode()
    rows = []
    observation = episode.begin()
    for desired in speeds:
        truth = observation.truth
        cars = {row[0]: row[1] for row in truth.actors}
        rows.append([truth.T_world_vehicle[0, 3], *(cars[name] for name in names)])
        observation = episode.step((10.0 * np.clip(desired - truth.speed_mps, -0.7, 0.3), 0.0))
        if episode.outcome:
            break
    return np.array(rows), episode.outcome


def gaps(places: np.ndarray) -> np.ndarray:
    """Bumper to bumper (n, 3): the ego's origin is 0.85 m before its rear, the cars' in their middle of 4.7 m."""
    rear = places[:, :3] - np.array([0.85, 2.35, 2.35])
    return rear - (places[:, 1:] + 2.35)


def test_it_yields_to_an_ego_that_is_about_to_cross(plain: World) -> None:
    scenario = Scenario(
        ego={"lane": [[0, -20], [0, 20]], "speed_mps": 6},
        actors=[{"name": "car", "asset": "saloon", "lane": [[-32, 0], [60, 0]], "speed_mps": 8, "allow_overlap": True}],
        duration_s=6.0,
    )
    outcomes = {}
    for name, reactive in {"reactive": {"car": Idm(acceleration_mps2=1.5, yield_s=3.0)}, "scripted": {}}.items():
        loop = Loop(plain, "passenger-car", Rig(), lambda o: (0.0, 0.0), scenario=scenario, reactive=reactive)
        outcomes[name] = loop.run().outcome
    assert outcomes == {"reactive": "time", "scripted": "collision"}


def test_unknown_or_standing_actors_cannot_react(plain: World) -> None:
    cone = {"name": "cone", "asset": "cone", "at": [30, 5]}
    scenario = Scenario(ego={"lane": [[0, 0], [50, 0]], "speed_mps": 5}, actors=[cone], duration_s=2)
    for name, message in (("con", "no actor 'con'; .*cone"), ("cone", "'cone' has no lane")):
        loop = Loop(plain, "passenger-car", Rig(), scenario=scenario, reactive={name: Idm()})
        with pytest.raises(ResweepError, match=message):
            loop.episode()
