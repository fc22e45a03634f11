"""Motion within a sweep: continuous is exact, 360 steps are not."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import d_motion


@pytest.fixture(scope="module")
def result() -> dict:
    return d_motion.run(fast=True)


def test_continuous_motion_is_exact(result: dict) -> None:
    row = result["variants"]["continuous"]
    assert row["returns"] > 100
    assert row["max_mm"] < 1.0
    assert row["other_surface"] < 0.02


def test_steps_err_by_what_a_car_drives_in_one(result: dict) -> None:
    stepped = result["variants"][str(d_motion.STEPS)]
    one_step_mm = 1e3 * 14.0 * 0.1 / d_motion.STEPS
    assert 0.2 * one_step_mm < stepped["p95_mm"] < 3 * one_step_mm
    assert result["variants"]["36"]["p95_mm"] > 5 * stepped["p95_mm"]
    assert result["variants"]["1"]["other_surface"] > 0.2


def test_placing_once_costs_less_than_placing_360_times(result: dict) -> None:
    costs = {name: row["update_ms"] for name, row in result["variants"].items()}
    assert costs["continuous"] < 0.2 * costs[str(d_motion.STEPS)]


def test_the_command_draws_its_figure_and_ends_with_one_json_object(result: dict, check_command: Any) -> None:
    check_command("d_motion", result)
