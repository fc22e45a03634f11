"""Poses and laser calibration refined on the map itself.

A log's lasers miss their nominal elevation by hundredths of a degree and their range by centimetres, and
its poses by millimetres: surfaces of the map come out in several layers. Where the map is locally a
plane, each return should lie in it. One robust least-squares problem over all sweeps finds an elevation
and a range correction for every laser, and for every sweep a small motion of its pose and of its course within the
sweep, each with its uncertainty. A long log is divided: its lasers are found on a few stretches along it, its poses in
windows that overlap. Ranges of a laser also change with azimuth, which `azimuth_bias` finds, and lasers differ in how
bright they report the same surface, which `gain` finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from resweep import portable
from resweep.calibrate.azimuth_bias import estimate_azimuth_bias
from resweep.calibrate.config import CalibrateConfig
from resweep.calibrate.gain import estimate_gain
from resweep.calibrate.incidence import estimate_exponent
from resweep.calibrate.keyframes import choose_keyframes, find_keyframe
from resweep.calibrate.local_planes import list_thicknesses, step
from resweep.calibrate.unknowns import fix_biases, fix_lasers, summarise_poses
from resweep.calibrate.views import Keep, SweepView, make_view, move_to_origin
from resweep.calibrate.windows import PoseEstimate, choose_stretches, refine_poses
from resweep.calibration import Calibration
from resweep.log import Log
from resweep.pose import Array
from resweep.progress import track
from resweep.registration import POSE, correct_motion, move_pose
from resweep.sweep import Sweep
from resweep.work import OneProcess, Workers

_APART_M = 1.0  # from which on sweeps see a place from different sides; chosen by hand


@dataclass(frozen=True, eq=False)
class CalibrationResult:
    """A log with corrected sweeps and poses, the lasers' ``calibration``, and how well surfaces agree.

    ``rates`` (n, 6) are the turn and shift a second by which the motion within each sweep was corrected, in world axes.
    ``plane_residual_m`` is the median distance of returns from the local plane, before and after.
    """

    log: Log
    calibration: Calibration
    rates: Array
    plane_residual_m: tuple[float, float]


def calibrate(
    log: Log,
    config: CalibrateConfig | None = None,
    keep: Keep | None = None,
    progress: bool = False,
    workers: Workers | None = None,
) -> CalibrationResult:
    """The log with its lasers and poses corrected; ``keep(sweep)`` (n,) says which returns take part.

    Up to ``config.sweeps`` sweeps make one problem. Of a longer log, the lasers are found on stretches along it and
    then its poses window by window, as tasks of ``workers``: what is in memory does not depend on its length.
    """
    config = config or CalibrateConfig()
    keyframes = choose_keyframes(log.poses, config)
    part = log if len(keyframes) == len(log) else log[keyframes.tolist()]
    whole = len(part) <= config.sweeps
    stretches = [(0, len(part))] if whole else choose_stretches(part.poses, config)
    found, calibration, plane_residual_m = _calibrate_lasers(part, stretches, config, keep, progress)
    if not whole:
        found = refine_poses(part, calibration, config, keep, progress, workers or OneProcess())
    if part is not log:
        found = _correct_stationary(log, keyframes, found)
    calibration = replace(calibration, poses=summarise_poses(found.changes, found.sigmas))
    rates = found.changes[:, POSE:]
    return CalibrationResult(correct_log(log, calibration, found.poses, rates), calibration, rates, plane_residual_m)


def _calibrate_lasers(
    log: Log, stretches: Sequence[tuple[int, int]], config: CalibrateConfig, keep: Keep | None, progress: bool
) -> tuple[PoseEstimate, Calibration, tuple[float, float]]:
    """The poses of the stretches, the calibration of the lasers, and the plane residual before and after."""
    rng = np.random.default_rng(0)
    chosen = [at for begin, end in stretches for at in range(begin, end)]
    views = [make_view(sweep, config, rng, keep) for sweep in track(log[chosen], "calibrating lasers", show=progress)]
    rest = iter(views)
    parts = [list(islice(rest, end - begin)) for begin, end in stretches]
    n_rings = max(view.n_rings for view in views)
    calibration = Calibration(np.zeros(n_rings), np.zeros(n_rings))
    origins = [move_to_origin(part) for part in parts]
    moves = max(map(_find_extent, parts)) >= _APART_M
    if n_rings == 1:  # lasers cannot be distinguished: only the poses are refined
        config = fix_lasers(config)
    elif not moves:
        # A mean elevation bends what one place sees, and shows between places.
        config = fix_biases(config)
    residuals: list[float] = []
    bias_sigma = None
    has_bias = config.azimuth_bias_prior_m > 0 and moves and n_rings > 1
    thicknesses = list_thicknesses(config, config.iterations)
    for number, thickness_m in enumerate(thicknesses, 1):
        # Lasers and poses agree before the last step, which removes the pose errors that biases caused.
        if has_bias and number == len(thicknesses):
            found = estimate_azimuth_bias(parts, calibration, config, thickness_m)
            if found is not None:
                bias, bias_sigma = found
                calibration = replace(calibration, azimuth_bias_m=bias)
        done = step(parts, calibration, config, rng, thickness_m)
        calibration = done.calibration
        residuals.append(done.plane_residual_m)
    if n_rings > 1:
        calibration = replace(calibration, gain=estimate_gain(parts, calibration))
    calibration = replace(calibration, incidence_exponent=estimate_exponent(parts, calibration))
    for part, origin in zip(parts, origins, strict=True):
        _move_back(part, origin)
    known = done.find_uncertainty()
    calibration = replace(calibration, sigma=replace(known.of_lasers(), azimuth_bias_m=bias_sigma))
    poses, changes = (np.stack([getattr(view, name) for view in views]) for name in ("pose", "change"))
    return PoseEstimate(poses, changes, known.sweeps), calibration, (residuals[0], residuals[-1])


def _correct_stationary(log: Log, keyframes: Array, found: PoseEstimate) -> PoseEstimate:
    """What was ``found`` for the keyframes (m,), and for the sweeps between them what corrects the one before."""
    row = find_keyframe(keyframes, len(log))
    changes = found.changes[row]
    poses = np.stack([move_pose(pose, change[:POSE]) for pose, change in zip(log.poses, changes, strict=True)])
    poses[keyframes] = found.poses
    return PoseEstimate(poses, changes, found.sigmas[row])


def _find_extent(part: Sequence[SweepView]) -> float:
    """How far apart the poses of some views lie, metres: the diagonal of their box."""
    return float(portable.norm(np.ptp([view.pose[:3, 3] for view in part], axis=0)))


def _move_back(part: Sequence[SweepView], origin: Array) -> None:
    for view in part:
        view.pose[:3, 3] += origin


def correct_log(log: Log, calibration: Calibration, poses: Array, rates: Array) -> Log:
    """The log with its lasers calibrated, its sweeps at ``poses`` (n, 4, 4) and moving by ``rates`` (n, 6) more."""

    def correct(sweep: Sweep, at: int) -> Sweep:
        placed = calibration.applied(sweep).moved_to(poses[at], sweep.timestamp)
        if rates[at].any() and sweep.n_beams:
            return replace(placed, trajectory=correct_motion(placed, rates[at][None]))
        return placed

    return log.map(correct, "calibrate", indexed=True, poses=poses)
