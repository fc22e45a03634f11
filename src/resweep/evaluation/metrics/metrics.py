"""Every metric by name, and the formulas behind them.

Lengths are metres. Some published metrics are not what their names say: squared distances called Chamfer distance,
an F-score "at 0.05" of squared metres. They are given beside the plain ones, under names that say what they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.ndimage import correlate1d

from resweep.errors import ResweepError
from resweep.evaluation.metrics.nearest import find_nearest_distances
from resweep.pose import Array

FSCORE_M = (0.02, 0.05, 0.10, 0.20)
FSCORE_SQ_M2 = 0.05
WITHIN_M = (0.05, 0.10, 0.20)
LARGE_ERROR_M = 0.5
# Equal images have no finite PSNR. 120 dB is an error of a millionth of the data range, finer than any
# LiDAR resolves: the cap loses nothing and keeps every report valid JSON.
PSNR_MAX_DB = 120.0


@dataclass(frozen=True)
class Metric:
    """What one metric means: its unit, its value for equal sweeps, and which way is better."""

    group: str
    unit: str
    perfect: float | None
    better: Literal["lower", "higher", "zero"]
    definition: str


def _define_lower(group: str, unit: str, definition: str, perfect: float | None = 0.0) -> Metric:
    return Metric(group, unit, perfect, "lower", definition)


def _define_higher(group: str, unit: str, definition: str, perfect: float | None = 1.0) -> Metric:
    return Metric(group, unit, perfect, "higher", definition)


_CLOUD, _RANGE, _RETURNS = "Point clouds", "Range, beam by beam", "Returns and no-returns"
_INTENSITY, _IMAGE, _LABELS, _COST = "Intensity", "Range image", "Labels", "Cost"
_PANO = "Range image, as neural papers publish it"

METRICS: dict[str, Metric] = {
    "c2c_m": _define_lower(
        _CLOUD, "m", "mean, simulated point to nearest of the whole recorded cloud (Richa 2022, eq. 15)"
    ),
    "c2c_sweep_m": _define_lower(_CLOUD, "m", "mean, simulated point to nearest real one of the paired sweep"),
    "c2c_reverse_m": _define_lower(_CLOUD, "m", "mean, real point to nearest simulated one of the paired sweep"),
    "thin_c2c_m": _define_lower(_CLOUD, "m", "c2c_m within each thin class, their mean (Richa 2022, table 3)"),
    "thin_c2c_sweep_m": _define_lower(_CLOUD, "m", "c2c_sweep_m within each thin class, their mean"),
    "c2c_map_m": _define_lower(
        _CLOUD, "m", "mean distance, all simulated points to all real ones of the paired sweeps"
    ),
    "thin_c2c_map_m": _define_lower(_CLOUD, "m", "c2c_map_m within each thin class, their mean"),
    "chamfer_m": _define_lower(_CLOUD, "m", "half the sum of c2c_sweep_m and c2c_reverse_m"),
    **{
        f"fscore_{t:.2f}m": _define_higher(
            _CLOUD, "", f"share of points within {t:g} m of the other cloud, both ways (F1)"
        )
        for t in FSCORE_M
    },
    "chamfer_sq_sum_m2": _define_lower(_CLOUD, "m²", "sum of both mean squared distances, often called Chamfer"),
    f"fscore_sq_{FSCORE_SQ_M2:.2f}": _define_higher(
        _CLOUD, "", f"F-score of squared distances < {FSCORE_SQ_M2:g} m² ({FSCORE_SQ_M2**0.5:.2f} m), often called 0.05"
    ),
    "range_bias_m": Metric(_RANGE, "m", 0.0, "zero", "mean of simulated − real range, of beams returned in both"),
    "range_mean_m": _define_lower(_RANGE, "m", "mean absolute range error, of beams returned in both"),
    "range_median_m": _define_lower(_RANGE, "m", "median absolute range error, of beams returned in both"),
    "range_rmse_m": _define_lower(_RANGE, "m", "root mean square range error, of beams returned in both"),
    **{
        f"within_{t:.2f}m": _define_higher(
            _RANGE, "", f"share of ranges within {t:g} m of the real one, of beams returned in both"
        )
        for t in WITHIN_M
    },
    **{
        f"recovered_{t:.2f}m": _define_higher(
            _RANGE,
            "",
            f"share of ranges within {t:g} m of the real one, of matched beams that truly returned",
        )
        for t in WITHIN_M
    },
    **{
        f"too_{when}_{LARGE_ERROR_M:g}m": _define_lower(
            _RANGE, "", f"share that stops > {LARGE_ERROR_M:g} m {when}, of beams returned in both"
        )
        for when in ("early", "late")
    },
    "matched": _define_higher(_RETURNS, "", "share of real beams that have a simulated counterpart"),
    "return_precision": _define_higher(_RETURNS, "", "share truly returned, of matched beams simulated to return"),
    "return_recall": _define_higher(_RETURNS, "", "share simulated to return, of matched beams that truly returned"),
    "return_f1": _define_higher(_RETURNS, "", "harmonic mean of return_precision and return_recall"),
    "log_likelihood": _define_higher(
        _RETURNS, "", "mean over real beams: ln density per metre of its range, or ln chance of no return", None
    ),
    "intensity_rmse": _define_lower(
        _INTENSITY, "", "root mean square intensity error, share of full scale, of beams returned in both"
    ),
    "intensity_mae": _define_lower(
        _INTENSITY, "", "mean absolute intensity error, share of full scale, of beams returned in both"
    ),
    "intensity_corr": _define_higher(_INTENSITY, "", "Pearson correlation of intensities, of beams returned in both"),
    "range_psnr_db": _define_higher(
        _IMAGE, "dB", "peak signal-to-noise ratio of matched pixels; no return is 0 m", PSNR_MAX_DB
    ),
    "range_ssim": _define_higher(_IMAGE, "", "structural similarity (Wang 2004) of matched pixels; empty is 0 m"),
    "pano_depth_rmse_m": _define_lower(
        _PANO, "m", "root mean square depth error of all pixels, up to 80 m; no return is 0"
    ),
    "pano_depth_medae_m": _define_lower(
        _PANO, "m", "median absolute depth error of all pixels, up to 80 m; no return is 0"
    ),
    "pano_psnr_db": _define_higher(_PANO, "dB", "20 log10(80 m / depth RMSE), of each sweep", PSNR_MAX_DB),
    "pano_ssim": _define_higher(_PANO, "", "structural similarity of depth, as scikit-image: flat window of 7 × 7"),
    "pano_intensity_rmse": _define_lower(_PANO, "", "root mean square intensity error of all pixels; no return is 0"),
    "pano_intensity_medae": _define_lower(_PANO, "", "median absolute intensity error of all pixels; no return is 0"),
    "pano_intensity_psnr_db": _define_higher(_PANO, "dB", "20 log10(1 / intensity RMSE), of each sweep", PSNR_MAX_DB),
    "pano_intensity_ssim": _define_higher(_PANO, "", "structural similarity of intensity, as scikit-image: 7 × 7"),
    "pano_chamfer_sq_sum_m2": _define_lower(_PANO, "m²", "sum of both mean squared distances of the images' points"),
    f"pano_fscore_sq_{FSCORE_SQ_M2:.2f}": _define_higher(
        _PANO, "", f"F-score of the images' points at squared distances < {FSCORE_SQ_M2:g} m²"
    ),
    "label_agreement": _define_higher(_LABELS, "", "share of equal labels, of beams returned and labelled in both"),
    "primitives": _define_lower(_COST, "", "geometric primitives of the world", None),
    "build_s": _define_lower(_COST, "s", "time to build the world", None),
    "sweeps_per_s": _define_higher(_COST, "1/s", "sweeps simulated a second", None),
}
COST_METRICS = tuple(name for name, metric in METRICS.items() if metric.group == _COST)
PANO_METRICS = tuple(name for name, metric in METRICS.items() if metric.group == _PANO)


def cloud_to_cloud(sim: Array, real: Array, threads: int = 0) -> float:
    """C2C of C, eq. 15: mean distance in metres from points ``sim`` (n, 3) to the nearest of ``real`` (m, 3).

    It is not symmetric: what is real but was not simulated does not count.
    """
    if len(sim) == 0 or len(real) == 0:
        empty = "simulated" if len(sim) == 0 else "real"
        raise ResweepError(f"cloud-to-cloud distance: the {empty} cloud has no points; both need at least one")
    return float(find_nearest_distances(sim, real, threads).mean())


def psnr(mean_square_error: float, data_range: float) -> float:
    """Peak signal-to-noise ratio in dB, at most `PSNR_MAX_DB`, the value of equal images."""
    if mean_square_error <= data_range**2 * 10 ** (-PSNR_MAX_DB / 10):
        return PSNR_MAX_DB
    return float(10 * np.log10(data_range**2 / mean_square_error))


def ssim(first: Array, second: Array, data_range: float) -> Array:
    """Structural similarity (rows, columns) around every pixel of two images; 1 where they are equal.

    Wang et al., Image Quality Assessment, IEEE Trans. Image Processing 13(4), 2004, eq. 13, with its
    circular-symmetric Gaussian window of 11 × 11 and sigma 1.5, K1 = 0.01, K2 = 0.03. At the border the
    images continue as their mirror image.
    """
    offsets = np.arange(-5, 6)
    window = np.exp(-0.5 * (offsets / 1.5) ** 2)
    window /= window.sum()

    def smooth(image: Array) -> Array:
        return np.asarray(correlate1d(correlate1d(image, window, axis=0), window, axis=1))

    x, y = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    mean_x, mean_y = smooth(x), smooth(y)
    variance_x = smooth(x * x) - mean_x**2
    variance_y = smooth(y * y) - mean_y**2
    covariance = smooth(x * y) - mean_x * mean_y
    c1, c2 = (0.01 * data_range) ** 2, (0.03 * data_range) ** 2
    likeness = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    return np.asarray(likeness / ((mean_x**2 + mean_y**2 + c1) * (variance_x + variance_y + c2)))
