"""A random forest on the geometric features of single points: what a network must beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from resweep.learn.semantics.iou import count_pairs
from resweep.learn.semantics.samples import Sample
from resweep.optional import require
from resweep.pose import Array

_DEPTH, _LEAF = 24, 5
_MAX_POINTS = 200_000


def train_forest(samples: Sequence[Sample], seed: int = 0, trees: int = 100) -> Any:
    """A forest that knows the class of a point by its features, trained on points drawn from all samples."""
    ensemble = require("sklearn.ensemble", "a random forest")
    features = np.concatenate([sample.thinned.features[sample.label >= 0] for sample in samples])
    label = np.concatenate([sample.label[sample.label >= 0] for sample in samples])
    rng = np.random.default_rng(seed)
    chosen = np.sort(rng.choice(len(label), min(len(label), _MAX_POINTS), replace=False))
    forest = ensemble.RandomForestClassifier(
        trees,
        max_depth=_DEPTH,
        min_samples_leaf=_LEAF,
        class_weight="balanced_subsample",
        n_jobs=2,
        random_state=seed,
    )
    return forest.fit(features[chosen], label[chosen])


def score_forest(forest: Any, samples: Sequence[Sample], classes: int) -> Array:
    """Pairs (c, c) of truth and prediction over all returns of some samples."""
    total = np.zeros((classes, classes), np.int64)
    for sample in samples:
        said = forest.predict(sample.thinned.features)
        total += count_pairs(sample.truth, said[sample.thinned.cell], classes)
    return total
