"""Scores of predicted drops and intensities, each with a meaning of its own (docs/learning.md).

The positive class is the *drop*: a beam that returned in simulation and did not in reality. Accuracy is left out, since
a model that never drops has more than 0.9 of it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from resweep import portable
from resweep.pose import Array
from resweep.simulate.beam_channels import CHANNELS

BINS = 20  # of probability, in reliability diagrams
_MIN_PROBABILITY = 1e-6  # probability that the logarithm sees
_RANGE_EDGES_M = (5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0)
_INCIDENCE_EDGES_DEG = (30.0, 50.0, 65.0, 75.0, 82.0)
_LASER_BINS = 8


def score_drops(probability: Array, dropped: Array, cut: float, values: Array | None = None) -> dict[str, float]:
    """Scores of the predicted ``probability`` (n,) of drops against the true ones (n,) bool.

    ``drop_precision``, ``drop_recall`` and ``drop_f1`` are those of beams above ``cut``; ``drop_f1_sampled`` is
    expected of a mask that is drawn, as simulation does. ``brier_base`` and ``log_loss_base`` are those of one
    probability for all, the true mean. ``drop_rate_js`` needs the channels ``values`` (n, 9): it is the Jensen-Shannon
    divergence, in bits, between where true and predicted drops lie over range × incidence × laser.
    """
    p, y = np.asarray(probability, np.float64), np.asarray(dropped, bool)
    rate = float(y.mean())
    above = p >= cut
    hits = float(np.count_nonzero(above & y))
    precision, recall = hits / max(float(above.sum()), 1.0), hits / max(float(y.sum()), 1.0)
    expected = float(p[y].sum())
    base = np.full(len(y), rate)
    scores = {
        "drop_rate": rate,
        "predicted_rate": float(p.mean()),
        "drop_precision": precision,
        "drop_recall": recall,
        "drop_f1": 2 * precision * recall / max(precision + recall, 1e-12),
        "drop_f1_sampled": 2 * expected / max(float(p.sum() + y.sum()), 1e-12),
        "cut": cut,
        "brier": float(((p - y) ** 2).mean()),
        "brier_base": rate * (1 - rate),
        "log_loss": measure_log_loss(p, y),
        "log_loss_base": measure_log_loss(base, y),
        "ece": measure_reliability(p, y)["error"],
    }
    if values is not None:
        scores["drop_rate_js"] = _compare_places(p, y, values)
    return scores


def measure_log_loss(probability: Array, happened: Array) -> float:
    """Mean negative log-likelihood, in nats."""
    p = np.clip(np.asarray(probability, np.float64), _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    return float(-portable.log(np.where(happened, p, 1 - p)).mean())


def measure_reliability(probability: Array, happened: Array) -> dict[str, Any]:
    """The reliability diagram over `BINS` bins of probability, and ``error``, the expected calibration error."""
    p, y = np.asarray(probability, np.float64), np.asarray(happened, np.float64)
    place = np.clip((p * BINS).astype(int), 0, BINS - 1)
    count = np.bincount(place, minlength=BINS)
    predicted = np.bincount(place, p, BINS) / np.maximum(count, 1)
    true = np.bincount(place, y, BINS) / np.maximum(count, 1)
    error = float((count * np.abs(predicted - true)).sum() / max(float(count.sum()), 1.0))
    return {"predicted": predicted.tolist(), "true": true.tolist(), "count": count.tolist(), "error": error}


def find_cut(probability: Array, dropped: Array) -> float:
    """The probability from which on beams count as dropped, for the largest F1."""
    p, y = np.asarray(probability, np.float64), np.asarray(dropped, bool)
    cuts = np.unique(np.quantile(p, np.linspace(0.0, 1.0, 201)))
    order = np.argsort(p, kind="stable")
    above = len(p) - np.searchsorted(p[order], cuts)
    hits = np.append(np.cumsum(y[order][::-1])[::-1], 0)[len(p) - above]
    f1 = 2 * hits / np.maximum(above + y.sum(), 1)
    return float(cuts[int(np.argmax(f1))])


def find_temperature(probability: Array, dropped: Array) -> float:
    """By what to divide the logits for the least log-loss; 1 where that does not help."""
    p = np.clip(np.asarray(probability, np.float64), _MIN_PROBABILITY, 1 - _MIN_PROBABILITY)
    logit = portable.log(p / (1 - p))

    def loss(temperature: float) -> float:
        return measure_log_loss(1 / (1 + portable.exp(-logit / temperature)), dropped)

    low, high = math.log(0.25), math.log(4.0)
    golden = (math.sqrt(5.0) - 1) / 2
    for _ in range(30):  # the loss has one minimum
        a, b = high - golden * (high - low), low + golden * (high - low)
        if loss(math.exp(a)) < loss(math.exp(b)):
            high = b
        else:
            low = a
    found = math.exp((low + high) / 2)
    return round(found, 4) if loss(found) < loss(1.0) - 1e-6 else 1.0


def _compare_places(p: Array, y: Array, values: Array) -> float:
    """Jensen-Shannon divergence, bits, of where predicted and true drops lie."""
    ranges, incidence, laser = (values[:, CHANNELS.index(name)] for name in ("range_m", "incidence_deg", "laser"))
    row = np.digitize(ranges, _RANGE_EDGES_M) * (len(_INCIDENCE_EDGES_DEG) + 1)
    row = (row + np.digitize(incidence, _INCIDENCE_EDGES_DEG)) * _LASER_BINS
    row += (laser * _LASER_BINS / (laser.max() + 1)).astype(np.int64)
    size = int(row.max()) + 1
    return js_divergence(np.bincount(row, p, size), np.bincount(row, y, size))


def js_divergence(first: Array, second: Array) -> float:
    """The Jensen-Shannon divergence of two histograms, in bits: 0 for equal shapes, 1 for those without overlap."""
    if first.sum() <= 0 or second.sum() <= 0:
        return 1.0
    a, b = first / first.sum(), second / second.sum()
    middle = (a + b) / 2

    def entropy(shares: Array) -> float:
        used = shares[shares > 0]
        return float(-(used * portable.log(used)).sum()) / math.log(2.0)

    return max(0.0, entropy(middle) - (entropy(a) + entropy(b)) / 2)


def score_intensity(predicted: Array, true: Array, drawn: Array | None = None) -> dict[str, float]:
    """RMSE, MAE and correlation of predicted intensities (n,), and the distance of histograms of those ``drawn`` (n,).

    If none are drawn, the predicted ones are what simulation gives.
    """
    p, y = np.asarray(predicted, np.float64), np.asarray(true, np.float64)
    error = p - y
    apart, own = p - p.mean(), y - y.mean()
    spread = math.sqrt(max(float((apart**2).mean() * (own**2).mean()), 1e-24))
    edges = np.linspace(0.0, max(float(np.quantile(y, 0.999)), 1e-6), 65)[1:-1]
    given = p if drawn is None else np.asarray(drawn, np.float64)
    both = [np.bincount(np.digitize(values, edges), minlength=64).astype(np.float64) for values in (given, y)]
    return {
        "intensity_rmse": math.sqrt(float((error**2).mean())),
        "intensity_mae": float(np.abs(error).mean()),
        "intensity_corr": float((apart * own).mean()) / spread,
        "intensity_js": js_divergence(both[0], both[1]),
    }


def score_shares(shares: Array, place: Array, means: Array, true: Array) -> dict[str, float]:
    """Scores of the shares (n, k) of bins of intensity with these ``means`` (k,), where ``place`` (n,) is the true bin.

    ``intensity_log_loss`` is the mean negative log-likelihood of the bin, nats, and ``intensity_log_loss_base`` that of
    the same shares for all. ``intensity_crps`` is the continuous ranked probability score of intensities ``true`` (n,),
    which for a prediction without scatter is its mean absolute error.
    """
    p = np.asarray(shares, np.float64) / np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)
    base = np.bincount(place, minlength=p.shape[1]) / max(len(place), 1)
    own = np.clip(p[np.arange(len(place)), place], _MIN_PROBABILITY, 1.0)
    far = np.abs(np.subtract.outer(means, means))
    off = (p * np.abs(np.asarray(true, np.float64)[:, None] - means[None])).sum(axis=1)
    used = base[base > 0]
    return {
        "intensity_log_loss": float(-portable.log(own).mean()),
        "intensity_log_loss_base": float(-(used * portable.log(used)).sum()),
        "intensity_crps": float((off - 0.5 * (portable.matmul(p, far) * p).sum(axis=1)).mean()),
    }
