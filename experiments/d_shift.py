"""Beside the path: sweeps 0 to 3 m beside the recorded path, and by other sensors, against the truth.

A street of known truth is recorded by one drive and built with the default settings, and completed. Sensors then sweep
both the world and the truth from the same poses, 0, 1, 2 and 3 m beside the path, with draws. ``unknown_share`` is the
share of beams that, by the world's record, look where nothing was recorded. No recording that is at hand passes a
place twice, so real sweeps are taken ahead of the recorded part of their own drive instead (``ahead``): 1 to 5 m on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import DATA, Place, hdl64, known_street
from experiments.presenting import BLUE, GREEN, ORANGE, console, figure, main, progress, table
from resweep.pose import Array
from resweep.sensors.infer.inferred_drive import prepare_drive

SHIFTS_M = (0.0, 1.0, 2.0, 3.0)
GOAL = 1.3  # Chamfer distance at 3 m in that at 0 m
EXACT = {"beam.rays": "single", "receiver.range_noise_sigma_m": 0.0, "receiver.range_noise_per_m": 0.0}
_RECORDED = {name: f"semantickitti_mini/sequences/{name}" for name in ("00", "03")}
_BUILT = 5  # sweeps of a recording that its world is built from


def run(fast: bool) -> dict[str, Any]:
    """Rows of the street by sensor and shift, and of recordings by the distance ahead of what was built."""
    place = known_street(length_m=40.0, sweeps=3, columns=600) if fast else known_street()
    assert place.truth is not None
    rows: list[dict[str, Any]] = []
    for config, name in ((rs.HybridConfig(), place.name), (rs.HybridConfig(complete=True), f"{place.name}, completed")):
        world = rs.build(place.log, config, progress=False)
        for sensor in progress(sensors(fast), "sweeping beside the path"):
            rows += sweep_beside(replace(place, name=name), world, sensor, SHIFTS_M[::3] if fast else SHIFTS_M)
    real = [] if fast else [row for name in _RECORDED for row in sweep_ahead(name)]
    ratio = {name: _compare_ends(rows, name) for name in dict.fromkeys(row["world"] for row in rows)}
    passes = "no recording at hand passes a place twice: real rows lie ahead of the recorded part of their own drive"
    return {"rows": rows + real, "chamfer_ratio_3m": ratio, "goal": GOAL, "second_passes": passes}


def _compare_ends(rows: list[dict[str, Any]], world: str) -> float:
    """Chamfer distance at the largest shift in that on the path, of the sensor that recorded."""
    own = [row["chamfer_m"] for row in rows if row["world"] == world and row["sensor"] == rows[0]["sensor"]]
    return float(own[-1] / own[0])


def sensors(fast: bool) -> list[rs.Sensor]:
    """The sensor of the recording and others, with one exact ray a pulse."""
    other = [rs.load_sensor(name).with_(**EXACT) for name in ("ouster-os1-128", "velodyne-vlp-16")]
    return [hdl64(600 if fast else 2250), *other[: 1 if fast else 2]]


def shifted_poses(place: Place, shift_m: float) -> Array:
    """Poses of three sweeps from the middle of the drive, moved to the left."""
    middle = len(place.log) // 2
    poses = place.log.poses[middle - 1 : middle + 2].copy()
    poses[:, :3, 3] += shift_m * poses[:, :3, 1]
    return poses


def sweep_beside(
    place: Place, world: rs.World, sensor: rs.Sensor, shifts_m: tuple[float, ...] = SHIFTS_M
) -> list[dict[str, Any]]:
    """One row for each shift: the world's sweeps against those of the truth."""
    assert place.truth is not None
    ours, truth = rs.Simulator(world, sensor, seed=1), rs.Simulator(place.truth, sensor, seed=1)
    rows = []
    for shift_m in shifts_m:
        poses = shifted_poses(place, shift_m)
        simulated = ours.run(poses)
        unknown = sum(sweep.n_unknown for sweep in simulated) / sum(sweep.n_beams for sweep in simulated)
        rows.append(_row(place.name, sensor.name, shift_m, unknown, rs.evaluate(simulated, truth.run(poses))))
    return rows


def sweep_ahead(name: str) -> list[dict[str, Any]]:
    """A recording's sweeps ahead of those that its world was built from; nothing where it is not at hand."""
    folder = DATA / _RECORDED[name]
    if not folder.exists():
        return []
    log = prepare_drive(rs.open_log(folder))
    world = rs.build(log[:_BUILT], progress=False)
    retracer = rs.Retracer.for_log(world, log)
    rows = []
    for at in range(_BUILT, len(log)):
        ahead_m = float(np.linalg.norm(log.poses[at][:3, 3] - log.poses[_BUILT - 1][:3, 3]))
        again = retracer.sweep(log[at], at)
        report = rs.evaluate(again, log[at], labels=log.labels)
        row = _row(f"SemanticKITTI {name}", "recorded beams", ahead_m, again.n_unknown / again.n_beams, report)
        rows.append({**row, "direction": "ahead"})
    return rows


def _row(world: str, sensor: str, shift_m: float, unknown: float, report: rs.Report) -> dict[str, Any]:
    return {
        "world": world,
        "sensor": sensor,
        "shift_m": round(shift_m, 2),
        "direction": "beside",
        "recovered_0.10m": report["recovered_0.10m"],
        "unknown_share": unknown,
        "chamfer_m": report["chamfer_m"],
        "return_f1": report["return_f1"],
    }


def show(result: dict[str, Any]) -> None:
    """Print the rows, and whether the goal is met."""
    made = table(
        "Sweeps beside the recorded path", "world", "sensor", "m", "to the", "recovered", "unknown", "Chamfer m"
    )
    for row in result["rows"]:
        figures = (f"{100 * row[key]:.1f} %" for key in ("recovered_0.10m", "unknown_share"))
        side = row["direction"]
        made.add_row(row["world"], row["sensor"], f"{row['shift_m']:.1f}", side, *figures, f"{row['chamfer_m']:.4f}")
    console.print(made)
    for name, ratio in result["chamfer_ratio_3m"].items():
        verdict = "reached" if ratio <= GOAL else "not reached"
        console.print(f"{name}: Chamfer distance at 3 m {ratio:.2f} times that at 0 m (goal {GOAL}, {verdict})")
    console.print(result["second_passes"])


def draw(result: dict[str, Any]) -> Figure:
    """Recovered returns and Chamfer distance against the shift, for each sensor."""
    made, axes = figure(8.0, 3.2, 1, 2)
    rows = [
        row for row in result["rows"] if row["direction"] == "beside" and row["world"] == result["rows"][0]["world"]
    ]
    for name, colour in zip(dict.fromkeys(row["sensor"] for row in rows), (BLUE, ORANGE, GREEN), strict=False):
        own = [row for row in rows if row["sensor"] == name]
        shift = [row["shift_m"] for row in own]
        axes[0, 0].plot(shift, [100 * row["recovered_0.10m"] for row in own], "o-", color=colour, label=name)
        axes[0, 1].plot(shift, [row["chamfer_m"] for row in own], "o-", color=colour)
    axes[0, 0].set_ylabel("true returns recovered to 0.1 m, %")
    axes[0, 1].set_ylabel("Chamfer distance, m")
    for axis in axes.flat:
        axis.set_xlabel("metres beside the path")
    axes[0, 0].legend(fontsize=7, frameon=False)
    return made


if __name__ == "__main__":
    main("d_shift", __doc__ or "", run, show, draw)
