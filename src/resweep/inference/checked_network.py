"""A network of a file that others made: checked before anything of it runs, and after each call."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import InputError
from resweep.inference.graph_values import Value
from resweep.inference.measure import Measured, check_operators, measure
from resweep.inference.onnx_file import Declared, Graph, read_graph
from resweep.inference.protobuf import GraphError
from resweep.optional import require
from resweep.pose import Array

MAX_BYTES = 256 << 20  # of a file
_KNOWN_SHAPES = 64  # for which the measures of a call are kept
_REASON = 200  # characters of what onnxruntime says


@dataclass(frozen=True)
class InputShape:
    """An input that a network is given: its type as NumPy has it, and its shape, with None for any size."""

    dtype: str
    shape: tuple[int | None, ...]


class CheckedNetwork:
    """A network with one float32 output, ready to run; ``where`` names its file in errors, ``advice`` what to do.

    The graph must take ``inputs``, no more and no fewer. ``probe`` has a size for each, for which the graph is measured
    before onnxruntime sees it, and must give the shape ``expected``.
    """

    def __init__(
        self,
        data: bytes,
        where: str,
        inputs: Mapping[str, InputShape],
        probe: Mapping[str, tuple[int, ...]],
        expected: tuple[int, ...],
        advice: str,
    ) -> None:
        self._where, self._advice, self._inputs = where, advice, dict(inputs)
        self._runtime = require("onnxruntime", "running a learned model")
        if len(data) > MAX_BYTES:
            raise self._refuse(f"has {len(data):,} bytes; at most {MAX_BYTES:,} are read")
        try:
            self._graph: Graph = read_graph(data)
            check_operators(self._graph)
        except GraphError as error:
            raise self._refuse(f"is no network that is accepted ({error})") from error
        self._check_declared()
        (self._output,) = self._graph.outputs
        # The same shapes come again and again, on any thread.
        self._measure = functools.lru_cache(_KNOWN_SHAPES)(self._measure_shapes)
        self._check_call({name: tuple(probe[name]) for name in inputs}, expected)
        self._session = self._open(data)

    def run(self, inputs: Mapping[str, Array], expected: tuple[int, ...]) -> Array:
        """What the network gives for its inputs: float32 of the shape ``expected``, all of it finite."""
        self._check_call({name: np.shape(inputs[name]) for name in self._inputs}, expected)
        try:
            (found,) = self._session.run([self._output], dict(inputs))
        except Exception as error:  # onnxruntime has a class of errors for each status
            raise self._refuse(f"onnxruntime cannot run it ({_shorten(error)})") from error
        if not isinstance(found, np.ndarray) or found.shape != expected or found.dtype != np.float32:
            shape = getattr(found, "shape", ())
            raise self._refuse(f"gives an array of shape {list(shape)} in place of {list(expected)}")
        if not np.isfinite(found).all():
            raise self._refuse("gives values that are not finite")
        return found

    def _check_call(self, shapes: Mapping[str, tuple[int, ...]], expected: tuple[int, ...]) -> None:
        """Raise unless inputs of these shapes are taken, and give the ``expected`` one within memory and time."""
        for name, shape in shapes.items():
            declared = self._graph.inputs[name].shape
            for wanted in (self._inputs[name].shape, declared):
                if wanted is not None and not _fits(shape, wanted):
                    raise self._refuse(f"takes '{name}' of shape {_show(wanted)}, not of {list(shape)}")
        try:
            found = self._measure(tuple(shapes.items())).outputs[self._output]
        except GraphError as error:
            raise self._refuse(f"is no network that is accepted ({error})") from error
        if found.shape != expected or found.dtype != np.float32:
            raise self._refuse(f"gives {found.dtype} of shape {list(found.shape)} in place of {list(expected)}")

    def _measure_shapes(self, shapes: tuple[tuple[str, tuple[int, ...]], ...]) -> Measured:
        return measure(self._graph, {name: Value(shape, np.dtype(self._inputs[name].dtype)) for name, shape in shapes})

    def _check_declared(self) -> None:
        """Raise unless the graph says that it takes the inputs, and that it gives one output of float32."""
        given = self._graph.inputs
        wrong = set(given) != set(self._inputs) or any(
            given[name].dtype != np.dtype(wanted.dtype) or not _agree(given[name].shape, wanted.shape)
            for name, wanted in self._inputs.items()
        )
        if wrong:
            takes = ", ".join(f"{name} {_describe(item)}" for name, item in list(given.items())[:20])
            wanted = ", ".join(f"{name} {item.dtype}{_show(item.shape)}" for name, item in self._inputs.items())
            raise self._refuse(f"takes {takes[:300] or 'nothing'}, where there is {wanted}")
        outputs = list(self._graph.outputs.values())
        if len(outputs) != 1 or outputs[0].dtype != np.float32:
            gives = ", ".join(f"{name} {_describe(item)}" for name, item in list(self._graph.outputs.items())[:20])
            raise self._refuse(f"gives {gives[:300] or 'nothing'}, where one output of float32 is expected")

    def _open(self, data: bytes) -> Any:
        options = self._runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.execution_mode = self._runtime.ExecutionMode.ORT_SEQUENTIAL
        options.use_deterministic_compute = True
        options.log_severity_level = 4
        # What was checked is what runs: bytes that could also be another of its formats are not guessed at.
        options.add_session_config_entry("session.load_model_format", "ONNX")
        try:
            return self._runtime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime has a class of errors for each status
            raise self._refuse(f"onnxruntime cannot run it ({_shorten(error)})") from error

    def _refuse(self, problem: str) -> InputError:
        return InputError(f"{self._where}: {problem}; {self._advice}")


def read_model_file(path: Path, advice: str) -> bytes:
    """The bytes of a file of a model; an error if the file cannot be read, is no regular file or is too large."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path}: is no regular file; {advice}")
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise InputError(f"{path}: has {size:,} bytes; at most {MAX_BYTES:,} are read; {advice}")
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); {advice}") from error


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(b is None or a == b for a, b in zip(shape, wanted, strict=True))


def _agree(one: tuple[int | None, ...] | None, other: tuple[int | None, ...]) -> bool:
    """Whether some array has both shapes."""
    if one is None:
        return True
    return len(one) == len(other) and all(None in (a, b) or a == b for a, b in zip(one, other, strict=True))


def _describe(item: Declared) -> str:
    return f"{item.dtype}{'' if item.shape is None else _show(item.shape)}"


def _show(shape: tuple[int | None, ...]) -> str:
    return f"[{', '.join('any' if size is None else str(size) for size in shape)}]"


def _shorten(error: Exception) -> str:
    return " ".join(str(error).split())[:_REASON]
