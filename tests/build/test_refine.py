"""Refinement by likelihood: primitives move to where recorded beams end, and what the kept beams refuse is undone."""

from __future__ import annotations

import numpy as np
import pytest

import resweep as rs
from resweep.build import HybridConfig, Map, MapConfig, SurfelConfig
from resweep.build.refine.refine import refine
from resweep.build.refine.refine_beams import find_volumes, sum_beams
from resweep.build.refine.steps import change_splats
from resweep.build.settings.refine import REFINEMENTS
from resweep.errors import ResweepError
from resweep.log import Log
from resweep.map.beams import Beams
from resweep.pose import from_xyz_rpy
from resweep.simulate.recorded_sensor import make_one_ray_sensor
from resweep.worlds import Splats, Volumes
from tests.places import LABELS, POLE, VEGETATION, WALL_M, beams_to, wall, work


def test_a_wall_that_was_displaced_by_3_cm_comes_back() -> None:
    moved = work().take([wall(WALL_M + 0.03)], [("splats",)] * 3, [beams_to(WALL_M)])[0]
    assert isinstance(moved, Splats)
    np.testing.assert_allclose(np.median(moved.centre[:, 0]), WALL_M, atol=0.003)


def test_the_rounds_that_builds_take_by_default_bring_a_displaced_wall_back() -> None:
    moved = work().take([wall(WALL_M + 0.03)], REFINEMENTS[HybridConfig().refine].rounds, [beams_to(WALL_M)])[0]
    assert isinstance(moved, Splats)
    np.testing.assert_allclose(np.median(moved.centre[:, 0]), WALL_M, atol=0.01)


def test_steps_are_chosen_while_the_kept_beams_find_them_better() -> None:
    refinement = work()
    steps = refinement.choose([wall(WALL_M + 0.03)], [beams_to(WALL_M)], [beams_to(WALL_M, seed=1)])
    assert 1 <= steps.count(("splats",)) < 4  # it stops once the wall is there
    assert [better for kind, _, better in refinement.history if kind == "splats"][-1] is False


def test_steps_that_the_kept_beams_refuse_are_not_taken() -> None:
    """The beams to learn from see the wall where the kept ones do not."""
    steps = work().choose([wall(WALL_M)], [beams_to(WALL_M - 0.03)], [beams_to(WALL_M, seed=1)])
    assert ("splats",) not in steps


def test_a_splat_in_front_of_the_wall_that_every_beam_passes_is_cut_away() -> None:
    both = wall(WALL_M)
    centre = np.concatenate([both.centre, [[WALL_M - 2.0, 0.0, 0.0]]])
    normal, radius = np.concatenate([both.normal, both.normal[:1]]), np.concatenate([both.radius, [0.2]])
    left = work().take([Splats(centre, normal, radius, depth=8)], [("splats",)], [beams_to(WALL_M)])[0]
    assert isinstance(left, Splats)
    assert left.centre[:, 0].min() > WALL_M - 1.0


def fence(permeability: float, exposure_m: float | None) -> Volumes:
    """One flat volume across all beams, a metre before the wall."""
    exposed = None if exposure_m is None else np.array([exposure_m])
    covariance = np.array([[0.02**2, 0, 0, 1.0, 0, 1.0]])
    return Volumes(np.array([[WALL_M - 1.0, 0, 0]]), covariance, permeability, exposed)


@pytest.mark.parametrize("exposure_m", [None, 0.02])
def test_a_fence_lets_as_many_beams_through_as_were_recorded_behind_it(exposure_m: float | None) -> None:
    rng = np.random.default_rng(2)
    beams = beams_to(np.where(rng.random(4000) < 0.7, WALL_M, WALL_M - 1.0), noise_m=0.005)
    volumes = work().take([wall(WALL_M), fence(0.1, exposure_m)], [("volumes",)] * 3, [beams])[1]
    assert isinstance(volumes, Volumes)
    np.testing.assert_allclose(volumes.permeability[0], 0.7, atol=0.05)


def test_a_volume_is_born_where_beams_end_in_nothing() -> None:
    """A point of the map in front of the wall, which no primitive stands for."""
    pole = np.array([WALL_M - 2.0, 0.5, 0.5])
    beams, ends = beams_to(WALL_M, 200), np.linalg.norm(pole)
    rows = np.arange(50)
    beams.direction[rows], beams.length[rows] = (pole / ends).astype(np.float32), np.float32(ends)
    layers = work().take([wall(WALL_M), fence(1.0, 0.02)], [("densify",), ("volumes",), ("volumes",)], [beams])
    volumes = layers[1]
    assert isinstance(volumes, Volumes)
    assert len(volumes) == 2
    np.testing.assert_allclose(volumes.mean[1], pole, atol=1e-3)
    assert volumes.label[1] == POLE
    assert volumes.permeability[1] < 0.2
    wide = sum_beams(layers, [beams[rows]], 80.0, 0.0, 0.03, 0.02)
    assert wide.log_likelihood > sum_beams([wall(WALL_M)], [beams[rows]], 80.0, 0.0, 0.03, 0.02).log_likelihood + 5


def test_a_volume_is_reported_of_the_beams_that_come_back_empty() -> None:
    """Those passed it, as those that end behind it do."""
    found = sum_beams([fence(0.5, None)], [beams_to(np.inf)], 80.0, 0.0, 0.03, 0.02)
    passed, stopped = found.sums.let_pass()[0], found.sums.stopped()[0]
    assert passed > 3900  # of 4000; the rest is clutter's
    assert stopped == 0.0


def lattice(at_m: float) -> Splats:
    """Splats that do not overlap, in the way of most beams."""
    axis = np.arange(-0.7, 0.71, 0.2)
    y, z = (values.reshape(-1) for values in np.meshgrid(axis, axis))
    centre = np.column_stack([np.full(len(y), at_m), y, z])
    return Splats(centre, np.tile([-1.0, 0, 0], (len(y), 1)), np.full(len(y), 0.09), label=1, depth=5)


def join(one: Splats, other: Splats) -> Splats:
    """Both in one layer."""
    names = ("centre", "normal", "radius", "label", "reflectance", "instance")
    return Splats(**{name: np.concatenate([getattr(one, name), getattr(other, name)]) for name in names}, depth=5)


def through(layer: Splats, share: float) -> Beams:
    """Beams of which the share ``share`` of those that meet the layer ends on the wall, and the rest on the layer."""
    rng = np.random.default_rng(3)
    aimed = beams_to(WALL_M, 6000, noise_m=0.0)
    at = aimed.direction[:, 1:] / aimed.direction[:, :1] * layer.centre[0, 0]
    near = np.linalg.norm(at[:, None] - layer.centre[None, :, 1:], axis=2).min(axis=1) <= layer.radius[0]
    stopped = near & (rng.random(len(near)) >= share)
    return beams_to(np.where(stopped, layer.centre[0, 0], WALL_M), 6000, noise_m=0.005)


@pytest.mark.parametrize("share", [0.35, 0.7])
def test_a_fence_of_splats_lets_as_many_beams_through_as_were_recorded_behind_it(share: float) -> None:
    fence_of = lattice(WALL_M - 1.0)
    rounds = [("permeability",)] * 4
    found = work().take([join(fence_of, wall(WALL_M))], rounds, [through(fence_of, share)])[0]
    assert isinstance(found, Splats)
    assert found.permeability is not None
    front = found.centre[:, 0] < WALL_M - 0.5
    np.testing.assert_allclose(found.permeability[front].mean(), share, atol=0.05)
    assert (found.permeability[~front] == 0).all()  # the wall stays opaque


def test_splats_that_every_beam_passes_die_and_those_that_none_passes_stay_as_they_are() -> None:
    fence_of = lattice(WALL_M - 1.0)
    both = join(fence_of, wall(WALL_M))
    left = work().take([both], [("permeability",)], [through(fence_of, 1.0)])[0]
    assert isinstance(left, Splats)
    assert left.centre[:, 0].min() > WALL_M - 0.5
    same = work().take([both], [("permeability",)], [through(fence_of, 0.0)])[0]
    assert isinstance(same, Splats)
    assert "permeability" not in same.extra
    np.testing.assert_array_equal(same.centre, both.centre)


def test_sums_of_a_splat_say_how_far_it_is_off_and_who_passed() -> None:
    one = Splats(np.array([[WALL_M, 0, 0]]), np.array([[-1.0, 0, 0]]), np.array([3.0]), depth=8)
    ends = np.where(np.arange(4000) < 1000, WALL_M + 5.0, WALL_M + 0.02)
    sums = sum_beams([one], [beams_to(ends, noise_m=0.0)], 80.0, 0.0, 0.03, 0.02).sums
    np.testing.assert_allclose(sums.passed(), [1000.0], rtol=1e-6)
    np.testing.assert_allclose(sums.ended(), [3000.0], rtol=1e-2)
    np.testing.assert_allclose(sums.offset() / sums.weight(), [-0.02], atol=1e-3)  # the normal looks to the sensor


def test_threads_change_no_byte() -> None:
    rng = np.random.default_rng(2)
    ends = np.where(rng.random(4000) < 0.7, WALL_M, WALL_M - 1.0)
    layers, steps = (
        [wall(WALL_M + 0.03), fence(0.1, 0.02)],
        [("volumes", "permeability"), ("volumes", "permeability", "splats")],
    )
    splats, volumes = zip(*(work(threads=n).take(layers, steps, [beams_to(ends)]) for n in (1, 2)), strict=True)
    for columns, made in ((("centre", "radius", "permeability"), splats), (("permeability", "exposure_m"), volumes)):
        for name in columns:
            np.testing.assert_array_equal(getattr(made[0], name), getattr(made[1], name))


CONFIG = {"map": MapConfig(ego_radius_m=0.5), "calibrate": None, "permeable": ("non_surface",)}


@pytest.fixture(scope="module")
def hedge() -> Log:
    """A drive past a hedge that lets two of three beams through to the wall behind it."""
    rng = np.random.default_rng(4)
    leaves = rng.uniform([6.0, -2.0, 0.2], [6.6, 2.0, 1.8], (400, 3))
    truth = Volumes(leaves, np.tile(0.06**2 * np.array([1.0, 0, 0, 1, 0, 1]), (400, 1)), 0.75, label=VEGETATION)
    behind = wall(9.0, 0.2)
    place = rs.World([truth, change_splats(behind, centre=behind.centre * [1, 4, 1] + [0, 0, 1])], labels=LABELS)
    elevations = {"pattern.channels.elevation_deg": np.linspace(-12, 6, 24).tolist()}
    sensor = make_one_ray_sensor(0.0, 60.0).with_(**elevations, **{"pattern.azimuth_resolution_deg": 0.5})
    poses = np.stack([from_xyz_rpy(0.0, 0.1 * at, 1.5) for at in range(6)])
    return Log.from_sweeps(list(rs.Simulator(place, sensor).run(poses)), "hedge", labels=LABELS, sensor=sensor)


def test_a_refined_build_changes_the_world_and_is_the_same_again(hedge: Log) -> None:
    found = []
    for how in ("none", "fast", "fast"):
        world = rs.build(hedge, HybridConfig(**CONFIG, refine=how), progress=False)
        volumes = find_volumes(world.layers)
        assert volumes is not None
        found.append(volumes.permeability)
    assert not np.array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[1], found[2])


def test_one_sweep_is_enough_to_refine_by(hedge: Log) -> None:
    """What is seen once is all there is to learn from (a trial would have no sweep to be judged by: `resolve`)."""
    first, refined = (
        find_volumes(rs.build(hedge[:1], HybridConfig(**CONFIG, refine=each), progress=False).layers)
        for each in ("none", "fast")
    )
    assert first is not None
    assert refined is not None
    assert not np.array_equal(first.permeability, refined.permeability)


@pytest.mark.slow
def test_tiles_are_refined_too(hedge: Log) -> None:
    found = []
    for how in ("none", "fast", "full"):
        world = rs.build(hedge, HybridConfig(**CONFIG, refine=how), tile_m=50.0, progress=False)
        volumes = find_volumes(world.layers)
        assert volumes is not None
        found.append(volumes.permeability)
    assert not np.array_equal(found[0], found[1])
    assert not np.array_equal(found[1], found[2])


def test_what_is_not_refined_says_so_at_once() -> None:
    with pytest.raises(ResweepError, match="only splats, volumes and hybrids are refined"):
        SurfelConfig(refine="fast")
    with pytest.raises(ResweepError, match="refine"):
        HybridConfig(refine="slow")


def test_hybrids_are_refined_unless_they_are_reported_not_to_be() -> None:
    assert HybridConfig().refine == "fast"
    assert (
        HybridConfig().splat_config.refine == HybridConfig().volume_config.refine == rs.SplatConfig().refine == "none"
    )


def test_every_refined_layer_of_splats_says_how_permeable_it_is(hedge: Log) -> None:
    """Tiles that few beams cross are put together with others."""
    config = HybridConfig(**CONFIG, refine="fast")
    map = Map.from_log(hedge[:2], config.map)
    layer = refine(map, [wall(WALL_M)], "fast", lambda _: [], config)[0]
    assert isinstance(layer, Splats)
    np.testing.assert_array_equal(layer.extra["permeability"], np.zeros(len(layer)))
