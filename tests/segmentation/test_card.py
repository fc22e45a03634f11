"""A model is what its card describes, or it is refused with one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from resweep.errors import ResweepError
from resweep.segmentation import load_labeller, read_card
from resweep.segmentation.card import CARD, MODEL, hash_model


@pytest.fixture
def copy(model: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(model, tmp_path / "copy.model"))


def change(folder: Path, **values: object) -> None:
    card = json.loads((folder / CARD).read_text())
    (folder / CARD).write_text(json.dumps({**card, **values}))


def refusal(folder: Path) -> str:
    with pytest.raises(ResweepError) as caught:
        load_labeller(folder)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_card_comes_back_as_it_was(model: Path) -> None:
    card = read_card(model)
    assert card.class_names == ["road", "building", "pole"]
    assert card.labels.name == "semantickitti-19"
    assert card == type(card).model_validate_json(card.model_dump_json())


def test_damaged_networks_are_refused(copy: Path) -> None:
    whole = (copy / MODEL).read_bytes()
    (copy / MODEL).write_bytes(whole[:-100])
    assert "model.onnx: is damaged, or not the network that its card describes" in refusal(copy)
    (copy / MODEL).write_bytes(b"no network")
    change(copy, sha256=hash_model(b"no network"))
    assert "model.onnx: is no network that is accepted" in refusal(copy)
    (copy / MODEL).unlink()
    assert "model.onnx: cannot be read (No such file" in refusal(copy)


def test_networks_of_another_shape_are_refused(copy: Path) -> None:
    for values in ({"levels": 3}, {"features": ["one", "height"]}, {"classes": [40, 50]}):
        before = (copy / CARD).read_text()
        change(copy, **values)
        assert "it must be the network of its card" in refusal(copy)
        (copy / CARD).write_text(before)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"kind": "raydrop"}, "is the card of a model of kind 'raydrop', not of labels"),
        ({"format": 2}, "format: input should be 1"),
        ({"features": ["colour"]}, "features: 'colour' is not known here"),
        ({"classes": [40, 7]}, "7 is no class of the labels 'semantickitti-19'"),
        ({"classes": [40, 40]}, "expected at least two, none of them twice"),
        ({"run": "rm"}, "run: unknown key"),
    ],
)
def test_foreign_cards_are_refused(copy: Path, values: dict, message: str) -> None:
    change(copy, **values)
    assert message in refusal(copy)


def test_what_is_no_model_is_refused(copy: Path, tmp_path: Path) -> None:
    assert "holds no model of labels (card.json is missing)" in refusal(tmp_path)
    (copy / CARD).write_text("{")
    assert "card.json: cannot be read" in refusal(copy)
