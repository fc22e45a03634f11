"""How many points a second a network labels: HDL-64E sweeps of a street, by onnxruntime, two sweeps at a time.

The network has the default size. Its weights are drawn, not trained: they change nothing of the time. Thinning,
features, neighbours and the network all count. ``core_points_per_s`` is by processor time, which other work on the
machine disturbs little.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from rich.table import Table

import resweep as rs
from benchmarks.places import hdl64
from benchmarks.report import Result, machine, main, table
from resweep.labels import load_labels
from resweep.learn.semantics.config import NetworkConfig
from resweep.learn.semantics.export import export
from resweep.learn.semantics.kpconv import KpConvNetwork
from resweep.pose import from_xyz_rpy
from resweep.segmentation import Labeller, SegmentationCard, load_labeller, write_model
from resweep.segmentation.card import TrainingLog, hash_model
from resweep.work import Threads

_THREADS = 2


def untrained(config: NetworkConfig, folder: Path) -> Labeller:
    """A model of that shape with drawn weights."""
    labels = load_labels("semantickitti-19")
    classes = tuple(label for label in sorted(labels.classes) if label not in labels.unlabelled)
    model = export(KpConvNetwork(config, len(classes)))
    shape = {name: getattr(config, name) for name in ("cell_m", "levels", "neighbours", "features")}
    card = SegmentationCard(
        version=rs.__version__,
        labels=labels,
        classes=classes,
        trained_on=(TrainingLog(log="nothing", sweeps=1),),
        sha256=hash_model(model),
        **shape,
    )
    write_model(folder / "model", model, card)
    return load_labeller(folder / "model")


def run(fast: bool = False, threads: int = 0) -> Result:
    """Points a second on two threads, and a second of one core."""
    result: Result = {"benchmark": "labelling", "fast": fast, **machine("onnxruntime")}
    simulator = rs.Simulator(rs.scenes.street(seed=1), hdl64(1), seed=1)
    sweeps = [simulator.sweep(from_xyz_rpy(0.8 * at, -1.0, 1.73), index=at) for at in range(2 if fast else 8)]
    config = NetworkConfig(width=16, levels=3) if fast else NetworkConfig()
    with tempfile.TemporaryDirectory() as folder:
        labeller = untrained(config, Path(folder))
        labeller.classify(sweeps[0])
        began, worked = time.perf_counter(), time.process_time()
        done = list(Threads(threads or _THREADS).map(labeller.classify, sweeps, "labelling", show=False))
        wall, cpu = time.perf_counter() - began, time.process_time() - worked
    points = sum(len(labels) for labels in done)
    result |= {"sweeps": len(sweeps), "points": points, "parameters": _count_parameters(config)}
    return result | {"label_points_per_s": points / wall, "core_points_per_s": points / cpu}


def _count_parameters(config: NetworkConfig) -> int:
    return sum(parameter.numel() for parameter in KpConvNetwork(config, 19).module.parameters())


def tables(result: Result) -> list[Table]:
    """The rates."""
    row = [[result["sweeps"], result["points"], result["label_points_per_s"], result["core_points_per_s"]]]
    title = "Labelling by KPConv (target: 20,000 points a second on 2 cores)"
    return [table(title, ["sweeps", "points", "points a second", "points a core second"], row)]


if __name__ == "__main__":
    sys.exit(main(run, tables, __doc__))
