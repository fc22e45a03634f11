"""The calibration of one sensor beyond its data sheet: errors and gains of its lasers, and the detection curve.

A sensor without these fields has equal, exact lasers, and detects whatever reaches its threshold.
"""

from __future__ import annotations

import itertools
from typing import Annotated

from pydantic import Field, model_validator

from resweep.config import NotNegative, Positive, Spec
from resweep.errors import SettingsError
from resweep.quantities import MAX_ITEMS

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
_Bias = Annotated[float, Field(ge=-1.0, le=1.0)]
_Gain = Annotated[float, Field(gt=0.0, le=100.0)]
_MAX_RINGS = 65_536  # which are numbered in 16 bits


class Lasers(Spec):
    """How lasers differ from each other, one value for each ring, from the lowest up; a list left out means equal.

    A ring reports a range of ``range_bias_m`` too much, before it is rounded, and ``intensity_gain`` times the
    intensity of the surface. Gains do not change what is detected.
    """

    range_bias_m: Annotated[tuple[_Bias, ...], Field(max_length=_MAX_RINGS)] | None = None
    """Range that each ring adds to what it measures, metres, one for each ring, lowest first."""
    intensity_gain: Annotated[tuple[_Gain, ...], Field(max_length=_MAX_RINGS)] | None = None
    """Intensity that each ring reports where others report 1, one for each ring, lowest first."""

    def check_rings(self, count: int) -> None:
        """Raise a `SettingsError` unless there is one value for each of ``count`` rings."""
        for name in ("range_bias_m", "intensity_gain"):
            values = getattr(self, name)
            if values is not None and len(values) != count:
                raise SettingsError(f"lasers.{name}", f"{len(values)} values for {count} rings; give one for each ring")


class Detection(Spec):
    """The detection curve: with which chance an echo is detected, by its signal.

    The signal of an echo is its relative intensity times (``reference_m``/range)²; of a sensor whose reported intensity
    falls with the square of the range it is that intensity. Between two rows the curve is a line, beyond them it is
    constant. One number is drawn for each pulse. An echo that is not detected is lost, and the next one counts.
    """

    signal: Annotated[tuple[NotNegative, ...], Field(min_length=2, max_length=MAX_ITEMS)]
    """Signals at which the curve is given, rising."""
    probability: Annotated[tuple[Probability, ...], Field(min_length=2, max_length=MAX_ITEMS)]
    """Chance of detection at each of them, 0 to 1, not falling."""
    reference_m: Positive = 10.0
    """Range at which the signal is the relative intensity, metres."""

    @model_validator(mode="after")
    def _check(self) -> Detection:
        if len(self.signal) != len(self.probability):
            raise SettingsError(
                "probability", f"{len(self.probability)} values for {len(self.signal)} signals; give one for each"
            )
        if any(after <= before for before, after in itertools.pairwise(self.signal)):
            raise SettingsError("signal", "must rise from each value to the next; sort them, and leave out equal ones")
        if any(after < before for before, after in itertools.pairwise(self.probability)):
            raise SettingsError("probability", "must not fall: stronger signals are not detected less often")
        return self
