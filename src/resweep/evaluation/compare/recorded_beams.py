"""Sweeps that fired the beams of a recording again, beside the recorded ones."""

from __future__ import annotations

from dataclasses import replace

from resweep.evaluation.compare.beam_comparison import find_relative_pose, is_same_grid
from resweep.map_filter import MapFilter
from resweep.sweep import Sweep


def pair_recorded(sim: Sweep, real: Sweep, left_out: MapFilter) -> tuple[Sweep, Sweep]:
    """Both sweeps as they are compared: prepared alike, without the recorded beams that have no counterpart.

    ``real`` is prepared (`prepare_drive`). A simulated sweep has the compensation of the recording in its points, so
    the motion that was corrected in ``real`` is its motion too. Beams that returned from what no map holds
    (``left_out``) do not count on either side. Where a file kept only returns, beams of ``sim`` cannot be matched:
    then they are left out of ``real`` alone.
    """
    kept = left_out.keeps_beams(real)
    if not is_same_grid(sim, real, find_relative_pose(sim, real)):
        return sim, real if kept.all() else real.select_beams(kept)
    if sim.trajectory is None and real.trajectory is not None:
        there = real.moved_to(sim.pose, sim.timestamp)
        sim = replace(sim, trajectory=there.trajectory, beam_time=there.beam_time)
    return (sim, real) if kept.all() else (sim.select_beams(kept), real.select_beams(kept))
