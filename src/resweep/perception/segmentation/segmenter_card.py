"""A segmenter on disk: a folder with ``model.onnx`` and ``card.json``, which says what it is and was trained on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from resweep.config import Spec, validate
from resweep.errors import InputError, SettingsError
from resweep.files import atomic_folder
from resweep.files.untrusted import read_json
from resweep.inference.checked_network import read_model_file
from resweep.perception.segmentation.segment_classes import ClassCategories
from resweep.perception.segmentation.sweep_images import CHANNELS, ImageGeometry
from resweep.quantities import Count, Number, Positive
from resweep.segmentation.card import CARD, MODEL, Scores, TrainingLog, hash_model

KIND = "range-segmenter"
_AGAIN = "give the folder that `resweep learn segmenter` wrote, or train again"
_MEASURED = CHANNELS[:-1]


Smoothing = Annotated[int, Field(ge=0, le=100)]


class SegmenterCard(Spec):
    """What a segmenter is: its images, its classes, and where they come from.

    ``classes`` are the categories of labels that each class stands for, in the order of the outputs. Channels are
    taken less their mean, divided by their spread (``normalisation``). Intensities are shares of their full scale;
    without ``uses_intensity`` they are left out. ``features`` is the number of channels of features, which stand
    behind the scores in the output. Scores are averaged ``smoothing`` times with those of the cells around. ``sha256``
    is that of the network.
    """

    format: Literal[1] = 1
    kind: Literal["range-segmenter"] = "range-segmenter"
    version: str
    classes: ClassCategories
    geometry: ImageGeometry
    normalisation: Annotated[Mapping[str, tuple[Number, Positive]], Field(max_length=100)]
    uses_intensity: bool = True
    smoothing: Smoothing = 4
    features: Annotated[int, Field(ge=1, le=4096)]
    parameters: Count
    trained_on: Annotated[tuple[TrainingLog, ...], Field(max_length=1000)]
    validated: Scores | None = None
    tested: Scores | None = None
    settings: Annotated[Mapping[str, Any], Field(max_length=1000)] = {}
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @model_validator(mode="after")
    def _check(self) -> SegmenterCard:
        if set(self.normalisation) != set(_MEASURED):
            raise SettingsError("normalisation", f"expected mean and spread of {', '.join(_MEASURED)}")
        return self


def write_segmenter(path: Path, model: bytes, card: SegmenterCard) -> None:
    """Write a segmenter as a folder, which appears whole or not at all."""
    with atomic_folder(path) as folder:
        (folder / MODEL).write_bytes(model)
        (folder / CARD).write_text(card.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read_segmenter(path: str | Path) -> tuple[bytes, SegmenterCard]:
    """The network and the card of a segmenter; an error if the network is not the one that the card describes."""
    file = Path(path) / CARD
    if not file.is_file():
        raise InputError(f"{path}: holds no segmenter ({CARD} is missing); {_AGAIN}")
    data = read_json(file, _AGAIN)
    kind = data.get("kind") if isinstance(data, dict) else None
    if kind != KIND:
        raise InputError(f"{file}: is the card of a model of kind '{kind}', not of a {KIND}; {_AGAIN}")
    card, file = validate(data, SegmenterCard, str(file)), Path(path) / MODEL
    model = read_model_file(file, _AGAIN)
    if hash_model(model) != card.sha256:
        raise InputError(f"{file}: is damaged, or not the network that its card describes; {_AGAIN}")
    return model, card
