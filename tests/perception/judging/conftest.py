"""A street of known truth, a drive through it, and models that are simple rules."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from resweep.boxes import Boxes
from resweep.labels import LabelSet, list_broader_categories
from resweep.log import Log
from resweep.perception.models import UNKNOWN, Detections
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes import SCENE_LABELS, Label, box, car, ground_plane, merged, wall
from resweep.sensors import load_sensor
from resweep.simulate import Simulator
from resweep.sweep import Sweep
from resweep.worlds import World


class RuleModel:
    """Low returns are ground, bright ones are things, others are dark things; features are height and intensity."""

    classes = ("ground", "bright", "dark")

    def __init__(self, level_m: float = -1.5, bright: float = 0.3) -> None:
        self.level_m, self.bright = level_m, bright

    def segment(self, sweep: Sweep) -> Array:
        """0, 1 or 2."""
        high = sweep.points[:, 2] > self.level_m
        return np.where(high, np.where(sweep.intensity > self.bright, 1, 2), 0).astype(np.uint8)

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        """Ground is ground, vegetation counts as bright, buildings as dark."""
        found = np.full(len(label), UNKNOWN, np.uint8)
        for number in np.unique(label).tolist():
            kinds = list_broader_categories(labels.category(number))
            for at, name in enumerate(("ground", "vegetation", "building")):
                if name in kinds:
                    found[label == number] = at
        return found

    def embed(self, sweep: Sweep) -> Array:
        """Rows of height and intensity."""
        return np.column_stack([sweep.points[:, 2], sweep.intensity]).astype(np.float32)


@pytest.fixture
def model() -> RuleModel:
    return RuleModel()


@pytest.fixture(scope="session")
def street() -> World:
    """A road between façades and hedges, with parked cars."""
    parts = [ground_plane((200.0, 200.0), label=Label.ROAD, reflectance=0.2)]
    for side in (-1.0, 1.0):
        parts.append(wall((-40.0, 9.0 * side), (40.0, 9.0 * side), 8.0, label=Label.BUILDING, reflectance=0.25))
        parts += [
            box((8.0, 1.0, 1.6), (x, 6.0 * side, 0.0), label=Label.VEGETATION, reflectance=0.5) for x in (-15.0, 12.0)
        ]
    parts += [car((x, 3.5, 0.0), instance=at + 1) for at, x in enumerate((-8.0, 6.0))]
    return World([merged(parts, "street")], labels=SCENE_LABELS)


@pytest.fixture(scope="session")
def drive(street: World) -> Log:
    """Three sweeps of 16 lasers through the street, without noise."""
    sensor = load_sensor("velodyne-vlp-16").with_(
        **{"beam.rays": "single", "receiver.range_noise_sigma_m": 0.0, "rotation_rate_hz": 20.0}
    )
    poses = np.stack([from_xyz_rpy(x, 0.0, 1.8) for x in (0.0, 1.0, 2.0)])
    log = Simulator(street, sensor, seed=1).run(poses)
    return log.with_sweeps(list(log))


class TrueCarModel:
    """Finds the cars of the street where they are, surer of those with more returns; it misses those with few."""

    classes = ("car",)

    def __init__(self, at: tuple[tuple[float, float], ...] = ((-8.0, 3.5), (6.0, 3.5)), full: int = 400) -> None:
        self.at, self.full = at, full

    def detect(self, sweep: Sweep) -> Detections:
        """Boxes at the known places."""
        centre = np.array([(x, y, 0.75) for x, y in self.at]) - sweep.pose[:3, 3]
        boxes = Boxes(centre, np.tile([4.3, 1.8, 1.5], (len(centre), 1)), np.zeros(len(centre)), ["car"] * len(centre))
        raised = replace(boxes, centre=boxes.centre + np.array([0.0, 0.0, 0.25]))  # above the road
        count = raised.count_points(sweep.deskewed(), 0.1)
        rows = np.flatnonzero(count > 5)
        return Detections(boxes[rows], np.minimum(count[rows] / self.full, 1.0))
