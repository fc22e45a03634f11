"""What a simulated return is worth: the confidence in it, from how its primitive was recorded.

The confidence is the probability that the place itself returns within 0.1 m of the simulated range, by a logistic model
that was fitted to sweeps of places of known truth (`experiments.d_confidence`). Real recordings have errors
of poses and lasers that these places lack.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from resweep import _core
from resweep.worlds.observed import ObservedSpace

# A beam that crosses more metres of what no recorded beam crossed has left observed space.
GAP_M = 2.0
# A beam that comes this share of the way that recorded beams without return looked is as empty as they were.
_REACHED = 0.9
# What the columns of the weights stand for (`cpp/trace/confidence.hpp`).
FEATURES = (
    "1",
    "log2(1 + returns on the primitive)",
    "no return on the primitive",
    "the primitive was completed, not recorded",
    "doublings of the range beyond the recorded ones",
    "halvings of the range below the recorded ones",
    "incidence outside the recorded ones, 10 degrees",
    "log2(1 + metres of unknown space before the return)",
    "range, 20 m",
    "1 - sqrt(cosine of the incidence)",
)
# Of surfaces and of volumes, as experiments.d_confidence printed them.
WEIGHTS = (
    (1.815, 1.602, 0.559, -0.087, -1.297, 0.574, -0.12, -0.048, -0.845, -1.843),
    (0.485, 0.446, 0.664, 0.0, -0.236, 0.149, 0.0, -0.295, -1.067, 0.0),
)


def make_record(observed: ObservedSpace, gap_m: float = GAP_M, weights: ArrayLike = WEIGHTS) -> _core.Record:
    """What a world knows of its recording, as the tracer takes it; ``weights`` (2, k) are those of the confidence."""
    return _core.Record(observed.native, gap_m, _REACHED * observed.reach_m, np.ascontiguousarray(weights, np.float32))
