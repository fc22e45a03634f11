"""Campaigns: cases that differ, results that do not depend on who drove them, and runs that can be looked at."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import resweep as rs
from resweep.cli import main
from resweep.drive import Rig
from resweep.drive.safety import Campaign, list_cases, run_campaign
from resweep.drive.safety import campaign as campaigns
from resweep.drive.safety.assessment import describe_run, is_avoidable
from resweep.drive.safety.cases import make_hidden_car, spread_cases
from resweep.drive.safety.success_map import draw_success
from resweep.errors import ResweepError
from resweep.scenes import SCENE_LABELS, Label, ground_plane

KEEP = "tests.drive.stacks:keep_speed"


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A street without anything: worlds are opened fast, and only actors can be struck."""
    plain = rs.World([ground_plane((230.0, 60.0), label=Label.ROAD)], labels=SCENE_LABELS)
    monkeypatch.setattr(campaigns, "_open_world", lambda word, seed: plain)


def test_110_variants_are_11_speeds_times_10_times() -> None:
    cases = list_cases("hidden-car", 110)
    assert len({case.parameters["speed_mps"] for case in cases}) == 11
    assert len({case.parameters["trigger_s"] for case in cases}) == 10
    assert len({case.parameters["street"] for case in cases}) == 5
    assert len({json.dumps(case.scenario) for case in cases}) == 110
    assert cases[7] == list_cases("hidden-car", 110)[7]
    assert len(spread_cases(7)) == 7


def test_a_campaign_goes_on_and_fails_where_nobody_brakes(bare: None, tmp_path: Path, monkeypatch: Any) -> None:
    campaign = Campaign(autonomy=KEEP)
    cases = [make_hidden_car(at, speed, trigger) for at, (speed, trigger) in enumerate([(10.0, 0.0), (16.0, 3.6)])]
    summary = run_campaign(campaign, cases, tmp_path / "runs")
    first = summary["rows"][0]
    assert first["outcome"] == "collision"
    assert first["with"] == "actor turning car"
    assert summary["failures"][0] == 0
    assert summary["variants"] == 2
    driven = []
    monkeypatch.setattr(campaigns.Loop, "run", lambda *given, **options: driven.append(1))
    assert run_campaign(campaign, cases, tmp_path / "runs") == summary
    assert not driven
    with pytest.raises(ResweepError, match="holds runs of other cases"):
        run_campaign(campaign, cases[:1], tmp_path / "runs")
    draw_success(summary["rows"]).savefig(tmp_path / "map.png")


def test_what_is_seen_too_late_cannot_be_avoided(bare: None) -> None:
    """A failure counts as avoidable by what is left between first sight and contact."""
    campaign, case = Campaign(autonomy=KEEP), make_hidden_car(0, 10.0, 0.0)
    loop = campaign.make_loop(case, None, Rig())
    run = campaign.drive(case)
    contact = next(event["time_s"] for event in run.events if event["kind"] == "collision")
    seen = run.actors["turning car"].first_seen_s
    assert seen is not None
    assert 0.0 < seen < contact
    for moment, avoidable in ((seen, True), (contact - 0.2, False), (None, False)):
        near = {"turning car": replace(run.actors["turning car"], first_seen_s=moment)}
        assert is_avoidable(loop, replace(run, actors=near)) is avoidable
    row = describe_run(case, run)
    assert row["min_distance_m"] == 0.0
    assert row["first_seen_s"] == seen
    assert not row["stationary"]


def test_a_failure_is_replayed_with_its_sweeps(bare: None, tmp_path: Path, capsys: Any) -> None:
    case = make_hidden_car(0, 12.0, 0.0)
    run_campaign(Campaign(autonomy=KEEP), [case], tmp_path / "runs")
    with pytest.raises(SystemExit) as status:
        main(["drive", str(tmp_path / "runs" / "0000"), "-o", str(tmp_path / "again")])
    assert status.value.code == 0
    assert "collision after" in capsys.readouterr().out
    again, before = rs.drive.load_run(tmp_path / "again"), rs.drive.load_run(tmp_path / "runs" / "0000")
    assert again.to_bytes() == before.to_bytes()
    assert not before.logs
    assert len(rs.open_log(tmp_path / "again")) == len(again.decisions)


def test_bad_cases_are_rows_and_bad_words_are_errors(tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match="needs one to drive in"):
        list_cases("animals", 3)
    with pytest.raises(ResweepError, match="autonomy 'nobody:Home': cannot be imported"):
        campaigns.make_autonomy("nobody:Home")
    with pytest.raises(ResweepError, match=r"give a stack, tcp:PORT, or MODULE:NAME .*; known: navigator, reference"):
        campaigns.make_autonomy("nobody")
    case = campaigns.Case(0, "scene:nowhere", 0, make_hidden_car(0, 9.0, 1.0).scenario, {})
    assert campaigns.run_case(Campaign(), "", case)["outcome"] == "error"
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    with pytest.raises(ResweepError, match="exists and is no campaign"):
        run_campaign(Campaign(), [case], tmp_path / "mine")
