"""Pieces of unfinished work come back as they were written, or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import InputError
from resweep.files.pieces import DamagedPieceWarning, Pieces
from resweep.pose import Array

ARRAYS: dict[str, Array] = {
    "points": np.arange(12, dtype=np.float32).reshape(4, 3),
    "none": np.zeros((0, 3), np.int64),
    "number": np.array(2.5),
    "flags": np.array([True, False]),
    "names": np.array(["a", "bc"]),
    "across": np.arange(6).reshape(2, 3).T,
}
FACTS = {"sweeps": [0, 3], "name": "drive"}


def test_a_piece_comes_back_as_it_was(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, "key")
    pieces.write("deep/step", ARRAYS, FACTS)
    found = pieces.find("deep/step")
    assert found is not None
    assert found.facts == FACTS
    assert found.arrays.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        again = found.arrays[name]
        assert (again.dtype, again.shape) == (values.dtype, values.shape)
        assert again.tobytes() == values.tobytes()
        assert again.flags.writeable
    assert pieces.find("other") is None
    assert [file.name for file in (tmp_path / "deep").iterdir()] == ["step.piece"]


def test_any_changed_byte_is_found(tmp_path: Path) -> None:
    pieces = Pieces(tmp_path, "key")
    pieces.write("step", {"values": np.arange(5)}, FACTS)
    data = (tmp_path / "step.piece").read_bytes()
    for at in range(len(data)):
        (tmp_path / "step.piece").write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
        with pytest.warns(DamagedPieceWarning, match=r"step\.piece is (damaged|of other work): computed again"):
            assert pieces.find("step") is None
        assert not (tmp_path / "step.piece").exists()
    for cut in (data[:-1], data[:20], b"", data + b"\0"):
        (tmp_path / "step.piece").write_bytes(cut)
        with pytest.raises(InputError, match=r"step\.piece: was damaged while it was in use"):
            pieces.read("step")


def test_a_piece_of_another_work_or_name_is_not_used(tmp_path: Path) -> None:
    Pieces(tmp_path, "one").write("a", ARRAYS)
    with pytest.warns(DamagedPieceWarning, match="a.piece is of other work"):
        assert Pieces(tmp_path, "two").find("a") is None
    Pieces(tmp_path, "one").write("a", ARRAYS)
    os.rename(tmp_path / "a.piece", tmp_path / "b.piece")
    with pytest.warns(DamagedPieceWarning, match="b.piece is of other work"):
        assert Pieces(tmp_path, "one").find("b") is None


def test_objects_are_never_written(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="objects"):
        Pieces(tmp_path).write("a", {"things": np.array([{}], object)})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", ["content", "size", "gone", "further", "fifo", "link"])
def test_a_seal_knows_each_file_of_a_folder(tmp_path: Path, change: str) -> None:
    folder, pieces = tmp_path / "out" / "a.world", Pieces(tmp_path / "seals", "key")
    (folder / "c").mkdir(parents=True)
    for name in ("index", "c/0"):
        (folder / name).write_text(name)
    pieces.seal("a", tmp_path / "out", [folder])
    assert pieces.find_sealed("a", tmp_path / "out") == [folder]
    file = folder / "c" / "0"
    if change in ("gone", "fifo", "link"):
        file.unlink()
    if change == "fifo":
        os.mkfifo(file)
    elif change == "link":
        file.symlink_to(folder / "index")
    elif change != "gone":
        (folder / "c" / "1" if change == "further" else file).write_text("x/0" if change == "content" else "more")
    with pytest.warns(DamagedPieceWarning, match=r"a\.world is damaged: computed again"):
        assert pieces.find_sealed("a", tmp_path / "out") is None
