"""Simulated against real: metrics that are what their names say, and a report of them."""

from __future__ import annotations

from resweep.evaluation.evaluate_logs import evaluate
from resweep.evaluation.metrics.histograms import (
    NO_RETURN,
    Shots,
    bhattacharyya,
    direction_distances,
    histogram_distance,
    noise_floor,
    shots_of,
)
from resweep.evaluation.metrics.metrics import METRICS, Metric, cloud_to_cloud, psnr, ssim
from resweep.evaluation.report.report import Report

__all__ = [
    "METRICS",
    "NO_RETURN",
    "Metric",
    "Report",
    "Shots",
    "bhattacharyya",
    "cloud_to_cloud",
    "direction_distances",
    "evaluate",
    "histogram_distance",
    "noise_floor",
    "psnr",
    "shots_of",
    "ssim",
]
