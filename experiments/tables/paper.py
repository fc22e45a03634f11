"""The figures of D's Tables 1 to 7 as printed, and which of our training sets stands for each of its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

OVERALL2, VEHICLE2, BACKGROUND2 = "mIoU, two classes", "IoU vehicle, two classes", "IoU background, two classes"
OVERALL, VEHICLE, BACKGROUND, ROAD = "mIoU", "IoU vehicle", "IoU background", "IoU road"
AP5, AP7, AP7_MANY = "AP .5, >= 1 point", "AP .7, >= 1 point", "AP .7, >= 10 points"
KAPPA5, KAPPA7 = "kappa_det .5", "kappa_det .7"

_OF_DETECTION = (AP5, AP7, AP7_MANY, KAPPA5, KAPPA7)

REAL, REAL_FEW, SIM = "real", "real, 10 %", "simulated"
TRUE_DROP, RANDOM_DROP, NO_DROP = "simulated, true drop", "simulated, random drop", "simulated, no drop"
CAD = "simulated, CAD objects"
CONTROL_BOXES, CONTROL_CAD = "control, boxes", "control, CAD"
FEW_AND_SIM, BOTH = "real, 10 % + simulated", "real + simulated"
SURFELS, IDEAL = "simulated, surfels", "simulated, ideal intensity"


@dataclass(frozen=True)
class PaperRow:
    """One row of a table of D: its name, our training set for it, what is tested on, and the figures by metric.

    Figures are None where D has no such row.
    """

    table: int
    name: str
    train: str
    figures: Mapping[str, float | None]
    test: str = REAL


def _row(table: int, name: str, train: str, metrics: tuple[str, ...], figures: tuple[float, ...]) -> PaperRow:
    return PaperRow(table, name, train, dict(zip(metrics, (round(value / 100, 4) for value in figures), strict=True)))


_TWO, _THREE = (OVERALL2, VEHICLE2, BACKGROUND2), (OVERALL, VEHICLE, BACKGROUND, ROAD)
_OVERLAPS, _COUNTS = (AP5, AP7), (AP7, AP7_MANY)
ROWS: tuple[PaperRow, ...] = (
    _row(1, "CARLA", CONTROL_CAD, _TWO, (65, 36, 94)),
    _row(1, "LiDARsim", SIM, _TWO, (89, 79, 98)),
    _row(1, "SemanticKITTI", REAL, _TWO, (90, 81, 99)),
    _row(2, "CARLA-Default", CONTROL_BOXES, _OVERLAPS, (20.0, 11.5)),
    _row(2, "CARLA-Modified", CONTROL_CAD, _OVERLAPS, (57.4, 42.2)),
    _row(2, "LiDARsim", SIM, _OVERLAPS, (84.6, 73.7)),
    _row(2, "KITTI", REAL, _OVERLAPS, (88.1, 80.0)),
    _row(3, "Real", REAL, _COUNTS, (75.2, 80.2)),
    _row(3, "GT raydrop", TRUE_DROP, _COUNTS, (72.3, 78.5)),
    _row(3, "ML raydrop", SIM, _COUNTS, (71.6, 78.6)),
    _row(3, "Random raydrop", RANDOM_DROP, _COUNTS, (69.4, 77.5)),
    _row(3, "No raydrop", NO_DROP, _COUNTS, (69.2, 77.4)),
    *(PaperRow(3, "ours", train, dict.fromkeys(_COUNTS)) for train in (SURFELS, IDEAL)),
    _row(4, "Real", REAL, _COUNTS, (75.2, 80.2)),
    _row(4, "Real-Data Objects", SIM, _COUNTS, (71.6, 78.6)),
    _row(4, "CAD Objects", CAD, _COUNTS, (65.9, 74.3)),
    _row(5, "Real10k", REAL_FEW, _THREE, (90.2, 87.0, 92.8, 90.8)),
    _row(5, "Real100k", REAL, _THREE, (96.1, 95.7, 97.0, 95.7)),
    _row(5, "Sim100k", SIM, _THREE, (91.9, 91.3, 93.5, 90.9)),
    _row(5, "Sim100k Real10k", FEW_AND_SIM, _THREE, (94.6, 93.9, 95.8, 94.0)),
    _row(5, "Sim100k Real100k", BOTH, _THREE, (96.3, 95.9, 97.1, 95.8)),
    *(PaperRow(5, "ours", train, dict.fromkeys(_THREE)) for train in (SURFELS, IDEAL)),
    _row(6, "Real 10k", REAL_FEW, _COUNTS, (60.0, 65.9)),
    _row(6, "Real 100k", REAL, _COUNTS, (75.2, 80.2)),
    _row(6, "Sim 100k", SIM, _COUNTS, (71.1, 78.1)),
    _row(6, "Real 10k + Sim100k", FEW_AND_SIM, _COUNTS, (73.5, 79.8)),
    _row(6, "Real 100k + Sim 100k", BOTH, _COUNTS, (77.6, 82.2)),
    _row(7, "Eval on Real (AP)", REAL, _OVERLAPS, (91.5, 75.2)),
    PaperRow(7, "Eval on LiDARsim (AP)", REAL, {AP5: 0.902, AP7: 0.779}, SIM),
    PaperRow(7, "Detection Agreement", REAL, {KAPPA5: 0.947, KAPPA7: 0.865}, "both"),
)


@dataclass(frozen=True)
class Claim:
    """What D says: of two training sets the ``better`` one scores higher. Declared before anything was computed."""

    table: int
    worse: str
    better: str
    metric: str

    @property
    def name(self) -> str:
        """The claim in short."""
        return f"{self.worse} < {self.better}"


def _chain(table: int, metrics: tuple[str, ...], *sets: str) -> tuple[Claim, ...]:
    return tuple(Claim(table, worse, better, metric) for metric in metrics for worse, better in pairwise(sets))


CLAIMS: tuple[Claim, ...] = (
    *_chain(1, (OVERALL2,), CONTROL_CAD, SIM),
    *_chain(2, (AP7,), CONTROL_BOXES, CONTROL_CAD, SIM),
    *_chain(3, _COUNTS, NO_DROP, RANDOM_DROP, SIM, TRUE_DROP),
    *_chain(4, _COUNTS, CAD, SIM),
    *_chain(5, (OVERALL,), REAL_FEW, FEW_AND_SIM),
    *_chain(5, (OVERALL,), REAL, BOTH),
    *_chain(6, _COUNTS, REAL_FEW, FEW_AND_SIM),
    *_chain(6, _COUNTS, REAL, BOTH),
)
SEGMENTED = (REAL, REAL_FEW, SIM, CONTROL_CAD, FEW_AND_SIM, BOTH, IDEAL, SURFELS)
DETECTED = (
    REAL, SIM, NO_DROP, RANDOM_DROP, TRUE_DROP, CAD, REAL_FEW, FEW_AND_SIM, BOTH, CONTROL_BOXES, CONTROL_CAD,
    IDEAL, SURFELS,
)  # fmt: skip


def find_task(metric: str) -> str:
    """What networks a metric is of."""
    return "detection" if metric in _OF_DETECTION else "segmentation"
