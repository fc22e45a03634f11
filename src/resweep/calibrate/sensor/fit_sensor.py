"""Figures of the sensor that recorded a log, each with its uncertainty or the reason why the log does not show it.

Truth is what other beams saw. A log whose poses are known is calibrated first, so that its sweeps make one map; of a
log without poses one sweep stands alone. Where the sensor should have hit a flat surface, its beams show range noise,
biases and gains of lasers, and how often a signal is detected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep import portable
from resweep.calibrate.calibrate import CalibrationResult, calibrate
from resweep.calibrate.config import CalibrateConfig
from resweep.calibrate.sensor.detection import NAME as DETECTION
from resweep.calibrate.sensor.detection import fit_detection
from resweep.calibrate.sensor.laser_errors import BIAS, GAIN, fit_bias, fit_gain
from resweep.calibrate.sensor.quantity import Quantity
from resweep.calibrate.sensor.range_noise import NAMES as NOISES
from resweep.calibrate.sensor.range_noise import fit_noise
from resweep.calibrate.sensor.surfaces import Expected, expect_returns, no_returns
from resweep.calibrate.sensor.two_returns import RANGE_MIN, SEPARATION, fit_range_min, fit_returns, pair_returns
from resweep.errors import ResweepError
from resweep.io import open_log
from resweep.labels import LabelSet
from resweep.log import Log
from resweep.pose import Array
from resweep.progress import open_progress
from resweep.sensors import Detection, Lasers, Sensor
from resweep.sensors.infer.inferred_drive import prepare_drive
from resweep.sensors.infer.spec_fit import SpecFit, fit_log
from resweep.sweep import Sweep

# Chosen by hand where a line names no source.
_SWEEPS = 10  # that take part, in a row
_POINTS, _SAMPLES, _ITERATIONS = 30_000, 40_000, 5  # of the calibration
_SHARED_TILT_RAD, _SHARED_RANGE_M = 0.0005, 0.0005  # expected of all lasers together; chosen by hand
_NO_SLOPE = 1e-7  # a laser's bias is one figure, whatever the range
_DIGITS = 5  # of what is written
_METRE_DIGITS = 3  # of ranges that are read off edges, which are centimetres wide
_SIGNAL_DIGITS, _CHANCE_DIGITS = 6, 4  # of the rows of a curve
_REFERENCE_M = 10.0  # as `Detection.reference_m`
_STILL_M = 0.1  # sweeps whose positions differ less stand still


@dataclass(frozen=True, eq=False)
class SensorFigures:
    """What a log shows of its sensor: ``quantities`` by name, ``sweeps`` that took part, ``expected`` hits of beams."""

    quantities: dict[str, Quantity]
    sweeps: int
    basis: str
    expected: Expected

    def __getitem__(self, name: str) -> Quantity:
        return self.quantities[name]

    def describe(self) -> list[str]:
        """A line a figure."""
        return [f"{name}: {each.describe()} ({each.note})" for name, each in self.quantities.items()]

    def to_dict(self) -> dict[str, Any]:
        """For JSON: each figure with its uncertainty, or why it is unknown."""
        return {
            "sweeps": self.sweeps,
            "basis": self.basis,
            **{name: each.to_dict() for name, each in self.quantities.items()},
        }

    def applied(self, sensor: Sensor) -> Sensor:
        """The sensor with the figures that are known; the others stay as they are."""
        changes: dict[str, Any] = {}
        for name in NOISES:
            if self[name].known:
                changes[f"receiver.{name}"] = round(self[name].value, _DIGITS)
        if self[RANGE_MIN].known:
            changes["range_min_m"] = max(0.0, round(self[RANGE_MIN].value, _METRE_DIGITS))
        curve, bias, gain = self[DETECTION], self[BIAS], self[GAIN]
        if curve.known:
            changes["receiver.detection"] = _make_curve(curve, _find_reference(sensor))
        lists = {
            "range_bias_m": _fit_rings(bias, sensor.n_channels),
            "intensity_gain": _fit_rings(gain, sensor.n_channels),
        }
        if any(values is not None for values in lists.values()):
            changes["lasers"] = Lasers(**lists)
        returns = self["returns"].value
        if returns is not None and returns > 1:
            if sensor.receiver.max_returns != returns:
                changes |= {"receiver.mode": "multiple", "receiver.max_returns": int(returns)}
            if self[SEPARATION].known:
                changes["receiver.return_separation_m"] = round(self[SEPARATION].value, _METRE_DIGITS)
        if not changes:
            return sensor
        fitted = ", ".join(sorted(changes))
        description = f"{sensor.description} Fitted to {self.basis}, as far as it shows them: {fitted}.".strip()
        return sensor.with_(description=description, **changes)


@dataclass(frozen=True, eq=False)
class SensorFit:
    """A sensor fitted to a log: its spec, how its beams leave (``pattern``), and the figures that its returns show."""

    sensor: Sensor
    pattern: SpecFit
    figures: SensorFigures


def fit_sensor(log: Log | str | Path, name: str | None = None, *, progress: bool = True) -> SensorFit:
    """The sensor that recorded ``log``: its firing pattern, reach, noise, lasers, detection and second returns.

    What the log cannot tell, such as the divergence of beams, is that of the nearest sensor of the catalog. The pattern
    is fitted to what was measured: of a path, beams without return are left out for it, those of a `Log` stay as it
    was opened. ``name`` is that of the sensor; else the log's.

    Example: ``rs.fit_sensor("drive.bag").sensor.to_yaml()``
    """
    measured = log if isinstance(log, Log) else open_log(log, empty_beams=False)
    with open_progress(progress) as shown:
        shown.start(f"fitting a sensor to {measured.name or 'the log'}")
        pattern = fit_log(measured, name or measured.name or "fitted")
        shown.start("fitting noise, lasers and detection")
        figures = fit_figures(log if isinstance(log, Log) else open_log(log), pattern.sensor)
    return SensorFit(figures.applied(pattern.sensor), pattern, figures)


def fit_figures(log: Log, sensor: Sensor, sweeps: int = _SWEEPS) -> SensorFigures:
    """Figures of the sensor that recorded ``log``, from at most ``sweeps`` sweeps in the middle of it.

    ``sensor`` has what is known already, such as how ranges are rounded (`resweep.sensors.infer.spec_fit`). Open the
    log with its beams without return, where they are known or can be inferred. It is prepared (`prepare_drive`).
    """
    if len(log) == 0:
        raise ResweepError("fit: the log has no sweeps; give one that has")
    part, basis = _choose(prepare_drive(log), sweeps)
    if part.sensor_position_known:
        done = calibrate(part, _config(), _keep(log.labels))
        expected = expect_returns(done.log, sensor.range_max_m)
        found = _fit_surfaces(part, sensor, done, expected)
    else:
        expected, basis = no_returns(), f"{basis}; the log does not say where its sensor was"
        found = [Quantity(name, "", note="where beams begin is unknown") for name in (*NOISES, BIAS, GAIN, DETECTION)]
    found += _fit_returns([part[at] for at in range(len(part))])
    return SensorFigures({each.name: each for each in found}, len(part), basis, expected)


def _fit_surfaces(part: Log, sensor: Sensor, done: CalibrationResult, expected: Expected) -> list[Quantity]:
    """What needs surfaces that beams should have hit."""
    falls = sensor.receiver.intensity_falloff == "range-squared"
    return [
        *fit_noise(expected, sensor.receiver.range_quantisation_m),
        fit_bias(expected, done.calibration),
        fit_gain(expected, done.calibration),
        fit_detection(expected, part, falls, _find_reference(sensor)),
    ]


def _fit_returns(raw: Sequence[Sweep]) -> list[Quantity]:
    """What returns show by themselves."""
    paired = [pair_returns(sweep) for sweep in raw]
    max_returns = max(int(sweep.return_index.max(initial=0)) + 1 for sweep in paired)
    count = Quantity("returns", "", max_returns, 0, "most returns of one beam")
    return [fit_range_min(raw), *fit_returns(paired), count]


def _choose(log: Log, sweeps: int) -> tuple[Log, str]:
    """The sweeps that take part, and what they are, for people."""
    middle = len(log) // 2
    if not log.poses_known and len(log) > 1:
        return log[middle : middle + 1], "one sweep alone: the log has no poses"
    first = max(0, min(middle - sweeps // 2, len(log) - sweeps))
    part = log[first : first + sweeps]
    moved = float(portable.norm(np.ptp(part.poses[:, :3, 3], axis=0)))
    where = "sensor at rest: range biases look like distances" if moved < _STILL_M else f"over {moved:.1f} m"
    return part, f"{len(part)} sweeps, {where}"


def _config() -> CalibrateConfig:
    # A few sweeps hardly constrain what all lasers share. Left free, it would bend the map and pass into single lasers.
    return CalibrateConfig(
        points_per_sweep=_POINTS,
        samples=_SAMPLES,
        iterations=_ITERATIONS,
        elevation_bias_prior_rad=_SHARED_TILT_RAD,
        range_bias_prior_m=_SHARED_RANGE_M,
        range_slope_prior=_NO_SLOPE,
    )


def _keep(labels: LabelSet) -> Any:
    """What takes part in the calibration: all returns but those that are labelled as moving."""
    moving = np.array(labels.moving, np.int64)

    def keep(sweep: Sweep) -> Array:
        return ~np.isin(sweep.label, moving)

    return keep


def _find_reference(sensor: Sensor) -> float:
    return _REFERENCE_M if sensor.receiver.detection is None else sensor.receiver.detection.reference_m


def _make_curve(curve: Quantity, reference_m: float) -> Detection:
    assert curve.at is not None
    signal, chance = np.round(curve.at, _SIGNAL_DIGITS), np.round(curve.value, _CHANCE_DIGITS)
    rows = np.flatnonzero(np.diff(signal, prepend=-1.0) > 0)
    signal, chance = signal[rows], chance[rows]
    if signal[0] > 0:  # what sends no light back is not detected
        signal, chance = np.append(0.0, signal), np.append(0.0, chance)
    return Detection(signal=tuple(map(float, signal)), probability=tuple(map(float, chance)), reference_m=reference_m)


def _fit_rings(lasers: Quantity, count: int) -> tuple[float, ...] | None:
    """The values of lasers for a sensor of ``count`` rings, None if they are unknown or of another number."""
    if not lasers.known or len(lasers.value) != count:
        return None
    return tuple(float(value) for value in lasers.value)
