"""B, Figure 5: how far a beam reaches into a stand of stems, simulated and by two analytical laws.

A pulse of which no ray hits a stem has no range, so both laws are conditioned on a return from within the
stand, D < r < D + 5 m; the unconditioned likelihood is given too. Stems stand with their *axes* at or behind
D, so that a few returns come from up to half a diameter before it; they are counted and left out of the
comparison. Pulses into one stand share its stems: errors are taken between stands.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import minimize_scalar

from experiments.presenting import BLUE, FILL, GREEN, INK, ORANGE, console, figure, main, progress, table
from experiments.range_models import Array, Exponential, Gamma, integral, ks_distance, log_likelihood
from experiments.stem_stand import DEPTH_M, DIVERGENCE_RAD, Shots, shoot_stand

DISTANCES_M = (20.0, 30.0)
DENSITIES_PER_M2 = (50.0, 100.0)
DIAMETERS_M = (0.01, 0.02)
SAMPLINGS: dict[str, dict[str, Any]] = {"nine": {}, "random": {"rays": "random", "n_rays": 64}}
BIN_M = 0.1
CLAIM = "gamma is the better predictor, and its mode matches the simulation fairly well, better for thick stems"

Case = tuple[float, float, float]


def run(fast: bool = False, seed: int = 5) -> dict[str, Any]:
    """The eight cases of Figure 5 for the nine-ray stencil and for 64 random rays over the whole spot."""
    stands, pulses = (4, 300) if fast else (60, 500)
    shots = shoot_all(stands, pulses, seed)
    cases = [_compare(case, name, shot) for (case, name), shot in shots.items()]
    law = Exponential(20.0, 50.0, 0.01, DIVERGENCE_RAD)
    result: dict[str, Any] = {
        "stands": stands,
        "pulses_per_case": stands * pulses,
        "bin_m": BIN_M,
        "cases": cases,
        "eq2_integral": integral(law, 20.0, 220.0),
        "eq2_integral_if_squared": law.integral_with_square(),
        "paper": CLAIM,
        "_shots": shots,
    }
    result["findings"] = {name: _findings([c for c in cases if c["sampling"] == name]) for name in SAMPLINGS}
    return result


def shoot_all(stands: int, pulses: int, seed: int) -> dict[tuple[Case, str], Shots]:
    """Ranges for every case (D, λ, d) and sampling, the stands joined."""
    ranges: dict[tuple[Case, str], list[Array]] = {}
    work = list(product(DENSITIES_PER_M2, DIAMETERS_M, range(stands)))
    for density, diameter, stand in progress(work, "stands of stems"):
        for distance, name, found in shoot_stand(
            density, diameter, DISTANCES_M, SAMPLINGS, pulses, 1000 * seed + stand
        ):
            ranges.setdefault(((distance, density, diameter), name), []).append(found)
    return {
        key: Shots(np.concatenate(found), np.repeat(np.arange(stands), [len(r) for r in found]), stands * pulses)
        for key, found in sorted(ranges.items(), key=lambda item: (item[0][1], item[0][0]))
    }


def _compare(case: Case, sampling: str, shots: Shots) -> dict[str, Any]:
    distance, density, diameter = case
    far = distance + DEPTH_M
    inside = (shots.ranges > distance) & (shots.ranges < far)
    r, stand = shots.ranges[inside], shots.stand[inside]
    laws = {name: law(distance, density, diameter, DIVERGENCE_RAD) for name, law in _LAWS.items()}
    gain = log_likelihood(r, laws["gamma"], distance, far) - log_likelihood(r, laws["exponential"], distance, far)
    row: dict[str, Any] = {
        "sampling": sampling,
        "distance_m": distance,
        "density_per_m2": density,
        "diameter_m": diameter,
        "returns": len(shots.ranges),
        "lost_share": shots.lost,
        "before_edge_share": float(np.mean(shots.ranges <= distance)),
        "mean_depth_m": float(r.mean() - distance),
        "mode_m": histogram_mode(r, distance),
        "mode_interval_m": mode_interval(r, stand, distance),
        "gamma_shape": laws["gamma"].shape,
        "fitted_shape": fitted_shape(r, case),
        "gamma_gain": float(gain.mean()),
        "gamma_gain_error": between_stands(gain, stand),
    }
    for name, law in laws.items():
        row[name] = {
            "mode_m": law.mode,
            "ks": ks_distance(r, law, distance, far),
            "log_likelihood": float(log_likelihood(r, law, distance, far).mean()),
            "log_likelihood_untruncated": float(log_likelihood(r, law, -np.inf, np.inf).mean()),
        }
    return row


_LAWS: dict[str, Any] = {"gamma": Gamma, "exponential": Exponential}


def histogram_mode(ranges: Array, distance: float) -> float:
    """Centre of the fullest of the bins of 0.1 m that start at the stand's edge."""
    counts, edges = np.histogram(ranges, bins=distance + np.arange(0.0, DEPTH_M + BIN_M / 2, BIN_M))
    return float(edges[counts.argmax()] + BIN_M / 2)


def mode_interval(ranges: Array, stand: Array, distance: float, draws: int = 200) -> tuple[float, float]:
    """The 5th and 95th percentile of the mode over bootstraps of whole stands."""
    rng = np.random.default_rng(0x6D6F6465)
    by_stand = [ranges[stand == i] for i in np.unique(stand)]
    picks = rng.integers(0, len(by_stand), (draws, len(by_stand)))
    modes = [histogram_mode(np.concatenate([by_stand[i] for i in pick]), distance) for pick in picks]
    low, high = np.percentile(modes, [5, 95])
    return float(low), float(high)


def between_stands(values: Array, stand: Array) -> float:
    """Standard error of the mean of ``values`` when those of one stand go together."""
    means = np.array([values[stand == i].mean() for i in np.unique(stand)])
    return float(means.std(ddof=1) / np.sqrt(len(means)))


def fitted_shape(ranges: Array, case: Case) -> float:
    """The α that makes eq. 5 likeliest, all else as printed; eq. 4 claims 1 + γD²."""
    distance, density, diameter = case

    def cost(shape: float) -> float:
        law = Gamma(distance, density, diameter, (shape - 1.0) / distance**2)
        return -float(log_likelihood(ranges, law, distance, distance + DEPTH_M).mean())

    return float(minimize_scalar(cost, bounds=(0.5, 8.0), method="bounded").x)


def _findings(cases: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "cases": len(cases),
        "gamma_likelier": sum(c["gamma_gain"] > 0 for c in cases),
        "gamma_likelier_by_2_errors": sum(c["gamma_gain"] > 2 * c["gamma_gain_error"] for c in cases),
        "exponential_likelier_by_2_errors": sum(c["gamma_gain"] < -2 * c["gamma_gain_error"] for c in cases),
        "gamma_nearer_by_ks": sum(c["gamma"]["ks"] < c["exponential"]["ks"] for c in cases),
        "gamma_mode_nearer": sum(
            abs(c["gamma"]["mode_m"] - c["mode_m"]) < abs(c["exponential"]["mode_m"] - c["mode_m"]) for c in cases
        ),
        "mode_error_by_diameter_m": {
            f"{d:g}": float(np.mean([abs(c["gamma"]["mode_m"] - c["mode_m"]) for c in cases if c["diameter_m"] == d]))
            for d in DIAMETERS_M
        },
    }


def show(result: dict[str, Any]) -> None:
    """Print both samplings case by case, then what they say of the paper's claims."""
    for name, title in (("nine", "nine-ray stencil of B"), ("random", "64 random rays over the whole spot")):
        made = table(
            f"{title}: {result['pulses_per_case']:,} pulses a case in {result['stands']} stands, γ = 1 mrad",
            "D, λ, d", "lost", "mode\nsim.", "\n5–95 %", "mode\ngamma", "mode\nexp.", "KS\ngamma", "KS\nexp.",
            "log L\ngamma", "log L\nexp.", "gain of\ngamma", "α\neq. 4", "α\nfitted",
        )  # fmt: skip
        for c in (c for c in result["cases"] if c["sampling"] == name):
            low, high = c["mode_interval_m"]
            made.add_row(
                f"{c['distance_m']:.0f} m, {c['density_per_m2']:.0f}, {1000 * c['diameter_m']:.0f} mm",
                f"{c['lost_share']:.1%}",
                f"{c['mode_m']:.2f}",
                f"{low:.2f}–{high:.2f}",
                *(f"{c[law]['mode_m']:.2f}" for law in _LAWS),
                *(f"{c[law]['ks']:.3f}" for law in _LAWS),
                *(f"{c[law]['log_likelihood']:.3f}" for law in _LAWS),
                f"{c['gamma_gain']:+.3f}±{c['gamma_gain_error']:.3f}",
                f"{c['gamma_shape']:.2f}",
                f"{c['fitted_shape']:.2f}",
            )
        console.print(made)
        console.print(_in_words(result["findings"][name]) + "\n")
    console.print(f"Paper: {CLAIM}.")
    console.print(
        "The circle of the stencil has 0.35 of the radius of the spot (B, 3.2.1, as printed), so nine rays average "
        "over less than the beam is wide; random rays fill it. They differ by that width and by the number "
        "of rays, and so do their verdicts."
    )
    console.print(
        f"Eq. 2 with (r+D)/2 in the exponent integrates to {result['eq2_integral']:.6f}; with (r+D)² it would give "
        f"{result['eq2_integral_if_squared']:.3f} (D = 20 m, λ = 50, d = 10 mm), so the first is meant."
    )


def _in_words(found: dict[str, Any]) -> str:
    thin, thick = found["mode_error_by_diameter_m"].values()
    return (
        f"Likelihood prefers gamma in {found['gamma_likelier']} of {found['cases']} cases "
        f"({found['gamma_likelier_by_2_errors']} beyond two standard errors) and the exponential beyond two standard "
        f"errors in {found['exponential_likelier_by_2_errors']}; KS prefers gamma in {found['gamma_nearer_by_ks']}. "
        f"Gamma's mode is the nearer one in {found['gamma_mode_nearer']}, off by {thin:.2f} m on average for 10 mm "
        f"stems and {thick:.2f} m for 20 mm."
    )


def draw(result: dict[str, Any]) -> Figure:
    """A row for each distance, a column for each density and diameter."""
    columns = list(product(DENSITIES_PER_M2, DIAMETERS_M))
    made, axes = figure(13.5, 6.4, 2, len(columns), sharex="col", sharey="col")
    for (row, distance), (column, (density, diameter)) in product(enumerate(DISTANCES_M), enumerate(columns)):
        axis = axes[row, column]
        case = (distance, density, diameter)
        reach = min(DEPTH_M, 5.0 / (density * diameter))
        bins = np.arange(0.0, DEPTH_M + BIN_M / 2, BIN_M)
        for name, look in _LOOKS.items():
            depth = result["_shots"][case, name].ranges - distance
            axis.hist(depth[(depth > 0) & (depth < DEPTH_M)], bins=bins, density=True, **look)
        depth = np.linspace(1e-3, DEPTH_M, 600)
        for law, colour, dashes in (("gamma", BLUE, "-"), ("exponential", ORANGE, "--")):
            model = _LAWS[law](distance, density, diameter, DIVERGENCE_RAD)
            truncated = np.exp(log_likelihood(distance + depth, model, distance, distance + DEPTH_M))
            axis.plot(depth, truncated, dashes, color=colour, linewidth=1.8, label=f"{law} (B, eq. {_EQUATION[law]})")
        axis.set_title(f"D = {distance:.0f} m, λ = {density:.0f} /m², d = {1000 * diameter:.0f} mm", fontsize=9)
        axis.set_xlim(0, reach)
        if row == 1:
            axis.set_xlabel("range behind the stand's edge, r − D (m)", fontsize=8.5)
        if column == 0:
            axis.set_ylabel("density (1/m)", fontsize=8.5)
    axes[0, 0].legend(fontsize=7.5, frameon=False, labelcolor=INK)
    made.suptitle(
        "Range of a 1 mrad beam in a stand of stems: simulation against B's two laws, given a return from the stand",
        fontsize=11.5, color=INK,
    )  # fmt: skip
    return made


_EQUATION = {"gamma": "5", "exponential": "2"}
_LOOKS: dict[str, dict[str, Any]] = {
    "nine": {"color": FILL, "label": "simulated, nine-ray stencil"},
    "random": {"histtype": "step", "color": GREEN, "linewidth": 1.3, "label": "simulated, 64 random rays"},
}

if __name__ == "__main__":
    main("b_figure5", "Ranges in grass against two laws (B, Figure 5).", run, show, draw)
