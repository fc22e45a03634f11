"""Metrics of sweeps that differ in a known way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import resweep as rs
from resweep import Log, ResweepError, Sweep, Trajectory
from resweep.evaluation import METRICS, evaluate
from resweep.pose import from_xyz_rpy

MakeSweep = Callable[..., Sweep]
ROWS, COLUMNS = 8, 90  # of the scans that make_sweep makes
BEAMS = ROWS * COLUMNS


@pytest.fixture
def scan(make_sweep: MakeSweep, rng: np.random.Generator) -> Sweep:
    """A scan at 15 to 25 m with some beams that did not return, intensities and three thin classes of five."""
    ranges = rng.uniform(15, 25, BEAMS)
    ranges[::7] = np.nan
    label = np.array([40, 50, 51, 80, 81])[np.arange(BEAMS) % 5]
    return make_sweep(ranges, label=label, intensity=rng.random(BEAMS), sensor="velodyne-hdl-32e")


def test_equal_sweeps_are_perfect(scan: Sweep) -> None:
    report = evaluate(scan, scan, accumulate=True, extra={"primitives": 3, "build_s": 1.5, "sweeps_per_s": 9.0})
    assert set(report.metrics) == set(METRICS) - {"c2c_sweep_m", "log_likelihood"}  # held out; of a world
    for name in report.metrics:
        metric = METRICS[name]
        if metric.perfect is not None:
            assert report[name] == pytest.approx(metric.perfect, abs=1e-9), name
    assert (report["primitives"], report["build_s"], report["sweeps_per_s"]) == (3, 1.5, 9)
    for values in report.per_class.values():
        assert values["c2c_m"] == values["range_mean_m"] == values["c2c_map_m"] == 0
        assert values["return_recall"] == 1


def test_a_known_shift_gives_known_values(make_sweep: MakeSweep) -> None:
    report = evaluate(make_sweep(20.07), make_sweep(20.0), range_max_m=100.0)
    for name in ("c2c_m", "c2c_reverse_m", "chamfer_m", "range_bias_m", "range_mean_m", "range_median_m"):
        assert report[name] == pytest.approx(0.07, abs=1e-5), name
    assert report["range_rmse_m"] == pytest.approx(0.07, abs=1e-5)
    assert report["chamfer_sq_sum_m2"] == pytest.approx(2 * 0.07**2, abs=1e-6)
    assert [report[f"fscore_{t}m"] for t in ("0.02", "0.05", "0.10", "0.20")] == [0, 0, 1, 1]
    assert report["fscore_sq_0.05"] == 1  # 7 cm squared is far below 0.05 m²
    assert [report[f"within_{t}m"] for t in ("0.05", "0.10", "0.20")] == [0, 1, 1]
    assert report["range_psnr_db"] == pytest.approx(20 * np.log10(100 / 0.07), abs=1e-3)


@pytest.mark.parametrize(("shift", "early", "late"), [(-0.6, 1, 0), (0.6, 0, 1), (0.4, 0, 0)])
def test_beams_that_stop_too_early_or_too_late(make_sweep: MakeSweep, shift: float, early: int, late: int) -> None:
    report = evaluate(make_sweep(20.0 + shift), make_sweep(20.0))
    assert (report["too_early_0.5m"], report["too_late_0.5m"]) == (early, late)
    assert report["range_bias_m"] == pytest.approx(shift, abs=1e-5)


def test_beams_that_do_not_come_back_are_not_recovered(make_sweep: MakeSweep) -> None:
    ranges = np.full(BEAMS, 20.06)
    ranges[: BEAMS // 4] = np.nan
    report = evaluate(make_sweep(ranges), make_sweep(20.0))
    assert [report[f"within_{t}m"] for t in ("0.05", "0.10", "0.20")] == [0, 1, 1]
    assert [report[f"recovered_{t}m"] for t in ("0.05", "0.10", "0.20")] == [0, 0.75, 0.75]


def test_published_f_score_is_at_22_cm(make_sweep: MakeSweep) -> None:
    near, far = evaluate(make_sweep(20.22), make_sweep(20.0)), evaluate(make_sweep(20.23), make_sweep(20.0))
    assert (near["fscore_sq_0.05"], far["fscore_sq_0.05"]) == (1, 0)


def test_clouds_against_all_pairs(scan: Sweep, rng: np.random.Generator) -> None:
    other = replace(scan, range=scan.range + rng.normal(0, 0.3, len(scan))).select(rng.random(len(scan)) > 0.3)
    report = evaluate(other, scan)
    every = np.linalg.norm(other.points[:, None].astype(float) - scan.points[None], axis=2)
    forward, backward = every.min(axis=1), every.min(axis=0)
    assert report["c2c_m"] == pytest.approx(forward.mean(), rel=1e-5)
    assert report["chamfer_m"] == pytest.approx((forward.mean() + backward.mean()) / 2, rel=1e-5)
    assert report["chamfer_sq_sum_m2"] == pytest.approx((forward**2).mean() + (backward**2).mean(), rel=1e-5)
    precision, recall = (forward < 0.2).mean(), (backward < 0.2).mean()
    assert report["fscore_0.20m"] == pytest.approx(2 * precision * recall / (precision + recall))


def test_dropped_returns_give_precision_and_recall(make_sweep: MakeSweep) -> None:
    at = np.arange(BEAMS)
    sim = make_sweep(np.where(at % 3 == 0, np.nan, 20.0))  # two thirds return
    real = make_sweep(np.where(at % 4 == 0, np.nan, 20.0))  # three quarters return, half of all in both
    report = evaluate(sim, real)
    assert report["return_precision"] == pytest.approx(3 / 4)
    assert report["return_recall"] == pytest.approx(2 / 3)
    assert report["return_f1"] == pytest.approx(2 * (3 / 4) * (2 / 3) / (3 / 4 + 2 / 3))
    assert report["range_mean_m"] == 0
    # 5 of 12 beams returned on one side only, and there the image is wrong by the whole range.
    expected = 10 * np.log10(report.settings["range_max_m"] ** 2 / (20.0**2 * 5 / 12))
    assert report["range_psnr_db"] == pytest.approx(expected, abs=1e-6)


def test_intensity_errors_and_correlation(make_sweep: MakeSweep, rng: np.random.Generator) -> None:
    real = rng.random(BEAMS)
    sim = 0.5 * real + rng.normal(0, 0.1, BEAMS)
    report = evaluate(make_sweep(20.0, intensity=sim), make_sweep(20.0, intensity=real))
    assert report["intensity_rmse"] == pytest.approx(np.sqrt(((sim - real) ** 2).mean()), rel=1e-5)
    assert report["intensity_mae"] == pytest.approx(np.abs(sim - real).mean(), rel=1e-5)
    assert report["intensity_corr"] == pytest.approx(np.corrcoef(sim, real)[0, 1], rel=1e-5)
    flat = evaluate(make_sweep(20.0, intensity=np.full(BEAMS, 0.3)), make_sweep(20.0, intensity=real))
    assert flat["intensity_corr"] is None


def test_only_the_first_return_of_a_beam_counts(make_sweep: MakeSweep) -> None:
    real = make_sweep(20.0)
    far = np.full(BEAMS, 30.0)
    second = {name: np.zeros(BEAMS) for name in ("intensity", "label", "instance")}
    columns = {name: np.concatenate([values, getattr(real, name)]) for name, values in second.items()}
    both = replace(
        real,
        beam=np.tile(real.beam, 2),
        range=np.concatenate([far, real.range]),
        return_index=np.repeat([1, 0], BEAMS),
        **columns,
    )
    report = evaluate(both, real)
    assert report["range_mean_m"] == 0
    assert report["c2c_m"] == pytest.approx(5.0, rel=1e-5)  # but the cloud has all returns: half are 10 m behind


def test_classes_are_compared_within_themselves(make_sweep: MakeSweep) -> None:
    label = np.where(np.arange(BEAMS) % COLUMNS < COLUMNS // 2, 80, 51)
    real = make_sweep(20.0, label=label)
    sim = make_sweep(np.where(label == 80, 20.1, 20.3), label=label)
    report = evaluate(sim, real)
    assert report.per_class["pole"]["c2c_m"] == pytest.approx(0.1, abs=1e-5)
    assert report.per_class["fence"]["range_mean_m"] == pytest.approx(0.3, abs=1e-5)
    assert report["thin_c2c_m"] == pytest.approx(0.2, abs=1e-5)
    assert report.per_class["pole"]["real_points"] == BEAMS / 2
    swapped = evaluate(make_sweep(20.0, label=np.where(label == 80, 51, 80)), real)
    assert swapped["c2c_m"] == swapped["label_agreement"] == 0
    assert swapped["thin_c2c_m"] > 5.0  # poles stand where fences are
    unknown = evaluate(make_sweep(20.0, label=np.full(BEAMS, 10)), real)
    assert unknown.per_class["car"]["c2c_m"] is None
    assert unknown["thin_c2c_m"] is None


def test_a_log_weighs_points_not_sweeps(make_sweep: MakeSweep) -> None:
    few = np.where(np.arange(BEAMS) < 72, 20.4, np.nan)
    sim = Log.from_sweeps([make_sweep(20.1), make_sweep(few)])
    real = Log.from_sweeps([make_sweep(20.0), make_sweep(20.0)])
    report = evaluate(sim, real)
    assert report["c2c_m"] == pytest.approx((720 * 0.1 + 72 * 0.4) / 792, abs=1e-5)
    assert report["range_median_m"] == pytest.approx(0.1, abs=1e-5)
    assert [row["c2c_m"] for row in report.per_sweep] == pytest.approx([0.1, 0.4], abs=1e-5)
    assert report.settings["drawn_row"] == 1


def test_accumulated_clouds_find_neighbours_in_other_sweeps(make_sweep: MakeSweep) -> None:
    ahead = from_xyz_rpy(2.0)
    real = Log.from_sweeps([make_sweep(20.0), make_sweep(24.0, pose=ahead)])
    sim = Log.from_sweeps([make_sweep(24.0, pose=ahead), make_sweep(20.0)])  # the same clouds, each in the other sweep
    report = evaluate(sim, real, accumulate=True)
    assert report["c2c_map_m"] == pytest.approx(0, abs=1e-5)
    assert report["c2c_m"] > 1.0


def test_sweeps_without_returns(make_sweep: MakeSweep) -> None:
    report = evaluate(make_sweep(np.nan), make_sweep(20.0))
    assert report["c2c_m"] is report["chamfer_m"] is report["range_mean_m"] is report["return_precision"] is None
    assert report["fscore_0.20m"] == report["return_recall"] == report["return_f1"] == 0
    assert evaluate(make_sweep(np.nan), make_sweep(np.nan))["fscore_0.20m"] is None


def test_sweeps_pair_by_nearest_time(make_sweep: MakeSweep) -> None:
    real = Log.from_sweeps([make_sweep(20.0 + at, timestamp=0.1 * at) for at in range(6)])
    sim = Log.from_sweeps([make_sweep(20.0 + at, timestamp=0.1 * at + 0.01) for at in (1, 4)])
    report = evaluate(sim, real)
    assert [(row["sim"], row["real"]) for row in report.per_sweep] == [(0, 1), (1, 4)]
    assert report["c2c_m"] == 0
    back = evaluate(real, sim)
    assert [(row["sim"], row["real"]) for row in back.per_sweep] == [(1, 0), (4, 1)]
    late = Log.from_sweeps([make_sweep(20.0, timestamp=9.0)])
    with pytest.raises(ResweepError, match="no simulated sweep"):
        evaluate(late, real)


def test_motion_is_undone_before_comparing(make_sweep: MakeSweep) -> None:
    time = np.linspace(0.0, 0.1, BEAMS)
    motion = Trajectory(np.array([0.0, 0.1]), np.stack([from_xyz_rpy(), from_xyz_rpy(1.0, yaw=0.05)]))
    moving = make_sweep(20.0, trajectory=motion, beam_time=time)
    compensated = Sweep.from_points(moving.deskewed())
    report = evaluate(moving, compensated)
    assert report["c2c_m"] == pytest.approx(0, abs=1e-5)
    assert report["matched"] == 1
    assert report["range_mean_m"] == pytest.approx(0, abs=1e-4)
    assert evaluate(replace(moving, trajectory=None), compensated)["c2c_m"] > 0.1


def test_the_callable_module_is_the_function(scan: Sweep) -> None:
    assert rs.evaluate(scan, scan)["c2c_m"] == 0
    assert rs.evaluation.METRICS is METRICS


def test_mistakes_say_what_to_do(scan: Sweep) -> None:
    with pytest.raises(ResweepError, match="the simulated side is a str; give a Log"):
        evaluate("out", scan)  # type: ignore[arg-type]
    with pytest.raises(ResweepError, match="holds no sweep"):
        evaluate(scan, Log.from_sweeps([scan])[:0])
    with pytest.raises(ResweepError, match="did you mean 'primitives'"):
        evaluate(scan, scan, extra={"primitive": 3})
    with pytest.raises(ResweepError, match="range_max_m is -1"):
        evaluate(scan, scan, range_max_m=-1)
    unknown = replace(Log.from_sweeps([scan]), meta={"poses": "unknown"})
    with pytest.raises(ResweepError, match="accumulate needs poses"):
        evaluate(unknown, scan, accumulate=True)


def test_unknown_poses_compare_in_the_sensor_frame(scan: Sweep) -> None:
    elsewhere = replace(scan, pose=from_xyz_rpy(100.0))
    assert evaluate(Log.from_sweeps([elsewhere]), scan)["c2c_m"] > 50
    report = evaluate(replace(Log.from_sweeps([elsewhere]), meta={"poses": "unknown"}), scan)
    assert report["c2c_m"] == 0
    assert any("no poses" in note for note in report.notes)


def test_real_sweeps_agree_in_world_coordinates(sample_data: Path) -> None:
    log = rs.open_log(sample_data / "semantickitti_mini" / "sequences" / "00")
    report = evaluate(log[1], log[5])  # metres apart: without poses, poles find no pole
    in_sensor_frame = evaluate(replace(log[1], pose=np.eye(4)), replace(log[5], pose=np.eye(4)))
    assert report["thin_c2c_m"] < 0.3
    assert in_sensor_frame["thin_c2c_m"] > 1.0
    assert 2 * report["range_median_m"] < in_sensor_frame["range_median_m"]
