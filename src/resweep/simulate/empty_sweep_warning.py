"""The warning for a sweep of which no beam hit anything: most often its pose is not in the world's frame."""

from __future__ import annotations

import warnings

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.sweep import Sweep
from resweep.worlds import StreamedWorld, World


class EmptySweepWarning:
    """Looks at simulated sweeps of one world, and warns once of one without a single return."""

    def __init__(self, world: World | StreamedWorld) -> None:
        self._world = world
        self._warned = False

    def check(self, sweep: Sweep, index: int) -> Sweep:
        """``sweep``, the ``index``-th; warns of the first that has beams and no return."""
        if len(sweep) == 0 and sweep.n_beams and not self._warned:
            self._warned = True
            warnings.warn(describe_empty_sweep(self._world, sweep, index), stacklevel=3)
        return sweep


def describe_empty_sweep(world: World | StreamedWorld, sweep: Sweep, index: int) -> str:
    """One line: that no beam hit anything, where the sensor stood, and what to do."""
    place = sweep.pose[:3, 3]
    return (
        f"sweep {index}: none of {sweep.n_beams:,} beams hit anything. The sensor stood at {_format_xyz(place)} m, "
        f"{_describe_place(world, place)}; give poses in the world's frame, such as those of the log it was built from"
    )


def _describe_place(world: World | StreamedWorld, place: Array) -> str:
    if not world.layers:
        return "and the world is empty"
    low, high = world.bounds
    span = f"{_format_xyz(low)} to {_format_xyz(high)} m"
    away = float(portable.norm(place - np.clip(place, low, high)))
    if away > 0:
        return f"{away:,.1f} m outside the world's bounds ({span})"
    return f"within the world's bounds ({span}), but nothing lies in the beams' reach"


def _format_xyz(point: Array) -> str:
    return ", ".join(f"{value:.1f}" for value in point)
