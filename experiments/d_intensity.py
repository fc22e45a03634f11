"""The intensity of returns: physics alone, and learned on top of it, on places that training did not see (D, 4.2).

Physics is the reflectance of the primitive hit, with range, incidence and the gain of the laser put back. Learned
models give a distribution; RMSE, MAE and correlation are of its mean, CRPS and log-loss of itself, and the divergence
of histograms is of intensities drawn from it. Sequences 00 and 04 of SemanticKITTI are trained on, 03 decides when to
stop, 05 and 06 are reported. ``neighbour`` predicts a recorded intensity by that of the next beam but one of its laser,
which no simulation knows. Both scatter, so that a perfect mean would have about its RMSE over the square root of two.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.d_raydrop import configure
from experiments.learned_places import Split, splits
from experiments.presenting import BLUE, GREY, console, figure, main, progress, table
from resweep.learn.beam_pairs import BeamPair
from resweep.learn.blindness import add_blindness, fill_blindness
from resweep.learn.examples import join_layouts, select_beams
from resweep.learn.fitting import FittedModel, fit, score_intensities
from resweep.learn.intensity_bins import find_neighbours
from resweep.learn.scores import score_intensity
from resweep.pose import Array

VARIANTS = ("logistic", "mlp", "trees", "unet")
SCORES = ("intensity_rmse", "intensity_mae", "intensity_corr", "intensity_js", "intensity_crps", "intensity_log_loss")
GOAL = {"intensity_rmse": 0.085, "intensity_corr": 0.75}
_EPOCHS = {"mlp": 8, "unet": 24}


def run(fast: bool, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Scores of every variant on every kind of place, and on all recorded ones together."""
    rows = [row for split in splits(fast, only, cache) for row in compare(split, fast)]
    return {"goal": GOAL, "rows": rows}


def compare(split: Split, fast: bool) -> list[dict[str, Any]]:
    """Scores of the variants on the places of one kind, each by itself and all together."""
    layout = join_layouts([*split.train, *split.choose])
    train, choose, share = add_blindness(split.train, split.choose, layout.rings)
    score = [fill_blindness(pair, share) for pair in split.score]
    models: dict[str, FittedModel] = {}
    for variant in progress(VARIANTS[:2] if fast else VARIANTS, f"training on {split.name}"):
        config = configure(variant, fast, epochs=_EPOCHS.get(variant, 8))
        models[variant] = fit("intensity", train, choose, layout, config, progress=False)
    places = list(dict.fromkeys(pair.place for pair in score))
    rows = []
    for place in (*places, ", ".join(places)):
        own = [pair for pair in score if pair.place in place.split(", ")]
        named = f"{split.name} {place}"
        rows.append({"place": named, "variant": "physics", **_score_physics(own)})
        rows += [{"place": named, "variant": name, **_score(model, own)} for name, model in models.items()]
        rows.append({"place": named, "variant": "neighbour", **_score_neighbour(own)})
    return rows


def _score(model: FittedModel, pairs: Sequence[BeamPair]) -> dict[str, float]:
    light = model.part.light
    assert light is not None
    rows = [select_beams(pair, "intensity") for pair in pairs]
    shares = [model.network.run(pair.channels)[own] for pair, own in zip(pairs, rows, strict=True)]
    drawn = [model.draw_intensities(pair, at)[own] for at, (pair, own) in enumerate(zip(pairs, rows, strict=True))]
    return score_intensities(light, shares, _take(pairs, rows), drawn)


def _score_physics(pairs: Sequence[BeamPair]) -> dict[str, float]:
    rows = [select_beams(pair, "intensity") for pair in pairs]
    said = np.concatenate([pair.simulated[own] for pair, own in zip(pairs, rows, strict=True)])
    return score_intensity(said, np.concatenate(_take(pairs, rows)))


def _score_neighbour(pairs: Sequence[BeamPair]) -> dict[str, float]:
    """The scores of what the next beam but one of the same laser recorded: neighbours themselves alternate."""
    said, true = [], []
    for pair in pairs:
        left, right = find_neighbours(pair)
        after = np.full(len(pair.channels), -1)
        after[left] = right
        second = np.where(after >= 0, after[after], -1)
        used = np.flatnonzero((second >= 0) & pair.returned & pair.returned[second] & pair.counted)
        said.append(pair.intensity[second[used]])
        true.append(pair.intensity[used])
    found = score_intensity(np.concatenate(said), np.concatenate(true))
    return {name: value for name, value in found.items() if name != "intensity_js"}  # of the same returns


def _take(pairs: Sequence[BeamPair], rows: Sequence[Array]) -> list[Array]:
    return [pair.intensity[own] for pair, own in zip(pairs, rows, strict=True)]


def show(result: dict[str, Any]) -> None:
    """Print a table for each place."""
    for place in dict.fromkeys(row["place"] for row in result["rows"]):
        made = table(place, "variant", *(name.removeprefix("intensity_") for name in SCORES))
        for row in result["rows"]:
            if row["place"] == place:
                made.add_row(row["variant"], *(f"{row[name]:.4f}" if name in row else "–" for name in SCORES))
        console.print(made)
    console.print(f"goal: RMSE {GOAL['intensity_rmse']:g}, correlation {GOAL['intensity_corr']:g}")


def draw(result: dict[str, Any]) -> Figure:
    """RMSE and correlation of each variant on the last place."""
    rows = [row for row in result["rows"] if row["place"] == result["rows"][-1]["place"]]
    made, axes = figure(7.0, 3.0, 1, 2)
    for axis, (name, goal) in zip(axes[0], GOAL.items(), strict=True):
        axis.bar(range(len(rows)), [row[name] for row in rows], 0.6, color=BLUE)
        axis.axhline(goal, color=GREY, linewidth=1, linestyle="--")
        axis.set_xticks(range(len(rows)), [row["variant"] for row in rows], fontsize=7)
        axis.set_title(f"{rows[0]['place']}: {name.removeprefix('intensity_')}", fontsize=8, loc="left")
    return made


if __name__ == "__main__":
    main("d_intensity", __doc__ or "", run, show, draw)
