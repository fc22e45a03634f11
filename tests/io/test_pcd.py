"""PCD as other programs write it, and our bytes read by the letter of the format."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import load_sweep, write_sweep
from resweep.io.files import lzf
from resweep.sweep import Sweep


def head(fields: str, size: str, kind: str, count: str, points: int, data: str, height: int = 1) -> bytes:
    lines = [
        "# .PCD v0.7 - Point Cloud Data file format",
        "VERSION 0.7",
        f"FIELDS {fields}",
        f"SIZE {size}",
        f"TYPE {kind}",
        f"COUNT {count}",
        f"WIDTH {points // height}",
        f"HEIGHT {height}",
        "VIEWPOINT 1 2 3 0.7071067811865476 0 0 0.7071067811865476",
        f"POINTS {points}",
        f"DATA {data}",
    ]
    return ("\n".join(lines) + "\n").encode()


def test_padding_counts_and_types(tmp_path: Path) -> None:
    # PCL's PointXYZI layout: 4 bytes of padding after z, 12 after intensity.
    rows = [
        struct.pack("<fff4xf12xdHB3f", 1 + at, 2, 3, 0.5 * at, 10.0 + at, 7 + at, 9, *(at, at + 1, at + 2))
        for at in range(3)
    ]
    text = head("x y z _ intensity _ timestamp ring label normal", "4 4 4 1 4 1 8 2 1 4", "F F F U F U F U U F",
                "1 1 1 4 1 12 1 1 1 3", 3, "binary")  # fmt: skip
    (tmp_path / "pcl.pcd").write_bytes(text + b"".join(rows) + bytes(100))  # PCL pads to a memory page
    sweep = load_sweep(tmp_path / "pcl.pcd")
    np.testing.assert_allclose(sweep.points, [[1, 2, 3], [2, 2, 3], [3, 2, 3]], atol=1e-6)
    np.testing.assert_allclose(sweep.intensity, [0, 0.5, 1])
    np.testing.assert_array_equal(sweep.ring, [7, 8, 9])
    np.testing.assert_array_equal(sweep.time, [10, 11, 12])
    np.testing.assert_array_equal(sweep.label, [9, 9, 9])
    np.testing.assert_array_equal(sweep.extra["normal"], [[0, 1, 2], [1, 2, 3], [2, 3, 4]])
    assert list(sweep.extra) == ["normal"]
    np.testing.assert_allclose(sweep.pose[:3], [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3]], atol=1e-12)


def test_compressed_body_goes_field_by_field(tmp_path: Path) -> None:
    x, y, z = np.arange(1, 5, dtype="<f4"), np.full(4, 2, "<f4"), np.full(4, 3, "<f4")
    t = np.array([0, 100, 200, 300], "<u4")
    raw = x.tobytes() + y.tobytes() + z.tobytes() + t.tobytes()  # padding left out, as PCL does
    packed = lzf.compress(raw)
    text = head("x y z _ t", "4 4 4 1 4", "F F F U U", "1 1 1 4 1", 4, "binary_compressed")
    (tmp_path / "c.pcd").write_bytes(text + struct.pack("<II", len(packed), len(raw)) + packed)
    sweep = load_sweep(tmp_path / "c.pcd")
    np.testing.assert_allclose(sweep.points[:, 0], x, rtol=1e-6)
    np.testing.assert_allclose(sweep.time, [0, 1e-7, 2e-7, 3e-7])  # Ouster's t counts nanoseconds


def test_organised_cloud_drops_its_nan(tmp_path: Path) -> None:
    body = b"1 2 3\nnan nan nan\n4 5 6\n0 0 0\n"
    (tmp_path / "o.pcd").write_bytes(head("x y z", "4 4 4", "F F F", "1 1 1", 4, "ascii", height=2) + body)
    np.testing.assert_allclose(load_sweep(tmp_path / "o.pcd").points, [[1, 2, 3], [4, 5, 6]], rtol=1e-6)


def test_nan_elsewhere_is_an_error_unless_dropped(tmp_path: Path) -> None:
    path = tmp_path / "n.pcd"
    path.write_bytes(head("x y z", "4 4 4", "F F F", "1 1 1", 2, "ascii") + b"1 2 3\nnan 0 0\n")
    with pytest.raises(ResweepError, match=r"n\.pcd: 1 of 2 points hold NaN.*drop_nan"):
        load_sweep(path)
    assert len(load_sweep(path, drop_nan=True)) == 1


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("FIELDS x y z", "FIELDS x y w", "no field 'z'"),
        ("SIZE 4 4 4", "SIZE 4 4 3", "SIZE 3"),
        ("SIZE 4 4 4", "SIZE 4 4", "differ in length"),
        ("DATA ascii", "DATA asci", "did you mean 'ascii'"),
        ("WIDTH 1", "WIDTH one", "bad PCD header"),
        ("VIEWPOINT 1", "VIEWPOINT 1 1", "VIEWPOINT"),
    ],
)
def test_bad_headers(old: str, new: str, message: str, tmp_path: Path) -> None:
    text = head("x y z", "4 4 4", "F F F", "1 1 1", 1, "ascii").decode() + "1 2 3\n"
    assert old in text
    (tmp_path / "bad.pcd").write_text(text.replace(old, new))
    with pytest.raises(ResweepError, match=message) as raised:
        load_sweep(tmp_path / "bad.pcd")
    assert "bad.pcd" in str(raised.value)


def test_our_bytes_by_the_letter(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "s.pcd")
    text, _, body = (tmp_path / "s.pcd").read_bytes().partition(b"DATA binary\n")
    fields = dict(line.split(" ", 1) for line in text.decode().splitlines() if not line.startswith("#"))
    assert fields["FIELDS"].split()[:6] == ["x", "y", "z", "intensity", "ring", "time"]
    assert int(fields["POINTS"]) == len(sweep)
    step = sum(map(int, fields["SIZE"].split()))
    x, y, z, intensity, ring, time = struct.unpack_from("<ffffHd", body, 5 * step)
    np.testing.assert_array_equal(np.float32([x, y, z]), sweep.points[5])
    assert (np.float32(intensity), ring, time) == (sweep.intensity[5], sweep.ring[5], sweep.time[5])
    viewpoint = [float(value) for value in fields["VIEWPOINT"].split()]
    assert viewpoint[:3] == sweep.pose[:3, 3].tolist()
