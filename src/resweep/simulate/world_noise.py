"""Sweeps that scatter as a recording did: intensities, ranges and lost beams drawn from a world's calibration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.signal import lfilter

from resweep import _core
from resweep.pose import Array
from resweep.sensor_scatter import DropTable, IntensityScatter, RangeNoise, find_incidence
from resweep.simulate.beam_channels import VOLUMES
from resweep.simulate.intensity import mix_cells
from resweep.simulate.noise import add_noise
from resweep.simulate.normal import find_share
from resweep.simulate.ring_order import order_along_rings
from resweep.sweep import BeamStatus, Sweep
from resweep.voxels import find_cells

_SURFACE = 2**32 - 1  # in place of the number of a sweep: what belongs to a surface is the same in all of them
_RAY = 1  # ray 0 of a beam has the sensor's own noise
_RETURN_SHIFT = 26  # bits of the number of a beam; further returns of it have numbers of their own


def scatter_intensity(
    sweep: Sweep, scatter: IntensityScatter, gain: Array | float = 1.0, *, seed: int, index: int
) -> Sweep:
    """The sweep with intensities drawn about its own, which are expected ones without the ``gain`` (n,) of lasers.

    Returns in one cell of a texture resemble each other in all sweeps of a seed, neighbours on a ring in one sweep.
    """
    if len(sweep) == 0:
        return sweep
    level = find_share(_draw_normals(sweep, scatter, seed, index))
    drawn = _read_tables(sweep, scatter, level) * gain
    if scatter.step:
        drawn = np.round(drawn / scatter.step) * scatter.step
    if scatter.ceiling:
        drawn = np.minimum(drawn, scatter.ceiling)
    return replace(sweep, intensity=drawn.astype(np.float32))


def _draw_normals(sweep: Sweep, scatter: IntensityScatter, seed: int, index: int) -> Array:
    """A standard normal number (n,) for each return: where in its distribution its intensity lies."""
    purpose = _core.Purpose.INTENSITY_NOISE
    number = sweep.beam.astype(np.uint32) | (sweep.return_index.astype(np.uint32) << np.uint32(_RETURN_SHIFT))
    own = _core.draw_normals(seed, index, number, _RAY, purpose)
    if scatter.ring_correlation:
        order = order_along_rings(sweep.ring, sweep.column)
        r, drawn = scatter.ring_correlation, own[order]
        # As if a number like the first went before.
        own[order] = lfilter([np.sqrt(1.0 - r * r)], [1.0, -r], drawn, zi=[r * drawn[0]])[0]
    if not scatter.textures:
        return np.asarray(own)
    normal = np.sqrt(1.0 - sum(texture.share for texture in scatter.textures)) * own
    points = sweep.world_points()
    for at, texture in enumerate(scatter.textures):
        cell = mix_cells(find_cells(points, texture.size_m), at).astype(np.uint32)
        normal += np.sqrt(texture.share) * _core.draw_normals(seed, _SURFACE, cell, _RAY, purpose)
    return np.asarray(normal)


def _read_tables(sweep: Sweep, scatter: IntensityScatter, level: Array) -> Array:
    """The intensity (n,) at the ``level`` (n,), 0 to 1, of the distribution about what each return's own says."""
    surface = np.ones(len(sweep), bool) if "primitive" not in sweep.extra else sweep.extra["primitive"] != VOLUMES
    which = scatter.find_tables(sweep.label, surface)
    found = np.empty(len(sweep))
    for number, table in enumerate(scatter.tables):
        own = np.flatnonzero(which == number)
        if len(own) == 0:
            continue
        curves = np.array(table.quantiles)
        rows, columns = curves.shape
        place = np.interp(sweep.intensity[own], table.expected, np.arange(rows))
        low = np.minimum(place.astype(np.int64), max(rows - 2, 0))
        along = level[own] * (columns - 1)
        left = np.minimum(along.astype(np.int64), columns - 2)
        part, flat, cell = along - left, curves.ravel(), low * columns + left
        below = flat[cell] + part * (flat[cell + 1] - flat[cell])
        above = below
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
