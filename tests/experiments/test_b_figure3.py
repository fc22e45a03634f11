"""Speed against threads: the same bytes, honest figures, and no claim from a busy machine."""

from __future__ import annotations

from typing import Any

import pytest

from experiments import b_figure3
from experiments.b_figure3 import Timing


@pytest.fixture(scope="module")
def result() -> dict:
    return b_figure3.run(fast=True)


def test_threads_do_not_change_the_sweep(result: dict) -> None:
    assert result["same_bytes"]
    assert result["triangles"] >= 2_000_000
    assert result["rays"] == 9 * result["pulses"]


def test_threads_go_up_to_the_cores_and_beyond() -> None:
    assert b_figure3.thread_counts(1) == [1, 2]
    assert b_figure3.thread_counts(2) == [1, 2, 4]
    assert b_figure3.thread_counts(6) == [1, 2, 4, 6, 12]


def test_more_threads_cost_no_more_processor_time(result: dict) -> None:
    """Whoever shares the machine, the work of a sweep is the same; only its spread over cores differs."""
    cost = {row["threads"]: row["cpu_s_per_sweep"] for row in result["scaling"]}
    assert max(cost.values()) < 1.8 * cost[1]


def test_only_undisturbed_sweeps_make_a_speedup() -> None:
    calm, crowded = Timing(1.0, 1.0, 0.0), Timing(1.0, 1.0, 1.0)
    half = Timing(0.5, 1.0, 0.05)
    row = b_figure3._row(2, {1: [calm, crowded], 2: [half, crowded, crowded]}, 0.1)
    assert row["speedup"] == pytest.approx(2.0)
    assert row["efficiency"] == pytest.approx(1.0)
    assert (row["quiet_sweeps"], row["sweeps"]) == (1, 3)


def test_a_busy_machine_gives_no_speedup_instead_of_a_wrong_one() -> None:
    crowded = Timing(1.0, 1.0, 1.0)
    row = b_figure3._row(2, {1: [crowded], 2: [crowded]}, 0.1)
    assert row["speedup"] is row["efficiency"] is row["sweeps_per_s"] is None
    assert not Timing(1.0, 1.0, float("nan")).quiet  # a machine that does not tell is not taken for idle


def test_conclusive_only_with_enough_quiet_sweeps(result: dict) -> None:
    least = min(row["quiet_sweeps"] for row in result["scaling"])
    assert result["conclusive"] == (least >= b_figure3.MIN_QUIET_SWEEPS)


def test_the_command_draws_its_figure_and_ends_with_one_json_object(result: dict, check_command: Any) -> None:
    check_command("b_figure3", result)
