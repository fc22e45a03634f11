"""A's open question: do volumes learned with one sensor serve to simulate another?

Volumes are learned from HDL-64E shots at a tree from three sides, and asked for the shots of other sensors, from a
fourth place, with other widths of the beam. The mesh scanned by those sensors is the ground truth. Compared are A's
constant permeability and one that takes out path length and width of the beam (extinction), and how alike the rays
of one pulse draw: ``element_m`` is the size of a leaf, rays that cross a volume within one hit the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.presenting import BLUE, GREEN, GREY, INK, ORANGE, console, figure, main, progress, table
from experiments.static_targets import DISTANCE_M, NOISE_M, small_tree, together
from resweep import Log, Sensor, Simulator, Sweep, VolumeConfig, Volumes, World
from resweep.build import MapConfig
from resweep.evaluation import histogram_distance, shots_of
from resweep.pose import from_xyz_rpy

ANGLE_DEG, RANGE_M = 0.5, 0.05  # bins as wide as the volumes are, where the sensors differ
VOXEL_M = 0.1
ELEMENTS_M = {"independent": 1e-4, "1 cm": 0.01, "leaf, 4 cm": 0.04, "shared": 1e3}
MODES = ("first", "strongest", "last")
LEARN_DEG, ASK_DEG = (-40.0, 0.0, 40.0), 20.0  # around the tree
DIVERGENCES_RAD = {"narrow": 0.0003, "as learned": 0.0015, "wide": 0.006}


def sensor(divergence_rad: float, step_deg: float, rays: int, mode: str = "first", noise: float = NOISE_M) -> Sensor:
    """A sensor of 24 lasers over a tree's crown with a round spot of that divergence."""
    return Sensor.model_validate(
        {
            "name": "asked",
            "range_max_m": 60.0,
            "wavelength_nm": 905.0,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_min_deg": -5.0,
                "azimuth_max_deg": 5.0,
                "azimuth_resolution_deg": step_deg,
                "channels": {"elevation_deg": list(np.linspace(-5.0, 4.0, 24))},
            },
            "beam": {
                "divergence_h_rad": divergence_rad,
                "divergence_v_rad": divergence_rad,
                "rays": "random" if rays > 1 else "single",
                "n_rays": rays,
            },
            "receiver": {"mode": mode, "signal_cutoff_m": 0.05, "range_noise_sigma_m": noise},
        }
    )


def place(angle_deg: float, distance_m: float) -> Any:
    """A pose that looks at the tree from ``angle_deg`` around it."""
    turn = np.radians(angle_deg)
    x, y = DISTANCE_M - distance_m * np.cos(turn), -distance_m * np.sin(turn)
    return from_xyz_rpy(x, y, 1.8, yaw=float(turn))


def scanned(world: World, by: Sensor, pose: Any, sweeps: int, seed: int) -> Sweep:
    """``sweeps`` sweeps from one place as one."""
    simulator = Simulator(world, by, seed=seed)
    return together([simulator.sweep(pose, index=i) for i in range(sweeps)])


def learned(truth: World, sweeps: int, **options: Any) -> World:
    """Volumes from three sides of the tree, shot with 1.5 mrad and 9 rays a spot."""
    by = sensor(DIVERGENCES_RAD["as learned"], 0.2, 9)
    scans = [scanned(truth, by, place(angle, 8.0), sweeps, 3 + i) for i, angle in enumerate(LEARN_DEG)]
    log = Log.from_sweeps(scans, sensor=by)
    config = VolumeConfig(
        voxel_m=VOXEL_M,
        noise_m=NOISE_M,
        map=MapConfig(ego_radius_m=1.0, moving="none"),
        calibrate=None,
        rounds=5,
        **options,
    )
    return rs.build(log, config)


def compared(sim: Sweep, real: Sweep) -> dict[str, float]:
    """Distance of the histograms, and how share of returns and mean range differ (simulated less true)."""
    both = [shots_of(sweep, ANGLE_DEG, RANGE_M).pooled() for sweep in (sim, real)]
    return {
        "distance": histogram_distance(*both),
        "return_share": len(sim) / sim.n_beams,
        "true_share": len(real) / real.n_beams,
        "range_bias_m": float(sim.range.mean() - real.range.mean()),
    }


def run(fast: bool = False) -> dict[str, Any]:
    """Two tables: sensors of one ray a beam and other divergence, and beams of many rays by receiver mode."""
    truth = small_tree(3_000)
    sweeps = 4 if fast else 40
    pose = place(ASK_DEG, 5.0)
    transfer = []
    for name, options in progress(_kinds(), "permeability"):
        world = learned(truth, sweeps, **options)
        for width, divergence in DIVERGENCES_RAD.items():
            real = scanned(truth, sensor(divergence, 0.35, 16), pose, sweeps, 21)
            sim = scanned(world, sensor(divergence, 0.35, 1, noise=0.0), pose, sweeps, 22)
            transfer.append({"permeability": name, "beam": width, **compared(sim, real)})
    same = scanned(truth, sensor(DIVERGENCES_RAD["as learned"], 0.35, 16), pose, sweeps, 23)
    real = scanned(truth, sensor(DIVERGENCES_RAD["as learned"], 0.35, 16), pose, sweeps, 21)
    return {
        "transfer": transfer,
        "rays": _many_rays(truth, sweeps, pose),
        "truth_again": compared(same, real)["distance"],
        "angle_deg": ANGLE_DEG,
        "range_m": RANGE_M,
    }


def _kinds() -> list[tuple[str, dict[str, Any]]]:
    extinction = [
        (f"extinction, {size:g} m", {"permeability": "extinction", "element_m": size}) for size in (0.01, 0.04, 0.2)
    ]
    return [("constant", {}), *extinction]


def _many_rays(truth: World, sweeps: int, pose: Any) -> list[dict[str, Any]]:
    """A wide beam of 16 rays in both worlds, for each receiver mode and way that its rays draw.

    The volumes are learned once, for leaves of 4 cm: only the draws differ.
    """
    rows = []
    known = learned(truth, sweeps, permeability="extinction", element_m=ELEMENTS_M["leaf, 4 cm"])
    for name, element in ELEMENTS_M.items():
        leaves = [layer.with_(element_m=element) for layer in known.layers if isinstance(layer, Volumes)]
        world = World(leaves, known.origin, labels=known.labels)
        for mode in MODES:
            by = sensor(DIVERGENCES_RAD["wide"], 0.35, 16, mode)
            real, sim = (scanned(place_, by, pose, sweeps, seed) for place_, seed in ((truth, 31), (world, 32)))
            rows.append({"draws": name, "mode": mode, **compared(sim, real)})
    return rows


def show(result: dict[str, Any]) -> None:
    """Print both tables."""
    made = table(
        f"Volumes of {VOXEL_M:g} m asked for another sensor: one ray a beam (truth again: {result['truth_again']:.3f})",
        "permeability", "beam", "distance", "returns", "true returns", "range bias",
    )  # fmt: skip
    for each in result["transfer"]:
        made.add_row(each["permeability"], each["beam"], *_figures(each))
    console.print(made)
    made = table(
        "Beams of 6 mrad and 16 rays: how alike do the rays of a pulse draw?",
        "draws", "receiver", "distance", "returns", "true returns", "range bias",
    )  # fmt: skip
    for each in result["rays"]:
        made.add_row(each["draws"], each["mode"], *_figures(each))
    console.print(made)
    means = {name: np.mean([r["distance"] for r in result["rays"] if r["draws"] == name]) for name in ELEMENTS_M}
    best = min(means, key=lambda name: means[name])
    console.print(f"Nearest to the mesh over the three receivers: '{best}' ({means[best]:.3f}).")


def _figures(each: dict[str, Any]) -> list[str]:
    names = ("distance", "return_share", "true_share")
    return [*(f"{each[name]:.3f}" for name in names), f"{100 * each['range_bias_m']:+.1f} cm"]


def draw(result: dict[str, Any]) -> Figure:
    """Distances, and returns against the true ones, by width of the beam and by draw."""
    made, axes = figure(11.0, 7.0, 2, 2)
    colours = (GREY, BLUE, GREEN, ORANGE)
    for rows, key, group, line in (
        (result["transfer"], "permeability", "beam", axes[0]),
        (result["rays"], "draws", "mode", axes[1]),
    ):
        groups = list(dict.fromkeys(each[group] for each in rows))
        for i, (name, colour) in enumerate(zip(dict.fromkeys(each[key] for each in rows), colours, strict=True)):
            mine = [each for each in rows if each[key] == name]
            at = np.arange(len(groups)) + 0.2 * (i - 1.5)
            line[0].bar(at, [each["distance"] for each in mine], 0.18, color=colour, label=name)
            line[1].bar(at, [each["return_share"] for each in mine], 0.18, color=colour)
        truth = [next(each["true_share"] for each in rows if each[group] == name) for name in groups]
        line[1].hlines(truth, np.arange(len(groups)) - 0.42, np.arange(len(groups)) + 0.42, color=INK, label="mesh")
        for axis, title in zip(line, ("Bhattacharyya distance from the mesh", "share of returns"), strict=True):
            axis.set_xticks(range(len(groups)), groups)
            axis.set_title(title, fontsize=9.5, color=INK)
        line[0].legend(fontsize=7.5, frameon=True, edgecolor="none", title=key, title_fontsize=8, loc="lower right")
        line[1].legend(fontsize=7.5, frameon=True, edgecolor="none", loc="lower right")
    return made


if __name__ == "__main__":
    main("a_transfer", "Volumes learned with one sensor, asked for another (A, VII).", run, show, draw)
