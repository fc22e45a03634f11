"""Real recordings: scores that are what they say, and a clear word where a recording is absent."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import a_mobile, a_reality
from resweep import Sweep, World
from resweep.scenes import wall


def test_absent_recordings_are_named_and_skipped(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(a_reality, "DATA", tmp_path)
    result = a_reality.run(fast=True)
    assert set(result["skipped"]) == {"standing", "terrestrial", "drive"}
    a_reality.show(result)
    a_reality.draw(result)


def test_scores_of_a_world_that_is_the_truth() -> None:
    world = World([wall((5, -2), (5, 2), 4.0, 0.01)])
    points = np.column_stack([np.full(50, 4.995), np.linspace(-1, 1, 50), np.full(50, 1.0)])
    found = a_reality.scores(world, Sweep.from_points(points))
    assert (found["precision"], found["recall"], found["within_10cm"]) == (1.0, 1.0, 1.0)
    assert found["too_early"] == 0.0
    behind = a_reality.scores(world, Sweep.from_points(1.5 * points))
    assert (behind["within_10cm"], behind["too_early"]) == (0.0, 1.0)


def test_empty_pulses_of_the_terrestrial_scan_are_known(sample_data: Path) -> None:
    path = sample_data / "vegetation" / "rtls" / "TLS_scan.npz"
    if not path.is_file():
        pytest.skip("needs vegetation/rtls")
    sweep = a_reality.riegl_sweep(np.load(path), fast=True)
    assert 0.5 < len(sweep) / sweep.n_beams < 0.95
    np.testing.assert_allclose(np.linalg.norm(sweep.beam_direction, axis=1), 1.0, atol=1e-5)


@pytest.mark.slow
def test_the_second_drive_is_simulated_in_worlds_of_the_first() -> None:
    result = a_mobile.run(fast=True)
    assert {row["world"] for row in result["rows"]} == {"voxels", "top-down", "hybrid"}
    for row in result["rows"]:
        assert row["precision"] > 0.85
        assert 0.3 < row["recall"] <= 1
    a_mobile.show(result)
    a_mobile.draw(result)
