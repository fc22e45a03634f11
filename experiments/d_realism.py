"""Can real sweeps be told from simulated ones? A classifier tries, without and with each learned part (D, 4.2).

Sectors of sweeps, recorded and re-simulated at the same poses, are judged by two classifiers: a forest on statistics of
their points, and a small convolutional network on their range images. Both are trained on some places and judged on
others. The better of both counts; 50 % means that nothing is left to tell them by. Places are those that the learned
models were not trained on. Beams that returned from what moves are left out of both.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from experiments.d_raydrop import configure, draw_mask
from experiments.learned_places import Split, splits
from experiments.presenting import BLUE, GREY, ORANGE, console, figure, main, progress, table
from resweep.learn.blindness import add_blindness, fill_blindness
from resweep.learn.examples import join_layouts
from resweep.learn.fitting import Fitted, fit
from resweep.learn.pairs import Pair
from resweep.learn.scores import score_intensity
from resweep.optional import require
from resweep.pose import Array
from resweep.simulate.realism.channels import CHANNELS

PARTS = ("physics", "drop", "intensity", "learned")
_SECTORS, _LEAST_COLUMNS = 16, 32  # of a sweep at most, and of a sector at least
GOAL = 0.60
_RANGE = CHANNELS.index("range_m")
_RING_GROUPS = 8
_EPOCHS = 12


def run(fast: bool, only: str = "", cache: Path | None = None) -> dict[str, Any]:
    """Accuracies of both classifiers on every kind of place."""
    rows = [row for split in splits(fast, only, cache) for row in compare(split, fast)]
    # Of several kinds of place, recordings come last, and count.
    last = {row["part"]: row for row in rows}
    return {
        "rows": rows,
        "accuracy_physics": last["physics"]["accuracy"],
        "accuracy_learned": last["learned"]["accuracy"],
        "goal": GOAL,
    }


def compare(split: Split, fast: bool) -> list[dict[str, Any]]:
    """How well sweeps of one kind of place are told from simulated ones, by part."""
    layout = join_layouts([*split.train, *split.choose])
    train, choose, share = add_blindness(split.train, split.choose, layout.rings)
    score = [fill_blindness(pair, share) for pair in split.score]
    drop = fit("drop", train, choose, layout, configure("unet", fast), progress=False)
    light = fit("intensity", train, choose, layout, configure("mlp", fast), progress=False)
    names = list(dict.fromkeys(pair.place for pair in score))
    sectors = min(_SECTORS, min(pair.layout.columns for pair in score) // _LEAST_COLUMNS)
    places = np.repeat([names.index(pair.place) for pair in score], sectors)
    real = _gather(score, sectors, lambda pair: (pair.range, pair.intensity, pair.returned))
    rows = []
    for part in progress(PARTS, f"classifiers on {split.name}"):
        simulated = _gather(score, sectors, _simulate(part, drop, light))
        forest, network = (_cross_validate(judge, real, simulated, places) for judge in (_judge_points, _judge_images))
        known = {"place": split.name, "part": part, "forest": forest, "network": network}
        rows.append({**known, "accuracy": max(forest, network), **_score_light(score, part, light)})
    return rows


def _simulate(part: str, drop: Fitted, light: Fitted) -> Callable[[Pair], tuple[Array, Array, Array]]:
    """Range, intensity and mark of a return (b,) of a simulated sweep, with the learned parts that ``part`` names."""

    def simulate(pair: Pair) -> tuple[Array, Array, Array]:
        returned, intensity = pair.channels.occupied, pair.simulated
        if part in ("intensity", "learned"):
            intensity = np.maximum(light.predict(pair), 0.0)
        if part in ("drop", "learned"):
            returned = returned & ~draw_mask(drop.predict(pair), int(pair.range.sum()) % 2**31)
        return pair.channels.values[:, _RANGE], intensity, returned

    return simulate


def _score_light(pairs: list[Pair], part: str, light: Fitted) -> dict[str, float]:
    """Scores of the intensities, of beams that returned in both."""
    said, true = [], []
    for pair in pairs:
        rows = pair.chosen[pair.returned[pair.chosen]]
        learned = part in ("intensity", "learned")
        said.append((light.predict(pair) if learned else pair.simulated)[rows])
        true.append(pair.intensity[rows])
    return score_intensity(np.concatenate(said), np.concatenate(true))


def _gather(pairs: list[Pair], sectors: int, columns: Callable[[Pair], tuple[Array, Array, Array]]) -> Array:
    """Sectors (n, 3, rings, columns) of the images of sweeps."""
    found = []
    for pair in pairs:
        rings, width = pair.layout.rings, min(other.layout.columns for other in pairs) // sectors * sectors
        cells = pair.channels.find_cells(width)
        ranges, light, returned = columns(pair)
        shown = np.flatnonzero(returned & pair.counted)
        image = np.zeros((3, rings * width), np.float32)
        for channel, values in zip(image, (ranges, light, np.ones(len(ranges))), strict=True):
            channel[cells[shown]] = values[shown]
        found.append(image.reshape(3, rings, sectors, -1).transpose(2, 0, 1, 3))
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


def _judge_points(x: Array, y: Array, test: Array) -> Array:
    """The share of trees of a forest that take each sector for real."""
    ensemble = require("sklearn.ensemble", "the forest")
    forest = ensemble.RandomForestClassifier(300, min_samples_leaf=2, random_state=0, n_jobs=1)
    return np.asarray(forest.fit(describe(x), y).predict_proba(describe(test))[:, 1])


def describe(images: Array) -> Array:
    """Statistics (n, k) of sectors: shares of returns, steps between neighbours, and intensities."""
    ranges, light, mark = images[:, 0], images[:, 1], images[:, 2] > 0
    groups = np.array_split(np.arange(images.shape[2]), _RING_GROUPS)
    columns = [mark[:, rows].mean(axis=(1, 2)) for rows in groups]
    columns += [_mean(light[:, rows], mark[:, rows]) for rows in groups]
    gap = ~mark[:, :, 1:-1] & mark[:, :, :-2] & mark[:, :, 2:]
    columns += [gap.mean(axis=(1, 2)), (~mark).mean(axis=(1, 2))]
    for values in (ranges, light):
        for axis in (1, 2):
            near = [np.take(values, np.arange(a, values.shape[axis] - 1 + a), axis=axis) for a in (0, 1)]
            both = [np.take(mark, np.arange(a, values.shape[axis] - 1 + a), axis=axis) for a in (0, 1)]
            columns += _quantiles(np.abs(near[0] - near[1]), both[0] & both[1])
    columns += _quantiles(light, mark)
    return np.nan_to_num(np.stack(columns, axis=1))


def _mean(values: Array, mark: Array) -> Array:
    return np.asarray((values * mark).sum(axis=(1, 2)) / np.maximum(mark.sum(axis=(1, 2)), 1))


def _quantiles(values: Array, mark: Array) -> list[Array]:
    """Quantiles of the marked values of each sector."""
    levels = (0.05, 0.25, 0.5, 0.75, 0.95)
    found = np.array([np.quantile(v[m], levels) if m.any() else np.zeros(5) for v, m in zip(values, mark, strict=True)])
    return list(found.T)


def _judge_images(x: Array, y: Array, test: Array) -> Array:
    """What a small convolutional network says of each sector, from 0 (simulated) to 1 (real)."""
    torch = require("torch", "the network")
    torch.manual_seed(0)
    scale = np.array([1 / 30, 2.0, 1.0], np.float32)[:, None, None]
    layers = torch.nn.Sequential(
        *(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.MaxPool2d(2)),
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
    """Print the accuracies."""
    light = ("intensity_rmse", "intensity_corr")
    made = table("Real or simulated? Share judged right", "place", "with", "forest", "network", *light)
    for row in result["rows"]:
        shares = (f"{100 * row[name]:.1f} %" for name in ("forest", "network"))
        made.add_row(row["place"], row["part"], *shares, *(f"{row[name]:.4f}" for name in light))
    console.print(made)
    console.print(
        f"without learned parts {100 * result['accuracy_physics']:.1f} %, with all "
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
