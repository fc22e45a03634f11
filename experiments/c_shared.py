"""Two worlds judged on the same beams: those that both of them return.

A world that many beams fall through is judged, by C2C, RMSE and the share within 10 cm, on the easy beams that it does
return. So the figures of two worlds are compared once more on the beams that both return. What a world predicted for
the held-out beams is kept in files beside the kept results, so that no world is built again for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import resweep as rs
from experiments.kept_results import Figures
from resweep.files import atomic_file
from resweep.labels import LabelSet
from resweep.map.config import MapConfig
from resweep.pose import Array

SHARED_FIGURES = ("within_0.10m", "range_rmse_m", "c2c_m", "thin_c2c_m", "thin_c2c_sweep_m", "too_early_0.5m")


def select_mappable(sweep: rs.Sweep, config: MapConfig, labels: LabelSet) -> rs.Sweep:
    """The sweep without the beams that returned from what no map of its place holds."""
    return sweep.select_beams(config.filter(labels).keeps_beams(sweep))


@dataclass(frozen=True, eq=False)
class Predicted:
    """The returns that a world predicts for one sweep: ``beam`` (n,), ``range`` (n,) and ``label`` (n,)."""

    beam: Array
    range: Array
    label: Array

    @classmethod
    def of(cls, sweep: rs.Sweep) -> Predicted:
        """Those of a simulated sweep."""
        return cls(sweep.beam, sweep.range, sweep.label)

    def put_into(self, real: rs.Sweep, only: Array) -> rs.Sweep:
        """The real sweep's beams with these returns, of the beams (n,) in ``only`` alone."""
        kept = np.isin(self.beam, only)
        count = int(kept.sum())
        return replace(
            real,
            beam=self.beam[kept],
            range=self.range[kept],
            label=self.label[kept],
            intensity=np.zeros(count, np.float32),
            return_index=np.zeros(count, np.uint8),
            instance=np.zeros(count, np.int32),
            extra={},
            boxes=None,
        )


class KeptPredictions:
    """Predictions by key, in a folder of files, or in memory alone without one."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._known: dict[str, list[Predicted]] = {}

    def __contains__(self, key: str) -> bool:
        return key in self._known or (self._folder is not None and self._path(key).exists())

    def put(self, key: str, predicted: Sequence[Predicted]) -> None:
        """Keep the predictions of all held-out sweeps."""
        if self._folder is None:
            self._known[key] = list(predicted)
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        columns = {f"{name}-{at}": getattr(one, name) for at, one in enumerate(predicted) for name in _COLUMNS}
        with atomic_file(self._path(key)) as temporary, temporary.open("wb") as file:
            np.savez(file, **columns)

    def get(self, key: str) -> list[Predicted]:
        """The predictions of all held-out sweeps."""
        if self._folder is None:
            return self._known[key]
        with np.load(self._path(key)) as kept:
            count = len(kept.files) // len(_COLUMNS)
            return [Predicted(*(kept[f"{name}-{at}"] for name in _COLUMNS)) for at in range(count)]

    def _path(self, key: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"


_COLUMNS = ("beam", "range", "label")


def compare_shared(
    log: rs.Log, held: Sequence[int], real: Sequence[rs.Sweep], pair: Sequence[Sequence[Predicted]], labels: LabelSet
) -> list[Figures]:
    """The figures of each world of a ``pair`` on the beams that both return, and which share of its own they are.

    ``real`` are the held-out sweeps, ``labels`` the vocabulary of the predictions.
    """
    shared = [np.intersect1d(mine.beam, other.beam) for mine, other in zip(*pair, strict=True)]
    found = []
    for own in pair:
        simulated = [one.put_into(sweep, only) for one, sweep, only in zip(own, real, shared, strict=True)]
        report = rs.evaluate(
            log[list(held)].with_sweeps(simulated, labels=labels), log[list(held)].with_sweeps(list(real)), recorded=log
        )
        share = sum(map(len, shared)) / max(sum(len(one.beam) for one in own), 1)
        found.append({**{name: report.metrics.get(name) for name in SHARED_FIGURES}, "shared": share})
    return found
