"""How little a return looks like any known class: scores of a closed model, made to one number."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from resweep import portable
from resweep.errors import InputError
from resweep.pose import Array

Measure = Literal["energy", "softmax", "distance"]
_MIN_RETURNS = 20  # of a class, to know its mean
_RIDGE = 1e-3  # share of the mean variance that is added, so that a covariance can be inverted


class UnknownScore(Protocol):
    """A measure of how unknown returns are."""

    def __call__(self, scores: Array) -> Array:
        """One number (n,) float64 for the scores (n, classes) of each return; the highest are unknown."""


def find_energy(scores: Array) -> Array:
    """Energy (n,): minus the logarithm of the sum of the exponentials of scores (n, classes)."""
    given = np.asarray(scores, np.float64)
    top = given.max(axis=1)
    return np.asarray(-top - portable.log(portable.exp(given - top[:, None]).sum(axis=1)))


def find_doubt(scores: Array) -> Array:
    """One minus the highest probability (n,) of a softmax of scores (n, classes)."""
    given = np.asarray(scores, np.float64)
    return np.asarray(1.0 - 1.0 / portable.exp(given - given.max(axis=1, keepdims=True)).sum(axis=1))


@dataclass(frozen=True, eq=False)
class ClassDistance:
    """Mahalanobis distance of scores to the nearest mean of a class, all classes with one covariance.

    ``means`` (k, classes) and ``precision`` (classes, classes), the inverse of the covariance.
    """

    means: Array
    precision: Array

    @classmethod
    def fit(cls, scores: Array, answer: Array) -> ClassDistance:
        """From scores (n, classes) of known returns and the class (n,) that each got."""
        given = np.asarray(scores, np.float64)
        kinds = [at for at in np.unique(answer) if np.count_nonzero(answer == at) >= _MIN_RETURNS]
        if not kinds:
            raise InputError(f"distance to classes: no class has {_MIN_RETURNS} returns; give more sweeps")
        means = np.array([given[answer == at].mean(axis=0) for at in kinds])
        rest = np.concatenate([given[answer == at] - mean for at, mean in zip(kinds, means, strict=True)])
        covariance = portable.matmul(rest.T, rest) / len(rest)
        covariance += _RIDGE * max(float(np.trace(covariance)) / len(covariance), 1e-12) * np.eye(len(covariance))
        return cls(means, portable.solve(covariance, np.eye(len(covariance))))

    def __call__(self, scores: Array) -> Array:
        """Distance (n,) of scores (n, classes), in standard deviations."""
        away = np.asarray(scores, np.float64) - self.means[:, None]
        squared = (portable.matmul(away, self.precision) * away).sum(axis=2)
        return np.asarray(np.sqrt(np.maximum(squared, 0.0).min(axis=0)))


def fit_measure(measure: Measure, scores: Iterable[Array]) -> UnknownScore:
    """The measure of a name, from scores (n, classes) of known sweeps where it needs any."""
    if measure == "energy":
        return find_energy
    if measure == "softmax":
        return find_doubt
    known = np.concatenate(list(scores))
    return ClassDistance.fit(known, known.argmax(axis=1))
