"""Whole files of impossible numbers: every reader refuses them by name, whatever their format."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from resweep.errors import FaultKind, ResweepError, SweepError
from resweep.io import load_poses, load_sweep, open_log, write_sweep
from resweep.io.datasets.kitti.times import parse_utc
from resweep.sweep import Sweep
from tests.fuzz.mutate import page_e57, unpage_e57
from tests.io.test_kitti_raw import TRACKLETS, make_drive

SUFFIXES = [".sweep", ".pcd", ".ply", ".las", ".laz", ".bin"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e38])
def test_intensities(suffix: str, value: float, sweep: Sweep, tmp_path: Path) -> None:
    file = tmp_path / f"scan{suffix}"
    intensity = sweep.intensity.copy()
    intensity[2] = value
    with np.errstate(invalid="ignore"):
        if suffix in (".las", ".laz"):
            with pytest.warns(UserWarning, match="LAS: intensities above") if value > 1 else np.errstate():
                write_sweep(replace(sweep, intensity=intensity), file)
        else:
            write_sweep(replace(sweep, intensity=intensity), file)
    for read in (load_sweep, lambda path: open_log(path)[0]):
        with pytest.raises(SweepError, match=rf"scan\{suffix}: sweep: intensity 2 is") as caught:
            read(file)
        assert caught.value.kind == (FaultKind.OUT_OF_BOUNDS if np.isfinite(value) else FaultKind.NOT_FINITE)


def test_beams(sweep: Sweep, tmp_path: Path) -> None:
    """A .sweep holds all columns as they are."""
    wrong = {
        "range": np.where(np.arange(len(sweep)) == 1, -5.0, sweep.range),
        "beam_time": np.full(sweep.n_beams, np.inf),
        "beam_direction": sweep.beam_direction * np.float32(1.1),
    }
    for name, values in wrong.items():
        write_sweep(replace(sweep, **{name: values}, trajectory=None), tmp_path / "a.sweep")
        with pytest.raises(SweepError, match=r"a\.sweep: sweep: "):
            load_sweep(tmp_path / "a.sweep")


def test_survey_points_far_from_the_others(tmp_path: Path) -> None:
    import laspy

    las = laspy.create(point_format=1, file_version="1.2")
    las.header.scales = np.full(3, 0.01)
    las.X, las.Y, las.Z = [0, 100, 2**31 - 1], [0, 0, 0], [0, 0, 0]
    las.write(str(tmp_path / "tile.las"))
    with pytest.raises(SweepError, match=r"tile\.las: sweep: range 0 is 1\.07374e\+07, but can be 0 to 1e\+07"):
        load_sweep(tmp_path / "tile.las")


def test_a_viewpoint_beyond_the_earth(sweep: Sweep, tmp_path: Path) -> None:
    write_sweep(sweep, tmp_path / "a.pcd", encoding="ascii")
    lines = [line for line in (tmp_path / "a.pcd").read_text().split("\n") if not line.startswith("#")]
    text = "\n".join("VIEWPOINT 0 1e300 0 1 0 0 0" if line.startswith("VIEWPOINT") else line for line in lines)
    (tmp_path / "a.pcd").write_text(text)
    with pytest.raises(ResweepError, match=r"a\.pcd: sweep pose: position 0 is 1e\+300"):
        load_sweep(tmp_path / "a.pcd")


def test_point_times_in_nanoseconds_are_seconds(tmp_path: Path) -> None:
    """Livox's driver gives float times so."""
    rows = np.zeros(4, [("x", "<f4"), ("y", "<f4"), ("z", "<f4"), ("timestamp", "<f8")])
    rows["x"], rows["timestamp"] = [1, 2, 3, 4], 1.7e18 + 1e6 * np.arange(4)
    head = (
        "FIELDS x y z timestamp\nSIZE 4 4 4 8\nTYPE F F F F\nCOUNT 1 1 1 1\nWIDTH 4\nHEIGHT 1\nPOINTS 4\nDATA binary\n"
    )
    (tmp_path / "a.pcd").write_bytes(head.encode() + rows.tobytes())
    np.testing.assert_allclose(load_sweep(tmp_path / "a.pcd").time - 1.7e9, 1e-3 * np.arange(4), atol=1e-6)


def test_points_of_no_intensity_or_time_can_be_left_out(tmp_path: Path) -> None:
    """CloudCompare writes NaN for points without a value; a field of nothing else is damage."""
    head = "FIELDS x y z intensity time\nSIZE 4 4 4 4 8\nTYPE F F F F F\nCOUNT 1 1 1 1 1\n"
    head += "WIDTH 4\nHEIGHT 1\nPOINTS 4\nDATA ascii\n"
    (tmp_path / "a.pcd").write_text(head + "1 0 0 5 1.5\n2 0 0 nan 1.6\n3 0 0 7 nan\n4 0 0 8 1.8\n")
    with pytest.raises(SweepError, match=r"a\.pcd: sweep: beam: time 2 is NaN"):
        load_sweep(tmp_path / "a.pcd")
    sweep = load_sweep(tmp_path / "a.pcd", drop_nan=True)
    assert (sweep.range.tolist(), sweep.intensity.tolist(), sweep.timestamp) == ([1, 4], [5, 8], 1.5)
    (tmp_path / "a.pcd").write_text(head + "".join(f"{at} 0 0 nan 1.5\n" for at in range(1, 5)))
    with pytest.raises(SweepError, match=r"a\.pcd: sweep: intensity 0 is NaN"):
        load_sweep(tmp_path / "a.pcd", drop_nan=True)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.tum", "0 0 0 0 0 0 0 1\n1 1e15 0 0 0 0 0 1\n"),
        ("p.kitti", "1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 -4.5e10 0 0 1 0\n"),
        ("p.csv", "t,x,y,z,yaw,pitch,roll\n0,0,0,0,0,0,0\n1,0,0,1e300,0,0,0\n"),
    ],
)
def test_poses_beyond_the_earth(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    line = 3 if name.endswith("csv") else 2
    with pytest.raises(ResweepError, match=rf"{name}, line {line}: a position .* m from zero"):
        load_poses(tmp_path / name, rate_hz=1.0)


def test_pose_times_that_no_clock_has(tmp_path: Path) -> None:
    (tmp_path / "p.tum").write_text("0 0 0 0 0 0 0 1\n1.7e18 0 0 0 0 0 0 1\n")
    with pytest.raises(ResweepError, match=r"p\.tum, line 2: a time of 1\.7e\+18 s"):
        load_poses(tmp_path / "p.tum")


def write_tracklet(drive: Path) -> None:
    (drive / "tracklet_labels.xml").write_text(TRACKLETS.replace("<tx>5</tx>", "<tx>1e300</tx>"))


def write_stamp(text: str) -> Callable[[Path], None]:
    def damage(drive: Path) -> None:
        file = drive / "velodyne_points" / "timestamps.txt"
        file.write_text(file.read_text().replace("13:02:26.050000000", text))

    return damage


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (write_tracklet, r"boxes: centre 0 is 1e\+300"),
        (write_stamp("25:61:61.0"), r"timestamps\.txt, line 2: no date and time"),
        (write_stamp("13:02:26.9e300"), r"timestamps\.txt, line 2: .* no fraction of a second"),
        (lambda drive: (drive / "oxts/data/0000000001.txt").write_text("49 8.4 1e300 " + "0 " * 27), "position 1"),
    ],
)
def test_raw_drives(damage: Callable[[Path], None], message: str, tmp_path: Path) -> None:
    drive = make_drive(tmp_path)
    damage(drive)
    with pytest.raises(ResweepError, match=message):
        open_log(drive)[1]


def test_fractions_of_a_second() -> None:
    assert parse_utc("1970-01-01 00:00:02.25") == 2.25
    for text in ("1970-01-01 00:00:02.1e9", "1970-01-01 00:00:02.nan", "1970-01-01 00:00:02.-1"):
        with pytest.raises(ValueError, match="no fraction of a second"):
            parse_utc(text)


@pytest.mark.parametrize("name", ["scan.bin", "scan.pcd.bin"])
def test_a_scan_of_more_points_than_sensors_measure(name: str, tmp_path: Path) -> None:
    """Formats without a header are checked by their size; this file takes no room on the disk."""
    with (tmp_path / name).open("wb") as file:
        file.truncate(80 << 30)
    with pytest.raises(SweepError, match=rf"{name}: 85,899,345,920 bytes are .* points, a scan has"):
        load_sweep(tmp_path / name)


def test_a_scan_listed_again_and_again(tmp_path: Path) -> None:
    """An E57 file takes as long to open as its list is long, and is opened for each scan."""
    pytest.importorskip("pye57")
    from tests.io.test_e57 import make_file

    file = tmp_path / "site.e57"
    make_file(file, 2)
    data = file.read_bytes()
    assert len(open_log(file)) == 2
    start, length = struct.unpack_from("<QQ", data, 24)
    at = start // 1024 * 1020 + start % 1024
    content = unpage_e57(data)
    xml = content[at : at + length]
    first, last = xml.index(b"<vectorChild"), xml.index(b"</vectorChild>") + len(b"</vectorChild>")
    xml = xml[:last] + xml[first:last] * 4000 + xml[last:]
    repeated = bytearray(content[:at] + xml)
    struct.pack_into("<QQQ", repeated, 16, len(page_e57(bytes(repeated))), start, len(xml))
    file.write_bytes(page_e57(bytes(repeated)))
    with pytest.raises(ResweepError, match=r"site\.e57: scans 0 and 1 have the same points"):
        open_log(file)


def test_more_cells_than_a_lidar_has(tmp_path: Path) -> None:
    """One point of ring 1000 and one of column 100,000: tables of both would take gigabytes."""
    from resweep.sensors.infer.beam_grid import estimate_grid

    ring, column = (part.ravel() for part in np.meshgrid(np.arange(4), np.arange(400), indexing="ij"))
    turn, rise = np.radians(column * 0.9), np.radians(ring - 2.0)
    points = 9 * np.stack([np.cos(turn) * np.cos(rise), np.sin(turn) * np.cos(rise), np.sin(rise)], axis=1)
    ring[0], column[-1] = 1000, 100_000
    with pytest.raises(ResweepError, match=r"1001 rings x 100001 columns"):
        estimate_grid([Sweep.from_points(points, ring=ring, column=column)])


def test_a_sweep_of_near_points_shows_no_grid() -> None:
    from resweep.sensors.infer.beam_grid import estimate_grid

    turn = np.linspace(0, 2 * np.pi, 400, endpoint=False)
    points = 1e-3 * np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    with pytest.raises(ResweepError, match="no rings can be found"):
        estimate_grid([Sweep.from_points(points, ring=np.arange(400) % 4)])
