"""PLY checked against plyfile, and read as others write it."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import load_sweep, write_sweep
from resweep.io.files.ply import is_mesh
from resweep.sweep import Sweep

plyfile = pytest.importorskip("plyfile")


@pytest.mark.parametrize("encoding", ["ascii", "binary_little_endian", "binary_big_endian"])
def test_another_reader_reads_ours(encoding: str, sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "s.ply", encoding=encoding)
    vertex = plyfile.PlyData.read(str(tmp_path / "s.ply"))["vertex"]
    np.testing.assert_array_equal(np.stack([vertex[axis] for axis in "xyz"], axis=1), sweep.points)
    np.testing.assert_array_equal(vertex["time"], sweep.time)
    np.testing.assert_array_equal(vertex["ring"], sweep.ring)
    assert vertex["ring"].dtype.kind == "u"


@pytest.mark.parametrize(("text", "order"), [(True, "="), (False, "<"), (False, ">")])
def test_we_read_another_writer(text: bool, order: str, tmp_path: Path) -> None:
    vertex = np.zeros(3, [("red", "u1"), ("z", "f8"), ("x", "f8"), ("scalar_Intensity", "f4"), ("y", "f8")])
    vertex["x"], vertex["y"], vertex["z"] = [1, 2, 3], 5, [7, 8, 9]
    vertex["scalar_Intensity"], vertex["red"] = [0.25, 0.5, 1], [1, 128, 255]
    # A listed element before the vertices must be stepped over, and a list within them.
    before = np.empty(2, [("path", object), ("id", "i4")])
    before["path"], before["id"] = [np.array([1, 2, 3], "i4"), np.array([4], "i4")], [8, 9]
    listed = np.empty(3, [*vertex.dtype.descr, ("seen", object)])
    for name in vertex.dtype.names or ():
        listed[name] = vertex[name]
    listed["seen"] = [np.array([1.0], "f4"), np.zeros(0, "f4"), np.array([1.0, 2.0], "f4")]
    # plyfile 1.1.5 writes the scalars beside a list little-endian whatever is asked: see the test by hand below.
    for at, values in enumerate((vertex, listed) if order != ">" else (vertex,)):
        elements = [plyfile.PlyElement.describe(before, "camera"), plyfile.PlyElement.describe(values, "vertex")]
        file = tmp_path / f"{at}.ply"
        plyfile.PlyData(elements, text=text, byte_order=order).write(str(file))
        sweep = load_sweep(file)
        np.testing.assert_allclose(sweep.points, [[1, 5, 7], [2, 5, 8], [3, 5, 9]], rtol=1e-6)
        np.testing.assert_allclose(sweep.intensity, [0.25, 0.5, 1])
        np.testing.assert_array_equal(sweep.extra["red"], [1, 128, 255])
        assert not is_mesh(file)


def test_big_endian_lists_by_hand(tmp_path: Path) -> None:
    lines = ["ply", "format binary_big_endian 1.0", "element vertex 2", "property float x"]
    lines += ["property list uchar ushort seen", "property float y", "property double z", "end_header"]
    body = struct.pack(">fBHHfd", 1, 2, 700, 800, 2, 3) + struct.pack(">fBfd", 4, 0, 5, 6)
    file = tmp_path / "lists.ply"
    file.write_bytes(("\n".join(lines) + "\n").encode() + body)
    np.testing.assert_allclose(load_sweep(file).points, [[1, 2, 3], [4, 5, 6]], rtol=1e-6)
    for cut in (1, 9, len(body) - 20):
        file.write_bytes(("\n".join(lines) + "\n").encode() + body[:-cut])
        with pytest.raises(ResweepError, match=r"lists\.ply: truncated"):
            load_sweep(file)


def test_64_bit_integers_must_fit(sweep: Sweep, tmp_path: Path) -> None:
    extra = {"big": np.full(len(sweep), 2**60)}
    with pytest.raises(ResweepError, match=r"'big' holds integers too large"):
        write_sweep(type(sweep)(**{**vars_of(sweep), "extra": extra}), tmp_path / "s.ply")


def vars_of(sweep: Sweep) -> dict[str, object]:
    return {name: getattr(sweep, name) for name in sweep.__dataclass_fields__}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ply\nformat ascii 1.0\nelement face 0\nend_header\n", "no 'vertex'"),
        ("ply\nformat ascii 1.0\nelement vertex 1\nproperty real x\nend_header\n1\n", "line 4"),
        ("ply\nformat asci 1.0\nelement vertex 0\nend_header\n", "did you mean 'ascii'"),
        ("ply\nformat ascii 1.0\nelement vertex 1\nproperty float x\nend_header\nnought\n", "no number"),
        ("solid\n", "no PLY header"),
    ],
)
def test_bad_files(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.ply").write_text(text)
    with pytest.raises(ResweepError, match=message) as raised:
        load_sweep(tmp_path / "bad.ply")
    assert "bad.ply" in str(raised.value)
