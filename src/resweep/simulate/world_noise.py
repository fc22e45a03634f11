"""Sweeps that scatter as a recording did: intensities, ranges and lost beams drawn from a world's calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from resweep import _core
from resweep.calibration import Calibration
from resweep.pose import Array
from resweep.sensor_scatter import (
    NORMALS,
    DropTable,
    IntensityScatter,
    RangeNoise,
    SensorScatter,
    find_bins,
    find_incidence,
    split_beyond,
)
from resweep.sensors import Sensor
from resweep.simulate.beam_channels import VOLUMES
from resweep.simulate.noise import add_noise
from resweep.simulate.ring_order import order_along_rings
from resweep.sweep import BeamStatus, Sweep

_RAY = 1  # ray 0 of a beam has the sensor's own noise
_NORMAL_STEP = float(NORMALS[1] - NORMALS[0])
_BLOCK = 1 << 16  # returns whose distributions are held at once
_RETURN_SHIFT = 26  # bits of the number of a beam; further returns of it have numbers of their own


class WorldNoise:
    """How the sensor of a world's recording scatters, ready to be drawn."""

    def __init__(self, scatter: SensorScatter) -> None:
        self.scatter = scatter
        self._intensity = None if scatter.intensity is None else IntensityDraw(scatter.intensity)

    @classmethod
    def of(cls, calibration: Calibration | None) -> WorldNoise | None:
        """That of a world with this calibration; None if it is unknown."""
        return None if calibration is None or calibration.scatter is None else cls(calibration.scatter)

    def add_to_recorded(
        self,
        sweep: Sweep,
        find_gain: Callable[[Array], Array],
        *,
        seed: int,
        index: int,
        only_intensity: bool,
        own: bool,
    ) -> Sweep:
        """A sweep of recorded beams as their sensor would have measured it; ``find_gain`` gives the gain of rings (n,).

        With ``only_intensity`` a learned model has changed the rest, with ``own`` the ranges have noise already.
        """
        if self.scatter.drops is not None and not only_intensity:
            sweep = lose_beams(sweep, self.scatter.drops, seed=seed, index=index)
        gain = find_gain(sweep.ring)
        if self._intensity is None:
            sweep = replace(sweep, intensity=sweep.intensity * gain)
        else:
            sweep = self._intensity.scatter(sweep, gain, seed=seed, index=index)
        if self.scatter.range is None or only_intensity or own:
            return sweep
        return scatter_range(sweep, self.scatter.range, seed=seed, index=index)

    def add_to_other(self, sweep: Sweep, sensor: Sensor, *, seed: int, index: int) -> Sweep:
        """A sweep of another sensor with intensities that scatter as the surfaces do, unless its spec says how."""
        if self._intensity is None or sensor.receiver.intensity_noise_sigma > 0.0:
            return sweep
        return self._intensity.scatter(sweep, seed=seed, index=index)


class IntensityDraw:
    """The tables of intensities as arrays: tables of fewer knots than the longest repeat their last one."""

    def __init__(self, scatter: IntensityScatter) -> None:
        self._of = scatter
        most = max(len(table.expected) for table in scatter.tables)
        self._last = np.array([len(table.expected) - 1 for table in scatter.tables])
        self._knots, self._curves = np.zeros((len(self._last), most)), np.zeros((len(self._last), most, len(NORMALS)))
        for knots, curves, table in zip(self._knots, self._curves, scatter.tables, strict=True):
            count = len(table.expected)
            knots[:count], knots[count:] = table.expected, table.expected[-1]
            curves[:count] = table.find_curves()
            curves[count:] = curves[count - 1]
        self._table_of, self._response = np.array(scatter.table_of), np.array(scatter.response)
        self._shift, self._spread = np.array(scatter.shift), np.array(scatter.spread)

    def scatter(self, sweep: Sweep, gain: Array | None = None, *, seed: int, index: int) -> Sweep:
        """The sweep with intensities drawn about its own, which are expected ones without the gains of lasers.

        With their ``gain`` (n,) its lasers are those of the recording, each with its own response; without, they are
        those of another sensor, of which only the scatter of surfaces is known.
        """
        if len(sweep) == 0:
            return sweep
        of = self._of
        kind = of.find_kinds(sweep.label, _find_surfaces(sweep))
        far = find_bins(sweep.range, of.range_edges_m)
        expected, normal = sweep.intensity.astype(np.float64), _draw_normals(sweep, seed, index)
        if gain is not None and of.response:
            ring = sweep.ring.astype(np.int64)
            known = ring < len(of.response)
            ring = np.where(known, ring, 0)
            expected = expected * np.where(known, self._response[ring, far], 1.0)
            normal = _remember(sweep, normal, of.next_weight)
            own = self._shift[kind, ring, far] + self._spread[kind, ring, far] * normal
            normal = np.where(known, own, normal)
        drawn = self._read(self._table_of[kind, far], expected, normal)
        if gain is not None:
            drawn = drawn * gain
        if of.step:
            drawn = np.round(drawn / of.step) * of.step
        if of.ceiling:
            drawn = np.minimum(drawn, of.ceiling)
        return replace(sweep, intensity=drawn.astype(np.float32))

    def find_normals(self, kind: Array, range_bin: Array, expected: Array, recorded: Array) -> Array:
        """Which normal numbers (n,) give the ``recorded`` intensities (n,), without gains: what `scatter` inverts."""
        found = np.empty(len(recorded))
        for part in (slice(begin, begin + _BLOCK) for begin in range(0, len(found), _BLOCK)):
            which = self._table_of[kind[part], range_bin[part]]
            low, high, share, factor = self._place(which, expected[part])
            curves = self._curves[which, low] + share[:, None] * (self._curves[which, high] - self._curves[which, low])
            curves = curves + 1e-9 * np.arange(len(NORMALS))  # of equal values any is as good
            value = recorded[part] / np.maximum(factor, 1e-9)
            column = np.clip((curves <= value[:, None]).sum(axis=1) - 1, 0, len(NORMALS) - 2)
            rows = np.arange(len(value))
            below, above = curves[rows, column], curves[rows, column + 1]
            rest = np.clip((value - below) / np.maximum(above - below, 1e-12), 0.0, 1.0)
            found[part] = NORMALS[0] + (column + rest) * _NORMAL_STEP
        return found

    def _read(self, which: Array, expected: Array, normal: Array) -> Array:
        """The intensity (n,) at the ``normal`` number (n,) of the table ``which`` (n,) about each expected one."""
        _, most, columns = self._curves.shape
        low, high, share, factor = self._place(which, expected)
        along = (np.clip(normal, NORMALS[0], NORMALS[-1]) - NORMALS[0]) / _NORMAL_STEP
        column = np.minimum(along.astype(np.int64), columns - 2)
        rest, flat = along - column, self._curves.reshape(-1)
        cells = [(which * most + row) * columns + column for row in (low, high)]
        below, above = (flat[cell] + rest * (flat[cell + 1] - flat[cell]) for cell in cells)
        return np.asarray(factor * (below + share * (above - below)))

    def _place(self, which: Array, expected: Array) -> tuple[Array, Array, Array, Array]:
        """The rows (n,) of the table ``which`` (n,) below and above each expected intensity, and the latter's share.

        Beyond the ends of a table the last row is scaled in proportion, by a factor (n,).
        """
        most = self._curves.shape[1]
        low: Array = np.zeros(len(which), np.int64)
        for at in range(1, most - 1):
            low += expected >= self._knots[which, at]
        low = np.minimum(low, np.maximum(self._last[which] - 1, 0))
        high = np.minimum(low + 1, most - 1)
        left, right = self._knots[which, low], self._knots[which, high]
        within, factor = split_beyond(expected, left, np.maximum(right, left))
        return low, high, (within - left) / np.where(right > left, right - left, 1.0), factor


def _draw_normals(sweep: Sweep, seed: int, index: int) -> Array:
    """A standard normal number (n,) for each return."""
    number = sweep.beam.astype(np.uint32) | (sweep.return_index.astype(np.uint32) << np.uint32(_RETURN_SHIFT))
    return np.asarray(_core.draw_normals(seed, index, number, _RAY, _core.Purpose.INTENSITY_NOISE))


def _remember(sweep: Sweep, normal: Array, weight: float) -> Array:
    """Normal numbers (n,) of which each has a share of that of the return before it on its ring."""
    if weight == 0.0:
        return normal
    order = order_along_rings(sweep.ring, sweep.column)
    along = normal[order]
    along[1:] = (along[1:] + weight * normal[order][:-1]) / np.sqrt(1.0 + weight * weight)
    found = np.empty_like(normal)
    found[order] = along
    return found


def scatter_range(sweep: Sweep, noise: RangeNoise, *, seed: int, index: int) -> Sweep:
    """The sweep with noise on its ranges; it has the column ``cosine`` of incidence if that is known."""
    sigma = noise.find_sigma(sweep.range, _find_incidence(sweep), _find_surfaces(sweep))
    # Of another sweep, as it were: the tracer draws its own noise from the same numbers.
    drawn = _core.draw_normals(seed, index + 2**32, sweep.beam.astype(np.uint32), _RAY, _core.Purpose.RANGE_NOISE)
    return replace(sweep, range=add_noise(sweep.range, sigma * drawn, noise.step_m))


def lose_beams(sweep: Sweep, drops: DropTable, *, seed: int, index: int) -> Sweep:
    """The sweep without the returns that its sensor loses; the status of their beams is `DROPPED_BY_MODEL`.

    Intensities are expected ones, without gains. Of several returns of a beam the first decides.
    """
    first = np.flatnonzero(sweep.return_index == 0)
    chance = drops.find_probability(
        sweep.range[first], _find_incidence(sweep)[first], sweep.intensity[first], _find_surfaces(sweep)[first]
    )
    beams = sweep.beam[first].astype(np.int32)
    lost = beams[_core.draw_uniform(seed, index, beams, _core.Purpose.RAYDROP) < chance]
    gone = np.zeros(sweep.n_beams, bool)
    gone[lost] = True
    kept = sweep.select(~gone[sweep.beam])
    status = kept.beam_status.copy()
    status[gone] = BeamStatus.DROPPED_BY_MODEL
    return replace(kept, beam_status=status)


def _find_incidence(sweep: Sweep) -> Array:
    cosine = sweep.extra.get("cosine")
    return np.zeros(len(sweep)) if cosine is None else find_incidence(cosine)


def _find_surfaces(sweep: Sweep) -> Array:
    kind = sweep.extra.get("primitive")
    return np.ones(len(sweep), bool) if kind is None else np.asarray(kind != VOLUMES)
