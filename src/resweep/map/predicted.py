"""What a scene predicts for the beams of a map."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from resweep import _core
from resweep.map.beams import Beams
from resweep.pose import Array
from resweep.simulate.prediction import PredictionConfig


def measured_ranges(beams: Beams) -> Array:
    """Ranges (n,) float32 of beams, infinity for those without return."""
    return np.where(beams.returned, beams.length, np.float32(np.inf)).astype(np.float32)


def predict_beams(
    scene: _core.Scene, beams: Beams, slope: float, range_max_m: float, measured: Array | None = None
) -> Mapping[str, Array]:
    """What `Scene.predict` gives for beams ``slope`` wide at 1 m; of likelihoods too if ``measured`` (n,) is given."""
    how = PredictionConfig()
    return scene.predict(
        np.ascontiguousarray(beams.origin),
        np.ascontiguousarray(beams.direction),
        measured,
        sigma=how.sigma_m,
        clutter=how.clutter,
        window=how.window_m,
        slope=slope,
        range_max=range_max_m,
        height=how.height_m,
        threads=0,
    )
