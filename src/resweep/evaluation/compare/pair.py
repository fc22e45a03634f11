"""One simulated sweep against one real sweep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from resweep.evaluation.compare.beam_comparison import (
    NO_MATCH,
    BeamImages,
    ComparedBeams,
    Match,
    find_relative_pose,
    make_comparable,
    make_range_images,
    match_beams,
)
from resweep.evaluation.compare.breakdown import Breakdown, break_down
from resweep.evaluation.compare.pano import sum_pano
from resweep.evaluation.compare.recorded import RecordedCloud, SweepBatch
from resweep.evaluation.metrics.metrics import ssim
from resweep.evaluation.metrics.nearest import find_nearest_distances
from resweep.evaluation.metrics.sums import FSCORES, MetricSums
from resweep.labels import LabelSet
from resweep.pose import Array, transform
from resweep.sweep import Sweep


@dataclass(frozen=True)
class PairCloud:
    """Points (n, 3) float32 and their labels (n,)."""

    points: Array
    label: Array


@dataclass(frozen=True)
class Pair:
    """Two sweeps compared: the ``sums``, and what they came from, for drawing.

    Clouds are in the frame of the real sweep's pose; ``distance`` (n,) is from each simulated point to the
    nearest real one of the sweep, inf where there is no real point.
    """

    sums: MetricSums
    sim: PairCloud
    real: PairCloud
    distance: Array
    beams: tuple[ComparedBeams, ComparedBeams]
    match: Match
    images: BeamImages
    breakdown: Breakdown


def compare_pair(
    sim: Sweep,
    real: Sweep,
    range_max_m: float,
    labels: LabelSet,
    *,
    same_frame: bool = False,
    beams_known: bool = True,
    tolerance_rad: float | None = None,
    threads: int = 0,
) -> Pair:
    """Compare two sweeps in world coordinates, or with ``same_frame`` as if their poses were equal.

    ``labels`` is the vocabulary of both. Unless ``beams_known``, clouds are compared but no beams.
    """
    T_real_sim = np.eye(4) if same_frame else find_relative_pose(sim, real)
    sim_cloud, real_cloud = _make_cloud(sim, T_real_sim), _make_cloud(real, np.eye(4))
    sums = MetricSums()
    distance = _sum_clouds(sums, sim_cloud, real_cloud, threads)
    sum_classes(sums, sim_cloud, real_cloud, "c2c_sweep", threads)
    beams = make_comparable(sim, real, T_real_sim)
    match = match_beams(sim, real, beams, tolerance_rad, T_real_sim) if beams_known else NO_MATCH
    breakdown = Breakdown()
    if beams_known:
        sum_beams(sums, beams, match, labels)
        breakdown = break_down(sim, real, beams, match, placed=not same_frame)
    images = make_range_images(sim, real, beams, match, range_max_m)
    count = int(images.pixels.sum())
    if count:
        sums.totals["image_n"] = count
        sums.totals["image_sq"] = float(((images.sim - images.real)[images.pixels] ** 2).sum())
        sums.totals["ssim"] = float(ssim(images.sim, images.real, range_max_m)[images.pixels].sum())
        sum_pano(sums, beams, match, images, threads)
    return Pair(sums, sim_cloud, real_cloud, distance, beams, match, images, breakdown)


def _make_cloud(sweep: Sweep, T_frame_sweep: Array) -> PairCloud:
    points = sweep.deskewed()
    if not np.array_equal(T_frame_sweep, np.eye(4)):
        points = transform(T_frame_sweep, points.astype(np.float64)).astype(np.float32)
    finite = np.isfinite(points).all(axis=1)
    return PairCloud(points, sweep.label) if finite.all() else PairCloud(points[finite], sweep.label[finite])


def _sum_clouds(sums: MetricSums, sim: PairCloud, real: PairCloud, threads: int) -> Array:
    """Add the distances both ways; returns those from simulated to real points."""
    forward = find_nearest_distances(sim.points, real.points, threads)
    backward = find_nearest_distances(real.points, sim.points, threads)
    totals = sums.totals
    totals["sim"], totals["real"] = len(forward), len(backward)
    for name, threshold in FSCORES.items():
        totals[f"{name} sim"] = int((forward < threshold).sum())
        totals[f"{name} real"] = int((backward < threshold).sum())
    if len(forward) and len(backward):
        for name, distance in (("c2c_sweep", forward), ("reverse", backward)):
            totals[f"{name}_n"] = len(distance)
            totals[name] = float(distance.sum())
            totals[f"{name}_sq"] = float((distance**2).sum())
    return forward


def sum_classes(sums: MetricSums, sim: PairCloud, real: PairCloud, key: str, threads: int) -> None:
    """Add under ``key`` the distances from the simulated points of each class to the real ones of that class.

    Points of a class that the real cloud lacks have no distance and do not count.
    """
    for label in np.union1d(np.unique(sim.label), np.unique(real.label)).tolist():
        own, other = sim.points[sim.label == label], real.points[real.label == label]
        totals = sums.classes[label]
        if key == "c2c_sweep":
            totals["sim"], totals["real"] = len(own), len(other)
        if len(own) and len(other):
            totals[f"{key}_n"] = len(own)
            totals[key] = float(find_nearest_distances(own, other, threads).sum())


def sum_recorded(sums: Sequence[MetricSums], batch: SweepBatch, recorded: RecordedCloud) -> None:
    """Add the distances from the simulated points of several sweeps to the whole recorded cloud (C, eq. 15)."""
    if not len(batch.points) or not len(recorded):
        return
    distance = recorded.distances(batch.points)
    for at, rows in enumerate(batch.rows()):
        if rows.stop > rows.start:
            sums[at].totals["c2c_n"], sums[at].totals["c2c"] = rows.stop - rows.start, float(distance[rows].sum())
    for item, chosen, distance in batch.class_distances(recorded):
        for at, own in enumerate(batch.rows(chosen)):
            if own.stop > own.start:
                totals = sums[at].classes[item]
                totals["c2c_n"], totals["c2c"] = own.stop - own.start, float(distance[own].sum())


def sum_beams(sums: MetricSums, beams: tuple[ComparedBeams, ComparedBeams], match: Match, labels: LabelSet) -> None:
    """Add the sums of matched beams: range errors, returns, intensities and labels, in all and by class."""
    sim, real = beams
    totals = sums.totals
    sim_hit, real_hit = sim.returned[match.sim], real.returned[match.real]
    both = sim_hit & real_hit
    at_sim, at_real = match.sim[both], match.real[both]
    totals["real_beams"], totals["matched"] = len(real.range), len(match.real)
    totals["sim_returned"], totals["real_returned"] = int(sim_hit.sum()), int(real_hit.sum())
    totals["both"] = len(at_sim)
    error = sim.range[at_sim] - real.range[at_real]
    sums.errors.append(error.astype(np.float32))
    s, r = sim.intensity[at_sim], real.intensity[at_real]
    totals["intensity_sq"], totals["intensity_abs"] = float(((s - r) ** 2).sum()), float(np.abs(s - r).sum())
    totals["intensity_s"], totals["intensity_r"] = float(s.sum()), float(r.sum())
    # Sums of NumPy's own: BLAS adds up in another order on another number of threads.
    totals["intensity_ss"], totals["intensity_rr"] = float((s * s).sum()), float((r * r).sum())
    totals["intensity_sr"] = float((s * r).sum())
    labelled = labels.is_labelled(sim.label[at_sim]) & labels.is_labelled(real.label[at_real])
    totals["label_n"] = int(labelled.sum())
    totals["label_equal"] = int((sim.label[at_sim] == real.label[at_real])[labelled].sum())
    of_matched, of_both = real.label[match.real[real_hit]], real.label[at_real]
    for label in np.unique(of_matched).tolist():
        mine = of_both == label
        sums.classes[label]["matched"] = int((of_matched == label).sum())
        sums.classes[label]["range_n"] = int(mine.sum())
        sums.classes[label]["range"] = float(np.abs(error[mine]).sum())
