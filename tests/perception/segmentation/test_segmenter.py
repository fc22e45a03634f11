"""A segmenter on disk is what its card describes; it answers for each return, hidden ones too."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.labels import load_labels
from resweep.log import Log
from resweep.perception.models import UNKNOWN, FeatureModel, ScoringModel
from resweep.perception.segmentation import load_segmenter
from resweep.perception.segmentation.neighbour_scores import find_scores
from resweep.perception.segmentation.segment_classes import USUAL_CLASSES, number_classes
from resweep.perception.segmentation.segmenter import pool_blocks
from resweep.perception.segmentation.segmenter_card import read_segmenter
from resweep.perception.segmentation.sweep_images import ImageGeometry, make_image
from resweep.segmentation.card import CARD, MODEL, hash_model
from resweep.sweep import Sweep
from tests.segmentation.test_card import change


def refusal(folder: Path) -> str:
    with pytest.raises(ResweepError) as caught:
        load_segmenter(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_segmenter_answers_for_each_return(segmenter_folder: Path, corner: Log) -> None:
    model, sweep = load_segmenter(segmenter_folder), corner[0]
    assert isinstance(model, ScoringModel)
    assert isinstance(model, FeatureModel)
    found, scores = model.segment(sweep), model.score(sweep)
    assert found.dtype == np.uint8
    assert scores.shape == (len(sweep), 3)
    assert (found == scores.argmax(axis=1)).all()
    features = model.embed(sweep)
    assert features.shape[1] == model.card.features
    assert np.isfinite(features).all()
    empty = Sweep.from_points(np.zeros((0, 3)))
    assert model.segment(empty).shape == (0,)
    assert model.embed(empty).shape == (0, model.card.features)


def test_the_order_of_returns_does_not_matter(segmenter_folder: Path, corner: Log) -> None:
    model, sweep = load_segmenter(segmenter_folder), corner[0]
    order = np.random.default_rng(0).permutation(len(sweep))
    mixed = Sweep.from_points(sweep.points[order], intensity=sweep.intensity[order])
    assert (model.segment(mixed) == model.segment(sweep)[order]).mean() > 0.999


def test_counts_and_shares_of_intensity_are_the_same(segmenter_folder: Path, corner: Log) -> None:
    model, sweep = load_segmenter(segmenter_folder), corner[0]
    counts = replace(sweep, intensity=np.round(sweep.intensity * 255))
    shares = replace(sweep, intensity=counts.intensity / 255)
    assert model.score(counts) == pytest.approx(model.score(shares), abs=1e-5)
    halves = model.for_log(replace(corner, intensity_scale=2.0))
    assert halves.score(replace(sweep, intensity=sweep.intensity * 2)) == pytest.approx(model.score(sweep), abs=1e-5)
    assert np.abs(model.score(replace(sweep, intensity=sweep.intensity / 2)) - model.score(sweep)).max() > 1e-3


def test_labels_become_classes_by_their_categories() -> None:
    labels = load_labels("semantickitti")
    names = ["car", "bicycle", "road", "parking", "pavement", "ground", "fence", "trunk", "traffic sign", "unlabelled"]
    found = number_classes(np.array([labels.id_of(name) for name in names]), labels, USUAL_CLASSES)
    known = [*USUAL_CLASSES, *[""] * (UNKNOWN + 1 - len(USUAL_CLASSES))]
    assert [known[number] for number in found] == [
        *("vehicle", "vehicle", "road", "road", "other ground", "other ground"),
        *("building", "vegetation", "pole", ""),
    ]
    other = load_labels("nuscenes-lidarseg")
    car = other.id_of_category("car")
    assert car is not None
    assert number_classes(np.array([car]), other, USUAL_CLASSES).tolist() == [0]


def test_what_lies_behind_takes_the_scores_of_its_own_surface() -> None:
    """A pole at 4 m before a wall at 10 m: a return of the wall in a cell of the pole is called wall."""
    geometry = ImageGeometry(columns=64, elevation_deg=tuple(np.arange(4.0, -5.0, -1.0).tolist()))
    turn = (np.arange(64) + 0.5 - 32) * -2 * np.pi / 64
    directions = np.concatenate(
        [np.column_stack([np.cos(turn), np.sin(turn), np.full(64, np.tan(np.radians(up)))]) for up in range(-4, 5)]
    )
    wall = directions * 10
    pole = directions[np.abs(directions[:, 1]) < 0.12] * 4
    image = make_image(Sweep.from_points(np.concatenate([wall, pole])), geometry)
    assert np.count_nonzero(image.hidden) == len(pole)
    scores = np.zeros((2, 9, 64), np.float32)
    near = image.nearest >= len(wall)
    scores[0], scores[1] = ~near, near
    for rounds in (0, 3):
        found = find_scores(image, scores, rounds).argmax(axis=1)
        assert (found[: len(wall)] == 0).all()
        assert (found[len(wall) :] == 1).all()
    lonely = make_image(Sweep.from_points(np.array([[4.0, 0, 0], [40.0, 0, 0]])), geometry)
    scores[1] = 2.0
    assert find_scores(lonely, scores, 3).argmax(axis=1).tolist() == [1, 1]


def test_scores_are_averaged_along_a_surface_and_round_the_sensor() -> None:
    geometry = ImageGeometry(columns=16, elevation_deg=(1.0, 0.0, -1.0))
    turn = (np.arange(16) + 0.5 - 8) * -2 * np.pi / 16
    image = make_image(Sweep.from_points(np.column_stack([np.cos(turn), np.sin(turn), 0 * turn]) * 5), geometry)
    scores = np.zeros((1, 3, 16), np.float32)
    scores[0, 1, 0] = 3.0
    assert find_scores(image, scores, 1)[[0, 1, 15], 0] == pytest.approx([1.0, 1.0, 1.0])
    assert not find_scores(image, scores, 1)[2:15].any()


def test_features_are_means_over_returns() -> None:
    features, occupied = np.ones((2, 8, 128), np.float32), np.zeros((8, 128), np.float32)
    features[1, 0, :2] = 4, 8
    occupied[0, :2] = 1
    assert pool_blocks(features, occupied).tolist() == [[1.0, 6.0]]


def test_damaged_segmenters_are_refused(copy: Path) -> None:
    whole = (copy / MODEL).read_bytes()
    (copy / MODEL).write_bytes(whole[:-100])
    assert "model.onnx: is damaged, or not the network that its card describes" in refusal(copy)
    (copy / MODEL).write_bytes(b"no network")
    change(copy, sha256=hash_model(b"no network"))
    assert "model.onnx: is no network that is accepted" in refusal(copy)
    (copy / MODEL).unlink()
    assert "model.onnx: cannot be read" in refusal(copy)
    (copy / CARD).write_text("{")
    assert "card.json: cannot be read" in refusal(copy)
    (copy / CARD).unlink()
    assert "holds no segmenter (card.json is missing)" in refusal(copy)


def test_cards_of_other_networks_are_refused(copy: Path) -> None:
    before = (copy / CARD).read_text()
    change(copy, classes={"road": ["road"], "wall": ["building"]})
    assert "it must be the network of its card: train again" in refusal(copy)
    for values, problem in (
        ({"normalisation": {"range": [0, 1]}}, "normalisation: expected mean and spread of range, x, y, z, intensity"),
        ({"classes": {"road": ["road"], "wall": ["road"]}}, "'road' is given to both 'road' and 'wall'"),
        ({"kind": "semantics"}, "is the card of a model of kind 'semantics', not of a range-segmenter"),
        ({"colour": "red"}, "colour: unknown key"),
    ):
        (copy / CARD).write_text(before)
        change(copy, **values)  # type: ignore[arg-type]
        assert problem in refusal(copy)


def test_a_card_comes_back_as_it_was(segmenter_folder: Path) -> None:
    _, card = read_segmenter(segmenter_folder)
    assert card == type(card).model_validate_json(card.model_dump_json())
    assert list(card.classes) == ["road", "building", "pole"]
