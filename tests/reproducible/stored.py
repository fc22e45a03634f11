"""Makes what Resweep stores, small, and prints a hash of every array: ``python stored.py PART ...``.

`test_reproducible.py` runs it in processes with other threads, other kernels of BLAS and other paths of NumPy. THREADS
are the simulator's, EMBREE_CONFIG is that of Embree's device, OTHER_PROCESSOR moves what NumPy computes, LOG is a
recording.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

if os.environ.get("OTHER_PROCESSOR"):
    import_module("other_processor")  # before anything takes a function from NumPy

import resweep as rs
from resweep import _core, scenes
from resweep.build.methods import method_config
from resweep.embree_library import find_embree
from resweep.sensors import fire

Stored = dict[str, Any]
THREADS = int(os.environ.get("THREADS", "0"))


def small_sensor() -> rs.Sensor:
    """A VLP-16 with wide steps, noise in ranges and intensities, and rays drawn at random over the spot."""
    changes = {
        "pattern.firing_period_s": None,
        "pattern.azimuth_resolution_deg": 1.0,
        "beam.rays": "random",
        "beam.n_rays": 3,
        "receiver.intensity_noise_sigma": 0.01,
    }
    return rs.load_sensor("velodyne-vlp-16").with_(**changes)


def ego() -> rs.Trajectory:
    times = np.linspace(0.0, 0.5, 6)
    poses = [rs.from_xyz_rpy(8 * t - 4, 0.3 * t, 1.8, 0.01, -0.02, 0.1 * t) for t in times.tolist()]
    return rs.Trajectory(times, np.stack(poses))


def actors() -> list[rs.Actor]:
    poses = [rs.from_xyz_rpy(5, -2.5, 0, yaw=0.1), rs.from_xyz_rpy(-3, -2.0, 0, yaw=0.3)]
    return [rs.Actor((scenes.car(),), rs.Trajectory(np.array([0.0, 1.0]), np.stack(poses)), instance=4242, name="car")]


@cache
def drive() -> rs.Log:
    """Five sweeps along a street, past a moving car."""
    world = scenes.street(seed=3, config=scenes.StreetConfig(length_m=40.0))
    log = rs.Simulator(world, small_sensor(), actors=actors(), seed=11, threads=THREADS).run(ego())
    return rs.Log.from_sweeps(list(log), "drive", labels=log.labels, sensor=log.sensor)


@cache
def hybrid() -> rs.World:
    return rs.build(drive(), progress=False)


def store_patterns() -> Stored:
    """What the makers' parts of the stored numbers are: firing patterns and procedural geometry."""
    sensors = ("livox-mid-360", "ouster-os0-32", "velodyne-hdl-64e")
    root = scenes.root(seed=2, config=scenes.RootConfig(detail=0.02))  # the whole one has millions of triangles
    places = {"shrub": scenes.shrub(seed=1), "root": root, "terrain": scenes.fractal_terrain(30.0)}
    return {**{name: fire(rs.load_sensor(name), 1) for name in sensors}, **places}


def store_drive() -> Stored:
    return {"sweeps": list(drive())}


def store_odometry() -> Stored:
    return {"poses": rs.odometry(drive()[:3]).poses}


def store_hybrid() -> Stored:
    """A world with all default stages, and sweeps of it: of another sensor, and by the beams of a recorded one."""
    retracer = rs.Retracer(hybrid(), small_sensor(), seed=5)
    simulated = rs.Simulator(hybrid(), "ouster-os0-32", seed=5, threads=THREADS).sweep(ego().poses[3])
    traced, predicted = retracer.sweep(drive()[2]), retracer.predict(drive()[2])
    return {"world": hybrid(), "simulated": simulated, "traced": traced, "predicted": predicted}


def store_methods() -> Stored:
    """Worlds of the other methods, and a bank of objects."""
    names = ("splats", "surfels", "volumes", "volumes-top-down", "volumes-bottom-up", "mesh-imls")
    worlds = {name: rs.build(drive(), method_config(name), progress=False) for name in names}
    bank = rs.build_bank(drive())
    return {**worlds, "bank": [bank[name].layers for name in bank]}


def store_log() -> Stored:
    """Two sweeps of a recording, the world built from them, and a sweep of it."""
    log = rs.open_log(os.environ["LOG"])[:2]
    world = rs.build(log, progress=False)
    return {"sweeps": list(log), "world": world, "traced": rs.Retracer(world, seed=5).sweep(log[0])}


PARTS: dict[str, Callable[[], Stored]] = {
    "patterns": store_patterns,
    "drive": store_drive,
    "odometry": store_odometry,
    "hybrid": store_hybrid,
    "methods": store_methods,
    "log": store_log,
}


def arrays(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Every array and number within a value, with the way to it."""
    if isinstance(value, np.ndarray | int | float | str | bool):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from arrays(item, f"{name}.{key}")
    elif isinstance(value, list | tuple):
        for at, item in enumerate(value):
            yield from arrays(item, f"{name}.{at}")
    elif isinstance(value, rs.World):
        yield from arrays([value.layers, value.origin, value.calibration], name)
    elif hasattr(value, "__dict__"):
        yield from arrays(vars(value), name)


def main(parts: list[str]) -> None:
    config = os.environ.get("EMBREE_CONFIG")
    if config is not None:
        _core.load_embree(str(find_embree()), config)
    hashes: dict[str, str] = {}
    for part in parts:
        for name, value in arrays(PARTS[part](), part):
            data = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
            hashes[name] = hashlib.sha256(data).hexdigest()[:16]
    print(json.dumps(hashes))


if __name__ == "__main__":
    main(sys.argv[1:])
