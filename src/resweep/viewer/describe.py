"""What a file or folder holds, as facts by name: logs, sweeps, poses, meshes, worlds, banks and settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from resweep.bounds import check_shapes
from resweep.errors import InputError, ResweepError, UntimedPosesError
from resweep.remote import recover_output

if TYPE_CHECKING:
    from resweep.labels import LabelSet
    from resweep.log import Log
    from resweep.pose import Array, Trajectory
    from resweep.sweep import Sweep

_MESHES = (".obj", ".glb", ".gltf", ".stl", ".off", ".dae")
_POSES = (".txt", ".csv", ".tum")
_SETTINGS = (".yaml", ".yml")
_SENSOR_KEYS = {"pattern", "beam", "receiver"}
NOTHING: Mapping[str, Any] = MappingProxyType({})
SENSOR_UNKNOWN = "sensor position unknown; beams are as if fired from the origin or the middle of the cloud"


def describe(path: Path, labels: str | None = None, cloud: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Facts about whatever ``path`` is, by name; lengths in metres, times in seconds.

    ``labels`` names the vocabulary of a log or sweep that does not know it, ``cloud`` which points of one are read.
    """
    from resweep.io.recorded_log import find_part

    recover_output(path)
    _, part = find_part(path)
    describer = _describe_log if part else _find_describer(path)
    if describer is _describe_log:
        return _describe_log(path, labels, cloud or {})
    if cloud:
        raise ResweepError(f"{next(iter(cloud))}: is of clouds and logs; {path} is neither")
    if labels is not None:
        raise ResweepError(f"labels '{labels}': names the vocabulary of a log or sweep; {path} is neither")
    return describer(path)


def _find_describer(path: Path) -> Callable[..., dict[str, Any]]:
    suffix = path.suffix.lower()
    if path.is_dir():
        if (path / "bank.json").is_file():
            return _describe_bank
        return _describe_world if (path / "world.json").is_file() else _describe_log
    if suffix == ".ply":
        from resweep.io.files.ply import is_mesh

        return _describe_mesh if is_mesh(path) else _describe_log
    kinds = {
        **dict.fromkeys(_MESHES, _describe_mesh),
        **dict.fromkeys(_POSES, _describe_poses),
        **dict.fromkeys(_SETTINGS, _describe_settings),
    }
    return kinds.get(suffix, _describe_log)


def _describe_file(path: Path, labels: str | None, cloud: Mapping[str, Any]) -> dict[str, Any]:
    from resweep.io import open_log
    from resweep.io.files.las_crs import name_crs
    from resweep.io.registry import find_format

    log = open_log(path, empty_beams=False, labels=labels, **cloud)
    facts = {"kind": f"sweep ({find_format(path).title})", **_describe_sweep(log[0], log.labels)}
    facts.update(_describe_full_scale(log))
    if log.crs:
        facts["coordinate system"] = name_crs(log.crs)
    return facts if log.sensor_position_known else {**facts, "sensor": SENSOR_UNKNOWN}


def _describe_sweep(sweep: Sweep, labels: LabelSet) -> dict[str, Any]:
    facts: dict[str, Any] = {"returns": len(sweep), "beams": sweep.n_beams, "timestamp s": sweep.timestamp}
    if sweep.sensor:
        facts["sensor"] = sweep.sensor
    facts["position m"] = sweep.pose[:3, 3].tolist()
    facts["moving"] = "yes, with its motion" if sweep.trajectory is not None else "no, or motion already undone"
    empty = sweep.n_beams - len(np.unique(sweep.beam))
    facts["beams without return"] = empty
    if len(sweep):
        facts["range m"] = _format_span(sweep.range)
        facts["intensity"] = _format_span(sweep.intensity) if np.any(sweep.intensity) else "none, or 0 everywhere"
        facts["time s"] = _format_span(sweep.time)
        facts["rings"] = len(np.unique(sweep.ring))
        facts["returns per beam"] = f"up to {int(np.bincount(sweep.beam).max())}"
        facts["bounds m"] = _format_bounds(sweep.points)
        facts["vocabulary"] = _describe_vocabulary(labels)
        facts["labels"] = labels.count(sweep.label)
        facts["instances"] = len(np.unique(sweep.instance[sweep.instance != 0]))
    if sweep.extra:
        facts["extra columns"] = {name: str(np.asarray(values).dtype) for name, values in sweep.extra.items()}
    return facts


def _describe_log(path: Path, labels: str | None = None, cloud: Mapping[str, Any] = NOTHING) -> dict[str, Any]:
    from resweep.io import open_log

    log = open_log(path, labels=labels, **cloud)
    if len(log) == 1 and path.is_file():
        return _describe_file(path, labels, cloud)
    facts: dict[str, Any] = {"kind": f"log ({log.meta.get('format', '?')})", "sweeps": len(log)}
    facts.update({name: value for name, value in (("name", log.name), ("sensor", log.sensor_name)) if value})
    facts.update(_describe_motion(log))
    if not log.sensor_position_known:
        facts["sensor"] = SENSOR_UNKNOWN
    if not log.times_known:
        facts["times"] = "assumed from a rate"
    facts["provenance"] = dict(log.meta)
    facts["vocabulary"] = _describe_vocabulary(log.labels)
    first = _describe_sweep(log[0], log.labels)
    facts.update({f"first sweep: {name}": first[name] for name in first if name not in ("sensor", "vocabulary")})
    facts.update(_describe_full_scale(log))
    facts["empty beams"] = log.empty_beams.detail or log.empty_beams.source
    return facts


def _describe_full_scale(log: Log) -> dict[str, Any]:
    """The intensity of a white target, and how it is known; nothing for a log without intensities."""
    if log.full_scale is None:
        return {}
    how = "its intensities show" if log.intensity_scale is None else "its format says"
    return {"full scale of intensity": f"{log.full_scale:g}, as {how}"}


def _describe_motion(log: Log) -> dict[str, Any]:
    if not log.poses_known:
        return {
            "poses": "unknown; where they matter give --poses FILE (TUM, KITTI or CSV) or --odometry",
            "time s": _format_span(log.times),
        }
    return _describe_trajectory(log.trajectory)


def _describe_poses(path: Path) -> dict[str, Any]:
    from resweep.io import load_poses

    try:
        trajectory = load_poses(path)
    except UntimedPosesError:
        untimed = load_poses(path, rate_hz=1.0)
        found = {name: _describe_trajectory(untimed)[name] for name in ("path length m", "positions m")}
        return {"kind": "poses", "poses": len(untimed), "times": "none in the file", **found}
    return {"kind": "poses", "poses": len(trajectory), **_describe_trajectory(trajectory)}


def _describe_trajectory(trajectory: Trajectory) -> dict[str, Any]:
    facts: dict[str, Any] = {"time s": [trajectory.start, trajectory.end], "path length m": trajectory.length_m}
    if trajectory.end > trajectory.start:
        facts["rate Hz"] = (len(trajectory) - 1) / (trajectory.end - trajectory.start)
        facts["mean speed m/s"] = trajectory.length_m / (trajectory.end - trajectory.start)
    return {**facts, "positions m": _format_bounds(trajectory.poses[:, :3, 3])}


def _describe_mesh(path: Path) -> dict[str, Any]:
    import trimesh

    from resweep.worlds.layers.mesh_files import STATED_UP, SUFFIXES, Z_UP_FROM_Y_UP, find_upward_axis, open_scene

    try:
        scene = open_scene(path) if path.suffix.lower() in SUFFIXES else trimesh.load_scene(str(path))
    except ResweepError:
        raise
    except Exception as error:  # the readers raise whatever their format's parser does
        raise InputError(f"{path}: cannot be read as a mesh ({error})") from error
    meshes = [mesh for mesh in scene.geometry.values() if isinstance(mesh, trimesh.Trimesh) and mesh.faces.size]
    if not meshes:
        raise ResweepError(f"{path}: holds no triangles")
    for mesh in meshes:
        _check_mesh(mesh, str(path))
    if scene.bounds is None:
        raise ResweepError(f"{path}: places none of its meshes")
    check_shapes(str(path), scene.bounds)
    axis = find_upward_axis(path)
    bounds = scene.bounds @ Z_UP_FROM_Y_UP[:3, :3].T if axis == "y" else scene.bounds
    return {
        "kind": "mesh",
        "up": f"{axis} in the file"
        + ("" if path.suffix.lower() in STATED_UP else ", assumed: its format does not state it"),
        "parts": len(meshes),
        "vertices": sum(len(mesh.vertices) for mesh in meshes),
        "triangles": sum(len(mesh.faces) for mesh in meshes),
        "watertight": all(mesh.is_watertight for mesh in meshes),
        "bounds": _format_bounds(bounds),
    }


def _check_mesh(mesh: Any, where: str) -> None:
    """Raise unless the vertices and faces of a mesh can be used, as importing it would."""
    if mesh.vertices.ndim != 2 or mesh.vertices.shape[1] != 3:
        raise InputError(f"{where}: vertices of other than three coordinates; repair the mesh")
    check_shapes(f"{where}: vertices", mesh.vertices)
    if not 0 <= mesh.faces.min() <= mesh.faces.max() < len(mesh.vertices):
        worst = int(mesh.faces.min() if mesh.faces.min() < 0 else mesh.faces.max())
        raise InputError(f"{where}: a face points at vertex {worst} of {len(mesh.vertices)}; repair the mesh")


def _describe_world(path: Path) -> dict[str, Any]:
    file = path / "world.json"
    from resweep.files.untrusted import read_json
    from resweep.worlds.store.index import read_label_counts, read_labels

    record = read_json(file, "build or save the world again")
    if not isinstance(record, dict):
        raise InputError(f"{file}: not a world's record; build or save the world again")
    labels, counts = read_labels(record, str(file)), read_label_counts(record, str(file))
    record.pop("label_counts", None)
    named = {labels.class_name(label): count for label, count in counts.items()}
    return {"kind": "world", **record, "vocabulary": _describe_vocabulary(labels), "labels": named}


def _describe_bank(path: Path) -> dict[str, Any]:
    from resweep.scenario import load_bank

    bank = load_bank(path)
    counts = {category: len(names) for category, names in bank.categories.items()}
    labels = ", ".join(sorted({str(bank.facts(name).get("labels", "unknown")) for name in bank}))
    return {"kind": "object bank", "assets": len(bank), "categories": counts, "vocabulary": labels, **bank.meta}


def _describe_settings(path: Path) -> dict[str, Any]:
    from resweep.config import parse_yaml, read_text
    from resweep.sensors import load_sensor

    keys = parse_yaml(read_text(path, "a YAML file"), str(path))
    if "ego" in keys:
        from resweep.scenario import load_scenario

        return {"kind": "scenario", **load_scenario(path).model_dump(mode="json", exclude_defaults=True)}
    if "worlds" in keys:
        from resweep.dataset import load_plan

        return {"kind": "plan of a dataset", **load_plan(path).model_dump(mode="json", exclude_defaults=True)}
    if not _SENSOR_KEYS & set(keys):
        raise InputError(f"{path}: {_explain_settings(set(keys))}")
    return {"kind": "sensor", **load_sensor(str(path)).model_dump(mode="json")}


def _explain_settings(keys: set[str]) -> str:
    """What a YAML file with these keys is that is none of ours."""
    if "num_lasers" in keys:
        return "a Velodyne's calibration, no spec of a sensor; 'resweep sensors' lists the Velodynes of the catalog"
    if "learning_map" in keys or "color_map" in keys:
        return (
            "classes and colours as SemanticKITTI's tools have them; --labels takes the names of classes as "
            "docs/labels.md shows"
        )
    return (
        "no sensor (pattern, beam, receiver), no scenario (ego) and no plan of a dataset (worlds); 'resweep sensors "
        "--template' and 'resweep scenario --template' print one of each to begin with"
    )


def _describe_vocabulary(labels: LabelSet) -> str:
    """The vocabulary's name, with its title if it is known."""
    return f"{labels.name} ({labels.title})" if labels.known and labels.title else labels.name


def _format_span(values: Array) -> list[float]:
    return [float(values.min()), float(values.max())]


def _format_bounds(points: Array) -> dict[str, list[float]]:
    return {axis: _format_span(points[:, at]) for at, axis in enumerate("xyz")}
