"""Ways of searching for failures are compared with the same number of runs each."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import d_search
from resweep.drive.safety import Campaign, Case, search
from tests.experiments.conftest import CheckCommand


def test_the_command_compares_three_ways(monkeypatch: pytest.MonkeyPatch, check_command: CheckCommand) -> None:
    """With a stand-in for the drives: it fails at high speeds, and is nearer to failure the faster it is."""

    def drive(campaign: Campaign, folder: str, case: Case) -> dict[str, Any]:
        speed = case.parameters["speed_mps"]
        figures = {"min_distance_m": 16.0 - speed, "min_ttc_s": 1.0, "impact_mps": None}
        return {"case": case.number, **case.parameters, "success": speed < 15.0, **figures}

    monkeypatch.setattr(search, "run_case", drive)
    result = d_search.run(fast=True)
    assert [row["method"] for row in result["rows"]] == ["random", "grid", "cmaes"]
    assert all(row["runs"] == 2 for row in result["rows"])
    check_command("d_search", result)
