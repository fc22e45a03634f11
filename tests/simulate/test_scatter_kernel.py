"""What the kernel of recorded scatter draws, against its NumPy reference: the same bytes, on any threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resweep import _core
from resweep.pose import Array
from resweep.sensor_scatter import (
    SURFACE,
    VOLUME,
    DropTable,
    IntensityScatter,
    IntensityTable,
    RangeNoise,
    find_bins,
    find_cosine_limits,
    find_incidence,
)
from resweep.simulate.beam_channels import VOLUMES
from resweep.simulate.world_noise import IntensityDraw, lose_beams, scatter_range
from resweep.sweep import BeamStatus, Sweep
from tests.reference import scatter as reference

RINGS, TURNS, LASERS = 6, 4000, 5  # the last ring is no laser of the recording
KINDS = (40, 70, SURFACE, VOLUME)
EDGES_M = (5.0, 20.0)
INCIDENCE_DEG = (30.0, 60.0, 85.0)


def make_scatter(step: float, next_weight: float) -> IntensityScatter:
    random = np.random.default_rng(0)
    tables = []
    for knots, levels in ((1, 5), (4, 5), (3, 2)):  # of different shapes: the kernel fills them up
        rows = np.sort(random.uniform(0.0, 1.0, (knots, levels)), axis=1)
        expected = np.sort(random.uniform(0.0, 1.0, knots))
        tables.append(IntensityTable(expected=tuple(expected.tolist()), quantiles=tuple(map(tuple, rows.tolist()))))
    shape = (len(KINDS), LASERS, len(EDGES_M) + 1)
    return IntensityScatter(
        kinds=KINDS,
        range_edges_m=EDGES_M,
        tables=tuple(tables),
        table_of=tuple(map(tuple, random.integers(0, 3, shape[::2]).tolist())),
        response=random.uniform(0.5, 2.0, shape[1:]).tolist(),
        shift=random.uniform(-1.0, 1.0, shape).tolist(),
        spread=random.uniform(0.2, 2.0, shape).tolist(),
        next_weight=next_weight,
        step=step,
        ceiling=0.9,
    )


def make_sweep(order: str) -> Sweep:
    """Beams ring by ring, turn by turn or in any order; some return twice, some never, and some from volumes."""
    random = np.random.default_rng(1)
    count = RINGS * TURNS
    number = np.arange(count)
    if order == "turns":
        number = number.reshape(RINGS, TURNS).T.reshape(-1)
    elif order == "any":
        number = random.permutation(count)
    beam = np.sort(np.r_[np.arange(0, count, 2), np.arange(0, count, 6)]).astype(np.int32)
    second = np.r_[False, beam[1:] == beam[:-1]]
    size = len(beam)
    return Sweep(
        beam_origin=np.zeros((count, 3), np.float32),
        beam_direction=np.tile(np.float32([1, 0, 0]), (count, 1)),
        beam_time=np.zeros(count),
        beam_ring=number // TURNS,
        beam_column=number % TURNS // 2,  # two beams a turn
        beam_status=np.full(count, BeamStatus.RETURN, np.uint8),
        beam=beam,
        range=random.uniform(0.0, 40.0, size),
        intensity=random.uniform(0.0, 1.2, size),
        return_index=second,
        label=random.choice([0, 40, 70, 90], size),
        instance=np.zeros(size),
        pose=np.eye(4),
        extra={
            "cosine": random.uniform(-0.1, 1.1, size).astype(np.float32),
            "primitive": random.choice([VOLUMES, VOLUMES + 1], size).astype(np.uint8),
        },
    )


@pytest.mark.parametrize("order", ["rings", "turns", "any"])
@pytest.mark.parametrize(("step", "weight"), [(0.01, -0.2), (0.0, 0.0)])
def test_intensities_are_those_of_the_reference(order: str, step: float, weight: float) -> None:
    scatter, sweep = make_scatter(step, weight), make_sweep(order)
    gains = np.random.default_rng(2).uniform(0.5, 2.0, len(sweep)).astype(np.float32)
    for gain in (gains, None):
        expected = reference.ReferenceIntensityDraw(scatter).scatter(sweep, gain, seed=7, index=3).intensity
        for threads in (1, 2):
            found = IntensityDraw(scatter).scatter(sweep, gain, seed=7, index=3, threads=threads).intensity
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("columns", [("cosine", "primitive"), ("primitive",), ()])
@pytest.mark.parametrize("step", [0.0, 0.002])
def test_ranges_are_those_of_the_reference(columns: tuple[str, ...], step: float) -> None:
    sweep = make_sweep("rings")
    sweep = replace(sweep, extra={name: sweep.extra[name] for name in columns})
    sigma = np.random.default_rng(3).uniform(0.0, 0.1, (3, 4)).tolist()
    noise = RangeNoise(range_edges_m=EDGES_M, incidence_edges_deg=INCIDENCE_DEG, sigma_m=sigma, step_m=step)
    expected = reference.scatter_range(sweep, noise, seed=7, index=3).range
    for threads in (1, 2):
        np.testing.assert_array_equal(scatter_range(sweep, noise, seed=7, index=3, threads=threads).range, expected)


@pytest.mark.parametrize("columns", [("cosine", "primitive"), ()])
def test_lost_beams_are_those_of_the_reference(columns: tuple[str, ...]) -> None:
    sweep = make_sweep("any")
    sweep = replace(sweep, extra={name: sweep.extra[name] for name in columns})
    chance = np.random.default_rng(4).uniform(0.0, 1.0, (3, 4, 3)).tolist()
    drops = DropTable(
        range_edges_m=EDGES_M, incidence_edges_deg=INCIDENCE_DEG, intensity_edges=(0.2, 0.6), probability=chance
    )
    expected = reference.lose_beams(sweep, drops, seed=7, index=3)
    for threads in (1, 2):
        found = lose_beams(sweep, drops, seed=7, index=3, threads=threads)
        np.testing.assert_array_equal(found.beam, expected.beam)
        np.testing.assert_array_equal(found.beam_status, expected.beam_status)
    assert 0.1 < np.mean(expected.beam_status == BeamStatus.DROPPED_BY_MODEL) < 0.8


def test_limits_of_cosines_are_those_of_incidence() -> None:
    edges = (-1.0, 0.0, 35.0, 55.0, 84.0, 90.0, 95.0)
    limits = find_cosine_limits(edges)
    near = limits[np.isfinite(limits)]
    cosine: Array = np.r_[np.nextafter(near, 2.0, dtype=np.float32), near, np.nextafter(near, -2.0, dtype=np.float32)]
    cosine = np.r_[cosine, np.random.default_rng(5).uniform(-0.2, 1.2, 10_000)].astype(np.float32)
    bins = (cosine[:, None] <= limits).sum(axis=1)
    np.testing.assert_array_equal(bins, find_bins(find_incidence(cosine), edges))


def test_tables_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="one for each bin"):
        _core.RangeTable(np.zeros(2, np.float32), np.zeros(1, np.float32), np.zeros((2, 2)), 0.0)
    sweep = make_sweep("rings")
    with pytest.raises(ValueError, match="no such beam"):
        _core.SweepReturns(
            sweep.beam, sweep.return_index, sweep.label, np.ones(len(sweep), bool), sweep.range, sweep.intensity, None,
            sweep.beam_ring[:5], sweep.beam_column[:5],
        )  # fmt: skip
