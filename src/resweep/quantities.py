"""Numbers with a unit, and the bounds that users' numbers keep to; errors say why a bound is where it is.

Everything that a user can set has bounds: a number that no drive, sensor or vehicle has is a wrong unit or a damaged
file, and would otherwise overflow, loop without end or ask for more memory than there is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, Field

from resweep.bounds import MAX_POSITION_M

MAX_COORDINATE_M = MAX_POSITION_M
MAX_DURATION_S = 86_400.0
MAX_NUMBER = 1e9
MAX_COUNT = 10**9
MAX_SEED = 2**62
MAX_ROWS = 100_000
MAX_ITEMS = 10_000


@dataclass(frozen=True)
class Because:
    """Why the bounds of a field are where they are, in the metadata of its type: ``above`` and, if told, ``below``."""

    above: str
    below: str = ""


def _both(reason: str) -> Because:
    return Because(reason, reason)


def _check_cell(side: float) -> float:
    if 0.0 < side < 0.001:
        raise ValueError(f"{side:g} m: ranges have noise of millimetres; give 0 for none, or at least 0.001")
    return side


_GENERAL = Because("no length, time, rate or count of a drive is larger; check the unit")

# Any number above or from zero of which nothing else is known.
Positive = Annotated[float, Field(gt=0.0, le=MAX_NUMBER), _GENERAL]
NotNegative = Annotated[float, Field(ge=0.0, le=MAX_NUMBER), _GENERAL]
Number = Annotated[float, Field(ge=-MAX_NUMBER, le=MAX_NUMBER), _GENERAL]
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=1, le=MAX_COUNT), _GENERAL]
# Seeds of parts of the work are counted up from that of the whole, and have 64 bits.
Seed = Annotated[int, Field(ge=0, le=MAX_SEED), Because("seeds have 62 bits")]
# Tables of labels have a row for each id up to the largest.
LabelId = Annotated[int, Field(ge=0, lt=2**24), Because("label ids have 24 bits")]

Coordinate = Annotated[
    float,
    Field(ge=-MAX_COORDINATE_M, le=MAX_COORDINATE_M),
    _both("national grids with the zone before the easting reach 46,000 km, and no place is farther; check the unit"),
]
# Where a part sits on its vehicle.
Mount = Annotated[float, Field(ge=-100.0, le=100.0), _both("no part is farther from its vehicle than 100 m")]
BodyLength = Annotated[
    float,
    Field(ge=0.001, le=100.0),
    _both("vehicles and objects of traffic are between a millimetre and 100 m long; check the unit"),
]
ObjectLength = Annotated[
    float,
    Field(ge=0.001, le=1000.0),
    _both("objects are between a millimetre and a kilometre long; check the unit"),
]
# Side of cells and voxels, reach of neighbourhoods: smaller ones would be as many as memory has bytes.
CellSize = Annotated[
    float,
    Field(ge=0.001, le=1000.0),
    _both("ranges have noise of millimetres, and cells are at most a kilometre wide"),
]
CellSizeOrNone = Annotated[
    float,
    Field(ge=0.0, le=1000.0),
    AfterValidator(_check_cell),
    _both("ranges have noise of millimetres, and cells are at most a kilometre wide"),
]
Height = Annotated[float, Field(ge=-1000.0, le=1000.0), _both("of heights above the ground, 1000 m is the largest")]

Moment = Annotated[
    float, Field(ge=0.0, le=MAX_DURATION_S), Because("a drive lasts a day at most, 86 400 s; give seconds")
]
Duration = Annotated[
    float, Field(gt=0.0, le=MAX_DURATION_S), Because("a drive lasts a day at most, 86 400 s; give seconds")
]
TimeShift = Annotated[
    float, Field(ge=-MAX_DURATION_S, le=MAX_DURATION_S), _both("a drive lasts a day at most, 86 400 s; give seconds")
]
Speed = Annotated[
    float,
    Field(ge=0.001, le=340.0),
    Because("nothing on the ground is faster than sound, 340 m/s", "what moves has a speed"),
]
SpeedOrStill = Annotated[float, Field(ge=0.0, le=340.0), Because("nothing on the ground is faster than sound, 340 m/s")]
Acceleration = Annotated[
    float, Field(ge=0.001, le=1000.0), _both("vehicles accelerate by 0.001 to 1000 m/s², and no slower or faster")
]
Rate = Annotated[float, Field(ge=0.001, le=10_000.0), _both("rates are between 0.001 and 10 000 a second; give hertz")]
# Turns a second of mirrors, prisms and heads; negative ones turn the other way.
TurnRate = Annotated[float, Field(ge=-10_000.0, le=10_000.0), _both("nothing turns 10 000 times a second")]
PulseRate = Annotated[float, Field(ge=1.0, le=1e8), _both("lasers fire between 1 and 100 million pulses a second")]
Angle = Annotated[float, Field(ge=-720.0, le=720.0), _both("two turns are 720°; give degrees")]
Sigma = Annotated[float, Field(ge=0.0, le=1000.0), Because("a sensor that errs by more than 1000 says nothing")]
Radians = Annotated[float, Field(gt=0.0, le=100.0), Because("angles and their rates are radians, 100 at most")]
