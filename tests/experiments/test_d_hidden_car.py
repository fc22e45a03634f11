"""The safety test of the hidden car: its table, its figure, and who passes it."""

from __future__ import annotations

import pytest

from experiments import d_hidden_car
from tests.experiments.conftest import CheckCommand


@pytest.fixture(scope="module")
def result() -> dict:
    return d_hidden_car.run(fast=True)


@pytest.mark.slow
def test_the_reference_stack_passes_slow_cases_that_a_blind_driver_fails(result: dict) -> None:
    assert result["variants"] == len(result["rows"]) == 2
    assert result["success_rate"] == 1.0
    assert result["failures"] == result["unavoidable"] == []
    blind = d_hidden_car.run(fast=True, autonomy="tests.drive.stacks:keep_speed")
    assert blind["success_rate"] < 1.0
    (failed,) = [row for row in blind["rows"] if not row["success"]][:1]
    assert failed["with"] == "actor turning car"
    assert failed["min_distance_m"] == 0.0
    assert failed["avoidable"] is True


def test_distances_are_those_to_the_hidden_car(result: dict) -> None:
    """The bus passes a metre beside the ego; what never comes within 10 m has no distance."""
    for row in result["rows"]:
        assert 0.5 < row["min_distance_any_m"] < 2.0
        assert row["min_distance_m"] is None or row["min_distance_m"] > row["min_distance_any_m"]
        assert 0.0 < row["first_seen_s"] < row["duration_s"]
    near = [row["min_distance_m"] for row in result["rows"] if row["min_distance_m"] is not None]
    assert result["min_distance_m"] == min(near, default=None)


def test_the_command(check_command: CheckCommand, result: dict) -> None:
    check_command("d_hidden_car", result)
    assert {"variants", "success_rate", "min_distance_m"} <= set(result)
