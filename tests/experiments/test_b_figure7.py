"""Mixed pixels on the bench of rods: present below the cutoff, absent beyond."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments import b_figure7
from resweep import Simulator


@pytest.fixture(scope="module")
def result() -> dict:
    return b_figure7.run(fast=True)


def test_present_at_60_cm_and_absent_at_2_m(result: dict) -> None:
    assert result["mixed"]["0.6"] > 0
    assert result["mixed"]["2"] == 0


def test_the_cutoff_ends_them_with_and_without_noise(result: dict) -> None:
    for name, counts in result["counts"].items():
        for offset, count in zip(result["offsets_m"], counts, strict=True):
            assert (count > 0) == (offset < 1.6), (name, offset)
    assert result["claim_holds"]


def test_another_cutoff_moves_the_end() -> None:
    def count(cutoff: float, offset: float) -> int:
        sensor = b_figure7.sick({"receiver.signal_cutoff_m": cutoff})
        sweep = Simulator(b_figure7.bench(offset), sensor).sweep(np.eye(4))
        return int(b_figure7.mixed_pixels(sweep, offset).sum())

    assert count(0.5, 0.6) == 0
    assert count(3.0, 2.0) > 0


def test_a_beam_without_width_has_none() -> None:
    sensor = b_figure7.sick({"beam.rays": "single"})
    sweep = Simulator(b_figure7.bench(0.6), sensor).sweep(np.eye(4))
    assert b_figure7.mixed_pixels(sweep, 0.6).sum() == 0


def test_every_rod_and_the_board_are_seen_where_they_stand() -> None:
    sweep = Simulator(b_figure7.bench(2.0), b_figure7.sick()).sweep(np.eye(4))
    assert set(np.unique(sweep.instance)) == set(range(10))
    board = sweep.points[sweep.instance == 0]
    np.testing.assert_allclose(board[:, 0], 2.8, atol=0.002)
    assert len(sweep) == sweep.n_beams


def test_the_command_draws_its_figure_and_ends_with_one_json_object(result: dict, check_command: Any) -> None:
    check_command("b_figure7", result)
