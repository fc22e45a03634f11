"""Points against range images: the kernel against its reference, images on disk, and rules for parts of a map."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.boxes import Boxes
from resweep.build import Cloud, MapConfig, accumulate
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.map.accumulate import read_columns
from resweep.map.config import VisibilityConfig
from resweep.map.images import HeldImages, ImageStore
from resweep.map.moving import MovingFinder, MovingRule
from resweep.map.visibility import RangeImage, count_seen_through, find_seen_through, reaches
from resweep.pose import Array
from resweep.scenes import SCENES
from tests.places import LABELS, at, cloud_of
from tests.reference import map_kernels as reference

Numbered = list[tuple[int, RangeImage]]


@pytest.fixture(scope="module")
def street() -> Log:
    """Six sweeps 12 m apart along a street, from a sensor that sees 25 m far."""
    sensor = rs.load_sensor("velodyne-hdl-32e").with_(**{"beam.rays": "single", "range_max_m": 25.0})
    sim = rs.Simulator(SCENES["street"](seed=1), sensor, seed=3)
    return Log.from_sweeps([sim.sweep(at(12.0 * step - 30.0)) for step in range(6)], "street", labels=LABELS)


@pytest.fixture(scope="module")
def cloud(street: Log) -> Cloud:
    return accumulate(street, MapConfig(moving="none"))


def images_of(log: Log, config: VisibilityConfig) -> Numbered:
    return [(number, RangeImage.from_sweep(sweep, config.cell_deg)) for number, sweep in enumerate(log)]


def box_of(cloud: Cloud) -> tuple[Array, Array]:
    return cloud.origin + cloud.points.min(axis=0), cloud.origin + cloud.points.max(axis=0)


def part_of(cloud: Cloud, low: float, high: float) -> Array:
    return np.flatnonzero((cloud.points[:, 0] >= low) & (cloud.points[:, 0] < high))


@pytest.mark.parametrize("cell_deg", [0.15, 0.7, 0.75, 5.0])
def test_the_kernel_counts_as_its_reference(street: Log, cloud: Cloud, cell_deg: float) -> None:
    config = VisibilityConfig(cell_deg=cell_deg, margin_m=0.05, margin_per_m=0.001)
    images = images_of(street[:2], config)
    some = cloud[np.arange(0, len(cloud), 3)]
    got, want = count_seen_through(some, images, config), reference.count_seen_through(some, images, config)
    for counted, expected in zip(got, want, strict=True):
        assert (counted == expected).all()
        assert expected.sum() > 100


def test_borders_of_cells_are_those_of_the_reference() -> None:
    """Points on the borders, on the axes, at the poles, behind the sensor and at its place."""
    config = VisibilityConfig(cell_deg=3.0)
    angle = np.radians(np.arange(0, 360, 1.5))
    ring = np.stack([np.cos(angle), np.sin(angle), np.zeros_like(angle)], axis=1)
    arc = np.stack([np.cos(angle), np.zeros_like(angle), np.sin(angle)], axis=1)
    axes = np.concatenate([np.eye(3), -np.eye(3), np.zeros((1, 3)), [[-1.0, -0.0, 0.0]]])
    points = np.concatenate([ring, arc, axes, 3 * ring, 3 * arc])
    rng = np.random.default_rng(0)
    shape = (round(180 / 3), round(360 / 3))
    near = rng.uniform(0.5, 5.0, shape).astype(np.float32)
    near[rng.uniform(size=shape) < 0.2] = np.inf
    far = np.where(np.isfinite(near), near + rng.uniform(0, 2, shape), -np.inf).astype(np.float32)
    images = [(7, RangeImage(np.eye(4), near[10:50].copy(), far[10:50].copy(), 10))]
    seen = cloud_of(points)
    got, want = count_seen_through(seen, images, config), reference.count_seen_through(seen, images, config)
    assert (got[0] == want[0]).all()
    assert (got[1] == want[1]).all()
    assert want[0].any()
    assert want[1].any()


def test_images_that_do_not_reach_a_part_say_nothing_about_it(street: Log, cloud: Cloud) -> None:
    config = VisibilityConfig()
    images = images_of(street, config)
    part = cloud[part_of(cloud, 0.0, 10.0)]
    low, high = box_of(part)
    near = [(n, image) for n, image in images if reaches(image.pose[:3, 3], image.reach_m, low, high, config)]
    assert 0 < len(near) < len(images)
    left_out = [item for item in images if item[0] not in {number for number, _ in near}]
    for counted in reference.count_seen_through(part, left_out, config):
        assert not counted.any()
    assert (find_seen_through(part, near, config) == find_seen_through(part, images, config)).all()
    # The bound is tight: of a box just within reach some point would be confirmed.
    image = images[0][1]
    wall = cloud_of((image.pose[:3, 3] + [[image.reach_m, 0.0, 0.0]]).astype(np.float32))
    assert reaches(image.pose[:3, 3], image.reach_m, *box_of(wall), config)


def test_an_image_of_other_cells_is_refused(street: Log, cloud: Cloud) -> None:
    with pytest.raises(ResweepError, match="cell_deg"):
        find_seen_through(cloud, images_of(street[:1], VisibilityConfig(cell_deg=1.5)), VisibilityConfig())


def test_images_on_disk_are_those_in_memory(street: Log, cloud: Cloud, tmp_path: Path) -> None:
    config = VisibilityConfig()
    held, store = HeldImages(), ImageStore(tmp_path / "images")
    for number, image in reversed(images_of(street, config)):
        held.add(number, image)
        store.add(number, image)
    assert store.numbers() == list(range(6))
    part = cloud[part_of(cloud, 0.0, 10.0)]
    expected = list(held.reaching(*box_of(part), config))
    for other in (store, pickle.loads(pickle.dumps(store)), ImageStore(tmp_path / "images")):
        found = list(other.reaching(*box_of(part), config))
        assert [number for number, _ in found] == [number for number, _ in expected]
        for (_, image), (_, same) in zip(found, expected, strict=True):
            assert image.row == same.row
            assert image.near.dtype == np.float32
            for name in ("pose", "near", "far"):
                assert getattr(image, name).tobytes() == getattr(same, name).tobytes()


def test_a_damaged_image_is_named(street: Log, tmp_path: Path) -> None:
    store = ImageStore(tmp_path)
    store.add(3, RangeImage.from_sweep(street[0], 0.75))
    (tmp_path / "image-00000003.piece").write_bytes(b"PK")
    with pytest.raises(ResweepError, match="image-00000003"):
        list(ImageStore(tmp_path).reaching(np.full(3, -1e3), np.full(3, 1e3), VisibilityConfig()))


def gather(log: Log, config: MapConfig, finder: MovingFinder, first: int, last: int) -> list[Array]:
    """Let a finder take some sweeps; gives the tracks of their points."""
    tracks = []
    for number in range(first, last):
        part = read_columns(log[number], number, np.round(log.poses[0][:3, 3]), config)
        finder.add(log[number], part["label"], part["track"])
        tracks.append(part["track"])
    return tracks


@pytest.mark.parametrize("moving", ["visibility", "boxes"])
def test_a_rule_gives_parts_what_it_gives_the_whole(street: Log, tmp_path: Path, moving: str) -> None:
    size, heading = np.array([[4.0, 2.0, 2.0]]), np.zeros(1)
    sweeps = [
        replace(
            sweep,
            timestamp=0.1 * number,
            boxes=Boxes(np.array([[6.0 + number, 0.0, -1.0]]), size, heading, ["car"], track=np.array([5]))
            if moving == "boxes" and number < 4
            else None,
        )
        for number, sweep in enumerate(street)
    ]
    log = Log.from_sweeps(sweeps, "street", labels=LABELS)
    config = MapConfig(moving=moving)  # type: ignore[arg-type]
    cloud = accumulate(log, MapConfig(moving="none"))
    finder = MovingFinder(log, config, LABELS, ImageStore(tmp_path))
    later = MovingFinder(log, config, LABELS, ImageStore(tmp_path), first=2)
    tracks = np.concatenate([*gather(log, config, finder, 0, 2), *gather(log, config, later, 2, 6)])
    finder.extend(pickle.loads(pickle.dumps(later)))
    rule: MovingRule = pickle.loads(pickle.dumps(finder.decide()))
    whole = rule.find_static(cloud, tracks)
    assert whole is not None
    assert 0 < (~whole).sum() < 0.2 * len(whole)
    assert len(accumulate(log, config)) == whole.sum()
    rng = np.random.default_rng(0)
    for low in np.arange(-60.0, 60.0, 20.0):
        rows = rng.permutation(part_of(cloud, low, low + 20.0))
        assert (rule.find_static(cloud[rows], tracks[rows]) == whole[rows]).all()
    assert rule.find_static(cloud[:0], tracks[:0]).shape == (0,)  # type: ignore[union-attr]


def test_a_finder_of_other_sweeps_is_refused(street: Log) -> None:
    config = MapConfig()
    with pytest.raises(ValueError, match="follow"):
        MovingFinder(street, config, LABELS).extend(MovingFinder(street, config, LABELS, first=3))
