"""Cameras: distances, directions and normals that geometry gives, in pictures and films."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import trimesh
from PIL import Image

from resweep.errors import ResweepError
from resweep.pose import Trajectory, from_xyz_rpy
from resweep.scenario import Actor
from resweep.viewer.camera import Camera, Renderer, fly, follow, look_at, look_down, orbit, shade
from resweep.viewer.camera.drawing import Drawing
from resweep.viewer.camera.point_cloud import PointCloud
from resweep.viewer.camera.shading import shrink
from resweep.worlds import Instances, Mesh, Splats, Volumes, World

ORIGIN = np.array([500_000.0, 5_400_000.0, 100.0])  # as UTM coordinates are


@pytest.fixture(scope="module")
def room() -> World:
    """Walls 10 m from the origin on all sides."""
    box = trimesh.creation.box((20, 20, 20))
    return World([Mesh(box.vertices, box.faces, label=50, reflectance=0.5)], ORIGIN, labels="semantickitti")


def at(x: float, y: float, z: float) -> np.ndarray:
    return ORIGIN + np.array([x, y, z])


def test_a_pinhole_measures_a_wall_along_each_ray(room: World) -> None:
    camera = Camera(width=64, height=32, fov_deg=80)
    view = Renderer(room).view(camera, look_at(at(0, 0, 0), at(1, 0, 0)))
    across = np.tan(np.radians(40)) * (1 - 2 * (np.arange(64) + 0.5) / 64)
    up = np.tan(np.radians(40)) / 2 * (1 - 2 * (np.arange(32) + 0.5) / 32)
    expected = 10 * np.sqrt(1 + across**2 + up[:, None] ** 2)
    np.testing.assert_allclose(view.range, expected, rtol=1e-5)
    np.testing.assert_allclose(view.normal, np.broadcast_to([-1.0, 0.0, 0.0], (32, 64, 3)), atol=1e-5)
    assert (view.label == 50).all()
    assert (view.kind == 1).all()


def test_left_is_left_and_up_is_up() -> None:
    ball = trimesh.creation.icosphere(radius=1.0)
    world = World([Mesh(np.asarray(ball.vertices) + np.array([10, 4, 2]), ball.faces)])  # to the left of x, above it
    view = Renderer(world).view(Camera(width=40, height=40, fov_deg=90), look_at([0, 0, 0], [1, 0, 0]))
    rows, columns = np.nonzero(view.hit)
    assert columns.mean() < 15
    assert rows.mean() < 18


def test_a_panorama_sees_all_around(room: World) -> None:
    view = Renderer(room).view(Camera(projection="panoramic", width=360, height=20, fov_deg=360), from_xyz_rpy(*ORIGIN))
    middle = view.range[10]
    azimuth = np.radians(180 - (np.arange(360) + 0.5))
    elevation = np.pi * 20 / 360 * (1 - 2 * (10 + 0.5) / 20)
    expected = 10 / np.maximum(np.abs(np.cos(azimuth)), np.abs(np.sin(azimuth))) / np.cos(elevation)
    np.testing.assert_allclose(middle, expected, rtol=1e-4)


def test_from_above_all_rays_are_parallel(room: World) -> None:
    camera = Camera(projection="above", width=30, height=20, span_m=15)
    view = Renderer(room).view(camera, look_down(at(0, 0, 0), 3.0))
    np.testing.assert_allclose(view.range, 13.0, atol=1e-4)
    np.testing.assert_allclose(view.normal[..., 2], 1.0, atol=1e-5)


def test_normals_of_copies_discs_and_actors_are_those_of_the_world() -> None:
    plate = Mesh(np.array([[-3, -3, 0], [3, -3, 0], [3, 3, 0], [-3, 3, 0]]), np.array([[0, 1, 2], [0, 2, 3]]))
    turn = from_xyz_rpy(8, 0, 0, pitch=np.radians(60))  # the plate's normal tilts by 60 degrees
    expected = np.array([np.sin(np.radians(60)), 0, np.cos(np.radians(60))])
    rows = np.linspace(-2, 2, 30)
    spots = np.stack(np.meshgrid(rows, rows), axis=-1).reshape(-1, 2)
    centres = np.column_stack([spots, np.zeros(len(spots))]) @ turn[:3, :3].T + turn[:3, 3]
    discs = Splats(centres, np.tile(expected, (len(centres), 1)), np.full(len(centres), 0.2))
    far = Mesh(np.array([[90.0, 0, 0], [90, 1, 0], [90, 0, 1]]), np.array([[0, 1, 2]]))
    camera, pose = Camera(width=9, height=9, fov_deg=8), look_at([0, 0, 0], [1, 0, 0])
    for world, actors in (
        (World([Instances(plate, turn[None, :3])]), []),
        (World([discs]), []),
        (World([far]), [Actor((plate,), Trajectory(np.zeros(1), turn[None]), 7)]),
        (World([far]), [Actor((Splats(np.zeros((1, 3)), [[0, 0, 1]], [3.0]),), Trajectory([0.0], turn[None]), 7)]),
    ):
        view = Renderer(world, actors).view(camera, pose)
        assert view.hit.all()
        side = -np.sign(expected[0])
        np.testing.assert_allclose(view.normal, np.broadcast_to(side * expected, view.normal.shape), atol=2e-3)
        if actors:
            assert (view.instance == 7).all()


def test_a_volume_hides_as_many_pixels_as_it_stops_rays() -> None:
    wide = Volumes(np.array([[10.0, 0, 0]]), np.array([[1, 0, 0, 100, 0, 100]]), 0.3, element_m=0.02)
    view = Renderer(World([wide])).view(Camera(width=200, height=200, fov_deg=20), look_at([0, 0, 0], [1, 0, 0]))
    stopped = view.hit.mean()
    assert stopped == pytest.approx(0.7, abs=4 * np.sqrt(0.21 / 40_000))  # pixels meet leaves of their own
    assert (view.kind[view.hit] == 3).all()


def test_actors_stand_where_they_are_at_that_second(room: World) -> None:
    box = trimesh.creation.box((1, 1, 1))
    path = Trajectory(np.array([0.0, 2.0]), np.stack([from_xyz_rpy(*at(5, -2, 0)), from_xyz_rpy(*at(5, 2, 0))]))
    renderer = Renderer(room, [Actor((Mesh(box.vertices, box.faces),), path, 9)])
    camera, pose = Camera(width=80, height=40, fov_deg=90), look_at(at(0, 0, 0), at(1, 0, 0))
    columns = [np.nonzero(renderer.view(camera, pose, second).instance == 9)[1].mean() for second in (0.0, 1.0, 2.0)]
    assert columns[0] > 50 > 39.5 + 1 > columns[1] > 38.5 > 30 > columns[2]


def test_the_same_view_on_one_and_two_threads(room: World) -> None:
    camera, pose = Camera(width=50, height=31), look_at(at(1, 2, 3), at(5, 5, 5))
    one, two = (Renderer(room, threads=threads).view(camera, pose) for threads in (1, 2))
    for name in ("range", "normal", "reflected", "label"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


def test_colours_are_those_of_the_primitives() -> None:
    centres = np.array([[10.0, 1.0, 0.0], [10.0, -1.0, 0.0]])
    extra = {
        "red": np.array([250, 5], np.uint8),
        "green": np.array([6, 7], np.uint8),
        "blue": np.array([8, 240], np.uint8),
    }
    discs = Splats(centres, [[-1, 0, 0], [-1, 0, 0]], [0.9, 0.9], extra=extra)
    wall = Mesh(np.array([[20.0, -50, -50], [20, 50, -50], [20, 0, 50]]), np.array([[0, 1, 2]]))
    renderer = Renderer(World([wall, discs]), coloured=True)
    view = renderer.view(Camera(width=61, height=21, fov_deg=30), look_at([0, 0, 0], [1, 0, 0]))
    assert view.colour is not None
    assert set(map(tuple, view.colour[view.kind == 2].tolist())) == {(250, 6, 8), (5, 7, 240)}
    assert tuple(view.colour[10, 20]) == (250, 6, 8)  # the first disc stands on the left
    assert (view.colour[view.kind == 1] == 128).all()
    with pytest.raises(ResweepError, match="no primitive of the world has a colour"):
        Renderer(World([wall]), coloured=True)


def test_pictures_show_what_their_names_say(room: World) -> None:
    view = Renderer(room).view(Camera(width=32, height=16, fov_deg=60), look_at(at(0, 0, 0), at(1, 0, 0)))
    labelled = shade(view, "label", labels=room.labels)
    assert labelled[8, 16, 0] > labelled[8, 16, 2] + 40  # buildings are orange in this vocabulary
    normal = shade(view, "normal")
    assert tuple(normal[8, 16]) == (0, 128, 128)  # -x, no y, no z
    near, far = (shade(view, "depth", range_m=most)[8, 16].astype(int) for most in (11.0, 400.0))
    assert near[0] > near[2]
    assert far[2] > far[0]
    with pytest.raises(ResweepError, match="depth"):
        shade(view, "depht")
    with pytest.raises(ResweepError, match="without colours"):
        shade(view, "colour")


def test_shrinking_takes_means() -> None:
    image = np.zeros((4, 4, 3), np.uint8)
    image[:2, :2] = 100
    image[0, 0] = 200
    assert shrink(image, 2)[:, :, 0].tolist() == [[125, 0], [0, 0]]


def test_points_are_as_wide_as_asked() -> None:
    cloud = PointCloud(np.array([[30.0, 0, 0]]), np.array([7]), np.array([0.4]), np.array([3]))
    camera, pose = Camera(width=200, height=200, fov_deg=40), look_at([0, 0, 0], [1, 0, 0])
    view = Renderer(cloud.world(camera, pose, pixels=9.0)).view(camera, pose)
    assert view.hit.sum() == pytest.approx(np.pi * 4.5**2, abs=8)
    assert (view.label[view.hit] == 7).all()


def test_a_camera_follows_from_behind_and_looks_ahead() -> None:
    times = np.linspace(0, 2, 9)
    path = Trajectory(times, np.stack([from_xyz_rpy(0, 5 * t, 1.7, yaw=np.pi / 2) for t in times]))
    poses = follow(path, 5, behind_m=8, above_m=4)
    np.testing.assert_allclose(poses[:, :3, 3], path.at(np.linspace(0, 2, 5))[:, :3, 3] + [0, -8, 4], atol=1e-6)
    assert (poses[:, 1, 0] > 0.8).all()
    np.testing.assert_allclose(follow(path, 3, behind_m=0, above_m=0), path.at([0.0, 1.0, 2.0]), atol=1e-12)
    around = orbit(np.array([1.0, 2.0, 0.0]), 10.0, 5.0, 4)
    np.testing.assert_allclose(np.linalg.norm(around[:, :2, 3] - [1, 2], axis=1), 10.0)


@pytest.mark.parametrize("suffix", [".mp4", ".gif"])
def test_a_film_has_its_frames(tmp_path: Path, suffix: str) -> None:
    if suffix == ".mp4":
        ffmpeg = pytest.importorskip("imageio_ffmpeg")
    frames = [np.full((32, 48, 3), value, np.uint8) for value in (30, 120, 220)]
    path = fly(tmp_path / f"film{suffix}", iter(frames), 3, fps=10)
    if suffix == ".gif":
        with Image.open(path) as film:
            assert (film.n_frames, film.size) == (3, (48, 32))
        return
    reader = ffmpeg.read_frames(str(path))
    facts = next(reader)
    shown = [np.frombuffer(frame, np.uint8).mean() for frame in reader]
    assert facts["source_size"] == (48, 32)
    np.testing.assert_allclose(shown, [30, 120, 220], atol=6)


def test_mistakes_are_said(tmp_path: Path, room: World) -> None:
    with pytest.raises(ResweepError, match="eye and target are one place"):
        look_at([1, 2, 3], [1, 2, 3])
    with pytest.raises(ResweepError, match="films are"):
        fly(tmp_path / "film.avi", iter([]), 1)
    with pytest.raises(ResweepError, match="too much memory"):
        Renderer(room).view(Camera(width=16384, height=16384), np.eye(4))
    with pytest.raises(ValueError, match="less than 179"):
        Camera(fov_deg=200).check()


@pytest.mark.parametrize("size", [(5.0, 2.0, 3.0), (10.0, 10.0, 40.0), (2.0, 4.0, 2.0)])
def test_a_camera_without_a_place_sees_all_of_an_object(size: tuple[float, float, float]) -> None:
    box = trimesh.creation.box(size)
    drawing = Drawing("shaded", world=World([Mesh(box.vertices, box.faces)], ORIGIN))
    camera = Camera(width=160, height=90)
    hit = drawing.view(camera, drawing.choose_pose(camera, None, None)).hit
    edge = np.concatenate([hit[0], hit[-1], hit[:, 0], hit[:, -1]])
    assert not edge.any()
    assert hit.mean() > 0.03
