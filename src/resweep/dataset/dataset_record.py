"""What decides the bytes of a dataset, kept beside it: a folder is only completed with the same settings."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import resweep
from resweep.dataset.dataset_plan import DatasetPlan, RunPlan, choose_sensor
from resweep.dataset.label_camera import choose_camera
from resweep.errors import OutputError, ResweepError
from resweep.files.locks import INSIDE
from resweep.files.partial import describe_files
from resweep.files.strict_json import format_json, parse_json
from resweep.files.untrusted import open_regular, read_bytes, read_json
from resweep.io.datasets.kitti.kitti_camera import DEFAULT_CAMERA
from resweep.remote import find_path, is_remote
from resweep.remote.staging import UNFINISHED
from resweep.scenes.opening import SCENE
from resweep.worlds.store.generations import FIELD, REPLACED

RECORD = "plan.json"
FORMAT = "resweep-dataset"
_FILES_VERSION = 2  # grows when the same plan gives other files
_CHECKSUM_BYTES = 4


def make_record(plan: DatasetPlan, runs: Sequence[RunPlan]) -> dict[str, Any]:
    """All that decides the bytes of a dataset, as plain data."""
    sensors = [sensor.model_dump(mode="json", exclude_none=True) for sensor, _ in map(choose_sensor, plan.sensors)]
    worlds = {name: _fingerprint(name) for name in plan.worlds}
    written = plan.model_dump(mode="json", exclude_none=True)
    scenarios = [run.scenario.model_dump(mode="json", exclude_none=True) for run in runs]
    cameras = [choose_camera(plan, run) for run in runs]
    learned = {} if plan.realism is None else {"realism": _fingerprint(plan.realism)}
    return {
        **learned,
        "cameras": [None if camera is DEFAULT_CAMERA else camera.to_dict() for camera in cameras],
        "resweep": resweep.__version__,
        "files": _FILES_VERSION,
        "plan": written,
        "worlds": worlds,
        "sensors": sensors,
        "scenarios": scenarios,
        "bank": None if plan.bank is None else _fingerprint(plan.bank),
    }


def hash_record(record: dict[str, Any]) -> str:
    """The SHA-256 of a record, as hexadecimal digits."""
    return hashlib.sha256(format_json(record, sort_keys=True).encode()).hexdigest()


def identify_run(plan: DatasetPlan, run: RunPlan) -> str:
    """A hash over all that decides the bytes of a run, wherever its files lie."""
    drawn = plan.model_dump(mode="json", include={"name", "traffic", "sweeps", "seed"})
    own = {
        "number": run.number,
        "world": _fingerprint(run.world),
        "sensor": run.sensor.model_dump(mode="json", exclude_none=True),
        "offset_m": run.offset_m,
        "scenario": run.scenario.model_dump(mode="json", exclude_none=True),
        "bank": None if plan.bank is None else _fingerprint(plan.bank),
    }
    learned = {} if plan.realism is None else {"realism": _fingerprint(plan.realism)}
    return hash_record({**drawn, **own, **learned})


def _fingerprint(name: str) -> str:
    """The fingerprint of a world, a bank or a mesh file: the hash of its contents.

    Of a stored array the checksums count, with which each of its chunks ends.
    """
    if name.startswith(SCENE):
        return name
    path = find_path(name)
    if is_remote(path):
        return _fingerprint_remote(path)
    if path.is_file():
        return hashlib.sha256(read_bytes(path)).hexdigest()
    digest = hashlib.sha256()
    for file in sorted(item for item in path.rglob("*") if item.is_file()):
        with open_regular(file) as stream:
            stream.seek(0 if file.suffix == ".json" else max(0, file.stat().st_size - _CHECKSUM_BYTES))
            digest.update(f"{file.relative_to(path)} {file.stat().st_size} ".encode() + stream.read())
    return digest.hexdigest() if path.is_dir() else name


def _fingerprint_remote(path: Path) -> str:
    """The fingerprint of a folder of an object store: its index, which names the hash of a world's arrays.

    Of other folders the sizes and times of the objects count.
    """
    index = path / "world.json"
    data = read_json(index, "save the world again") if index.is_file() else {}
    if isinstance(data, dict) and FIELD in data:
        return hash_record({key: value for key, value in data.items() if key != REPLACED})
    return hashlib.sha256("\n".join(describe_files([path])).encode()).hexdigest()


def check_output(output: Path, record: dict[str, Any]) -> None:
    """Raise if ``output`` holds anything but the (unfinished) dataset of this record."""
    if output.exists() and not output.is_dir():
        raise OutputError(f"{output}: is a file; a dataset is a folder, choose another name")
    if not output.exists() or all(item.name in (INSIDE, UNFINISHED) for item in output.iterdir()):
        return
    try:
        old = parse_json(read_bytes(output / RECORD))
    except (OSError, ValueError):
        old = None
    if not isinstance(old, dict) or old.get("format") != FORMAT:
        raise OutputError(f"{output}: is not empty and holds no dataset of resweep; choose another folder")
    if old.get("hash") != hash_record(record):
        what = _find_difference(old.get("record"), record) or "its settings"
        raise OutputError(f"{output}: was written with other settings ({what}); choose another folder or remove it")


def check_unchanged(output: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    """Raise if a world or a bank is no longer what it was when the dataset was begun."""
    if what := _find_difference(before, now):
        raise ResweepError(
            f"{output}: its inputs were changed meanwhile ({what}), so it stays unfinished; put that back and "
            "run the same again, or choose another folder"
        )


def _find_difference(old: Any, new: Any, where: str = "") -> str | None:
    """The first field in which two records differ, with both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(set(old) | set(new)):
            found = _find_difference(old.get(key), new.get(key), f"{where}.{key}" if where else key)
            if found:
                return found
        return None
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return next((found for at, (a, b) in pairs if (found := _find_difference(a, b, f"{where}[{at}]"))), None)
    return None if old == new else f"{where} was {format_json(old)[:40]}, is now {format_json(new)[:40]}"
