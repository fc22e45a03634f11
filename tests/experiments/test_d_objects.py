"""The steps of the object bank do what they are for, on a known car."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import d_objects


@pytest.fixture(scope="module")
def result() -> dict:
    return d_objects.run(fast=True)


@pytest.fixture(scope="module")
def rows(result: dict) -> dict:
    return result["drives"]["oncoming"]


def test_coloured_icp_brings_the_surface_nearer(rows: dict) -> None:
    assert rows["coloured ICP"]["error_median_m"] < 0.75 * rows["boxes alone"]["error_median_m"]
    assert rows["coloured ICP"]["error_95_m"] < 0.6 * rows["boxes alone"]["error_95_m"]


def test_mirroring_completes_the_car(rows: dict) -> None:
    assert rows["coloured ICP, mirrored"]["complete"] > rows["coloured ICP"]["complete"] + 0.15
    assert rows["coloured ICP, mirrored"]["rays_right"] > rows["boxes alone"]["rays_right"] + 0.2


def test_rays_meet_the_rebuilt_car_where_they_hit_the_true_one(rows: dict) -> None:
    best = rows["coloured ICP, mirrored"]
    assert best["rays_right"] > 0.75
    assert best["rays_error_m"] < 0.05
    assert best["rays_false"] < 0.1


def test_the_command_draws_its_figure_and_ends_with_one_json_object(result: dict, check_command: Any) -> None:
    check_command("d_objects", result)
