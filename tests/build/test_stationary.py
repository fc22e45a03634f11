"""A sensor that stands still fires the same beams many times: their readings scatter along them, and are no surface."""

from __future__ import annotations

import numpy as np
import pytest

import resweep as rs
from resweep.build import HybridConfig
from resweep.build.plan import resolve
from resweep.labels import NO_LABELS
from resweep.pose import from_xyz_rpy
from resweep.scenes import box
from resweep.simulate import Retracer
from resweep.worlds import Splats
from tests.places import standing_sensor

NOISE_M = 0.005
CONFIG = HybridConfig(calibrate=None)


def _sensor(noise_m: float) -> rs.Sensor:
    """Six lasers over 6 degrees of bearing."""
    return standing_sensor((0.4 * np.arange(6) - 1.0).tolist(), 3.0, noise_m)


def _drive(step_m: float, count: int) -> rs.Log:
    """Sweeps before a wall at 8 m, ``step_m`` apart to the side, without labels."""
    world = rs.World([box((0.3, 9.0, 4.0), (8.15, 0.0, 1.8))])
    poses = np.stack([from_xyz_rpy(0.0, step_m * at, 1.8) for at in range(count)])
    drive = rs.Simulator(world, _sensor(NOISE_M), seed=1).run(poses)
    return rs.Log.from_sweeps(list(drive), labels=NO_LABELS)


def test_a_wall_seen_by_the_same_beams_is_a_surface() -> None:
    log = _drive(0.0, 120)
    world = rs.build(log, CONFIG, progress=False)
    assert [type(layer) for layer in world.layers] == [Splats]
    sweep = log[0]
    found = Retracer(world).predict(sweep)
    assert len(found) > 0.98 * len(sweep)
    error = found.range - 8.0 / sweep.beam_direction[found.beam, 0]
    assert np.abs(error).max() < 3 * NOISE_M


@pytest.mark.parametrize(("step_m", "count", "thinned"), [(0.0, 30, True), (0.0, 5, False), (0.05, 30, False)])
def test_points_are_thinned_only_where_beams_repeat(step_m: float, count: int, thinned: bool) -> None:
    log = _drive(step_m, count)
    config = HybridConfig(calibrate=None, splats={"k": 12})
    chosen = resolve(log, config).config
    assert isinstance(chosen, HybridConfig)
    assert bool(chosen.splats.thin_m) is thinned
    for given in (0.0, 0.5):
        own = config.model_copy(update={"splats": config.splats.model_copy(update={"thin_m": given})})
        kept = resolve(log, own).config
        assert isinstance(kept, HybridConfig)
        assert kept.splats.thin_m == given


@pytest.mark.parametrize(("step_m", "given", "used"), [(0.0, None, 1.25), (0.0, 0.0, 0.0), (0.05, None, 0.0)])
def test_a_world_keeps_the_plan_that_it_was_built_by(step_m: float, given: float | None, used: float) -> None:
    config = HybridConfig(calibrate=None, splats={"k": 12, "thin_m": given})
    plan = rs.build(_drive(step_m, 30), config, progress=False).meta["build"]
    assert plan["config"]["splats"]["thin_m"] == used * config.volumes.noise_m
    assert plan["tile_m"] is None
    assert "one piece" in plan["reasons"]["tile_m"]
