"""A trained segmenter at run time: sweeps in, the class of each return out, by onnxruntime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from resweep.inference.checked_network import CheckedNetwork, InputShape
from resweep.intensity_scale import choose_full_scale, to_relative
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.perception.segmentation.neighbour_scores import average_near
from resweep.perception.segmentation.segment_classes import number_classes
from resweep.perception.segmentation.segmenter_card import SegmenterCard, read_segmenter
from resweep.perception.segmentation.sweep_images import CHANNELS, INTENSITY, OCCUPIED, SweepImage, make_image
from resweep.pose import Array
from resweep.segmentation.card import MODEL
from resweep.sweep import Sweep

INPUT = "channels"
HALO = 64  # columns of the other end that are joined to each: sweeps go round, images do not
BLOCK_ROWS, BLOCK_COLUMNS = 8, 64  # cells whose features are one row of `RangeSegmenter.embed`


@dataclass(frozen=True, eq=False)
class RangeSegmenter:
    """Says of each return what it hit; use `load_segmenter`.

    ``full_scale`` is the intensity of a white target in the sweeps it reads. Without one each sweep shows it
    (`choose_full_scale`): shares of 1, or counts.
    """

    card: SegmenterCard
    network: CheckedNetwork
    full_scale: float | None = None

    @property
    def classes(self) -> tuple[str, ...]:
        """Names of the classes."""
        return tuple(self.card.classes)

    def for_log(self, log: Log) -> RangeSegmenter:
        """The same, for sweeps whose intensities have the scale of a log."""
        return replace(self, full_scale=log.full_scale)

    def segment(self, sweep: Sweep) -> Array:
        """The number in `classes` (n,) uint8 of each return of a sweep."""
        return np.asarray(np.argmax(self.score(sweep), axis=1).astype(np.uint8))

    def score(self, sweep: Sweep) -> Array:
        """Scores (n, classes) float32 of each return, before a softmax; the highest is the answer.

        A return gets the scores of its cell. One that lies behind a nearer return of its cell gets the mean of those
        of its neighbours in the image that are nearest to it in range (`average_near`).
        """
        if not len(sweep):
            return np.zeros((0, len(self.classes)), np.float32)
        image = self.make_image(sweep)
        return average_near(image, self.run(image)[: len(self.classes)])

    def embed(self, sweep: Sweep) -> Array:
        """Features (k, d) float32: of each block of 8 × 64 cells the mean over those that hold a return."""
        image = self.make_image(sweep)
        found = self.run(image)[len(self.classes) :]
        return pool_blocks(found, image.values[OCCUPIED])

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """The number in `classes` (n,) uint8 of true labels (n,) of a vocabulary; `UNKNOWN` for others."""
        return number_classes(label, labels, self.card.classes)

    def make_image(self, sweep: Sweep) -> SweepImage:
        """The image of a sweep, with intensities as shares of their full scale."""
        scale = choose_full_scale(sweep.intensity) if self.full_scale is None else self.full_scale
        return make_image(sweep, self.card.geometry, to_relative(sweep.intensity, scale))

    def make_input(self, image: SweepImage) -> Array:
        """What the network is given of an image (1, 6, rows, columns): normalised, each end joined to the other."""
        values = normalise(image.values, self.card.normalisation, self.card.uses_intensity)
        return np.pad(values, ((0, 0), (0, 0), (HALO, HALO)), mode="wrap")[None]

    def run(self, image: SweepImage) -> Array:
        """What the network gives for an image: scores and features (c + d, rows, columns) float32."""
        given = self.make_input(image)
        found = self.network.run({INPUT: given}, (1, _count_outputs(self.card), *given.shape[2:]))
        return np.asarray(found[0, :, :, HALO:-HALO])


def load_segmenter(path: str | Path) -> RangeSegmenter:
    """The model in the folder ``path``, ready to read sweeps. Nothing in the file is executed but its network.

    Example: ``classes = load_segmenter("town.model").segment(rs.open_log("drive")[0])``
    """
    return open_segmenter(*read_segmenter(path), Path(path) / MODEL)


def open_segmenter(model: bytes, card: SegmenterCard, file: Path) -> RangeSegmenter:
    """The network ``model`` and its card, ready to run; ``file`` names it in errors."""
    rows, columns = card.geometry.rows, card.geometry.columns + 2 * HALO
    network = CheckedNetwork(
        model,
        str(file),
        {INPUT: InputShape("float32", (None, len(CHANNELS), rows, None))},
        {INPUT: (1, len(CHANNELS), rows, columns)},
        (1, _count_outputs(card), rows, columns),
        "it must be the network of its card: train again",
    )
    return RangeSegmenter(card, network)


def normalise(values: Array, by: Mapping[str, tuple[float, float]], intensity: bool = True) -> Array:
    """Channels (6, rows, columns) as the network takes them: about -1 to 1, and 0 where nothing returned."""
    mean = np.array([by.get(name, (0.0, 1.0))[0] for name in CHANNELS], np.float32)[:, None, None]
    spread = np.array([by.get(name, (0.0, 1.0))[1] for name in CHANNELS], np.float32)[:, None, None]
    found = (values - mean) / spread * values[OCCUPIED]
    if not intensity:
        found[INTENSITY] = 0.0
    return np.asarray(found, np.float32)


def pool_blocks(features: Array, occupied: Array) -> Array:
    """Means (k, d) float32 of features (d, rows, columns) over the occupied cells of each block that has any."""
    total = _add_blocks(features * occupied)
    count = _add_blocks(occupied[None])[0]
    kept = count > 0
    return np.asarray((total[:, kept] / count[kept]).T, np.float32)


def _add_blocks(values: Array) -> Array:
    rows = np.add.reduceat(values, np.arange(0, values.shape[1], BLOCK_ROWS), axis=1)
    return np.asarray(np.add.reduceat(rows, np.arange(0, values.shape[2], BLOCK_COLUMNS), axis=2))


def _count_outputs(card: SegmenterCard) -> int:
    return len(card.classes) + card.features
