"""What is computed of one split: networks trained on each set of sweeps, and what they score on other places."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from experiments.kept_results import Figures
from experiments.tables import paper
from experiments.tables.learners import Detecting, Segmenting
from experiments.tables.scenes import Scenes
from experiments.tables.sizes import Split
from resweep.perception.segmentation.sweep_images import find_geometry

_ROWS = 64


class Work(ABC):
    """The networks of one task and split; sweeps are read once, and kept in memory."""

    fields: tuple[str, ...]

    def __init__(self, scenes: Scenes, split: Split) -> None:
        self.scenes, self.split = scenes, split
        self._samples: dict[tuple[str, str], Any] = {}

    @abstractmethod
    def score(self, train: str, seed: int) -> Figures:
        """What a network that is trained on a set scores on each test place."""

    @abstractmethod
    def _read(self, source: str, place: str) -> Any:
        """The samples of a place."""

    def _gather(self, train: str) -> list[Any]:
        """The samples of a training set."""
        sources = self.scenes.list_sources(self.split, train)
        return [sample for source, place in sources for sample in self._take(source, place)]

    def _take(self, source: str, place: str) -> Any:
        if (source, place) not in self._samples:
            self._samples[source, place] = self._read(source, place)
        return self._samples[source, place]


class Segmentation(Work):
    """Segmenters: counts of classes by test place."""

    fields = ("pairs",)
    _own: Segmenting | None = None

    def score(self, train: str, seed: int) -> Figures:
        """Counts of classes by test place."""
        network = self._learner.train(self._gather(train), seed)
        return {
            "pairs": {place: self._learner.test(network, self._take(paper.REAL, place)) for place in self.split.test}
        }

    @property
    def _learner(self) -> Segmenting:
        if self._own is None:
            effort, first = self.scenes.size.effort, self.scenes.record(self.split.train[0])[0]
            self._own = Segmenting(find_geometry(first, _ROWS, effort.columns), effort)
        return self._own

    def _read(self, source: str, place: str) -> Any:
        return self._learner.read(self.scenes.load(self.split, source, place))


class Detection(Work):
    """Detectors: matches by rule and test place; those of recorded sweeps also read simulated ones (Table 7)."""

    fields = (paper.REAL, paper.SIM)

    def __init__(self, scenes: Scenes, split: Split) -> None:
        super().__init__(scenes, split)
        self._learner = Detecting(scenes.size.effort)

    def score(self, train: str, seed: int) -> Figures:
        """Matches by rule and test place, on recorded and on simulated sweeps."""
        network = self._learner.train(self._gather(train), seed)
        found: Figures = {paper.REAL: {}, paper.SIM: {}}
        for side in (paper.REAL, paper.SIM) if train == paper.REAL else (paper.REAL,):
            for place in self.split.test:
                truth = self._take(paper.REAL, place)
                for metric, frames in self._learner.test(network, self._take(side, place), truth).items():
                    found[side].setdefault(metric, {})[place] = frames
        return found

    def _read(self, source: str, place: str) -> Any:
        return self._learner.read(self.scenes.load(self.split, source, place))


WORKS: dict[str, type[Segmentation] | type[Detection]] = {"segmentation": Segmentation, "detection": Detection}
