"""What the viewer shows, as arrays: colours, levels of detail, range images, beams."""

from __future__ import annotations

import io
from dataclasses import replace

import numpy as np
import pytest
import trimesh

from resweep.boxes import Boxes
from resweep.errors import ResweepError
from resweep.labels import load_labels
from resweep.pose import from_xyz_rpy
from resweep.sensors import load_sensor
from resweep.simulate import Simulator
from resweep.sweep import BeamStatus, Sweep
from resweep.viewer.pages.range_panel import find_spot
from resweep.viewer.scene.clicked_beam import describe_beam, draw_beam, find_clicked, trace_beam
from resweep.viewer.scene.discs import Sprites, split_by_size, write_glb
from resweep.viewer.scene.levels import choose_level, draw_priorities
from resweep.viewer.scene.outlines import outline_boxes, outline_path
from resweep.viewer.scene.primitives import ShownWorld, split_transforms
from resweep.viewer.scene.range_images import make_range_image
from resweep.viewer.scene.return_colours import colour_instances, colour_returns, list_colourings
from resweep.viewer.scene.sweep_errors import find_errors
from resweep.worlds import Instances, Mesh, Splats, Volumes, World
from resweep.worlds.layers.splats import find_disc_axes

LABELS = load_labels("semantickitti")


@pytest.fixture(scope="module")
def room() -> World:
    box = trimesh.creation.box((20, 20, 4))
    label = np.where(np.abs(box.face_normals[:, 2]) > 0.5, 40, 50)
    return World([Mesh(box.vertices, box.faces, label=label, instance=label)], labels=LABELS)


@pytest.fixture(scope="module")
def simulator(room: World) -> Simulator:
    return Simulator(room, load_sensor("velodyne-vlp-16"), seed=1)


@pytest.fixture(scope="module")
def sweep(simulator: Simulator) -> Sweep:
    return simulator.sweep(from_xyz_rpy(0, 0, 0))


def test_every_colouring_gives_a_colour_a_return(sweep: Sweep) -> None:
    error = np.linspace(-1, 1, len(sweep))
    found = list_colourings(sweep, LABELS, error)
    assert {"range", "intensity", "ring", "time", "label", "instance", "primitive kind", "error"} <= set(found)
    assert "return number" not in found  # this sensor reports one
    assert "confidence" not in found  # nobody recorded this room
    for by in found:
        shown = colour_returns(sweep, by, LABELS, error=error)
        assert shown.rgb.shape == (len(sweep), 3)
        assert shown.rgb.dtype == np.uint8
        assert len(np.unique(shown.rgb, axis=0)) > 1 or by == "primitive kind"


def test_labels_have_the_colours_of_their_vocabulary(sweep: Sweep) -> None:
    shown = colour_returns(sweep, "label", LABELS)
    for label in (40, 50):
        colour = tuple(int(LABELS.colour(label)[at : at + 2], 16) for at in (1, 3, 5))
        assert {tuple(row) for row in shown.rgb[sweep.label == label].tolist()} == {colour}
    assert {name for name, _ in shown.entries} == {LABELS.class_name(40), LABELS.class_name(50)}


def test_farther_is_another_colour_and_unknown_errors_are_grey(sweep: Sweep) -> None:
    near, far = np.argmin(sweep.range), np.argmax(sweep.range)
    rgb = colour_returns(sweep, "range").rgb.astype(int)
    assert rgb[far, 1] < rgb[near, 1] - 50  # turbo is green in the middle and red at its end
    error = np.zeros(len(sweep))
    error[0] = np.nan
    shown = colour_returns(sweep, "error", error=error).rgb
    assert tuple(shown[0]) == (138, 143, 152)
    assert (shown[1:] == shown[1]).all()
    assert len(np.unique(colour_instances(np.arange(1, 60)), axis=0)) > 55
    for by, message in (("rnage", "range"), ("error", "nothing to compare"), ("confidence", "no such column")):
        with pytest.raises(ResweepError, match=message):
            colour_returns(sweep, by)


def test_errors_are_those_along_beams_or_to_the_nearest(sweep: Sweep) -> None:
    longer = replace(sweep, range=sweep.range + 0.25)
    np.testing.assert_allclose(find_errors(longer, sweep), 0.25, atol=1e-5)
    fewer = sweep.select(np.arange(len(sweep)) % 2 == 0)
    assert np.isnan(find_errors(sweep, fewer)[1])
    moved = replace(sweep, pose=from_xyz_rpy(0.1, 0, 0))
    assert 0 < np.nanmedian(find_errors(moved, sweep)) <= 0.1 + 1e-6


def test_pixels_lead_to_their_beams_and_back(sweep: Sweep) -> None:
    image = make_range_image(sweep)
    height, width = image.beam.shape
    assert (image.beam >= 0).mean() > 0.95
    for beam in (0, 777, sweep.n_beams - 1):
        found = image.find_beam((image.column[beam] + 0.5) / width, (image.row[beam] + 0.5) / height)
        assert found is not None
        assert sweep.beam_ring[found] == sweep.beam_ring[beam]
        assert sweep.beam_direction[found] @ sweep.beam_direction[beam] > np.cos(np.radians(1.0))
    assert image.find_beam(1.5, 0.5) is None
    # Left of the middle is left of the sensor, and the upper rows look up.
    left, top = image.beam[height // 2, width // 4], image.beam[0, width // 2]
    assert sweep.beam_direction[left, 1] > 0.5
    assert sweep.beam_direction[top, 2] > 0.2
    rgb = colour_returns(sweep, "range").rgb
    plain, marked = image.draw(rgb), image.draw(rgb, 777)
    assert (plain != marked).any()
    empty = sweep.select(np.zeros(len(sweep), bool))
    assert (make_range_image(empty).draw(np.zeros((0, 3), np.uint8)) == [26, 31, 38]).all()


def test_a_click_finds_the_return_in_front() -> None:
    points = np.array([[10.0, 0.0, 0.0], [20.0, 0.001, 0.0], [10.0, 5.0, 0.0], [-10.0, 0.0, 0.0]])
    assert find_clicked(points, np.zeros(3), np.array([1.0, 0.0, 0.0])) == 0
    assert find_clicked(points, np.zeros(3), np.array([2.0, 1.0, 0.0])) == 2
    assert find_clicked(points, np.zeros(3), np.array([0.0, 0.0, 1.0])) is None
    assert find_clicked(np.zeros((0, 3)), np.zeros(3), np.array([1.0, 0.0, 0.0])) is None


def test_a_click_on_the_screen_finds_its_pixel() -> None:
    turn = np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])  # right is -y, down is -z, ahead is x
    place = np.array([10.0, 0.0, 0.0])
    assert find_spot(np.zeros(3), np.array([1.0, 0.0, 0.0]), place, turn, 8.0, 4.0) == pytest.approx((0.5, 0.5))
    assert find_spot(np.zeros(3), np.array([10.0, 2.0, 1.0]), place, turn, 8.0, 4.0) == pytest.approx((0.25, 0.25))
    assert find_spot(np.zeros(3), np.array([10.0, 6.0, 0.0]), place, turn, 8.0, 4.0) is None
    assert find_spot(np.zeros(3), np.array([-1.0, 0.0, 0.0]), place, turn, 8.0, 4.0) is None


def test_a_beam_is_described_by_what_it_measured(sweep: Sweep, simulator: Simulator) -> None:
    beam = int(sweep.beam[0])
    line, ends = draw_beam(sweep, beam)
    np.testing.assert_allclose(ends[0], sweep.points[0], atol=1e-4)
    np.testing.assert_allclose(np.linalg.norm(line[1] - line[0]), sweep.range[0], rtol=1e-5)
    text = describe_beam(sweep, beam, LABELS, trace_beam(simulator, np.eye(4), beam, LABELS))
    assert f"{sweep.range[0]:.3f} m" in text
    assert "100% on" in text
    status = sweep.beam_status.copy()
    status[beam] = BeamStatus.OUT_OF_RANGE
    without = replace(sweep.select(sweep.beam != beam), beam_status=status)
    assert "beyond its maximum range" in describe_beam(without, beam, LABELS)


def test_a_beam_on_an_edge_shares_its_light(room: World) -> None:
    wide = load_sensor("velodyne-vlp-16").with_(
        **{"beam.divergence_h_rad": 0.05, "beam.divergence_v_rad": 0.05, "beam.rays": "nine"}
    )
    simulator = Simulator(room, wide)
    firing = simulator.sweep(np.eye(4))
    ahead = int(np.argmax(firing.beam_direction @ [1.0, 0.0, 0.0]))
    up = np.arcsin(firing.beam_direction[ahead, 2])
    pose = from_xyz_rpy(0, 0, 0, pitch=up + np.arctan(0.2))  # it looks at the edge of the floor and a wall
    hits = trace_beam(simulator, pose, ahead, LABELS)
    assert sum(item.share for item in hits) == pytest.approx(1.0)
    assert len(hits) >= 2


def test_near_the_eye_all_are_shown_and_far_away_few() -> None:
    rng = np.random.default_rng(0)
    centre = rng.uniform(-200, 200, (200_000, 3)) * [1, 1, 0.02]
    priority = draw_priorities(len(centre))
    rows, wider = choose_level(centre, priority, np.zeros(3), 20_000)
    assert 0.9 * 20_000 < len(rows) <= 20_000
    distance = np.linalg.norm(centre, axis=1)
    shown = np.isin(np.arange(len(centre)), rows)
    assert shown[distance < 15].all()
    shares = [shown[(distance > low) & (distance < low + 20)].mean() for low in (40, 80, 160)]
    assert shares[0] > 2 * shares[1] > 4 * shares[2]
    # What is left covers as much as there was: the area of each grows by the inverse of the share.
    ring = (distance[rows] > 80) & (distance[rows] < 100)
    assert (wider[ring] ** 2).sum() == pytest.approx(((distance > 80) & (distance < 100)).sum(), rel=0.1)
    again, _ = choose_level(centre, priority, np.array([1.0, 0, 0]), 20_000)
    assert np.isin(rows, again).mean() > 0.9  # a small step changes little
    every, one = choose_level(centre[:50], priority[:50], np.zeros(3), 100)
    assert len(every) == 50
    assert (one == 1).all()


def test_a_world_is_shown_in_the_shapes_it_has() -> None:
    discs = Splats([[0, 0, 0], [5, 0, 0]], [[0, 0, 1], [1, 0, 0]], [0.4, 0.2], label=[40, 50], instance=[0, 3])
    leaves = Volumes([[2, 2, 2]], [[0.04, 0, 0, 0.09, 0, 0.25]], 0.3, label=70)
    tree = Mesh(np.eye(3), np.array([[0, 1, 2]]), label=71)
    copies = Instances(tree, from_xyz_rpy(1, 2, 3, yaw=0.5)[None, :3] * [[[2], [2], [2]]][0])
    world = World([discs, leaves, tree, copies], [1e6, 2e6, 0], labels=LABELS)
    shown = ShownWorld(world, np.array([1e6 + 1, 2e6, 0]), budget=100)
    assert shown.list_colourings() == ["label", "reflectance", "height", "kind", "instance", "permeability"]
    for by in shown.list_colourings():
        chosen = shown.choose(np.zeros(3), by)
        assert chosen.rgb.shape == (3, 3)
    np.testing.assert_allclose(chosen.centre, [[-1, 0, 0], [4, 0, 0], [1, 2, 2]])
    # A disc lies across its normal, as wide as it is; a volume shows as much of its larger section as stops light.
    np.testing.assert_allclose(chosen.radius, [0.4, 0.2, 2 * np.sqrt(0.7 * 0.3 * 0.5)], rtol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(chosen.half[:2], axis=2), [[0.4, 0.4], [0.2, 0.2]], rtol=1e-5)
    np.testing.assert_allclose(chosen.half[0, :, 2], 0.0, atol=1e-6)
    np.testing.assert_allclose(chosen.half[1, :, 0], 0.0, atol=1e-6)
    np.testing.assert_allclose(chosen.half[2, :, 0], 0.0, atol=1e-6)
    centre, _, half, _ = shown.ellipsoids(np.zeros(3))
    np.testing.assert_allclose(centre, [[1, 2, 2]])
    np.testing.assert_allclose(np.sort(half[0]), 2 * np.array([0.2, 0.3, 0.5]), rtol=1e-5)
    meshes, left_out = shown.meshes()
    assert ([mesh.position is None for mesh in meshes], left_out) == ([True, False], 0)
    np.testing.assert_allclose(meshes[0].vertices, np.eye(3) - np.array([1, 0, 0]))


def test_a_file_of_discs_holds_a_triangle_around_each() -> None:
    normal = np.array([[0.0, 0, 1], [0, 0, -1], [0.6, 0, 0.8]], np.float32)
    centre = np.array([[0.0, 0, 0], [3, 0, 0], [0, 5, 1]], np.float32)
    rgb = np.array([[255, 0, 0], [188, 188, 188], [0, 0, 0]], np.uint8)
    half = find_disc_axes(normal) * np.array([0.5, 1.0, 2.0], np.float32)[:, None, None]
    file = write_glb(Sprites(centre, half, rgb, 3))
    scene = trimesh.load(io.BytesIO(file), file_type="glb", process=False)
    (mesh,) = scene.geometry.values()
    corners = np.asarray(mesh.vertices).reshape(3, 3, 3)
    np.testing.assert_allclose(corners.mean(axis=1), centre, atol=1e-5)
    np.testing.assert_allclose(
        np.linalg.norm(corners - centre[:, None], axis=2), [[1.0] * 3, [2.0] * 3, [4.0] * 3], rtol=1e-5
    )
    np.testing.assert_allclose(np.abs(np.einsum("kcx,kx->kc", corners - centre[:, None], normal)), 0.0, atol=1e-5)
    # The disc touches the middle of each side; the texture is clear beyond it.
    first = 28 + int.from_bytes(file[12:16], "little")
    rows = np.frombuffer(file[first : first + 9 * 20], np.uint8).reshape(9, 20)
    uv = rows[:3, 12:14] / 255.0
    texture = np.asarray(mesh.visual.material.baseColorTexture)
    for side in (0.5 * (uv[at] + uv[(at + 1) % 3]) for at in range(3)):
        inside, outside = 0.5 + 0.9 * (side - 0.5), 0.5 + 1.1 * (side - 0.5)
        assert [texture[int(v * 128), int(u * 128), 3] for u, v in (inside, outside)] == [255, 0]
    assert rows[::3, 16:19].tolist() == [[255, 0, 0], [128, 128, 128], [0, 0, 0]]  # linear, as glTF asks of vertices


def test_the_discs_that_look_largest_are_drawn_as_discs() -> None:
    centre = np.column_stack([np.arange(1.0, 101.0), np.zeros(100), np.zeros(100)]).astype(np.float32)
    half = find_disc_axes(np.tile(np.array([0, 0, 1], np.float32), (100, 1))) * np.float32(0.5)
    half[90] *= 100.0
    shown = Sprites(centre, half, np.zeros((100, 3), np.uint8), 100)
    large, points = split_by_size(shown, np.zeros(3), max_discs=10)
    np.testing.assert_array_equal(large.centre[:, 0], [*range(1, 10), 91])
    assert sum(len(part.centre) for part, _ in points) == 90
    assert all(size == pytest.approx(0.5) for _, size in points)
    assert split_by_size(shown, np.zeros(3), max_discs=100)[1] == []


def test_transforms_come_apart_into_turn_place_and_scale() -> None:
    from scipy.spatial.transform import Rotation

    pose = from_xyz_rpy(1, 2, 3, roll=0.3, pitch=-0.2, yaw=1.1)
    matrix = np.hstack([pose[:3, :3] @ np.diag([0.5, 2.0, 3.0]), pose[:3, 3:]])
    wxyz, place, scale = split_transforms(matrix[None])
    np.testing.assert_allclose(Rotation.from_quat(wxyz[0, [1, 2, 3, 0]]).as_matrix(), pose[:3, :3], atol=1e-12)
    np.testing.assert_allclose(place[0], [1, 2, 3])
    np.testing.assert_allclose(scale[0], [0.5, 2, 3])


def test_boxes_and_paths_are_lines_in_the_world() -> None:
    boxes = Boxes([[10.0, 0, 1]], [[4, 2, 1.5]], [np.pi / 2], ["car"])
    lines = outline_boxes(boxes, from_xyz_rpy(100, 0, 0))
    assert lines.shape == (14, 2, 3)
    low, high = lines.reshape(-1, 3).min(axis=0), lines.reshape(-1, 3).max(axis=0)
    np.testing.assert_allclose((low, high), ([109, -2, 0.25], [111, 2, 1.75]), atol=1e-9)
    path = outline_path(np.stack([from_xyz_rpy(x) for x in (0.0, 1.0, 3.0)]))
    np.testing.assert_allclose(path[:, :, 0], [[0, 1], [1, 3]])
    assert outline_boxes(boxes[np.zeros(0, int)], np.eye(4)).shape == (0, 2, 3)
