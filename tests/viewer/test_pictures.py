"""Pictures: that they show what the sweep holds, in the colours the legend gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import trimesh
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from resweep.errors import ResweepError
from resweep.labels import UNKNOWN_LABELS, load_labels
from resweep.pose import Array
from resweep.simulate import Simulator
from resweep.sweep import Sweep
from resweep.viewer import birds_eye, close_up, palette, range_image
from resweep.worlds import World

KITTI, NUSCENES = load_labels("semantickitti"), load_labels("nuscenes-lidarseg")
BUILDING, CAR = KITTI.id_of("building"), KITTI.id_of("car")


def room(sensor: str, label: int) -> Sweep:
    world = World.from_mesh(trimesh.creation.box((20, 12, 8)), label=label)
    return Simulator(world, sensor, seed=1).sweep(np.eye(4))


def pixels(path: Path, colour: str) -> int:
    """How many pixels have a colour."""
    return int((np.abs(imread(path)[..., :3] - np.array(to_rgb(colour))) < 0.02).all(axis=2).sum())


@pytest.mark.parametrize(
    ("draw", "sensor"),
    [(birds_eye, "velodyne-vlp-16"), (range_image, "velodyne-vlp-16"), (range_image, "livox-avia")],
)
def test_labels_show_in_their_colours(draw: Callable[..., Path], sensor: str, tmp_path: Path) -> None:
    picture = draw(room(sensor, BUILDING), tmp_path / "a.png", labels=KITTI)
    assert picture == tmp_path / "a.png"
    assert pixels(picture, KITTI.colour(BUILDING)) > 1000
    assert pixels(picture, KITTI.colour(CAR)) == 0
    draw(room(sensor, CAR), picture, labels=KITTI)
    assert pixels(picture, KITTI.colour(CAR)) > 1000


@pytest.mark.parametrize("draw", [birds_eye, range_image])
def test_ids_of_another_vocabulary_are_not_taken_for_semantickitti(draw: Callable[..., Path], tmp_path: Path) -> None:
    sweep = room("velodyne-vlp-16", 10)  # a car of SemanticKITTI, debris of nuScenes, and anything else elsewhere
    assert pixels(draw(sweep, tmp_path / "a.png", labels=NUSCENES), NUSCENES.colour(10)) > 1000
    unknown = draw(sweep, tmp_path / "b.png")
    assert pixels(unknown, UNKNOWN_LABELS.colour(10)) > 1000
    assert pixels(unknown, KITTI.colour(10)) == pixels(tmp_path / "a.png", KITTI.colour(10)) == 0


def test_returns_without_a_class_are_drawn_by_their_values(tmp_path: Path) -> None:
    asprs = load_labels("asprs")
    picture = birds_eye(room("velodyne-vlp-16", asprs.id_of("unclassified")), tmp_path / "a.png", labels=asprs)
    assert pixels(picture, asprs.colour(1)) < 500  # the grey of some text


@pytest.mark.parametrize("draw", [birds_eye, range_image])
def test_without_labels_values_are_drawn(draw: Callable[..., Path], tmp_path: Path) -> None:
    picture = draw(room("velodyne-vlp-16", 0), tmp_path / "a.png")
    drawn = imread(picture)[::3, ::3, :3].reshape(-1, 3)
    assert len(np.unique((50 * drawn).round().astype(int) @ [1, 100, 10_000])) > 100
    assert pixels(picture, KITTI.colour(BUILDING)) == 0


def test_the_reach_is_what_is_shown(tmp_path: Path) -> None:
    sweep = room("velodyne-vlp-16", BUILDING)
    # The walls are 6 and 10 m away: within 3 m there is nothing but the legend's dot.
    colour = UNKNOWN_LABELS.colour(BUILDING)
    near = pixels(birds_eye(sweep, tmp_path / "near.png", reach_m=3.0), colour)
    far = pixels(birds_eye(sweep, tmp_path / "far.png", reach_m=12.0), colour)
    assert near < 100 < far


def test_a_close_up_shows_what_lies_in_its_boxes(tmp_path: Path) -> None:
    points = np.random.default_rng(0).uniform((0, 0, 0), (4, 1, 1), (400, 3))
    label = np.where(points[:, 0] < 2, 1, 2)
    legend = {1: ("left", "#ff0000"), 2: ("right", "#0000ff")}

    def seen(*boxes: tuple[float, float, float, float]) -> Array:
        path = close_up(
            points, label, tmp_path / "a.png", boxes=boxes, legend=legend, title="t", notes=[(0.5, 0.5, "n")]
        )
        return np.array([pixels(path, colour) for _, colour in legend.values()])

    legend_only = 100
    assert (seen((0, 4, 0, 1)) > legend_only).all()
    assert (seen((0, 1.5, 0, 1)) > legend_only).tolist() == [True, False]
    assert (seen((0, 1.5, 0, 1), (2.5, 4, 0, 1)) > legend_only).all()


def test_the_same_sweep_gives_the_same_bytes(tmp_path: Path) -> None:
    sweep = room("velodyne-vlp-16", BUILDING)
    assert birds_eye(sweep, tmp_path / "a.png").read_bytes() == birds_eye(sweep, tmp_path / "b.png").read_bytes()


def test_mistakes_say_what_to_do(tmp_path: Path) -> None:
    sweep = room("velodyne-vlp-16", BUILDING)
    (tmp_path / "file").write_text("x")
    with pytest.raises(ResweepError, match="cannot be written"):
        birds_eye(sweep, tmp_path / "file" / "a.png")
    for draw in (birds_eye, range_image):
        with pytest.raises(ResweepError, match="no return"):
            draw(sweep.select(np.zeros(len(sweep), bool)), tmp_path / "a.png")
    assert not (tmp_path / "a.png").exists()


def test_labels_have_the_colours_of_their_vocabulary() -> None:
    drawn = palette.label_colours(np.array([BUILDING, CAR, BUILDING]), KITTI)
    np.testing.assert_allclose(drawn[[0, 2]], [to_rgb(KITTI.colour(BUILDING))] * 2)
    np.testing.assert_allclose(drawn[1], to_rgb(KITTI.colour(CAR)))
    assert palette.label_colours(np.zeros(0, int), KITTI).shape == (0, 3)


def test_a_close_up_takes_names_and_colours_from_its_vocabulary(tmp_path: Path) -> None:
    points = np.random.default_rng(0).uniform((0, 0, 0), (4, 1, 1), (400, 3))
    picture = close_up(points, np.full(400, CAR), tmp_path / "a.png", boxes=[(0, 4, 0, 1)], labels=KITTI)
    assert pixels(picture, KITTI.colour(CAR)) > 100


def test_a_cloud_whose_sensor_is_unknown_fills_its_picture(tmp_path: Path) -> None:
    points = np.random.default_rng(0).uniform(-1, 1, (4000, 3)) + np.array([200.0, 100.0, 0.0])
    cloud = Sweep.from_points(points)

    def drawn(placed: bool) -> float:
        picture = imread(birds_eye(cloud, tmp_path / f"{placed}.png", placed=placed))[..., :3]
        return float((np.ptp(picture, axis=2) > 0.2).mean())

    assert drawn(placed=False) > 2 * drawn(placed=True)
