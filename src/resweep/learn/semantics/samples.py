"""Training clouds: sweeps with labels, thinned, and parts of them that are turned, scaled and thinned further."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.label_mapping import map_labels
from resweep.labels import LabelSet, load_labels
from resweep.learn.semantics.config import AugmentConfig, NetworkConfig, SemanticsConfig
from resweep.log import Log
from resweep.pose import Array
from resweep.progress import track
from resweep.segmentation.features import ThinnedSweep, thin_sweep
from resweep.segmentation.pyramid import Pyramid, join_pyramids, make_pyramid
from resweep.sensors.infer.inferred_drive import prepare_drive

IGNORED = -1  # class of what has none


@dataclass(frozen=True, eq=False)
class Sample:
    """A thinned sweep, the class ``label`` (m,) of its points and ``truth`` (n,) of its returns, `IGNORED` for none."""

    thinned: ThinnedSweep
    label: Array
    truth: Array


@dataclass(frozen=True)
class Vocabulary:
    """The classes of a network: all of ``labels`` that have a meaning, by number from 0."""

    labels: LabelSet
    ids: tuple[int, ...]

    @classmethod
    def load(cls, name: str) -> Vocabulary:
        """The vocabulary of that name; an unknown one is an error."""
        labels = load_labels(name)
        ids = tuple(sorted(set(labels.classes).difference(labels.unlabelled, labels.outlier)))
        if len(ids) < 2:
            raise ResweepError(f"labels '{name}': has {len(ids)} classes; a vocabulary to learn has two at least")
        return cls(labels, ids)

    @property
    def names(self) -> list[str]:
        """The names of the classes."""
        return [self.labels.class_name(label) for label in self.ids]

    def number(self, label: Array) -> Array:
        """Classes (n,) int64 from 0 of labels (n,); `IGNORED` for what has none."""
        ids = np.array(self.ids)
        at = np.minimum(np.searchsorted(ids, label), len(ids) - 1)
        return np.where(ids[at] == label, at, IGNORED)


def check_labels(log: Log, vocabulary: Vocabulary) -> None:
    """Raise unless the labels of a log can be mapped to a vocabulary."""
    if log.labels.name == "none" or not log.labels.known:
        what = "it has no labels" if log.labels.name == "none" else "the meaning of its labels is unknown"
        raise ResweepError(
            f"log '{log.name}': {what}; train on labelled logs, or name the vocabulary of its ids (labels)"
        )
    mapping = map_labels(log.labels, vocabulary.labels)
    if not np.any(vocabulary.number(np.array(sorted(set(mapping.ids.values())))) >= 0):
        raise ResweepError(
            f"log '{log.name}': no class of its vocabulary '{log.labels.name}' has a counterpart in "
            f"'{vocabulary.labels.name}'; choose another vocabulary to learn (labels)"
        )


def read_samples(log: Log, vocabulary: Vocabulary, network: NetworkConfig, threads: int = 0) -> list[Sample]:
    """The sweeps of a log as samples; an error if none of its returns has a class."""
    check_labels(log, vocabulary)
    mapping = map_labels(log.labels, vocabulary.labels)
    samples = []
    for sweep in track(prepare_drive(log), f"reading {log.name}"):
        if len(sweep) == 0:
            continue
        truth = vocabulary.number(mapping.map(sweep.label))
        thinned = thin_sweep(sweep, network.cell_m, network.features, threads)
        samples.append(Sample(thinned, vote(thinned.cell, truth, len(thinned), len(vocabulary.ids)), truth))
    if not any((sample.truth >= 0).any() for sample in samples):
        raise ResweepError(f"log '{log.name}': no return has a label with a class in '{vocabulary.labels.name}'")
    return samples


def vote(cell: Array, truth: Array, cells: int, classes: int) -> Array:
    """The class (cells,) int64 that most returns of each cell have; `IGNORED` where none has one."""
    known = truth >= 0
    counts = np.bincount(cell[known] * classes + truth[known], minlength=cells * classes).reshape(cells, classes)
    return np.where(counts.any(axis=1), counts.argmax(axis=1), IGNORED)


def draw_batch(
    samples: Sequence[Sample], config: SemanticsConfig, rng: np.random.Generator
) -> tuple[Array, Array, Pyramid]:
    """Features (n, f), classes (n,) and the pyramid of parts of sweeps that are drawn and changed."""
    parts = [_draw_part(samples, config, rng) for _ in range(config.crops)]
    features = np.concatenate([part[0] for part in parts])
    label = np.concatenate([part[1] for part in parts])
    return features, label, join_pyramids([part[2] for part in parts])


def _draw_part(
    samples: Sequence[Sample], config: SemanticsConfig, rng: np.random.Generator
) -> tuple[Array, Array, Pyramid]:
    sample = samples[int(rng.integers(len(samples)))]
    points, label = sample.thinned.points, sample.label
    present = np.unique(label[label >= 0])
    rows = np.flatnonzero(label == rng.choice(present)) if len(present) else np.arange(len(points))
    centre = points[rng.choice(rows), :2]
    away = ((points[:, :2] - centre) ** 2).sum(axis=1)
    near = np.sort(np.argsort(away, kind="stable")[: config.crop_points])
    kept = near[rng.random(len(near)) >= rng.uniform(0, config.augment.drop)]
    kept = kept if len(kept) else near
    network = config.network
    changed, features = augment(points[kept], sample.thinned.features[kept], network.features, config.augment, rng)
    pyramid = make_pyramid(changed, network.cell_m, network.levels, network.neighbours, threads=0)
    return features, label[kept], pyramid


def augment(
    points: Array, features: Array, names: Sequence[str], config: AugmentConfig, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Points (n, 3) and features (n, f) as another sensor at another place could have seen them."""
    yaw, (roll, pitch) = rng.uniform(0, 2 * math.pi), rng.normal(0, math.radians(1) * config.tilt_deg, 2)
    turn = portable.matmul(_turn(yaw, 2), _turn(roll, 0), _turn(pitch, 1))
    size = rng.uniform(1 - config.scale, 1 + config.scale)
    mirror = np.array([1.0, rng.choice([-1.0, 1.0]), 1.0])
    moved = portable.matmul(points * mirror * size, turn.T) + rng.normal(0, config.jitter_m, points.shape)
    features = features.copy()
    if "height" in names:
        at = list(names).index("height")
        features[:, at] = features[:, at] * size + rng.normal(0, config.height_m) / 4
    if "intensity" in names and rng.random() < config.forget_intensity:
        features[:, list(names).index("intensity")] = 0
    return moved.astype(np.float32), features


def _turn(angle: float, axis: int) -> Array:
    """A rotation (3, 3) about one axis."""
    matrix = np.eye(3)
    a, b = [other for other in range(3) if other != axis]
    matrix[a, a] = matrix[b, b] = math.cos(angle)
    matrix[a, b], matrix[b, a] = -math.sin(angle), math.sin(angle)
    return matrix
