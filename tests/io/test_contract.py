"""Every single-sweep format, in every encoding: what it promises to keep, it keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from resweep.errors import ResweepError
from resweep.io import FORMATS, load_sweep, write_sweep
from resweep.sweep import Sweep

ALL = {"intensity", "ring", "time", "column", "label", "instance", "return_index", "pose", "extra"}
# File name, options of the writer, columns kept exactly, metres the points may be off.
CASES: list[tuple[str, dict[str, Any], set[str], float]] = [
    ("s.pcd", {"encoding": "ascii"}, ALL, 1e-5),
    ("s.pcd", {"encoding": "binary"}, ALL, 1e-5),
    ("s.pcd", {"encoding": "binary_compressed"}, ALL, 1e-5),
    ("s.ply", {"encoding": "ascii"}, ALL, 1e-5),
    ("s.ply", {"encoding": "binary_little_endian"}, ALL, 1e-5),
    ("s.ply", {"encoding": "binary_big_endian"}, ALL, 1e-5),
    ("s.las", {}, ALL, 1.5e-5),
    ("s.laz", {}, ALL, 1.5e-5),
    ("s.bin", {"labels": True, "frame": "sensor"}, {"intensity", "label", "instance"}, 1e-5),
    ("s.sweep", {}, ALL, 0.0),
    ("s.sweep", {"compress": True}, ALL, 0.0),
]
IDS = [f"{name}-{'-'.join(map(str, options.values()))}" for name, options, _, _ in CASES]


def test_every_single_sweep_format_is_tested() -> None:
    single = {suffix for entry in FORMATS.values() if entry.write for suffix in entry.suffixes}
    assert single == {Path(name).suffix for name, *_ in CASES}


@pytest.mark.parametrize(("name", "options", "kept", "tolerance"), CASES, ids=IDS)
def test_round_trip(
    name: str, options: dict[str, Any], kept: set[str], tolerance: float, sweep: Sweep, tmp_path: Path
) -> None:
    write_sweep(sweep, tmp_path / name, **options)
    back = load_sweep(tmp_path / name)
    assert len(back) == len(sweep)
    assert np.abs(back.points - sweep.points).max() <= tolerance
    for column in kept - {"pose", "extra"}:
        np.testing.assert_array_equal(getattr(back, column), getattr(sweep, column), err_msg=column)
        assert getattr(back, column).dtype == getattr(sweep, column).dtype
    if "extra" in kept:
        assert set(back.extra) == set(sweep.extra)
        for column, values in sweep.extra.items():
            np.testing.assert_array_equal(back.extra[column], values)
    if "pose" in kept:
        np.testing.assert_array_equal(back.pose, sweep.pose)
        assert (back.timestamp, back.sensor) == (sweep.timestamp, sweep.sensor)
        # Motion survives too: otherwise raw points would pass for compensated ones.
        assert np.abs(back.deskewed() - sweep.deskewed()).max() <= max(tolerance, 1e-5)
    assert sorted(item.name for item in tmp_path.iterdir()) == sorted(
        {name, *(["s.label"] if options.get("labels") else [])}
    )


@pytest.mark.parametrize("frame", ["deskewed", "world"])
@pytest.mark.parametrize("name", ["s.pcd", "s.ply", "s.las", "s.laz"])
def test_frames_lead_to_the_same_world_points(name: str, frame: str, sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / name, frame=frame)
    back = load_sweep(tmp_path / name)
    assert back.trajectory is None
    # Millimetres at UTM coordinates: float32 alone would be off by a quarter of a metre.
    assert np.abs(back.world_points() - sweep.world_points()).max() < 2e-5


@pytest.mark.parametrize(("name", "options", "kept", "tolerance"), CASES, ids=IDS)
def test_empty_sweep(
    name: str, options: dict[str, Any], kept: set[str], tolerance: float, sweep: Sweep, tmp_path: Path
) -> None:
    nothing = sweep.select(np.zeros(len(sweep), bool))
    write_sweep(nothing, tmp_path / name, **options)
    assert len(load_sweep(tmp_path / name)) == 0


@pytest.mark.parametrize(("name", "options", "kept", "tolerance"), CASES, ids=IDS)
def test_same_sweep_same_bytes(
    name: str, options: dict[str, Any], kept: set[str], tolerance: float, sweep: Sweep, tmp_path: Path
) -> None:
    for folder in ("a", "b"):
        write_sweep(sweep, tmp_path / folder / name, **options)
    assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(("name", "options", "kept", "tolerance"), CASES, ids=IDS)
def test_truncated_files_are_named(
    name: str, options: dict[str, Any], kept: set[str], tolerance: float, sweep: Sweep, tmp_path: Path
) -> None:
    path = tmp_path / name
    write_sweep(sweep, path, **options)
    whole = path.read_bytes()
    for share in (0.0005, 0.02, 0.2, 0.5, 0.9, 0.999):
        cut = int(len(whole) * share)
        path.write_bytes(whole[: cut - (cut % 16 == 0)])
        with pytest.raises(ResweepError, match=name):
            load_sweep(path)


@pytest.mark.parametrize("name", ["s.pcd", "s.ply", "s.las", "s.bin"])
def test_nan_points_are_not_written(name: str, sweep: Sweep, tmp_path: Path) -> None:
    sweep.range[3] = np.nan
    with pytest.raises(ResweepError, match="NaN") as raised:
        write_sweep(sweep, tmp_path / name)
    assert name in str(raised.value)
    assert not list(tmp_path.iterdir())


def test_unknown_suffix_names_the_nearest(sweep: Sweep, tmp_path: Path) -> None:
    with pytest.raises(ResweepError, match=r"did you mean '\.pcd'"):
        write_sweep(sweep, tmp_path / "s.pcdd")
    with pytest.raises(ResweepError, match="no such file"):
        load_sweep(tmp_path / "missing.pcd")


def test_failed_write_leaves_the_old_file(sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.pcd"
    write_sweep(sweep, path)
    before = path.read_bytes()
    entry = FORMATS["pcd"]

    def fails(sweep: Sweep, path: Path, **options: Any) -> None:
        path.write_bytes(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("resweep.io.sweeps.find_format", lambda path: type(entry)("pcd", "", (".pcd",), write=fails))
    with pytest.raises(ResweepError, match="No space left"):
        write_sweep(sweep, path)
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == ["s.pcd"]


def test_unwritable_place(sweep: Sweep, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ResweepError, match="cannot be written"):
        write_sweep(sweep, tmp_path / "file" / "s.pcd")
