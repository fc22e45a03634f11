"""The two sizes of the tables: a synthetic city, where intervals are narrow, and the small recordings at hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import resweep as rs
from experiments.c_places import DATA
from experiments.tables.city_sensor import record_place
from experiments.tables.learners import Effort
from resweep.perception.detection.truth import find_truth

CITY, RECORDINGS = "synthetic city", "SemanticKITTI"
UNCOUNTED = "other vehicle"  # what a box is called that nobody cares about: a detection of it is no mistake


@dataclass(frozen=True)
class Split:
    """Places that networks are trained on, those of the tenth of them, and those that they are tested on."""

    name: str
    train: tuple[str, ...]
    few: tuple[str, ...]
    test: tuple[str, ...]


@dataclass(frozen=True)
class Size:
    """A kind of places: how a place is recorded, how it is split, and how networks are trained on it."""

    name: str
    splits: tuple[Split, ...]
    seeds: tuple[int, ...]
    effort: Effort
    record: Callable[[str], rs.Log]
    world: Literal["splats", "surfels", "hybrid"] = "hybrid"

    @property
    def places(self) -> tuple[str, ...]:
        """All places, each once."""
        return tuple(dict.fromkeys(place for split in self.splits for place in (*split.train, *split.test)))


def sizes(fast: bool) -> list[Size]:
    """What is at hand; with ``fast`` a small city alone, whose figures mean nothing.

    The steps of the city were chosen by networks of recorded sweeps alone, tested on streets 100 to 107.
    """
    if fast:
        split = Split("city", _name(0, 3), _name(0, 1), _name(100, 2))
        return [Size(CITY, (split,), (0,), Effort(4, 4, 128, 25.6, 4), lambda place: _record_city(place, 4, 128))]
    split = Split("city", _name(0, 12), _name(0, 1), _name(200, 8))
    effort = Effort(segmenter_steps=500, detector_steps=500, columns=400, reach_m=32.0)
    found = [Size(CITY, (split,), (0, 1, 2), effort, lambda place: _record_city(place, 8, 400))]
    folder = DATA / "semantickitti_mini" / "sequences"
    if folder.is_dir():
        numbers = ("00", "03", "04", "05", "06")  # the empty beams of 02 are unknown
        tested = (("05",), ("04", "06"), ("00", "03"))
        splits = []
        for test in tested:
            train = tuple(number for number in numbers if number not in test)
            splits.append(Split("without " + " and ".join(test), train, train[:1], test))
        slow = Effort(segmenter_steps=300, detector_steps=400, columns=1024, reach_m=32.0)
        found.append(Size(RECORDINGS, tuple(splits), (0,), slow, _record_kitti))
    return found


def _name(first: int, count: int) -> tuple[str, ...]:
    return tuple(f"{number:03d}" for number in range(first, first + count))


def _record_city(place: str, sweeps: int, columns: int) -> rs.Log:
    return record_place(int(place), sweeps, columns)


def _record_kitti(number: str) -> rs.Log:
    """A sequence with boxes around its labelled instances; those that are unsure are of no class that counts."""
    log = rs.open_log(DATA / "semantickitti_mini" / "sequences" / number)
    sweeps = []
    for sweep, truth in zip(log, find_truth(log, show=False), strict=True):
        names = [name if sure else UNCOUNTED for name, sure in zip(truth.boxes.name, truth.counted, strict=True)]
        sweeps.append(replace(sweep, boxes=replace(truth.boxes, name=tuple(names))))
    facts = {
        name: getattr(log, name)
        for name in ("labels", "sensor", "sensor_name", "empty_beams", "intensity_scale", "poses_known", "times_known")
    }
    return rs.Log.from_sweeps(sweeps, log.name, **facts)
