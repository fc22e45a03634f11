"""Sweeps that scatter as a recording did: intensities, ranges and lost beams drawn from a world's calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from resweep import _core
from resweep.pose import Array
from resweep.sensor_scatter import DropTable, IntensityScatter, RangeNoise, find_bins, find_incidence
from resweep.simulate.beam_channels import VOLUMES
from resweep.simulate.noise import add_noise
from resweep.simulate.normal import find_share
from resweep.simulate.ring_order import order_along_rings
from resweep.sweep import BeamStatus, Sweep

_RAY = 1  # ray 0 of a beam has the sensor's own noise
_RETURN_SHIFT = 26  # bits of the number of a beam; further returns of it have numbers of their own


def scatter_intensity(
    sweep: Sweep, scatter: IntensityScatter, gain: Array | None = None, *, seed: int, index: int
) -> Sweep:
    """The sweep with intensities drawn about its own, which are expected ones without the gains of lasers.

    With their ``gain`` (n,) its lasers are those of the recording, each with its own response; without, they are those
    of another sensor, of which only the scatter of surfaces is known.
    """
    if len(sweep) == 0:
        return sweep
    kind = scatter.find_kinds(sweep.label, _find_surfaces(sweep))
    far = find_bins(sweep.range, scatter.range_edges_m).astype(np.int64)
    expected, normal = sweep.intensity, _draw_normals(sweep, seed, index)
    if gain is not None and scatter.response:
        ring = sweep.ring.astype(np.int64)
        known = ring < len(scatter.response)
        ring = np.where(known, ring, 0)
        expected = expected * np.where(known, np.array(scatter.response)[ring, far], 1.0)
        normal = _remember(sweep, normal, scatter.next_weight)
        shift, spread = np.array(scatter.shift)[kind, ring, far], np.array(scatter.spread)[kind, ring, far]
        normal = np.where(known, shift + spread * normal, normal)
    drawn = _read_tables(scatter, np.array(scatter.table_of)[kind, far], expected, find_share(normal))
    if gain is not None:
        drawn = drawn * gain
    if scatter.step:
        drawn = np.round(drawn / scatter.step) * scatter.step
    if scatter.ceiling:
        drawn = np.minimum(drawn, scatter.ceiling)
    return replace(sweep, intensity=drawn.astype(np.float32))


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


def _read_tables(scatter: IntensityScatter, which: Array, expected: Array, level: Array) -> Array:
    """The intensity (n,) at the ``level`` (n,), 0 to 1, of the distribution about each expected one.

    ``which`` (n,) numbers the tables.
    """
    found = np.empty(len(which))
    for number in np.flatnonzero(np.bincount(which)).tolist():
        own, table = np.flatnonzero(which == number), scatter.tables[number]
        curves = np.array(table.quantiles)
        rows, columns = curves.shape
        place = np.interp(expected[own], table.expected, np.arange(rows))
        low = np.minimum(place.astype(np.int64), max(rows - 2, 0))
        along = level[own] * (columns - 1)
        left = np.minimum(along.astype(np.int64), columns - 2)
        part, flat, cell = along - left, curves.ravel(), low * columns + left
        below = above = flat[cell] + part * (flat[cell + 1] - flat[cell])
        if rows > 1:
            cell = cell + columns
            above = flat[cell] + part * (flat[cell + 1] - flat[cell])
        found[own] = below + (place - low) * (above - below)
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
