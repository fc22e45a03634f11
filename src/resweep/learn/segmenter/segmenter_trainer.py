"""A segmenter from labelled logs: read, train, score, write."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import resweep
from resweep.errors import ResweepError
from resweep.files import lock_local
from resweep.files.partial import find_partial, hash_text, open_partial
from resweep.files.pieces import Pieces
from resweep.files.publication import discard_partial
from resweep.learn.model_folder import check_output
from resweep.learn.segmenter.config import SegmenterConfig
from resweep.learn.segmenter.image_samples import (
    IGNORED,
    Classes,
    ImageSample,
    check_labels,
    choose_sweeps,
    find_classes,
    make_sample,
    read_images,
)
from resweep.learn.segmenter.segmenter_layers import count_features
from resweep.learn.segmenter.segmenter_network import SegmenterNetwork, export, predict
from resweep.learn.segmenter.segmenter_rounds import SegmenterTraining, measure_channels, train
from resweep.learn.semantics.iou import count_pairs, make_scores
from resweep.learn.semantics.trainer import Split, split_logs
from resweep.log import Log
from resweep.perception.segmentation.neighbour_scores import average_near
from resweep.perception.segmentation.segmenter import HALO, RangeSegmenter, open_segmenter
from resweep.perception.segmentation.segmenter_card import SegmenterCard, write_segmenter
from resweep.perception.segmentation.sweep_images import CHANNELS, INTENSITY, ImageGeometry, find_geometry
from resweep.progress import track
from resweep.segmentation.card import Scores, TrainingLog, hash_model

TOLERANCE = 1e-3  # by which scores of onnxruntime and PyTorch differ at most


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """What is learned, and from what: samples to train on, to choose the round by, and to report on."""

    classes: Classes
    geometry: ImageGeometry
    training: list[ImageSample]
    validation: list[ImageSample]
    test: list[ImageSample]

    @property
    def uses_intensity(self) -> bool:
        """Whether any training sweep has intensities."""
        return any(bool(sample.image.values[INTENSITY].any()) for sample in self.training)


def learn_segmenter(
    logs: Log | Sequence[Log],
    path: str | Path,
    config: SegmenterConfig | None = None,
    *,
    validate: Sequence[Log] = (),
    test: Sequence[Log] = (),
    overwrite: bool = False,
    progress: bool = True,
) -> SegmenterCard:
    """Train a network that segments range images of labelled logs; writes the model ``path`` and gives its card.

    ``validate`` are the logs that choose the best round: by default the last of several logs, or the last fifth of the
    only one. ``test`` are logs to report on, of which training sees nothing. A training that was stopped is kept beside
    ``path``; the same call goes on from there. Logs without intensities are learned without: their channel is empty.

    Example: ``rs.learn_segmenter([rs.open_log("drive1"), rs.open_log("drive2")], "town.model")``
    """
    split = split_logs([logs] if isinstance(logs, Log) else logs, validate, test)
    config, path = config or SegmenterConfig(), Path(path)
    check_output(path, overwrite)
    for log in (*split.training, *split.validation, *split.test):
        check_labels(log)  # before any is read
    with lock_local(path):
        chosen = Split(tuple(choose_sweeps(split.training, config.sweeps)), split.validation, split.test)
        data = _read(chosen, config)
        key = _make_key(data, config)
        folder = find_partial(path)
        open_partial(folder, key, "rounds of a training")
        by = measure_channels(data.training, CHANNELS[:-1])
        training = SegmenterTraining(data.training, len(data.classes), by, data.uses_intensity, config)
        kept = Pieces(folder, hash_text(*key.values()))
        network = train(training, data.validation, config, kept, progress)
        state, model = training.state, export(network, data.geometry.rows)
        card = SegmenterCard(
            version=resweep.__version__,
            classes=data.classes,
            geometry=data.geometry,
            normalisation=by,
            uses_intensity=data.uses_intensity,
            features=count_features(config.network),
            parameters=network.parameters,
            trained_on=tuple(TrainingLog(log=log.name, sweeps=len(log)) for log in chosen.training),
            settings={**config.model_dump(mode="json"), "rounds": state.epoch, "best_round": state.best + 1},
            sha256=hash_model(model),
        )
        segmenter = open_segmenter(model, card, path)
        check_equal(segmenter, network, data.validation[0])
        scores = {
            "validated": _score(segmenter, data.validation, split.validation),
            "tested": _score(segmenter, data.test, split.test),
        }
        card = card.model_copy(update=scores)
        write_segmenter(path, model, card)
        discard_partial(folder)
    return card


def check_equal(segmenter: RangeSegmenter, network: SegmenterNetwork, sample: ImageSample) -> float:
    """The largest difference between PyTorch and onnxruntime on a sample; an error if it is beyond `TOLERANCE`."""
    ours = predict(network, segmenter.make_input(sample.image))[0, :, :, HALO:-HALO]
    away = float(np.abs(segmenter.run(sample.image) - ours).max())
    if away > TOLERANCE:
        raise ResweepError(f"model: onnxruntime differs from PyTorch by {away:g}, more than {TOLERANCE:g}; train again")
    return away


def _read(split: Split, config: SegmenterConfig) -> TrainingSet:
    first = next((sweep for log in split.training for sweep in log if len(sweep)), None)
    if first is None:
        raise ResweepError(f"log '{split.training[0].name}': no sweep has a return; give a log with returns")
    geometry = find_geometry(first, config.rows, config.columns)
    parts = [
        [image for log in logs for image in read_images(log, geometry)]
        for logs in (split.training, split.validation, split.test)
    ]
    names = ", ".join(f"'{log.name}'" for log in split.training)
    classes = find_classes(parts[0], config.classes, names)
    training, validation, test = ([make_sample(image, classes) for image in part] for part in parts)
    if not any((sample.truth != IGNORED).any() for sample in validation):
        raise ResweepError(
            f"log '{split.validation[0].name}': no return has a class that is learned ({', '.join(classes)}), so no "
            "round can be chosen by it; validate by another log"
        )
    return TrainingSet(classes, geometry, training, validation, test)


def _score(segmenter: RangeSegmenter, samples: Sequence[ImageSample], logs: Sequence[Log]) -> Scores | None:
    """Scores of what is written, over all returns; None without samples."""
    if not samples:
        return None
    classes = segmenter.classes
    pairs = np.zeros((len(classes), len(classes)), np.int64)
    for sample in track(samples, "scoring"):
        found = average_near(sample.image, segmenter.run(sample.image)[: len(classes)])
        pairs += count_pairs(sample.truth, found.argmax(axis=1), len(classes))
    return make_scores(pairs, classes, [log.name for log in logs], len(samples))


def _make_key(data: TrainingSet, config: SegmenterConfig) -> dict[str, str]:
    """What decides the weights: version, settings, and all that is read of the sweeps."""
    digest = hashlib.sha256(hash_text(data.classes, data.geometry).encode())
    for sample in data.training + data.validation:
        for array in (sample.image.values, sample.label, sample.instance, sample.truth):
            digest.update(np.ascontiguousarray(array).tobytes())
    return {
        "version": resweep.__version__,
        "config": hash_text(config.model_dump_json()),
        "inputs": digest.hexdigest(),
    }
