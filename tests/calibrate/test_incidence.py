"""How intensities fall with incidence is found in a recording, kept in the world, and put back by simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.calibrate.incidence import estimate_exponent
from resweep.calibrate.views import SweepView
from resweep.calibration import Calibration
from resweep.map.config import ReflectanceConfig
from resweep.pose import Array

POSE = np.eye(4)


def look_at_ground(position: Array, power: float, rng: np.random.Generator) -> SweepView:
    """A sensor 2 m above ground with patches of other brightness, whose light falls by a power of the cosine."""
    x, y = rng.uniform(-15, 15, (2, 6000))
    hit = np.stack([x, y, np.zeros_like(x)], axis=1)
    off = hit - position
    reach = np.linalg.norm(off, axis=1)
    along = off / reach[:, None]
    bright = 0.2 + 0.1 * ((np.floor(x / 2) + np.floor(y / 2)) % 3)
    light = bright * np.maximum(np.abs(along[:, 2]), 0.1) ** power + rng.normal(0, 0.01, len(x))
    pose = np.eye(4)
    pose[:3, 3] = position
    ring = rng.integers(0, 8, len(x))
    return SweepView(np.zeros_like(hit), along, reach, ring, np.maximum(light, 0), np.zeros(len(x)), pose, 8)


@pytest.mark.parametrize("power", [0.25, 0.5, 1.0])
def test_the_exponent_of_a_sensor_is_found(power: float) -> None:
    rng = np.random.default_rng(0)
    views = [look_at_ground(np.array([2.0 * at, 0.0, 2.0]), power, rng) for at in range(-3, 4)]
    found = estimate_exponent([views], Calibration(np.zeros(8), np.zeros(8)))
    assert found == pytest.approx(power, abs=0.06)
    dark = [SweepView(v.origin, v.direction, v.range, v.ring, 0 * v.intensity, v.when, v.pose, 8) for v in views]
    assert estimate_exponent([dark], Calibration(np.zeros(8), np.zeros(8))) is None


def wall(power: float) -> rs.World:
    """A wall 10 m ahead whose light falls by a power of the cosine."""
    y, z = (axis.ravel() for axis in np.meshgrid(np.arange(-20, 20, 0.25), np.arange(-3, 3, 0.25)))
    centre = np.stack([np.full(len(y), 10.0), y, z], axis=1)
    normal = np.broadcast_to([-1.0, 0.0, 0.0], centre.shape)
    discs = rs.Splats(centre, normal, np.full(len(y), 0.3), reflectance=0.4, incidence_exponent=power)
    return rs.World([discs])


@pytest.mark.parametrize("power", [0.25, 1.0])
def test_simulated_light_falls_by_the_same_law(power: float, tmp_path: Path) -> None:
    """Also in worlds that were saved, and in predictions for beams."""
    wall(power).save(tmp_path / "wall.world")
    world = rs.load_world(tmp_path / "wall.world")
    assert world.layers[0].incidence_exponent == power
    one_ray = rs.load_sensor("velodyne-vlp-16").with_(**{"beam.rays": "single"})
    sweep = rs.Simulator(world, one_ray).sweep(POSE)
    cosine = sweep.beam_direction[sweep.beam, 0]
    assert cosine.min() < 0.6
    np.testing.assert_allclose(sweep.intensity, 0.4 * cosine**power, rtol=2e-3)
    predicted = rs.Retracer(world).predict(sweep)
    cosine = predicted.beam_direction[predicted.beam, 0]
    np.testing.assert_allclose(predicted.intensity, 0.4 * cosine**power, rtol=2e-3)


def test_settings_are_settled_by_the_calibration() -> None:
    known = Calibration(np.zeros(2), np.zeros(2), incidence_exponent=0.3)
    assert Calibration.from_dict(known.to_dict()).incidence_exponent == 0.3
    assert ReflectanceConfig().with_lasers(known).simulated_exponent == 0.3
    assert ReflectanceConfig().with_lasers(None).simulated_exponent == 1.0
    assert ReflectanceConfig(incidence_exponent=0.5).with_lasers(known).simulated_exponent == 0.5
    flat = ReflectanceConfig(incidence_exponent=0.0).with_lasers(known)
    assert (flat.exponent, flat.simulated_exponent) == (0.0, 1.0)
    with pytest.raises(rs.ResweepError, match="incidence_exponent"):
        Calibration(np.zeros(2), np.zeros(2), incidence_exponent=-1.0)
    with pytest.raises(rs.ResweepError, match="incidence_exponent"):
        rs.Splats(np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), np.ones(1), incidence_exponent=3.0)
