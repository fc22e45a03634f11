"""How sure a simulated return is: the confidence fitted and checked on streets of known truth.

Streets are recorded and built, with labels and without. Sensors sweep both the world and the truth, on the path and
beside it. A return is right if the truth returns on the same beam within 0.1 m of it. The weights of the logistic model
(`resweep.simulate.confidence.WEIGHTS`) are fitted to some streets; the reliability diagram and the calibration error
are those of the weights that Resweep has, on another street.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import Place, hdl64, known_street
from experiments.d_shift import EXACT, shifted_poses
from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, progress, table
from resweep.pose import Array
from resweep.simulate.confidence import FEATURES, WEIGHTS, make_record

WITHIN_M = 0.1
BINS = 10
SHIFTS_M = (0.0, 1.5, 3.0)
_COSINE = len(FEATURES) - 1
_VOLUMES = 3  # the kind of primitive, as returns have it
_RIDGE = 1.0


def run(fast: bool) -> dict[str, Any]:
    """FittedModel weights, and how well the weights in use are calibrated on a street that they were not fitted to."""
    size: dict[str, Any] = (
        {"length_m": 40.0, "sweeps": 3, "columns": 450} if fast else {"length_m": 60.0, "columns": 1200}
    )
    fitted = [(11, True)] if fast else [(11, True), (12, False), (14, True)]
    samples = [gather(seed, labelled, size, fast) for seed, labelled in progress(fitted, "streets to fit to")]
    weights = [fit_logistic(*_join(samples, volumes)) for volumes in (False, True)]
    tested = gather(13, True, size, fast)
    return {
        "weights": weights,
        "calibration_error": measure_calibration(tested["confidence"], tested["right"])["error"],
        "base_error": measure_calibration(np.full(len(tested["right"]), 0.5), tested["right"])["error"],
        "brier": float(np.mean((tested["confidence"] - tested["right"]) ** 2)),
        "brier_of_the_mean": float(np.var(tested["right"])),
        "right_share": float(tested["right"].mean()),
        "diagram": measure_calibration(tested["confidence"], tested["right"]),
        "diagram_of_fit": measure_calibration(predict(weights, tested), tested["right"]),
    }


def gather(seed: int, labelled: bool, size: dict[str, Any], fast: bool = False) -> dict[str, Array]:
    """Returns (n,) in a street that was recorded and built: their features, confidence, and whether they are right."""
    place = known_street(seed=seed, **size)
    log = place.log
    if not labelled:
        log = log.with_sweeps([replace(sweep, label=np.zeros_like(sweep.label)) for sweep in log])
    world = rs.build(log, rs.HybridConfig(complete=True), progress=False)
    others = () if fast else ("ouster-os1-128", "velodyne-vlp-16")
    scanning = [hdl64(size["columns"]), *(rs.load_sensor(name).with_(**EXACT) for name in others)]
    parts = [compare(place, world, sensor, shift_m) for sensor in scanning for shift_m in SHIFTS_M]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def compare(place: Place, world: rs.World, sensor: rs.Sensor, shift_m: float) -> dict[str, Array]:
    """The returns of one sweep, and whether the truth has them."""
    assert place.truth is not None
    assert world.observed is not None
    pose = shifted_poses(place, shift_m)[1]
    simulator = rs.Simulator(world, sensor, seed=1)
    sweep = simulator.sweep(pose)
    probe = np.zeros((2, len(FEATURES)))
    probe[:, _COSINE] = 1.0  # the confidence is then that of the cosine alone, which returns do not carry
    record = make_record(world.observed, weights=probe)
    probed = simulator._with(simulator.tracer._copy(record=record)).sweep(pose)
    truth = rs.Simulator(place.truth, sensor, seed=1).sweep(pose)
    true_range = np.full(sweep.n_beams, np.inf)
    np.minimum.at(true_range, truth.beam, truth.range)
    known = np.isfinite(sweep.extra["confidence"])
    extra = {name: np.asarray(values[known], np.float64) for name, values in sweep.extra.items()}
    share = np.asarray(probed.extra["confidence"][known], np.float64)
    return {
        "x": make_features(extra, sweep.range[known], np.log(share / (1 - share))),
        "volumes": extra["primitive"] == _VOLUMES,
        "confidence": extra["confidence"],
        "right": np.abs(true_range[sweep.beam] - sweep.range)[known] <= WITHIN_M,
    }


def make_features(extra: dict[str, Array], ranges: Array, grazing: Array) -> Array:
    """What the model knows of each return, (n, k), as `cpp/trace/confidence.hpp` has it."""
    doublings = np.nan_to_num(np.log2(extra["range_ratio"]))  # what was completed has no range to be off from
    columns = (
        np.ones(len(ranges)),
        np.log2(1 + extra["seen_count"]),
        extra["seen_count"] == 0,
        extra["completed"],
        np.clip(doublings, 0, 4),
        np.clip(-doublings, 0, 4),
        np.minimum(np.nan_to_num(extra["incidence_off_deg"]), 60) / 10,
        np.log2(1 + np.minimum(extra["unknown_m"], 50)),
        np.minimum(ranges, 100) / 20,
        grazing,
    )
    return np.stack([np.asarray(column, np.float64) for column in columns], axis=1)


def fit_logistic(x: Array, right: Array) -> list[float]:
    """Weights (k,) of the logistic model of largest likelihood, by Newton's steps; a ridge holds those without data."""
    weights = np.zeros(x.shape[1])
    for _ in range(30):
        share = 1 / (1 + np.exp(-x @ weights))
        slope = x.T @ (right - share) - _RIDGE * weights
        bend = (x * (share * (1 - share))[:, None]).T @ x + _RIDGE * np.eye(x.shape[1])
        step = np.linalg.solve(bend, slope)
        weights += step
        if np.abs(step).max() < 1e-6:
            break
    return [round(float(weight), 3) for weight in weights]


def predict(weights: list[list[float]], sample: dict[str, Array]) -> Array:
    """The confidence (n,) that weights give."""
    score = np.where(sample["volumes"], sample["x"] @ np.array(weights[1]), sample["x"] @ np.array(weights[0]))
    return np.asarray(1 / (1 + np.exp(-score)))


def measure_calibration(confidence: Array, right: Array) -> dict[str, Any]:
    """The reliability diagram, and the expected calibration error: the mean distance of shares from the confidence."""
    place = np.clip((np.asarray(confidence) * BINS).astype(int), 0, BINS - 1)
    count = np.bincount(place, minlength=BINS)
    said = np.bincount(place, confidence, BINS) / np.maximum(count, 1)
    true = np.bincount(place, right, BINS) / np.maximum(count, 1)
    error = float((count * np.abs(said - true)).sum() / max(count.sum(), 1))
    return {"said": said.tolist(), "right": true.tolist(), "count": count.tolist(), "error": error}


def _join(samples: list[dict[str, Array]], volumes: bool) -> tuple[Array, Array]:
    chosen = [sample["volumes"] == volumes for sample in samples]
    x, right = (
        np.concatenate([sample[name][rows] for sample, rows in zip(samples, chosen, strict=True)])
        for name in ("x", "right")
    )
    return x, right.astype(np.float64)


def show(result: dict[str, Any]) -> None:
    """Print the reliability diagram and the weights."""
    made = table("Returns on a street that the weights were not fitted to", "confidence", "right", "returns")
    diagram = result["diagram"]
    for said, right, count in zip(diagram["said"], diagram["right"], diagram["count"], strict=True):
        if count:
            made.add_row(f"{said:.2f}", f"{100 * right:.1f} %", f"{count:,}")
    console.print(made)
    console.print(
        f"expected calibration error {result['calibration_error']:.3f} (refitted here "
        f"{result['diagram_of_fit']['error']:.3f}); Brier {result['brier']:.3f}, "
        f"of the mean {result['brier_of_the_mean']:.3f}"
    )
    made = table("Weights", "feature", "surfaces", "in use", "volumes", "in use")
    for row in zip(FEATURES, result["weights"][0], WEIGHTS[0], result["weights"][1], WEIGHTS[1], strict=True):
        made.add_row(row[0], *(f"{value:.3f}" for value in row[1:]))
    console.print(made)


def draw(result: dict[str, Any]) -> Figure:
    """The reliability diagram."""
    made, axes = figure(4.2, 3.8)
    axis = axes[0, 0]
    axis.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1)
    for name, colour, label in (("diagram", BLUE, "weights in use"), ("diagram_of_fit", ORANGE, "refitted")):
        count = np.array(result[name]["count"])
        used = count > 0
        said, right = np.array(result[name]["said"])[used], np.array(result[name]["right"])[used]
        axis.scatter(said, right, 10 + 200 * count[used] / count.max(), color=colour, alpha=0.6, label=label)
    axis.set_xlabel("confidence")
    axis.set_ylabel("share of returns that are right to 0.1 m")
    axis.legend(fontsize=7, frameon=False)
    return made


if __name__ == "__main__":
    main("d_confidence", __doc__ or "", run, show, draw)
