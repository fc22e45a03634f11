"""A detector from logs with boxes or instances: read, train, score, write."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import resweep
from resweep.errors import ResweepError
from resweep.files import lock_local
from resweep.files.partial import find_partial, hash_text, open_partial
from resweep.files.pieces import Pieces
from resweep.files.publication import discard_partial
from resweep.learn.detector.detector_config import MAX_WEIGHTS, DetectorConfig
from resweep.learn.detector.detector_graph import export
from resweep.learn.detector.detector_network import DetectorNetwork, predict
from resweep.learn.detector.detector_rounds import DetectorProgress, train
from resweep.learn.detector.detector_samples import DetectorSample, check_objects, read_samples
from resweep.learn.model_folder import check_output
from resweep.learn.semantics.trainer import split_logs
from resweep.log import Log
from resweep.perception.detection.average_precision import find_average_precision
from resweep.perception.detection.birds_eye import draw_birds_eye
from resweep.perception.detection.box_matching import MatchRule as Rule
from resweep.perception.detection.box_matching import OverlapKind, match_frames
from resweep.perception.detection.decoding import decode
from resweep.perception.detection.detector import Detector, open_detector
from resweep.perception.detection.detector_card import (
    TOLERANCE,
    DetectionScore,
    DetectionScores,
    DetectorCard,
    TrainedLog,
    hash_model,
    write_detector,
)
from resweep.perception.detection.truth import TrueBoxes
from resweep.perception.models import Detections
from resweep.pose import Array
from resweep.progress import track

IOUS, LEAST_POINTS = (0.5, 0.7), (1, 10)  # D, section 5.3
_KINDS: tuple[OverlapKind, ...] = ("bev", "3d")


def learn_detector(
    logs: Log | Sequence[Log],
    path: str | Path,
    config: DetectorConfig | None = None,
    *,
    validate: Sequence[Log] = (),
    test: Sequence[Log] = (),
    overwrite: bool = False,
    progress: bool = True,
) -> DetectorCard:
    """Train a bird's-eye detector; writes the model ``path`` and gives its card.

    Logs have annotated boxes, or labels with instances of vehicles (`find_truth`). ``validate`` are the logs that
    choose the best round: by default the last of several logs, or the last fifth of the only one. ``test`` are logs to
    report on, of which training sees nothing. A training that was stopped is kept beside ``path``; the same call goes
    on from there. Intensities are shares of a log's full scale; those of logs without any are 0, and training leaves
    them out of some sweeps of all others, so that the model reads recordings without intensities too.

    Example: ``rs.learn_detector([rs.open_log("drive1"), rs.open_log("drive2")], "cars.model")``
    """
    split = split_logs([logs] if isinstance(logs, Log) else logs, validate, test)
    config, path = config or DetectorConfig(), Path(path)
    check_output(path, overwrite)
    network = DetectorNetwork(config.network, len(config.classes), config.seed)
    if network.parameters > MAX_WEIGHTS:
        raise ResweepError(
            f"network: {network.parameters:,} weights, at most {MAX_WEIGHTS:,}; make it narrower (width)"
        )
    with lock_local(path):
        parts = {
            name: [read_samples(log, config, progress) for log in getattr(split, name)]
            for name in ("training", "validation", "test")
        }
        training, validation = (_join(parts[name]) for name in ("training", "validation"))
        check_objects(training, config)
        _check_validation(validation, split.validation, config)
        folder = find_partial(path)
        key = _make_key([*training, *validation], config)
        open_partial(folder, key, "rounds of a training")
        network, state = train(training, validation, config, Pieces(folder, hash_text(*key.values())), progress)
        model = export(network)
        trained_on = tuple(map(_describe, split.training, parts["training"]))
        detector = open_detector(model, _make_card(model, network, state, config, trained_on), path)
        check_equal(detector, network, validation[0])
        scores = {
            field: score_samples(detector, parts[part], [log.name for log in getattr(split, part)], progress)
            for field, part in (("validated", "validation"), ("tested", "test"))
        }
        bright = any(bool(sample.points[:, 3].any()) for sample in training)
        card = detector.card.model_copy(update={**scores, "intensities": bright})
        write_detector(path, model, card)
        discard_partial(folder)
    return card


def _make_card(
    model: bytes,
    network: DetectorNetwork,
    state: DetectorProgress,
    config: DetectorConfig,
    trained_on: tuple[TrainedLog, ...],
) -> DetectorCard:
    """The card of a trained network, without scores."""
    return DetectorCard(
        version=resweep.__version__,
        grid=config.grid,
        classes=config.classes,
        features=config.network.features,
        min_score=config.min_score,
        parameters=network.parameters,
        trained_on=trained_on,
        settings={**config.model_dump(mode="json"), "best_round": state.best + 1, "losses": state.losses},
        sha256=hash_model(model),
    )


def _join(parts: Sequence[Sequence[DetectorSample]]) -> list[DetectorSample]:
    return [sample for part in parts for sample in part]


def check_equal(detector: Detector, network: DetectorNetwork, sample: DetectorSample) -> float:
    """The largest difference between PyTorch and onnxruntime on a sample; an error if it is beyond `TOLERANCE`."""
    image = draw_birds_eye(sample.points[:, :3], sample.points[:, 3], detector.card.grid)
    away = float(np.abs(detector.answer(image) - predict(network, image)).max())
    if away > TOLERANCE:
        raise ResweepError(f"model: onnxruntime differs from PyTorch by {away:g}, more than {TOLERANCE:g}; train again")
    return away


def score_samples(
    detector: Detector, parts: Sequence[Sequence[DetectorSample]], names: Sequence[str], show: bool = True
) -> DetectionScores | None:
    """Scores of what is written, over all sweeps of some logs; None without any."""
    samples = _join(parts)
    if not samples:
        return None
    card = detector.card
    found = []
    for sample in track(samples, "scoring", show=show):
        image = draw_birds_eye(sample.points[:, :3], sample.points[:, 3], card.grid)
        found.append(decode(detector.answer(image), card.grid, card.classes, card.min_score))
    return make_scores(found, [sample.truth for sample in samples], card.classes, names)


def make_scores(
    found: Sequence[Detections], truth: Sequence[TrueBoxes], classes: Sequence[str], names: Sequence[str]
) -> DetectionScores:
    """Average precision by class, overlap, least returns of an object, and way of looking at boxes."""
    rows = []
    for name in classes:
        for kind in _KINDS:
            for iou in IOUS:
                for points in LEAST_POINTS:
                    curve = find_average_precision(match_frames(found, truth, Rule(name, iou, points, kind)))
                    ap = None if math.isnan(curve.ap) else curve.ap
                    row = DetectionScore(name=name, iou=iou, kind=kind, min_points=points, ap=ap, objects=curve.objects)
                    rows.append(row)
    return DetectionScores(on=tuple(names), sweeps=len(truth), rows=tuple(rows))


def _check_validation(samples: Sequence[DetectorSample], logs: Sequence[Log], config: DetectorConfig) -> None:
    if not any((sample.number >= 0).any() for sample in samples):
        names = ", ".join(f"'{log.name}'" for log in logs)
        raise ResweepError(
            f"validation: no sweep of {names} has an object of {', '.join(config.classes)}; name another log (validate)"
        )


def _describe(log: Log, samples: Sequence[DetectorSample]) -> TrainedLog:
    return TrainedLog(log=log.name, sweeps=len(log), objects=sum(int((item.number >= 0).sum()) for item in samples))


def _make_key(samples: Sequence[DetectorSample], config: DetectorConfig) -> dict[str, str]:
    """What decides the weights: version, settings, and all that is read of the sweeps."""
    digest = hashlib.sha256()
    for sample in samples:
        digest.update(repr(sample.sector).encode())
        arrays: tuple[Array, ...] = (sample.points, sample.boxes, sample.number, sample.truth.counted)
        for array in arrays:
            digest.update(np.ascontiguousarray(array).tobytes())
    return {
        "version": resweep.__version__,
        "config": hash_text(config.model_dump_json()),
        "inputs": digest.hexdigest(),
    }
