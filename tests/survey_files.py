"""Small clouds as surveys write them: a room, a flight over trees, a hedge with several returns a pulse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import laspy
import numpy as np

from resweep.pose import Array

UTM = np.array([455_000.0, 5_427_000.0, 110.0])
ROOM = np.array([[-3.0, -2.5, 0.0], [3.0, 2.5, 2.8]])  # lowest and highest corner
SCANNER = np.array([-1.0, 0.5, 1.5])


def write_las(path: Path, points: Array, wkt: str = "", **columns: Any) -> Path:
    """A LAS 1.4 file of another program; ``columns`` are laspy's dimensions."""
    kind = 7 if "red" in columns else 6
    las = laspy.LasData(laspy.LasHeader(point_format=kind, version="1.4"))
    las.header.offsets, las.header.scales = np.floor(points.min(axis=0)), np.full(3, 0.0005)
    if wkt:
        las.header.vlrs.append(laspy.VLR("LASF_Projection", 2112, "", wkt.encode()))
    las.x, las.y, las.z = points.T
    for name, values in columns.items():
        las[name] = values
    las.write(str(path))
    return path


def meet_room(origin: Array, direction: Array) -> Array:
    """Ranges (n,) of rays that begin in the room to its walls, floor or ceiling."""
    along = np.where(direction == 0, 1e-12, direction)
    far = np.where(along > 0, (ROOM[1] - origin) / along, (ROOM[0] - origin) / along)
    return np.asarray(far.min(axis=-1))


def fan(step_deg: float) -> Array:
    """Directions (n, 3) of a scanner on a tripod."""
    azimuth, elevation = np.meshgrid(
        np.deg2rad(np.arange(0.0, 360.0, step_deg)), np.deg2rad(np.arange(-88.0, 89.0, step_deg))
    )
    flat = np.cos(elevation)
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)], axis=-1).reshape(-1, 3)


def scan_room(step_deg: float = 1.5, noise_m: float = 0.002, place: Array = SCANNER) -> Array:
    """What a scanner on a tripod sees of the room (n, 3)."""
    direction = fan(step_deg)
    distance = meet_room(place, direction) + noise_m * np.random.default_rng(4).standard_normal(len(direction))
    return np.asarray(place + direction * distance[:, None])


def fly(noise_m: float = 0.01) -> tuple[Array, dict[str, Array], Array]:
    """A flight 600 m above trees: points (n, 3), their columns, and where the sensor was at each (n, 3)."""
    rng = np.random.default_rng(7)
    count = 6000
    time = np.sort(rng.uniform(0.0, 3.0, count))
    sensor = np.stack([-100.0 + 60.0 * time, np.zeros(count), np.full(count, 600.0)], axis=1)
    ground = np.stack([sensor[:, 0] + rng.normal(0, 4, count), rng.uniform(-90, 90, count), np.zeros(count)], axis=1)
    returns = 1 + (rng.random(count) < 0.4)
    crown = ground + (sensor - ground) * (rng.uniform(5, 15, count) / 600.0)[:, None]
    pulse = np.repeat(np.arange(count), returns)
    number = np.concatenate([np.arange(1, many + 1) for many in returns])
    first_of_two = (returns[pulse] == 2) & (number == 1)
    points = np.where(first_of_two[:, None], crown[pulse], ground[pulse]) + rng.normal(0, noise_m, (len(pulse), 3))
    columns: dict[str, Array] = {
        "gps_time": 1000.0 + time[pulse],
        "return_number": number.astype(np.uint8),
        "number_of_returns": returns[pulse].astype(np.uint8),
        "point_source_id": np.full(len(pulse), 12, np.uint16),
        "intensity": np.full(len(pulse), 30000, np.uint16),
    }
    return points, columns, sensor[pulse]
