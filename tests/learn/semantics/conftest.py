"""Street corners of three classes, and settings that train in a second."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.labels import LabelSet, load_labels
from resweep.log import Log
from resweep.sweep import Sweep


def make_log(name: str, seeds: range, classes: tuple[str, ...] = ("road", "building", "pole")) -> Log:
    """Sweeps of ground, a wall and a pole at other places; ``classes`` are what they are labelled as."""
    labels = load_labels("semantickitti")
    sweeps = []
    for at, seed in enumerate(seeds):
        rng = np.random.default_rng(seed)
        ground = np.column_stack([rng.uniform(-8, 8, (900, 2)), np.zeros(900)])
        wall = np.column_stack([rng.uniform(-8, 8, 500), np.full(500, rng.uniform(3, 7)), rng.uniform(0.3, 4, 500)])
        pole = np.column_stack([rng.normal(rng.uniform(-3, 0), 0.05, (200, 2)), rng.uniform(0.3, 4, 200)])
        names = np.repeat(classes, [900, 500, 200])
        label = np.array([labels.id_of(name) for name in names])
        label[::20] = labels.unlabelled_id
        points = np.concatenate([ground, wall, pole]) - [0, 0, 1.7]
        sweeps.append(Sweep.from_points(points, label=label, intensity=rng.random(len(points)), timestamp=0.1 * at))
    return Log.from_sweeps(sweeps, name, labels=labels)


@pytest.fixture(scope="session")
def corners() -> Log:
    return make_log("corners", range(4))


@pytest.fixture(scope="session")
def others() -> Log:
    return make_log("others", range(10, 12))


@pytest.fixture(scope="session")
def roads() -> Log:
    """Corners of which everything is called a road."""
    return make_log("roads", range(2), ("road", "road", "road"))


@pytest.fixture
def vocabulary_of_fruit() -> LabelSet:
    classes = {0: {"name": "nothing", "unlabelled": True}, 1: {"name": "apple"}, 2: {"name": "pear"}}
    return LabelSet.model_validate({"name": "fruit", "classes": classes})
