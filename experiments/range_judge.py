"""A judge of sweeps: a small convolutional network that segments range images, trained on recorded sweeps alone.

The image is the usual one: 64 × 2048 cells, with range, x, y, z and intensity of the nearest return, and a mark of the
cells that have one. The network has four levels and about 0.9 million weights. It knows nothing of simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import resweep as rs
from experiments.presenting import progress
from resweep.labels import LabelSet, list_broader_categories
from resweep.optional import require
from resweep.pose import Array

torch: Any = require("torch", "experiments.range_judge")

CLASSES = ("vehicle", "road", "other ground", "building", "vegetation", "pole")
UNKNOWN = 255
ROWS, COLUMNS = 64, 2048
_UP_RAD, _DOWN_RAD = np.radians(3.0), np.radians(-25.0)
_CHANNELS, _WIDTH = 6, 24
_RANGE_M, _HEIGHT_M, _BRIGHTNESS, _CONTRAST = 20.0, 2.0, 0.29, 0.16  # that bring channels to about -1 to 1
_CROP = 512  # columns that are trained on at once
_BATCH = 2
_MAX_DROPPED = 0.3  # of the returns, so that the network does not rely on a full image


def find_classes(label: Array, labels: LabelSet) -> Array:
    """The number in `CLASSES` of each label (n,) uint8, `UNKNOWN` for others."""
    found = np.full(len(label), UNKNOWN, np.uint8)
    for number in np.unique(label).tolist():
        broader = list_broader_categories(labels.category(number))
        names = ("vehicle", "road", "ground", "building", "fence", "pole", "vegetation")
        first = next((name for name in names if name in broader), None)
        if first is not None:
            name = {"ground": "other ground", "fence": "building"}.get(first, first)
            found[label == number] = CLASSES.index(name)
    return found


def make_image(points: Array, intensity: Array) -> tuple[Array, Array, Array]:
    """The image (6, rows, columns) of a sweep, and the row and column (n,) of each return."""
    ranges = np.linalg.norm(points, axis=1)
    turn = -np.arctan2(points[:, 1], points[:, 0])
    rise = np.arcsin(np.clip(points[:, 2] / np.maximum(ranges, 1e-6), -1.0, 1.0))
    column = np.clip(((turn / np.pi + 1) / 2 * COLUMNS).astype(int), 0, COLUMNS - 1)
    row = np.clip(((1 - (rise - _DOWN_RAD) / (_UP_RAD - _DOWN_RAD)) * ROWS).astype(int), 0, ROWS - 1)
    far_first = np.argsort(-ranges, kind="stable")
    at = row[far_first], column[far_first]
    image = np.zeros((_CHANNELS, ROWS, COLUMNS), np.float32)
    scaled = (
        ranges / _RANGE_M - 1.0,
        *(points[:, axis] / size for axis, size in enumerate((_RANGE_M, _RANGE_M, _HEIGHT_M))),
        (intensity - _BRIGHTNESS) / _CONTRAST,
        np.ones(len(points)),
    )
    for channel, values in zip(image, scaled, strict=True):
        channel[at] = values[far_first]
    return image, row, column


def _make_block(before: int, after: int) -> Any:
    layers: list[Any] = []
    for channels in (before, after):
        layers += [
            torch.nn.Conv2d(channels, after, 3, padding=1, bias=False),
            torch.nn.BatchNorm2d(after),
            torch.nn.ReLU(),
        ]
    return torch.nn.Sequential(*layers)


class RangeSegmenter(torch.nn.Module):  # type: ignore[misc]
    """A U-Net over range images."""

    def __init__(self, width: int = _WIDTH) -> None:
        super().__init__()
        sizes = (width, 2 * width, 4 * width, 4 * width, 4 * width)
        self.down = torch.nn.ModuleList(
            _make_block(before, after) for before, after in zip((_CHANNELS, *sizes), sizes, strict=False)
        )
        self.up = torch.nn.ModuleList(
            _make_block(sizes[at] + sizes[at - 1], sizes[at - 1]) for at in range(len(sizes) - 1, 0, -1)
        )
        self.last = torch.nn.Conv2d(width, len(CLASSES), 1)

    def forward(self, image: Any) -> Any:
        """Scores (b, classes, rows, columns) of images (b, channels, rows, columns)."""
        pool, resize = torch.nn.functional.max_pool2d, torch.nn.functional.interpolate
        seen = [self.down[0](image)]
        for at, block in enumerate(self.down[1:]):
            seen.append(block(pool(seen[-1], (1, 2) if at == 0 else 2)))
        found = seen.pop()
        for block in self.up:
            beside = seen.pop()
            found = block(torch.cat([resize(found, size=beside.shape[2:], mode="nearest"), beside], 1))
        return self.last(found)


class Judge:
    """A trained network: the class of each return."""

    def __init__(self, network: Any) -> None:
        self.network = network.eval()

    def __call__(self, points: Array, intensity: Array) -> Array:
        """The number in `CLASSES` (n,) of returns from points (n, 3) in the sensor's frame."""
        image, row, column = make_image(points, intensity)
        with torch.no_grad():
            scores = self.network(torch.from_numpy(image[None]))[0]
        return np.asarray(scores.argmax(0).numpy()[row, column])


def train(logs: Sequence[rs.Log], steps: int, seed: int = 0) -> Judge:
    """A judge trained on all sweeps of the logs, turned and mirrored at random."""
    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    examples = [_make_example(sweep, log.labels) for log in logs for sweep in log]
    known = np.concatenate([truth[truth != UNKNOWN] for _, truth in examples])
    share = np.bincount(known, minlength=len(CLASSES)) / len(known)
    weight = torch.tensor(1.0 / np.sqrt(np.maximum(share, 1e-4)), dtype=torch.float32)
    network = RangeSegmenter()
    optimizer = torch.optim.AdamW(network.parameters(), 2e-3, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=steps)
    for _ in progress(range(steps), "training the judge", steps):
        chosen = [examples[int(at)] for at in random.integers(len(examples), size=_BATCH)]
        parts = [_vary(image, truth, random) for image, truth in chosen]
        scores = network(torch.from_numpy(np.stack([image for image, _ in parts])))
        target = torch.from_numpy(np.stack([truth for _, truth in parts]).astype(np.int64))
        loss = torch.nn.functional.cross_entropy(scores, target, weight / weight.mean(), ignore_index=UNKNOWN)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return Judge(network)


def _make_example(sweep: rs.Sweep, labels: LabelSet) -> tuple[Array, Array]:
    image, row, column = make_image(sweep.points, sweep.intensity)
    truth = np.full((ROWS, COLUMNS), UNKNOWN, np.uint8)
    far_first = np.argsort(-np.linalg.norm(sweep.points, axis=1), kind="stable")
    truth[row[far_first], column[far_first]] = find_classes(sweep.label, labels)[far_first]
    return image, truth


def _vary(image: Array, truth: Array, random: np.random.Generator) -> tuple[Array, Array]:
    """A part of an example, turned about the vertical axis, perhaps mirrored, with some returns left out."""
    by = int(random.integers(COLUMNS))
    image, truth = np.roll(image, by, 2), np.roll(truth, by, 1)
    cosine, sine = np.cos(2 * np.pi * by / COLUMNS), np.sin(-2 * np.pi * by / COLUMNS)
    image[1], image[2] = cosine * image[1] - sine * image[2], sine * image[1] + cosine * image[2]
    if random.random() < 0.5:
        image, truth = image[:, :, ::-1].copy(), truth[:, ::-1].copy()
        image[2] *= -1
    begin = int(random.integers(COLUMNS - _CROP))
    image, truth = image[:, :, begin : begin + _CROP].copy(), truth[:, begin : begin + _CROP].copy()
    lost = random.random(truth.shape) < random.random() * _MAX_DROPPED
    image[:, lost], truth[lost] = 0.0, UNKNOWN
    return image, truth
