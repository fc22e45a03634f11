"""One simulated sweep against one real sweep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from resweep.evaluation.beams import Beams, Images, Match, comparable_beams, match_beams, range_images, relative_pose
from resweep.evaluation.metrics import nearest_distances, ssim
from resweep.evaluation.sums import FSCORES, Tally
from resweep.pose import Array, transform
from resweep.sweep import Sweep


@dataclass(frozen=True)
class Cloud:
    """Points (n, 3) float32 and their labels (n,)."""

    points: Array
    label: Array


@dataclass(frozen=True)
class Pair:
    """Two sweeps compared: the ``tally``, and what it came from, for drawing.

    Clouds are in the frame of the real sweep's pose; ``distance`` (n,) is from each simulated point to the
    nearest real one, inf where there is no real point.
    """

    tally: Tally
    sim: Cloud
    real: Cloud
    distance: Array
    beams: tuple[Beams, Beams]
    match: Match
    images: Images


def compare_pair(
    sim: Sweep,
    real: Sweep,
    range_max_m: float,
    *,
    same_frame: bool = False,
    tolerance_rad: float | None = None,
    workers: int = -1,
) -> Pair:
    """Compare two sweeps in world coordinates, or with ``same_frame`` as if their poses were equal."""
    T_real_sim = np.eye(4) if same_frame else relative_pose(sim, real)
    sim_cloud, real_cloud = _cloud(sim, T_real_sim), _cloud(real, np.eye(4))
    tally = Tally()
    distance = _tally_clouds(tally, sim_cloud, real_cloud, workers)
    tally_classes(tally, sim_cloud, real_cloud, "c2c", workers)
    beams = comparable_beams(sim, real, T_real_sim)
    match = match_beams(sim, real, beams, tolerance_rad)
    _tally_beams(tally, beams, match)
    images = range_images(sim, real, beams, match, range_max_m)
    count = int(images.pixels.sum())
    if count:
        tally.sums["image_n"] = count
        tally.sums["image_sq"] = float(((images.sim - images.real)[images.pixels] ** 2).sum())
        tally.sums["ssim"] = float(ssim(images.sim, images.real, range_max_m)[images.pixels].sum())
    return Pair(tally, sim_cloud, real_cloud, distance, beams, match, images)


def _cloud(sweep: Sweep, T_frame_sweep: Array) -> Cloud:
    points = sweep.deskewed()
    if not np.array_equal(T_frame_sweep, np.eye(4)):
        points = transform(T_frame_sweep, points.astype(np.float64)).astype(np.float32)
    finite = np.isfinite(points).all(axis=1)
    return Cloud(points, sweep.label) if finite.all() else Cloud(points[finite], sweep.label[finite])


def _tally_clouds(tally: Tally, sim: Cloud, real: Cloud, workers: int) -> Array:
    forward = nearest_distances(sim.points, real.points, workers)
    backward = nearest_distances(real.points, sim.points, workers)
    sums = tally.sums
    sums["sim"], sums["real"] = len(forward), len(backward)
    for name, threshold in FSCORES.items():
        sums[f"{name} sim"] = int((forward < threshold).sum())
        sums[f"{name} real"] = int((backward < threshold).sum())
    if len(forward) and len(backward):
        for name, distance in (("forward", forward), ("backward", backward)):
            sums[f"{name}_n"] = len(distance)
            sums[name] = float(distance.sum())
            sums[f"{name}_sq"] = float((distance**2).sum())
    return forward


def tally_classes(tally: Tally, sim: Cloud, real: Cloud, key: str, workers: int) -> None:
    """Add under ``key`` the distances from the simulated points of each class to the real ones of that class.

    Points of a class that the real cloud lacks have no distance and do not count.
    """
    for label in np.union1d(np.unique(sim.label), np.unique(real.label)).tolist():
        own, other = sim.points[sim.label == label], real.points[real.label == label]
        sums = tally.classes[label]
        if key == "c2c":
            sums["sim"], sums["real"] = len(own), len(other)
        if len(own) and len(other):
            sums[f"{key}_n"] = len(own)
            sums[key] = float(nearest_distances(own, other, workers).sum())


def _tally_beams(tally: Tally, beams: tuple[Beams, Beams], match: Match) -> None:
    sim, real = beams
    sums = tally.sums
    sim_hit, real_hit = sim.returned[match.sim], real.returned[match.real]
    both = sim_hit & real_hit
    at_sim, at_real = match.sim[both], match.real[both]
    sums["real_beams"], sums["matched"] = len(real.range), len(match.real)
    sums["sim_returned"], sums["real_returned"], sums["both"] = int(sim_hit.sum()), int(real_hit.sum()), len(at_sim)
    error = sim.range[at_sim] - real.range[at_real]
    tally.errors.append(error.astype(np.float32))
    s, r = sim.intensity[at_sim], real.intensity[at_real]
    sums["intensity_sq"], sums["intensity_abs"] = float(((s - r) ** 2).sum()), float(np.abs(s - r).sum())
    sums["intensity_s"], sums["intensity_r"] = float(s.sum()), float(r.sum())
    sums["intensity_ss"], sums["intensity_rr"] = float(s @ s), float(r @ r)
    sums["intensity_sr"] = float(s @ r)
    labelled = (sim.label[at_sim] != 0) & (real.label[at_real] != 0)
    sums["label_n"] = int(labelled.sum())
    sums["label_equal"] = int((sim.label[at_sim] == real.label[at_real])[labelled].sum())
    of_matched, of_both = real.label[match.real[real_hit]], real.label[at_real]
    for label in np.unique(of_matched).tolist():
        mine = of_both == label
        tally.classes[label]["matched"] = int((of_matched == label).sum())
        tally.classes[label]["range_n"] = int(mine.sum())
        tally.classes[label]["range"] = float(np.abs(error[mine]).sum())
