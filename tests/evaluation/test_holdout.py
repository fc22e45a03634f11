"""Held-out sweeps of a log of known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resweep.build import CalibrateConfig, MapConfig, SplatConfig
from resweep.build.pipeline import build
from resweep.errors import ResweepError
from resweep.evaluation.holdout import holdout
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.scenes import SCENES
from resweep.simulate import Simulator
from resweep.simulate.surface_alignment import align


@pytest.fixture(scope="module")
def drive() -> Log:
    sim = Simulator(SCENES["street"](seed=1), "velodyne-hdl-64e", seed=1)
    sim = sim.with_sensor(sim.sensor.with_(**{"beam.rays": "single", "receiver.range_noise_sigma_m": 0.005}))
    poses = np.stack([from_xyz_rpy(x, 0, 1.9) for x in np.linspace(-4, 4, 7)])
    log = sim.run(poses)
    return log.with_sweeps(list(log))


def test_a_simulated_street_is_reproduced_in_its_splats(drive: Log) -> None:
    calibrate = CalibrateConfig(points_per_sweep=20_000, samples=10_000)
    elsewhere = tuple(label for label in drive.labels.classes if label not in (40, 48))
    config = SplatConfig(method="labels", resample=False, calibrate=calibrate, map=MapConfig(drop_labels=elsewhere))
    report = holdout(drive, [3], config, progress=False)
    assert report["range_median_m"] < 0.02
    assert report["within_0.10m"] > 0.9
    assert report["primitives"] > 1000
    assert report["c2c_m"] <= report["c2c_sweep_m"]
    assert report["chamfer_m"] == pytest.approx((report["c2c_sweep_m"] + report["c2c_reverse_m"]) / 2)
    assert list(report.metrics)[:2] == ["c2c_m", "c2c_sweep_m"]
    assert {"road", "pavement"} <= set(report.per_class)
    assert "held out: sweeps 3" in report.notes[-1]
    assert report.settings["beams_left_out"] > 0
    assert any(note.startswith(f"{report.settings['beams_left_out']:,} of ") for note in report.notes)
    assert [(row["sim"], row["real"]) for row in report.per_sweep] == [(3, 3)]  # as the log counts
    # Simulated returns state their confidence, and most that are sure are right.
    assert sum(row["returns"] for row in report.calibration) > 1000
    assert report.calibration[-1]["right"] > 0.8


@pytest.mark.slow
def test_a_shifted_pose_is_found_again(drive: Log) -> None:
    world = build(drive, SplatConfig(method="labels", resample=False, calibrate=None), progress=False)
    sweep = drive[3]
    wrong = sweep.pose.copy()
    wrong[:3, 3] += 0.06, -0.05, 0.04
    found = align(world, replace(sweep, pose=wrong))
    assert np.abs(found[:3, 3] - sweep.pose[:3, 3]).max() < 0.015


@pytest.mark.parametrize(("held", "complaint"), [([9], "no sweep 9"), ([], "keep some"), (range(7), "keep some")])
def test_sweeps_that_cannot_be_held_out_are_reported(drive: Log, held: list[int], complaint: str) -> None:
    with pytest.raises(ResweepError, match=complaint):
        holdout(drive, held, SplatConfig())
