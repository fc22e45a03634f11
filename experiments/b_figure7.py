"""B, Figure 7: mixed pixels of the LMS-291 on nine rods before a board, with and without.

A pulse that hits both a rod and the board reports a range between the two, as long as both lie within
the receiver's cutoff of 1.6 m. Further apart, the rod alone is reported and the mixed pixels vanish.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.presenting import BLUE, FILL, GREEN, GREY, INK, ORANGE, console, figure, main, progress, table
from experiments.range_models import Array
from resweep import Sensor, Simulator, Sweep, World, load_sensor
from resweep.scenes import SCENE_LABELS, box, cylinder, merged

ROW_M = 0.8  # B, 3.4.2: from the sensor to the row of rods
SPACING_M = 0.127
RODS = 9
THIN_M, THICK_M, THICK_ROD = 0.025, 0.075, 6  # B says that one rod is thick, and not which
CUTOFF_M = 1.6  # B, Table 3
OFFSETS_M = (0.6, 2.0)
MARGIN_M = 0.05
CLAIM = "mixed pixels when the board is less than 1.6 m behind the rods, none at larger offsets"


def rod_places() -> Array:
    """Middle of each rod along the row (9,), metres."""
    return (np.arange(RODS) - (RODS - 1) / 2) * SPACING_M


def bench(offset: float) -> World:
    """Nine upright rods in a row across x, and a board ``offset`` behind it; the sensor is at the origin."""
    rods = [
        cylinder((THICK_M if i == THICK_ROD else THIN_M) / 2, 1.0, (ROW_M, y, -0.5), sides=48, instance=i + 1)
        for i, y in enumerate(rod_places())
    ]
    board = box((0.02, 16.0, 2.0), (ROW_M + offset + 0.01, 0.0, -1.0), name="board")
    return World([merged(rods, "rods"), board], labels=SCENE_LABELS)


def sick(changes: dict[str, Any] | None = None, noise: bool = False) -> Sensor:
    """The LMS-291 of B, Table 3."""
    changes = dict(changes or {})
    if not noise:
        changes |= {"receiver.range_noise_sigma_m": 0.0, "receiver.range_quantisation_m": 0.0}
    return load_sensor("sick-lms-291-s05").with_(**changes)


def mixed_pixels(sweep: Sweep, offset: float) -> Array:
    """Whether each return (n,) lies in the air: more than 5 cm behind the row and before the board, on its ray."""
    along = sweep.beam_direction[sweep.beam, 0]
    row, board = ROW_M / along, (ROW_M + offset) / along
    return np.asarray((sweep.range > row + MARGIN_M) & (sweep.range < board - MARGIN_M))


def run(fast: bool = False, seed: int = 7) -> dict[str, Any]:
    """Counts at the two offsets of the paper and over a range of offsets, without and with noise."""
    offsets = np.round(np.arange(0.2, 2.41, 0.2 if fast else 0.05), 3)
    sensors = {"nine": sick(), "random": sick({"beam.rays": "random", "beam.n_rays": 64})}
    sweeps = 5 if fast else 40
    counts: dict[str, list[float]] = {name: [] for name in (*sensors, "noisy")}
    for offset in progress(offsets, "offsets of the board"):
        bench_now = Simulator(bench(float(offset)), sensors["nine"], seed=seed)
        for name, sensor in sensors.items():
            counts[name].append(_count(bench_now.with_sensor(sensor), float(offset), 1 if name == "nine" else sweeps))
        counts["noisy"].append(_count(bench_now.with_sensor(sick(noise=True)), float(offset), sweeps))
    shown = {offset: Simulator(bench(offset), sensors["nine"], seed=seed).sweep(np.eye(4)) for offset in OFFSETS_M}
    result: dict[str, Any] = {
        "cutoff_m": CUTOFF_M,
        "pulses": next(iter(shown.values())).n_beams,
        "mixed": {f"{offset:g}": int(mixed_pixels(sweep, offset).sum()) for offset, sweep in shown.items()},
        "offsets_m": offsets.tolist(),
        "counts": counts,
        "last_offset_with_any_m": {
            name: float(max((o for o, n in zip(offsets, found, strict=True) if n > 0), default=0.0))
            for name, found in counts.items()
        },
        "onset_outer_rods_m": outermost_transition(),
        "paper": CLAIM,
        "_sweeps": shown,
    }
    result["claim_holds"] = bool(
        result["mixed"]["0.6"] > 0
        and all(n > 0 for name in counts for o, n in zip(offsets, counts[name], strict=True) if o <= 1.2)
        and all(n == 0 for name in counts for o, n in zip(offsets, counts[name], strict=True) if o > CUTOFF_M)
    )
    return result


def outermost_transition() -> float:
    """Offset where the outermost rods stop mixing: their rays run at a slant, so offset / cos reaches 1.6 m first."""
    y = float(rod_places()[-1])
    return float(CUTOFF_M * ROW_M / np.hypot(ROW_M, y))


def _count(simulator: Simulator, offset: float, sweeps: int) -> float:
    """Mixed pixels a sweep, the mean over ``sweeps``."""
    return float(np.mean([mixed_pixels(simulator.sweep(np.eye(4), index=i), offset).sum() for i in range(sweeps)]))


def show(result: dict[str, Any]) -> None:
    """Print the counts beside the claim."""
    made = table(
        f"Mixed pixels in a sweep of {result['pulses']} pulses, LMS-291",
        "board behind the rods", "nine-ray stencil", "64 random rays", "nine rays, with noise", "paper",
    )  # fmt: skip
    counts = result["counts"]
    for i, offset in enumerate(result["offsets_m"]):
        if round(offset * 100) % 20 == 0:
            made.add_row(
                f"{offset:.1f} m",
                f"{counts['nine'][i]:.0f}",
                f"{counts['random'][i]:.1f}",
                f"{counts['noisy'][i]:.1f}",
                "present" if offset < CUTOFF_M else "absent",
            )
    console.print(made)
    last = result["last_offset_with_any_m"]
    console.print(
        f"Paper: {CLAIM}. Here: {result['mixed']['0.6']} at 0.6 m and {result['mixed']['2']} at 2 m; the last offset "
        f"with any is {last['nine']:.2f} m (random rays {last['random']:.2f} m, with noise {last['noisy']:.2f} m). "
        f"They can thin out from {result['onset_outer_rods_m']:.2f} m on, where the slanting rays past the outermost "
        f"rods have 1.6 m between rod and board. The claim {'holds' if result['claim_holds'] else 'FAILS'}."
    )


def draw(result: dict[str, Any]) -> Figure:
    """The two scans from above, and the count over the offset of the board."""
    made, axes = figure(13.5, 5.0, 1, 3, width_ratios=[0.8, 1.25, 1.5])
    for axis, (offset, sweep) in zip(axes[0], result["_sweeps"].items(), strict=False):
        mixed = mixed_pixels(sweep, offset)
        points = sweep.points
        for i, y in enumerate(rod_places()):
            radius = (THICK_M if i == THICK_ROD else THIN_M) / 2
            axis.fill(ROW_M + radius * np.cos(_TURN), y + radius * np.sin(_TURN), color=GREY, linewidth=0)
        axis.axvline(ROW_M + offset, color=FILL, linewidth=3, zorder=0)
        axis.scatter(*points[~mixed, :2].T, s=7, color=BLUE, label="on a rod or the board", zorder=3)
        axis.scatter(*points[mixed, :2].T, s=22, color=ORANGE, marker="D", label="mixed pixel", zorder=4)
        axis.set_title(f"board {offset:g} m behind the rods: {mixed.sum()} mixed", fontsize=9.5, color=INK)
        axis.set_aspect("equal")
        axis.set_xlim(0.6, ROW_M + offset + 0.15)
        axis.set_ylim(-1.25, 1.25)
        axis.set_xlabel("x, away from the sensor (m)", fontsize=8.5)
    axes[0, 0].set_ylabel("y (m)", fontsize=8.5)
    axes[0, 0].legend(fontsize=7.5, frameon=True, edgecolor="none", framealpha=0.9, loc="upper center")
    axis = axes[0, 2]
    for name, colour, label in (
        ("nine", BLUE, "nine-ray stencil"),
        ("noisy", ORANGE, "nine-ray stencil, with noise (mean)"),
        ("random", GREEN, "64 random rays, whole spot (mean)"),
    ):
        axis.plot(
            result["offsets_m"], result["counts"][name], "-o", color=colour, markersize=3, linewidth=1.4, label=label
        )
    axis.axvline(CUTOFF_M, color=INK, linestyle="--", linewidth=1)
    axis.axvspan(result["onset_outer_rods_m"], CUTOFF_M, color=FILL, alpha=0.35, linewidth=0)
    top = axis.get_ylim()[1]
    axis.text(CUTOFF_M + 0.03, 0.93 * top, "cutoff 1.6 m", fontsize=8, color=INK)
    axis.set_ylim(bottom=-0.4)
    axis.set_xlabel("offset of the board behind the rods (m)", fontsize=8.5)
    axis.set_ylabel("mixed pixels in a sweep", fontsize=8.5)
    axis.set_title("mixed pixels end at the signal cutoff", fontsize=9.5, color=INK)
    axis.legend(fontsize=7.5, frameon=False, loc="center left", bbox_to_anchor=(0.1, 0.4))
    return made


_TURN = np.linspace(0, 2 * np.pi, 60)

if __name__ == "__main__":
    main("b_figure7", "Mixed pixels on rods before a board (B, Figure 7).", run, show, draw)
