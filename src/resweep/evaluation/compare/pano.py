"""The range-image protocol of neural re-simulators, under names of its own (``pano_...``).

LiDAR-NeRF (Tao 2023) and LiDAR4D (Zheng 2024) score a sweep as one image of depth and one of intensity, in which every
pixel counts and a beam without return is 0. The definitions are those of LiDAR4D's public code (ispc-lab/LiDAR4D,
utils/metrics.py): figures of a log are means of those of its sweeps. docs/scores.md lists our differences.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import uniform_filter

from resweep.evaluation.compare.beam_comparison import BeamImages, ComparedBeams, Match
from resweep.evaluation.metrics.metrics import FSCORE_SQ_M2, psnr
from resweep.evaluation.metrics.nearest import find_nearest_distances
from resweep.evaluation.metrics.sums import MetricSums
from resweep.pose import Array

DEPTH_MAX_M = 80.0  # both images are clamped to it, and PSNR takes it as the peak
INTENSITY_MAX = 1.0
_SMALLEST = 1e-6  # that the public code puts in place of zeros
_WINDOW = 7  # pixels, and K1, K2 below: the defaults of scikit-image, with which the papers compute SSIM
_K1, _K2 = 0.01, 0.03


def sum_pano(
    sums: MetricSums, beams: tuple[ComparedBeams, ComparedBeams], match: Match, images: BeamImages, threads: int = 0
) -> None:
    """Add the figures of one pair of sweeps, simulated and real, to ``sums.means``; nothing without pixels."""
    pairs = images.cells[images.pixels]
    if not len(pairs):
        return
    chosen = (match.sim[pairs], match.real[pairs])
    depths = [np.nan_to_num(side.range[rows], nan=0.0) for side, rows in zip(beams, chosen, strict=True)]
    _add(sums, "pano_depth", "_m", depths, images.pixels, DEPTH_MAX_M)
    lights = [side.intensity[rows] for side, rows in zip(beams, chosen, strict=True)]
    if lights[1].max() > 0:  # else there is no intensity
        _add(sums, "pano_intensity", "", lights, images.pixels, INTENSITY_MAX)
    clouds = []
    for side, rows, depth in zip(beams, chosen, depths, strict=True):
        kept = (depth > 0) & (depth < DEPTH_MAX_M)
        clouds.append(side.direction[rows[kept]] * depth[kept, None])
    if len(clouds[0]) and len(clouds[1]):
        _add_clouds(sums, clouds[0], clouds[1], threads)


def _add(sums: MetricSums, name: str, unit: str, values: list[Array], pixels: Array, value_max: float) -> None:
    """Add RMSE, median absolute error, PSNR and SSIM of the ``pixels`` of two images, whose values (n,) are given."""
    sim, real = (np.clip(value, _SMALLEST, value_max) for value in values)
    square = float(((sim - real) ** 2).mean())
    sums.add_mean(f"{name}_rmse{unit}", float(np.sqrt(square)))
    sums.add_mean(f"{name}_medae{unit}", float(np.median(np.abs(sim - real))))
    short = name.removesuffix("_depth")
    sums.add_mean(f"{short}_psnr_db", psnr(square, value_max))
    likeness = compute_pano_ssim(
        _fill_image(sim, pixels), _fill_image(real, pixels), float(real.max() - real.min()), pixels
    )
    if likeness is not None:
        sums.add_mean(f"{short}_ssim", likeness)


def _fill_image(values: Array, pixels: Array) -> Array:
    image = np.full(pixels.shape, _SMALLEST)
    image[pixels] = values
    return image


def _add_clouds(sums: MetricSums, sim: Array, real: Array, threads: int) -> None:
    """Add Chamfer distance and F-score of squared distances between the points of both images."""
    both = [find_nearest_distances(*pair, threads) ** 2 for pair in ((sim, real), (real, sim))]
    sums.add_mean("pano_chamfer_sq_sum_m2", float(both[0].mean() + both[1].mean()))
    precision, recall = (float((squares < FSCORE_SQ_M2).mean()) for squares in both)
    total = precision + recall
    sums.add_mean(f"pano_fscore_sq_{FSCORE_SQ_M2:.2f}", 2 * precision * recall / total if total else 0.0)


def compute_pano_ssim(first: Array, second: Array, data_range: float, pixels: Array | None = None) -> float | None:
    """Mean structural similarity of two images (rows, columns), as scikit-image computes it by default.

    A flat window of 7 × 7 and sample covariances; pixels less than 3 from the border do not count, nor do those
    outside ``pixels`` (default: all). None where the images are smaller than the window or ``data_range`` is 0.
    """
    if min(first.shape) < _WINDOW or data_range <= 0:
        return None
    x, y = first.astype(np.float64), second.astype(np.float64)

    def mean(image: Array) -> Array:
        return np.asarray(uniform_filter(image, _WINDOW))

    mean_x, mean_y = mean(x), mean(y)
    unbiased = _WINDOW**2 / (_WINDOW**2 - 1)
    variance = unbiased * (mean(x * x) - mean_x**2 + mean(y * y) - mean_y**2)
    covariance = unbiased * (mean(x * y) - mean_x * mean_y)
    c1, c2 = (_K1 * data_range) ** 2, (_K2 * data_range) ** 2
    likeness = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    likeness /= (mean_x**2 + mean_y**2 + c1) * (variance + c2)
    inner = (slice(_WINDOW // 2, -(_WINDOW // 2)),) * 2
    counted = np.ones(first.shape, bool) if pixels is None else pixels
    return float(likeness[inner][counted[inner]].mean()) if counted[inner].any() else None
