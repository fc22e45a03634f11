"""Beams matched by index where both logs fired the same, and warnings where figures mean something else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep.build import SurfelConfig
from resweep.evaluation import Report, evaluate
from resweep.log import Log
from resweep.pose import from_xyz_rpy
from resweep.sweep import Sweep

MakeSweep = Callable[..., Sweep]


@pytest.mark.parametrize("pose", [from_xyz_rpy(0.05, 0.02, 0.0), from_xyz_rpy(0, 0, 0, yaw=0.004)])
def test_the_same_beams_match_by_index_from_a_pose_that_is_off_by_little(make_sweep: MakeSweep, pose) -> None:
    ranges = np.tile(np.where(np.arange(90) % 7 == 0, np.nan, 3.0 + np.arange(90) % 5), 8)
    real = make_sweep(ranges)
    report = evaluate(replace(real, pose=pose), real)
    assert report["matched"] == 1.0
    assert report["return_f1"] == 1.0
    assert "Beams were matched by index (1 of 1 sweeps)." in report.notes
    assert report.warnings == []


def test_another_view_is_not_matched_by_index(make_sweep: MakeSweep) -> None:
    real = make_sweep(10.0)
    for pose in (from_xyz_rpy(1.0), from_xyz_rpy(0, 0, 0, yaw=0.5)):
        assert "Beams were matched by index (1 of 1 sweeps)." not in evaluate(replace(real, pose=pose), real).notes


def test_few_matched_beams_are_warned_of(make_sweep: MakeSweep, tmp_path: Path) -> None:
    real = make_sweep(10.0)
    sparse = real.select_beams(real.beam_ring % 3 == 0)
    report = evaluate(sparse, real)
    (warning,) = report.warnings
    assert "only 38% of the real beams have a simulated counterpart" in warning
    assert "Figures of range, returns, intensity and image are of these pairs alone" in warning
    assert "'recorded'" in warning
    assert "Warning: only 38%" in " ".join(str(report).split())
    page = report.save(tmp_path / "report.html").read_text()
    assert page.count("only 38% of the real beams") == 1
    assert page.index("only 38%") < page.index("Metrics over all sweeps")  # where it cannot be missed
    assert Report.load(report.save(tmp_path / "report.json")).warnings == [warning]
    assert evaluate(real, sparse).warnings == []  # each real beam has its counterpart


def test_a_side_without_returns_is_warned_of(make_sweep: MakeSweep) -> None:
    full, empty = make_sweep(10.0), make_sweep(np.nan)
    assert "no beam of the simulated sweeps returned" in evaluate(empty, full).warnings[0]
    assert "no beam of the real sweeps returned" in evaluate(full, empty).warnings[0]
    assert evaluate(Log.from_sweeps([full, full]), Log.from_sweeps([full, full])).warnings == []


@pytest.mark.slow
def test_a_real_drive_fired_again_is_matched_beam_by_beam(sample_data: Path) -> None:
    log = rs.open_log(sample_data / "semantickitti_mini" / "sequences" / "00")[:4]
    world = rs.build(log, SurfelConfig(voxel_m=0.08, radius_m=0.08), progress=False)
    again = rs.resimulate(log[1:2], world)
    report = evaluate(again, log[1:2])
    assert report["matched"] == 1.0
    assert report.warnings == []
    assert (report["range_median_m"] or 1) < 0.025
    own = rs.resimulate(log[1:2], world, "velodyne-hdl-64e")
    by_direction = evaluate(own, log[1:2])
    assert "only" in by_direction.warnings[0]
    assert (by_direction["range_median_m"] or 0) > 1.5 * (report["range_median_m"] or 1)
