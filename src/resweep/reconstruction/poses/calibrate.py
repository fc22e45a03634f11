"""Poses and laser calibration refined on the map itself.

A log's lasers miss their nominal elevation by hundredths of a degree and their range by centimetres, and
its poses by millimetres: surfaces of the map come out in several layers. Where the map is locally a
plane, each return should lie in it. One robust least-squares problem over all sweeps finds an elevation
and a range correction for every laser, and a small motion for every sweep. A long log is divided: its lasers
are found on a few stretches along it, its poses in windows that overlap. Lasers also differ in how bright they report
the same surface, which `gain` finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from resweep import portable
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.pose import Array, inverse
from resweep.progress import track
from resweep.reconstruction.poses.config import CalibrateConfig
from resweep.reconstruction.poses.gain import estimate_gain
from resweep.reconstruction.poses.local_planes import (
    Keep,
    View,
    fix_lasers,
    list_thicknesses,
    make_view,
    move_to_origin,
    step,
)
from resweep.reconstruction.poses.windows import choose_stretches, refine_poses
from resweep.sweep import Sweep
from resweep.work import OneProcess, Workers


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A log with corrected sweeps and poses, the lasers' ``calibration``, and how well surfaces agree.

    ``misfit_m`` is the median distance of returns from the local plane, before and after.
    """

    log: Log
    calibration: Calibration
    misfit_m: tuple[float, float]


def calibrate(
    log: Log,
    config: CalibrateConfig | None = None,
    keep: Keep | None = None,
    progress: bool = False,
    workers: Workers | None = None,
) -> Calibrated:
    """The log with its lasers and poses corrected; ``keep(sweep)`` (n,) says which returns take part.

    Up to ``config.sweeps`` sweeps make one problem. Of a longer log, the lasers are found on stretches along it and
    then its poses window by window, as tasks of ``workers``: what is in memory does not depend on its length.
    """
    config = config or CalibrateConfig()
    whole = len(log) <= config.sweeps
    stretches = [(0, len(log))] if whole else choose_stretches(log.poses, config)
    parts, calibration, misfit_m = _calibrate_lasers(log, stretches, config, keep, progress)
    if whole:
        poses = np.stack([view.pose for view in parts[0]])
    else:
        del parts
        poses = refine_poses(log, calibration, config, keep, progress, workers or OneProcess())
    return Calibrated(correct_log(log, calibration, poses), calibration, misfit_m)


def _calibrate_lasers(
    log: Log, stretches: Sequence[tuple[int, int]], config: CalibrateConfig, keep: Keep | None, progress: bool
) -> tuple[list[list[View]], Calibration, tuple[float, float]]:
    """Views of the stretches at corrected poses, the calibration of the lasers, and the misfit before and after."""
    rng = np.random.default_rng(0)
    chosen = [at for begin, end in stretches for at in range(begin, end)]
    views = iter(
        [make_view(sweep, config, rng, keep) for sweep in track(log[chosen], "calibrating lasers", show=progress)]
    )
    parts = [list(islice(views, end - begin)) for begin, end in stretches]
    n_rings = max(view.n_rings for part in parts for view in part)
    calibration = Calibration(np.zeros(n_rings), np.zeros(n_rings))
    origins = [move_to_origin(part) for part in parts]
    if n_rings == 1:  # lasers cannot be distinguished: only the poses are refined
        config = fix_lasers(config)
    misfits: list[float] = []
    for thickness_m in list_thicknesses(config, config.iterations):
        calibration, misfit = step(parts, calibration, config, rng, thickness_m)
        misfits.append(misfit)
    if n_rings > 1:
        calibration = replace(calibration, gain=estimate_gain(parts, calibration))
    for part, origin in zip(parts, origins, strict=True):
        for view in part:
            view.pose[:3, 3] += origin
    return parts, calibration, (misfits[0], misfits[-1])


def correct_log(log: Log, calibration: Calibration, poses: Array) -> Log:
    """The log with its lasers calibrated and its sweeps at ``poses`` (n, 4, 4)."""

    def correct(sweep: Sweep, at: int) -> Sweep:
        sweep = calibration.applied(sweep)
        change = portable.matmul(poses[at], inverse(sweep.pose))
        motion = None if sweep.trajectory is None else sweep.trajectory.moved(change)
        return replace(sweep, pose=poses[at], trajectory=motion)

    return log.map(correct, "calibrate", indexed=True, poses=poses)
