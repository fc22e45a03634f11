"""Boxes around instances are near those that people drew."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import d_boxes
from tests.experiments.conftest import CheckCommand


def test_boxes_around_instances_overlap_annotated_ones(
    sample_data: Path, check_command: CheckCommand, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(d_boxes, "DATA", sample_data)
    result = d_boxes.run(True)
    for row in result["rows"]:
        assert row["trusted"] >= 4
        assert row["mean_bev"] > 0.7
        assert row["above_50"] == 1.0
    check_command("d_boxes", result)
