"""A model is what its card describes, or it is refused with one line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.log import Log
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


def test_networks_of_other_scores_are_refused(copy: Path, log: Log) -> None:
    """Rows that are no points, values that are not finite, and values that take all memory: one line each."""
    onnx = pytest.importorskip("onnx")
    whole = onnx.load_from_string((copy / MODEL).read_bytes())
    numbers = {"low": [0], "two": [2], "huge": [2**30, 1, 1]}
    changes = (
        (("Slice", ["low", "two"]), "gives float32 of shape [2, 3] in place of [64, 3]"),
        (("Expand", ["huge"]), "Expand: it takes more than 0.3 GB"),
    )
    for (kind, more), problem in changes:
        model = type(whole).FromString(whole.SerializeToString())
        last = model.graph.node[-1]
        node = onnx.helper.make_node(kind, [last.input[0], *more], ["other"])
        last.input[0] = "other"
        model.graph.node.insert(len(model.graph.node) - 1, node)
        for name in more:
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.array(numbers[name], np.int64), name))
        (copy / MODEL).write_bytes(model.SerializeToString())
        change(copy, sha256=hash_model((copy / MODEL).read_bytes()))
        assert problem in refusal(copy)
    model = type(whole).FromString(whole.SerializeToString())
    for tensor in model.graph.initializer:
        if list(tensor.dims) == [3]:  # that of the classes
            tensor.raw_data = np.full(3, np.nan, np.float32).tobytes()
    (copy / MODEL).write_bytes(model.SerializeToString())
    change(copy, sha256=hash_model((copy / MODEL).read_bytes()))
    with pytest.raises(ResweepError, match=r"model.onnx: gives values that are not finite"):
        load_labeller(copy).classify(log[0])
