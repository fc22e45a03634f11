"""How well scatter is known: estimates of a known scatter lie within the standard errors that are kept with them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2, norm

from resweep.calibrate.scatter.drop_table import estimate_drops
from resweep.calibrate.scatter.estimate import estimate_scatter
from resweep.calibrate.scatter.scatter_pair import ScatterPair
from resweep.errors import ResweepError
from resweep.pose import Array
from resweep.sensor_scatter import NORMALS, DropTable, RangeNoise, SensorScatter, find_bins

RINGS, COLUMNS, PAIRS = 8, 4000, 4
SIGMA, RANGE_SIGMA = 0.05, 0.02
PATCH_M = 2.0


def find_loss(range_m: Array, incidence_deg: Array) -> Array:
    """The chance that a return is lost: more far off, and at grazing incidence."""
    return np.asarray(0.1 + 0.1 * (range_m > 15.0) + 0.15 * (incidence_deg > 75.0))


def make_pair(seed: int, patches: bool = False) -> ScatterPair:
    """A sweep whose returns scatter independently; with ``patches`` losses and intensities are alike in each."""
    random = np.random.default_rng(seed)
    count = RINGS * COLUMNS
    simulated = random.choice([5.0, 12.0, 20.0, 30.0], count).astype(np.float32)
    incidence = random.choice([20.0, 65.0, 78.0], count)
    points = np.c_[random.uniform(0.0, 200.0, (count, 2)), np.zeros(count)]
    if patches:
        points[:, :2] = PATCH_M * (np.arange(count) // 8 % 300)[:, None] + 1.0
    patch = (points[:, 0] / PATCH_M).astype(np.int64) if patches else np.arange(count)
    whole = np.random.default_rng(7) if patches else random  # the same patches in all sweeps
    draw, shift = whole.random(count)[patch], whole.normal(0.0, 1.0, count)[patch]
    expected = random.uniform(0.3, 0.5, count).astype(np.float32)
    own = np.sqrt(0.5) * (shift + random.normal(0.0, 1.0, count)) if patches else shift
    recorded = (simulated + random.normal(0.0, RANGE_SIGMA, count)).astype(np.float32)
    recorded[draw < find_loss(simulated, incidence)] = np.nan
    ones, ring = np.ones(count, bool), np.repeat(np.arange(RINGS), COLUMNS).astype(np.uint16)
    return ScatterPair(
        recorded, simulated, (expected + SIGMA * own).astype(np.float32), expected, incidence, ones,
        np.zeros(count, np.int32), points, ones, np.zeros(count), ring,
        np.arange(count),
    )  # fmt: skip


@pytest.fixture(scope="module")
def found() -> SensorScatter:
    pairs = [make_pair(seed) for seed in range(PAIRS)]
    return estimate_scatter(pairs, [np.ones(RINGS * COLUMNS)] * PAIRS, labelled=False)


def check_within(off: Array, error: Array) -> None:
    """That estimates off the truth by ``off`` (k,) have standard errors (k,) ``error``, by a chi-square of all."""
    ratio = off / error
    assert 2.0 * norm.sf(np.abs(ratio).max()) * len(ratio) > 1e-3  # the worst of as many
    assert chi2.sf((ratio**2).sum(), len(ratio)) > 1e-3
    assert (ratio**2).mean() > 0.3  # and they are no larger than they need to be


def compare_losses(table: DropTable, pairs: list[ScatterPair]) -> tuple[Array, Array]:
    """How far the chances (k,) of well-filled cells are off, and their errors."""
    ranges, incidence, expected = (
        np.concatenate([getattr(pair, name) for pair in pairs]) for name in ("simulated", "incidence_deg", "expected")
    )
    place = (
        find_bins(ranges, table.range_edges_m),
        find_bins(incidence, table.incidence_edges_deg),
        find_bins(expected, table.intensity_edges),
    )
    shape = np.shape(table.probability)
    cell = np.ravel_multi_index(tuple(part.astype(np.int64) for part in place), shape)
    counts = np.maximum(np.bincount(cell, minlength=int(np.prod(shape))), 1)
    truth = np.bincount(cell, find_loss(ranges, incidence), len(counts)) / counts
    full = counts > 500
    assert np.count_nonzero(full) > 30
    return (np.ravel(table.probability) - truth)[full], np.ravel(table.error)[full]


def test_chances_of_losses_are_as_sure_as_they_claim(found: SensorScatter) -> None:
    assert found.drops is not None
    check_within(*compare_losses(found.drops, [make_pair(seed) for seed in range(PAIRS)]))


def test_losses_in_patches_are_less_sure() -> None:
    alone, patches = ([make_pair(seed, patches=kind) for seed in range(PAIRS)] for kind in (False, True))
    tables = [estimate_drops(pairs) for pairs in (alone, patches)]
    assert tables[0] is not None
    assert tables[1] is not None
    off, error = compare_losses(tables[1], patches)
    assert np.median(error) > 1.5 * np.median(compare_losses(tables[0], alone)[1])
    assert np.sqrt((off**2).mean()) < 1.5 * np.sqrt((error**2).mean())


def test_range_noise_is_as_sure_as_it_claims(found: SensorScatter) -> None:
    assert found.range is not None
    sigma, error = np.array(found.range.sigma_m), np.array(found.range.error_m)
    # Bins of ranges and incidences that occur: the others have the sigma of all.
    rows, columns = find_bins(np.array([5.0, 12.0, 20.0, 30.0]), found.range.range_edges_m), [0, 2, 3]
    own, known = sigma[np.ix_(rows, columns)].ravel(), error[np.ix_(rows, columns)].ravel()
    check_within(own - RANGE_SIGMA, known)
    assert known.max() < 0.1 * RANGE_SIGMA


def test_widths_of_intensities_are_as_sure_as_they_claim(found: SensorScatter) -> None:
    intensity = found.intensity
    assert intensity is not None
    assert np.sum(intensity.returns[0]) == np.sum(intensity.returns) > 50_000
    # All returns are independent here.
    counts, effective = np.array(intensity.returns[0]), np.array(intensity.effective_returns[0])
    assert (effective[counts > 0] > 0.7 * counts[counts > 0]).all()
    error = intensity.find_width_errors()[0]
    assert np.isnan(error[counts == 0]).all()
    low, high = np.searchsorted(NORMALS, (-1.0, 1.0))
    ratios = []
    for number, own in zip(intensity.table_of[0], error, strict=True):
        if np.isfinite(own):
            curves = intensity.tables[number].find_curves()
            width = np.mean(curves[:, high] - curves[:, low]) / 2
            ratios.append((width / SIGMA - 1.0) / own)
    assert np.max(np.abs(ratios)) < 3.0


def test_intensities_that_are_alike_in_places_count_less_and_correlate() -> None:
    pairs = [make_pair(seed, patches=True) for seed in range(PAIRS)]
    found = estimate_scatter(pairs, [np.ones(RINGS * COLUMNS)] * PAIRS, labelled=False)
    assert found.intensity is not None
    assert found.correlation is not None
    assert np.sum(found.intensity.effective_returns) < 0.2 * np.sum(found.intensity.returns)
    # Half of the variance is that of the patch: eight beams in a row, the same in all sweeps.
    between, error = found.correlation.between_sweeps[0], found.correlation.between_sweeps_error[0]
    assert abs(between - 0.5) < 4.0 * error
    assert error < 0.1
    along = dict(zip(found.correlation.steps, found.correlation.along_rings, strict=True))
    assert along[1] == pytest.approx(0.5 * 7 / 8, abs=0.08)
    assert abs(along[16]) < 0.08


def test_independent_intensities_do_not_correlate(found: SensorScatter) -> None:
    known = found.correlation
    assert known is not None
    values = np.r_[known.along_rings, known.between_sweeps]
    errors = np.r_[known.along_rings_error, known.between_sweeps_error]
    assert chi2.sf(((values / errors) ** 2).sum(), len(values)) > 1e-3
    assert errors.max() < 0.05


def test_uncertainty_is_kept_described_and_may_be_unknown(found: SensorScatter) -> None:
    assert SensorScatter(**found.model_dump()) == found
    assert found.describe().count("±") == 5
    # Worlds of former releases have none.
    data: dict[str, Any] = found.model_dump()
    for part, names in (
        ("intensity", ("returns", "effective_returns")),
        ("range", ("error_m",)),
        ("drops", ("error",)),
    ):
        for name in names:
            del data[part][name]
    del data["correlation"]
    old = SensorScatter(**data)
    assert "±" not in old.describe()
    assert old.intensity is not None
    assert np.isnan(old.intensity.find_width_errors()).all()
    assert found.range is not None
    with pytest.raises(ResweepError, match="error_m"):
        RangeNoise(**{**found.range.model_dump(), "error_m": ((0.1,),)})


def test_of_one_sweep_and_no_neighbours_correlation_is_unknown() -> None:
    pair = make_pair(0)
    lone = replace(pair, order=np.arange(len(pair.ring))[::-1])
    found = estimate_scatter([lone], [np.ones(RINGS * COLUMNS)], labelled=False)
    assert found.correlation is not None
    assert found.correlation.between_sweeps == (0.0, 0.0, 0.0)
    assert found.correlation.between_sweeps_error == (1.0, 1.0, 1.0)
