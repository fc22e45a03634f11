"""Settings of what finds the poses of logs and brings drives together."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from resweep.config import NotNegative, Positive, Share, Spec
from resweep.quantities import MAX_COUNT, CellSize


class AlignConfig(Spec):
    """How drives of one place are aligned (`register.align`); metres, degrees.

    Errors of up to ``shift_max_m`` and ``turn_max_deg`` are corrected. Returns nearer than ``range_max_m`` of sweeps
    ``sweep_gap_m`` apart take part. Drives are registered in segments of ``segment_m``, then their drift is corrected
    at knots ``knot_gap_m`` apart, from one of which to the next the correction changes by about ``drift_m`` and
    ``drift_deg``. Both go along a long drive in sections of about ``section_m``, with the map around one of them in
    memory. At least ``overlap_min`` of a drive's points must lie within a metre of the map, half of those within
    ``plane_residual_max_m`` of its planes, and in every direction ``agreement_min`` of its flat places must lie in
    planes of the map.
    """

    shift_max_m: Positive = 3.0
    turn_max_deg: Positive = 5.0
    range_max_m: Positive = 50.0
    sweep_gap_m: Positive = 1.0
    segment_m: Positive = 60.0
    section_m: Annotated[float, Field(ge=20.0, le=1e6)] = 300.0
    knot_gap_m: Positive = 5.0
    drift_m: Positive = 0.05
    drift_deg: Positive = 0.1
    overlap_min: Share = 0.1
    plane_residual_max_m: Positive = 0.1
    agreement_min: Share = 0.2


class OdometryConfig(Spec):
    """How poses are found from the sweeps alone (`register.odometry`); metres.

    Returns between ``range_min_m`` and ``range_max_m`` take part. The local map keeps the last ``keyframes`` sweeps
    that are ``keyframe_gap_m`` apart, averaged in voxels of ``voxel_m`` (by default a 20th of the first sweep's median
    range, 0.1 to 0.4 m). Each sweep is registered in up to ``iterations`` steps. The first ``warm_up`` sweeps are
    registered three times over, so that their motion is known from the start. A warning names the sweeps of which less
    than ``fit_min`` of the returns lie within a voxel of the map.
    """

    range_min_m: NotNegative = 2.0
    range_max_m: Positive = 80.0
    voxel_m: CellSize | None = None
    keyframes: Annotated[int, Field(ge=1, le=MAX_COUNT)] = 25
    keyframe_gap_m: NotNegative = 0.5
    iterations: Annotated[int, Field(ge=1, le=100)] = 15
    warm_up: Annotated[int, Field(ge=2, le=MAX_COUNT)] = 5
    fit_min: Share = 0.1
