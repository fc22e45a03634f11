"""Actors that move while the sensor sweeps, against scenes built anew for every moment of firing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import trimesh

from resweep.errors import ResweepError
from resweep.io import load_sweep, write_sweep
from resweep.pose import Array, Trajectory, from_xyz_rpy, transform
from resweep.scenario import Actor
from resweep.scenes.cars import car
from resweep.scenes.scene_parts import box, ground_plane
from resweep.sensors import Sensor, fire, load_sensor
from resweep.simulate import Retracer, Simulator
from resweep.simulate.actor_set import find_hit_times
from resweep.sweep import BeamStatus, Sweep
from resweep.worlds import Instances, Mesh, Splats, Volumes, World
from tests.reference.beam import rays, rebuilt_hits

STEP_S = 0.1
RETURN_COLUMNS = ("beam", "range", "intensity", "return_index", "label", "instance")


def along(pose_at: Any, start: float = 0.0, end: float = 1.0, knots: int = 11) -> Trajectory:
    times = np.linspace(start, end, knots)
    return Trajectory(times, np.stack([pose_at(t) for t in times]))


def ego() -> Trajectory:
    """Drives, climbs, rolls, pitches and turns."""
    return along(lambda t: from_xyz_rpy(8 * t, t, 1.8 + 0.3 * t, roll=0.2 * t, pitch=-0.1 * t, yaw=0.8 * t))


def turning(yaw_rate: float, x: float = 10.0) -> Trajectory:
    """Curves, accelerates and turns; the knots lie within the sweeps."""
    return along(
        lambda t: from_xyz_rpy(
            x + 12 * t, -4 + 6 * np.sin(3 * t), 0.1 * t, 0.3 * t, 0.1 * np.sin(5 * t), 0.4 + yaw_rate * t
        ),
        -0.03,
        1.2,
        14,
    )


def ball_of_splats(depth: int, radius: float = 1.5, count: int = 800) -> Splats:
    rng = np.random.default_rng(3)
    normal = rng.normal(size=(count, 3))
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    centre = radius * normal + (0.0, 0.0, radius)
    reflectance = rng.uniform(0.1, 0.9, count)
    return Splats(centre, normal, np.full(count, 0.2), label=5, reflectance=reflectance, depth=depth)


@pytest.fixture(scope="module")
def sensor(make_sensor: Any) -> Sensor:
    return make_sensor(tuple(np.linspace(-24.0, 4.0, 15)), 1.0)


def by_beam(sweep: Sweep, values: Array, missing: float) -> Array:
    column = np.full(sweep.n_beams, float(missing))
    column[sweep.beam] = values
    return column


def compared(sim: Simulator, path: Trajectory, start: float) -> tuple[Sweep, dict[str, Array]]:
    """A sweep and what its rays hit in scenes built anew, by beam."""
    firing = fire(sim.sensor)
    motion = path.window(start, start + float(firing.time[-1]))
    origins, directions = rays(sim.sensor, firing, motion, start, sim.seed, 0)
    times = start + firing.time
    relative = origins - sim.world.origin
    return sim.sweep(path, start=start), rebuilt_hits(
        sim.world, sim.actors, relative, directions[:, 0], times, sim.sensor.range_max_m
    )


@pytest.mark.parametrize("yaw_rate", [0.5, -3.0, 30.0])
@pytest.mark.parametrize("start", [0.0, 0.43])
def test_every_pulse_meets_actors_where_they_are_when_it_is_fired(
    sensor: Sensor, yaw_rate: float, start: float
) -> None:
    mover = Actor((car(),), turning(yaw_rate), 7, label=10, name="car")
    sim = Simulator(World([ground_plane()]), sensor, actors=[mover])
    sweep, truth = compared(sim, ego(), start)
    got = by_beam(sweep, sweep.range, np.inf)
    hit = np.isfinite(got) & np.isfinite(truth["range"])
    error = np.abs(got[hit] - truth["range"][hit])
    # A ray along an edge may fall to either side of it.
    assert (np.isfinite(got) != np.isfinite(truth["range"])).sum() <= 1
    assert (error > 1e-3).mean() < 1e-3
    assert np.median(error) < 1e-5
    on = by_beam(sweep, sweep.instance, 0) == 7
    assert on.sum() > 40
    assert (on != (truth["instance"] == 7)).sum() <= 1
    light = by_beam(sweep, sweep.intensity, 0)
    np.testing.assert_allclose(np.sort(light[on])[1:-1], np.sort(truth["reflected"][on])[1:-1], atol=2e-3)
    assert set(sweep.label[sweep.instance == 7]) == {10}
    # Standing as it was when the sweep began, the car would be elsewhere by far more.
    frozen = Actor((car(),), mover.trajectory.at(start), 7)
    still = sim.with_actors([frozen]).sweep(ego(), start=start)
    other = by_beam(still, still.range, np.inf)
    assert (np.abs(other[on] - got[on]) > 0.01).sum() > 10


@pytest.mark.parametrize("depth", [1, 5])
def test_splats_turn_with_their_actor(sensor: Sensor, depth: int) -> None:
    ball = ball_of_splats(depth)
    actors = [Actor((ball,), turning(4.0), 7), Actor((ball,), turning(-4.0, x=-12.0), 8, label=9)]
    sim = Simulator(World([ground_plane()]), sensor, actors=actors)
    sweep, truth = compared(sim, ego(), 0.2)
    got = by_beam(sweep, sweep.range, np.inf)
    on = np.isin(by_beam(sweep, sweep.instance, 0), (7, 8)) & np.isin(truth["instance"], (7, 8))
    assert on.sum() > 40
    close = np.abs(got[on] - truth["range"][on]) < 1e-3
    assert close.mean() > 0.97  # at the rim of a disc
    light = by_beam(sweep, sweep.intensity, 0)[on][close]
    np.testing.assert_allclose(light, truth["reflected"][on][close], atol=2e-3)
    assert {5, 9} <= set(by_beam(sweep, sweep.label, 0)[on])


def test_two_actors_of_one_layer_are_not_blended(make_sensor: Any) -> None:
    plate = Splats([[0.0, 0.0, 0.0]], [[1.0, 0.0, 0.0]], [2.0], label=5, depth=5, gap_m=0.5)
    actors = [Actor((plate,), from_xyz_rpy(x), instance) for x, instance in ((10.0, 1), (10.2, 2))]
    sweep = Simulator(World([box((1, 1, 1), at=(-50, 0, 0))]), make_sensor((0.0,)), actors=actors).sweep(np.eye(4))
    front = np.abs(sweep.points[:, 1]) < 0.5
    assert set(sweep.instance[front & (sweep.points[:, 0] > 0)]) == {1}
    assert sweep.range[sweep.instance == 1].min() == pytest.approx(10.0, abs=1e-5)
    # One layer of both, in the world, is one surface between them.
    both = Splats([[10.0, 0, 0], [10.2, 0, 0]], [[1.0, 0, 0]] * 2, [2.0, 2.0], label=5, depth=5, gap_m=0.5)
    assert Simulator(World([both]), make_sensor((0.0,))).sweep(np.eye(4)).range.min() > 10.05


def crowd() -> tuple[World, list[Actor]]:
    rng = np.random.default_rng(1)
    tree = Volumes([[8.0, 5.0, 1.5]], [[0.4, 0, 0, 0.4, 0, 0.6]], 0.5, label=70)
    world = World([ground_plane(), tree, box((2, 2, 4), at=(-9, 3, 0))])
    ball, van = ball_of_splats(5), car()
    actors = []
    for i in range(12):
        x, y, heading = *rng.uniform(-20, 20, 2).tolist(), rng.uniform(0, 6)
        speed, rate = rng.uniform(-20, 20), rng.uniform(-3, 3)
        path = along(
            lambda t, x=x, y=y, h=heading, v=speed, w=rate: from_xyz_rpy(
                x + v * t * np.cos(h), y + v * t * np.sin(h), yaw=h + w * t
            )
        )
        actors.append(Actor((ball if i % 2 else van,), path, i + 1))
    return world, actors


@pytest.mark.parametrize("beam", ["single", "random"])
def test_same_bytes_on_any_number_of_threads_and_packets_agree(make_sensor: Any, beam: str) -> None:
    world, actors = crowd()
    sensor = make_sensor(
        (-20.0, -10.0, -5.0, 0.0), 0.4, beam__rays=beam, beam__n_rays=5, receiver__range_noise_sigma_m=0.01
    )

    def sweep(threads: int, packet: int) -> Sweep:
        return Simulator(world, sensor, actors=actors, seed=5, threads=threads, packet=packet).sweep(ego(), start=0.3)

    def tobytes(sweep: Sweep) -> bytes:
        columns = [getattr(sweep, name) for name in (*RETURN_COLUMNS, "beam_status")]
        return b"".join(column.tobytes() for column in (*columns, sweep.extra["velocity"]))

    first = sweep(1, 8)
    assert tobytes(first) == tobytes(sweep(2, 8)) == tobytes(sweep(3, 8))
    assert len(set(first.instance)) > 6
    assert set(first.extra["primitive"]) == {1, 2, 3}
    for packet in (1, 16):
        other = sweep(1, packet)
        _, a, b = np.intersect1d(first.beam, other.beam, return_indices=True)
        assert (np.abs(first.range[a] - other.range[b]) < 1e-4).mean() > 0.997
        assert len(other) == pytest.approx(len(first), rel=2e-3)


def test_an_actor_hides_the_world_and_the_world_an_actor(make_sensor: Any, make_wall: Any) -> None:
    sensor = make_sensor((0.0,))
    mover = Actor((box((1, 4, 4), at=(0, 0, -2)),), along(lambda t: from_xyz_rpy(20.0 - 10 * t)), 3)
    sim = Simulator(World([make_wall(17.0)]), sensor, actors=[mover])
    ahead = [sim.sweep(np.eye(4), start=start) for start in (0.0, 0.5)]
    hidden, seen = (sweep.instance[np.abs(sweep.points[:, 1]) < 1.0] for sweep in ahead)
    assert set(hidden) == {0}
    assert set(seen) == {3}
    assert ahead[0].boxes.n_points.tolist() == [0]
    assert ahead[1].boxes.n_points.tolist() == [(ahead[1].instance == 3).sum()]


def test_velocities_and_boxes_are_those_of_the_actors(sensor: Sensor) -> None:
    world = World([ground_plane()], origin=(500_000.0, 5_000_000.0, 100.0))
    shift = np.eye(4)
    shift[:3, 3] = world.origin
    actor = Actor((car(),), turning(2.0).moved(shift), 7, label=10, name="car")
    sweep = Simulator(world, sensor, actors=[actor]).sweep(ego().moved(shift), start=0.35)
    velocity = sweep.extra["velocity"]
    assert velocity.dtype == np.float32
    on = sweep.instance == 7
    assert not velocity[~on].any()
    points = sweep.world_points()[on]
    expected = [actor.velocity(point, time) for point, time in zip(points, sweep.time[on], strict=True)]
    np.testing.assert_allclose(velocity[on], expected, atol=2e-2)
    # The box is where the car was when half of its returns had been measured, not where the sweep began.
    truth, found = actor.box(float(np.median(sweep.time[on]))), sweep.boxes
    np.testing.assert_allclose(transform(sweep.pose, found.centre), truth.centre, atol=1e-6)
    np.testing.assert_allclose(found.size, truth.size)
    heading = sweep.pose[:3, :3] @ [np.cos(found.yaw[0]), np.sin(found.yaw[0]), 0.0]
    assert np.arctan2(heading[1], heading[0]) == pytest.approx(truth.yaw[0], abs=0.02)  # the sensor is tilted
    np.testing.assert_allclose(found.velocity, truth.velocity, atol=1e-9)
    assert (found.track.tolist(), found.label.tolist(), found.name) == ([7], [10], ("car",))
    assert found.n_points.tolist() == [on.sum()]


def test_an_actor_is_there_while_its_trajectory_lasts(make_sensor: Any) -> None:
    sensor = make_sensor((0.0,))  # turns counter-clockwise from the rear: times are known by azimuth
    ring = Mesh(*_cylinder(20.0))
    world = World([box((1, 1, 1), at=(-90, 0, 0))])

    def times(path: Trajectory) -> Array:
        sweep = Simulator(world, sensor, actors=[Actor((ring,), path, 1)]).sweep(np.eye(4), start=0.5)
        return np.sort(sweep.time[sweep.instance == 1])

    every = times(along(lambda t: np.eye(4), knots=2))
    assert len(every) == 360
    half = times(along(lambda t: np.eye(4), 0.0, 0.55, knots=2))
    assert half.max() <= 0.55
    assert 178 <= len(half) <= 182
    middle = times(along(from_xyz_rpy, 0.52, 0.57, knots=7))
    assert middle.min() >= 0.52
    assert middle.max() <= 0.57
    assert 178 <= len(middle) <= 182
    assert len(times(along(lambda t: np.eye(4), 0.0, 0.49, knots=2))) == 0
    assert len(times(along(lambda t: np.eye(4), 0.61, 0.7, knots=2))) == 0
    assert len(times(Trajectory(np.zeros(1), np.eye(4)))) == 360


def _cylinder(radius: float) -> tuple[Array, Array]:
    mesh = trimesh.creation.cylinder(radius=radius, height=4.0, sections=64)
    return mesh.vertices, mesh.faces


def test_far_actors_are_left_out_and_others_are_out_of_range(make_sensor: Any) -> None:
    sensor = make_sensor((0.0,))
    world = World([box((1, 1, 1), at=(-50, 0, 0))])
    pair = [Actor((box((4, 4, 4), at=(0, 0, -2)),), from_xyz_rpy(x, y), i) for x, y, i in ((150, 0, 1), (0, 900, 2))]
    sweep = Simulator(world, sensor, actors=pair).sweep(np.eye(4))
    assert sweep.boxes.track.tolist() == [1]
    ahead = np.abs(sweep.beam_direction[:, 1]) < 0.01
    ahead &= sweep.beam_direction[:, 0] > 0
    assert set(sweep.beam_status[ahead]) == {BeamStatus.OUT_OF_RANGE}
    left = np.argmax(sweep.beam_direction[:, 1])
    assert sweep.beam_status[left] == BeamStatus.NOTHING_HIT


def test_layers_are_built_once_and_kept(sensor: Sensor) -> None:
    van, ball = car(), ball_of_splats(1)
    actors = [Actor((van, ball), turning(1.0, 5.0 * i), i + 1) for i in range(6)]
    sim = Simulator(World([ground_plane()]), sensor, actors=actors)
    drive = sim.run(ego())
    first = drive[0]
    built = dict(sim.tracer.actors.shapes)
    assert len(built) == 2
    other = sim.with_sensor(sensor).with_actors(actors[:2])
    _ = drive[1], other.sweep(ego())
    assert {key: shape for key, (shape, _) in sim.tracer.actors.shapes.items()} == {k: v for k, (v, _) in built.items()}
    assert other.tracer.actors.shapes is sim.tracer.actors.shapes
    assert other.scene is sim.scene
    np.testing.assert_array_equal(drive[0].range, first.range)


def test_no_actors_leave_sweeps_as_they_were(sensor: Sensor) -> None:
    world = World([ground_plane()])
    plain = Simulator(world, sensor).sweep(ego())
    assert plain.boxes is None
    assert "velocity" not in plain.extra
    empty = Simulator(world, sensor, actors=[Actor((car(),), from_xyz_rpy(5000.0), 1)]).sweep(ego())
    np.testing.assert_array_equal(plain.range, empty.range)
    assert len(empty.boxes) == 0
    assert empty.extra["velocity"].shape == (len(empty), 3)


@pytest.mark.parametrize("rays", ["single", "nine"])
def test_an_actor_that_no_beam_meets_changes_no_byte(make_sensor: Any, rays: str) -> None:
    """Hits in a scene of triangles alone are read on a shorter way; it gives what the other one does."""
    boxes = [box((2.0, 2.0, 3.0), (6.0 + 2 * k, -6.0 + 3 * k, 0.0)) for k in range(4)]
    world = World([ground_plane((60.0, 60.0), label=40), *boxes])
    simulator = Simulator(world, make_sensor(**{"beam.rays": rays}), seed=2)
    hidden = Actor((car(),), Trajectory(np.zeros(1), from_xyz_rpy(8.0, 0.0, -9.0)[None]), 7)
    for pose in (from_xyz_rpy(0, 0, 1.8), ego()):
        plain, other = simulator.sweep(pose), simulator.with_actors([hidden]).sweep(pose)
        assert len(plain) > 100
        for name in (*RETURN_COLUMNS, "beam_status"):
            assert getattr(plain, name).tobytes() == getattr(other, name).tobytes()


def test_boxes_stand_where_actors_were_at_the_median_of_their_hits() -> None:
    rng = np.random.default_rng(1)
    ids, instance, time = np.array([3, 0, 9, 5, 8]), rng.choice([0, 3, 4, 5, 9], 400), rng.random(400)
    instance[instance == 9] = 4
    instance[7] = 9
    found = find_hit_times(ids, -1.0, instance, time)
    wanted = [np.median(time[instance == own]) if own and (instance == own).any() else -1.0 for own in ids.tolist()]
    assert found.tolist() == wanted


def test_recorded_beams_meet_actors_too(sensor: Sensor) -> None:
    actor = Actor((car(),), turning(1.0), 7)
    world = World([ground_plane()])
    drive = Simulator(world, sensor, actors=[actor]).sweep(ego(), start=0.2)
    again = Retracer(world, sensor, actors=[actor]).sweep(drive)
    np.testing.assert_allclose(again.range, drive.range, atol=1e-5)
    np.testing.assert_array_equal(again.instance, drive.instance)
    np.testing.assert_allclose(again.extra["velocity"], drive.extra["velocity"], atol=1e-3)
    assert again.boxes.n_points.tolist() == drive.boxes.n_points.tolist()
    assert not (Retracer(world, sensor).sweep(drive).instance == 7).any()


def test_sweeps_with_actors_are_saved_whole(sensor: Sensor, tmp_path: Path) -> None:
    sweep = Simulator(World([ground_plane()]), sensor, actors=[Actor((car(),), turning(1.0), 7, 10, "car")]).sweep(
        ego()
    )
    write_sweep(sweep, tmp_path / "a.sweep")
    again = load_sweep(tmp_path / "a.sweep")
    np.testing.assert_array_equal(again.extra["velocity"], sweep.extra["velocity"])
    for name in ("centre", "size", "yaw", "track", "label", "velocity", "n_points"):
        np.testing.assert_array_equal(getattr(again.boxes, name), getattr(sweep.boxes, name))
    write_sweep(sweep, tmp_path / "a.pcd")
    np.testing.assert_allclose(load_sweep(tmp_path / "a.pcd").extra["velocity_1"], sweep.extra["velocity"][:, 1])


def test_instance_ids_of_actors_must_differ(sensor: Sensor) -> None:
    world = World([ground_plane(), Instances(car(), np.eye(4)[None, :3], instance=[4], name="parked")])
    with pytest.raises(ResweepError, match=r"instance 4 is also that of something in the world's layer 'parked'"):
        Simulator(world, sensor, actors=[Actor((car(),), turning(1.0), 4)])
    pair = [Actor((car(),), turning(1.0), 5, name=name) for name in ("a", "b")]
    with pytest.raises(ResweepError, match=r"actors 'a' and 'b': both have instance 5"):
        Simulator(world, sensor, actors=pair)
    one_after_the_other = [
        Actor((car(),), along(lambda t: np.eye(4), *span, knots=2), 5) for span in ((0.0, 1.0), (2.0, 3.0))
    ]
    assert len(Simulator(world, sensor, actors=one_after_the_other).actors) == 2


@pytest.mark.parametrize("rays_of", ["single", "nine"])
def test_actors_in_every_direction_are_hit_as_the_same_things_in_the_world(rays_of: str) -> None:
    """Chunks of pulses leave out the actors that none of their rays can meet: those at their edges stay."""
    rng = np.random.default_rng(4)
    things, actors = [], []
    for number in range(60):
        away, azimuth = rng.uniform(6.0, 60.0), rng.uniform(-np.pi, np.pi)
        pose = from_xyz_rpy(away * np.cos(azimuth), away * np.sin(azimuth), rng.uniform(-4.0, 4.0), yaw=azimuth)
        body = box(tuple(rng.uniform(0.3, 5.0, 3)))
        things.append(body.moved(pose))
        actors.append(Actor((body,), Trajectory(np.zeros(1), pose[None]), 100 + number))
    sensor = load_sensor("velodyne-vlp-16").with_(**{"beam.rays": rays_of})
    far = ground_plane((10.0, 10.0)).moved(from_xyz_rpy(0.0, 0.0, -500.0))
    motion = along(lambda t: from_xyz_rpy(15 * t, 0, 0, yaw=2.0 * t))
    still = Simulator(World([far, *things]), sensor).sweep(motion)
    moving = Simulator(World([far]), sensor, actors=actors).sweep(motion)
    assert len(np.unique(moving.instance)) > 40
    one, other = (by_beam(sweep, sweep.range, 0.0) for sweep in (still, moving))
    assert (one > 0).mean() > 0.2
    # Rounding at the edges of boxes may go either way.
    assert (np.abs(one - other) < 0.01).mean() > 0.9995


def test_a_world_is_looked_through_once_for_the_ids_of_actors(monkeypatch: Any) -> None:
    asked: list[list[int]] = []
    find = World.find_instance

    def count(world: World, wanted: Array) -> tuple[int, str] | None:
        asked.append(wanted.tolist())
        return find(world, wanted)

    monkeypatch.setattr(World, "find_instance", count)
    world = World([box((1.0, 1.0, 1.0), instance=9)])
    one, other, taken = (Actor((box((1.0, 1.0, 1.0)),), turning(0.1), number) for number in (3, 4, 9))
    simulator = Simulator(world, "velodyne-vlp-16", actors=[one]).with_actors([one]).with_actors([one, other])
    assert asked == [[3], [4]]
    with pytest.raises(ResweepError, match="instance 9"):
        simulator.with_actors([taken])
