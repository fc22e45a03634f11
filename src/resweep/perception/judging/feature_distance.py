"""How far a model's features of simulated sweeps are from those of recorded ones."""

from __future__ import annotations

import numpy as np

from resweep import portable
from resweep.errors import ResweepError
from resweep.perception.judging.clouds import CLOUDS, REAL, JudgedCloud
from resweep.perception.judging.config import JudgingConfig
from resweep.perception.judging.judgement import FeatureScores
from resweep.perception.judging.model_answers import ask_features
from resweep.perception.models import FeatureModel
from resweep.pose import Array

_ROUNDING = 1e-12  # of the covariances, below which a distance is 0


class FeatureJudge:
    """Collects the first two moments of a model's features on every cloud."""

    def __init__(self, name: str, model: FeatureModel, config: JudgingConfig) -> None:
        self.name, self.model, self.config = name, model, config
        self._count: dict[str, int] = {}
        self._sum: dict[str, Array] = {}
        self._product: dict[str, Array] = {}

    def read(self, clouds: dict[str, JudgedCloud], number: int) -> None:
        """Take in the features of all clouds of sweep ``number``."""
        for key, cloud in clouds.items():
            rows = ask_features(self.model, cloud.sweep, f"model '{self.name}', sweep {number}, {key}")
            step = -(-len(rows) // self.config.feature_rows) or 1
            self._add(key, rows[::step])

    def _add(self, key: str, rows: Array) -> None:
        if key not in self._sum:
            self._count[key] = 0
            self._sum[key], self._product[key] = np.zeros(rows.shape[1]), np.zeros((rows.shape[1], rows.shape[1]))
        if rows.shape[1] != len(self._sum[key]):
            raise ResweepError(
                f"model '{self.name}': gave features of {rows.shape[1]} numbers after {len(self._sum[key])}; rows "
                "of all sweeps must have one length"
            )
        self._count[key] += len(rows)
        self._sum[key] += rows.sum(axis=0)
        self._product[key] += portable.matmul(rows.T, rows)

    def score(self) -> FeatureScores:
        """The distance of each cloud from the recorded sweeps; None where one has fewer than two rows."""
        named = [key for key in CLOUDS if key in self._sum]
        return FeatureScores(
            dimensions=len(self._sum[REAL]),
            rows={key: self._count[key] for key in named},
            distance={key: self._find_distance(key) for key in named},
        )

    def _find_distance(self, key: str) -> float | None:
        if min(self._count[key], self._count[REAL]) < 2:
            return None
        return find_frechet_distance(*self._find_moments(REAL), *self._find_moments(key))

    def _find_moments(self, key: str) -> tuple[Array, Array]:
        mean = self._sum[key] / self._count[key]
        return mean, self._product[key] / self._count[key] - np.outer(mean, mean)


def find_frechet_distance(mean: Array, covariance: Array, other_mean: Array, other_covariance: Array) -> float:
    """The squared Fréchet distance of two normal distributions: |m − m'|² + tr(C + C' − 2 (C^½ C' C^½)^½)."""
    root = _find_root(covariance)
    middle = root @ other_covariance @ root
    eigenvalues = np.linalg.eigvalsh((middle + middle.T) / 2.0)
    cross = float(np.sqrt(np.maximum(eigenvalues, 0.0)).sum())
    apart = float(((mean - other_mean) ** 2).sum())
    spread = float(np.trace(covariance) + np.trace(other_covariance))
    distance = apart + spread - 2.0 * cross
    return distance if distance > _ROUNDING * spread else 0.0


def _find_root(covariance: Array) -> Array:
    values, vectors = np.linalg.eigh((covariance + covariance.T) / 2.0)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T)
