"""Simulated against recorded objects: returns in each annotated box, and their distance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from resweep.errors import ResweepError
from resweep.files import write_file
from resweep.files.strict_json import format_json
from resweep.io import open_log
from resweep.log import Log
from resweep.pose import inverse, transform

_GROUND_M = 0.2  # the lowest part of a box holds returns of the ground


def compare_objects(sim: Log, real: Log, grow_m: float = 0.1) -> dict[str, Any]:
    """Figures inside the boxes of ``real``, sweep by sweep: ``{"objects": [...], "classes": {...}}``.

    ``objects`` has a row a track: class, sweeps, returns in its boxes (``real`` and ``sim``), and ``range_error_m``,
    the median over sweeps of the difference of median ranges (None where one of them has none). ``classes`` sums them
    up. Boxes grow by ``grow_m``; their lowest 20 cm are left out.
    """
    if len(sim) != len(real):
        raise ResweepError(f"objects: {len(sim)} simulated sweeps for {len(real)} real ones; they must pair up")
    rows: dict[int, dict[str, Any]] = {}
    for at in range(len(real)):
        there, here = real[at], sim[at]
        boxes = there.boxes
        if boxes is None or not len(boxes):
            continue
        real_points = there.deskewed()
        sim_points = transform(inverse(there.pose), here.world_points())
        inside = []
        for points in (real_points, sim_points):
            above = points[None, :, 2] > (boxes.centre[:, 2] - boxes.size[:, 2] / 2 + _GROUND_M)[:, None]
            inside.append(boxes.contains(points, grow_m) & above)
        ranges = (np.linalg.norm(real_points, axis=1), np.linalg.norm(sim_points, axis=1))
        for row, track in enumerate(boxes.track.tolist()):
            entry = rows.setdefault(track, {"track": track, "class": boxes.name[row], "sweeps": 0, "real": 0, "sim": 0})
            entry["sweeps"] += 1
            entry["real"] += int(inside[0][row].sum())
            entry["sim"] += int(inside[1][row].sum())
            if inside[0][row].any() and inside[1][row].any():
                off = float(np.median(ranges[1][inside[1][row]]) - np.median(ranges[0][inside[0][row]]))
                entry.setdefault("offsets", []).append(off)
    objects = []
    for entry in rows.values():
        offsets = entry.pop("offsets", [])
        objects.append({**entry, "range_error_m": float(np.median(np.abs(offsets))) if offsets else None})
    return {"objects": objects, "classes": _sum_classes(objects)}


def write_object_figures(sim: str | Path, real: Log, path: Path) -> dict[str, Any]:
    """Compare the log in the folder ``sim`` with ``real`` as `compare_objects` does, and write that as JSON."""
    figures = compare_objects(open_log(sim), real)
    write_file(path, (format_json(figures, indent=1) + "\n").encode())
    return figures


def _sum_classes(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for name in sorted({item["class"] for item in objects}):
        own = [item for item in objects if item["class"] == name]
        errors = [item["range_error_m"] for item in own if item["range_error_m"] is not None]
        found[name] = {
            "objects": len(own),
            "real": sum(item["real"] for item in own),
            "sim": sum(item["sim"] for item in own),
            "range_error_m": float(np.median(errors)) if errors else None,
        }
    return found
