"""What refining poses, lasers and the motion within sweeps brings on held-out sweeps, and what is found.

The same splats are built from the other sweeps five times: with poses and lasers as they were recorded; with a pose for
each sweep and an elevation and range for each laser; with range offsets that change with range and errors that all
lasers share; with the motion within each sweep by itself; and with motion that goes on from sweep to sweep, which is
the default. The held-out sweep is registered to each world with its pose and its motion (`Retracer.place`). What
compensation left in the sweeps of SemanticKITTI is corrected by the recorded poses in all of them
(`prepare_drive`).

Raw KITTI moves 1.4 m in a sweep. Argoverse 2 has two sweeps here, so that one is left when one is held out: its rows
refine both sweeps together, and compare how well their surfaces agree. The settings were chosen on synthetic streets
(`street`, whose errors are known) and on SemanticKITTI 00 and 03. With a cache file results are kept one by one, and a
second run goes on after them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

import resweep as rs
from experiments.c_places import DATA
from experiments.disturbed import MOTION, Disturbed, scan_disturbed
from experiments.kept_results import Figures, KeptResults
from experiments.presenting import BLUE, console, figure, main, progress, table
from resweep.calibrate.calibrate import calibrate
from resweep.calibrate.config import CalibrateConfig
from resweep.calibration import Calibration
from resweep.map.accumulate import find_mappable

_NONE = 1e-9
_NO_SHARED = {"range_slope_prior": _NONE, "elevation_bias_prior_rad": _NONE, "range_bias_prior_m": _NONE}
_NO_MOTION: dict[str, float] = {"turn_rate_prior_rad_s": _NONE, "shift_rate_prior_m_s": _NONE, "continuous": False}
HOW: dict[str, dict[str, float] | None] = {
    "as recorded": None,
    "poses and lasers": {**_NO_SHARED, **_NO_MOTION},
    "... ranges by range, shared errors": _NO_MOTION,
    "... motion within sweeps": {"continuous": False},
    "... continuous motion (default)": {},
}
FIGURES = ("recovered_0.10m", "within_0.10m", "range_median_m", "range_rmse_m", "return_f1", "log_likelihood", "c2c_m")


@dataclass(frozen=True)
class Recording:
    """A folder of recordings, the sweeps held out one by one, and whether settings were chosen on it."""

    name: str
    path: str
    held: tuple[int, ...]
    chosen_on: bool = False


RECORDINGS = (
    Recording("SemanticKITTI 00", "semantickitti_mini/sequences/00", (5,), True),
    Recording("SemanticKITTI 03", "semantickitti_mini/sequences/03", (5,), True),
    Recording("SemanticKITTI 04", "semantickitti_mini/sequences/04", (5,)),
    Recording("SemanticKITTI 06", "semantickitti_mini/sequences/06", (5,)),
    Recording("KITTI raw 0051", "kitti_raw_0051_30", (8, 15, 22)),
    Recording("Argoverse 2", "argoverse2/7fab2350", ()),
)


def measure(recording: Recording, held: int, how: str) -> Figures:
    """The figures of one held-out sweep, and what was found of lasers and poses."""
    given = HOW[how]
    config = rs.SplatConfig(calibrate=None if given is None else CalibrateConfig(**given))  # type: ignore[arg-type]
    log = rs.open_log(DATA / recording.path)
    found: list[Calibration | None] = []

    def build(rest: rs.Log) -> rs.World:
        world = rs.build(rest, config, progress=False)
        found.append(world.calibration)
        return world

    report = rs.holdout(log, [held], build=build, progress=False)
    return {"plane_residual_m": None, **{name: report.metrics[name] for name in FIGURES}, **_list_findings(found[0])}


def measure_agreement(recording: Recording, how: str) -> Figures:
    """How far returns lie from local planes of all sweeps of a recording, too short to hold one out."""
    given = HOW[how]
    log = rs.open_log(DATA / recording.path)
    config = rs.SplatConfig().map
    labels = config.choose_labels(log)
    found = calibrate(
        log,
        CalibrateConfig(**(given or {})),  # type: ignore[arg-type]
        lambda sweep: find_mappable(sweep, config, labels),
    )
    before, after = found.plane_residual_m
    figures: Figures = dict.fromkeys(FIGURES)
    if given is None:
        return {**figures, "plane_residual_m": before, **_list_findings(None)}
    return {**figures, "plane_residual_m": after, **_list_findings(found.calibration)}


def _list_findings(calibration: Calibration | None) -> dict[str, Any]:
    if calibration is None or calibration.sigma is None:
        return {"elevation_bias_deg": None, "elevation_bias_sigma_deg": None, "found": []}
    bias, sigma = np.degrees([calibration.elevation_bias_rad, calibration.sigma.elevation_bias_rad])
    return {
        "elevation_bias_deg": float(bias),
        "elevation_bias_sigma_deg": float(sigma),
        "found": calibration.describe(),
    }


def measure_street(sensor: str, sweeps: int, seed: int) -> dict[str, Any]:
    """A synthetic street whose lasers, poses and motion are off by known amounts: errors over stated sigmas."""
    known: Disturbed = scan_disturbed(sensor, sweeps, seed)
    found = calibrate(known.log, CalibrateConfig(**MOTION))  # type: ignore[arg-type]
    lasers, sigma = found.calibration, found.calibration.sigma
    assert sigma is not None
    z = {
        name: (getattr(lasers, name) - getattr(known.lasers, name)) / getattr(sigma, name)
        for name in ("elevation_rad", "range_m", "range_slope")
    }
    bias = (lasers.elevation_bias_rad - known.lasers.elevation_bias_rad) / sigma.elevation_bias_rad
    return {
        "sensor": sensor,
        "sweeps": sweeps,
        "plane_residual_m": list(found.plane_residual_m),
        "elevation_bias_z": float(bias),
        **{f"{name}_z_rms": float(np.sqrt((values**2).mean())) for name, values in z.items()},
        **{f"{name}_z_max": float(np.abs(values).max()) for name, values in z.items()},
        "rates_rms_before": np.sqrt((known.changes[:, 6:] ** 2).mean(axis=0)).tolist(),
        "rates_rms_after": np.sqrt(((found.rates - known.changes[:, 6:]) ** 2).mean(axis=0)).tolist(),
        "found": lasers.describe(),
    }


def run(fast: bool = False, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """The synthetic street, then all ways on every recording that is at hand."""
    streets = [("velodyne-hdl-32e", 4, 1)] if fast else [("velodyne-hdl-32e", 10, 1), ("velodyne-hdl-64e", 12, 2)]
    known = [] if fast else [each for each in RECORDINGS if (DATA / each.path).exists()]
    known = [each for each in known if only.lower() in each.name.lower()]
    jobs = [(each, held, how) for each in known for held in (each.held or (-1,)) for how in HOW]
    kept = KeptResults(cache, ("plane_residual_m", *FIGURES, *_list_findings(None)))
    rows = []
    for each, held, how in progress(jobs, "held-out sweeps", len(jobs)):
        compute = partial(measure, each, held, how) if held >= 0 else partial(measure_agreement, each, how)
        given = HOW[how]
        settings = "" if given is None else CalibrateConfig(**given).model_dump_json()  # type: ignore[arg-type]
        facts = {"recording": each.name, "sweep": held if held >= 0 else None, "used_for_choosing": each.chosen_on}
        found = kept.find(" | ".join((each.path, str(held), how, settings)), compute)
        rows.append({**facts, "how": how, **found})
    found_again = [measure_street(*each) for each in streets if not only or only == "street"]
    return {"street": found_again, "rows": rows, "only": only}


def show(result: dict[str, Any]) -> None:
    """Print the synthetic streets, then a row for each recording and way, then what was found."""
    shown = table("Known errors found again, in stated sigmas (rms by ring; largest)", "street", "elevation", "range",
                  "range by range", "mean elevation")  # fmt: skip
    for row in result["street"]:
        cells = [
            f"{row[f'{name}_z_rms']:.1f}; {row[f'{name}_z_max']:.1f}"
            for name in ("elevation_rad", "range_m", "range_slope")
        ]
        shown.add_row(f"{row['sensor']}, {row['sweeps']} sweeps", *cells, f"{row['elevation_bias_z']:+.1f}")
    console.print(shown)
    shown = table("Held-out sweeps (Argoverse 2: median distance from planes)", "recording, sweep", "chosen on", "how",
                  "recovered %", "median cm", "RMSE m", "likelihood", "mean elevation °")  # fmt: skip
    for row in result["rows"]:
        bias = row["elevation_bias_deg"]
        bias_text = "-" if bias is None else f"{bias:+.3f} ± {row['elevation_bias_sigma_deg']:.3f}"
        if row["sweep"] is None:
            cells = ["-", f"{100 * row['plane_residual_m']:.2f}", "-", "-"]
        else:
            cells = [
                f"{100 * row['recovered_0.10m']:.1f}",
                f"{100 * row['range_median_m']:.2f}",
                f"{row['range_rmse_m']:.2f}",
                f"{row['log_likelihood']:.2f}",
            ]
        name = row["recording"] if row["sweep"] is None else f"{row['recording']}, {row['sweep']}"
        shown.add_row(name, "yes" if row["used_for_choosing"] else "no", row["how"], *cells, bias_text)
    console.print(shown)
    for row in result["rows"]:
        if row["how"].endswith("(default)"):
            console.print(f"{row['recording']}, {row['sweep']}:", *row["found"], sep="\n  ")


def draw(result: dict[str, Any]) -> Figure:
    """The recovered share of each held-out sweep by what was refined."""
    rows = [row for row in result["rows"] if row["sweep"] is not None]
    names = list(dict.fromkeys(f"{row['recording']}, {row['sweep']}" for row in rows))
    made, axes = figure(7.0, 1.6 + 0.5 * max(len(names), 1))
    axis = axes[0, 0]
    for at, how in enumerate(HOW):
        shares = [100 * row["recovered_0.10m"] for row in rows if row["how"] == how]
        places = np.arange(len(shares)) + 0.17 * (at - 2)
        axis.barh(places, shares, 0.15, color=BLUE, alpha=0.2 + 0.2 * at, label=how)
    axis.set_yticks(range(len(names)), names, fontsize=7)
    axis.set_xlabel("true returns recovered to 10 cm (%)", fontsize=8)
    axis.legend(fontsize=7, frameon=False)
    return made


if __name__ == "__main__":
    main("c_poses", "Poses, lasers and motion within sweeps refined.", run, show, draw)
