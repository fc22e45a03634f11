"""The lossless file: equal again to the last bit and type."""

from __future__ import annotations

import json
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import load_sweep, write_sweep
from resweep.sweep import Sweep


def assert_same(left: Sweep, right: Sweep) -> None:
    for field in fields(Sweep):
        a, b = getattr(left, field.name), getattr(right, field.name)
        if isinstance(a, np.ndarray):
            assert a.dtype == b.dtype
            assert a.tobytes() == b.tobytes(), field.name
    assert (left.timestamp, left.sensor, list(left.extra)) == (right.timestamp, right.sensor, list(right.extra))
    for name, values in left.extra.items():
        assert np.asarray(values).dtype == right.extra[name].dtype
        np.testing.assert_array_equal(values, right.extra[name])
    assert (left.trajectory is None) == (right.trajectory is None)
    if left.trajectory is not None and right.trajectory is not None:
        assert left.trajectory.times.tobytes() == right.trajectory.times.tobytes()
        assert left.trajectory.poses.tobytes() == right.trajectory.poses.tobytes()


@pytest.mark.parametrize("compress", [False, True])
def test_everything_comes_back(compress: bool, sweep: Sweep, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    extra = {
        "wave": rng.normal(size=(len(sweep), 4)).astype(">f8"),
        "name": np.array(["abc"] * len(sweep)),
        "is it": rng.random(len(sweep)) < 0.5,
        "half": rng.random(len(sweep)).astype(np.float16),
        "odd": np.where(sweep.intensity < 0.1, -0.0, np.nan),
    }
    odd = replace(sweep, extra=extra, intensity=np.full(len(sweep), -0.0), timestamp=0.1 + 0.2)
    write_sweep(odd, tmp_path / "s.sweep", compress=compress)
    assert_same(odd, load_sweep(tmp_path / "s.sweep"))


def test_standing_still_and_moved_origins(sweep: Sweep, tmp_path: Path) -> None:
    origin = np.random.default_rng(0).normal(size=(sweep.n_beams, 3))
    still = replace(sweep, trajectory=None, beam_origin=origin, label=np.full(len(sweep), -3))
    write_sweep(still, tmp_path / "s.sweep")
    back = load_sweep(tmp_path / "s.sweep")
    assert_same(still, back)
    back.label[0] = 5  # columns are the reader's own


def test_numpy_and_zip_open_it(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "s.sweep")
    with np.load(tmp_path / "s.sweep") as arrays:
        np.testing.assert_array_equal(arrays["range"], sweep.range)
        np.testing.assert_array_equal(arrays["beam_origin"], np.zeros((1, 3)))
    with zipfile.ZipFile(tmp_path / "s.sweep") as archive:
        assert json.loads(archive.read("sweep.json"))["version"] == 1
        assert {item.date_time for item in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_newer_version_and_flipped_byte(sweep: Sweep, tmp_path: Path) -> None:
    path = tmp_path / "s.sweep"
    write_sweep(sweep, path)
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'"version": 1', b'"version": 9'))
    with pytest.raises(ResweepError, match=r"s\.sweep"):  # the checksum no longer fits
        load_sweep(path)
    middle = bytearray(whole)
    middle[len(whole) // 2] ^= 1
    path.write_bytes(bytes(middle))
    with pytest.raises(ResweepError, match=r"s\.sweep: truncated or not a \.sweep file"):
        load_sweep(path)


def test_another_frame_is_refused(sweep: Sweep, tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match="keeps the beams as fired"):
        write_sweep(sweep, tmp_path / "s.sweep", frame="world")
