"""A long drive in parts: stretches on which its lasers are found, and windows in which its poses are refined.

Windows of consecutive sweeps overlap. Each is refined by itself, with the lasers as they were found, so that windows
can be tasks and memory is that of two. What a window cannot know is a motion of all its sweeps together: the priors
keep it small, and in the overlap the corrections of one window fade into those of the next, so that there is no step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from resweep import portable
from resweep.calibrate.config import CalibrateConfig
from resweep.calibrate.local_planes import list_thicknesses, step
from resweep.calibrate.unknowns import fix_lasers
from resweep.calibrate.views import Keep, SweepView, make_view, move_to_origin
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.pose import Array, rotation_of
from resweep.registration import POSE, RATES, move_pose
from resweep.work import Workers

_OVERLAP = 0.2  # of a window; chosen by hand
_VIEW_SEED, _WINDOW_SEED = 1, 2

Window = tuple[int, int]  # the first sweep and the one after the last


def choose_stretches(poses: Array, config: CalibrateConfig) -> list[Window]:
    """Stretches of consecutive sweeps, at most ``config.sweeps`` together, spread evenly along the way driven.

    ``poses`` (n, 4, 4) are those of a log of more sweeps. A log that stands is divided evenly.
    """
    length = min(config.stretch, config.sweeps)
    count = config.sweeps // length
    way_m = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(poses[:, :3, 3], axis=0), axis=1))]
    if way_m[-1] == 0.0:
        way_m = np.arange(len(poses), dtype=np.float64)
    middle = np.searchsorted(way_m, (np.arange(count) + 0.5) * way_m[-1] / count)
    begins: list[int] = []
    for at, begin in enumerate((middle - length // 2).tolist()):
        earliest = begins[-1] + length if begins else 0
        begins.append(min(max(begin, earliest), len(poses) - (count - at) * length))
    return [(begin, begin + length) for begin in begins]


def choose_windows(count: int, size: int) -> list[Window]:
    """Windows of ``size`` sweeps that cover all of ``count`` and overlap by at least a fifth of their size."""
    size = min(size, count)
    stride = size - max(1, int(_OVERLAP * size))
    windows = 1 + -(-(count - size) // stride)
    return [(begin, begin + size) for begin in np.linspace(0, count - size, windows).round().astype(int).tolist()]


@dataclass(frozen=True, eq=False)
class PoseEstimate:
    """Refined ``poses`` (n, 4, 4), the turns and shifts that refine them, and the standard deviations of those (n, 12).

    ``changes`` are a turn and a shift of the pose, then a turn and a shift a second of the motion within the sweep.
    """

    poses: Array
    changes: Array
    sigmas: Array


def refine_poses(
    log: Log, calibration: Calibration, config: CalibrateConfig, keep: Keep | None, progress: bool, workers: Workers
) -> PoseEstimate:
    """The poses of a log and the motion within its sweeps, refined in windows; its lasers are as in ``calibration``."""
    if config.window is None:
        return PoseEstimate(log.poses.copy(), np.zeros((len(log), POSE + RATES)), np.zeros((len(log), POSE + RATES)))
    windows = choose_windows(len(log), config.window)
    samples = config.samples * (windows[0][1] - windows[0][0]) // config.sweeps  # a sweep as many as for the lasers
    fewer = {"points_per_sweep": config.window_points, "samples": max(samples, 1)}
    views = _Views(log, calibration, fix_lasers(config.model_copy(update=fewer)), keep)
    refine = partial(_refine_window, views)
    total, weights = np.zeros((len(log), 2 * (POSE + RATES))), np.zeros(len(log))
    for window, found in zip(windows, workers.map(refine, windows, "refining poses", show=progress), strict=True):
        weight = _fade(window, len(log))
        total[slice(*window)] += weight[:, None] * found
        weights[slice(*window)] += weight
    changes, sigmas = np.split(total / weights[:, None], 2, axis=1)
    poses = np.stack([move_pose(pose, change[:POSE]) for pose, change in zip(log.poses, changes, strict=True)])
    return PoseEstimate(poses, changes, sigmas)


class _Views:
    """The views of a log's sweeps with their lasers corrected, all of them counted as one laser.

    Those of the last window are kept, as the next one begins with some of them. They are not pickled.
    """

    def __init__(self, log: Log, calibration: Calibration, config: CalibrateConfig, keep: Keep | None) -> None:
        self.config = config
        self._log, self._calibration, self._keep = log, calibration, keep
        self._last: dict[int, SweepView] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_last": {}}

    def of(self, window: Window) -> list[SweepView]:
        """The views of a window, which the caller may move; each is the same in every window."""
        last = self._last
        self._last = {at: last[at] if at in last else self._make(at) for at in range(*window)}
        return [replace(view) for view in self._last.values()]

    def _make(self, number: int) -> SweepView:
        view = make_view(self._log[number], self.config, np.random.default_rng([_VIEW_SEED, number]), self._keep)
        beams = self._calibration.corrected(view.direction, view.range, view.ring)
        one = np.zeros_like(view.ring)
        return replace(view, direction=beams.along, range=beams.range, ring=one, n_rings=1)


def _refine_window(source: _Views, window: Window) -> Array:
    """The changes (m, 12) that refine each sweep of a window, and their standard deviations: (m, 24)."""
    views = source.of(window)
    before = np.stack([view.pose for view in views])
    origin = move_to_origin(views)
    rng = np.random.default_rng([_WINDOW_SEED, window[0]])
    for thickness_m in list_thicknesses(source.config, source.config.window_iterations):
        done = step([views], Calibration(np.zeros(1), np.zeros(1)), source.config, rng, thickness_m)
    after = np.stack([view.pose for view in views])
    turn = rotation_of(portable.matmul(after[:, :3, :3], before[:, :3, :3].transpose(0, 2, 1))).as_rotvec()
    rates = np.stack([view.change[POSE:] for view in views])
    return np.concatenate(
        [turn, after[:, :3, 3] + origin - before[:, :3, 3], rates, done.find_uncertainty().sweeps], axis=1
    )


def _fade(window: Sequence[int], count: int) -> Array:
    """Weights (m,) of a window's sweeps, which fall towards its ends but not towards those of the log."""
    begin, end = window
    at = np.arange(begin, end)
    rise = at - begin + 1 if begin > 0 else np.full(len(at), count)
    fall = end - at if end < count else np.full(len(at), count)
    return np.asarray(np.minimum(rise, fall), np.float64)
