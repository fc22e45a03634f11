"""Sweeps that scatter as a recording did: intensities, ranges and lost beams drawn from a world's calibration."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from resweep import _core
from resweep.calibration import Calibration
from resweep.pose import Array
from resweep.sensor_scatter import NORMALS, DropTable, IntensityScatter, RangeNoise, SensorScatter, find_cosine_limits
from resweep.sensors import Sensor
from resweep.simulate.beam_channels import VOLUMES
from resweep.sweep import BeamStatus, Sweep


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
        threads: int = 0,
    ) -> Sweep:
        """A sweep of recorded beams as their sensor would have measured it; ``find_gain`` gives the gain of rings (n,).

        With ``only_intensity`` a learned model has changed the rest, with ``own`` the ranges have noise already.
        """
        if self.scatter.drops is not None and not only_intensity:
            sweep = lose_beams(sweep, self.scatter.drops, seed=seed, index=index, threads=threads)
        gain = find_gain(sweep.ring)
        if self._intensity is None:
            sweep = replace(sweep, intensity=sweep.intensity * gain)
        else:
            sweep = self._intensity.scatter(sweep, gain, seed=seed, index=index, threads=threads)
        if self.scatter.range is None or only_intensity or own:
            return sweep
        return scatter_range(sweep, self.scatter.range, seed=seed, index=index, threads=threads)

    def add_to_own(self, sweep: Sweep, *, seed: int, index: int, only_intensity: bool, threads: int = 0) -> Sweep:
        """A sweep of a sensor whose spec has these tables; with ``only_intensity`` a learned model changed the rest."""
        return self.add_to_recorded(
            sweep, _find_no_gain, seed=seed, index=index, only_intensity=only_intensity, own=False, threads=threads
        )

    def add_to_other(self, sweep: Sweep, sensor: Sensor, *, seed: int, index: int, threads: int = 0) -> Sweep:
        """A sweep of another sensor with intensities that scatter as the surfaces do, unless its spec says how."""
        if self._intensity is None or sensor.receiver.intensity_noise_sigma > 0.0:
            return sweep
        return self._intensity.scatter(sweep, seed=seed, index=index, threads=threads)


def _find_no_gain(ring: Array) -> Array:
    return np.ones(len(ring), np.float32)


class IntensityDraw:
    """The tables of intensities as the kernel reads them."""

    def __init__(self, scatter: IntensityScatter) -> None:
        last, knots, curves = scatter.stack_tables()
        lasers, ranges = len(scatter.response), len(scatter.range_edges_m) + 1
        self._tables = _core.IntensityTables(
            kinds=np.array(scatter.kinds[:-2], np.int32),
            range_edges=np.array(scatter.range_edges_m, np.float32),
            table_of=np.array(scatter.table_of, np.int32),
            last=last,
            expected=knots,
            quantiles=curves,
            response=np.array(scatter.response, np.float64).reshape(lasers, ranges),
            shift=_make_cube(scatter.shift, (len(scatter.kinds), lasers, ranges)),
            spread=_make_cube(scatter.spread, (len(scatter.kinds), lasers, ranges)),
            independent=np.array(scatter.independent or (1.0,) * len(scatter.kinds), np.float64),
            next_weight=scatter.next_weight,
            step=scatter.step,
            ceiling=scatter.ceiling,
            reach=float(NORMALS[-1]),
        )

    def scatter(self, sweep: Sweep, gain: Array | None = None, *, seed: int, index: int, threads: int = 0) -> Sweep:
        """The sweep with intensities drawn about its own, which are expected ones without the gains of lasers.

        With their ``gain`` (n,) its lasers are those of the recording, each with its own response; without, they are
        those of another sensor, of which only the scatter of surfaces is known.
        """
        if len(sweep) == 0:
            return sweep
        own = None if gain is None else np.ascontiguousarray(gain, np.float32)
        drawn = _core.draw_intensities(self._tables, _list_returns(sweep), seed, index, own, threads)
        return replace(sweep, intensity=drawn)


def _make_cube(values: tuple[tuple[tuple[float, ...], ...], ...], shape: tuple[int, int, int]) -> Array:
    """The values of kinds, lasers and ranges as an array; of no lasers there are none."""
    return np.array(values, np.float64).reshape(shape)


def scatter_range(sweep: Sweep, noise: RangeNoise, *, seed: int, index: int, threads: int = 0) -> Sweep:
    """The sweep with noise on its ranges; it has the column ``cosine`` of incidence if that is known."""
    table = _core.RangeTable(
        np.array(noise.range_edges_m, np.float32),
        find_cosine_limits(noise.incidence_edges_deg),
        np.array(noise.sigma_m, np.float64),
        noise.step_m,
    )
    # Of another sweep, as it were: the tracer draws its own noise from the same numbers.
    return replace(sweep, range=_core.draw_ranges(table, _list_returns(sweep), seed, index + 2**32, threads))


def lose_beams(sweep: Sweep, drops: DropTable, *, seed: int, index: int, threads: int = 0) -> Sweep:
    """The sweep without the returns that its sensor loses; the status of their beams is `DROPPED_BY_MODEL`.

    Intensities are expected ones, without gains. Of several returns of a beam the first decides.
    """
    table = _core.LossTable(
        np.array(drops.range_edges_m, np.float32),
        find_cosine_limits(drops.incidence_edges_deg),
        np.array(drops.intensity_edges, np.float32),
        np.array(drops.probability, np.float64),
    )
    gone = _core.draw_losses(table, _list_returns(sweep), seed, index, threads).view(bool)
    kept = sweep.select(~gone[sweep.beam])
    status = kept.beam_status.copy()
    status[gone] = BeamStatus.DROPPED_BY_MODEL
    return replace(kept, beam_status=status)


def _list_returns(sweep: Sweep) -> _core.SweepReturns:
    """The columns of a sweep that the kernel reads; without a column ``primitive`` all returns are from surfaces."""
    kind, cosine = sweep.extra.get("primitive"), sweep.extra.get("cosine")
    return _core.SweepReturns(
        sweep.beam,
        sweep.return_index,
        sweep.label,
        np.ones(len(sweep), bool) if kind is None else np.asarray(kind != VOLUMES),
        sweep.range,
        sweep.intensity,
        None if cosine is None else np.ascontiguousarray(cosine, np.float32),
        sweep.beam_ring,
        sweep.beam_column,
    )
