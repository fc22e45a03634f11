"""What ``experiments.d_intensity`` compares learned intensities with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs resweep[learn]")


def test_the_neighbour_is_the_next_beam_but_one() -> None:
    """Intensities that alternate from beam to beam say all of the next but one, and nothing of the next."""
    from benchmarks.learned import made_up_pair
    from experiments.d_intensity import _score_neighbour, _score_physics

    pair = made_up_pair(0, 8, 64, "a")
    beams = len(pair.channels)
    column = np.arange(beams) % 64
    light = np.where(column % 2 == 0, 0.1, 0.4).astype(np.float32)
    everything = np.ones(beams, bool)
    alternating = replace(pair, intensity=light, returned=everything, counted=everything)
    found = _score_neighbour([alternating])
    assert found["intensity_rmse"] == pytest.approx(0.0, abs=1e-6)
    assert found["intensity_corr"] == pytest.approx(1.0, abs=1e-6)
    wide = replace(alternating, intensity=np.where(column // 2 % 2 == 0, 0.1, 0.4).astype(np.float32))
    assert _score_neighbour([wide])["intensity_rmse"] == pytest.approx(0.3, abs=1e-5)
    right = replace(alternating, simulated=light)
    assert _score_physics([right])["intensity_rmse"] == 0.0
