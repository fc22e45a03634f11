"""Search finds failures, and counts the runs until the first."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from resweep.drive.safety import Campaign, Case, Space, search, search_failures
from resweep.errors import ResweepError


@pytest.fixture
def small_target(monkeypatch: pytest.MonkeyPatch) -> Space:
    """A test that fails in 0.8 % of its space, around (0.83, 0.2), and is nearer to failure the nearer to that."""

    def drive(campaign: Campaign, folder: str, case: Case) -> dict[str, Any]:
        far = math.hypot(case.parameters["a"] - 0.83, case.parameters["b"] - 0.2)
        failed = far < 0.05
        figures = {"min_distance_m": 10 * far, "min_ttc_s": None, "impact_mps": 5.0 if failed else None}
        return {"case": case.number, **case.parameters, "success": not failed, **figures}

    monkeypatch.setattr(search, "run_case", drive)
    ranges = {"a": (0.0, 1.0), "b": (0.0, 1.0)}
    return Space(ranges, lambda number, values: Case(number, "", 0, {}, values))


@pytest.mark.parametrize("method", search.METHODS)
def test_each_way_uses_its_budget_and_the_same_seed_finds_the_same(small_target: Space, method: Any) -> None:
    one, two = (search_failures(small_target, method, 50, Campaign(), seed=3) for _ in range(2))
    assert one == two
    assert one["runs"] == 50
    assert all(0 <= row["a"] <= 1 and 0 <= row["b"] <= 1 for row in one["rows"])
    first = next((at for at, row in enumerate(one["rows"], 1) if not row["success"]), None)
    assert one["runs_to_first_failure"] == first


def test_adaptive_search_finds_more_failures_than_chance(small_target: Space, tmp_path: Path) -> None:
    results = [search_failures(small_target, method, 150, Campaign(), seed=1) for method in search.METHODS]
    failures = {result["method"]: result["failures"] for result in results}
    assert failures["cmaes"] > 20
    assert failures["random"] < 8
    search.draw_coverage(results, small_target).savefig(tmp_path / "coverage.png")


def test_wrong_words_are_named(small_target: Space) -> None:
    with pytest.raises(ResweepError, match="method 'bayes'; give one of random, grid, cmaes"):
        search_failures(small_target, "bayes", 5, Campaign())  # type: ignore[arg-type]
    with pytest.raises(ResweepError, match="range of 'a' is 2 to 1"):
        Space({"a": (2.0, 1.0)}, small_target.make)
