"""How long a build is expected to take: by its size and its plan, at the pace of the machine."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest

import resweep as rs
from resweep.build import SplatConfig, SurfelConfig, resolve, time_estimate
from resweep.build.pipeline import list_stages
from resweep.build.time_estimate import TimeEstimate, count_work, estimate_time, measure_pace
from resweep.cli.shared.building import report_estimate
from resweep.log import Log
from resweep.progress import Verbosity, set_verbosity
from tests.places import LABELS, shrub_sweeps

RETURNS = 126_956  # of the first sweep of SemanticKITTI 05 in the sample data


@pytest.fixture(scope="module")
def drive() -> Log:
    return Log.from_sweeps(shrub_sweeps(10), "drive", labels=LABELS)


def count(log: Log, config: Any, sweeps: int = 10, **options: Any) -> float:
    plan = resolve(log, config, **options)
    work = count_work(plan, RETURNS, sweeps)
    assert set(work) >= set(list_stages(plan)) - {"writing the world"}
    return sum(work.values())


def test_the_work_is_that_of_the_profiles_within_a_factor_of_two(drive: Log) -> None:
    # Processor seconds of whole builds of ten sweeps, by profiles: 34 labelled, 65 without, 19 and 29 quick.
    bare = Log.from_sweeps(shrub_sweeps(10, labelled=False), "drive")
    for log, quick, seconds in ((drive, False, 34), (bare, False, 65), (drive, True, 19), (bare, True, 29)):
        assert 0.5 < count(log, rs.HybridConfig(quick=quick)) / seconds < 2.0


def test_more_of_anything_takes_longer(drive: Log) -> None:
    plain = count(drive, rs.HybridConfig())
    assert count(drive, rs.HybridConfig(), 20) > 1.7 * plain
    assert count(drive, rs.HybridConfig(refine="full")) > 2 * plain
    assert count(drive, rs.HybridConfig(), tile_m=20.0) > plain
    assert count(drive, rs.HybridConfig(quick=True)) < 0.7 * plain
    assert count(drive, SurfelConfig()) < count(drive, SplatConfig()) < plain
    long = count(drive, SurfelConfig(), 300)
    assert long > 20 * count(drive, SurfelConfig(calibrate=None), 10)
    assert long > count(drive, SurfelConfig(calibrate={"window": None}), 300)  # type: ignore[arg-type]


def test_a_slow_machine_takes_longer(drive: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = resolve(drive)
    stages = list_stages(plan)
    monkeypatch.setattr(time_estimate, "_MEASURED_S", 0.0)
    totals = []
    for pace in (1.0, 3.0):
        monkeypatch.setattr(time_estimate, "measure_pace", lambda pace=pace: pace)
        totals.append(estimate_time(drive, plan, stages).total_s)
    assert totals[1] > 2 * totals[0]
    slow = replace(drive, load=lambda at: (time.sleep(0.05), drive.load(at))[1])
    assert estimate_time(slow, plan, stages).total_s > totals[1] + 10 * 0.04


def test_the_pace_of_a_machine_is_measured_shortly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_estimate, "_PROBE_S", 0.02)
    begun = time.perf_counter()
    assert 0.02 < measure_pace() < 200
    assert time.perf_counter() - begun < 10


def test_a_build_is_announced_before_its_stages(
    drive: Log, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time_estimate, "count_work", lambda *_: {"reading sweeps": 1000.0})
    monkeypatch.setattr(time_estimate, "measure_pace", lambda: 1.0)
    got: list[TimeEstimate] = []
    config = SurfelConfig(calibrate=None, map={"ego_radius_m": 0.5}, voxel_m=0.5, normal_radius_m=1.0)  # type: ignore[arg-type]
    rs.build(drive[:2], config, on_estimate=got.append)
    first, *_ = capsys.readouterr().err.splitlines()
    assert first.startswith("expected to take about 17 min: 2 sweeps of about ")
    assert first.endswith("longest: reading sweeps 17 min, covering surfaces with surfels 10 s")
    assert got[0].total_s == pytest.approx(1000, abs=5)
    rs.build(drive[:2], config, progress=False)
    assert capsys.readouterr().err == ""


def lines_of(capsys: pytest.CaptureFixture[str], seconds: float, **options: Any) -> list[str]:
    estimate = TimeEstimate({"reading sweeps": seconds}, 100, 130_000)
    report_estimate(estimate, rs.HybridConfig(quick=options.pop("quick", False)), **options)
    return capsys.readouterr().err.splitlines()


def test_a_build_of_more_than_five_minutes_names_what_takes_less(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of(capsys, 299.0) == []
    (line,) = lines_of(capsys, 301.0)
    assert "--quick" in line
    assert "--dry-run" in line
    (line,) = lines_of(capsys, 301.0, quick=True)
    assert "--quick" not in line
    assert "--dry-run" in line
    said, line = lines_of(capsys, 301.0, planned=True)
    assert said.startswith("expected to take about 5 min: 100 sweeps of about 130,000 beams")
    assert "--quick" in line
    assert "--dry-run" not in line
    set_verbosity(Verbosity.QUIET)
    assert lines_of(capsys, 301.0) == []
