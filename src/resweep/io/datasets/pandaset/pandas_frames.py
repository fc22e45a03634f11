"""Tables that pandas pickled, read without pandas and without running anything.

Recognised is exactly what pandas 0.25 to 3 write for a frame of numbers, truth values and texts: a ``DataFrame``
around a ``BlockManager`` of blocks and two indexes. Before pandas 1.3 they are in the manager's state, in the layout
that pandas calls ``0.14.1``; since then they are calls of ``_unpickle_block``. NumPy's arrays are built here from their
bytes, whose number must be that of the shape; no object of a library ever gets a state from a file.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from resweep.errors import InputError, ResweepError
from resweep.io.datasets.pandaset.pickle_data import PickleCall, PickleName, read_pickle
from resweep.pose import Array

Columns = dict[str, Array]
_DTYPE = re.compile(r"b1|[iu][1248]|f[248]|O8")
_OBJECT = "O8"
_NUMPY = ("numpy.core.", "numpy._core.")  # the name changed with NumPy 2
_BYTE_ORDERS = ("<", ">", "=", "|")
_PLAIN = (str, float, int, bool, type(None))
_BYTES = (PickleName("builtins", "bytes"), PickleName("builtins", "bytearray"), PickleName("_codecs", "encode"))
_OFFSETS: dict[str, np.dtype[Any]] = {"string": np.dtype("<i4"), "large_string": np.dtype("<i8")}


def read_frame(data: bytes, where: str) -> Columns:
    """The columns (n,) of a pickled frame by name; ``where`` names the file in errors.

    Numbers and truth values have the type that they were stored with; columns of texts are arrays of Python's objects,
    None or NaN where a text is missing. Anything that is no such frame is an error.
    """
    return _PandasFrame(where).columns(read_pickle(data, where))


class _PandasFrame:
    """What recognises the parts of one frame; an array that is used often is built once."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._built: dict[int, Array] = {}

    def columns(self, frame: Any) -> Columns:
        """The columns of a ``DataFrame``."""
        call = self._expect_call(frame, "pandas", ("DataFrame",))
        state = call.state if isinstance(call.state, dict) else {}
        blocks, axes = self._parts(state.get("_mgr", state.get("_data")))
        if len(axes) != 2:
            raise self._error(f"{len(axes)} axes")
        names, count = self._names(axes[0]), self._length(axes[1])
        table: Columns = {}
        for values, place in blocks:
            rows = self._values(values)
            rows = rows.reshape(1, -1) if rows.ndim == 1 else rows
            chosen = self._chosen(place, len(names))
            if rows.ndim != 2 or rows.shape != (len(chosen), count):
                raise self._error(f"a block of shape {rows.shape} for {len(chosen)} columns of {count} rows")
            table.update({names[at]: row for at, row in zip(chosen, rows, strict=True)})
        if len(table) != len(names):
            raise self._error(f"{len(table)} of {len(names)} columns have values")
        return {name: table[name] for name in names}

    def _error(self, what: str) -> ResweepError:
        return InputError(f"{self._where}: holds no pandas frame of numbers and texts ({what}); fetch it again")

    def _expect_call(self, item: Any, module: str, names: tuple[str, ...]) -> PickleCall:
        """``item`` if one of these names of a package makes it."""
        if not isinstance(item, PickleCall):
            raise self._error(f"{names[0]} expected")
        if item.maker.module.partition(".")[0] != module or item.maker.name not in names:
            raise InputError(f"{self._where}: asks for {item.maker}, which no table of points needs; nothing was run")
        return item

    def _parts(self, manager: Any) -> tuple[list[tuple[Any, Any]], list[Any]]:
        """Values and columns of the blocks, and the axes."""
        call = self._expect_call(manager, "pandas", ("BlockManager",))
        if call.arguments:  # pandas 1.3 and later
            blocks, axes = call.arguments if len(call.arguments) == 2 else ((), ())
            if not isinstance(blocks, tuple | list) or not isinstance(axes, tuple | list):
                raise self._error("no blocks")
            parts = [self._expect_call(block, "pandas", ("_unpickle_block",)).arguments for block in blocks]
            if any(len(part) != 3 for part in parts):
                raise self._error("a block without values and columns")
            return [(values, place) for values, place, _ in parts], list(axes)
        try:
            layout = call.state[3]["0.14.1"]
            return [(block["values"], block["mgr_locs"]) for block in layout["blocks"]], list(layout["axes"])
        except (TypeError, LookupError) as error:
            raise self._error("no blocks") from error

    def _index(self, index: Any) -> dict[str, Any]:
        call = self._expect_call(index, "pandas", ("_new_Index",))
        if len(call.arguments) != 2 or not isinstance(call.arguments[1], dict):
            raise self._error("an index without contents")
        return call.arguments[1]

    def _names(self, index: Any) -> list[str]:
        names = self._values(self._index(index).get("data")).tolist()
        if not all(isinstance(name, str) for name in names) or len(set(names)) != len(names):
            raise self._error("columns whose names are no texts, or not all different")
        return [str(name) for name in names]

    def _length(self, index: Any) -> int:
        parts = self._index(index)
        if "data" in parts:
            return len(self._values(parts["data"]))
        limits = [parts.get(name) for name in ("start", "stop", "step")]
        if any(type(limit) is not int for limit in limits) or not limits[2]:
            raise self._error("rows without number")
        return len(range(*limits))  # type: ignore[arg-type]

    def _chosen(self, place: Any, count: int) -> list[int]:
        """The numbers of a block's columns."""
        if isinstance(place, PickleCall) and place.maker == PickleName("builtins", "slice"):
            if not all(part is None or type(part) is int for part in place.arguments) or place.arguments[2:] == (0,):
                raise self._error("a block whose columns are no numbers")
            return list(range(count)[slice(*place.arguments)]) if len(place.arguments) == 3 else []
        chosen = self._values(place)
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1 or (len(chosen) and not chosen.min() >= 0):
            raise self._error("a block whose columns are no numbers")
        if len(chosen) and chosen.max() >= count:
            raise self._error("a block beyond the columns")
        return [int(at) for at in chosen]

    def _values(self, item: Any) -> Array:
        """The array that ``item`` describes: NumPy's, or one of pandas' arrays of texts."""
        if id(item) not in self._built:
            if isinstance(item, PickleCall) and item.maker.module.startswith("pandas"):
                self._built[id(item)] = self._texts(item)
            else:
                self._built[id(item)] = self._array(item)
        return self._built[id(item)]

    def _array(self, item: Any) -> Array:
        call = self._expect_call(item, "numpy", ("_reconstruct", "_frombuffer"))
        if not call.maker.module.startswith(_NUMPY):
            raise self._error(str(call.maker))
        if call.maker.name == "_frombuffer":  # protocol 5
            if len(call.arguments) != 4:
                raise self._error("an array without contents")
            data, dtype, shape, order = call.arguments
            return self._from_bytes(data, self._dtype(dtype), self._shape(shape), order == "F")
        state = call.state
        if not isinstance(state, tuple) or len(state) != 5 or call.arguments[:1] != (PickleName("numpy", "ndarray"),):
            raise self._error("an array without contents")
        _, shape, dtype, fortran, data = state
        if self._code(dtype) == _OBJECT:
            return self._from_list(data, self._shape(shape), fortran is True)
        return self._from_bytes(data, self._dtype(dtype), self._shape(shape), fortran is True)

    def _shape(self, shape: Any) -> tuple[int, ...]:
        if not isinstance(shape, tuple) or not 1 <= len(shape) <= 2:
            raise self._error("an array of another shape than rows, or columns of rows")
        if not all(type(length) is int and length >= 0 for length in shape):
            raise self._error("an array of no shape")
        return shape

    def _code(self, item: Any) -> str:
        call = self._expect_call(item, "numpy", ("dtype",))
        code = call.arguments[0] if call.arguments else None
        if not isinstance(code, str) or not _DTYPE.fullmatch(code):
            raise self._error(f"values of type {str(code)[:20]!r}")
        return code

    def _dtype(self, item: Any) -> np.dtype[Any]:
        """The type of an array of plain numbers. Its state may hold a byte order, and nothing else."""
        code, state = self._code(item), item.state
        if not isinstance(state, tuple) or len(state) != 8 or state[1] not in _BYTE_ORDERS:
            raise self._error("a type without byte order")
        if code == _OBJECT or any(part is not None for part in state[2:5]):
            raise self._error("values that are no numbers")
        return np.dtype(code).newbyteorder(state[1])

    def _from_bytes(self, data: Any, dtype: np.dtype[Any], shape: tuple[int, ...], fortran: bool) -> Array:
        data = _read_bytes(data)
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        if data is None or len(data) != count * dtype.itemsize:
            raise self._error("an array with more or fewer bytes than its shape needs")
        flat = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
        return flat.reshape(shape, order="F" if fortran else "C")

    def _from_list(self, items: Any, shape: tuple[int, ...], fortran: bool) -> Array:
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        if not isinstance(items, list) or len(items) != count:
            raise self._error("an array with more or fewer items than its shape needs")
        flat = np.empty(count, object)
        flat[:] = [self._unpack_plain(item) for item in items]
        return flat.reshape(shape, order="F" if fortran else "C")

    def _unpack_plain(self, item: Any) -> Any:
        """A text or number, or that of a NumPy scalar."""
        if isinstance(item, PickleCall):
            call = self._expect_call(item, "numpy", ("scalar",))
            dtype, data = call.arguments if len(call.arguments) == 2 else (None, None)
            return self._from_bytes(data, self._dtype(dtype), (1,), False)[0].item()
        if not isinstance(item, _PLAIN):
            raise self._error(f"a {type(item).__name__} in a column of texts")
        return item

    def _texts(self, item: PickleCall) -> Array:
        """An array of texts as pandas 3 keeps them: of Arrow's buffers, or of Python's texts."""
        if item.maker.name.startswith("ArrowStringArray"):
            parts = item.state if isinstance(item.state, dict) else {}
            return self._from_arrow(parts.get("_pa_array"))
        call = self._expect_call(item, "pandas", ("__pyx_unpickle_NDArrayBacked",))
        state = call.state if isinstance(call.state, tuple) else ()
        arrays = [part for part in state if isinstance(part, PickleCall) and part.maker.name in ("_reconstruct",)]
        if len(arrays) != 1:
            raise self._error("texts without contents")
        return self._array(arrays[0])

    def _from_arrow(self, item: Any) -> Array:
        """Texts from Arrow's layout of them (Arrow columnar format): validity bits, offsets, and bytes."""
        if isinstance(item, PickleCall) and item.maker == PickleName("pyarrow.lib", "chunked_array"):
            chunks = item.arguments[0] if item.arguments else None
            if not isinstance(chunks, list) or not chunks:
                raise self._error("texts without contents")
            return np.concatenate([self._from_arrow_chunk(chunk) for chunk in chunks])
        return self._from_arrow_chunk(item)

    def _from_arrow_chunk(self, item: Any) -> Array:
        call = self._expect_call(item, "pyarrow", ("_restore_array",))
        parts = call.arguments[0] if call.arguments else None
        if not isinstance(parts, tuple) or len(parts) != 7:
            raise self._error("texts without contents")
        kind, count, _, first, buffers, _, _ = parts
        name = self._expect_call(kind, "pyarrow", ("type_for_alias",)).arguments
        if len(name) != 1 or name[0] not in _OFFSETS or not isinstance(buffers, list) or len(buffers) != 3:
            raise self._error("texts of another kind")
        if type(count) is not int or type(first) is not int or min(count, first) < 0:
            raise self._error("texts without number")
        valid, edges, data = (None if part is None else self._buffer(part) for part in buffers)
        return self._split_texts(count, first, valid, edges, data or b"", _OFFSETS[name[0]])

    def _split_texts(
        self, count: int, first: int, valid: bytes | None, edges: bytes | None, data: bytes, kind: np.dtype[Any]
    ) -> Array:
        texts = np.empty(count, object)
        if not count:
            return texts
        end = first + count
        if edges is None or len(edges) < (end + 1) * kind.itemsize or (valid is not None and len(valid) * 8 < end):
            raise self._error("texts with too few offsets")
        places = np.frombuffer(edges, kind, count + 1, first * kind.itemsize)
        if places[0] < 0 or places[-1] > len(data) or (np.diff(places) < 0).any():
            raise self._error("texts with offsets beyond them")
        known = np.ones(count, bool)
        if valid is not None:
            known = np.unpackbits(np.frombuffer(valid, np.uint8), count=end, bitorder="little")[first:].astype(bool)
        for at, (start, stop) in enumerate(zip(places[:-1].tolist(), places[1:].tolist(), strict=True)):
            texts[at] = data[start:stop].decode("utf-8") if known[at] else None
        return texts

    def _buffer(self, item: Any) -> bytes:
        call = self._expect_call(item, "pyarrow", ("py_buffer",))
        data = _read_bytes(call.arguments[0]) if len(call.arguments) == 1 else None
        if data is None:
            raise self._error("texts without bytes")
        return data


def _read_bytes(item: Any) -> bytes | None:
    """Bytes, also as they are pickled before protocol 3 and 5; None if ``item`` is something else."""
    if isinstance(item, bytes | bytearray):
        return bytes(item)
    if not isinstance(item, PickleCall):
        return None
    if item.maker not in _BYTES or not item.arguments:
        return b"" if item.maker in _BYTES[:2] else None
    text, *encoding = item.arguments
    if encoding in (["latin1"], ["latin-1"]) and isinstance(text, str):
        return text.encode("latin1")
    inner = item.maker == _BYTES[1] and isinstance(text, PickleCall) and text.maker == _BYTES[2]
    return _read_bytes(text) if not encoding and (inner or isinstance(text, bytes)) else None
