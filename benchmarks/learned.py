"""Learned models: sweeps a second of an HDL-64E through the drop networks, the time to train one, points labelled.

Channels are made up, since arithmetic does not depend on them; 64 rings of 2,048 columns, as D has them, 85 % of which
return. The rate counts all that a model adds to a sweep: channels, image, network, mask. Training is that of
``resweep learn raydrop`` with its settings on 60 sweeps, after the pairs are made. The rate of labels is that of
`benchmarks.labelling`.
"""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from rich.table import Table

import resweep as rs
from benchmarks import labelling
from benchmarks.report import Result, interleaved, machine, main, table, timed
from resweep.labels import load_labels
from resweep.learn.beam_pairs import BeamPair
from resweep.learn.boosting import BoostingConfig
from resweep.learn.examples import hold_out, join_layouts
from resweep.learn.fitting import FitConfig, fit
from resweep.learn.realism import RealismConfig, fit_realism
from resweep.learn.training import TrainingConfig
from resweep.simulate.beam_channels import find_channels
from resweep.simulate.sensor_grid import find_sensor_grid
from resweep.worlds.layers.seen import pack_seen

VARIANTS = ("unet", "mlp", "trees", "logistic")
BUDGET_S = 0.05  # half of a sweep at 10 Hz


def made_up_sweep(seed: int, rings: int, columns: int) -> rs.Sweep:
    """A simulated sweep with what networks need to know of its hits."""
    rng = np.random.default_rng(seed)
    beams = rings * columns
    ring, column = np.repeat(np.arange(rings), columns), np.tile(np.arange(columns), rings)
    azimuth, elevation = 2 * np.pi * column / columns, np.radians(np.linspace(-24.8, 2.0, rings))[ring]
    direction = np.stack(
        [np.cos(elevation) * np.cos(azimuth), np.cos(elevation) * np.sin(azimuth), np.sin(elevation)], axis=1
    )
    beam = np.flatnonzero(rng.random(beams) < 0.85)
    count = len(beam)
    ranges, cosine = rng.uniform(3, 60, count), rng.uniform(0.1, 1, count)
    seen = pack_seen(np.full(count, 9), (0.9 * ranges, 1.1 * ranges), (cosine, cosine))
    return rs.Sweep(
        pose=np.eye(4),
        beam_origin=np.zeros((beams, 3)),
        beam_direction=direction,
        beam_time=np.zeros(beams),
        beam_ring=ring,
        beam_column=column,
        beam_status=np.zeros(beams),
        beam=beam,
        range=ranges,
        intensity=rng.uniform(0, 0.6, count),
        return_index=np.zeros(count),
        label=rng.choice([0, 10, 40], count),
        instance=np.zeros(count),
        extra={"seen": seen, "cosine": cosine.astype(np.float32), "primitive": np.full(count, 2, np.uint8)},
    )


def made_up_pair(seed: int, rings: int, columns: int, place: str) -> BeamPair:
    """A pair whose drops grow with range."""
    sweep = made_up_sweep(seed, rings, columns)
    channels = find_channels(sweep, load_labels("semantickitti"))
    rng = np.random.default_rng([seed, 1])
    lost = rng.random(len(channels)) < 1 / (1 + np.exp(5 - 0.08 * channels.values[:, 0]))
    returned = channels.occupied & ~lost
    light = np.where(returned, channels.values[:, 1], 0).astype(np.float32)
    ranges = np.where(returned, channels.values[:, 0], 0).astype(np.float32)
    counted = np.ones(len(channels), bool)
    hit = np.zeros((len(channels), 3), np.float32)
    hit[sweep.beam] = sweep.points
    rest = (counted, hit, counted, np.zeros(len(channels), np.float32))
    return BeamPair(channels, returned, ranges, light, light, *rest, place, find_sensor_grid(sweep), True)


def measure_processor(model: rs.RealismModel, sweep: rs.Sweep, labels: rs.LabelSet, times: int = 3) -> float:
    """Processor seconds that a model adds to a sweep on one thread, the least of several; load hardly changes it."""
    found = []
    for at in range(times):
        begun = time.process_time()
        model.run(sweep, labels, seed=1, index=at, threads=1)
        found.append(time.process_time() - begun)
    return min(found)


def run(fast: bool, threads: int) -> Result:
    """Rates of all variants and of labels, and the time to train the default variant."""
    labelled = labelling.run(fast, threads)
    rings, columns, sweeps, rounds = (64, 512, 8, 2) if fast else (64, 2048, 60, 5)
    quick = [made_up_pair(at, rings, columns, f"place {at % 2}") for at in range(2)]
    labels = load_labels("semantickitti")
    sweep = made_up_sweep(7, rings, columns)
    with TemporaryDirectory() as folder:
        models = {}
        for variant in VARIANTS:
            config = RealismConfig(
                drop=FitConfig.model_validate(
                    {
                        "variant": variant,
                        "training": TrainingConfig(epochs=1),
                        "trees": BoostingConfig(most_rays=50_000),
                    }
                )
            )
            (place := Path(folder) / variant).mkdir()
            fit_realism(quick, place, config, progress=False)
            models[variant] = rs.load_realism(place)
        work = {
            name: timed(partial(model.run, sweep, labels, seed=1, index=0, threads=threads))
            for name, model in models.items()
        }
        seconds = {name: float(np.median(times)) for name, times in interleaved(work, rounds).items()}
        busy_s = {name: measure_processor(model, sweep, labels) for name, model in models.items()}
    pairs = [made_up_pair(at, rings, columns, f"place {at * 4 // sweeps}") for at in range(sweeps)]
    train, held = hold_out(pairs, 0.25)
    begun, busy = time.perf_counter(), time.process_time()
    training = TrainingConfig(epochs=2) if fast else TrainingConfig()
    fitted = fit("drop", train, held, join_layouts(pairs), FitConfig(training=training), progress=not fast)
    return {
        "benchmark": "learned",
        **machine("onnxruntime", "torch"),
        "beams": sweep.n_beams,
        "sweep_s": seconds,
        "sweep_cpu_s": busy_s,
        "drop_sweeps_per_s": 1 / seconds["unet"],
        "share_of_budget": seconds["unet"] / BUDGET_S,
        "train_s": time.perf_counter() - begun,
        "train_cpu_s": time.process_time() - busy,
        "train_sweeps": sweeps,
        "train_epochs": len(fitted.history),
        **{name: labelled[name] for name in ("label_points_per_s", "core_points_per_s")},
    }


def tables(result: Result) -> list[Table]:
    """What a model adds to a sweep, what training takes, and points labelled."""
    busy = result["sweep_cpu_s"]
    rows = [
        (name, f"{1000 * seconds:.1f}", 1 / seconds, f"{1000 * busy[name]:.1f}")
        for name, seconds in result["sweep_s"].items()
    ]
    columns = ("variant", "ms", "sweeps/s", "processor ms, 1 thread")
    title = f"Drop models on a sweep of {result['beams']:,} beams (target: 10 sweeps/s, 50 ms)"
    rates = table(title, columns, rows)
    row = [(result["train_sweeps"], result["train_epochs"], result["train_s"], result["train_cpu_s"])]
    trained = table("Training the U-Net (target: 1,200 s)", ("sweeps", "epochs", "seconds", "of processors"), row)
    labels = [(result["label_points_per_s"], result["core_points_per_s"])]
    rates_of = ("points a second", "points a core second")
    return [rates, trained, table("Labels by KPConv (target: 20,000 points a second)", rates_of, labels)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
