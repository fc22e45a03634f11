"""``resweep simulate`` says what share of its beams look where nothing was recorded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep import _core
from resweep.io import open_log
from resweep.sweep import BeamStatus
from resweep.worlds import Splats, World
from resweep.worlds.observed import ObservedSpace

ARGS = ("-s", "velodyne-vlp-16", "-p", "0,0,2", "-o", "out", "--rays", "single")


def lawn(observed: ObservedSpace | None) -> World:
    at = np.random.default_rng(0).uniform(-10, 10, (3000, 2))
    splats = Splats(np.c_[at, np.zeros(3000)], np.tile([0, 0, 1.0], (3000, 1)), np.full(3000, 0.4), extra={})
    return World([splats], observed=observed)


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A lawn over which nobody looked up."""
    native = _core.ObservedSpace(0.5)
    native.mark(np.array([[0, 0, 2]], np.float32), np.array([[1, 0, 0]], np.float32), np.array([5.0], np.float32))
    return lawn(ObservedSpace.of(native, 0.5, 80.0)).save(tmp_path / "lawn.world")


def test_the_summary_and_json_say_how_many_beams_are_unknown(recorded: Path, resweep: Any) -> None:
    result = resweep("simulate", recorded, *ARGS, "--json")
    assert result.status == 0
    sweep = open_log("out")[0]
    share = float((sweep.beam_status == BeamStatus.UNKNOWN).mean())
    assert share > 0.4
    assert f"{100 * share:.1f} % of the beams look where nothing was recorded" in result.out
    facts = json.loads(result.out.splitlines()[-1])
    assert facts["unknown_share"] == pytest.approx(share)
    assert (facts["sweeps"], facts["beams"], facts["returns"]) == (1, sweep.n_beams, len(sweep))
    assert "confidence" in sweep.extra  # the lossless format keeps what returns say of themselves


def test_a_world_without_a_record_says_that_it_does_not_know(tmp_path: Path, resweep: Any) -> None:
    result = resweep("simulate", lawn(None).save(tmp_path / "old.world"), *ARGS, "--json")
    assert result.status == 0
    assert "the world does not know which space was recorded; build it again" in result.out
    assert json.loads(result.out.splitlines()[-1])["unknown_share"] is None


def test_a_mesh_was_not_recorded_and_says_nothing(room: Path, resweep: Any) -> None:
    result = resweep("simulate", room, *ARGS)
    assert result.status == 0
    assert "recorded" not in result.out
