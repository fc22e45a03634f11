"""The places of C's tables: recordings that know their poses, and a street of known truth.

Recordings are looked for in the folder RESWEEP_TEST_DATA, or beside the project in shared/data; those that are
absent are left out, and the motion that compensation left in their sweeps is corrected. The street is scanned by the
core, with noise and with poses that are off by a little.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

import resweep as rs
from resweep.pose import Array, from_xyz_rpy
from resweep.scenes.street import StreetConfig, street
from resweep.sensors.infer.inferred_drive import prepare_drive

DATA = Path(os.environ.get("RESWEEP_TEST_DATA", Path(__file__).resolve().parents[1].parent / "shared" / "data"))
STREET = "synthetic street"
NOISE_M = 0.02  # standard deviation of the street's ranges: the accuracy that Velodyne gives for the HDL-64E
JITTER_M, JITTER_RAD = 0.01, 0.0005  # of the street's poses, each axis
_SAMPLES_PER_M2 = 100.0
Recording = tuple[str, tuple[int, ...], Callable[[Path], rs.Log]]  # folder, held-out sweeps, how it is opened
_NEAREST = 8


@dataclass(frozen=True)
class Place:
    """A log, the sweep held out of it, the shift (3,) of the new trajectory (C, 6.2), and the truth if it is known.

    ``also_held`` are further sweeps to hold out where a comparison takes several.
    """

    name: str
    log: rs.Log
    held: int
    shift_m: tuple[float, float, float]
    truth: rs.World | None = None
    also_held: tuple[int, ...] = ()


def places(fast: bool, only: str = "", needed: bool = True) -> list[Place]:
    """Every place that is at hand and has ``only`` in its name, the street first; with ``fast`` a small street only.

    None is an error where one is ``needed``.
    """
    if fast:
        return [known_street(length_m=36.0, sweeps=3, columns=600)]
    found = [known_street()] if only.lower() in STREET else []
    found += _open(_RECORDINGS, only)
    return _check(found, only, [STREET, *_RECORDINGS] if needed else [])


def recordings(only: str = "", needed: bool = True) -> list[Place]:
    """Every recording with poses that is at hand and has ``only`` in its name, those of no table of C too."""
    return _check(_open(_RECORDINGS | _FURTHER, only), only, [*_RECORDINGS, *_FURTHER] if needed else [])


def _open(known: dict[str, Recording], only: str) -> list[Place]:
    return [
        Place(name, prepare_drive(opened(DATA / path)), held[0], (1.0, 1.0, -0.5), also_held=held[1:])
        for name, (path, held, opened) in known.items()
        if only.lower() in name.lower() and (DATA / path).exists()
    ]


def _check(found: list[Place], only: str, known: list[str]) -> list[Place]:
    if not found and known:
        raise SystemExit(f"--only {only}: no such place is at hand; known are {', '.join(known)}")
    return found


def known_street(length_m: float = 80.0, sweeps: int = 10, columns: int = 2250, seed: int = 4) -> Place:
    """A street with poles, fences, signs, façades and trees, driven along at 8 m/s."""
    truth = street(seed, StreetConfig(length_m=length_m))
    sensor = hdl64(columns, NOISE_M)
    x = 0.8 * (np.arange(sweeps) - (sweeps - 1) / 2)
    drive = rs.Simulator(truth, sensor, seed=seed).run(np.stack([from_xyz_rpy(at, -1.0, 1.73) for at in x]))
    rng = np.random.default_rng(seed)
    scanned = [replace(sweep, pose=jitter(sweep.pose, rng)) for sweep in drive]
    log = rs.Log.from_sweeps(scanned, "street", labels=drive.labels)
    # C's shift for SemanticKITTI would put the sensor into a parked car of this street.
    return Place(STREET, log, sweeps // 2, (1.0, 1.0, -0.25), truth)


def hdl64(columns: int = 2250, noise_m: float = 0.0) -> rs.Sensor:
    """The HDL-64 as C simulates it (5.1.2): 64 even elevations, a pulse each at every step, single rays, 120 m."""
    return rs.Sensor.model_validate(
        {
            "name": "hdl-64 of C",
            "range_max_m": 120.0,
            "wavelength_nm": 905.0,
            "rotation_rate_hz": 10.0,
            "pattern": {
                "kind": "spinning",
                "azimuth_resolution_deg": 360.0 / columns,
                "channels": {"elevation_deg": np.linspace(-24.8, 2.0, 64).tolist()},
            },
            "beam": {"divergence_h_rad": 0.0, "divergence_v_rad": 0.0, "rays": "single"},
            "receiver": {"mode": "strongest", "range_noise_sigma_m": noise_m},
        }
    )


def jitter(pose: Array, rng: np.random.Generator) -> Array:
    """``pose`` (4, 4), off by as much as poses of a drive are."""
    moved = pose.copy()
    moved[:3, :3] = Rotation.from_rotvec(JITTER_RAD * rng.standard_normal(3)).as_matrix() @ pose[:3, :3]
    moved[:3, 3] += JITTER_M * rng.standard_normal(3)
    return moved


def _norlab(folder: Path) -> rs.Log:
    """The stationary sweeps of the Norlab recording, which come as NumPy arrays."""
    data = np.load(folder / "scans.npz")
    stamps, sweeps = data["stamps_ns"], []
    for at, (stamp, pose) in enumerate(zip(stamps, data["poses"], strict=True)):
        points = data[f"xyz_{at:02d}"]
        sweeps.append(
            rs.Sweep.from_points(
                points[np.linalg.norm(points, axis=1) > 0],
                pose=pose.astype(np.float64),
                timestamp=float(stamp - stamps[0]) * 1e-9,
                intensity=(data[f"intensity_{at:02d}"] / 255.0)[np.linalg.norm(points, axis=1) > 0],
            )
        )
    return rs.Log.from_sweeps(sweeps, "norlab")


_RECORDINGS: dict[str, Recording] = {
    "SemanticKITTI 00": ("semantickitti_mini/sequences/00", (5,), rs.open_log),
    "SemanticKITTI 03": ("semantickitti_mini/sequences/03", (5,), rs.open_log),
    "SemanticKITTI 02": ("semantickitti_mini/sequences/02", (5,), rs.open_log),
    "SemanticKITTI 04": ("semantickitti_mini/sequences/04", (5,), rs.open_log),
    "KITTI raw 0051": ("kitti_raw_0051", (5,), rs.open_log),
    "Argoverse 2": ("argoverse2/7fab2350", (1,), rs.open_log),
    "Norlab outdoor": ("norlab_outdoor14", (7,), _norlab),
}
_FURTHER: dict[str, Recording] = {
    **{
        f"SemanticKITTI {number}": (f"semantickitti_mini/sequences/{number}", (5,), rs.open_log)
        for number in ("05", "06")
    },
    "nuScenes scene": ("nuscenes_scene_kitti", (8, 12), rs.open_log),
}


class Truth:
    """The triangles of a world, to measure the distance of points from them."""

    def __init__(self, world: rs.World, seed: int = 0) -> None:
        self.corners = np.concatenate([_triangles(layer) for layer in world.layers])
        edge = self.corners[:, 1:] - self.corners[:, :1]
        area = np.linalg.norm(np.cross(edge[:, 0], edge[:, 1]), axis=1) / 2
        rng = np.random.default_rng(seed)
        count = 1 + rng.poisson(_SAMPLES_PER_M2 * area)  # every triangle has one, however small
        self.face = np.repeat(np.arange(len(area)), count)
        share = rng.dirichlet((1, 1, 1), len(self.face))
        self.tree = cKDTree(np.einsum("nk,nki->ni", share, self.corners[self.face]))
        self.origin = world.origin

    def distance(self, points: Array) -> Array:
        """Distance (n,) in metres of ``points`` (n, 3) from the nearest triangle, of those sampled around each."""
        places = points - self.origin
        nearest = self.face[self.tree.query(places, k=_NEAREST, workers=-1)[1]]
        columns = [_to_triangle(places, self.corners[nearest[:, at]]) for at in range(_NEAREST)]
        return np.min(columns, axis=0)


def _triangles(layer: Any) -> Array:
    if isinstance(layer, rs.Instances):
        own = _triangles(layer.mesh)
        turn, shift = layer.transforms[:, :, :3].astype(np.float64), layer.transforms[:, None, None, :, 3]
        return (np.einsum("kij,nvj->knvi", turn, own) + shift).reshape(-1, 3, 3)
    return layer.vertices.astype(np.float64)[layer.faces]


def _to_triangle(points: Array, corners: Array) -> Array:
    """Distance (n,) of each of ``points`` (n, 3) from its own triangle (n, 3, 3)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    normal = np.cross(b - a, c - a)
    square = (normal**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        height = ((points - a) * normal).sum(axis=1) / square
        foot = points - height[:, None] * normal
    inside = square > 0
    for first, second in ((a, b), (b, c), (c, a)):
        inside &= (np.cross(second - first, foot - first) * normal).sum(axis=1) >= 0
    above = np.abs(height) * np.sqrt(square)
    beside = np.min([_to_segment(points, *side) for side in ((a, b), (b, c), (c, a))], axis=0)
    return np.where(inside, above, beside)


def _to_segment(points: Array, start: Array, end: Array) -> Array:
    along = end - start
    length = np.maximum((along**2).sum(axis=1), 1e-18)
    share = np.clip(((points - start) * along).sum(axis=1) / length, 0.0, 1.0)
    return np.linalg.norm(points - start - share[:, None] * along, axis=1)
