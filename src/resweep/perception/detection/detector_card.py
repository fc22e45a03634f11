"""A detector on disk: a folder with ``model.onnx`` and ``card.json``, which describes it and what it was trained on."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from resweep.config import Positive, Share, Spec, validate
from resweep.errors import InputError, SettingsError
from resweep.files import atomic_folder
from resweep.files.untrusted import read_json
from resweep.inference.checked_network import read_model_file
from resweep.perception.detection.birds_eye import BirdsEyeGrid
from resweep.quantities import MAX_COUNT, Count

MODEL, CARD = "model.onnx", "card.json"
KIND = "detector"
TOLERANCE = 1e-3  # by which answers of onnxruntime and PyTorch differ at most
_AGAIN = "give the folder that `resweep learn detector` wrote, or train again"


class DetectionScore(Spec):
    """The average precision of one class by one rule, and the number of objects that count."""

    name: str
    """The class."""
    iou: Share
    """The overlap from which an object is found."""
    kind: Literal["bev", "3d"]
    """Whether boxes are seen from above or in space."""
    min_points: Count
    """Returns that an object has at least."""
    ap: Share | None
    """Average precision at 40 recalls; none without objects."""
    objects: Annotated[int, Field(ge=0, le=MAX_COUNT)]
    """Objects that count, in all sweeps."""


class DetectionScores(Spec):
    """How well a detector finds the objects of ``on``, which it was not trained on."""

    on: Annotated[tuple[str, ...], Field(max_length=1000)]
    """The logs."""
    sweeps: Count
    """Their sweeps."""
    rows: Annotated[tuple[DetectionScore, ...], Field(max_length=10_000)]
    """The scores, class by class and rule by rule."""

    def find(self, name: str, iou: float = 0.5, min_points: int = 1, kind: str = "bev") -> DetectionScore:
        """The score of a class by one rule."""
        for row in self.rows:
            if (row.name, row.iou, row.min_points, row.kind) == (name, iou, min_points, kind):
                return row
        raise InputError(f"scores: none of '{name}' at IoU {iou:g} ({kind}) with {min_points} returns or more")


class TrainedLog(Spec):
    """A log that a detector was trained on: its sweeps, and the objects in them that count."""

    log: str
    sweeps: Count
    objects: Annotated[int, Field(ge=0, le=MAX_COUNT)]


class DetectorCard(Spec):
    """What a detector is: the image it takes, the classes it gives, and where these come from."""

    format: Literal[1] = 1
    """Version of the format."""
    kind: Literal["detector"] = "detector"
    """What the model does."""
    version: str
    """Version of Resweep that made it."""
    grid: BirdsEyeGrid
    """The image that it takes."""
    classes: Annotated[tuple[str, ...], Field(min_length=1, max_length=50)]
    """What it finds, in the order of its outputs."""
    features: Annotated[int, Field(ge=1, le=4096)]
    """Channels of the last map, which its outputs are made of."""
    min_score: Share = 0.05
    """Detections of a lower score are left out."""
    parameters: Annotated[int, Field(ge=0, le=MAX_COUNT)] = 0
    """Number of its weights."""
    intensities: bool = True
    """Whether any log that it was trained on had intensities."""
    trained_on: Annotated[tuple[TrainedLog, ...], Field(max_length=1000)] = ()
    """The logs that it was trained on."""
    validated: DetectionScores | None = None
    """Scores on the logs that chose the best round."""
    tested: DetectionScores | None = None
    """Scores on logs that nothing was chosen by."""
    tolerance: Positive = TOLERANCE
    """By which onnxruntime may differ from PyTorch."""
    settings: Annotated[Mapping[str, Any], Field(max_length=1000)] = {}
    """The settings of its training."""
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    """Hash of its network."""

    @model_validator(mode="after")
    def _check(self) -> DetectorCard:
        if len(set(self.classes)) < len(self.classes) or not all(self.classes):
            raise SettingsError("classes", "expected names, none of them twice")
        return self


def hash_model(model: bytes) -> str:
    """The SHA-256 of a network, by which a card identifies it."""
    return hashlib.sha256(model).hexdigest()


def write_detector(path: Path, model: bytes, card: DetectorCard) -> None:
    """Write a detector as a folder, which appears whole or not at all."""
    with atomic_folder(path) as folder:
        (folder / MODEL).write_bytes(model)
        (folder / CARD).write_text(card.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_detector_card(path: str | Path) -> DetectorCard:
    """The card of the detector in the folder ``path``."""
    file = Path(path) / CARD
    if not file.is_file():
        raise InputError(f"{path}: holds no detector ({CARD} is missing); {_AGAIN}")
    data = read_json(file, _AGAIN)
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind != KIND:
        raise InputError(f"{file}: is the card of a model of kind '{str(kind)[:40]}', not of a detector; {_AGAIN}")
    return validate(data, DetectorCard, str(file))


def read_detector(path: str | Path) -> tuple[bytes, DetectorCard]:
    """The network and the card of a detector; an error if the network is not the one that the card describes."""
    card, file = read_detector_card(path), Path(path) / MODEL
    model = read_model_file(file, _AGAIN)
    if hash_model(model) != card.sha256:
        raise InputError(f"{file}: is damaged, or not the network that its card describes; {_AGAIN}")
    return model, card
