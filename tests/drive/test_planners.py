"""The reference stacks: their parts against references, and whole in small places."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import dijkstra

from resweep import World
from resweep.drive import LidarMount, Loop, LoopConfig, Rig
from resweep.drive.lane import Lane
from resweep.drive.planners import Avoider, Navigator, NavigatorConfig
from resweep.drive.planners.astar import find_path, inflate
from resweep.drive.planners.avoider import AvoiderConfig
from resweep.drive.planners.costmap import CostMap, CostMapConfig, compute_point_costs
from resweep.drive.planners.detect import DetectConfig, Obstacle, find_above_ground, find_obstacles
from resweep.drive.planners.follow import find_ahead, pursue
from resweep.drive.planners.track import TrackConfig, Tracker
from resweep.errors import ResweepError
from resweep.scenario import Scenario
from resweep.scenes import SCENE_LABELS, Label, box, ground_plane, wall
from resweep.sensors import load_sensor

SMALL = NavigatorConfig(map=CostMapConfig(cells=90))
SENSOR = load_sensor("velodyne-vlp-16").with_(**{"beam.rays": "single"})


def test_costs_grow_with_the_height_up_to_a_hundred() -> None:
    """B, eq. 8 with a min in place of the printed max."""
    np.testing.assert_allclose(
        compute_point_costs(np.array([-0.1, 0.0, 0.6, 1.5, 9.0]), 1.5), [0.0, 0.0, 40.0, 100.0, 100.0]
    )


def test_the_map_keeps_the_largest_cost_of_a_cell() -> None:
    grid = CostMap(CostMapConfig(cells=4), (10.0, 20.0))
    points = np.array([[9.1, 19.1, 0.3], [9.4, 19.4, 0.6], [9.2, 19.3, 0.1], [10.9, 20.9, 3.0], [50.0, 20.0, 9.0]])
    grid.add(points)
    assert grid.cost[0, 0] == pytest.approx(40.0)
    assert grid.cost[3, 3] == 100.0
    assert grid.seen.sum() == 4
    np.testing.assert_allclose(grid.centre_of(np.array([[0, 0]])), [[9.25, 19.25]])


def cheapest(price: np.ndarray, start: tuple[int, int], goal: tuple[int, int]) -> float:
    """The cost of the cheapest path by Dijkstra's algorithm."""
    rows, columns = price.shape
    entries = []
    for i, j in np.ndindex(rows, columns):
        for a, b in [(1, 0), (0, 1), (1, 1), (1, -1)]:
            k, m = i + a, j + b
            if not (0 <= k < rows and 0 <= m < columns) or not np.isfinite([price[i, j], price[k, m]]).all():
                continue
            if a and b and not np.isfinite([price[k, j], price[i, m]]).all():
                continue
            entries.append((i * columns + j, k * columns + m, math.hypot(a, b) * (price[i, j] + price[k, m]) / 2))
    one, two, cost = zip(*entries, strict=True)
    graph = coo_matrix((cost, (one, two)), shape=(price.size, price.size))
    return float(dijkstra(graph, False, start[0] * columns + start[1])[goal[0] * columns + goal[1]])


@pytest.mark.parametrize("seed", range(6))
def test_a_star_finds_what_dijkstra_finds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    price = 1.0 + 3.0 * rng.random((25, 30))
    price[rng.random(price.shape) < 0.3] = np.inf
    price[0, 0] = price[-1, -1] = 1.0
    expected = cheapest(price, (0, 0), (24, 29))
    found = find_path(price, (0, 0), (24, 29))
    if math.isinf(expected):
        assert found is None
        return
    assert found is not None
    cells, cost = found
    assert cost == pytest.approx(expected)
    assert cells[0] == (0, 0)
    assert cells[-1] == (24, 29)
    assert all(max(abs(a - c), abs(b - d)) == 1 for (a, b), (c, d) in itertools.pairwise(cells))


def test_no_path_leads_through_a_closed_wall() -> None:
    price = np.ones((9, 9))
    price[:, 4] = np.inf
    assert find_path(price, (0, 0), (8, 8)) is None


def test_obstacles_are_widened_by_a_disc() -> None:
    blocked = np.zeros((11, 11), bool)
    blocked[5, 5] = True
    wide = inflate(blocked, 2.5)
    i, j = np.indices(blocked.shape)
    np.testing.assert_array_equal(wide, (i - 5) ** 2 + (j - 5) ** 2 <= 2.5**2)


def test_pursuit_turns_towards_the_line() -> None:
    line = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0]])
    assert find_ahead(line, (8.0, 1.0), 4.0) == (pytest.approx(10.0), pytest.approx(2.0))
    assert find_ahead(line, (10.0, 9.5), 4.0) == (pytest.approx(10.0), pytest.approx(10.0))
    # The arc from the origin along x through (2, 2) has the radius 2.
    assert pursue((0.0, 0.0, 0.0), (2.0, 2.0))[0] == pytest.approx(0.5)


def test_a_lane_knows_along_and_across() -> None:
    lane = Lane(np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0]]))
    s, d = lane.project(np.array([[4.0, 1.0], [9.0, 6.0], [-3.0, -2.0], [10.5, 14.0]]))
    np.testing.assert_allclose(s, [4.0, 16.0, -3.0, 24.0], atol=1e-9)
    np.testing.assert_allclose(d, [1.0, 1.0, -2.0, -0.5], atol=1e-9)
    assert lane.place(16.0, 1.0) == (pytest.approx(9.0), pytest.approx(6.0))
    with pytest.raises(ResweepError, match="route: shorter than a metre"):
        Lane(np.zeros((1, 2)))


def test_the_ground_goes_and_obstacles_stay() -> None:
    rng = np.random.default_rng(1)
    ground = np.column_stack([rng.uniform([0, -5], [40, 5], (8000, 2)), rng.normal(0.0, 0.03, 8000)])
    ground[:, 2] += 0.05 * ground[:, 0]  # a slope of 5 %
    car = np.column_stack([rng.uniform(18, 22, 300), rng.uniform(-1, 1, 300), rng.uniform(0.5, 1.5, 300) + 1.0])
    points = np.concatenate([ground, car])
    left = points[find_above_ground(points, (0.0, 0.0), DetectConfig())]
    assert len(left) >= 290
    assert (np.abs(left[:, 1]) <= 1.0).mean() > 0.95
    (only,) = find_obstacles(car[:, 0], car[:, 1], DetectConfig())
    np.testing.assert_allclose([*only.s, *only.d], [18, 22, -1, 1], atol=0.1)


def test_a_track_learns_the_velocity_of_its_obstacle() -> None:
    tracker, rng = Tracker(TrackConfig()), np.random.default_rng(2)
    for at in range(30):
        s, d = 50.0 - 6.0 * 0.1 * at, 3.0 - 1.0 * 0.1 * at
        noise = rng.normal(0.0, 0.1, 4)
        moving = Obstacle((s + noise[0], s + 4 + noise[1]), (d + noise[2], d + 2 + noise[3]), 50)
        tracker.update([moving, Obstacle((20.0, 24.0), (-4.0, -2.2), 80)], 0.1 * at)
    assert len(tracker.tracks) == 2
    velocities = sorted(tracker.velocity(track) for track in tracker.tracks)
    assert velocities[0] == (pytest.approx(-6.0, abs=0.5), pytest.approx(-1.0, abs=0.5))
    assert velocities[1] == (pytest.approx(0.0, abs=0.3), pytest.approx(0.0, abs=0.3))
    for at in range(30, 40):
        tracker.update([], 0.1 * at)
    assert not tracker.tracks


def test_what_grows_as_more_of_it_is_seen_does_not_move() -> None:
    """A parked car behind a bend: its far side and its left side come into view, its other sides stay."""
    tracker = Tracker(TrackConfig())
    for at in range(15):
        tracker.update([Obstacle((30.0, 31.0 + 0.25 * at), (-3.0, -1.8 + 0.06 * at), 40)], 0.1 * at)
    (track,) = tracker.tracks
    assert tracker.velocity(track) == (pytest.approx(0.0, abs=0.1), 0.0)


def road(*things: object) -> World:
    return World([ground_plane((160.0, 60.0), label=Label.ROAD), *things], labels=SCENE_LABELS)


def keep_lane(
    world: World, speed: float, seconds: float, *actors: dict[str, Any], config: AvoiderConfig | None = None
) -> tuple[Loop, Avoider]:
    scenario = Scenario(ego={"lane": [[-60, 0], [60, 0]], "speed_mps": speed}, actors=list(actors), duration_s=seconds)
    stack = Avoider(config)
    return Loop(world, "passenger-car", SENSOR, stack, scenario=scenario), stack


def test_the_avoider_keeps_its_lane_and_speed_on_a_free_road() -> None:
    loop, stack = keep_lane(road(wall((-60, 6.0), (60, 6.0), 2.0, 0.2)), 10.0, 3.0)
    run = loop.run(keep_sweeps=False)
    assert np.abs(run.states[:, 2]).max() < 0.2
    assert run.path_m == pytest.approx(30.0, abs=0.5)
    assert stack.emergencies == 0


def test_the_avoider_stops_before_what_blocks_the_lane() -> None:
    loop, _ = keep_lane(road(box((2.0, 8.0, 1.5), (-20.0, 0.0, 0.0), label=Label.CAR)), 10.0, 7.0)
    run = loop.run(keep_sweeps=False)
    assert run.outcome == "time"
    assert run.states[-1, 5] < 0.6
    front = run.states[-1, 1] + loop.vehicle.length_m - loop.vehicle.rear_overhang_m
    assert 0.3 < -21.0 - front < 8.0


def test_the_avoider_passes_oncoming_traffic_slowly_but_does_not_wait_for_it() -> None:
    """A bus in the lane beside may drift into the way: it is passed at a speed from which the vehicle soon stops."""
    bus = {"name": "bus", "asset": "bus", "lane": [[10, 3.0], [-70, 3.0]], "speed_mps": 7.0}
    slowest = []
    for passing_mps in (0.0, 4.0):
        loop, stack = keep_lane(road(), 8.0, 7.5, bus, config=AvoiderConfig(passing_mps=passing_mps))
        run = loop.run(keep_sweeps=False)
        assert (run.collisions, stack.emergencies) == (0, 0)
        slowest.append(run.states[:, 5].min())
    assert slowest[0] < 3.5 < slowest[1] < 7.0
    assert run.states[-1, 5] > slowest[1] + 0.5  # behind it, it speeds up again


def test_the_avoider_stops_at_the_end_of_its_route() -> None:
    loop, stack = keep_lane(road(), 12.0, 15.0)
    run = loop.run(keep_sweeps=False)
    assert run.outcome == "time"
    assert 50.0 < run.states[-1, 1] < 60.5
    assert run.states[-1, 5] < 0.6
    assert stack.emergencies == 0


def test_the_navigator_drives_around_a_wall_to_its_goal() -> None:
    world = road(wall((0.0, -8.0), (0.0, 8.0), 2.5, 0.3))
    rig = Rig(lidars=(LidarMount(sensor=SENSOR, position_m=(0.0, 0.0, 2.0)),))
    config = LoopConfig(duration_s=40.0, goal=(8.0, 0.0), control_hz=5.0)
    run = Loop(world, "skid-robot", rig, Navigator(SMALL), start=(-10.0, 0.0, 0.0), config=config).run(
        keep_sweeps=False
    )
    assert (run.outcome, run.collisions) == ("goal", 0)
    assert 16.0 + 8.0 < run.path_m < 40.0


def test_a_goal_behind_walls_is_given_up() -> None:
    closed = [
        wall(a, b, 2.5, 0.3)
        for a, b in [((5, -6), (5, 6)), ((20, -6), (20, 6)), ((5, -6), (20, -6)), ((5, 6), (20, 6))]
    ]
    rig = Rig(lidars=(LidarMount(sensor=SENSOR, position_m=(0.0, 0.0, 2.6)),))
    config = LoopConfig(duration_s=90.0, goal=(12.0, 0.0), control_hz=5.0)
    run = Loop(road(*closed), "skid-robot", rig, Navigator(SMALL), start=(-10.0, 0.0, 0.0), config=config).run(
        keep_sweeps=False
    )
    assert run.outcome == "gave-up"
    assert "no path to the goal" in run.events[0]["detail"]
