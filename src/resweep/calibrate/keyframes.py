"""Keyframes: sweeps from new places; of a vehicle that waits at a traffic light, one sweep in ten."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from resweep import portable
from resweep.calibrate.config import CalibrateConfig
from resweep.pose import Array, rotation_of

_MIN_KEYFRAMES = 10  # a log that stands nearly all the time is used whole up to that; chosen by hand


def choose_keyframes(poses: Array, config: CalibrateConfig) -> Array:
    """Rows (m,) of the ``poses`` (n, 4, 4) that take part, ascending; the first is one of them.

    A sweep is a keyframe if it moved by ``keyframe_gap_m`` or turned by ``keyframe_turn_rad`` since the last one, or is
    the ``standing_every``-th since. All are, where that would leave less than ten.
    """
    chosen, last = [0], 0
    turn = rotation_of(poses)
    for at in range(1, len(poses)):
        moved = float(portable.norm(poses[at, :3, 3] - poses[last, :3, 3])) >= config.keyframe_gap_m
        if moved or at - last >= config.standing_every or _differ(turn[last], turn[at]) >= config.keyframe_turn_rad:
            chosen.append(at)
            last = at
    return np.arange(len(poses)) if len(chosen) < _MIN_KEYFRAMES else np.array(chosen)


def find_keyframe(keyframes: Array, count: int) -> Array:
    """For each of ``count`` sweeps, which of the ``keyframes`` (m,) it is or follows: (n,) numbers below m."""
    return np.searchsorted(keyframes, np.arange(count), side="right") - 1


def _differ(first: Rotation, second: Rotation) -> float:
    return float((second * first.inv()).magnitude())
