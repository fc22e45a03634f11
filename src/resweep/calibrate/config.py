"""Settings of the calibration of lasers and poses."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from resweep.config import NotNegative, Positive, Spec
from resweep.quantities import MAX_COUNT, CellSize


class CalibrateConfig(Spec):
    """How poses and lasers are refined (`poses.calibrate`); lengths in metres, angles in radians.

    Up to ``sweeps`` sweeps with ``points_per_sweep`` returns each, nearer than ``range_max_m``, take part. Of a longer
    log they are stretches of ``stretch`` sweeps along the drive, which calibrate the lasers; its poses are then refined
    in windows of ``window`` sweeps, with ``window_points`` returns of each, in ``window_iterations``. With
    ``window: null`` the poses of a longer log stay as they are.

    Where the vehicle stands, only keyframes take part (`keyframes.choose_keyframes`): what moved by ``keyframe_gap_m``
    or turned by ``keyframe_turn_rad``, and every ``standing_every``-th sweep. The others are corrected as the one
    before them.

    In each of ``iterations``, ``samples`` of the returns look at their ``k`` nearest, within ``neighbour_radius_m``:
    they are a plane if their variance across it is below ``thickness_m``² and ``flatness`` times that along its short
    side, which is above ``breadth`` times that along its long side. It must also be thinner than
    ``thickness_per_residual`` times the typical distance, or ``thickness_min_m`` if that is more. Distances weigh by
    their own spread, or by ``noise_m`` if that is less, and beyond ``huber_m`` less. The priors say how large
    corrections are expected to be: of each laser, of its range by azimuth (``azimuth_bias_``; with 0 it is left out),
    of all lasers together (``_bias_``), of each sweep, and of the motion within it (``_rate_``, a second; the defaults
    are for GPS with an IMU, odometry wants five times as much). With ``continuous``, the latter are counted from how
    the corrections of the poses before and after change over time, in
    sweeps whose motion is known: it has no jumps, and where poses jitter by a centimetre it is off by a decimetre a
    second.
    """

    sweeps: Annotated[int, Field(ge=2, le=MAX_COUNT)] = 100
    points_per_sweep: Annotated[int, Field(ge=1000, le=MAX_COUNT)] = 60_000
    stretch: Annotated[int, Field(ge=2, le=MAX_COUNT)] = 20
    window: Annotated[int, Field(ge=5, le=MAX_COUNT)] | None = 50
    window_points: Annotated[int, Field(ge=1000, le=MAX_COUNT)] = 15_000
    window_iterations: Annotated[int, Field(ge=1, le=50)] = 3
    keyframe_gap_m: NotNegative = 0.05
    keyframe_turn_rad: NotNegative = 0.002
    standing_every: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 10
    range_max_m: Positive = 60.0
    iterations: Annotated[int, Field(ge=1, le=50)] = 6
    samples: Annotated[int, Field(ge=1000, le=MAX_COUNT)] = 40_000
    k: Annotated[int, Field(ge=8, le=200)] = 40
    neighbour_radius_m: CellSize = 1.0
    thickness_m: Positive = 0.08
    flatness: Positive = 0.05
    breadth: Positive = 0.02
    thickness_min_m: Positive = 0.01
    thickness_per_residual: Positive = 6.0
    noise_m: Positive = 0.02
    huber_m: Positive = 0.03
    elevation_prior_rad: Positive = 0.0017
    elevation_bias_prior_rad: Positive = 0.005
    range_prior_m: Positive = 0.02
    range_bias_prior_m: Positive = 0.01
    range_slope_prior: Positive = 0.0005
    azimuth_bias_prior_m: NotNegative = 0.005
    turn_prior_rad: Positive = 0.002
    shift_prior_m: Positive = 0.02
    turn_rate_prior_rad_s: Positive = 0.002
    shift_rate_prior_m_s: Positive = 0.02
    continuous: bool = True
