"""The gain of lasers, from what several of them saw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import resweep as rs
from resweep.calibrate.gain import estimate_gain
from resweep.calibrate.views import SweepView
from resweep.calibration import Calibration


def views(gain: np.ndarray, rng: np.random.Generator) -> list[SweepView]:
    """Two views of a ground whose brightness changes slowly, by lasers of that gain."""
    made = []
    for _ in range(2):
        points = np.concatenate([rng.uniform(-8, 8, (30_000, 2)), np.zeros((30_000, 1))], axis=1)
        ring = rng.integers(0, len(gain), len(points))
        light = (0.3 + 0.1 * np.sin(points[:, 0])) * gain[ring] * rng.normal(1, 0.1, len(points))
        origin = np.tile([0.0, 0.0, 2.0], (len(points), 1))
        away = np.linalg.norm(points - origin, axis=1)
        direction = (points - origin) / away[:, None]
        made.append(SweepView(origin, direction, away, ring, light, np.zeros(len(points)), np.eye(4), len(gain)))
    return made


def test_gains_are_found() -> None:
    rng = np.random.default_rng(0)
    gain = np.array([1.0, 0.6, 1.2, 1.0, 0.9, 1.0, 1.1, 1.0])
    still = Calibration(np.zeros(8), np.zeros(8))
    found = estimate_gain([views(gain, rng), views(gain, rng)], still)
    assert found is not None
    np.testing.assert_allclose(found, gain, atol=0.02)
    assert estimate_gain([views(np.ones(8), rng)], still) is None


def test_gains_are_taken_out_and_put_back() -> None:
    """A sweep whose second laser reports half: calibrated, both agree; a world fires it as it was."""
    calibration = Calibration(np.zeros(2), np.zeros(2), gain=np.array([1.0, 0.5]))
    azimuth = np.tile(np.linspace(-0.5, 0.5, 20), 2)
    points = 10 * np.stack([np.cos(azimuth), np.sin(azimuth), np.repeat([0.0, 0.05], 20)], axis=1)
    sweep = rs.Sweep.from_points(points, ring=np.repeat([0, 1], 20), intensity=np.repeat([0.4, 0.2], 20))
    np.testing.assert_allclose(calibration.applied(sweep).intensity, 0.4, rtol=1e-6)
    again = Calibration.from_dict(calibration.to_dict())
    np.testing.assert_array_equal(again.gain, calibration.gain)
    wall = rs.Mesh(np.array([[10.0, -9, -9], [10, 9, -9], [10, 9, 9], [10, -9, 9]]), np.array([[0, 1, 2], [0, 2, 3]]))
    world = replace_calibration(rs.World([wall]), calibration)
    found = rs.Retracer(world).sweep(sweep)
    ratio = found.intensity[found.ring == 1].mean() / found.intensity[found.ring == 0].mean()
    assert ratio == pytest.approx(0.5, rel=0.02)
    assert rs.Retracer(world).predict(sweep).intensity[found.ring == 1].mean() == pytest.approx(
        found.intensity[found.ring == 1].mean(), rel=0.05
    )


def replace_calibration(world: rs.World, calibration: Calibration) -> rs.World:
    return rs.World(world.layers, calibration=calibration)


def test_gains_must_fit_the_rings() -> None:
    with pytest.raises(rs.ResweepError, match="gain must have one value above 0 a ring"):
        replace(Calibration(np.zeros(2), np.zeros(2)), gain=np.array([1.0]))
