"""Carving: beams that passed show what is not there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from resweep.build import CarveConfig
from resweep.build.splats.carve import carve
from resweep.build.splats.splats import GrowthResult
from resweep.labels import Group
from tests.places import cloud_of
from tests.reference import map_kernels as reference


def discs(group: Group = Group.SURFACE) -> GrowthResult:
    """A disc of 1 m at x = 5 whose outer part beams pass, one at x = 10 that stops them, and one never hit."""
    centre = np.float32([[5, 0, 2], [10, 0, 2], [-5, 0, 2]])
    normal = np.float32([[-1, 0, 0], [-1, 0, 0], [1, 0, 0]])
    return GrowthResult(
        centre, normal, np.float32([1, 6, 1]), np.arange(3), np.full(3, group, np.int8), np.zeros(3, np.int32), 0.3
    )


def beams(passing_at: float):
    """Beams to the first disc's centre, and beams that return from the second after crossing the first."""
    turn = np.linspace(0, 2 * np.pi, 40)
    rim = 2 * passing_at * np.column_stack([np.cos(turn), np.sin(turn)])
    far = np.column_stack([np.full(40, 10.0), rim[:, 0], 2 + rim[:, 1]])
    near = np.tile([5.0, 0.0, 2.0], (5, 1))
    return cloud_of(np.concatenate([far, near])).returns


def test_a_splat_is_cut_back_to_the_beams_that_passed_it():
    carved = carve(discs(), beams(0.6), CarveConfig())
    assert len(carved.radius) == 3
    assert 0.5 < carved.radius[0] < 0.6
    assert carved.radius[1] == 6
    assert carved.radius[2] == 1


def test_a_splat_that_all_beams_pass_is_left_out():
    carved = carve(discs(), beams(0.0), CarveConfig(ratio=0.0))
    assert np.array_equal(carved.seed, [1, 2])


def test_beams_that_return_from_a_splat_speak_for_it():
    assert carve(discs(), beams(0.6), CarveConfig(ratio=100.0)).radius[0] == 1
    assert carve(discs(Group.LINEAR), beams(0.6), CarveConfig(ratio_linear=100.0)).radius[0] == 1
    assert carve(discs(), beams(0.6), CarveConfig(rounds=0)).radius[0] == 1


def crowd(n: int) -> GrowthResult:
    """Discs of all sizes and directions around x = 8, a tenth of them poles."""
    rng = np.random.default_rng(3)
    normal = rng.normal(size=(n, 3))
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    group = np.where(np.arange(n) % 10, Group.SURFACE, Group.LINEAR).astype(np.int8)
    centre = rng.normal([8, 0, 2], [2, 1, 1], (n, 3))
    columns = [column.astype(np.float32) for column in (centre, normal, rng.uniform(0.001, 0.6, n))]
    return GrowthResult(*columns, np.arange(n), group, np.zeros(n, np.int32), 0.3)


def crowd_beams(n: int):
    rng = np.random.default_rng(4)
    return replace(cloud_of(rng.normal([9, 0, 2], [3, 1, 1], (n, 3))), seen=rng.random(n) < 0.9)


def test_carving_is_that_of_the_reference():
    discs, beams, config = crowd(150), crowd_beams(1500), CarveConfig(margin_per_m=0.01)
    ratio = np.where(discs.group == Group.LINEAR, config.ratio_linear, config.ratio)
    expected = reference.carve(discs.centre, discs.normal, discs.radius, ratio, beams, config)
    carved = carve(discs, beams.returns, config)
    assert 0 < len(carved.radius) < 150  # some are left out
    assert np.array_equal(carved.seed, np.flatnonzero(expected > 0))
    assert np.allclose(carved.radius, expected[carved.seed], rtol=1e-3)
    assert (carved.radius < 0.9 * discs.radius[carved.seed]).any()  # and some cut back


def test_carving_is_the_same_on_any_number_of_threads():
    discs, beams = crowd(3000), crowd_beams(60_000)
    one, two = (carve(discs, beams.returns, CarveConfig(), threads) for threads in (1, 2))
    assert np.array_equal(one.seed, two.seed)
    assert np.array_equal(one.radius, two.radius)
