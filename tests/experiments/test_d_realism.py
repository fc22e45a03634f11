"""The judge of ``experiments.d_realism``: blind to what is alike, and right about what differs."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.sector_statistics import NAMES, describe
from resweep.pose import Array

pytest.importorskip("sklearn", reason="needs resweep[learn]")
pytest.importorskip("torch", reason="needs resweep[learn]")


def make_sectors(seed: int, noise_m: float = 0.0, step: float = 0.01) -> Array:
    """Sectors (40, 4, 16, 32) of slanted walls with random paint, whose intensities are counted in steps."""
    rng = np.random.default_rng(seed)
    shape = (40, 16, 32)
    ranges = 10 + rng.uniform(0, 0.05, (40, 1, 1)) * np.arange(32) + rng.normal(0, 1e-4 + noise_m, shape)
    light = np.round(rng.beta(2, 5, shape) / step) * step
    mark = rng.random(shape) < 0.9
    return np.stack([ranges * mark, light * mark, mark, np.ones(shape)], axis=1).astype(np.float32)


def judge(real: Array, simulated: Array) -> tuple[float, str]:
    from experiments.d_realism import Forest, _cross_validate

    forest = Forest()
    share = _cross_validate(forest.judge, real, simulated, np.arange(len(real)) % 2)
    return share, forest.find_causes()[0]["statistic"]


def test_statistics_have_names() -> None:
    found = describe(make_sectors(0))
    assert found.shape == (40, len(NAMES))
    assert len(set(NAMES)) == len(NAMES)
    column = dict(zip(NAMES, found.T, strict=True))
    assert column["intensities off the steps of hundredths"].max() == 0.0
    np.testing.assert_allclose(column["share of no return"].mean(), 0.1, atol=0.02)
    assert describe(make_sectors(0, step=0.003))[:, -1].min() > 0.3


def test_sectors_of_one_kind_cannot_be_told_apart() -> None:
    share, _ = judge(make_sectors(1), make_sectors(2))
    assert abs(share - 0.5) < 4 * np.sqrt(0.25 / 80)


def test_the_cause_is_named() -> None:
    share, cause = judge(make_sectors(1), make_sectors(2, noise_m=0.02))
    assert share > 0.95
    assert "range" in cause
    share, cause = judge(make_sectors(1), make_sectors(2, step=0.003))
    assert share > 0.95
    assert "intensit" in cause
