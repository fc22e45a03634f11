"""What C's tables measure of a model, and what they leave out.

C's C2C (eq. 15) asks how far simulated points are from recorded ones. It does not ask what was recorded and is
missing: a pole through which every beam passes does not count. The beams of a held-out sweep show that.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

import resweep as rs
from experiments.c_models import Model
from experiments.c_places import Place, Truth
from experiments.c_shared import select_mappable
from resweep.build import CalibrateConfig, Map, fit_map
from resweep.evaluation.metrics.nearest import Nearest, find_nearest_distances
from resweep.labels import load_labels
from resweep.pose import Array
from resweep.segmentation import Labeller, label_log
from resweep.simulate import Retracer

# C, table 3, and trunks; only places labelled as SemanticKITTI have them.
THIN = {load_labels("semantickitti").id_of(name): name for name in ("fence", "trunk", "pole", "traffic sign")}
RIGHT_M = 0.2  # how near a beam's range must be to the real one for its target to count as recovered


@dataclass(frozen=True)
class Prepared:
    """What every model of a place starts from: the calibrated map, the held-out sweep, and the truth.

    ``predicted`` is the map with the labels that a network predicts, which took ``label_s``, if there is one.
    """

    place: Place
    map: Map
    held: rs.Sweep
    truth: Truth | None
    shifted: Array  # (n, 4, 4) poses of the new trajectory
    predicted: Map | None = None
    label_s: float = 0.0

    @property
    def labelled(self) -> bool:
        """Whether the map knows any thin class."""
        return bool(np.isin(self.map.cloud.label, list(THIN)).any())


def prepare(
    place: Place, sweeps: int, calibration: CalibrateConfig | None = None, labeller: Labeller | None = None
) -> Prepared:
    """The map of all sweeps but the held-out one, calibrated as `rs.build` does, and ``sweeps`` shifted poses.

    With a ``labeller`` there is a second map, of the labels that it predicts.
    """
    rest = place.log[[at for at in range(len(place.log)) if at != place.held]]
    map = Map.from_log(rest, calibration=calibration or CalibrateConfig())
    known = map.beam_log.poses
    poses = known[np.linspace(0, len(known) - 1, min(sweeps, len(known))).round().astype(int)].copy()
    poses[:, :3, 3] += place.shift_m
    truth = None if place.truth is None else Truth(place.truth)
    held = select_mappable(place.log[place.held], map.config, map.labels)
    predicted, label_s = None, 0.0
    if labeller is not None:
        begun = time.perf_counter()
        named = label_log(rest, labeller)
        named = named.with_sweeps(list(named))
        label_s = time.perf_counter() - begun
        predicted = Map.from_log(named, calibration=calibration or CalibrateConfig())
    return Prepared(place, map, held, truth, poses, predicted, label_s)


def measure(prepared: Prepared, model: Model, sensor: rs.Sensor) -> dict[str, Any]:
    """One row: cost and C2C along the new trajectory (C, Tables 1 to 6), and the held-out beams."""
    map = prepared.predicted if model.predicted else prepared.map
    assert map is not None
    begun = time.perf_counter()
    layers = fit_map(map, model.config)
    seconds = time.perf_counter() - begun + (prepared.label_s if model.predicted else 0.0)
    row: dict[str, Any] = {"model": model.name, "generation_s": seconds}
    world = map.world([_label_truly(prepared, layer) for layer in layers] if model.predicted else layers)
    row["primitives"] = world.n_primitives
    row |= _along_new_trajectory(prepared, world, sensor)
    row |= _held_out(prepared, world)
    return row


def _label_truly(prepared: Prepared, layer: Any) -> rs.Splats:
    """Splats that grew by predicted labels, with the true label of the nearest point to each, as all others have.

    Where the truth is unknown they keep their labels.
    """
    if not prepared.labelled:
        return layer
    _, row = Nearest(prepared.map.cloud.points).find(layer.centre)
    names = ("centre", "normal", "radius", "reflectance", "instance", "extra", "name", "depth", "gap_m")
    return rs.Splats(label=prepared.map.cloud.label[row], **{name: getattr(layer, name) for name in names})


def _along_new_trajectory(prepared: Prepared, world: rs.World, sensor: rs.Sensor) -> dict[str, Any]:
    simulator = rs.Simulator(world, sensor)
    simulator.sweep(prepared.shifted[0])  # builds the scene, which is no part of the frequency
    begun = time.perf_counter()
    sweeps = [simulator.sweep(pose, index=at) for at, pose in enumerate(prepared.shifted)]
    row: dict[str, Any] = {"lidar_hz": len(sweeps) / (time.perf_counter() - begun)}
    points = np.concatenate([sweep.world_points() for sweep in sweeps])
    label = np.concatenate([sweep.label for sweep in sweeps])
    away = find_nearest_distances(points - prepared.map.cloud.origin, prepared.map.cloud.points)
    row |= {"sim_points": len(points), "c2c_m": float(away.mean()), "c2c_median_m": float(np.median(away))}
    each = {name: _class_c2c(prepared, points, label, number) for number, name in THIN.items()}
    row["thin_c2c_by_class_m"] = each
    row["thin_c2c_m"] = _mean(list(each.values()))
    if prepared.truth is not None:
        true = prepared.truth.distance(points)
        thin = np.isin(label, list(THIN))
        row["truth_m"] = float(true.mean())
        row["truth_thin_m"] = float(true[thin].mean()) if thin.any() else None
    return row


def _class_c2c(prepared: Prepared, points: Array, label: Array, number: int) -> float | None:
    """C2C of one class (C, Table 3), None where either cloud lacks it."""
    own = points[label == number] - prepared.map.cloud.origin
    other = prepared.map.cloud.points[prepared.map.cloud.label == number]
    return float(find_nearest_distances(own, other).mean()) if len(own) and len(other) else None


def _held_out(prepared: Prepared, world: rs.World) -> dict[str, Any]:
    """How well the beams of the held-out sweep are reproduced.

    ``thin_recovered`` is the share of the real beams on thin classes whose simulated range is right, and
    ``thin_precise`` that of the beams simulated to meet one whose real range is; ``thin_f1`` joins both.
    """
    real = prepared.held
    retracer = Retracer(world)
    sim = retracer.predict(real, retracer.register(real, motion=True))
    ranges, labels = _by_beam(sim)
    true, true_label = _by_beam(real)
    right = np.abs(ranges - true) <= RIGHT_M  # false where either has no return
    both = np.isfinite(ranges) & np.isfinite(true)
    row: dict[str, Any] = {
        "heldout_within_0.10m": float((np.abs(ranges - true)[both] <= 0.10).mean()) if both.any() else None,
        "heldout_right": float(right[np.isfinite(true)].mean()),
    }
    thin, said = np.isin(true_label, list(THIN)), np.isin(labels, list(THIN))
    recovered, precise = _share(right, thin), _share(right, said)
    row |= {"thin_recovered": recovered, "thin_precise": precise, "thin_f1": None}
    if recovered is not None:
        total = recovered + (precise or 0.0)
        row["thin_f1"] = 2 * recovered * (precise or 0.0) / total if total > 0 else 0.0
    row["recovered_by_class"] = {name: _share(right, true_label == number) for number, name in THIN.items()}
    return row


def _by_beam(sweep: rs.Sweep) -> tuple[Array, Array]:
    """Range (b,), NaN without return, and label (b,) of the first return of every beam."""
    ranges, labels = np.full(sweep.n_beams, np.nan), np.zeros(sweep.n_beams, np.int64)
    ranges[sweep.beam[::-1]] = sweep.range[::-1]
    labels[sweep.beam[::-1]] = sweep.label[::-1]
    return ranges, labels


def _share(right: Array, chosen: Array) -> float | None:
    return float(right[chosen].mean()) if chosen.any() else None


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
