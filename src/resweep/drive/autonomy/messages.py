"""Messages between a loop and an autonomy in another process: msgpack maps behind their length (docs/drive.md)."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from resweep.drive.sensing.observation import Mission, Observation, Readings, Scan
from resweep.errors import ResweepError
from resweep.optional import require

VERSION = 1
HEADER = struct.Struct(">I")  # bytes of the message, an unsigned integer of 32 bits, most significant byte first
MAX_ANSWER_BYTES = 1 << 20
MAX_QUESTION_BYTES = 1 << 30
WHAT = "an autonomy over a socket"


def pack(message: dict[str, Any]) -> bytes:
    """A message with its length before it."""
    body: bytes = require("msgpack", WHAT).packb(message, use_bin_type=True)
    return HEADER.pack(len(body)) + body


def unpack(body: bytes) -> dict[str, Any]:
    """The message in the bytes behind a length."""
    try:
        message = require("msgpack", WHAT).unpackb(body, raw=False)
    except ResweepError:
        raise
    except Exception as error:  # msgpack has several of its own, and hands on those of the decoder
        raise ResweepError(f"message: is no msgpack ({type(error).__name__}: {error})") from error
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ResweepError("message: expected a map with a text 'type'")
    return message


def describe_mission(mission: Mission) -> dict[str, Any]:
    """The first message of a run."""
    return {"type": "mission", "version": VERSION, **mission.describe()}


def describe_observation(observation: Observation) -> dict[str, Any]:
    """The message of a step."""
    return {
        "type": "observation",
        "step": observation.step,
        "time_s": observation.time_s,
        "scans": {name: [_describe_scan(scan) for scan in scans] for name, scans in observation.scans.items()},
        **{name: _describe_readings(getattr(observation, name)) for name in ("gps", "compass", "imu", "odometry")},
    }


def _describe_scan(scan: Scan) -> dict[str, Any]:
    return {
        "start_s": scan.start_s,
        "end_s": scan.end_s,
        "count": len(scan.points),
        "points": _to_bytes(scan.points, "<f4"),
        "time": _to_bytes(scan.time, "<f8"),
        "intensity": _to_bytes(scan.intensity, "<f4"),
        "ring": _to_bytes(scan.ring, "<u2"),
        "T_vehicle_sensor": scan.T_vehicle_sensor.ravel().tolist(),
    }


def _describe_readings(readings: Readings) -> dict[str, Any]:
    return {"time": readings.time.tolist(), "value": readings.value.tolist()}


def _to_bytes(values: Any, dtype: str) -> bytes:
    return np.ascontiguousarray(values, dtype=dtype).tobytes()


def read_observation(message: dict[str, Any]) -> Observation:
    """The observation in a message; for autonomies in Python."""
    scans = {name: tuple(_read_scan(item) for item in items) for name, items in message["scans"].items()}
    widths = {"gps": 3, "compass": 1, "imu": 6, "odometry": 2}
    readings = {
        name: Readings(
            np.array(message[name]["time"], float), np.array(message[name]["value"], float).reshape(-1, width)
        )
        for name, width in widths.items()
    }
    return Observation(
        int(message["step"]),
        float(message["time_s"]),
        scans,
        readings["gps"],
        readings["compass"],
        readings["imu"],
        readings["odometry"],
    )


def _read_scan(item: dict[str, Any]) -> Scan:
    return Scan(
        np.frombuffer(item["points"], "<f4").reshape(-1, 3),
        np.frombuffer(item["time"], "<f8"),
        np.frombuffer(item["intensity"], "<f4"),
        np.frombuffer(item["ring"], "<u2"),
        item["start_s"],
        item["end_s"],
        np.array(item["T_vehicle_sensor"]).reshape(4, 4),
    )
