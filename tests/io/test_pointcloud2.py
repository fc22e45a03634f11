"""PointCloud2 in the layouts of the drivers: Velodyne, Ouster, Hesai, Livox, and odd but legal ones."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io.ros.pointcloud2 import to_columns

STAMP = 1_700_000_000.5
CODES = {"i1": 1, "u1": 2, "i2": 3, "u2": 4, "i4": 5, "u4": 6, "f4": 7, "f8": 8}


def cloud(
    fields: list[tuple[str, str, int]], step: int, rows: dict[str, Any], order: str = "<", height: int = 1, pad: int = 0
) -> SimpleNamespace:
    """A message of ``fields`` (name, type, offset); ``pad`` bytes follow each of its ``height`` rows."""
    layout = {
        "names": [name for name, _, _ in fields],
        "formats": [order + kind for _, kind, _ in fields],
        "offsets": [offset for _, _, offset in fields],
        "itemsize": step,
    }
    points = np.zeros(len(next(iter(rows.values()))), np.dtype(layout))  # type: ignore[call-overload]
    for name, values in rows.items():
        points[name] = values
    width = len(points) // height
    lines = [points[at * width : (at + 1) * width].tobytes() + b"\xff" * pad for at in range(height)]
    return SimpleNamespace(
        height=height,
        width=width,
        fields=[SimpleNamespace(name=n, offset=o, datatype=CODES[k], count=1) for n, k, o in fields],
        is_bigendian=order == ">",
        point_step=step,
        row_step=width * step + pad,
        data=np.frombuffer(b"".join(lines), np.uint8),
    )


XYZ = [("x", "f4", 0), ("y", "f4", 4), ("z", "f4", 8)]
POINTS = {"x": [1.0, 2, 3, 4], "y": [5.0, 6, 7, 8], "z": [0.5, 0.5, 0.5, 0.5]}
RELATIVE = np.array([0, 0.03, 0.06, 0.099])
LAYOUTS: dict[str, tuple[list[tuple[str, str, int]], int, dict[str, Any]]] = {
    "velodyne": ([("intensity", "f4", 16), ("ring", "u2", 20), ("time", "f4", 24)], 32, {"time": RELATIVE}),
    "velodyne, from the end": ([("time", "f4", 24)], 32, {"time": RELATIVE}),
    "ouster": ([("t", "u4", 20), ("reflectivity", "u2", 24), ("ring", "u1", 26)], 48, {"t": RELATIVE * 1e9}),
    "hesai": ([("timestamp", "f8", 16), ("ring", "u2", 24)], 26, {"timestamp": STAMP + RELATIVE}),
    "livox": ([("timestamp", "f8", 18), ("line", "u1", 17)], 26, {"timestamp": (STAMP + RELATIVE) * 1e9}),
    "livox custom": ([("offset_time", "u4", 16)], 20, {"offset_time": RELATIVE * 1e9}),
    "microseconds": ([("time", "f4", 12)], 16, {"time": RELATIVE * 1e6}),
    "early ouster": ([("t", "u4", 12)], 16, {"t": RELATIVE * 0.01 * 1e9}),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_times_of_drivers(name: str) -> None:
    fields, step, rows = LAYOUTS[name]
    columns = to_columns(cloud(XYZ + fields, step, {**POINTS, **rows}), STAMP, "bag")
    scale = 0.01 if name == "early ouster" else 1.0
    np.testing.assert_allclose(columns["time"] - STAMP, RELATIVE * scale, atol=2e-6)
    np.testing.assert_array_equal(columns["y"], POINTS["y"])


def test_simulated_time_near_zero() -> None:
    fields = [*XYZ, ("timestamp", "f8", 16)]
    columns = to_columns(cloud(fields, 24, {**POINTS, "timestamp": 0.3 + RELATIVE}), 0.3, "bag")
    np.testing.assert_allclose(columns["time"], 0.3 + RELATIVE)
    fields = [*XYZ, ("time", "f4", 16)]
    columns = to_columns(cloud(fields, 24, {**POINTS, "time": RELATIVE}), 12.0, "bag")
    np.testing.assert_allclose(columns["time"], 12 + RELATIVE, atol=1e-6)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("pad", [0, 6])
def test_byte_orders_and_padded_rows(order: str, pad: int) -> None:
    columns = to_columns(cloud(XYZ, 20, POINTS, order, height=2, pad=pad), STAMP, "bag")
    for axis in "xyz":
        np.testing.assert_array_equal(columns[axis], POINTS[axis])
        assert columns[axis].dtype.isnative
    assert "time" not in columns


def test_mistakes() -> None:
    short = cloud(XYZ, 16, POINTS)
    short.data = short.data[:-10]
    with pytest.raises(ResweepError, match=r"bag: truncated \(54 bytes of points, 64 expected\)"):
        to_columns(short, STAMP, "bag")
    with pytest.raises(ResweepError, match="bag: no field 'z'; it has x, y"):
        to_columns(cloud(XYZ[:2], 16, {"x": [1.0], "y": [2.0]}), STAMP, "bag")
    odd = cloud(XYZ, 16, POINTS)
    odd.fields[1].datatype = 12
    with pytest.raises(ResweepError, match="field 'y' has datatype 12"):
        to_columns(odd, STAMP, "bag")
    narrow = cloud(XYZ, 16, POINTS)
    narrow.point_step = 8
    with pytest.raises(ResweepError, match="do not fit point_step 8"):
        to_columns(narrow, STAMP, "bag")
