"""A detector at run time, without PyTorch: sweeps in, boxes out, by onnxruntime."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from resweep.inference.checked_network import CheckedNetwork, InputShape
from resweep.intensity_scale import choose_full_scale, to_relative
from resweep.log import Log
from resweep.perception.detection.birds_eye import CHANNELS, STRIDE, draw_birds_eye
from resweep.perception.detection.decoding import BOX_CHANNELS, decode
from resweep.perception.detection.detector_card import MODEL, DetectorCard, read_detector
from resweep.perception.models import Detections
from resweep.pose import Array
from resweep.sweep import Sweep

INPUT, OUTPUT = "image", "answers"


@dataclass(frozen=True, eq=False)
class Detector:
    """Finds objects by a model; use `load_detector`.

    Intensities are taken as shares of ``full_scale``, that of a white target in the sweeps it reads; without one each
    sweep shows it (`choose_full_scale`). Where all of a sweep's are 0, as in a recording without any, their channel is
    0, which training has seen too. Each sweep is computed on one thread, so that its bytes do not depend on how many
    there are.
    """

    card: DetectorCard
    network: CheckedNetwork
    full_scale: float | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes that it finds."""
        return self.card.classes

    def for_log(self, log: Log) -> Detector:
        """The same, for sweeps whose intensities have the scale of a log."""
        return replace(self, full_scale=log.full_scale)

    def detect(self, sweep: Sweep) -> Detections:
        """The objects in a sweep, in the frame of its pose, the surest first."""
        answers = self.answer(self._draw(sweep))
        return decode(answers, self.card.grid, self.classes, self.card.min_score)

    def embed(self, sweep: Sweep) -> Array:
        """Features (k, d) float32 of a sweep: the last map of the network in each cell of it that has returns."""
        image = self._draw(sweep)
        rows, columns = self.card.grid.answer_shape
        occupied = image[2].reshape(rows, STRIDE, columns, STRIDE).any(axis=(1, 3))
        features = self.answer(image)[len(self.classes) + len(BOX_CHANNELS) :]
        return np.ascontiguousarray(features[:, occupied].T)

    def answer(self, image: Array) -> Array:
        """What the network gives (classes + 8 + features, rows, columns) for an image (3, rows, columns)."""
        expected = _find_shape(self.card)
        return np.asarray(self.network.run({INPUT: image[None]}, expected)[0])

    def _draw(self, sweep: Sweep) -> Array:
        scale = choose_full_scale(sweep.intensity) if self.full_scale is None else self.full_scale
        return draw_birds_eye(sweep.deskewed(), to_relative(sweep.intensity, scale), self.card.grid)


def _find_shape(card: DetectorCard) -> tuple[int, ...]:
    return 1, len(card.classes) + len(BOX_CHANNELS) + card.features, *card.grid.answer_shape


def open_detector(model: bytes, card: DetectorCard, where: str | Path) -> Detector:
    """A detector from the bytes of its network, which are checked; ``where`` names it in errors."""
    size = (len(CHANNELS), *card.grid.shape)
    given = {INPUT: InputShape("float32", (None, len(CHANNELS), None, None))}
    network = CheckedNetwork(model, str(where), given, {INPUT: (1, *size)}, _find_shape(card), "train the model again")
    return Detector(card, network)


def load_detector(path: str | Path) -> Detector:
    """The detector in the folder ``path`` that ``resweep learn detector`` wrote.

    Example: ``load_detector("cars.model").for_log(log).detect(log[5])``
    """
    model, card = read_detector(path)
    return open_detector(model, card, Path(path) / MODEL)
