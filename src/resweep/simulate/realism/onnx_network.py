"""Networks at run time: ONNX files run by onnxruntime in one way, so that the bytes do not depend on threads."""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import InputError
from resweep.optional import require
from resweep.pose import Array
from resweep.simulate.beam_channels import CHANNELS, BeamChannels
from resweep.simulate.realism.model_card import NetworkCard
from resweep.simulate.sensor_grid import SensorGrid

INPUT, OUTPUT = "channels", "result"
HALO = 32  # columns of the neighbours that each sector of an image is given
SECTORS = 4  # of an image, whatever the threads
_BATCH_BEAMS = 16_384  # that go through a network together
_MAX_BYTES = 500 * 10**6


class OnnxNetwork:
    """One network of a model, ready to run.

    Work is cut into the same blocks whatever the threads, each of which runs on one: the bytes are always the same.
    """

    def __init__(self, data: bytes, part: NetworkCard, layout: SensorGrid) -> None:
        self.part, self.layout = part, layout
        self._session = _open(data, part)

    @classmethod
    def read(cls, folder: Path, part: NetworkCard, layout: SensorGrid) -> OnnxNetwork:
        """The network in a folder, as its card says."""
        path = folder / part.file
        try:
            data = path.read_bytes() if path.stat().st_size <= _MAX_BYTES else b""
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}); learn the model again") from error
        if hashlib.sha256(data).hexdigest() != part.sha256:
            raise InputError(f"{path}: is damaged, or not the network of its card; learn the model again")
        return cls(data, part, layout)

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
        return np.asarray(self._session.run([OUTPUT], {INPUT: values})[0], np.float32)


def _map(work: Callable[[Array], Array], items: list[Array], threads: int) -> list[Array]:
    workers = min(threads or len(os.sched_getaffinity(0)), len(items))
    if workers <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, items))


def _open(data: bytes, part: NetworkCard) -> Any:
    """A session of an ONNX file; nothing but the arithmetic of ONNX itself runs."""
    runtime = require("onnxruntime", "running a learned model")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    options.use_deterministic_compute = True
    options.log_severity_level = 4
    try:
        session = runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has a class of errors for each status
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{part.file}: onnxruntime cannot run it ({reason}); learn the model again") from error
    inputs = [(item.name, len(item.shape), item.shape[1]) for item in session.get_inputs()]
    expected = (INPUT, 4 if part.kind == "image" else 2, len(CHANNELS))
    outputs = [(item.name, item.shape[1]) for item in session.get_outputs()]
    if inputs != [expected]:
        raise InputError(
            f"{part.file}: takes {inputs}, where beams have the {len(CHANNELS)} channels {', '.join(CHANNELS)}; learn "
            "the model again"
        )
    if outputs != [(OUTPUT, part.outputs)]:
        raise InputError(f"{part.file}: gives {outputs}, its card says {part.outputs}; learn the model again")
    return session
