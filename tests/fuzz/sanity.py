"""What was read must be possible: a reader that takes NaN, 1e300 or -5 m as measured has a defect too."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

_MAX_M, _MAX_S, _MAX_INTENSITY = 1e8, 1e12, 1e10


class NonsenseError(Exception):
    """A reader gave what cannot have been measured."""


def check_numbers(what: str, values: Any, least: float, most: float) -> None:
    """Raise `NonsenseError` unless all numbers are finite and within bounds."""
    array = np.asarray(values, np.float64)
    if array.size and not (array.min() >= least and array.max() <= most):
        raise NonsenseError(f"{what}: {array.min():g} to {array.max():g}")


def check_poses(poses: Any) -> None:
    """Raise `NonsenseError` unless poses (n, 4, 4) are rigid and on Earth."""
    check_numbers("position", poses[:, :3, 3], -_MAX_M, _MAX_M)
    turned = poses[:, :3, :3] @ np.swapaxes(poses[:, :3, :3], 1, 2)
    check_numbers("rotation", turned - np.eye(3), -1e-3, 1e-3)


def check_sweep_sanity(sweep: Any) -> None:
    """Raise `NonsenseError` unless a sweep can have been measured."""
    check_poses(sweep.pose[None])
    check_numbers("timestamp", sweep.timestamp, -_MAX_S, _MAX_S)
    check_numbers("time", sweep.beam_time, -_MAX_S, _MAX_S)
    check_numbers("range", sweep.range, 0.0, _MAX_M)
    check_numbers("intensity", sweep.intensity, -_MAX_INTENSITY, _MAX_INTENSITY)
    check_numbers("origin", sweep.beam_origin, -_MAX_M, _MAX_M)
    check_numbers("direction", np.linalg.norm(sweep.beam_direction.astype(float), axis=1), 0.99, 1.01)
    check_numbers("point", sweep.world_points(), -2 * _MAX_M, 2 * _MAX_M)
    if sweep.boxes is not None:
        check_numbers("centre", sweep.boxes.centre, -_MAX_M, _MAX_M)
        check_numbers("size", sweep.boxes.size, 0.0, 1e5)
        check_numbers("yaw", sweep.boxes.yaw, -1e4, 1e4)


def check_world_sanity(world: Any) -> None:
    """Raise `NonsenseError` unless a world has finite bounds on Earth."""
    check_numbers("bounds", world.bounds, -2 * _MAX_M, 2 * _MAX_M)
    for layer in world.layers:
        for part in layer.parts:
            check_numbers("reflectance", part.reflectance, -_MAX_INTENSITY, _MAX_INTENSITY)


def check_json_sanity(facts: Any) -> None:
    """Raise `NonsenseError` unless facts are JSON by its standard."""
    try:
        json.dumps(facts, allow_nan=False)
    except ValueError as error:
        raise NonsenseError(f"facts: {error}") from error
