"""B, Figure 8: ranges of a potted shrub at 8 m by the HDL-64E, from 91 places on a quarter circle.

The paper reports a broad histogram with two peaks, one of the foliage and one of the trunk. Returns are separated
by the label of what gave most of their light. Neighbouring pulses see the same leaves, so the test for
one peak runs on 1,500 returns drawn from all places, as many as the measured original had.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.bimodality import bimodality_coefficient, modes, silverman, smoothed
from experiments.presenting import BLUE, FILL, GREEN, INK, ORANGE, console, figure, main, progress, table
from experiments.range_models import Array
from resweep import Instances, Simulator, World, load_sensor
from resweep.pose import from_xyz_rpy
from resweep.scenes import SCENE_LABELS, Label, ground_plane, shrub

DISTANCE_M = 8.0  # B, 3.4.3
PLACES = 91  # B, 3.4.3
RATE_HZ = 5.0  # B, 3.4.3
DRAWN = 1500  # B, 3.4.3: measurements in the original experiment
HEIGHT_M = 1.0  # B does not say how high the sensor stood; other heights are reported beside it
SHRUB = 1
BANDWIDTH_M = 0.03  # of the kernel density whose peaks are reported
NOISE_M = 0.02  # range noise of the sensor, the width that a flat target would give
CLAIM = "the distribution is broad, and bimodal: some returns from the trunk, others from the foliage"


def shrub_world(seed: int) -> World:
    """One shrub, with its foot at the origin, on level ground."""
    plant = Instances(shrub(seed), np.eye(4)[:3], instance=SHRUB, name="shrub")
    return World([plant, ground_plane((60.0, 60.0))], labels=SCENE_LABELS)


def scan(world: World, height: float, angles_deg: Array, seed: int) -> tuple[Array, Array]:
    """Ranges (n,) and labels (n,) of the shrub's returns from all places on the arc."""
    sensor = load_sensor("velodyne-hdl-64e").with_(rotation_rate_hz=RATE_HZ)
    simulator = Simulator(world, sensor, seed=seed)
    ranges, labels = [], []
    for i, angle in enumerate(progress(np.radians(angles_deg), f"places on the arc, sensor at {height:g} m")):
        x, y = DISTANCE_M * np.cos(angle), DISTANCE_M * np.sin(angle)
        sweep = simulator.sweep(from_xyz_rpy(x, y, height, yaw=angle + np.pi), index=i)
        of_shrub = sweep.instance == SHRUB
        ranges.append(sweep.range[of_shrub].astype(np.float64))
        labels.append(sweep.label[of_shrub])
    return np.concatenate(ranges), np.concatenate(labels)


def analyse(ranges: Array, labels: Array, draws: int, seed: int) -> dict[str, Any]:
    """Spread, peaks and tests of the shrub's ranges, all of them and foliage alone."""
    rng = np.random.default_rng([seed, 0x38])
    wood = labels == Label.TRUNK
    sample = rng.choice(ranges, min(DRAWN, len(ranges)), replace=False)
    leaves = rng.choice(ranges[~wood], min(DRAWN, int((~wood).sum())), replace=False)
    _, p_one = silverman(sample, 1, draws, seed)
    _, p_two = silverman(sample, 2, draws, seed)
    peaks = modes(ranges, BANDWIDTH_M)
    return {
        "returns": len(ranges),
        "wood_share": float(wood.mean()),
        "spread_m": float(ranges.std()),
        "width_5_95_m": float(np.subtract(*np.percentile(ranges, [95, 5]))),
        "median_foliage_m": float(np.median(ranges[~wood])),
        "median_wood_m": float(np.median(ranges[wood])),
        "peaks_m": peaks.tolist(),
        "wood_share_at_peaks": [float(wood[np.abs(ranges - peak) < 0.05].mean()) for peak in peaks],
        "p_one_mode": p_one,
        "p_two_modes": p_two,
        "p_one_mode_foliage_alone": silverman(leaves, 1, draws, seed)[1],
        "bimodality_coefficient": bimodality_coefficient(ranges),
    }


def run(fast: bool = False, seed: int = 8) -> dict[str, Any]:
    """Scan the shrub from the arc and test the histogram; the full run repeats it at two other heights."""
    angles = np.linspace(0.0, 90.0, 7 if fast else PLACES)
    draws = 200 if fast else 1000
    world = shrub_world(seed)
    ranges, labels = scan(world, HEIGHT_M, angles, seed)
    result: dict[str, Any] = {
        "places": len(angles),
        "sensor_height_m": HEIGHT_M,
        **analyse(ranges, labels, draws, seed),
        "other_heights": {},
        "paper": CLAIM,
        "_ranges": ranges,
        "_labels": labels,
    }
    for height in () if fast else (0.5, 2.0):
        every_third = scan(world, height, angles[::3], seed)
        result["other_heights"][f"{height:g}"] = analyse(*every_third, draws=draws, seed=seed)
    result["broad"] = bool(result["spread_m"] > 5 * NOISE_M)
    result["multimodal"] = bool(result["p_one_mode"] < 0.05)
    return result


def show(result: dict[str, Any]) -> None:
    """Print the figures of each height of the sensor, then what they say."""
    made = table(
        f"A shrub at 8 m, HDL-64E at 5 Hz, {result['places']} places on a quarter circle",
        "sensor\nheight", "\nreturns", "std.\ndev.", "\nwood", "\npeaks (m)", "wood at\npeaks", "one mode\np",
        "two modes\np", "foliage alone,\none mode, p", "bimodality\ncoefficient",
    )  # fmt: skip
    for height, row in {f"{result['sensor_height_m']:g}": result, **result["other_heights"]}.items():
        made.add_row(
            f"{height} m",
            f"{row['returns']:,}",
            f"{row['spread_m']:.3f} m",
            f"{row['wood_share']:.0%}",
            " ".join(f"{peak:.2f}" for peak in row["peaks_m"]),
            " ".join(f"{share:.0%}" for share in row["wood_share_at_peaks"]),
            f"{row['p_one_mode']:.3f}",
            f"{row['p_two_modes']:.3f}",
            f"{row['p_one_mode_foliage_alone']:.3f}",
            f"{row['bimodality_coefficient']:.2f}",
        )
    console.print(made)
    console.print(f"Paper: {CLAIM}.")
    console.print(_in_words(result))


def _in_words(result: dict[str, Any]) -> str:
    alone, peaks = result["p_one_mode_foliage_alone"], result["peaks_m"]
    cause = (
        f"The trunk is not the only cause: foliage alone has more than one mode too (p = {alone:.3f}), since the shell "
        "of leaves is hit at its front, along its sides and, through gaps, at its back."
        if alone < 0.05
        else f"Without the wood one mode is not excluded (p = {alone:.3f}): the trunk makes the second peak."
    )
    further = (
        f" The paper speaks of two peaks; here there are {len(peaks)} (at most two: p = {result['p_two_modes']:.3f})."
        if len(peaks) > 2
        else ""
    )
    return (
        f"Broad: {'yes' if result['broad'] else 'NO'}, a standard deviation of {100 * result['spread_m']:.0f} cm where "
        f"a flat target gives {100 * NOISE_M:.0f} cm. More than one mode: {'yes' if result['multimodal'] else 'NO'} "
        f"(Silverman, p = {result['p_one_mode']:.3f}). Median range of wood {result['median_wood_m']:.2f} m, of "
        f"foliage {result['median_foliage_m']:.2f} m. {cause}{further}"
    )


def draw(result: dict[str, Any]) -> Figure:
    """The histogram by what was hit, with its kernel density and peaks."""
    made, axes = figure(8.2, 4.8)
    axis = axes[0, 0]
    ranges, labels = result["_ranges"], result["_labels"]
    wood = labels == Label.TRUNK
    bins = np.arange(np.floor(ranges.min() * 50) / 50, ranges.max() + 0.02, 0.02)
    axis.hist(
        [ranges[~wood], ranges[wood]],
        bins=bins,
        stacked=True,
        color=[FILL, ORANGE],
        label=["foliage", "trunk and branches"],
    )
    grid = np.linspace(bins[0], bins[-1], 1000)
    density = smoothed(ranges, BANDWIDTH_M, grid) * len(ranges) * 0.02
    axis.plot(grid, density, color=BLUE, linewidth=1.6, label="kernel density, 3 cm")
    top = axis.get_ylim()[1]
    for peak in result["peaks_m"]:
        height = np.interp(peak, grid, density)
        axis.plot([peak], [height], "o", color=GREEN, markersize=6, zorder=5)
        axis.annotate(
            f"{peak:.2f} m", (peak, height), (0, 9), textcoords="offset points", ha="center", fontsize=9, color=INK
        )
    axis.set_ylim(0, 1.1 * top)
    axis.set_xlabel("range (m)", fontsize=9)
    axis.set_ylabel("returns in 2 cm", fontsize=9)
    axis.set_title(
        f"A shrub at 8 m: {len(ranges):,} returns of the HDL-64E from {result['places']} places; "
        f"one mode has p = {result['p_one_mode']:.3f}",
        fontsize=10, color=INK,
    )  # fmt: skip
    axis.legend(fontsize=8, frameon=False)
    return made


if __name__ == "__main__":
    main("b_figure8", "Ranges of a shrub (B, Figure 8).", run, show, draw)
