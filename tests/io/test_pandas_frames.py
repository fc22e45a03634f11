"""Pickled pandas frames are read as pandas reads them, and nothing that a pickle asks for is done."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io.datasets.pandaset.pandas_frames import read_frame
from resweep.io.reading_limits import gunzip

pd = pytest.importorskip("pandas")


def make_frames() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    whole = pd.DataFrame(
        {
            **{axis: rng.normal(size=50) for axis in "xyz"},
            **{"d": np.arange(50) % 2, "s": rng.random(50) > 0.5, "u": ["a", "é", None, "", "long text"] * 10},
        }
    )
    grown = pd.DataFrame()
    for name in ("first", "second"):
        grown[name] = rng.normal(size=5)
    objects = pd.DataFrame({"mixed": pd.Series(["a", 1, 2.5, None, True, np.float64(0.5)], dtype=object)})
    columns = pd.DataFrame(np.asfortranarray(rng.normal(size=(7, 3))), columns=["p", "q", "r"])
    return {
        **{"whole": whole, "chosen": whole[whole["x"] > 0], "empty": whole[:0], "indexed": whole.set_index("u")},
        **{
            "grown": grown,
            "objects": objects,
            "columns": columns,
            "bytes": pd.DataFrame({"b": np.arange(3, dtype="u1")}),
        },
    }


def check_equal(found: dict[str, Any], frame: Any) -> None:
    assert list(found) == list(frame.columns)
    for name, values in found.items():
        wanted = frame[name].to_numpy()
        if values.dtype.kind == "O":
            missing = (None, np.nan)
            assert [None if item in missing or item != item else item for item in values] == [
                None if item in missing or item != item else item for item in wanted.tolist()
            ]
        else:
            assert values.dtype == wanted.dtype
            np.testing.assert_array_equal(values, wanted)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("name", list(make_frames()))
def test_true_frames_read_as_pandas_reads_them(name: str, protocol: int, tmp_path: Path) -> None:
    file = tmp_path / "frame.pkl"
    make_frames()[name].to_pickle(file, protocol=protocol)
    check_equal(read_frame(file.read_bytes(), str(file)), pd.read_pickle(file))


def test_texts_without_arrow(tmp_path: Path) -> None:
    with pd.option_context("mode.string_storage", "python"):
        frame = pd.DataFrame({"label": ["Car", None, "Bus"]})
        check_equal(read_frame(pickle.dumps(frame), "frame"), frame)


def pickle_as_before_1_3(frame: Any, protocol: int) -> bytes:
    """The bytes that pandas 0.25 to 1.2 wrote: managers whose state has the layout 0.14.1."""

    axes = [frame.columns.astype(object), frame.index]
    blocks = [
        {"values": frame[[name]].to_numpy().T, "mgr_locs": slice(at, at + 1, 1)}
        for at, name in enumerate(frame.columns)
    ]
    blocks[-1]["mgr_locs"] = np.array([len(blocks) - 1])

    class BlockManager:
        def __getstate__(self) -> Any:
            values, places = [block["values"] for block in blocks], [block["mgr_locs"] for block in blocks]
            return axes, values, places, {"0.14.1": {"axes": axes, "blocks": blocks}}

    class DataFrame:
        def __getstate__(self) -> Any:
            return {"_data": BlockManager(), "_typ": "dataframe", "_metadata": []}

    real = {}
    for kind, module in ((BlockManager, "pandas.core.internals.managers"), (DataFrame, "pandas.core.frame")):
        real[kind.__name__, module] = getattr(sys.modules[module], kind.__name__)
        kind.__module__, kind.__qualname__ = module, kind.__name__
        setattr(sys.modules[module], kind.__name__, kind)
    try:
        return pickle.dumps(DataFrame(), protocol=protocol)
    finally:
        for (name, module), kind in real.items():
            setattr(sys.modules[module], name, kind)


@pytest.mark.parametrize("protocol", [2, 4])
def test_frames_of_old_pandas(protocol: int, tmp_path: Path) -> None:
    frame = make_frames()["whole"].astype({"u": object})
    data = pickle_as_before_1_3(frame, protocol)
    (tmp_path / "old.pkl").write_bytes(data)
    check_equal(read_frame(data, "old"), frame)
    check_equal(read_frame(data, "old"), pd.read_pickle(tmp_path / "old.pkl"))  # pandas takes it for one of its own


class Asks:
    """An object whose pickle calls a function of its choice."""

    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call


def test_nothing_is_imported_or_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(os, "system", asked.append)
    for data in (
        pickle.dumps(Asks(eval, ("1 / 0",))),
        b"cos\nsystem\n(S'echo harm'\ntR.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x09echo harm\x85R.",
        b"\x80\x04\x8c\x11antigravity.thing\x8c\x01x\x93.",
    ):
        with pytest.raises((ResweepError, ValueError)):
            read_frame(data, "frame")
    assert not asked
    assert "antigravity" not in sys.modules


class Type:
    """A NumPy type with a state of its own."""

    def __init__(self, code: str, *state: Any) -> None:
        self.code, self.state = code, state

    def __reduce__(self) -> Any:
        return np.dtype, (self.code, False, True), self.state


class Forger(pickle.Pickler):
    """Pickles a true frame, but its block of numbers with another state."""

    def __init__(self, file: Any, state: Any) -> None:
        super().__init__(file, protocol=4)
        self.state = state

    def reducer_override(self, item: Any) -> Any:
        if isinstance(item, np.ndarray) and item.ndim == 2:
            return np.zeros(1).__reduce__()[0], (np.ndarray, (0,), b"b"), self.state
        return NotImplemented


def forge(state: Any) -> bytes:
    file = io.BytesIO()
    Forger(file, state).dump(pd.DataFrame({"x": [1.0, 2.0, 3.0]}))
    return file.getvalue()


NUMBERS = Type("f8", 3, "<", None, None, None, -1, -1, 0)


def test_a_forged_frame_with_a_true_state_is_read() -> None:
    found = read_frame(forge((1, (1, 3), NUMBERS, False, np.arange(3.0).tobytes())), "frame")
    np.testing.assert_array_equal(found["x"], [0, 1, 2])


@pytest.mark.parametrize(
    "state",
    [
        # Pointers of a file's choice in the place of objects: NumPy would follow them.
        (1, (1, 3), Type("O8", 3, "|", None, None, None, -1, -1, 63), False, b"\x41" * 24),
        (1, (1, 3), Type("f8", 3, "|", None, None, None, -1, -1, 63), False, [1.0, 2.0, 3.0]),
        (1, (1, 3), Type("V8", 3, "|", None, ("a",), {"a": (np.dtype("O"), 0)}, 8, 1, 27), False, b"\x41" * 24),
        (1, (1, 3), Type("f8", 3, "<", (np.dtype("f8"), (1 << 40,)), None, None, 8, 8, 0), False, b"\x41" * 24),
        (1, (1, 3), Type("f8", 3, "?", None, None, None, -1, -1, 0), False, b"\x41" * 24),
        (1, (1, 3), Type("f8"), False, b"\x41" * 24),
        (1, (1, 3), None, False, b"\x41" * 24),
        (1, (1, 3), NUMBERS, False, b"\x41" * 8),
        (1, (1, 3), NUMBERS, False, None),
        (1, (1 << 40, 1 << 40), NUMBERS, False, b""),
        (1, (-1, -3), NUMBERS, False, b"\x41" * 24),
        (1, (3, 1), NUMBERS, False, b"\x41" * 24),
        (1, 3, NUMBERS, False, b"\x41" * 24),
        (),
        None,
    ],
)
def test_states_that_point_elsewhere_are_refused(state: Any) -> None:
    with pytest.raises(ResweepError, match=r"^frame: holds no pandas frame of numbers and texts"):
        read_frame(forge(state), "frame")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04" + b"]\x94" * 100_000 + b".",
        b"\x80\x04)" + b"\x85" * 300_000 + b".",
        b"\x80\x04]\x94" + b"h\x00a" * 300_000 + b".",
        b"\x80\x04(" + b"(" * 150_000 + b"t.",
        b"\x80\x04\x8b\xff\xff\xff\x7f.",
        b"\x80\x04\x8e" + b"\xff" * 7 + b"\x7f.",
        b"\x80\x04h\x05.",
        b"\x80\x04N",
        b"\x80\x04NN.",
        b"\x80\x04}NNs.",
        b"\x80\x042.",
        b"",
    ],
)
def test_bombs_and_damage(data: bytes) -> None:
    tracemalloc.start()
    with pytest.raises((ResweepError, ValueError)):
        read_frame(data, "frame")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 << 20


def test_gzip_is_read_within_bounds() -> None:
    data = bytes(range(256)) * 1000
    assert gunzip(gzip.compress(data), "file") == data
    assert gunzip(gzip.compress(b"one ") + gzip.compress(b"two") + b"\0\0", "file") == b"one two"
    bomb = gzip.compress(bytes(100 << 20), 9)
    tracemalloc.start()
    with pytest.raises(ResweepError, match=r"file: \d+ bytes expand to \d+ or more"):
        gunzip(bomb * 20, "file")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300 << 20
    with pytest.raises(EOFError):
        gunzip(gzip.compress(data)[:-9], "file")
