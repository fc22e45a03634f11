"""Samples of Resweep's own files and of meshes: worlds, banks, poses, and what users write in YAML."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from resweep.pose import Trajectory, from_xyz_rpy
from tests.fuzz.reader import Reader
from tests.fuzz.samples_sweeps import START, make_sweep
from tests.fuzz.sanity import check_json_sanity, check_numbers, check_poses, check_world_sanity


def _text(name: str, content: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        (folder / name).write_text(content, encoding="utf-8")
        return folder / name

    return make


def _make_poses(format: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from resweep.io.poses import write_poses

        poses = np.stack([from_xyz_rpy(at, 2.0, 0.5, yaw=0.1 * at) for at in range(6)])
        write_poses(Trajectory(START + np.arange(6) / 10, poses), folder / f"poses.{format}", format)
        if format == "kitti":
            (folder / "times.txt").write_text("".join(f"{at / 10}\n" for at in range(6)))
            (folder / "calib.txt").write_text("P0: 1 0 0 0 0 1 0 0 0 0 1 0\nTr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n")
        return folder / f"poses.{format}"

    return make


def _read_poses(path: Path) -> None:
    from resweep.io import load_poses

    check_poses(load_poses(path).poses)


def _make_catalog_sensor(name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        from resweep.sensors import catalog

        source = Path(catalog.__file__).with_name("catalog") / f"{name}.yaml"
        (folder / "sensor.yaml").write_bytes(source.read_bytes())
        return folder / "sensor.yaml"

    return make


def _read_sensor(path: Path) -> None:
    from resweep.sensors import load_sensor
    from resweep.sensors.firing import fire

    fire(load_sensor(path), 0)


def _read_scenario(path: Path) -> None:
    from resweep.scenario import load_scenario

    load_scenario(path)


_CLUSTER = """type: SLURMCluster
options: {queue: cpu, cores: 16, memory: 64GB, job_extra_directives: ["--exclusive"]}
adapt: {minimum: 2, maximum: 40}
wait_s: 900
"""


def _read_cluster(path: Path) -> None:
    from resweep.cluster.spec import read_cluster

    read_cluster(path)


def _read_plan(path: Path) -> None:
    from resweep.dataset.dataset_plan import list_runs, load_plan

    list_runs(load_plan(path))


def _read_config(path: Path) -> None:
    from resweep.build import HybridConfig
    from resweep.config import read_spec

    read_spec(path, HybridConfig)


def _read_labels(path: Path) -> None:
    from resweep.labels import load_labels

    _ = load_labels(path).count(np.arange(10))


def _make_labels(folder: Path) -> Path:
    import resweep.labels

    source = Path(resweep.labels.__file__).with_name("label_sets") / "asprs.yaml"
    (folder / "labels.yaml").write_bytes(source.read_bytes())
    return folder / "labels.yaml"


def _make_config(folder: Path) -> Path:
    import yaml

    from resweep.build import HybridConfig

    (folder / "config.yaml").write_text(yaml.safe_dump(HybridConfig().model_dump(mode="json")))
    return folder / "config.yaml"


def _shipped(room: str, name: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import resweep

        source = Path(resweep.__file__).parent / room / "plans" / name
        (folder / name).write_bytes(source.read_bytes())
        return folder / name

    return make


def _make_mesh(suffix: str) -> Callable[[Path], Path]:
    def make(folder: Path) -> Path:
        import trimesh

        scene = trimesh.Scene({"box": trimesh.creation.box((2, 3, 1)), "cone": trimesh.creation.cone(1, 2, sections=6)})
        if suffix == ".gltf":
            for name, content in scene.export(file_type="gltf").items():
                (folder / name).write_bytes(content)
            return folder / "model.gltf"
        content = scene.export(file_type=suffix[1:]) if suffix in (".obj", ".glb") else None
        if content is None:
            content = scene.to_mesh().export(file_type=suffix[1:])
        (folder / f"mesh{suffix}").write_bytes(content if isinstance(content, bytes) else content.encode())
        return folder / f"mesh{suffix}"

    return make


def _read_mesh(path: Path) -> None:
    from resweep.worlds import World

    world = World.from_mesh(path)
    check_world_sanity(world)
    world.lower()


def _make_world(folder: Path) -> Path:
    from resweep.worlds import Splats, Volumes, World

    points = make_sweep().points[::20].astype(np.float64)
    count = len(points)
    normals = np.tile([0.0, 0.0, 1.0], (count, 1))
    splats = Splats(points, normals, np.full(count, 0.2), label=np.arange(count) % 3)
    volumes = Volumes(points, np.tile([0.04, 0, 0, 0.04, 0, 0.04], (count, 1)), np.full(count, 0.5))
    import trimesh

    world = World.from_mesh(trimesh.creation.box((2, 3, 1))) + World([splats, volumes])
    world.save(folder / "a.world")
    return folder / "a.world"


def _read_world(path: Path) -> None:
    from resweep.worlds import load_world

    world = load_world(path)
    check_world_sanity(world)
    world.lower()


def _make_bank(folder: Path) -> Path:
    import trimesh

    from resweep.scenario import Asset, Bank
    from resweep.worlds import World

    world = World.from_mesh(trimesh.creation.box((4, 2, 1.5)))
    Bank([Asset("box-car", 1, "car", (4.0, 2.0, 1.5), world.layers)]).save(folder / "a.bank")
    return folder / "a.bank"


def _read_bank(path: Path) -> None:
    from resweep.scenario import load_bank

    bank = load_bank(path)
    for name in bank:
        check_numbers("size", bank[name].size_m, 0.0, 1e5)
        check_world_sanity(bank[name].world)


def _read_info(path: Path) -> None:
    from resweep.viewer.describe import describe

    check_json_sanity(describe(path))


def _make_reports(folder: Path) -> Path:
    from resweep.evaluation import evaluate

    for at, name in enumerate(("one.json", "two.json")):
        sweep = make_sweep()
        report = evaluate(replace(sweep, range=sweep.range + 0.02 * (at + 1)), sweep)
        report.save(folder / name)
    return folder


def _read_reports(path: Path) -> None:
    """Compare reports as the command does; their page is drawn, as it uses what no table shows."""
    from resweep.evaluation.report.side_by_side import SideBySide
    from resweep.terminal import make_console

    both = SideBySide.load([path / "one.json", path / "two.json"])
    _ = both.warnings(), both.to_json(), both.save(path / "both.html")
    for report in both.reports:
        _ = str(report), report.class_table(), report.to_json(), report.save(path / "page.html")
    with open(os.devnull, "w") as nowhere:
        make_console(file=nowhere).print(both.table())


def _make_run(folder: Path) -> Path:
    from resweep.drive import LidarMount, Loop, LoopConfig, Rig
    from resweep.drive.run import FILE
    from resweep.scenes import ground_plane
    from resweep.worlds import World

    rig = Rig(lidars=(LidarMount(sensor="velodyne-vlp-16", position_m=(1.3, 0.0, 1.8)),))
    loop = Loop(
        World([ground_plane((60.0, 60.0))]), "passenger-car", rig, lambda seen: (1.0, 0.05), start=(0.0, 0.0, 0.0),
        config=LoopConfig(duration_s=0.3),
    )  # fmt: skip
    loop.run(folder / "run", keep_sweeps=False)
    record = json.loads((folder / "run" / FILE).read_text())
    record["settings"]["world"] = "hidden-car:street 0"
    (folder / "run" / FILE).write_text(json.dumps(record, indent=1))
    return folder / "run"


def _read_run(path: Path) -> None:
    """Read a run, and make its loop again as driving it once more does."""
    from resweep.drive import load_run
    from resweep.drive.safety.campaign import rebuild_loop

    run = load_run(path)
    _ = run.figures(), run.to_bytes(), run.collisions, run.min_ttc_s
    rebuild_loop(run)


_SPECS: list[tuple[str, Callable[[Path], Path], Callable[[Path], Any]]] = [
    *(("sensor-" + name, _make_catalog_sensor(name), _read_sensor) for name in ("velodyne-vlp-16", "livox-mid-360")),
    ("sensor-two-block", _make_catalog_sensor("velodyne-hdl-64e"), _read_sensor),
    ("sensor-raster", _make_catalog_sensor("riegl-vz-400"), _read_sensor),
    ("scenario", _shipped("scenario", "animals.yaml"), _read_scenario),
    ("plan", _shipped("dataset", "edge-cases.yaml"), _read_plan),
    ("cluster", _text("cluster.yaml", _CLUSTER), _read_cluster),
    ("config", _make_config, _read_config),
    ("labels", _make_labels, _read_labels),
]

READERS = [
    *(Reader(f"poses-{kind}", _make_poses(kind), _read_poses, 2.0) for kind in ("tum", "kitti", "csv")),
    *(Reader(name, make, read, 2.0) for name, make, read in _SPECS),
    *(
        Reader(f"mesh-{suffix[1:]}", _make_mesh(suffix), _read_mesh, 2.0)
        for suffix in (".obj", ".ply", ".stl", ".glb", ".gltf")
    ),
    Reader("world", _make_world, _read_world, 0.5),
    Reader("world-info", _make_world, _read_info, 0.5),
    *(Reader(f"info-{suffix[1:]}", _make_mesh(suffix), _read_info) for suffix in (".ply", ".glb", ".obj")),
    Reader("report", _make_reports, _read_reports, 0.5),
    Reader("run", _make_run, _read_run),
    Reader("bank", _make_bank, _read_bank, 0.5),
]
