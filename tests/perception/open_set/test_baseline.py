"""The open-set baseline: what a closed model is unsure of becomes instances of unknown objects."""

from __future__ import annotations

import numpy as np
import pytest

from resweep.errors import InputError, ResweepError
from resweep.labels import LabelSet
from resweep.perception.models import UNKNOWN
from resweep.perception.open_set import OpenSetBaseline, OpenSetConfig, Segments, fit_baseline
from resweep.perception.open_set.unknown_scores import ClassDistance, find_doubt, find_energy
from resweep.pose import Array
from resweep.sweep import Sweep

MEASURES = ("energy", "softmax", "distance")
ROAD, VEHICLE, STRANGE = range(3)


class Oracle:
    """Reads the answer off the intensity: road, vehicle, or what it is unsure of."""

    classes = ("vehicle", "road", "vegetation")

    def score(self, sweep: Sweep) -> Array:
        rows = np.array([[0.0, 9.0, 0.0], [9.0, 0.0, 0.0], [1.0, 1.2, 1.1]], np.float32)
        noise = np.random.default_rng(len(sweep)).normal(0, 0.1, (len(sweep), 3))
        return (rows[sweep.intensity.astype(int)] + noise).astype(np.float32)

    def segment(self, sweep: Sweep) -> Array:
        return self.score(sweep).argmax(axis=1).astype(np.uint8)

    def find_truth(self, label: Array, labels: LabelSet) -> Array:
        return np.full(len(label), UNKNOWN, np.uint8)


def make_block(rng: np.random.Generator, x: float, y: float, size: float, kind: int, count: int = 200) -> Array:
    """Returns (n, 4) from a cube on the ground, with the answer that they get."""
    place = rng.uniform(-0.5, 0.5, (count, 3)) * size + [x, y, 0.5 * size - 1.7]
    return np.column_stack([place, np.full(count, kind)])


def make_sweep(*blocks: Array) -> Sweep:
    rng = np.random.default_rng(0)
    ground = np.column_stack([rng.uniform(-20, 20, (4000, 2)), np.full(4000, -1.7), np.full(4000, ROAD)])
    rows = np.concatenate([ground, *blocks])
    return Sweep.from_points(rows[:, :3], intensity=rows[:, 3])


@pytest.fixture(scope="module")
def known() -> Sweep:
    rng = np.random.default_rng(1)
    return make_sweep(make_block(rng, 8, 3, 1.5, VEHICLE), make_block(rng, 8, -6, 1.5, VEHICLE))


@pytest.fixture(scope="module", params=MEASURES)
def baseline(known: Sweep, request: pytest.FixtureRequest) -> OpenSetBaseline:
    return fit_baseline(Oracle(), [known], OpenSetConfig(measure=request.param))


def list_objects(found: Segments) -> list[tuple[int, int]]:
    """Class and number of returns of each instance."""
    numbers = np.unique(found.instance[found.instance > 0])
    return sorted((int(found.kind[found.instance == at][0]), int((found.instance == at).sum())) for at in numbers)


def test_unknown_objects_are_told_apart(baseline: OpenSetBaseline) -> None:
    """Two strange blocks and a vehicle: three instances, of nearly all the returns above ground."""
    rng = np.random.default_rng(2)
    blocks = [make_block(rng, x, y, 1.5, kind) for x, y, kind in ((6, 0, STRANGE), (6, 5, STRANGE), (-8, 0, VEHICLE))]
    found = baseline.find_segments(make_sweep(*blocks))
    assert baseline.classes[-1] == "unknown"
    objects = list_objects(found)
    assert [kind for kind, _ in objects] == [0, 3, 3]
    assert all(count > 160 for _, count in objects)
    assert (found.kind[:4000] == 1).all()
    assert not found.instance[:4000].any()


def test_what_is_known_stays_known(baseline: OpenSetBaseline, known: Sweep) -> None:
    assert [kind for kind, _ in list_objects(baseline.find_segments(known))] == [0, 0]


def test_the_threshold_is_the_quantile_of_what_is_known(known: Sweep) -> None:
    made = fit_baseline(Oracle(), [known], OpenSetConfig(quantile=0.9))
    energy = find_energy(Oracle().score(known))
    above = known.points[:, 2] > -1.7 + 0.15
    assert np.mean(energy[above] > made.threshold) == pytest.approx(0.1, abs=0.01)


def test_walls_are_no_objects(baseline: OpenSetBaseline) -> None:
    rng = np.random.default_rng(3)
    wall = np.concatenate([make_block(rng, 9, y, 1.5, STRANGE) for y in np.arange(-10, 10, 1.2)])
    assert list_objects(baseline.find_segments(make_sweep(wall))) == []


def test_measures() -> None:
    scores = np.array([[0.0, 0.0], [10.0, 0.0], [-3.0, -3.0]])
    assert find_energy(scores) == pytest.approx([-np.log(2), -np.logaddexp(10, 0), 3 - np.log(2)])
    assert find_doubt(scores) == pytest.approx([0.5, 1 / (1 + np.exp(10)), 0.5])
    rng = np.random.default_rng(0)
    given = np.concatenate([rng.normal([5, 0], 0.5, (500, 2)), rng.normal([0, 5], 0.5, (500, 2))])
    far = ClassDistance.fit(given, given.argmax(axis=1))(np.array([[5.0, 0.0], [5.0, 1.5], [2.5, 2.5]]))
    assert far == pytest.approx([0.0, 3.0, 5 * np.sqrt(2)], abs=0.35)


def test_bad_input(known: Sweep) -> None:
    with pytest.raises(InputError, match="none of the ground classes floor, but vehicle, road, vegetation"):
        fit_baseline(Oracle(), [known], OpenSetConfig(ground=("floor",)))
    with pytest.raises(InputError, match="no return above ground"):
        fit_baseline(Oracle(), [make_sweep()])
    with pytest.raises(ResweepError, match="measure"):
        OpenSetConfig(measure="entropy")
