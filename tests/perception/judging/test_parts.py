"""The parts of a judgement by themselves: boxes, the negative control, feature distances, places and records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from resweep.errors import InputError, SettingsError
from resweep.log import Log
from resweep.perception.judging import Judgement, JudgingConfig, judge
from resweep.perception.judging.clouds import CONTROL, OURS, REAL
from resweep.perception.judging.feature_distance import find_frechet_distance
from resweep.perception.judging.fitted_boxes import fit_box, fit_boxes
from resweep.perception.judging.judged_drive import JudgedDrive
from resweep.perception.judging.judgement_pictures import JudgedSweep
from resweep.perception.judging.negative_control import NegativeControl, make_box_scene
from resweep.perception.judging.nulls import add_range_noise, take_next
from resweep.perception.judging.places import Places, draw_weights
from resweep.pose import Array
from resweep.worlds import World
from tests.perception.judging.conftest import RuleModel, TrueCarModel

FEW = JudgingConfig(resamples=50)


def turned_box(size: tuple[float, float, float], centre: tuple[float, float], yaw: float, count: int = 4000) -> Array:
    """Points on the walls of an upright box that stands on z = 0."""
    rng = np.random.default_rng(0)
    local = rng.uniform(-0.5, 0.5, (count, 3)) * size
    side = rng.integers(2, size=count)
    local[np.arange(count), side] = np.sign(local[np.arange(count), side]) * np.array(size)[side] / 2
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    return np.column_stack([local[:, :2] @ turn.T + centre, local[:, 2] + size[2] / 2])


@pytest.mark.parametrize("yaw", [0.0, 0.4, -1.2])
def test_a_box_is_found_again(yaw: float) -> None:
    found = fit_box(turned_box((4.0, 1.0, 2.0), (3.0, -2.0), yaw))
    assert found.centre == pytest.approx((3.0, -2.0), abs=0.02)
    assert found.size == pytest.approx((4.0, 1.0), abs=0.05)
    assert np.cos(2 * (found.yaw_rad - yaw)) == pytest.approx(1.0, abs=1e-3)
    assert (found.bottom_m, found.top_m) == pytest.approx((0.0, 2.0), abs=0.1)


def test_a_courtyard_stays_empty() -> None:
    walls = turned_box((20.0, 20.0, 5.0), (0.0, 0.0), 0.3)
    boxes = fit_boxes(walls)
    assert len(boxes) > 4
    assert all(box.size[1] <= 1.6 and box.size[0] <= 8.1 for box in boxes)
    assert all(np.hypot(*box.centre) > 8.0 for box in boxes)


@pytest.mark.parametrize("points", [np.zeros((0, 3)), np.zeros((5, 3)), np.arange(15.0).reshape(5, 3)])
def test_points_without_area_make_no_trouble(points: Array) -> None:
    assert len(fit_boxes(points)) <= 5


def test_the_control_has_the_road_and_the_cars_where_they_are(drive: Log) -> None:
    sweep = drive[1]
    scene = make_box_scene(sweep.world_points(), sweep.label, sweep.instance, drive.labels, sweep.pose[:3, 3])
    assert scene is not None
    control = NegativeControl(JudgedDrive(drive), drive.labels, None, 1)
    cloud = control.fire(sweep, 1, None)
    assert cloud is not None
    assert len(np.unique(cloud.sweep.intensity)) == 1
    both = cloud.real_row >= 0
    error = np.abs(cloud.sweep.range[both] - sweep.range[cloud.real_row[both]])
    road = cloud.of(sweep.label, -1)[both] == drive.labels.id_of("road")
    assert np.median(error[road]) < 0.01
    assert np.median(error) < 0.1
    car = cloud.of(sweep.label, -1)[both] == drive.labels.id_of("car")
    assert np.median(error[car]) < 0.6
    assert (cloud.sweep.label[both][car] == drive.labels.id_of("car")).mean() > 0.7


def test_the_null_moves_ranges_by_its_sigma(drive: Log) -> None:
    sweep = drive[0]
    noisy = add_range_noise(sweep, 0.05, 7, 0)
    offset = noisy.sweep.range - sweep.range
    assert float(offset.std()) == pytest.approx(0.05, rel=0.05)
    assert abs(float(offset.mean())) < 4 * 0.05 / np.sqrt(len(offset))
    assert np.array_equal(add_range_noise(sweep, 0.05, 7, 0).sweep.range, noisy.sweep.range)
    assert not np.array_equal(add_range_noise(sweep, 0.05, 7, 1).sweep.range, noisy.sweep.range)


def test_the_next_sweep_stands_for_near_returns_alone(drive: Log) -> None:
    after = take_next(JudgedDrive(drive), 0, drive[0], FEW, 1)
    assert after is not None
    there = after.real_row >= 0
    apart = after.sweep.world_points()[there] - drive[0].world_points()[after.real_row[there]]
    assert 0.3 < there.mean() < 1.0
    assert np.linalg.norm(apart, axis=1).max() <= FEW.transfer_m
    same_label = after.sweep.label[there] == drive[0].label[after.real_row[there]]
    assert same_label.mean() > 0.95
    assert take_next(JudgedDrive(drive), 2, drive[2], FEW, 1) is None
    assert take_next(JudgedDrive(drive), 0, drive[0], JudgingConfig(next_within_s=1e-3), 1) is None


def test_frechet_distance_is_that_of_known_normal_distributions() -> None:
    rng = np.random.default_rng(1)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    # Covariances of one basis: the distance is that of the axes, |m|² + Σ (√a − √b)².
    a, b, mean = np.array([1.0, 4.0, 0.25]), np.array([9.0, 1.0, 0.25]), np.array([1.0, -2.0, 0.5])
    found = find_frechet_distance(np.zeros(3), basis * a @ basis.T, mean, basis * b @ basis.T)
    assert found == pytest.approx(float((mean**2).sum() + ((np.sqrt(a) - np.sqrt(b)) ** 2).sum()))
    assert find_frechet_distance(mean, basis * a @ basis.T, mean, basis * a @ basis.T) == pytest.approx(0.0, abs=1e-9)


def test_feature_distance_is_greatest_for_boxes(drive: Log, street: World) -> None:
    features = judge(drive, RuleModel(), world=street, config=FEW).models[0].features
    assert features is not None
    assert features.dimensions == 2
    assert features.distance[REAL] == pytest.approx(0.0, abs=1e-9)
    ours, control = features.distance[OURS], features.distance[CONTROL]
    assert ours is not None
    assert control is not None
    assert control > 10 * ours


def test_places_are_sectors_seen_from_stretches(drive: Log) -> None:
    config = JudgingConfig(sectors=4, stretch_m=1.5)  # sweeps at 0, 1 and 2 m
    places = Places(JudgedDrive(drive), np.arange(3), config)
    assert places.count == 8
    sweep = drive[0]
    found = [places.find(sweep, at) for at in range(3)]
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[2], found[0] + 4)
    ahead = np.abs(np.arctan2(sweep.points[:, 1], sweep.points[:, 0])) < 0.1
    assert set(found[0][ahead].tolist()) <= {1, 2}


def test_draws_take_as_many_places_as_there_are() -> None:
    weights = draw_weights(20, 400, 3)
    assert (weights.sum(axis=1) == 20).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(20), abs=5 / np.sqrt(400))
    assert (weights == draw_weights(20, 400, 3)).all()


def test_the_page_and_the_record_say_the_same(drive: Log, street: World, tmp_path: Path) -> None:
    judged = judge(drive, {"rule": RuleModel()}, world=street, config=FEW)
    again = Judgement.load(judged.save(tmp_path / "judge.json"))
    assert again.to_json() == judged.to_json()
    page = judged.save(tmp_path / "judge.html").read_text(encoding="utf-8")
    assert page.count("<img") == 3
    assert "http" not in page.replace("http://www.w3.org", "")
    assert f"{judged.models[0].segmentation.miou_share.value:.3f}" in page  # type: ignore[union-attr]
    assert again.save(tmp_path / "again.html").read_text(encoding="utf-8").count("<img") == 1  # its sweeps are gone
    assert "negative control" in str(judged)


def test_the_sweep_that_is_drawn_is_the_one_that_agrees_least() -> None:
    row, answer = np.array([0, 1, -1]), np.array([0, 1], np.uint8)
    points = np.zeros((3, 3), np.float32)
    sweep = JudgedSweep("rule", ("a", "b"), 0, points[:2], answer, points, np.array([0, 0, 1], np.uint8), row)
    assert sweep.agreement == 0.5


def damage(record: dict[str, Any], *path: str | int, value: object) -> str:
    inner: Any = record
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return json.dumps(record)


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        (("version",), 2, "version 2"),
        (("format",), "resweep-report", "not a judgement"),
        (("settings", "sweeps"), "all", r"settings\.sweeps"),
        (("models",), [], "models"),
        (("more",), 1, "more"),
        (("models", 0, "segmentation", "confusion"), [[1]], "a row and a column"),
        (("models", 0, "segmentation", "clouds", 0, "cloud"), "theirs", "cloud 'theirs' is unknown"),
        (("models", 0, "segmentation", "clouds", 0, "agreement", "value"), 1e99, "agreement"),
        (("models", 0, "features", "distance"), {"ours": -1.0}, "distance"),
    ],
)
def test_a_damaged_record_is_one_error(
    drive: Log, tmp_path: Path, path: tuple[str | int, ...], value: object, complaint: str
) -> None:
    record = json.loads(judge(drive[:1], {"rule": RuleModel()}, sim=drive[:1], config=FEW).to_json())
    file = tmp_path / "judge.json"
    file.write_text(damage(record, *path, value=value))
    with pytest.raises(InputError, match=complaint) as raised:
        Judgement.load(file)
    assert str(file) in str(raised.value)


def test_what_is_no_record_is_one_error(tmp_path: Path) -> None:
    for text, complaint in (("{", "not JSON"), ("[]", "not a judgement"), ('{"a": NaN}', "not JSON")):
        (tmp_path / "judge.json").write_text(text)
        with pytest.raises(InputError, match=complaint):
            Judgement.load(tmp_path / "judge.json")
    with pytest.raises(InputError, match="cannot be read"):
        Judgement.load(tmp_path / "none.json")


@pytest.mark.parametrize("given", [{"range_edges_m": (20.0, 10.0)}, {"sectors": 0}, {"sector": 8}])
def test_settings_that_mean_nothing_are_errors(given: dict[str, Any]) -> None:
    with pytest.raises(SettingsError):
        JudgingConfig(**given)


def test_no_figure_is_cut_on_a_narrow_terminal(drive: Log) -> None:
    judged = judge(drive[:1], [RuleModel(), TrueCarModel()], sim=drive[:1], config=FEW)
    console = Console(width=80, color_system=None, force_terminal=False, force_jupyter=False)
    with console.capture() as captured:
        console.print(judged)
    assert "…" not in captured.get()
