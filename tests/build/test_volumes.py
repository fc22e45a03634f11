"""Permeable volumes learned from beams, and the hybrid world."""

from __future__ import annotations

import numpy as np
import pytest

import resweep as rs
from resweep.build import HybridConfig, Map, MapConfig, VolumeConfig
from resweep.build.plan import resolve
from resweep.build.volumes.clusters import bottom_up, top_down
from resweep.build.volumes.gaussians import fit_gaussians, fit_neighbours
from resweep.build.volumes.permeability import OwnVolumes
from resweep.build.volumes.volumes import VolumeEstimate
from resweep.errors import ResweepError
from resweep.map.beams import extract_beams
from resweep.map.observed_voxels import measure_ring_gap
from resweep.simulate import Retracer
from resweep.sweep import Sweep
from resweep.voxels import number_voxels
from resweep.worlds import Splats, Volumes, World
from tests.places import BUILDING, LABELS, VEGETATION, at, log_of, plane
from tests.reference.permeable_volumes import count_beams

BARE = {"calibrate": None, "map": MapConfig(ego_radius_m=0.0, moving="none")}
BUSH, WALL = VEGETATION, BUILDING


def bush_log(sweeps: int = 6, seed: int = 0, pose: np.ndarray | None = None) -> rs.Log:
    """Beams at a bush of loose leaves 8 m ahead, before a wall at 12 m: 60 % are let through."""
    rng = np.random.default_rng(seed)
    pose = np.eye(4) if pose is None else pose
    made = []
    for index in range(sweeps):
        y, z = (a.ravel() for a in np.meshgrid(np.linspace(-0.15, 0.15, 50), np.linspace(-0.1, 0.1, 40)))
        direction = np.stack([np.ones_like(y), y, z], axis=1)
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        near = (np.abs(y) < 0.06) & (np.abs(z) < 0.06)
        stopped = near & (rng.random(len(y)) < 0.4)
        reach = np.where(stopped, 8.0 + 0.2 * rng.standard_normal(len(y)), 12.0 / direction[:, 0])
        reach += 0.005 * rng.standard_normal(len(y))
        label = np.where(stopped, BUSH, WALL).astype(np.int32)
        made.append(Sweep.from_points(direction * reach[:, None], pose=pose, timestamp=0.1 * index, label=label))
    return rs.Log.from_sweeps(made, "bush", labels=LABELS)


def test_voxels_are_maximum_likelihood_gaussians() -> None:
    rng = np.random.default_rng(1)
    points = rng.uniform(0, 1, (4000, 3)).astype(np.float32)
    cluster = number_voxels(points, 0.5)
    config = VolumeConfig(voxel_m=0.5, noise_m=0.001)
    fitted = fit_gaussians(points, cluster, config)
    assert len(fitted.mean) == 8
    for volume in range(8):
        own = points[cluster == volume].astype(np.float64)
        assert len(np.unique(np.floor(own / 0.5), axis=0)) == 1
        assert fitted.mean[volume] == pytest.approx(own.mean(axis=0))
        expected = np.cov(own.T, bias=True)
        assert fitted.covariance[volume] == pytest.approx(expected[np.triu_indices(3)], abs=1e-9)


def test_labels_never_share_a_volume() -> None:
    points = np.random.default_rng(2).uniform(0, 0.3, (300, 3)).astype(np.float32)
    kind = np.arange(300) % 3
    for cluster in (
        number_voxels(points, 0.3, kind),
        top_down(points, kind, 10, 0.0, 0.01),
        bottom_up(points, kind, 0.1, 0.5, 1.0, 0.01),
    ):
        for volume in range(cluster.max() + 1):
            assert len(np.unique(kind[cluster == volume])) == 1


def test_few_points_and_thin_ones_stay_wide_enough() -> None:
    config = VolumeConfig(voxel_m=0.3, noise_m=0.02, min_points=5)
    alone = fit_gaussians(np.zeros((1, 3), np.float32), np.zeros(1, int), config)
    # One point counts once and the ball of a uniform voxel four times.
    assert alone.covariance[0, [0, 3, 5]] == pytest.approx(0.8 * 0.3**2 / 12)
    flat = np.random.default_rng(3).uniform(0, 0.3, (100, 3)).astype(np.float32) * [1, 1, 0]
    covariance = fit_gaussians(flat.astype(np.float32), np.zeros(100, int), config).covariance[0]
    assert covariance[5] == pytest.approx(0.02**2, rel=1e-3)
    assert covariance[0] > 0.05**2


def test_neighbours_are_wider_where_the_map_is_sparse() -> None:
    rng = np.random.default_rng(4)
    points = np.concatenate([rng.uniform(0, 1, (8000, 3)), rng.uniform(0, 1, (300, 3)) + np.array([5, 0, 0])]).astype(
        np.float32
    )
    config = VolumeConfig(method="neighbours", voxel_m=0.05, noise_m=0.001)
    cluster = number_voxels(points, config.voxel_m)
    fitted = fit_neighbours(points, cluster, config)
    size = np.cbrt(np.sqrt(fitted.covariance[:, [0, 3, 5]].prod(axis=1)))
    dense, sparse = size[fitted.mean[:, 0] < 3].mean(), size[fitted.mean[:, 0] > 3].mean()
    assert sparse == pytest.approx(dense * np.cbrt(8000 / 300), rel=0.35)


def test_points_seen_from_afar_may_lie_farther_apart() -> None:
    """Three points 0.5 m apart are one wide volume each if rings spread so far, and small balls if they do not."""
    points = np.array([[40, -0.5, 0], [40, 0, 0.1], [40, 0.5, 0]], np.float32)
    cluster, seen_from = np.arange(3), np.full(3, 40.0, np.float32)
    sizes = {}
    for slope in (None, 0.005, 0.02):
        config = VolumeConfig(method="neighbours", voxel_m=0.05, neighbours=3, neighbour_slope=slope)
        sizes[slope] = np.sqrt(fit_neighbours(points, cluster, config, range_m=seen_from).covariance[:, 3])
    assert sizes[None] == pytest.approx(config.noise_m)
    assert (sizes[0.005] == sizes[None]).all()  # less than the radius that always counts
    assert (sizes[0.02] > 0.25).all()
    near = fit_neighbours(points, cluster, config, range_m=seen_from / 4)
    assert np.sqrt(near.covariance[:, 3]) == pytest.approx(config.noise_m)
    far = fit_neighbours(points * [1, 4, 1], cluster, config, range_m=100 * seen_from)
    assert np.sqrt(far.covariance[:, 3]) == pytest.approx(config.noise_m)  # never farther than MAX_REACH_M


def test_volumes_reach_as_far_as_the_rings_of_the_recording() -> None:
    elevation = np.radians(np.linspace(-20, 10, 16))
    azimuth = np.linspace(0, 6, 40)
    up, around = (part.ravel() for part in np.meshgrid(elevation, azimuth, indexing="ij"))
    points = 20 * np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], axis=1)
    sweep = rs.Sweep.from_points(points, pose=np.eye(4), ring=np.repeat(np.arange(16), 40))
    log = rs.Log.from_sweeps([sweep], "rings")
    gap = np.radians(2.0)
    assert measure_ring_gap(log) == pytest.approx(gap, rel=1e-3)
    chosen = resolve(log, HybridConfig(calibrate=None)).config
    assert chosen.volumes.neighbour_slope == pytest.approx(gap, rel=1e-3)
    given = HybridConfig.model_validate({"calibrate": None, "volumes": {"neighbour_slope": 0.0}})
    assert resolve(log, given).config.volumes.neighbour_slope == 0.0
    assert resolve(log, chosen).config == chosen
    dense = rs.Log.from_sweeps([sweep], "dense", sensor=rs.load_sensor("velodyne-hdl-64e"))
    assert resolve(dense, HybridConfig(calibrate=None)).config.volumes.neighbour_slope == 0.0
    assert resolve(log, VolumeConfig()).config.neighbour_slope is None  # voxels have no neighbours


def test_two_means_part_two_heaps() -> None:
    rng = np.random.default_rng(5)
    heaps = [rng.normal(0, 0.1, (200, 3)), rng.normal(0, 0.1, (150, 3)) + np.array([3, 1, 0])]
    points = np.concatenate(heaps).astype(np.float32)
    cluster = top_down(points, np.zeros(350, int), 100, 0.0, 0.01)
    assert cluster.max() == 1
    assert len(np.unique(cluster[:200])) == 1
    assert len(np.unique(cluster[200:])) == 1


def test_a_gaussian_is_left_whole_and_a_ring_is_not() -> None:
    rng = np.random.default_rng(6)
    zeros = np.zeros(2000, int)
    heap = rng.normal(0, 0.2, (2000, 3)).astype(np.float32)
    assert top_down(heap, zeros, 20, 3.0, 0.001).max() == 0
    assert top_down(heap, zeros, 20, 0.0, 0.001).max() > 20
    angle = rng.uniform(0, 2 * np.pi, 2000)
    ring = np.stack([np.cos(angle), np.sin(angle), 0.05 * rng.standard_normal(2000)], axis=1).astype(np.float32)
    assert top_down(ring, zeros, 20, 3.0, 0.001).max() > 1


def test_regions_grow_over_a_wall_and_not_across_a_gap() -> None:
    wall = plane(0.5, 0.02)
    points = np.concatenate([wall, wall + np.array([0, 0, 0.5])]).astype(np.float32)
    cluster = bottom_up(points, np.zeros(len(points), int), 0.1, 0.8, 5.0, 0.01)
    low, high = np.unique(cluster[: len(wall)]), np.unique(cluster[len(wall) :])
    assert not set(low) & set(high)
    assert len(low) < 30  # of 100 cells
    bounded = bottom_up(points, np.zeros(len(points), int), 0.1, 0.8, 0.3, 0.01)
    assert bounded.max() > cluster.max()


def test_permeability_is_that_of_the_beams() -> None:
    log = bush_log(pose=at(0.0, 0.49, 0.49))  # from the corner of a voxel, which so holds the whole bush
    world = rs.build(log, VolumeConfig(voxel_m=4.5, tau=2.0, noise_m=0.005, **BARE), progress=False)
    (volumes,) = world.layers
    assert isinstance(volumes, Volumes)
    bush = volumes.label == BUSH
    assert bush.sum() > 0
    middle = np.argmax(volumes.extra["stopped"][bush])
    # A bit more than 0.6: some leaves lie beyond tau, and some beams within it miss the square bush.
    assert 0.6 < volumes.permeability[bush][middle] < 0.72
    assert volumes.permeability[~bush].max() < 0.2


def test_counts_are_those_of_every_beam_against_every_volume() -> None:
    log, config = bush_log(3), VolumeConfig(voxel_m=0.5, noise_m=0.01, **BARE)
    map = Map.from_log(log, config.map)
    estimate = VolumeEstimate(map, config)
    for sweep in map.sweeps("counting"):
        estimate.add(map.beams(sweep, config.empty_range_m))
    volumes, counts = estimate.volumes, estimate.counts
    own = OwnVolumes(map.cloud.points, estimate.cluster, volumes)
    every = [extract_beams(sweep, map.origin, np.ones(len(sweep), bool), 80.0) for sweep in log]
    parts = [own.clip_to_own_volume(beams) for beams in every]
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in ("origin", "direction", "length")]
    passed, stopped, _ = count_beams(volumes, *columns, np.concatenate([part.returned for part in parts]))
    assert np.abs(counts.passed - passed).max() <= 2
    assert counts.stopped.sum() == pytest.approx(stopped.sum(), rel=0.01)


def test_beams_that_hit_nothing_pass_and_those_on_movers_end() -> None:
    sweep = Sweep.from_points(np.array([[5.0, 0, 0], [0, 7.0, 0]]), pose=np.eye(4))
    beams = extract_beams(sweep, np.zeros(3), np.array([True, False]), 60.0)
    assert beams.length.tolist() == [5.0, 7.0]
    assert beams.returned.tolist() == [True, False]


def test_the_hybrid_keeps_walls_as_splats_and_bushes_as_volumes() -> None:
    log = bush_log()
    world = rs.build(log, HybridConfig(**BARE), progress=False)
    kinds = {type(layer): layer for layer in world.layers}
    assert set(np.unique(kinds[Splats].label)) == {WALL}
    assert set(np.unique(kinds[Volumes].label)) == {BUSH}
    # Drawn beams are let through as often as the real ones were.
    held = bush_log(1, seed=9)[0]
    drawn = [Retracer(world, seed=seed).sweep(held) for seed in range(20)]
    share = np.mean([np.mean(sweep.range < 10) for sweep in drawn])
    assert share == pytest.approx(np.mean(held.range < 10), abs=0.02)
    assert {2, 3} == set(np.unique(drawn[0].extra["primitive"]))


def test_likelihood_prefers_the_world_that_the_beams_came_from() -> None:
    log, held = bush_log(), bush_log(1, seed=9)[0]
    hybrid = rs.build(log, HybridConfig(**BARE), progress=False)
    solid = rs.build(log, rs.SplatConfig(**BARE), progress=False)
    figures = [rs.evaluate(held, held, world=world)["log_likelihood"] for world in (hybrid, solid)]
    assert figures[0] > figures[1] + 0.1
    moved = World(hybrid.layers, hybrid.origin + np.array([1.0, 0, 0]), hybrid.meta)
    assert rs.evaluate(held, held, world=moved)["log_likelihood"] < figures[0] - 1


def test_without_labels_the_shape_decides() -> None:
    rng = np.random.default_rng(7)
    ground = plane(4.0, 0.06, 0.005)
    bush = rng.normal(0, 0.4, (4000, 3)) + np.array([0, 0, 2.0])
    log = log_of([np.concatenate([ground, bush])], [at(-6.0)])
    world = rs.build(log, HybridConfig(permeable=("non_surface",), **BARE), progress=False)
    splats, volumes = world.layers
    assert isinstance(splats, Splats)
    assert isinstance(volumes, Volumes)
    assert (np.abs(splats.centre[:, 2] + world.origin[2]) < 0.3).mean() > 0.85
    assert (volumes.mean[:, 2] + world.origin[2] > 0.3).mean() > 0.9


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"voxel_m": 500.0}, "larger than the scene"),
        ({"voxel_m": 0.01}, "less than the noise"),
    ],
)
def test_voxels_that_cannot_be_are_refused(change: dict[str, float], says: str) -> None:
    with pytest.raises(ResweepError, match=says):
        rs.build(bush_log(1), VolumeConfig(**change, **BARE), progress=False)


@pytest.mark.parametrize("tau", [0.0, -2.0])
def test_tau_must_be_positive(tau: float) -> None:
    with pytest.raises(ResweepError, match="tau"):
        VolumeConfig(tau=tau)
