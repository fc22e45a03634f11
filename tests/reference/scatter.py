"""The NumPy reference of scatter as it was recorded: cpp/trace/scatter, to the byte."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from resweep import _core
from resweep.pose import Array
from resweep.sensor_scatter import NORMALS, DropTable, IntensityScatter, RangeNoise, find_bins, find_incidence
from resweep.simulate.beam_channels import VOLUMES
from resweep.simulate.noise import add_noise
from resweep.simulate.ring_order import order_along_rings
from resweep.sweep import BeamStatus, Sweep

_RAY = 1  # ray 0 of a beam has the sensor's own noise
_RETURN_SHIFT = 26  # bits of the number of a beam; further returns of it have numbers of their own


class ReferenceIntensityDraw:
    """The tables of intensities as arrays."""

    def __init__(self, scatter: IntensityScatter) -> None:
        self._of = scatter
        self._last, self._knots, self._curves = scatter.stack_tables()
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
        independent = np.array(of.independent or (1.0,) * len(of.kinds))[kind]
        if gain is not None and of.response:
            ring = sweep.ring.astype(np.int64)
            known = ring < len(of.response)
            ring = np.where(known, ring, 0)
            expected = expected * np.where(known, self._response[ring, far], 1.0)
            normal = independent * _remember(sweep, normal, of.next_weight)
            own = self._shift[kind, ring, far] + self._spread[kind, ring, far] * normal
            normal = np.where(known, own, normal)
        else:
            normal = independent * normal
        drawn = self._read(self._table_of[kind, far], expected, normal)
        if gain is not None:
            drawn = drawn * gain
        if of.step:
            drawn = np.round(drawn / of.step) * of.step
        if of.ceiling:
            drawn = np.minimum(drawn, of.ceiling)
        return replace(sweep, intensity=drawn.astype(np.float32))

    def _read(self, which: Array, expected: Array, normal: Array) -> Array:
        """The intensity (n,) at the ``normal`` number (n,) of the table ``which`` (n,) about each expected one."""
        _, most, columns = self._curves.shape
        low: Array = np.zeros(len(which), np.int64)
        for at in range(1, most - 1):
            low += expected >= self._knots[which, at]
        low = np.minimum(low, np.maximum(self._last[which] - 1, 0))
        high = np.minimum(low + 1, most - 1)
        left, right = self._knots[which, low], self._knots[which, high]
        within = np.clip(expected, left, np.maximum(left, right))
        factor = np.where(within > 0.0, expected / np.where(within > 0.0, within, 1.0), 1.0)
        part = (within - left) / np.where(right > left, right - left, 1.0)
        reach = NORMALS[-1]
        along = np.clip((normal + reach) * ((columns - 1) / (2.0 * reach)), 0.0, columns - 1.0)
        column = np.minimum(along.astype(np.int64), columns - 2)
        rest, flat = along - column, self._curves.reshape(-1)
        cells = [(which * most + row) * columns + column for row in (low, high)]
        below, above = (flat[cell] + rest * (flat[cell + 1] - flat[cell]) for cell in cells)
        return np.asarray(factor * (below + part * (above - below)))


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
