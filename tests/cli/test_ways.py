"""All ways from a recording to a figure give the same: held out, fired again in Python, and through files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import resweep as rs
from tests.sensors.yard import Spin, two_blocks

FIGURES = (
    "range_median_m",
    "range_mean_m",
    "within_0.05m",
    "within_0.10m",
    "recovered_0.10m",
    "return_f1",
    "c2c_m",
    "c2c_sweep_m",
    "chamfer_m",
)
HELD = 3


@pytest.fixture(scope="module")
def drive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A drive of which compensation left a tenth of the motion in its points, as KITTI's layout keeps it."""
    log = Spin(*two_blocks(), n_columns=480, drive_m=0.7).log(5, 0.9)
    folder = tmp_path_factory.mktemp("ways") / "00"
    rs.write_log(replace(log, poses_known=True, times_known=True), folder, format="semantickitti", progress=False)
    return folder


def agree(ways: dict[str, rs.Report], held: int) -> None:
    """Check that the row of the held-out sweep has the same figures in every report, and what was left out is alike."""
    rows = {name: next(row for row in way.per_sweep if row["real"] == held) for name, way in ways.items()}
    (_, first), *others = rows.items()
    assert first["range_median_m"] > 0
    for name, row in others:
        for figure in FIGURES:
            assert row[figure] == pytest.approx(first[figure], rel=1e-3), f"{name}: {figure}"


def test_all_ways_give_the_figures_of_holdout(drive: Path, resweep: Any) -> None:
    args = ("--method", "surfels", "--refine", "none", "--set", "map.ego_radius_m=6")
    for command in (
        ("build", drive, "-o", "w.world", "--sweeps", "0::2", *args),
        ("simulate", "w.world", "--like", drive, "-o", "again"),
        ("evaluate", "again", drive, "-o", "files.json"),
    ):
        result = resweep(*command)
        assert result.status == 0, result.err
    log, world = rs.open_log(drive), rs.load_world("w.world")
    holdout = rs.holdout(log, [HELD], build=lambda rest: world, progress=False)
    fired = rs.resimulate(log[HELD : HELD + 1], world)
    one = rs.evaluate(fired, log, world=world)
    agree({"holdout": holdout, "one sweep": one, "files": rs.Report.load("files.json")}, HELD)
    assert holdout.settings["beams_left_out"] == one.settings["beams_left_out"] > 0
    assert holdout["log_likelihood"] == pytest.approx(one["log_likelihood"])
    # The headline is one of the placements: drawn, registered by pose.
    by_pose = holdout.placements[1]
    assert by_pose["placement"] == "registered by pose"
    assert by_pose["drawn"]["range_median_m"] == holdout["range_median_m"]
    assert by_pose["drawn"]["within_0.10m"] == holdout["within_0.10m"]
    # What was fired from the slice is the slice of the drive, and has the compensation of the recording.
    (again,) = rs.open_log("again")[HELD : HELD + 1]
    np.testing.assert_array_equal(again.range, fired[0].range)
    assert fired[0].trajectory is None
    np.testing.assert_array_equal(fired[0].beam_time, log[HELD].beam_time)
    # A sweep that does not know its drive cannot be corrected: what the ways would differ by.
    stray = replace(log[HELD : HELD + 1], part=None)
    apart = rs.evaluate(rs.resimulate(stray, world), stray)
    assert apart["range_mean_m"] > 1.1 * one["range_mean_m"]  # type: ignore[operator]


@pytest.mark.slow
def test_all_ways_agree_on_a_real_drive(sample_data: Path, tmp_path: Path) -> None:
    folder = sample_data / "semantickitti_mini/sequences/06"
    log = rs.open_log(folder)
    config = rs.SurfelConfig(voxel_m=0.1, radius_m=0.1)
    world = rs.build(log[[2, 3, 4, 6, 7]], config, progress=False)
    holdout = rs.holdout(log, [5], build=lambda rest: world, progress=False)
    fired = rs.resimulate(log[5:6], world)
    rs.write_log(fired, tmp_path / "again", progress=False)
    again = rs.evaluate(rs.open_log(tmp_path / "again"), rs.open_log(folder))
    agree({"holdout": holdout, "one sweep": rs.evaluate(fired, log), "files": again}, 5)
    assert again.settings["beams_left_out"] == holdout.settings["beams_left_out"] > 0
