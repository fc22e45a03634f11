"""A small network on range images: what labels cost if a sweep is seen as a picture.

A U-Net of three scales on images of 64 rows by elevation and 1024 columns by azimuth. Columns are a circle. It is
trained on halves of images, since time grows with their area; the two sides of a half are padded with each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from resweep import portable
from resweep.label_mapping import map_labels
from resweep.learn.semantics.iou import count_pairs
from resweep.learn.semantics.kpconv import SLOPE, load_torch
from resweep.learn.semantics.rounds import schedule_rate
from resweep.learn.semantics.samples import IGNORED, Vocabulary
from resweep.log import Log
from resweep.pose import Array
from resweep.progress import track
from resweep.segmentation.features import rank

ROWS, COLUMNS = 64, 1024
CROP = 512  # columns that are looked at together in training
WIDTH = 16  # channels of the finest scale
CHANNELS = ("known", "range", "height", "intensity")
_RANGE_M, _HEIGHT_M = 50.0, 3.0


@dataclass(frozen=True, eq=False)
class Image:
    """A sweep as ``channels`` (c, rows, columns) float32 of its nearest returns, and the ``label`` of each cell.

    ``cell`` (n,) is the cell of each return and ``truth`` (n,) its class.
    """

    channels: Array
    label: Array
    cell: Array
    truth: Array


def read_images(log: Log, vocabulary: Vocabulary) -> list[Image]:
    """The sweeps of a log as images; rows share the elevations between the lowest and the highest beam evenly."""
    mapping = map_labels(log.labels, vocabulary.labels)
    images = []
    for sweep in track(log, f"projecting {log.name}"):
        points = sweep.deskewed().astype(np.float64)
        distance = np.maximum(portable.norm(points), 1e-6)
        elevation = portable.arcsin(np.clip(points[:, 2] / distance, -1, 1))
        low, high = np.quantile(elevation, [0.001, 0.999])
        row = np.clip((high - elevation) / max(high - low, 1e-6) * ROWS, 0, ROWS - 1).astype(np.int64)
        azimuth = portable.arctan2(points[:, 1], points[:, 0])
        column = ((0.5 - azimuth / (2 * np.pi)) * COLUMNS).astype(np.int64) % COLUMNS
        truth = vocabulary.number(mapping.map(sweep.label))
        values = np.stack([np.ones(len(points)), distance / _RANGE_M, points[:, 2] / _HEIGHT_M, rank(sweep.intensity)])
        images.append(_draw(row * COLUMNS + column, distance, values, truth))
    return images


def _draw(cell: Array, distance: Array, values: Array, truth: Array) -> Image:
    far_first = np.argsort(-distance, kind="stable")
    channels = np.zeros((len(values), ROWS * COLUMNS), np.float32)
    channels[:, cell[far_first]] = values[:, far_first]
    label = np.full(ROWS * COLUMNS, IGNORED, np.int64)
    label[cell[far_first]] = truth[far_first]
    return Image(channels.reshape(-1, ROWS, COLUMNS), label.reshape(ROWS, COLUMNS), cell, truth)


class RangeNetwork:
    """Scores (b, c, rows, columns) of classes for the cells of images; ``module`` is what PyTorch keeps of it."""

    def __init__(self, classes: int, width: int = WIDTH, seed: int = 0) -> None:
        self._torch = load_torch()
        self._torch.manual_seed(seed)
        nn = self._torch.nn
        wide = {
            "stem": (len(CHANNELS), width),
            "down1": (width, 2 * width),
            "down2": (2 * width, 4 * width),
            "up1": (6 * width, 2 * width),
            "up0": (3 * width, width),
        }
        layers = {"head": nn.Conv2d(width, classes, 1)}
        for name, (before, after) in wide.items():
            for at, channels in enumerate((before, after)):
                layers[f"{name}_{at}"] = nn.Conv2d(channels, after, 3, bias=False)
                layers[f"{name}_{at}_norm"] = nn.BatchNorm2d(after)
        self.module = nn.ModuleDict(layers)

    def __call__(self, x: Any) -> Any:
        """Scores of all cells."""
        functions = self._torch.nn.functional
        halve, double, join = functions.max_pool2d, functions.interpolate, self._torch.cat
        fine = self._twice("stem", x)
        middle = self._twice("down1", halve(fine, 2))
        coarse = self._twice("down2", halve(middle, 2))
        middle = self._twice("up1", join([double(coarse, scale_factor=2.0), middle], 1))
        return self.module["head"](self._twice("up0", join([double(middle, scale_factor=2.0), fine], 1)))

    def _twice(self, name: str, x: Any) -> Any:
        """Two convolutions of 3 x 3, round at the sides of the image."""
        functions = self._torch.nn.functional
        for at in range(2):
            padded = functions.pad(functions.pad(x, (1, 1, 0, 0), mode="circular"), (0, 0, 1, 1))
            x = functions.leaky_relu(self.module[f"{name}_{at}_norm"](self.module[f"{name}_{at}"](padded)), SLOPE)
        return x


def train_images(
    images: Sequence[Image],
    weight: Array,
    steps: int,
    rate: float = 0.003,
    seed: int = 0,
    width: int = WIDTH,
    advance: Callable[[int], None] | None = None,
) -> RangeNetwork:
    """A network trained for some steps of halves of two images each, which are turned, mirrored and scaled."""
    torch = load_torch()
    network = RangeNetwork(len(weight), width, seed)
    optimiser = torch.optim.AdamW(network.module.parameters(), rate, weight_decay=0.01)
    weights = torch.from_numpy(weight)
    for step in range(steps):
        rng = np.random.default_rng([seed, step])
        drawn = [_change(images[int(rng.integers(len(images)))], rng) for _ in range(2)]
        for group in optimiser.param_groups:
            group["lr"] = rate * schedule_rate(step / steps)
        scores = network(torch.from_numpy(np.stack([item[0] for item in drawn])))
        label = torch.from_numpy(np.stack([item[1] for item in drawn]))
        loss = torch.nn.functional.cross_entropy(scores, label, weights, ignore_index=IGNORED)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if advance is not None:
            advance(1)
    return network


def _change(image: Image, rng: np.random.Generator) -> tuple[Array, Array]:
    shift, mirrored = int(rng.integers(COLUMNS)), bool(rng.random() < 0.5)
    channels, label = (np.roll(item, shift, axis=-1)[..., :CROP] for item in (image.channels, image.label))
    channels = channels.copy()
    channels[1:3] *= np.float32(rng.uniform(0.9, 1.1))
    if rng.random() < 0.15:
        channels[3] = 0
    channels, label = (item[..., ::-1] if mirrored else item for item in (channels, label))
    return np.ascontiguousarray(channels), np.ascontiguousarray(label)


def score_images(network: RangeNetwork, images: Sequence[Image], classes: int) -> Array:
    """Pairs (c, c) of truth and prediction over all returns of some images."""
    torch = load_torch()
    network.module.eval()
    total = np.zeros((classes, classes), np.int64)
    for image in images:
        with torch.no_grad():
            said = network(torch.from_numpy(image.channels[None]))[0].argmax(dim=0).numpy().reshape(-1)
        total += count_pairs(image.truth, said[image.cell], classes)
    return total
