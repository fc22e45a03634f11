"""Scenarios: motions, actors on the ground, triggers, and what is refused before any work."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from resweep.scenario import builtin_bank
from resweep.scenario.ground import Ground
from resweep.scenario.motion import MotionSpec
from resweep.scenario.scenario import SCENARIOS
from resweep.scenes import box, ground_plane, street, wall
from resweep.scenes.scene_parts import merged

EGO: dict[str, Any] = {"lane": [[-40, -3], [40, -3]], "speed_mps": 8}


@pytest.fixture(scope="module")
def flat() -> rs.World:
    layers = [ground_plane((100, 100)), wall((10, 20), (30, 20), 3, 0.3), box((8, 4, 0.2), (0, 10, 4))]
    return rs.World(layers, labels="semantickitti")


@pytest.fixture(scope="module")
def hill() -> rs.World:
    """A plane that rises by 0.1 along x."""
    corners = np.array([[-50, -50, -5], [50, -50, 5], [50, 50, 5], [-50, 50, -5.0]])
    return rs.World([rs.Mesh(corners, np.array([[0, 1, 2], [0, 2, 3]]), label=40)])


def scene(**actor: Any) -> rs.Scenario:
    return rs.Scenario(ego=EGO, actors=[{"name": "a", "asset": "saloon", **actor}])


def test_a_lane_is_followed_at_its_speed() -> None:
    path = MotionSpec(lane=[[0, 0], [30, 0], [30, 40]], speed_mps=7).path()
    assert path.end == pytest.approx(10.0, abs=0.01)
    speed = np.linalg.norm(np.diff(path.places[:, :2], axis=0), axis=1) / np.diff(path.times)
    assert np.median(speed) == pytest.approx(7.0, rel=1e-3)
    assert path.yaw[0] == pytest.approx(0.0)
    assert path.yaw[-1] == pytest.approx(np.pi / 2)
    assert np.abs(np.diff(path.yaw)).max() < np.radians(40)  # a corner is turned, not jumped


def test_a_spline_passes_its_points_with_their_speeds() -> None:
    points, speeds = [[0, 0], [10, 3], [20, 0], [30, -3]], [2.0, 4.0, 8.0, 4.0]
    path = MotionSpec(spline=points, speed_mps=speeds).path()
    for point, speed in zip(points[1:-1], speeds[1:-1], strict=True):
        at = int(np.linalg.norm(path.places[:, :2] - point, axis=1).argmin())
        assert np.linalg.norm(path.places[at, :2] - point) < 0.5
        step = np.linalg.norm(path.places[at + 1, :2] - path.places[at - 1, :2])
        assert step / (path.times[at + 1] - path.times[at - 1]) == pytest.approx(speed, rel=0.15)


def test_waypoints_are_reached_on_time(flat: rs.World) -> None:
    (actor,) = scene(waypoints=[[1, 0, 0], [3, 10, 0], [4, 10, 6]]).make_actors(flat)
    assert np.allclose(actor.trajectory.at(2.0)[:3, 3], [10, 0, 0], atol=1e-5)
    assert np.allclose(actor.trajectory.at(3.0)[:3, 3], [10, 6, 0], atol=1e-5)
    assert actor.trajectory.end == pytest.approx(10.0)  # it stays until the end
    leaving = scene(waypoints=[[1, 0, 0], [3, 10, 0]], after="leave").make_actors(flat)[0]
    assert leaving.trajectory.end == pytest.approx(2.0)


def test_actors_stand_on_the_slope(hill: rs.World) -> None:
    (actor,) = scene(lane=[[-30, 5], [30, 5]], speed_mps=10).make_actors(hill)
    pose = actor.trajectory.at(3.0)
    assert pose[:3, 3] == pytest.approx([0, 5, 0], abs=1e-3)
    assert pose[2, 0] == pytest.approx(np.sin(np.arctan(0.1)), abs=1e-4)
    corners = actor.bounds[0] * [1, 1, 0] @ pose[:3, :3].T + pose[:3, 3]
    assert corners[2] == pytest.approx(0.1 * corners[0], abs=1e-3)
    ego = scene(at=[0, 5]).trajectory(hill)
    assert ego.at(0.0)[2, 3] == pytest.approx(0.1 * -40 + 1.73, abs=0.02)


def test_what_hangs_above_is_not_the_ground_unless_asked_for(flat: rs.World) -> None:
    ground = Ground(flat)
    assert ground.heights(np.array([[0, 10, np.nan], [0, 10, 4.3], [200, 0, np.nan]])) == pytest.approx(
        [0.0, 4.2, np.nan], nan_ok=True, abs=1e-5
    )


def test_a_trigger_starts_an_actor_when_the_ego_is_near(flat: rs.World) -> None:
    (actor,) = scene(lane=[[0, 2], [20, 2]], speed_mps=5, start_within_m=20).make_actors(flat)
    begin = (40 - np.sqrt(20**2 - 5**2)) / 8  # ego at -40 + 8 t, 5 m beside
    assert np.allclose(actor.trajectory.at(begin - 0.1)[:2, 3], [0, 2], atol=1e-6)
    assert actor.trajectory.at(begin + 2.0)[0, 3] == pytest.approx(10.0, abs=0.3)
    with pytest.raises(rs.ResweepError, match=r"actors\[0\] 'a', start_within_m: the ego comes no nearer than 5"):
        scene(lane=[[0, 2], [20, 2]], speed_mps=5, start_within_m=1).make_actors(flat)


@pytest.mark.parametrize(
    ("actor", "message"),
    [
        ({"waypoints": [[0, 0, 0], [2, 5, 0], [1, 9, 0]]}, r"actors\[0\].waypoints\[2\]: actor 'a': time 1 s"),
        ({"lane": [[0, 0], [5, 0]]}, r"actors\[0\].speed_mps: actor 'a': missing"),
        ({"at": [0, 0], "lane": [[0, 0], [5, 0]], "speed_mps": 3}, "one of at, waypoints.* got at and lane"),
        ({}, "one of at, waypoints, spline, lane or track, got nothing"),
        ({"at": [0, 0], "cad": {"file": "x.obj"}}, "one of asset, category or cad, got asset and cad"),
        ({"at": [0, 0], "sped_mps": 3}, r"actors\[0\].sped_mps: unknown key; did you mean 'speed_mps'"),
    ],
)
def test_bad_actors_are_named(actor: dict[str, Any], message: str) -> None:
    with pytest.raises(rs.ResweepError, match=message):
        scene(**actor)


@pytest.mark.parametrize(
    ("actor", "message"),
    [
        ({"at": [0, 0], "asset": "saloo"}, r"actors\[0\] 'a', asset: .*did you mean 'saloon'"),
        ({"lane": [[0, 0], [70, 0]], "speed_mps": 10}, r"'a': leaves the world 5.1 s after its start"),
        ({"lane": [[2, 1], [2, 1]], "speed_mps": 3}, "lane: actor 'a': all of its points are one place"),
        ({"at": [20, 20]}, r"actor 'a': runs into building of the world at .* at 0.0 s"),
        ({"lane": [[20, 12], [20, 28]], "speed_mps": 4}, r"actor 'a': runs into building .* at 1.[345] s"),
        ({"at": [0, -3]}, r"actor 'a': runs into actor 'ego' at 4.[45] s"),
    ],
)
def test_bad_places_are_refused(flat: rs.World, actor: dict[str, Any], message: str) -> None:
    with pytest.raises(rs.ResweepError, match=message):
        scene(**actor).place(flat)


def test_overlap_may_be_allowed_and_crossing_actors_are_found(flat: rs.World) -> None:
    scene(at=[20, 20], allow_overlap=True).place(flat)
    two = [
        {"name": "one", "asset": "saloon", "lane": [[-20, 5], [20, 5]], "speed_mps": 10},
        {"name": "other", "asset": "saloon", "lane": [[0, -20], [0, 30]], "speed_mps": 12},
    ]
    crossing = rs.Scenario(ego={**EGO, "size_m": None}, actors=two)
    with pytest.raises(rs.ResweepError, match=r"actor 'one': runs into actor 'other' at 1.[6789] s"):
        crossing.place(flat)
    later = rs.Scenario(ego={**EGO, "size_m": None}, actors=[two[0], {**two[1], "start_s": 4}])
    with pytest.raises(rs.ResweepError, match="runs into"):  # the first has stopped beside, the second still passes
        rs.Scenario(
            ego={**EGO, "size_m": None}, actors=[{**two[0], "lane": [[-20, 5], [0, 5]]}, {**two[1], "start_s": 4}]
        ).place(flat)
    later.place(flat)


def test_objects_come_from_the_bank_by_size_or_from_a_file(flat: rs.World, tmp_path: Path) -> None:
    bank = builtin_bank()
    (small,) = scene(asset=None, category="car", size_m=[3.9, 1.7, 1.5], at=[0, 5]).make_actors(flat)
    assert small.layers[0] is bank["hatchback"].layers[0]
    import trimesh

    trimesh.creation.box((2, 1, 1)).export(str(tmp_path / "crate.obj"))
    (tmp_path / "s.yaml").write_text(
        "ego: {lane: [[-40, -3], [40, -3]], speed_mps: 8}\n"
        "actors:\n- {name: crate, cad: {file: crate.obj}, at: [0, 5]}\n"
    )
    (crate,) = rs.load_scenario(tmp_path / "s.yaml").make_actors(flat)
    assert crate.bounds[1] - crate.bounds[0] == pytest.approx([2, 1, 1])
    assert crate.label == 99


def test_instances_do_not_collide_with_the_world() -> None:
    world = rs.World([ground_plane((100, 100)), merged([box((1, 1, 1), (0, 20, 0), instance=77)], "boxes")])
    actors = rs.Scenario(
        ego=EGO, actors=[{"name": n, "asset": "cone", "at": [x, 5]} for n, x in zip("ab", (0, 3), strict=True)]
    ).make_actors(world)
    assert [actor.instance for actor in actors] == [78, 79]


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_scenarios_of_the_package_run_in_the_street(name: str) -> None:
    world, scenario = street(0), rs.load_scenario(name)
    for number in range(3):
        trajectory, actors = scenario.variant(number).place(world)
        assert trajectory.end == pytest.approx(5.0)
        assert len(actors) == len(scenario.actors)
    first, again, other = (scenario.variant(n).model_dump() for n in (1, 1, 2))
    assert first == again != other


def test_an_actor_that_waits_for_a_day_is_looked_at_while_it_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    from resweep.scenario import overlap
    from resweep.scenario.scenario import validate_scenario
    from resweep.scenes import SCENE_LABELS, Label, ground_plane
    from resweep.worlds import World

    looked = []
    first_hit = overlap._find_first_hit

    def count(poses: Any, *given: Any) -> Any:
        looked.append(len(poses))
        return first_hit(poses, *given)

    monkeypatch.setattr(overlap, "_find_first_hit", count)
    monkeypatch.setattr(overlap, "_MAX_RAYS", 20_000)  # several blocks
    lane = {"name": "a", "category": "car", "lane": [[10, 10], [50, 10]], "speed_mps": 8.0}
    drive = {"ego": {"at": [0, 0]}, "duration_s": 86_400, "actors": [lane]}
    world = World([ground_plane((200.0, 200.0), label=Label.ROAD)], labels=SCENE_LABELS)
    validate_scenario(drive, "drive").place(world)
    assert 50 <= sum(looked) <= 60
    assert len(looked) > 1


def test_actors_that_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    from resweep.scenario.scenario import validate_scenario
    from resweep.scenes import SCENE_LABELS, Label, ground_plane
    from resweep.worlds import World

    monkeypatch.setattr("resweep.memory.measure_room", lambda: 10**8)
    cars = [{"name": f"c{at}", "category": "car", "at": [10 * at, 20]} for at in range(3)]
    drive = {"ego": {"at": [0, 0]}, "duration_s": 86_400, "actors": cars}
    world = World([ground_plane((200.0, 200.0), label=Label.ROAD)], labels=SCENE_LABELS)
    with pytest.raises(
        rs.ResweepError, match=r"comparing 4 actors over 86,400 s would take 864.0 MB of memory, and 100.0 MB"
    ):
        validate_scenario(drive, "drive").place(world)
