"""D's raydrop (4.2, Table 3, Figure 7): which beams do not return, by every variant, on places that were held out.

A beam counts if it returned in simulation; it is a drop if it did not in reality. Scores are of drops, beside those of
the base rate. ``random`` drops at the mean rate of the training places (D: 10 %), ``default`` is what simulation draws
without a learned model, by the tables that the build of each world estimated, ``oracle`` knows the truth.
``unet-paper`` is D's network with D's channels and rate; the others also know how often each laser comes back empty
towards each azimuth. On synthetic streets the law of the drops is known, and networks must recover it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.learned_places import Split, splits
from experiments.presenting import BLUE, GREEN, GREY, ORANGE, console, figure, main, progress, table
from resweep.evaluation.compare.pano import DEPTH_MAX_M
from resweep.evaluation.metrics.metrics import psnr
from resweep.learn.beam_pairs import BeamPair
from resweep.learn.blindness import add_blindness, fill_blindness
from resweep.learn.boosting import BoostingConfig
from resweep.learn.default_scatter import find_drop_chance
from resweep.learn.examples import join_layouts
from resweep.learn.fitting import FitConfig, fit
from resweep.learn.scores import find_cut, measure_reliability, score_drops
from resweep.learn.training import PAPER_RATE, TrainingConfig
from resweep.pose import Array
from resweep.simulate.beam_channels import CHANNELS

VARIANTS = ("none", "random", "default", "logistic", "mlp", "trees", "unet", "unet-paper", "oracle")
_SHOWN = ("drop_f1", "drop_f1_sampled", "brier", "log_loss", "ece", "drop_rate_js", "pano_depth_rmse_m", "pano_psnr_db")
_RANGE = CHANNELS.index("range_m")


def run(fast: bool, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Scores of every variant on every place that is scored."""
    rows: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []
    for split in splits(fast, only, cache):
        found, picture = compare(split, fast)
        rows += found
        pictures.append(picture)
    return {"rows": rows, "_pictures": pictures}


def compare(split: Split, fast: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of one kind of place, and what its picture shows."""
    layout = join_layouts([*split.train, *split.choose])
    train, choose, share = add_blindness(split.train, split.choose, layout.rings)
    score = [fill_blindness(pair, share) for pair in split.score]
    blindless = {"train": split.train, "choose": split.choose, "score": split.score}
    options = {"train": train, "choose": choose, "score": score}
    rate = float(np.concatenate([pair.dropped for pair in split.train]).mean())
    rows, said = [], {}
    for variant in progress(VARIANTS, f"variants on {split.name}"):
        pairs = blindless if variant == "unet-paper" else options
        known = {"none": 0.0, "random": rate}.get(variant)
        if known is not None:
            by_pair, cut = [np.full(len(pair.channels), known, np.float32) for pair in score], 0.0
        elif variant == "default":
            if any(pair.default is None for pair in [*split.choose, *split.score]):
                continue  # worlds of streets with few sweeps know no scatter
            by_pair, cut = [find_drop_chance(pair) for pair in split.score], _find_cut(split.choose)
        elif variant == "oracle":
            by_pair, cut = [(~pair.returned).astype(np.float32) for pair in score], 0.5
        else:
            fitted = fit("drop", pairs["train"], pairs["choose"], layout, configure(variant, fast), progress=False)
            by_pair, cut = [fitted.predict(pair) for pair in pairs["score"]], fitted.part.scores["cut"]
        said[variant] = by_pair
        rows += _score_places(split, score, variant, by_pair, cut)
    return rows, _keep_picture(split.name, score, said)


def _find_cut(pairs: list[BeamPair]) -> float:
    """The chance of a loss from which on a beam counts as lost by default, for the largest F1 on these pairs."""
    chance = np.concatenate([find_drop_chance(pair)[pair.chosen] for pair in pairs])
    return find_cut(chance, np.concatenate([pair.dropped for pair in pairs]))


def configure(variant: str, fast: bool, epochs: int = 12) -> FitConfig:
    """How a variant is fitted."""
    epochs, trees = (min(epochs, 6), 40) if fast else (epochs, 80)
    training = TrainingConfig(epochs=epochs, patience=4)
    if variant == "unet-paper":
        paper = TrainingConfig(learning_rate=PAPER_RATE, schedule="constant", epochs=epochs, patience=4)
        return FitConfig(variant="unet", width=16, training=paper)
    most = 50_000 if fast else 300_000
    return FitConfig.model_validate(
        {"variant": variant, "training": training, "trees": BoostingConfig(trees=trees, most_rays=most)}
    )


def _score_places(
    split: Split, pairs: list[BeamPair], variant: str, said: list[Array], cut: float
) -> list[dict[str, Any]]:
    rows = []
    for place in dict.fromkeys(pair.place for pair in pairs):
        own = [at for at, pair in enumerate(pairs) if pair.place == place]
        p = np.concatenate([said[at][pairs[at].chosen] for at in own])
        y = np.concatenate([pairs[at].dropped for at in own])
        values = np.concatenate([pairs[at].channels.values[pairs[at].chosen] for at in own])
        scores = score_drops(p, y, cut if variant != "none" else 1.0, values)
        depths = [measure_depth(pairs[at], draw_mask(said[at], at)) for at in own]
        pano = {
            "pano_depth_rmse_m": float(np.mean([depth[0] for depth in depths])),
            "pano_psnr_db": float(np.mean([depth[1] for depth in depths])),
        }
        name = place if place.startswith("street") else f"{split.name} {place}"
        rows.append({"place": name, "variant": variant, "beams": len(y), **scores, **pano})
    return rows


def draw_mask(probability: Array, seed: int) -> Array:
    """Which beams (b,) are dropped, drawn as simulation does."""
    return np.asarray(np.random.default_rng(seed).random(len(probability)) < probability)


def measure_depth(pair: BeamPair, dropped: Array) -> tuple[float, float]:
    """RMSE (metres) and PSNR of depth by the protocol of neural papers: every beam counts, no return is 0."""
    sim = np.where(dropped, 0.0, pair.channels.values[:, _RANGE].astype(np.float64))
    sides = [np.clip(side[pair.counted], 1e-6, DEPTH_MAX_M) for side in (sim, pair.range.astype(np.float64))]
    square = float(((sides[0] - sides[1]) ** 2).mean())
    return float(np.sqrt(square)), float(psnr(square, DEPTH_MAX_M))


def _keep_picture(name: str, pairs: list[BeamPair], said: dict[str, list[Array]]) -> dict[str, Any]:
    """Images of the first sweep, and reliability diagrams of all."""
    pair, columns = pairs[0], pairs[0].layout.columns
    cells = pair.channels.find_cells(columns)

    def image(values: Array) -> Array:
        made = np.zeros(pair.layout.rings * columns)
        made[cells] = values
        return made.reshape(-1, columns)[::-1]

    ranges = pair.channels.values[:, _RANGE]
    truth = np.concatenate([pair.dropped for pair in pairs])
    diagrams = {
        variant: measure_reliability(np.concatenate([p[q.chosen] for p, q in zip(by, pairs, strict=True)]), truth)
        for variant, by in said.items()
        if variant in ("logistic", "mlp", "trees", "unet")
    }
    return {
        "name": name,
        "diagrams": diagrams,
        "images": {
            "recorded": image(pair.range),
            "simulated, no raydrop": image(ranges),
            "simulated, raydrop by the U-Net": image(np.where(draw_mask(said["unet"][0], 0), 0, ranges)),
        },
        "probability": image(np.where(pair.channels.occupied, said["unet"][0], 0)),
    }


def show(result: dict[str, Any]) -> None:
    """Print a table for each place."""
    for place in dict.fromkeys(row["place"] for row in result["rows"]):
        rows = [row for row in result["rows"] if row["place"] == place]
        title = f"{place}: {rows[0]['beams']:,} beams, {100 * rows[0]['drop_rate']:.1f} % dropped"
        made = table(f"{title}; Brier {rows[0]['brier_base']:.4f} at the base rate", "variant", *_SHOWN)
        for row in rows:
            made.add_row(row["variant"], *(f"{row[name]:.4f}" for name in _SHOWN))
        console.print(made)


def draw(result: dict[str, Any]) -> Figure:
    """D's Figure 7 as range images, and reliability diagrams."""
    pictures = result["_pictures"]
    made, axes = figure(
        11.0, 5.2 * len(pictures), 5 * len(pictures), 1, height_ratios=[1, 1, 1, 1, 2.4] * len(pictures)
    )
    for number, picture in enumerate(pictures):
        own = axes[5 * number : 5 * number + 5, 0]
        for axis, (name, image) in zip(own, picture["images"].items(), strict=False):
            shown = np.where(image > 0, image, np.nan)
            axis.imshow(shown, aspect="auto", cmap="viridis_r", vmin=0, vmax=40, interpolation="nearest")
            axis.set_title(f"{picture['name']}: {name}, range", fontsize=8, loc="left")
        own[3].imshow(picture["probability"], aspect="auto", cmap="magma", vmin=0, vmax=1, interpolation="nearest")
        own[3].set_title("probability of a drop", fontsize=8, loc="left")
        for axis in own[:4]:
            axis.set_xticks([])
            axis.set_yticks([])
            axis.grid(False)
        _draw_diagrams(own[4], picture["diagrams"])
    return made


def _draw_diagrams(axis: Any, diagrams: dict[str, Any]) -> None:
    axis.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1)
    for (name, diagram), colour in zip(diagrams.items(), (GREY, BLUE, GREEN, ORANGE), strict=False):
        used = np.array(diagram["count"]) > 20
        said, true = np.array(diagram["predicted"])[used], np.array(diagram["true"])[used]
        axis.plot(said, true, "o-", color=colour, markersize=3, label=f"{name}, error {diagram['error']:.3f}")
    axis.set_xlabel("predicted probability of a drop")
    axis.set_ylabel("share that was dropped")
    axis.legend(fontsize=7, frameon=False)


if __name__ == "__main__":
    main("d_raydrop", __doc__ or "", run, show, draw)
