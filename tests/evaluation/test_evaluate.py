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
from resweep.labels import load_labels
from resweep.pose import from_xyz_rpy

MakeSweep = Callable[..., Sweep]
ROWS, COLUMNS = 8, 90  # of the scans that make_sweep makes
BEAMS = ROWS * COLUMNS
KITTI, NUSCENES, ASPRS = map(load_labels, ("semantickitti", "nuscenes-lidarseg", "asprs"))
POLE, FENCE, CAR = (KITTI.id_of(name) for name in ("pole", "fence", "car"))


@pytest.fixture
def scan(make_sweep: MakeSweep, rng: np.random.Generator) -> Sweep:
    """A scan at 15 to 25 m with some beams that did not return, intensities and three thin classes of five."""
    ranges = rng.uniform(15, 25, BEAMS)
    ranges[::7] = np.nan
    names = ("road", "building", "fence", "pole", "traffic sign")
    label = np.array([KITTI.id_of(name) for name in names])[np.arange(BEAMS) % 5]
    return make_sweep(ranges, label=label, intensity=rng.random(BEAMS), sensor="velodyne-hdl-32e")


def test_equal_sweeps_are_perfect(scan: Sweep) -> None:
    extra = {"primitives": 3, "build_s": 1.5, "sweeps_per_s": 9.0}
    report = evaluate(scan, scan, accumulate=True, labels=KITTI, extra=extra)
    assert set(report.metrics) == set(METRICS) - {"log_likelihood"}  # that of a world
    for name in report.metrics:
        metric = METRICS[name]
        if metric.perfect is not None:
            assert report[name] == pytest.approx(metric.perfect, abs=1e-9), name
    assert (report["primitives"], report["build_s"], report["sweeps_per_s"]) == (3, 1.5, 9)
    for values in report.per_class.values():
        assert values["c2c_m"] == values["c2c_sweep_m"] == values["range_mean_m"] == values["c2c_map_m"] == 0
        assert values["return_recall"] == 1


def test_a_known_shift_gives_known_values(make_sweep: MakeSweep) -> None:
    report = evaluate(make_sweep(20.07), make_sweep(20.0), range_max_m=100.0)
    ranges = [f"range_{name}_m" for name in ("bias", "mean", "median", "rmse")]
    for name in ("c2c_m", "c2c_sweep_m", "c2c_reverse_m", "chamfer_m", *ranges):
        assert report[name] == pytest.approx(0.07, abs=1e-5), name
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
    label = np.where(np.arange(BEAMS) % COLUMNS < COLUMNS // 2, POLE, FENCE)
    real = make_sweep(20.0, label=label)
    sim = make_sweep(np.where(label == POLE, 20.1, 20.3), label=label)
    report = evaluate(sim, real, labels="semantickitti")
    assert report.per_class["pole"]["c2c_m"] == pytest.approx(0.1, abs=1e-5)
    assert report.per_class["fence"]["range_mean_m"] == pytest.approx(0.3, abs=1e-5)
    assert report["thin_c2c_m"] == pytest.approx(0.2, abs=1e-5)
    assert report.per_class["pole"]["real_points"] == BEAMS / 2
    swapped = evaluate(make_sweep(20.0, label=np.where(label == POLE, FENCE, POLE)), real, labels=KITTI)
    assert swapped["c2c_m"] == swapped["label_agreement"] == 0
    assert swapped["thin_c2c_m"] > 5.0  # poles stand where fences are
    other = evaluate(make_sweep(20.0, label=np.full(BEAMS, CAR)), real, labels=KITTI)
    assert other.per_class["car"]["c2c_m"] is None
    assert other["thin_c2c_m"] is None


def test_classes_are_named_by_the_vocabulary_of_the_log(make_sweep: MakeSweep) -> None:
    """Ids 10 and 30 are a car and a person in SemanticKITTI, debris and vegetation in nuScenes."""
    log = Log.from_sweeps([make_sweep(20.0, label=np.where(np.arange(BEAMS) % 2, 10, 30))], labels=NUSCENES)
    report = evaluate(log, log)
    assert set(report.per_class) == {"movable_object.debris", "static.vegetation"}
    assert report.settings["labels"] == "nuscenes-lidarseg"
    assert "Classes are those of nuScenes-lidarseg." in report.notes
    assert any("no class of thin structures" in note for note in report.notes)
    assert "nuScenes-lidarseg" in report.class_title()


def test_thin_classes_are_those_of_the_vocabulary(make_sweep: MakeSweep) -> None:
    """SemanticKITTI's fences, poles and signs are 51, 80 and 81; other vocabularies use those ids for other things."""
    sweep = make_sweep(20.0, label=np.array([13, 51, 80, 81])[np.arange(BEAMS) % 4])
    log = Log.from_sweeps([sweep], labels=ASPRS)
    moved = Log.from_sweeps([make_sweep(np.where(np.arange(BEAMS) % 4, 21.0, 20.0), label=sweep.label)], labels=ASPRS)
    report = evaluate(moved, log)
    assert report.settings["thin_labels"] == [13, 14, 16]
    assert report["thin_c2c_m"] == 0  # of the wires only, which did not move
    assert evaluate(sweep, sweep)["thin_c2c_m"] is None
    assert evaluate(sweep, sweep, thin_labels=(51,))["thin_c2c_m"] == 0


def test_labels_of_unknown_meaning_are_called_by_number(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(20.0, label=np.where(np.arange(BEAMS) % 2, POLE, 7))
    report = evaluate(sweep, sweep)
    assert set(report.per_class) == {"label 7", f"label {POLE}"}
    assert report["thin_c2c_m"] is report["thin_c2c_sweep_m"] is None
    assert report["label_agreement"] == 1
    assert any("vocabulary of the labels is unknown" in note for note in report.notes)
    assert report.settings["labels"] == "unknown"


def test_simulated_labels_are_mapped_to_the_vocabulary_of_the_real_ones(make_sweep: MakeSweep) -> None:
    at = np.arange(BEAMS) % 3
    train = KITTI.id_of("on rails")
    sim = make_sweep(20.0, label=np.array([CAR, KITTI.id_of("road"), train])[at])
    own = [NUSCENES.id_of(name) for name in ("vehicle.car", "flat.driveable_surface", "static.other")]
    real = make_sweep(20.0, label=np.array(own)[at])
    report = evaluate(Log.from_sweeps([sim], labels=KITTI), Log.from_sweeps([real], labels=NUSCENES))
    assert report.per_class["vehicle.car"]["sim_points"] == report.per_class["vehicle.car"]["real_points"] == BEAMS / 3
    assert report["label_agreement"] == 1  # of what is labelled on both sides
    (note,) = (note for note in report.notes if "mapped" in note)
    assert note.startswith("Simulated labels were mapped from semantickitti to nuscenes-lidarseg; without counterpart")
    assert note.endswith("on rails.")


def test_known_and_unknown_labels_are_compared_as_numbers(make_sweep: MakeSweep) -> None:
    sweep = make_sweep(20.0, label=np.full(BEAMS, CAR))
    report = evaluate(Log.from_sweeps([sweep], labels=KITTI), sweep)
    assert list(report.per_class) == [f"label {CAR}"]
    assert any("vocabulary of the real labels is unknown" in note for note in report.notes)
    bare = evaluate(Log.from_sweeps([sweep], labels=KITTI), make_sweep(20.0))
    assert list(bare.per_class) == ["unlabelled", "car"]
    assert not any("unknown" in note for note in bare.notes)


def test_what_a_vocabulary_calls_unclassified_is_no_label(make_sweep: MakeSweep) -> None:
    ground, unclassified = ASPRS.id_of("ground"), ASPRS.id_of("unclassified")
    real = make_sweep(20.0, label=np.where(np.arange(BEAMS) % 2, ground, unclassified))
    sim = make_sweep(20.0, label=np.full(BEAMS, ground))
    assert evaluate(sim, real, labels=ASPRS)["label_agreement"] == 1
    assert evaluate(sim, real)["label_agreement"] == 0.5


def test_a_log_weighs_points_not_sweeps(make_sweep: MakeSweep) -> None:
    few = np.where(np.arange(BEAMS) < 72, 20.4, np.nan)
    sim = Log.from_sweeps([make_sweep(20.1), make_sweep(few)])
    real = Log.from_sweeps([make_sweep(20.0), make_sweep(20.0)])
    report = evaluate(sim, real)
    assert report["c2c_m"] == pytest.approx((720 * 0.1 + 72 * 0.4) / 792, abs=1e-5)
    assert report["range_median_m"] == pytest.approx(0.1, abs=1e-5)
    assert [row["c2c_sweep_m"] for row in report.per_sweep] == pytest.approx([0.1, 0.4], abs=1e-5)
    assert report.settings["worst_rows"] == [1, 0]


def test_accumulated_clouds_find_neighbours_in_other_sweeps(make_sweep: MakeSweep) -> None:
    ahead = from_xyz_rpy(2.0)
    real = Log.from_sweeps([make_sweep(20.0), make_sweep(24.0, pose=ahead)])
    sim = Log.from_sweeps([make_sweep(24.0, pose=ahead), make_sweep(20.0)])  # the same clouds, each in the other sweep
    report = evaluate(sim, real, accumulate=True)
    assert report["c2c_map_m"] == pytest.approx(0, abs=1e-5)
    assert report["c2c_sweep_m"] > 1.0


def test_c2c_is_to_the_whole_recorded_cloud_and_c2c_sweep_to_the_paired_sweep(make_sweep: MakeSweep) -> None:
    ahead, label = from_xyz_rpy(2.0), np.full(BEAMS, POLE)
    real = [make_sweep(20.0, label=label), make_sweep(24.0, pose=ahead, label=label)]
    sim = [make_sweep(24.0, pose=ahead, label=label), make_sweep(20.0, label=label)]  # each met by the other's sweep
    report = evaluate(Log.from_sweeps(sim, labels=KITTI), Log.from_sweeps(real, labels=KITTI))
    for values in (report.metrics, report.per_sweep[0], report.per_sweep[1], report.per_class["pole"]):
        assert values["c2c_m"] == pytest.approx(0, abs=1e-5)
        assert values["c2c_sweep_m"] > 1.0
    assert report["thin_c2c_m"] == pytest.approx(0, abs=1e-5)
    assert report["thin_c2c_sweep_m"] > 1.0
    assert report["chamfer_m"] == pytest.approx((report["c2c_sweep_m"] + report["c2c_reverse_m"]) / 2)
    alone = evaluate(Log.from_sweeps(sim[:1]), Log.from_sweeps(real[:1]))
    assert alone["c2c_m"] == alone["c2c_sweep_m"] == pytest.approx(report.per_sweep[0]["c2c_sweep_m"])
    more = evaluate(Log.from_sweeps(sim[:1]), Log.from_sweeps(real[:1]), recorded=Log.from_sweeps(real))
    assert more["c2c_m"] == pytest.approx(0, abs=1e-5)


def test_the_recorded_cloud_has_the_sweeps_that_were_not_paired(make_sweep: MakeSweep) -> None:
    real = Log.from_sweeps([make_sweep(20.0 + at, timestamp=0.1 * at) for at in range(6)])
    sim = Log.from_sweeps([make_sweep(24.0, timestamp=0.1)])
    report = evaluate(sim, real)
    assert report["c2c_m"] == pytest.approx(0, abs=1e-5)
    assert report["c2c_sweep_m"] == pytest.approx(3.0, abs=1e-4)


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
    unknown = Log.from_sweeps([scan], poses_known=False)
    named = Log.from_sweeps([scan], labels=KITTI)
    with pytest.raises(ResweepError, match="labels is asprs, but both logs know theirs"):
        evaluate(named, named, labels="asprs")
    with pytest.raises(ResweepError, match="accumulate needs poses"):
        evaluate(unknown, scan, accumulate=True)


def test_unknown_poses_compare_in_the_sensor_frame(scan: Sweep) -> None:
    elsewhere = replace(scan, pose=from_xyz_rpy(100.0))
    assert evaluate(Log.from_sweeps([elsewhere]), scan)["c2c_m"] > 50
    report = evaluate(Log.from_sweeps([elsewhere], poses_known=False), scan)
    assert report["c2c_m"] == report["c2c_sweep_m"] == 0
    assert any("poses of a log are unknown" in note for note in report.notes)
    several = Log.from_sweeps([scan, scan], poses_known=False)
    report = evaluate(several, several)
    assert report["c2c_m"] is None  # sweeps without poses make no cloud
    assert report["c2c_sweep_m"] == 0
    assert any("there is no c2c_m" in note for note in report.notes)


def test_real_sweeps_agree_in_world_coordinates(sample_data: Path) -> None:
    log = rs.open_log(sample_data / "semantickitti_mini" / "sequences" / "00")
    report = evaluate(log[1], log[5], labels=log.labels)  # metres apart: without poses, poles find no pole
    one, other = replace(log[1], pose=np.eye(4)), replace(log[5], pose=np.eye(4))
    in_sensor_frame = evaluate(one, other, labels=log.labels)
    assert report["thin_c2c_m"] < 0.3
    assert in_sensor_frame["thin_c2c_m"] > 1.0
    assert 2 * report["range_median_m"] < in_sensor_frame["range_median_m"]
