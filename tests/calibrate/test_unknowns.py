"""The motion within sweeps is expected to follow how the poses before and after are corrected."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.calibrate.config import CalibrateConfig
from resweep.calibrate.unknowns import Unknowns, find_slopes
from resweep.calibrate.views import SweepView
from resweep.calibration import Calibration
from resweep.pose import Array

CONFIG = CalibrateConfig()
RATE = np.array([0.01, 0.0, -0.02, 0.1, 0.05, 0.0])  # radians and metres a second


def view_at(time: float | None, change: Array | None = None) -> SweepView:
    none = np.zeros((0, 3))
    view = SweepView(none, none, np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.eye(4), 1, time)
    view.change = np.zeros(12) if change is None else change
    return view


def test_slopes_are_those_of_neighbours_in_the_same_part() -> None:
    parts = [[view_at(time) for time in (0.0, 0.1, 0.3, 0.4)], [view_at(time) for time in (9.0, 9.1)], [view_at(50.0)]]
    times = np.array([view.timestamp for part in parts for view in part], float)
    slopes = find_slopes(parts)
    values = np.where(times < 5, 3.0 * times, np.where(times < 20, 100.0 - 2.0 * times, 7.0))
    np.testing.assert_allclose(slopes @ values, [3, 3, 3, 3, -2, -2, 0], atol=1e-9)


@pytest.mark.parametrize("times", [(0.0, 0.0, 0.0), (None, None, None)])
def test_views_at_one_time_or_without_motion_are_not_linked(times: tuple[float | None, ...]) -> None:
    assert not find_slopes([[view_at(time) for time in times]]).any()


@pytest.mark.parametrize("continuous", [True, False])
def test_motion_that_poses_show_costs_nothing_and_motion_against_them_does(continuous: bool) -> None:
    times = 0.1 * np.arange(5)

    def cost(rate: Array) -> float:
        """Of poses that are corrected along `RATE`, and motion within sweeps corrected by ``rate``."""
        views = [view_at(time, np.r_[RATE * time, rate]) for time in times.tolist()]
        layout = Unknowns(1, len(views), True, find_slopes([views]) if continuous else None)
        unknowns = layout.join(Calibration(np.zeros(1), np.zeros(1)), views)
        return float(unknowns @ layout.precision(CONFIG) @ unknowns)

    layout = Unknowns(1, len(times), False)
    still = [view_at(time, np.r_[RATE * time, np.zeros(6)]) for time in times.tolist()]
    alone = layout.join(Calibration(np.zeros(1), np.zeros(1)), still)
    poses = float(alone @ layout.precision(CONFIG) @ alone)
    sigma = np.r_[[CONFIG.turn_rate_prior_rad_s] * 3, [CONFIG.shift_rate_prior_m_s] * 3]
    against = poses + len(times) * float(((RATE / sigma) ** 2).sum())
    expected = (poses, against) if continuous else (against, poses)
    np.testing.assert_allclose((cost(RATE), cost(0 * RATE)), expected, rtol=1e-6)
