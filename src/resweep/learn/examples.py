"""From pairs to what networks are trained on, and which places are held out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from resweep.errors import ResweepError
from resweep.learn.beam_pairs import BeamPair
from resweep.learn.intensity_bins import find_bins
from resweep.learn.networks import Task
from resweep.learn.training import ImageExamples, RayExamples
from resweep.pose import Array
from resweep.simulate.beam_channels import REAL
from resweep.simulate.sensor_grid import SensorGrid

_MIN_SHARE = 1e-4  # of drops, or of returns, below which there is nothing to learn


def select_beams(pair: BeamPair, task: Task) -> Array:
    """The beams (n,) of a pair to learn from: for intensity those that returned in both."""
    chosen = pair.chosen
    return chosen if task == "drop" else chosen[pair.returned[chosen]]


def select_target(pair: BeamPair, task: Task, edges: Array | None = None) -> Array:
    """The target of every beam (b,): 1 for a drop, or the recorded intensity.

    With the ``edges`` of bins of intensity it is the number of the bin.
    """
    if task == "drop":
        return (~pair.returned).astype(np.float32)
    return pair.intensity if edges is None else find_bins(pair.intensity, edges).astype(np.float32)


def make_rays(pairs: Sequence[BeamPair], task: Task, edges: Array | None = None) -> RayExamples:
    """The rays of pairs."""
    rows = [select_beams(pair, task) for pair in pairs]
    values = np.concatenate([pair.channels.values[own] for pair, own in zip(pairs, rows, strict=True)])
    target = np.concatenate([select_target(pair, task, edges)[own] for pair, own in zip(pairs, rows, strict=True)])
    return RayExamples(values, target)


def make_images(pairs: Sequence[BeamPair], task: Task, layout: SensorGrid, edges: Array | None = None) -> ImageExamples:
    """The sweeps of pairs as images."""
    images, targets, weights = [], [], []
    for pair in pairs:
        images.append(pair.channels.to_image(layout.rows, layout.columns))
        cells, rows = pair.channels.find_cells(layout.columns), select_beams(pair, task)
        target, weight = np.zeros((2, layout.rows * layout.columns), np.float32)
        target[cells[rows]], weight[cells[rows]] = select_target(pair, task, edges)[rows], 1.0
        targets.append(target.reshape(layout.rows, layout.columns))
        weights.append(weight.reshape(layout.rows, layout.columns))
    return ImageExamples(images, targets, weights)


def measure_channels(rays: RayExamples) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and spread (5) of the real-valued channels."""
    real = rays.values[:, :REAL].astype(np.float64)
    mean, spread = real.mean(axis=0), np.maximum(real.std(axis=0), 1e-3)
    return tuple(np.round(mean, 4).tolist()), tuple(np.round(spread, 4).tolist())


def join_layouts(pairs: Sequence[BeamPair]) -> SensorGrid:
    """The common grid of pairs, which must be of one sensor."""
    first = pairs[0].layout
    rings = max(pair.layout.rings for pair in pairs)
    total, count = np.zeros(rings), np.zeros(rings)
    for pair in pairs:
        if not rings / 2 < pair.layout.rings:
            raise ResweepError(
                f"log '{pair.place}': {pair.layout.rings} rings, where others have {rings}; learn a model for each "
                "sensor"
            )
        elevation = np.array(pair.layout.elevation_deg)
        known = np.flatnonzero(np.isfinite(elevation))
        total[known] += elevation[known]
        count[known] += 1
    known = np.flatnonzero(count)
    mean = np.interp(np.arange(rings), known, total[known] / count[known])
    columns = int(np.median([pair.layout.columns for pair in pairs])) // 16 * 16
    return SensorGrid(rings=rings, columns=columns, elevation_deg=np.round(mean, 3).tolist(), sensor=first.sensor)


def hold_out(pairs: Sequence[BeamPair], share: float) -> tuple[list[BeamPair], list[BeamPair]]:
    """Pairs to train on, and those of other places: whole logs, or the last part of a single one."""
    places = list(dict.fromkeys(pair.place for pair in pairs))
    if len(places) > 1:
        apart = set(places[-max(1, round(share * len(places))) :])
        held = [pair for pair in pairs if pair.place in apart]
        return [pair for pair in pairs if pair.place not in apart], held
    first = len(pairs) - max(1, round(share * len(pairs)))
    return list(pairs[:first]), list(pairs[first:])


def check_drops(pairs: Sequence[BeamPair]) -> None:
    """Raise unless there are both drops and returns to learn from."""
    total = sum(len(pair.chosen) for pair in pairs)
    drops = sum(int(pair.dropped.sum()) for pair in pairs)
    if total == 0:
        raise ResweepError("pairs: no beam returned in simulation, so there is nothing to learn; check the poses")
    if min(drops, total - drops) <= _MIN_SHARE * total:
        what = "hardly any beam was dropped" if drops < total / 2 else "hardly any beam returned"
        raise ResweepError(
            f"pairs: {what} ({drops:,} of {total:,}), so there is one class only and nothing to learn; give logs whose "
            "beams without return are known"
        )
