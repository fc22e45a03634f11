"""What the native core refuses, and how it reads arrays that are not contiguous."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from resweep import _core
from resweep.embree_library import open_embree
from resweep.worlds import Volumes

AHEAD = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)


def firing(**changed: Any) -> _core.Firing:
    columns: dict[str, Any] = {
        "direction": AHEAD,
        "time": np.zeros(3),
        "order": np.arange(3, dtype=np.int32),
        "chunk": np.array([0, 2, 3], np.int32),
    }
    return _core.Firing(**(columns | changed))


def indices(*values: int) -> Any:
    return np.array(values, np.int32)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"order": indices(0, 1, 3)}, "no beam"),
        ({"order": indices(0, -1, 2)}, "no beam"),
        ({"order": indices(0, 1, 1)}, "twice"),
        ({"chunk": indices(0, 2)}, "cover all pulses"),
        ({"chunk": indices(1, 3)}, "cover all pulses"),
        ({"chunk": indices(0, 3, 2, 3)}, "ascending"),
        ({"chunk": indices()}, "cover all pulses"),
        ({"time": np.zeros(2)}, "one row per beam"),
        ({"reported": AHEAD[:2]}, "one row per beam"),
        ({"origin": AHEAD[:2]}, "one row per beam"),
    ],
)
def test_a_firing_that_does_not_fit_is_refused(changed: dict[str, Any], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        firing(**changed)


def test_a_chunk_has_a_largest_size() -> None:
    count = 65_536
    columns: dict[str, Any] = {
        "direction": np.tile(AHEAD[:1], (count, 1)),
        "time": np.zeros(count),
        "order": np.arange(count, dtype=np.int32),
    }
    firing(**columns, chunk=indices(0, 65_535, count))
    with pytest.raises(ValueError, match="65,535"):
        firing(**columns, chunk=indices(0, count))


def test_a_motion_has_one_pose_per_time() -> None:
    with pytest.raises(ValueError, match="one pose per time"):
        _core.Motion(np.zeros(2), np.eye(4)[None])
    with pytest.raises(ValueError, match="at least one"):
        _core.Motion(np.zeros(0), np.zeros((0, 4, 4)))


def test_a_stencil_has_one_offset_per_ray() -> None:
    beam = {"random": False, "n_rays": 2, "spot": _core.Spot.CIRCULAR, "profile": _core.Profile.UNIFORM}
    for rows, shares in ((1, 1), (2, 1)):
        with pytest.raises(ValueError, match="offsets"):
            _core.Beam(
                offsets=np.zeros((rows, 2), np.float32),
                shares=np.ones(shares, np.float32),
                divergence_h=0.0,
                divergence_v=0.0,
                **beam,
            )


def test_an_integer_is_no_spot() -> None:
    with pytest.raises(TypeError):
        _core.Beam(
            offsets=np.zeros((0, 2), np.float32),
            shares=np.zeros(0, np.float32),
            random=True,
            n_rays=1,
            spot=1,  # type: ignore[arg-type]
            profile=_core.Profile.UNIFORM,
            divergence_h=0.0,
            divergence_v=0.0,
        )


def test_strided_columns_of_beams_are_read_as_they_are() -> None:
    """Every second beam of a longer array, by a view and by a copy."""
    rng = np.random.default_rng(0)
    count = 200
    origins = np.zeros((count, 3), np.float32)
    directions = rng.normal([1, 0, 0], 0.1, (count, 3)).astype(np.float32)
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    lengths, ended = rng.uniform(2, 8, 2 * count).astype(np.float32), rng.random(2 * count) < 0.5
    volumes = Volumes(np.array([[5, 0, 0]]), np.array([[1, 0, 0, 1, 0, 1]]) * 0.25, permeability=0.5)
    open_embree()
    found = []
    for length, returned in ((lengths[::2], ended[::2]), (lengths[::2].copy(), ended[::2].copy())):
        counter = _core.BeamCounter(volumes.lower())
        counter.add(origins, directions, length, returned)
        found.append((int(counter.passed()[0]), int(counter.stopped()[0])))
    assert found[0] == found[1]
    assert min(found[0]) > 5


def test_rays_have_one_direction_each() -> None:
    open_embree()
    scene = _core.Scene()
    scene.commit()
    with pytest.raises(ValueError, match="one row per ray"):
        scene.intersect(AHEAD, AHEAD[:2], 10.0)
    with pytest.raises(ValueError, match="one row per ray"):
        scene.predict(AHEAD, AHEAD, np.zeros(2, np.float32), sigma=1, clutter=0, window=1, slope=0, range_max=9)
