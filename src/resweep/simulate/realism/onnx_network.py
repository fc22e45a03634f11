"""Networks at run time: ONNX files run by onnxruntime in one way, so that the bytes do not depend on threads."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from resweep.errors import InputError
from resweep.inference.checked_network import CheckedNetwork, InputShape, read_model_file
from resweep.pose import Array
from resweep.simulate.beam_channels import CHANNELS, BeamChannels
from resweep.simulate.realism.model_card import NetworkCard
from resweep.simulate.sensor_grid import SensorGrid

INPUT, OUTPUT = "channels", "result"
HALO = 32  # columns of the neighbours that each sector of an image is given
SECTORS = 4  # of an image, whatever the threads
_BATCH_BEAMS = 16_384  # that go through a network together


class OnnxNetwork:
    """One network of a model, ready to run.

    Work is cut into the same blocks whatever the threads, each of which runs on one: the bytes are always the same.
    """

    def __init__(self, data: bytes, part: NetworkCard, layout: SensorGrid, where: str = "") -> None:
        self.part, self.layout = part, layout
        channels, image = len(CHANNELS), (layout.rows, 16 + 2 * HALO)
        wanted, size = ((None, None), image) if self.is_image else ((), ())
        expected = (1, part.outputs, *size)
        given = {INPUT: InputShape("float32", (None, channels, *wanted))}
        self._network = CheckedNetwork(
            data, where or part.file, given, {INPUT: (1, channels, *size)}, expected, "learn the model again"
        )

    @classmethod
    def read(cls, folder: Path, part: NetworkCard, layout: SensorGrid) -> OnnxNetwork:
        """The network in a folder, as its card says."""
        path = folder / part.file
        data = read_model_file(path, "learn the model again")
        if hashlib.sha256(data).hexdigest() != part.sha256:
            raise InputError(f"{path}: is damaged, or not the network of its card; learn the model again")
        return cls(data, part, layout, str(path))

    @property
    def is_image(self) -> bool:
        """Whether it looks at sweeps as images."""
        return self.part.kind == "image"

    def run(self, channels: BeamChannels, threads: int = 0) -> Array:
        """What the network predicts for each beam (b,), or (b, k) if it has k outputs; 0 for beams without return."""
        found = np.zeros((len(channels), self.part.outputs), np.float32)
        occupied = np.flatnonzero(channels.occupied)
        if self.is_image:
            image = self.run_image(channels.to_image(self.layout.rows, self.layout.columns), threads)
            cells = channels.find_cells(self.layout.columns)[occupied]
            found[occupied] = image.reshape(self.part.outputs, -1)[:, cells].T
        else:
            found[occupied] = self.run_rays(channels.values[occupied], threads)
        return found[:, 0] if self.part.outputs == 1 else found

    def run_rays(self, values: Array, threads: int = 0) -> Array:
        """What it predicts for beams (n, 9) by themselves: (n, outputs)."""
        blocks = [
            np.ascontiguousarray(values[first : first + _BATCH_BEAMS]) for first in range(0, len(values), _BATCH_BEAMS)
        ]
        found = _map(self._call, blocks, threads)
        return np.concatenate([np.zeros((0, self.part.outputs), np.float32), *found])

    def run_image(self, image: Array, threads: int = 0) -> Array:
        """What it predicts for an image (9, rows, columns), which goes round: (outputs, rows, columns)."""
        columns = image.shape[2]
        around = np.take(image, np.arange(-HALO, columns + HALO), axis=2, mode="wrap")
        edges = np.linspace(0, columns // 16, SECTORS + 1).astype(int) * 16
        sectors = [around[:, :, a : b + 2 * HALO] for a, b in itertools.pairwise(edges.tolist()) if b > a]
        found = _map(lambda part: self._call(np.ascontiguousarray(part[None]))[0, :, :, HALO:-HALO], sectors, threads)
        return np.asarray(np.concatenate(found, axis=2))

    def _call(self, values: Array) -> Array:
        expected = (len(values), self.part.outputs, *values.shape[2:])
        return self._network.run({INPUT: np.asarray(values, np.float32)}, expected)


def _map(work: Callable[[Array], Array], items: list[Array], threads: int) -> list[Array]:
    workers = min(threads or len(os.sched_getaffinity(0)), len(items))
    if workers <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))
