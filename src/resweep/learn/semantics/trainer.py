"""A model of labels from labelled logs: read, train, score, write."""

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
from resweep.learn.semantics.config import SemanticsConfig
from resweep.learn.semantics.export import export
from resweep.learn.semantics.iou import count_pairs, make_scores
from resweep.learn.semantics.kpconv import KpConvNetwork, predict
from resweep.learn.semantics.rounds import train
from resweep.learn.semantics.samples import Sample, Vocabulary, check_labels, read_samples
from resweep.log import Log
from resweep.progress import track
from resweep.segmentation.card import TOLERANCE, Scores, SegmentationCard, TrainingLog, hash_model, write_model
from resweep.segmentation.labeller import Labeller, open_labeller
from resweep.segmentation.pyramid import make_pyramid

_HELD_SHARE = 5  # of one log alone, one sweep in so many is kept for validation
_MIN_SWEEPS = 2


@dataclass(frozen=True)
class Split:
    """Logs to train on, to choose the best round by, and to report on."""

    training: tuple[Log, ...]
    validation: tuple[Log, ...]
    test: tuple[Log, ...] = ()


def split_logs(logs: Sequence[Log], validate: Sequence[Log] = (), test: Sequence[Log] = ()) -> Split:
    """Which logs serve what: without ``validate`` the last of several logs, or the last sweeps of the only one.

    Logs of one place are too much alike to judge by: name those of other places.
    """
    count = sum(len(log) for log in (*logs, *validate))
    if not logs or count < _MIN_SWEEPS:
        raise ResweepError(
            f"training: {count} sweeps are too few; give {_MIN_SWEEPS} at least, one of them to validate by"
        )
    if validate:
        return Split(tuple(logs), tuple(validate), tuple(test))
    if len(logs) > 1:
        return Split(tuple(logs[:-1]), (logs[-1],), tuple(test))
    held = max(1, len(logs[0]) // _HELD_SHARE)
    return Split((logs[0][:-held],), (logs[0][-held:],), tuple(test))


def learn_semantics(
    logs: Log | Sequence[Log],
    path: str | Path,
    config: SemanticsConfig | None = None,
    *,
    validate: Sequence[Log] = (),
    test: Sequence[Log] = (),
    overwrite: bool = False,
    progress: bool = True,
) -> SegmentationCard:
    """Train a network that labels points on labelled logs; writes the model ``path`` and gives its card.

    ``validate`` are the logs that choose the best round: by default the last of several logs, or the last fifth of the
    only one. ``test`` are logs to report on, of which training sees nothing. A training that was stopped is kept beside
    ``path``; the same call goes on from there.

    Example: ``rs.learn_semantics([rs.open_log("drive1"), rs.open_log("drive2")], "town.model")``
    """
    split = split_logs([logs] if isinstance(logs, Log) else logs, validate, test)
    config, path = config or SemanticsConfig(), Path(path)
    check_output(path, overwrite)
    vocabulary = Vocabulary.load(config.labels)
    for log in (*split.training, *split.validation, *split.test):
        check_labels(log, vocabulary)  # before any is read
    with lock_local(path):
        parts = {name: _read(getattr(split, name), vocabulary, config) for name in ("training", "validation", "test")}
        _check_classes(parts["training"], vocabulary)
        folder = find_partial(path)
        key = _make_key(parts["training"] + parts["validation"], config)
        open_partial(folder, key, "rounds of a training")
        kept = Pieces(folder, hash_text(*key.values()))
        network, state = train(parts["training"], parts["validation"], len(vocabulary.ids), config, kept, progress)
        model = export(network)
        card = SegmentationCard(
            version=resweep.__version__,
            labels=vocabulary.labels,
            classes=vocabulary.ids,
            cell_m=config.network.cell_m,
            levels=config.network.levels,
            neighbours=config.network.neighbours,
            features=config.network.features,
            votes=config.votes,
            trained_on=tuple(TrainingLog(log=log.name, sweeps=len(log)) for log in split.training),
            settings={**config.model_dump(mode="json"), "rounds": state.epoch, "best_round": state.best + 1},
            sha256=hash_model(model),
        )
        labeller = open_labeller(model, card, path)
        check_equal(labeller, network, parts["validation"][0])
        scores = {
            field: _score(labeller, parts[part], getattr(split, part), vocabulary)
            for field, part in (("validated", "validation"), ("tested", "test"))
        }
        card = card.model_copy(update=scores)
        write_model(path, model, card)
        discard_partial(folder)
    return card


def check_equal(labeller: Labeller, network: KpConvNetwork, sample: Sample) -> float:
    """The largest difference between PyTorch and onnxruntime on a sample; an error if it is beyond `TOLERANCE`."""
    card, thinned = labeller.card, sample.thinned
    pyramid = make_pyramid(thinned.points, card.cell_m, card.levels, card.neighbours)
    theirs = labeller.scores_of(thinned.points, thinned.features)
    away = float(np.abs(theirs - predict(network, thinned.features, pyramid)).max())
    if away > TOLERANCE:
        raise ResweepError(f"model: onnxruntime differs from PyTorch by {away:g}, more than {TOLERANCE:g}; train again")
    return away


def _read(logs: Sequence[Log], vocabulary: Vocabulary, config: SemanticsConfig) -> list[Sample]:
    return [sample for log in logs for sample in read_samples(log, vocabulary, config.network)]


def _check_classes(samples: Sequence[Sample], vocabulary: Vocabulary) -> None:
    present = sorted({int(item) for sample in samples for item in np.unique(sample.label) if item >= 0})
    if len(present) < 2:
        names = ", ".join(vocabulary.names[item] for item in present)
        raise ResweepError(f"training: all labelled points are of one class ({names}); give logs with two at least")


def _score(labeller: Labeller, samples: Sequence[Sample], logs: Sequence[Log], vocabulary: Vocabulary) -> Scores | None:
    """Scores of what is written, over all returns; None without samples."""
    if not samples:
        return None
    classes = len(vocabulary.ids)
    pairs = np.zeros((classes, classes), np.int64)
    for sample in track(samples, "scoring"):
        predicted = labeller.scores(sample.thinned).argmax(axis=1)
        pairs += count_pairs(sample.truth, predicted[sample.thinned.cell], classes)
    return make_scores(pairs, vocabulary.names, [log.name for log in logs], len(samples))


def _make_key(samples: Sequence[Sample], config: SemanticsConfig) -> dict[str, str]:
    """What decides the weights: version, settings, and all that is read of the sweeps."""
    digest = hashlib.sha256()
    for sample in samples:
        for array in (sample.thinned.points, sample.thinned.features, sample.thinned.cell, sample.label, sample.truth):
            digest.update(np.ascontiguousarray(array).tobytes())
    return {
        "version": resweep.__version__,
        "config": hash_text(config.model_dump_json()),
        "inputs": digest.hexdigest(),
    }
