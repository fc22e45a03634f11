"""Places: parts of a drive by which figures vary, drawn again to find how sure a figure is."""

from __future__ import annotations

import numpy as np

from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.judged_drive import JudgedDrive
from resweep.pose import Array
from resweep.sweep import Sweep


class Places:
    """Numbers places: sectors of the horizon, seen from stretches of the drive.

    Sweeps of one stretch see the same things, so they share their places. Where poses are unknown each sweep is a
    stretch of its own.
    """

    def __init__(self, drive: JudgedDrive, numbers: Array, config: JudgingConfig) -> None:
        self.sectors = config.sectors
        self._turn = drive.poses[numbers][:, :3, :3]
        position = drive.poses[:, :3, 3]
        step = np.linalg.norm(np.diff(position, axis=0), axis=1)
        along = np.concatenate([[0.0], np.cumsum(step)])[numbers] if len(position) else np.zeros(0)
        own = (along // config.stretch_m).astype(np.int64) if drive.poses_known else np.arange(len(numbers))
        _, self._stretch = np.unique(own, return_inverse=True)

    @property
    def count(self) -> int:
        """Number of places."""
        return (int(self._stretch.max()) + 1 if len(self._stretch) else 0) * self.sectors

    def find(self, sweep: Sweep, at: int) -> Array:
        """The place (n,) of each return of the ``at``-th judged sweep."""
        return self._find(sweep.points @ sweep.pose[:3, :3].T, at)

    def find_towards(self, points: Array, at: int) -> Array:
        """The place (n,) of points (n, 3) in the frame of the ``at``-th judged sweep."""
        return self._find(np.asarray(points, np.float64) @ self._turn[at].T, at)

    def _find(self, towards: Array, at: int) -> Array:
        share = np.arctan2(towards[:, 1], towards[:, 0]) / (2.0 * np.pi) + 0.5
        sector = np.minimum((share * self.sectors).astype(np.int64), self.sectors - 1)
        return np.asarray(self._stretch[at] * self.sectors + sector)


def draw_weights(places: int, resamples: int, seed: int) -> Array:
    """How often each place is taken in each draw (resamples, places), as many in all as there are places."""
    draw = np.random.Generator(np.random.Philox(key=[seed % 2**64, places]))
    chosen = draw.integers(places, size=(resamples, places)) if places else np.zeros((resamples, 0), np.int64)
    weights = np.zeros((resamples, places))
    np.add.at(weights, (np.arange(resamples)[:, None], chosen), 1.0)
    return weights
