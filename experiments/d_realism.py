"""Can real sweeps be told from simulated ones? A classifier tries, without and with each learned part (D, 4.2).

Sectors of sweeps, recorded and re-simulated at the same poses, are judged by two classifiers: a forest on statistics of
their points, and a small convolutional network on their range images. Both are trained on some places and judged on
others. The better of both counts; 50 % means that nothing separates them. The forest also says which
statistics give simulation away. Places are those that the learned models were not trained on. Beams that returned from
what moves, and those that the simulation marks as unknown, are left out of both.

Physics is the world as it was built: its reflectance, the gains of its lasers, and its blind sectors. ``default`` is
what simulation draws without a learned model: ranges, intensities and losses by the tables of the world. ``noise`` adds
the range noise of the recordings, ``drop`` beams that boosted trees drop, ``intensity`` intensities drawn from a
learned distribution, ``learned`` all three.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.d_raydrop import configure, draw_mask
from experiments.learned_places import Split, splits
from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, progress, table
from experiments.sector_statistics import NAMES, describe
from resweep.learn.beam_pairs import BeamPair
from resweep.learn.blindness import add_blindness, fill_blindness
from resweep.learn.examples import join_layouts
from resweep.learn.fitting import FittedModel, fit
from resweep.learn.pair_noise import estimate_noise
from resweep.learn.scores import score_intensity
from resweep.optional import require
from resweep.pose import Array
from resweep.sensor_scatter import RangeNoise
from resweep.simulate.beam_channels import CHANNELS
from resweep.simulate.noise import add_noise, draw_noise
from resweep.simulate.raydrop import draw_drop_levels

PARTS = ("physics", "default", "noise", "drop", "intensity", "learned")
_SECTORS, _MIN_COLUMNS = 16, 32  # of a sweep at most, and of a sector at least
GOAL = 0.60
_RANGE = CHANNELS.index("range_m")
_EPOCHS = 8
_SHOWN = 6  # statistics that give most away


@dataclass(frozen=True, eq=False)
class Learned:
    """What was learned of a sensor: its noise, its drops and its intensities."""

    noise: RangeNoise | None
    drop: FittedModel
    light: FittedModel


def run(fast: bool, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Accuracies of both classifiers on every kind of place."""
    rows = [row for split in splits(fast, only, cache) for row in compare(split, fast)]
    # Of several kinds of place, recordings come last, and count.
    last = {row["part"]: row for row in rows}
    return {
        "rows": rows,
        "accuracy_physics": last["physics"]["accuracy"],
        "accuracy_default": last["default"]["accuracy"] if "default" in last else None,
        "accuracy_learned": last["learned"]["accuracy"],
        "goal": GOAL,
    }


def compare(split: Split, fast: bool) -> list[dict[str, Any]]:
    """How well sweeps of one kind of place are told from simulated ones, by part."""
    layout = join_layouts([*split.train, *split.choose])
    train, choose, share = add_blindness(split.train, split.choose, layout.rings)
    score = [fill_blindness(pair, share) for pair in split.score]
    learned = Learned(
        estimate_noise(train),
        fit("drop", train, choose, layout, configure("trees", fast), progress=False),
        fit("intensity", train, choose, layout, configure("mlp", fast, epochs=6), progress=False),
    )
    names = list(dict.fromkeys(pair.place for pair in score))
    sectors = min(_SECTORS, min(pair.layout.columns for pair in score) // _MIN_COLUMNS)
    places = np.repeat([names.index(pair.place) for pair in score], sectors)
    real = gather(score, sectors, [(pair.range, pair.intensity, pair.returned) for pair in score])
    rows = []
    known = all(pair.default is not None for pair in score)
    parts = [part for part in PARTS if part != "default" or known]
    for part in progress(parts, f"classifiers on {split.name}"):
        columns = [simulate(pair, at, part, learned) for at, pair in enumerate(score)]
        simulated = gather(score, sectors, columns)
        forest = Forest()
        shares = [_cross_validate(judge, real, simulated, places) for judge in (forest.judge, judge_images)]
        facts = {"place": split.name, "part": part, "forest": shares[0], "network": shares[1]}
        light = _score_light(score, [column[1] for column in columns])
        rows.append({**facts, "accuracy": max(shares), **light, "gives_away": forest.find_causes()})
    return rows


def simulate(pair: BeamPair, index: int, part: str, learned: Learned) -> tuple[Array, Array, Array]:
    """Range, intensity and mark of a return (b,) of a simulated sweep, with the learned parts that ``part`` names."""
    channels, default = pair.channels, pair.default
    if part == "default" and default is not None:
        kept = channels.occupied & default.returned & ~draw_mask(pair.blind, index)
        return default.range, default.intensity, kept
    ranges, light = channels.values[:, _RANGE], pair.simulated
    if part in ("noise", "learned") and learned.noise is not None:
        added = draw_noise(learned.noise, channels, None, seed=0, index=index)
        ranges = add_noise(ranges, added, learned.noise.step_m)
    if part in ("intensity", "learned"):
        light = learned.light.draw_intensities(pair, index)
    drops = draw_mask(pair.blind, index)
    if part in ("drop", "learned"):
        card = learned.drop.part
        level = draw_drop_levels(channels, card.drop_patches, seed=0, index=index)
        drops = level < card.draw_by(learned.drop.predict(pair), channels)
    return ranges, light, channels.occupied & ~drops


def _score_light(pairs: Sequence[BeamPair], given: Sequence[Array]) -> dict[str, float]:
    """Scores of the intensities, of beams that returned in both."""
    rows = [pair.chosen[pair.returned[pair.chosen]] for pair in pairs]
    said = np.concatenate([light[own] for light, own in zip(given, rows, strict=True)])
    return score_intensity(said, np.concatenate([pair.intensity[own] for pair, own in zip(pairs, rows, strict=True)]))


def gather(pairs: Sequence[BeamPair], sectors: int, columns: Sequence[tuple[Array, Array, Array]]) -> Array:
    """Sectors (n, 4, rings, columns) of the images of sweeps: range, intensity, return, and whether the cell counts."""
    found = []
    width = min(pair.layout.columns for pair in pairs) // sectors * sectors
    for pair, (ranges, light, returned) in zip(pairs, columns, strict=True):
        cells = pair.channels.find_cells(width)
        counted = pair.counted & pair.known
        image = np.zeros((4, pair.layout.rings * width), np.float32)
        shown = np.flatnonzero(returned & counted)
        for channel, values in zip(image, (ranges, light, np.ones(len(ranges))), strict=False):
            channel[cells[shown]] = values[shown]
        image[3, cells[counted]] = 1.0
        found.append(image.reshape(4, pair.layout.rings, sectors, -1).transpose(2, 0, 1, 3))
    return np.concatenate(found)


def _cross_validate(
    judge: Callable[[Array, Array, Array], Array], real: Array, simulated: Array, places: Array
) -> float:
    """The share that is judged right, each place by a classifier that was trained on the others."""
    right = []
    for place in np.unique(places):
        own = places == place
        x = np.concatenate([real[~own], simulated[~own]])
        y = np.concatenate([np.ones(int((~own).sum())), np.zeros(int((~own).sum()))])
        test = np.concatenate([real[own], simulated[own]])
        truth = np.concatenate([np.ones(int(own.sum())), np.zeros(int(own.sum()))])
        right.append((judge(x, y, test) > 0.5) == (truth > 0.5))
    return float(np.concatenate(right).mean())


class Forest:
    """A forest on statistics of sectors, which remembers what it judges by."""

    def __init__(self) -> None:
        self._weights = np.zeros(len(NAMES))
        self._sides = np.zeros((2, len(NAMES)))

    def judge(self, x: Array, y: Array, test: Array) -> Array:
        """The share of trees of a forest that take each sector for real."""
        ensemble = require("sklearn.ensemble", "the forest")
        forest = ensemble.RandomForestClassifier(200, min_samples_leaf=2, random_state=0, n_jobs=1)
        known = describe(x)
        forest.fit(known, y)
        self._weights += forest.feature_importances_
        self._sides += [known[y > 0.5].mean(axis=0), known[y < 0.5].mean(axis=0)]
        return np.asarray(forest.predict_proba(describe(test))[:, 1])

    def find_causes(self) -> list[dict[str, Any]]:
        """The statistics that weigh most, with their share, and their means on real and simulated sectors."""
        weights, sides = self._weights / max(float(self._weights.sum()), 1e-12), self._sides
        times = max(round(float(self._weights.sum())), 1)
        return [
            {
                "statistic": NAMES[at],
                "weight": float(weights[at]),
                "real": float(sides[0, at] / times),
                "simulated": float(sides[1, at] / times),
            }
            for at in np.argsort(-weights)[:_SHOWN]
        ]


def judge_images(x: Array, y: Array, test: Array) -> Array:
    """What a small convolutional network says of each sector, from 0 (simulated) to 1 (real)."""
    torch = require("torch", "the network")
    torch.manual_seed(0)
    scale = np.array([1 / 30, 2.0, 1.0, 1.0], np.float32)[:, None, None]
    layers = torch.nn.Sequential(
        *(torch.nn.Conv2d(4, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
        *(torch.nn.Conv2d(16, 24, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
        *(torch.nn.Conv2d(24, 32, 3), torch.nn.ReLU(), torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten()),
        torch.nn.Linear(32, 1),
    )
    optimiser = torch.optim.Adam(layers.parameters(), lr=2e-3)
    images, target = torch.from_numpy(x * scale), torch.from_numpy(y.astype(np.float32))[:, None]
    random = np.random.default_rng(0)
    for _ in range(_EPOCHS):
        order = random.permutation(len(y))
        for first in range(0, len(order), 32):
            rows = order[first : first + 32]
            loss = torch.nn.functional.binary_cross_entropy_with_logits(layers(images[rows]), target[rows])
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    with torch.no_grad():
        return np.asarray(torch.sigmoid(layers(torch.from_numpy(test * scale)))[:, 0].numpy())


def show(result: dict[str, Any]) -> None:
    """Print the accuracies, and what the forest judges by."""
    light = ("intensity_rmse", "intensity_corr", "intensity_js")
    made = table("Real or simulated? Share judged right", "place", "with", "forest", "network", *light)
    for row in result["rows"]:
        shares = (f"{100 * row[name]:.1f} %" for name in ("forest", "network"))
        made.add_row(row["place"], row["part"], *shares, *(f"{row[name]:.4f}" for name in light))
    console.print(made)
    for row in result["rows"]:
        if row["part"] not in ("physics", "default", "learned"):
            continue
        what = f"{row['place']}, {row['part']}: what the forest judges by"
        causes = table(what, "statistic", "weight", "real", "simulated")
        for cause in row["gives_away"]:
            values = (f"{cause[name]:.4f}" for name in ("real", "simulated"))
            causes.add_row(cause["statistic"], f"{100 * cause['weight']:.1f} %", *values)
        console.print(causes)
    share = result["accuracy_default"]
    by_default = "" if share is None else f"by default {100 * share:.1f} %, "
    console.print(
        f"without scatter {100 * result['accuracy_physics']:.1f} %, {by_default}with all learned parts "
        f"{100 * result['accuracy_learned']:.1f} %; 50 % is perfect, the goal is {100 * GOAL:.0f} %"
    )


def draw(result: dict[str, Any]) -> Figure:
    """Accuracies by part and classifier."""
    places = list(dict.fromkeys(row["place"] for row in result["rows"]))
    made, axes = figure(4.5 * len(places), 3.4, 1, len(places))
    for axis, place in zip(axes[0], places, strict=True):
        rows = [row for row in result["rows"] if row["place"] == place]
        at = np.arange(len(rows))
        for shift, name, colour in ((-0.2, "forest", BLUE), (0.2, "network", ORANGE)):
            axis.bar(at + shift, [100 * row[name] for row in rows], 0.38, color=colour, label=name)
        axis.axhline(50, color=GREY, linewidth=1)
        axis.axhline(100 * GOAL, color=GREY, linewidth=1, linestyle="--")
        axis.set_xticks(at, [row["part"] for row in rows])
        axis.set_ylim(40, 100)
        axis.set_ylabel("judged right, %")
        axis.set_title(place, fontsize=9, loc="left")
        axis.legend(fontsize=7, frameon=False, loc="upper right")
    return made


if __name__ == "__main__":
    main("d_realism", __doc__ or "", run, show, draw)
