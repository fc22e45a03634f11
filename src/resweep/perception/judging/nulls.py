"""What agreement is worth at most: the recorded sweep against itself with a little noise, and against the next one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from resweep.evaluation.metrics.nearest import Nearest
from resweep.perception.judging.clouds import JudgedCloud, take_first_returns
from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.judged_drive import JudgedDrive
from resweep.sweep import Sweep


def add_range_noise(real: Sweep, sigma_m: float, seed: int, number: int) -> JudgedCloud:
    """The recorded sweep ``number`` with Gaussian noise on its ranges."""
    draw = np.random.Generator(np.random.Philox(key=[seed % 2**64, number])).standard_normal(len(real))
    noisy = np.maximum(real.range + sigma_m * draw, 0.0).astype(np.float32)
    return JudgedCloud(replace(real, range=noisy), np.arange(len(real)))


def take_next(drive: JudgedDrive, number: int, real: Sweep, config: JudgingConfig, threads: int) -> JudgedCloud | None:
    """The sweep after ``number`` of a drive: each return stands for the nearest return of this sweep in the world.

    That must be within ``config.transfer_m``; other returns stand for none. None where there is no sweep after it that
    soon, or poses are unknown.
    """
    if not drive.poses_known or number + 1 >= len(drive):
        return None
    if abs(float(drive.times[number + 1] - drive.times[number])) > config.next_within_s:
        return None
    after = take_first_returns(drive.load(number + 1))
    distance, row = Nearest(real.world_points(), threads).find(after.world_points())
    return JudgedCloud(after, np.where(distance <= config.transfer_m, row, -1))
