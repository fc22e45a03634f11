"""Long drives aligned section by section, with the map around one section in memory."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from resweep.log import Log
from resweep.pose import Array, from_xyz_rpy, inverse, transform
from resweep.register import AlignConfig, align
from resweep.register.sections import MapPieces, divide_route, fade_weights
from resweep.sweep import Sweep

CONFIG = AlignConfig(section_m=40.0, segment_m=20.0, range_max_m=10.0, sweep_gap_m=2.0)


def make_alley(length_m: float) -> Array:
    """Points (n, 3) of an alley along x: ground, two walls, and the sides of boxes at uneven places."""
    rng = np.random.default_rng(4)
    n = int(450 * length_m)
    x = rng.uniform(-10, length_m + 10, n)
    y, z = rng.uniform(-4, 4, n), rng.uniform(0, 3, n)
    kind = np.arange(n) % 4
    points = np.column_stack([x, y, z])
    points[kind == 0, 2] = 0.0
    points[kind == 1, 1] = 4.0
    points[kind == 2, 1] = -4.0
    walls = np.cumsum(rng.uniform(3, 6, int(length_m)))
    boxes = kind == 3
    points[boxes, 0] = walls[np.searchsorted(walls, x[boxes]) % len(walls)]
    points[boxes, 1] = np.sign(y[boxes]) * (2.5 + 1.5 * np.abs(y[boxes]) / 4)
    return points[np.argsort(points[:, 0], kind="stable")]


def drive_alley(world: Array, poses: Array, believed: Array, seed: int, name: str) -> Log:
    """A log that sees the part of the world around its true ``poses``, and believes to be at others."""

    def load(at: int) -> Sweep:
        rng = np.random.default_rng([seed, at])
        first, last = np.searchsorted(world[:, 0], poses[at, 0, 3] + np.array([-9.0, 9.0]))
        seen = transform(inverse(poses[at]), world[first:last][rng.random(last - first) < 0.5])
        seen = seen + rng.normal(0, 0.005, seen.shape)
        return Sweep.from_points(seen, pose=believed[at], timestamp=0.1 * at)

    return Log(load, 0.1 * np.arange(len(poses)), believed, name)


def two_drives(length_m: float) -> tuple[Log, Log, Array]:
    """Two drives along an alley, the second with poses that are off and drift, and its true poses."""
    world = make_alley(length_m)
    x = np.arange(0.0, length_m)
    first = np.stack([from_xyz_rpy(at, 0.3, 1.5) for at in x])
    true = np.stack([from_xyz_rpy(at, -0.3, 1.5) for at in x])
    off = np.column_stack([0.3 + 0.2 * np.sin(x / 25), -0.2 + 0.002 * x, 0.1 * np.cos(x / 40)])
    believed = true.copy()
    believed[:, :3, 3] += off
    return (
        drive_alley(world, first, first, 1, "first"),
        drive_alley(world, true, believed, 2, "second"),
        true,
    )


def test_a_long_drive_is_aligned_in_sections() -> None:
    first, second, true = two_drives(120.0)
    (_, found), (shift,) = align([first, second], CONFIG)
    error = found.poses[:, :3, 3] - true[:, :3, 3]
    before = second.poses[:, :3, 3] - true[:, :3, 3]
    assert np.linalg.norm(before, axis=1).min() > 0.1
    assert np.linalg.norm(error, axis=1).max() < 0.05
    assert np.linalg.norm(np.diff(error, axis=0), axis=1).max() < 0.01  # no step where sections meet
    assert shift.plane_residual_m[1] < 0.02 < 0.05 < shift.plane_residual_m[0]
    assert shift.overlap > 0.9
    # One section gives the same to the noise of the sweeps.
    (_, whole), _ = align([first, second], CONFIG.model_copy(update={"section_m": 1000.0}))
    np.testing.assert_allclose(found.poses[:, :3, 3], whole.poses[:, :3, 3], atol=0.02)


def test_a_drive_that_leaves_the_map_keeps_its_shape() -> None:
    """The second drive goes on where the first ended: there it moves as it did at the end of the map."""
    first, second, true = two_drives(120.0)
    (_, found), (shift,) = align([first[:60], second], CONFIG)
    error = np.linalg.norm(found.poses[:, :3, 3] - true[:, :3, 3], axis=1)
    assert error[:55].max() < 0.05
    assert error.max() < 0.4
    assert 0.4 < shift.overlap < 0.8
    steps = np.linalg.norm(np.diff(found.poses[:, :3, 3] - second.poses[:, :3, 3], axis=0), axis=1)
    assert steps.max() < 0.02


@pytest.mark.slow
def test_memory_does_not_grow_with_the_drive() -> None:
    peaks = []
    for length_m in (80.0, 160.0):
        drives = two_drives(length_m)[:2]
        tracemalloc.start()
        try:
            align(drives, CONFIG)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0], peaks


@pytest.mark.parametrize(
    ("path_m", "count"),
    [
        (np.zeros(5), 1),
        (np.linspace(0, 59, 60), 1),
        (np.linspace(0, 400, 200), 10),
        (np.r_[np.zeros(50), np.linspace(0, 100, 50), np.full(50, 100.0)], 2),
        (np.r_[np.linspace(0, 30, 30), np.linspace(330, 360, 30)], 2),  # a gap
    ],
)
def test_sections_cover_the_drive(path_m: Array, count: int) -> None:
    sections = divide_route(path_m, CONFIG)
    assert len(sections) == count
    owned = np.concatenate([np.arange(*section.own) for section in sections])
    assert owned.tolist() == list(range(len(path_m)))
    assert all(section.begin <= section.own[0] < section.own[1] <= section.end for section in sections)
    total = np.zeros(len(path_m))
    for section, weight in zip(sections, fade_weights(sections, path_m), strict=True):
        total[section.sweeps] += weight
    np.testing.assert_allclose(total, 1.0)


def test_only_the_pieces_near_a_box_are_read(tmp_path: Path) -> None:
    pieces = MapPieces(tmp_path / "map")
    for at in range(4):
        pieces.add(np.array([[10.0 * at + 0.05, 0.05, 0.05], [10.0 * at + 5.05, 0.05, 0.05]]), whole=False)
    near = pieces.near(np.array([9.0, -1.0, -1.0]), np.array([21.0, 1.0, 1.0])).points
    np.testing.assert_allclose(np.sort(near[:, 0]), [10.05, 15.05, 20.05])
    assert len(pieces.near(np.full(3, 100.0), np.full(3, 101.0)).points) == 0
