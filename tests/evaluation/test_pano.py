"""The published range-image protocol, by hand and against scikit-image, with which the papers compute it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from resweep import Log, Sweep
from resweep.evaluation import evaluate
from resweep.evaluation.compare.pano import compute_pano_ssim
from resweep.evaluation.metrics.metrics import PANO_METRICS
from resweep.pose import Array

MakeSweep = Callable[..., Sweep]
ROWS, COLUMNS = 8, 90  # of the scans that make_sweep makes
BEAMS = ROWS * COLUMNS


def test_every_pixel_counts_and_no_return_is_zero(make_sweep: MakeSweep) -> None:
    real, sim = np.full(BEAMS, 20.0), np.full(BEAMS, 20.0)
    sim[:36] = np.nan  # a twentieth is missing: wrong by 20 m
    real[36:108] = np.nan  # a tenth is simulated and not real: wrong by 20 m
    sim[108:144] = 23.0  # a twentieth is wrong by 3 m
    report = evaluate(make_sweep(sim), make_sweep(real))
    rmse = np.sqrt(0.15 * 20**2 + 0.05 * 3**2)
    assert report["pano_depth_rmse_m"] == pytest.approx(rmse, rel=1e-6)
    assert report["range_rmse_m"] == pytest.approx(np.sqrt(36 * 3**2 / (BEAMS - 108)), rel=1e-6)  # of both alone
    assert report["pano_depth_medae_m"] == 0
    assert report["pano_psnr_db"] == pytest.approx(20 * np.log10(80 / rmse), rel=1e-6)


def test_the_median_is_of_all_pixels(make_sweep: MakeSweep) -> None:
    sim = np.full(BEAMS, 20.04)
    sim[: BEAMS // 4] = np.nan
    report = evaluate(make_sweep(sim), make_sweep(20.0))
    assert report["pano_depth_medae_m"] == pytest.approx(0.04, abs=1e-5)


def test_depth_is_clamped_to_80_m(make_sweep: MakeSweep) -> None:
    real, sim = np.full(BEAMS, 20.0), np.full(BEAMS, 20.0)
    real[:72], sim[:72] = 90.0, 110.0  # both beyond: no error
    real[72:144], sim[72:144] = 100.0, 70.0  # wrong by 10 m
    report = evaluate(make_sweep(sim), make_sweep(real), range_max_m=120.0)
    assert report["pano_depth_rmse_m"] == pytest.approx(np.sqrt(10.0), rel=1e-6)
    # Points beyond 80 m are no part of the clouds: 72 of the 648 simulated ones are far from the 576 real ones
    precision = 1 - 72 / 648
    assert report["pano_fscore_sq_0.05"] == pytest.approx(2 * precision / (1 + precision), rel=1e-6)


def test_intensity_is_an_image_too(make_sweep: MakeSweep) -> None:
    light, returned = np.linspace(0.1, 0.9, BEAMS), np.full(BEAMS, 20.0)
    dropped = np.where(np.arange(BEAMS) < 144, np.nan, returned)
    report = evaluate(make_sweep(dropped, intensity=light + 0.05), make_sweep(returned, intensity=light))
    square = ((light[:144] ** 2).sum() + 0.05**2 * (BEAMS - 144)) / BEAMS
    assert report["pano_intensity_rmse"] == pytest.approx(np.sqrt(square), rel=1e-5)
    assert report["pano_intensity_medae"] == pytest.approx(0.05, abs=1e-6)
    assert report["pano_intensity_psnr_db"] == pytest.approx(-10 * np.log10(square), rel=1e-5)


def test_without_intensities_their_image_is_not_scored(make_sweep: MakeSweep) -> None:
    light = np.zeros(BEAMS)
    report = evaluate(make_sweep(20.0, intensity=light), make_sweep(20.0, intensity=light))
    assert {name for name in PANO_METRICS if report[name] is None} >= {
        name for name in PANO_METRICS if name.startswith("pano_intensity")
    }


def test_squared_distances_are_those_of_both_clouds(make_sweep: MakeSweep) -> None:
    report = evaluate(make_sweep(20.1), make_sweep(20.0))
    assert report["pano_chamfer_sq_sum_m2"] == pytest.approx(2 * 0.1**2, rel=1e-3)
    assert report["pano_fscore_sq_0.05"] == 1
    assert evaluate(make_sweep(20.23), make_sweep(20.0))["pano_fscore_sq_0.05"] == 0


def test_a_log_has_the_mean_of_its_sweeps(make_sweep: MakeSweep) -> None:
    real = Log.from_sweeps([make_sweep(20.0), make_sweep(20.0)])
    sim = Log.from_sweeps([make_sweep(21.0), make_sweep(24.0)])
    report = evaluate(sim, real)
    assert report["pano_depth_rmse_m"] == pytest.approx((1 + 4) / 2, rel=1e-6)  # not the root of all squares, 2.92
    assert report["pano_psnr_db"] == pytest.approx(10 * np.log10(80**2 / 4), rel=1e-6)
    assert [row["pano_depth_rmse_m"] for row in report.per_sweep] == pytest.approx([1, 4], rel=1e-6)


def _images(rng: np.random.Generator) -> tuple[Array, Array]:
    real = np.where(rng.random((16, 60)) < 0.2, 0.0, rng.uniform(2, 70, (16, 60)))
    return np.where(rng.random(real.shape) < 0.1, 0.0, real + rng.normal(0, 3, real.shape)), real


def test_ssim_is_that_of_scikit_image(rng: np.random.Generator) -> None:
    metrics = pytest.importorskip("skimage.metrics")
    sim, real = _images(rng)
    judged = metrics.structural_similarity(sim, real, data_range=real.max() - real.min())
    assert compute_pano_ssim(sim, real, float(real.max() - real.min())) == pytest.approx(judged, abs=1e-12)
    assert 0.1 < judged < 0.99
    assert compute_pano_ssim(real[:6], real[:6], 70.0) is None  # scikit-image refuses these


def test_figures_of_a_sweep_are_those_of_the_published_code(make_sweep: MakeSweep, rng: np.random.Generator) -> None:
    """The protocol written out on the images themselves, with scikit-image for SSIM and PSNR."""
    metrics = pytest.importorskip("skimage.metrics")
    real = np.where(rng.random(BEAMS) < 0.2, np.nan, rng.uniform(2, 95, BEAMS))
    sim = np.where(rng.random(BEAMS) < 0.1, np.nan, real + rng.normal(0, 3, BEAMS))
    light, shown = rng.random(BEAMS), rng.random(BEAMS)
    report = evaluate(make_sweep(sim, intensity=shown), make_sweep(real, intensity=light))
    light[np.isnan(real)], shown[np.isnan(sim)] = 0, 0
    for name, most, images in (("pano", 80.0, (real, sim)), ("pano_intensity", 1.0, (light, shown))):
        truth, made = (
            np.clip(np.nan_to_num(image).reshape(ROWS, COLUMNS)[::-1], 1e-6, most).astype(np.float64)
            for image in images
        )
        ssim = metrics.structural_similarity(made, truth, data_range=truth.max() - truth.min())
        assert report[f"{name}_ssim"] == pytest.approx(ssim, abs=1e-6)
        psnr = metrics.peak_signal_noise_ratio(truth, made, data_range=most)
        assert report[f"{name}_psnr_db"] == pytest.approx(psnr, abs=1e-5)
        errors = "pano_depth_{}_m" if name == "pano" else "pano_intensity_{}"
        assert report[errors.format("rmse")] == pytest.approx(np.sqrt(((made - truth) ** 2).mean()), rel=1e-6)
        assert report[errors.format("medae")] == pytest.approx(np.median(np.abs(made - truth)), abs=1e-5)


def test_the_report_shows_them(make_sweep: MakeSweep, tmp_path_factory: pytest.TempPathFactory) -> None:
    report = evaluate(make_sweep(20.1), make_sweep(20.0))
    page = report.save(tmp_path_factory.mktemp("report") / "report.html").read_text(encoding="utf-8")
    for name in PANO_METRICS:
        assert name in str(report), name
        assert name in page, name
