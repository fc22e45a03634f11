"""A model on disk: a folder with ``model.onnx`` and ``card.json``, which describes it and what it was trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from resweep.config import Positive, Share, Spec, validate
from resweep.errors import InputError, SettingsError, nearest_names
from resweep.files import atomic_folder
from resweep.files.untrusted import read_json
from resweep.inference.checked_network import read_model_file
from resweep.labels import LabelSet
from resweep.segmentation.features import FEATURES

MODEL, CARD = "model.onnx", "card.json"
TOLERANCE = 1e-3  # by which scores of onnxruntime and PyTorch differ at most
_AGAIN = "give the folder that `resweep learn semantics` wrote, or train again"


class Scores(Spec):
    """How well a model labels the returns of ``on``, which it was not trained on.

    IoU of a class is that of all returns together; ``miou`` is the mean over the classes that truly occur.
    """

    on: tuple[str, ...]
    sweeps: Annotated[int, Field(ge=1)]
    points: Annotated[int, Field(ge=0)]
    miou: Share
    accuracy: Share
    iou: Mapping[str, Share]


class TrainingLog(Spec):
    """A log that a model was trained on, and how many of its sweeps."""

    log: str
    sweeps: Annotated[int, Field(ge=1)]


class SegmentationCard(Spec):
    """What a model is: the grid and features it takes, the classes it gives, and where these come from.

    ``classes`` are the ids in ``labels`` of its outputs, in order. Scores are means over ``votes`` directions that a
    sweep is turned to. ``sha256`` is that of its network.
    """

    format: Literal[1] = 1
    kind: Literal["semantics"] = "semantics"
    version: str
    labels: LabelSet
    classes: tuple[int, ...]
    cell_m: Annotated[float, Field(ge=0.01, le=100.0)]
    levels: Annotated[int, Field(ge=2, le=8)]
    neighbours: Annotated[int, Field(ge=1, le=256)]
    features: tuple[str, ...]
    votes: Annotated[int, Field(ge=1, le=64)] = 4
    trained_on: tuple[TrainingLog, ...]
    validated: Scores | None = None
    tested: Scores | None = None
    tolerance: Positive = TOLERANCE
    settings: Mapping[str, Any] = {}
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @model_validator(mode="after")
    def _check(self) -> SegmentationCard:
        for name in self.features:
            if name not in FEATURES:
                raise SettingsError("features", f"'{name}' is not known here; {nearest_names(name, FEATURES)}")
        for label in self.classes:
            if label not in self.labels.classes:
                raise SettingsError("classes", f"{label} is no class of the labels '{self.labels.name}'")
        if len(self.classes) < 2 or len(set(self.classes)) < len(self.classes):
            raise SettingsError("classes", "expected at least two, none of them twice")
        return self

    @property
    def class_names(self) -> list[str]:
        """The names of the classes, in the order of the outputs."""
        return [self.labels.class_name(label) for label in self.classes]


def hash_model(model: bytes) -> str:
    """The SHA-256 of a network, by which a card identifies it."""
    return hashlib.sha256(model).hexdigest()


def write_model(path: Path, model: bytes, card: SegmentationCard) -> None:
    """Write a model as a folder, which appears whole or not at all."""
    with atomic_folder(path) as folder:
        (folder / MODEL).write_bytes(model)
        (folder / CARD).write_text(card.model_dump_json(indent=1, exclude_defaults=False) + "\n", encoding="utf-8")


def read_card(path: str | Path) -> SegmentationCard:
    """The card of the model in the folder ``path``."""
    file = Path(path) / CARD
    if not file.is_file():
        raise InputError(f"{path}: holds no model of labels ({CARD} is missing); {_AGAIN}")
    data = read_json(file, _AGAIN)
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind != "semantics":
        raise InputError(f"{file}: is the card of a model of kind '{kind}', not of labels; {_AGAIN}")
    return validate(data, SegmentationCard, str(file))


def read_model(path: str | Path) -> tuple[bytes, SegmentationCard]:
    """The network and the card of a model; an error if the network is not the one that the card describes."""
    card, file = read_card(path), Path(path) / MODEL
    model = read_model_file(file, _AGAIN)
    if hash_model(model) != card.sha256:
        raise InputError(f"{file}: is damaged, or not the network that its card describes; {_AGAIN}")
    return model, card
